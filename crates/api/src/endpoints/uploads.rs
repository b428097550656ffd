//! Files in requests to endpoints, and the addresses at which code fetches them.

use std::io;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Uri, header};
use axum::response::{IntoResponse as _, Response};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use millrace_engine::{FilesIn, Pieces, boundary_of};
use millrace_model::http::{BodyFault, EndpointRequest};
use millrace_model::ids::OrgId;
use millrace_model::upload::Upload;

use crate::App;
use crate::endpoints::encodings::{codings, decoded};
use crate::endpoints::{SANDBOX, counts_beside, head, read, with_body};
use crate::error::ApiError;
use crate::extract::{Paths, query};
use crate::guard::stored_in_parts;

/// Asks in a header or the query that the body be kept as a file (facts 4.5).
const UPLOAD_BODY: [&str; 2] = ["x-pd-upload-body", "pipedream_upload_body"];

/// What of a request's body becomes files, if anything.
pub(crate) fn files_in(app: &App, request: &Request) -> Option<FilesIn> {
    let kind = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("");
    let in_header = request.headers().get(UPLOAD_BODY[0]).is_some_and(|value| value == "1");
    let asked = in_header
        || request.uri().query().is_some_and(|text| {
            UPLOAD_BODY.iter().any(|name| query(Some(text)).get(*name).is_some_and(|v| v == "1"))
        });
    if asked {
        return Some(FilesIn::Body {
            media_type: if kind.is_empty() {
                "application/octet-stream".into()
            } else {
                kind.to_owned()
            },
        });
    }
    // A form without a boundary is text like any other.
    let boundary = boundary_of(kind)?;
    Some(FilesIn::Form {
        boundary,
        media_type: kind.to_owned(),
        text_max: app.config.http_body_max_bytes,
    })
}

/// What a request with files is for.
#[derive(Clone, Copy)]
pub(crate) struct For<'a> {
    /// Whose files they become.
    pub(crate) org: &'a OrgId,
    /// The endpoint, which may ask for a proof; None: the address of a pause.
    pub(crate) endpoint: Option<&'a str>,
    /// What of the path the code sees.
    pub(crate) path: &'a str,
}

/// Takes the files of a request; the rest of it is as without.
pub(crate) async fn request(
    app: &App,
    For { org, endpoint, path }: For<'_>,
    files: FilesIn,
    request: Request,
) -> Result<EndpointRequest, ApiError> {
    let codings = codings(request.headers())?;
    let (parts, body) = request.into_parts();
    let body_max = app.config.http_body_max_bytes;
    // A signature is of the whole body, and nothing of strangers is kept: what must prove itself is
    // no larger than a body may be.
    if let Some(key) = endpoint
        && app.engine.asks_for_proof(key).await?
    {
        let bytes = read(body, &parts.headers, body_max).await?;
        let request = with_body(app, path, &parts, bytes, codings).await?;
        app.engine.admit(key, request.clone()).await?;
        let once = Bytes::from(request.body.clone());
        let parsed = app
            .engine
            .take_files(org, files, Box::pin(stream::once(async move { Ok(once) })))
            .await?;
        return Ok(EndpointRequest { parsed: Some(parsed), ..request });
    }
    let is_encoded = !codings.is_empty();
    let mut pieces: Pieces = Box::pin(body.into_data_stream().map_err(io::Error::other));
    if is_encoded {
        let max = app.engine.upload_max_bytes().saturating_add(body_max);
        pieces = decoded(pieces, codings, max).await.map_err(|error| BodyFault::of(&error))?;
    }
    // A source also gets a form as it came, where that is no larger than a body may be. How large
    // it is shows as it comes: in chunks, or encoded, it has no length that counts.
    let mut whole = Vec::new();
    if matches!(files, FilesIn::Form { .. }) {
        let (start, rest) = up_to(pieces, body_max).await.map_err(|error| BodyFault::of(&error))?;
        match rest {
            // A body without a byte is absent, whatever it calls itself.
            None if start.iter().all(Bytes::is_empty) => return Ok(head(app, path, &parts)),
            None => {
                whole = start.concat();
                if is_encoded {
                    counts_beside(app, &parts, whole.len())?;
                }
                pieces = Box::pin(stream::iter(start.into_iter().map(Ok)));
            }
            Some(rest) => pieces = Box::pin(stream::iter(start.into_iter().map(Ok)).chain(rest)),
        }
    }
    if whole.is_empty() {
        stored_in_parts(&parts.extensions);
    }
    let parsed = app.engine.take_files(org, files, pieces).await?;
    Ok(EndpointRequest { parsed: Some(parsed), body: whole, ..head(app, path, &parts) })
}

/// The first pieces of a body, as they come, and what is left of it once they have more than `max`
/// bytes.
async fn up_to(mut pieces: Pieces, max: usize) -> io::Result<(Vec<Bytes>, Option<Pieces>)> {
    let (mut start, mut bytes) = (Vec::new(), 0);
    while let Some(piece) = pieces.try_next().await? {
        bytes += piece.len();
        start.push(piece);
        if bytes > max {
            return Ok((start, Some(pieces)));
        }
        // What is decoded may all be here: without this the thread would serve nobody else
        // meanwhile.
        tokio::task::coop::consume_budget().await;
    }
    Ok((start, None))
}

/// The file of an address. It was sent by a stranger: a browser keeps it, and never shows it as a
/// page of this server.
pub(crate) async fn show(State(app): State<App>, uri: Uri) -> Result<Response, ApiError> {
    let token = uri.path().rsplit('/').next().unwrap_or("");
    let upload = app.engine.upload(token).await?;
    Ok(given(&app, upload))
}

/// The stored file of a temporary address.
pub(crate) async fn show_stored(
    State(app): State<App>,
    Paths([token, name]): Paths<2>,
) -> Result<Response, ApiError> {
    let upload = app.engine.linked_file(&token, &name).await?;
    Ok(given(&app, upload))
}

fn given(app: &App, upload: Upload) -> Response {
    let name: String = upload
        .file_name
        .bytes()
        .map(|b| {
            if b.is_ascii_alphanumeric() || b"-_.".contains(&b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
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
