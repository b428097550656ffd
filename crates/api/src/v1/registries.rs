//! `/registries`, search, and components of registries.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use millrace_engine::{
    AskedComponents, EngineError, ErrorKind, RegistryEntry, RegistryUpload, RegistryView,
};
use millrace_model::prop_type::PropType;
use millrace_model::registry::Registry;
use millrace_model::tenant::Caller;
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, query};
use crate::v1::names::words;
use crate::wire::{self, Fields};

/// The largest archive: the whole public tree is a tenth of it.
pub(crate) const ARCHIVE_BYTES_MAX: usize = 96 << 20;
/// Of what is not indexed, so much is named.
const UNINDEXED_SHOWN: usize = 100;

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    request: Request,
) -> Result<Response, ApiError> {
    let params = Params(query(request.uri().query()));
    params.org_is(&caller)?;
    let name = params.text("name")?.ok_or_else(|| {
        ApiError::field(
            "name",
            "`name` is missing; it stands in the query, the archive is the body",
        )
    })?;
    let upload = upload(&app, &params, name, request, true).await?;
    Ok(Fields::of(&params).data(view(&app.engine.put_registry(&caller, upload).await?)))
}

pub(crate) async fn replace(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(name): Path,
    request: Request,
) -> Result<Response, ApiError> {
    let params = Params(query(request.uri().query()));
    let upload = upload(&app, &params, name, request, false).await?;
    Ok(Fields::of(&params).data(view(&app.engine.put_registry(&caller, upload).await?)))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let items: Vec<_> = app
        .engine
        .registries(&caller)
        .await?
        .iter()
        .map(|r| (r.name.clone(), registry(r)))
        .collect();
    Fields::of(&query.params).whole(items, &query.page)
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(name): Path,
    _: Params,
) -> Result<Response, ApiError> {
    app.engine.delete_registry(&caller, &name).await?;
    Ok(Fields::default().data(json!({ "name": name, "deleted": true })))
}

/// Keys of sources and actions that fit, best first (reference 2); `components` says more of them,
/// in the same order.
pub(crate) async fn search(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let words = words(&query.params, "query")?;
    let of_app = query.params.text("app")?;
    let limit = usize::try_from(query.page.limit).unwrap_or(usize::MAX);
    let component_type = query.params.text("type")?;
    if let Some(other) =
        component_type.as_deref().filter(|kind| !["source", "action"].contains(kind))
    {
        let shown = millrace_model::shown(other);
        return Err(ApiError::field(
            "type",
            format!("`{shown}` is no type of component; allowed are source and action"),
        ));
    }
    let is_own = query.params.flag("own")?.unwrap_or(false);
    let asked = AskedComponents {
        words: &words,
        app: of_app.as_deref(),
        component_type: component_type.as_deref(),
        is_own,
    };
    let found = app.engine.search_components(&caller, &asked, limit).await?;
    let keys = |kind: &str| {
        found.iter().filter(|c| c.component_type == kind).map(|c| c.key.clone()).collect::<Vec<_>>()
    };
    let shown = |c: &millrace_model::registry::RegistryComponent| json!({ "key": c.key, "name": c.name, "description": c.description, "version": c.version, "type": c.component_type, "app": c.app });
    let components: Vec<Value> = found.iter().map(shown).collect();
    let (sources, actions) = (keys("source"), keys("action"));
    // Clients of the hosted platform find the keys beside `data`.
    let data = Fields::of(&query.params)
        .apply(json!({ "sources": sources, "actions": actions, "components": components }));
    Ok(Json(json!({ "data": data, "sources": sources, "actions": actions })).into_response())
}

/// A published component, else one of a registry.
pub(crate) async fn component(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(key): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    Ok(Fields::of(&query.params).data(found(&app, &caller, &key).await?))
}

/// The record of what a key names.
pub(crate) async fn found(app: &App, caller: &Caller, key: &str) -> Result<Value, ApiError> {
    match app.engine.component(caller, key).await {
        Ok(component) => Ok(wire::component(&component)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Ok(entry(&app.engine.registry_entry(caller, key).await?))
        }
        Err(error) => Err(error.into()),
    }
}

async fn upload(
    app: &App,
    params: &Params,
    name: String,
    request: Request,
    is_new: bool,
) -> Result<RegistryUpload, ApiError> {
    let archive =
        Bytes::from_request(request, app).await.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => ApiError::body_too_large(ARCHIVE_BYTES_MAX, ""),
            _ => ApiError::body_unreadable(),
        })?;
    if archive.is_empty() {
        return Err(EngineError::missing(
            "archive",
            "the body is empty; send a .tar.gz archive of the components",
        )
        .into());
    }
    let text = |field| params.text(field).map(Option::unwrap_or_default);
    Ok(RegistryUpload {
        name,
        origin: text("origin")?,
        revision: text("revision")?,
        archive,
        is_new,
    })
}

fn registry(r: &Registry) -> Value {
    json!({
        "id": r.id, "name": r.name, "origin": r.origin, "revision": r.revision, "file_count": r.file_count, "component_count": r.component_count,
        "created_at": r.created_at.secs(), "updated_at": r.updated_at.secs(),
    })
}

fn view(view: &RegistryView) -> Value {
    let mut shown = registry(&view.registry);
    shown["read_count"] = view.read.into();
    shown["unindexed_count"] = view.unindexed.len().into();
    shown["unindexed"] = view
        .unindexed
        .iter()
        .take(UNINDEXED_SHOWN)
        .map(|u| json!({ "path": u.path, "reason": u.reason }))
        .collect();
    shown
}

/// As a saved component; its id comes with the first deploy.
fn entry(e: &RegistryEntry) -> Value {
    let (c, m) = (&e.component, &e.manifest);
    let text = |known: &str, other: &Option<String>| {
        if known.is_empty() { json!(other) } else { json!(known) }
    };
    let apps: Vec<_> =
        m.props.iter().filter(|p| p.is(PropType::App)).filter_map(|p| p.rest.get("app")).collect();
    json!({
        "id": null, "code": e.code, "code_hash": c.hash, "name": text(&c.name, &m.name), "key": c.key, "version": text(&c.version, &m.version),
        "description": text(&c.description, &m.description), "type": c.component_type, "configurable_props": m.props, "annotations": m.annotations, "apps": apps, "app": c.app,
        "path": c.path, "published": false, "versions": e.versions,
    })
}
