//! Files in requests to endpoints, and the addresses at which code fetches them.

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Uri, header};
use axum::response::{IntoResponse as _, Response};
use futures::TryStreamExt as _;
use millrace_engine::{FilesIn, Pieces};
use millrace_model::http::{BodyFault, EndpointRequest};
use millrace_model::upload::Upload;

use crate::App;
use crate::endpoints::encodings::{codings, decoded};
use crate::endpoints::{SANDBOX, head, read, with_body};
use crate::error::ApiError;
use crate::extract::query;
use crate::guard::stored_in_parts;

/// Asks in a header or the query that the body be kept as a file (facts 4.5).
const UPLOAD_BODY: [&str; 2] = ["x-pd-upload-body", "pipedream_upload_body"];

/// What of a request's body becomes files, if anything.
pub(crate) fn files_in(app: &App, request: &Request) -> Option<FilesIn> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let in_header = request.headers().get(UPLOAD_BODY[0]).is_some_and(|value| value == "1");
    let asked = in_header || request.uri().query().is_some_and(|text| UPLOAD_BODY.iter().any(|name| query(Some(text)).get(*name).is_some_and(|v| v == "1")));
    if asked {
        return Some(FilesIn::Body { media_type: if kind.is_empty() { "application/octet-stream".into() } else { kind.to_owned() } });
    }
    // A form without a boundary is text like any other.
    let boundary = multer::parse_boundary(kind).ok()?;
    Some(FilesIn::Form { boundary, media_type: kind.to_owned(), text_max: app.config.http_body_max_bytes })
}

/// Takes the files of a request; the rest of it is as without.
pub(crate) async fn request(app: &App, (key, path): (&str, &str), files: FilesIn, request: Request) -> Result<EndpointRequest, ApiError> {
    let codings = codings(request.headers())?;
    let (parts, body) = request.into_parts();
    let claimed = parts.headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    // A signature is of the whole body, and nothing of strangers is kept: what must prove itself is no larger than a body may be.
    let guarded = app.engine.asks_for_proof(key).await?;
    let is_plain = codings.is_empty() && matches!(files, FilesIn::Form { .. });
    let is_small = guarded || is_plain && claimed.is_some_and(|claimed| claimed <= app.config.http_body_max_bytes);
    if is_small {
        // A source also gets the body as it came.
        let bytes = read(body, &parts.headers, app.config.http_body_max_bytes).await?;
        let request = with_body(app, path, &parts, bytes, codings).await?;
        if guarded {
            app.engine.admit(key, request.clone()).await?;
        }
        let once = bytes::Bytes::from(request.body.clone());
        let pieces: Pieces = Box::pin(futures::stream::once(async move { Ok(once) }));
        let parsed = app.engine.take_files(key, files, pieces).await?;
        return Ok(EndpointRequest { parsed: Some(parsed), ..request });
    }
    stored_in_parts(&parts.extensions);
    let mut pieces: Pieces = Box::pin(body.into_data_stream().map_err(std::io::Error::other));
    if !codings.is_empty() {
        let max = app.engine.upload_max_bytes().saturating_add(app.config.http_body_max_bytes);
        pieces = decoded(pieces, codings, max).await.map_err(|error| BodyFault::of(&error))?;
    }
    let parsed = app.engine.take_files(key, files, pieces).await?;
    Ok(EndpointRequest { parsed: Some(parsed), ..head(app, path, &parts) })
}

/// The file of an address. It was sent by a stranger: a browser keeps it, and never shows it as a page of this server.
pub(crate) async fn show(State(app): State<App>, uri: Uri) -> Result<Response, ApiError> {
    let token = uri.path().rsplit('/').next().unwrap_or("");
    let upload = app.engine.upload(token).await?;
    Ok(given(&app, upload))
}

/// The stored file of a temporary address.
pub(crate) async fn show_stored(State(app): State<App>, Path((token, name)): Path<(String, String)>) -> Result<Response, ApiError> {
    let upload = app.engine.linked_file(&token, &name).await?;
    Ok(given(&app, upload))
}

fn given(app: &App, upload: Upload) -> Response {
    let name: String = upload
        .file_name
        .bytes()
        .map(|b| if b.is_ascii_alphanumeric() || b"-_.".contains(&b) { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect();
    let plain = HeaderValue::from_static("application/octet-stream");
    let mut response = Body::from_stream(app.engine.upload_parts(&upload.id)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::try_from(upload.media_type).unwrap_or(plain));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(upload.size));
    headers.insert(header::CONTENT_SECURITY_POLICY, SANDBOX);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    if let Ok(value) = HeaderValue::try_from(format!("attachment; filename*=UTF-8''{name}")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}
