//! `/data_stores`: stores of values that workflows and sources share, and what they hold. A store
//! is named by its id or its name.
//!
//! A key is a parameter, not a part of the path: any text may be one, `..` and `a/b` among them.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{AskedKeys, EntryEnd, KeyView};
use millrace_model::clock::Timestamp;
use millrace_model::data_store::DataStore;
use millrace_model::json::shown;
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path};
use crate::v1::names;
use crate::wire::Fields;
use crate::written_back::WrittenBack;

fn record(store: &DataStore) -> Value {
    json!({
        "id": store.id, "name": store.name, "keys": store.keys, "bytes": store.bytes,
        "created_at": store.created_at.secs(), "updated_at": store.updated_at.secs(),
    })
}

fn name(params: &Params) -> Result<String, ApiError> {
    params.text("name")?.ok_or_else(|| {
        ApiError::field("name", "`name` is missing; a data store has a name, such as `orders`")
    })
}

fn key(params: &Params) -> Result<String, ApiError> {
    params.text("key")?.filter(|key| !key.is_empty()).ok_or_else(|| {
        ApiError::field("key", "`key` is missing; name the key in the query: `?key=…`")
    })
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let store = app.engine.create_data_store(&caller, &name(&params)?).await?;
    Ok(Fields::of(&params).data(record(&store)))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.list_data_stores(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |store| record(&store)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
) -> Result<Response, ApiError> {
    Ok(Fields::default().data(record(&app.engine.data_store(&caller, &which).await?)))
}

pub(crate) async fn update(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    back.check(&params, async { Ok(record(&app.engine.data_store(&caller, &which).await?)) })
        .await?;
    let store = app.engine.rename_data_store(&caller, &which, &name(&params)?).await?;
    Ok(Fields::of(&params).data(record(&store)))
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
    params: Params,
) -> Result<Response, ApiError> {
    if names::is_dry(&params)? {
        let (id, would_go) = app.engine.data_store_would_go(&caller, &which).await?;
        return Ok(names::would_go(&id, &would_go));
    }
    let store = app.engine.delete_data_store(&caller, &which).await?;
    Ok(Fields::default().data(json!({ "id": store.id, "deleted": true })))
}

/// Keys in their order; the cursor is the key itself.
pub(crate) async fn keys(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let after = query.forward()?;
    let prefix = query.params.text("prefix")?.unwrap_or_default();
    let asked = AskedKeys {
        after,
        prefix,
        limit: query.page.limit,
        with_values: query.params.flag("values")?.unwrap_or(false),
    };
    let listing = app.engine.data_store_keys(&caller, &which, asked).await?;
    let shown = |view: KeyView| match view.value {
        Some(value) => (view.key.clone(), json!({ "key": view.key, "value": value })),
        None => (view.key.clone(), json!({ "key": view.key })),
    };
    let items = listing.items.into_iter().map(shown).collect();
    Ok(Fields::of(&query.params).list(listing.total_count, items))
}

pub(crate) async fn clear(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
    _: Params,
) -> Result<Response, ApiError> {
    app.engine.clear_data_store(&caller, &which).await?;
    show(State(app), Auth(caller), Path(which)).await
}

pub(crate) async fn get(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let entry = app.engine.data_store_entry(&caller, &which, &key(&query.params)?).await?;
    let value = shown(&entry.value);
    Ok(Fields::of(&query.params).data(json!({ "key": entry.key, "value": value, "expires_at_ms": entry.expires_at.map(|at| at.ms()) })))
}

pub(crate) async fn set(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let key = key(&params)?;
    let value = params
        .0
        .get("value")
        .ok_or_else(|| ApiError::field("value", "`value` is missing; it may be any JSON"))?;
    let ends = match (params.parsed("ttl")?, params.number::<i64>("expires_at_ms")?) {
        (Some(_), Some(_)) => {
            return Err(ApiError::field(
                "ttl",
                "`ttl` and `expires_at_ms` both say when the key ends; give one of them",
            ));
        }
        (Some(ttl), None) => Some(EntryEnd::After(ttl)),
        (None, at) => at.map(|ms| EntryEnd::At(Timestamp(ms))),
    };
    app.engine.set_data_store_entry(&caller, &which, &key, value, ends).await?;
    Ok(Fields::default().data(json!({ "key": key, "value": value })))
}

pub(crate) async fn delete(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let key = key(&params)?;
    app.engine.delete_data_store_entry(&caller, &which, &key).await?;
    Ok(Fields::default().data(json!({ "key": key, "deleted": true })))
}
