//! `/file_stores`: files that `dir` props mirror with `/tmp`. A path is a parameter, not a part of
//! the route's path.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures::TryStreamExt as _;
use millrace_model::file::{FileStore, StoredFile};
use serde_json::{Value, json};

use crate::App;
use crate::endpoints::SANDBOX;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, query};
use crate::guard::stored_in_parts;
use crate::wire::Fields;

fn record(file: &StoredFile) -> Value {
    json!({ "path": file.path, "size": file.size, "updated_at": file.updated_at.secs() })
}

fn path(params: &Params) -> Result<String, ApiError> {
    params.text("path")?.filter(|path| !path.is_empty()).ok_or_else(|| {
        ApiError::field("path", "`path` is missing; name the file in the query: `?path=…`")
    })
}

pub(crate) async fn stores(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let shown = |store: &FileStore| {
        (
            store.name.clone(),
            json!({ "name": store.name, "files": store.files, "bytes": store.bytes }),
        )
    };
    let items: Vec<_> = app.engine.file_stores(&caller).await?.iter().map(shown).collect();
    Fields::of(&query.params).whole(items, &query.page)
}

/// Files in the order of their paths; the cursor is the path itself.
pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(store): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let after = query.forward()?.unwrap_or_default();
    let (total, files) = app.engine.stored_files(&caller, &store, &after, query.page.limit).await?;
    Ok(Fields::of(&query.params)
        .list(total, files.iter().map(|file| (file.path.clone(), record(file))).collect()))
}

/// What is in a file. Code wrote it: a browser keeps it, and never shows it as a page of this
/// server.
pub(crate) async fn get(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(store): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let file = app.engine.stored_file(&caller, &store, &path(&query.params)?).await?;
    let mut response = Body::from_stream(app.engine.stored_pieces(&file)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(file.size));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers.insert(header::CONTENT_SECURITY_POLICY, SANDBOX);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    Ok(response)
}

pub(crate) async fn put(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(store): Path,
    request: Request,
) -> Result<Response, ApiError> {
    let params = Params(query(request.uri().query()));
    stored_in_parts(request.extensions());
    let body = request.into_body().into_data_stream().map_err(std::io::Error::other);
    Ok(Fields::of(&params)
        .data(record(&app.engine.put_file(&caller, &store, &path(&params)?, body).await?)))
}

pub(crate) async fn delete(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(store): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let path = params.text("path")?.filter(|path| !path.is_empty());
    let gone = app.engine.remove_files(&caller, &store, path.as_deref()).await?;
    Ok(Fields::default().data(json!({ "removed": gone })))
}
