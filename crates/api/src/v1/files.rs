//! `/file_stores`: files that `dir` props mirror with `/tmp`. A path is a parameter, not a part of
//! the route's path.

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use millrace_model::file::{FileStore, StoredFile};

use crate::App;
use crate::contract::routes::{Gives, Route, delete, get, put};
use crate::contract::shape::{of, record};
use crate::contract::table::{DEPLOY, ORG, READ, text};
use crate::endpoints::SANDBOX;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, query};
use crate::fields::Fields;
use crate::guard::stored_in_parts;
use crate::shown_key::ShownKey;

record! {
    /// A file store
    FileStoreOut<'a>(s: &'a FileStore) {
        name: &'a str = &s.name,
        files: i64 = s.files,
        bytes: i64 = s.bytes,
    }
}

record! {
    /// A file of a store
    StoredFileOut<'a>(f: &'a StoredFile) {
        path: &'a str = &f.path,
        size: i64 = f.size,
        updated_at: i64 = f.updated_at.secs(),
    }
}

record! {
    /// How many files were removed
    RemovedFilesOut(removed: u64) {
        removed: u64 = removed,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    let path = text("path", "Where it is in the store, such as `reports/june.csv`");
    vec![
        get("/file_stores", READ, "File stores that hold anything, by name", stores)
            .takes(&[ORG])
            .page(of::<FileStoreOut>()),
        get(
            "/file_stores/{name}/files",
            READ,
            "Files of a store by path; the cursor is the path itself",
            list,
        )
        .forward(of::<StoredFileOut>()),
        put(
            "/file_stores/{name}/files",
            DEPLOY,
            "Put a file into a store, which begins with its first",
            store,
        )
        .takes(&[path.required()])
        .file()
        .one(of::<StoredFileOut>()),
        delete(
            "/file_stores/{name}/files",
            DEPLOY,
            "Delete a file, or all where no `path` is given",
            remove,
        )
        .takes(&[path])
        .gives(Gives::One(of::<RemovedFilesOut>())),
        get("/file_stores/{name}/files/content", READ, "What is in a file", content)
            .takes(&[path.required()])
            .gives(Gives::Bytes),
    ]
}

fn path(params: &Params) -> Result<String, ApiError> {
    params
        .text("path")?
        .filter(|path| !path.is_empty())
        .ok_or_else(|| ApiError::missing("path", "name the file in the query: `?path=…`"))
}

pub(crate) async fn stores(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let shown = |store: &FileStore| (store.name.clone(), FileStoreOut::show(store));
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
    let (total, files, cursor) =
        app.engine.stored_files(&caller, &store, &after, query.page.limit).await?;
    let mut items: Vec<_> =
        files.iter().map(|file| (file.path.clone(), StoredFileOut::show(file))).collect();
    if let Some(last) = items.last_mut() {
        last.0 = cursor;
    }
    Ok(Fields::of(&query.params).list(total, items))
}

/// What is in a file. Code wrote it: a browser keeps it, and never shows it as a page of this
/// server.
pub(crate) async fn content(
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

pub(crate) async fn store(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(store): Path,
    request: Request,
) -> Result<Response, ApiError> {
    let params = Params(query(request.uri().query()));
    stored_in_parts(request.extensions());
    let shown = ShownKey::of(request.extensions());
    let is_good_still = async || match &shown {
        Some(shown) => shown.is_good_still(&app).await,
        None => Ok(()),
    };
    // A body that ends in an error is not stored.
    let last = async || match is_good_still().await {
        Ok(()) => Ok(Bytes::new()),
        Err(_) => Err(std::io::Error::from(std::io::ErrorKind::PermissionDenied)),
    };
    let body = request.into_body().into_data_stream().map_err(std::io::Error::other);
    let body = body.chain(stream::once(last()));
    match app.engine.put_file(&caller, &store, &path(&params)?, body).await {
        Ok(file) => Ok(Fields::of(&params).data(StoredFileOut::show(&file))),
        Err(error) => {
            is_good_still().await?;
            Err(error.into())
        }
    }
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(store): Path,
    params: Params,
) -> Result<Response, ApiError> {
    // An empty path, such as one from a variable that is not set, never stands for all files.
    let path = params.text("path")?.map(|_| path(&params)).transpose()?;
    let gone = app.engine.remove_files(&caller, &store, path.as_deref()).await?;
    Ok(Fields::default().data(RemovedFilesOut::show(gone)))
}
