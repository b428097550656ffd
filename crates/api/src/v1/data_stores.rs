//! `/data_stores`: stores of values that workflows and sources share, and what they hold. A store
//! is named by its id or its name.
//!
//! A key is a parameter, not a part of the path: any text may be one, `..` and `a/b` among them.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{AskedKeys, EntryEnd, KeyView};
use millrace_model::clock::Timestamp;
use millrace_model::data_store::DataStore;
use millrace_model::ids::DataStoreId;
use millrace_model::json::shown;
use serde_json::Value;

use crate::App;
use crate::contract::routes::{Gives, Kind, Param, Route, delete, get, post, put};
use crate::contract::shape::{OrNull, of, record};
use crate::contract::table::{DEPLOY, DRY_RUN, ORG, READ, flag, number, text};
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path};
use crate::fields::Fields;
use crate::v1::names;
use crate::written_back::WrittenBack;

record! {
    /// A data store
    DataStoreOut<'a>(s: &'a DataStore) {
        id: &'a DataStoreId = &s.id,
        name: &'a str = &s.name,
        keys: u64 = s.keys,
        bytes: u64 = s.bytes,
        created_at: i64 = s.created_at.secs(),
        updated_at: i64 = s.updated_at.secs(),
    }
}

record! {
    /// A key of a data store; with `values`, its value, one of more than 1 KB as `{"$truncated":
    /// true, "$bytes", "$preview"}`
    DataStoreKeyOut<'a>(view: &'a KeyView) {
        key: &'a str = &view.key,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<&'a Value> = view.value.as_ref(),
    }
}

record! {
    /// A key of a data store with its value
    DataStoreRecordOut<'a>(key: &'a str, value: &'a Value, end: Option<OrNull<i64>>) {
        key: &'a str = key,
        value: &'a Value = value,
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at_ms: Option<OrNull<i64>> = end,
    }
}

record! {
    /// A key that was removed
    DeletedKeyOut<'a>(key: &'a str) {
        key: &'a str = key,
        deleted: bool = true,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    let name = text("name", "Its name, such as `orders`").required();
    let key = text("key", "The key: any text").at_least(1).required();
    vec![
        get("/data_stores", READ, "Data stores, newest first", list)
            .takes(&[ORG])
            .page(of::<DataStoreOut>()),
        post("/data_stores", DEPLOY, "Make a data store", create)
            .takes(&[name, ORG])
            .one(of::<DataStoreOut>()),
        get("/data_stores/{id}", READ, "A data store, by id or name", show)
            .one(of::<DataStoreOut>()),
        put("/data_stores/{id}", DEPLOY, "Give a data store another name", update)
            .takes(&[name])
            .updates()
            .one(of::<DataStoreOut>()),
        delete("/data_stores/{id}", DEPLOY, "Delete a data store with all it holds", remove)
            .takes(&[DRY_RUN]),
        get(
            "/data_stores/{id}/keys",
            READ,
            "Its keys in their order; the cursor is the key itself",
            keys,
        )
        .takes(&[
            text("prefix", "Only keys that begin so, which is also what is counted"),
            flag("values", "With their values, large ones cut"),
        ])
        .forward(of::<DataStoreKeyOut>()),
        delete("/data_stores/{id}/keys", DEPLOY, "Remove all it holds", clear)
            .gives(Gives::One(of::<DataStoreOut>())),
        get("/data_stores/{id}/record", READ, "The value of a key", read)
            .takes(&[key])
            .one(of::<DataStoreRecordOut>()),
        put("/data_stores/{id}/record", DEPLOY, "Write the value of a key", set)
            .takes(&[
                key,
                Param::new("value", Kind::Any, "The value").required(),
                number("ttl", "Seconds after which it ends; absent: never"),
            ])
            .takes(&[number(
                "expires_at_ms",
                "Or when it ends, epoch milliseconds, as the record shows it; null: never",
            )])
            .updates()
            .gives(Gives::One(of::<DataStoreRecordOut>())),
        delete("/data_stores/{id}/record", DEPLOY, "Remove a key", remove_key)
            .takes(&[key])
            .gives(Gives::One(of::<DeletedKeyOut>())),
    ]
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let store = app.engine.data_stores().create(&caller, &params.needed("name")?).await?;
    Ok(Fields::of(&params).data(DataStoreOut::show(&store)))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.data_stores().list(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |store| DataStoreOut::show(&store)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let store = app.engine.data_stores().get(&caller, &which).await?;
    Ok(Fields::of(&query.params).data(DataStoreOut::show(&store)))
}

pub(crate) async fn update(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    back.check(&params, async {
        Ok(DataStoreOut::show(&app.engine.data_stores().get(&caller, &which).await?))
    })
    .await?;
    let store = app.engine.data_stores().rename(&caller, &which, &params.needed("name")?).await?;
    Ok(Fields::of(&params).data(DataStoreOut::show(&store)))
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
    let store = app.engine.data_stores().delete(&caller, &which).await?;
    Ok(names::deleted(store.id.as_str()))
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
    let listing = app.engine.data_stores().keys(&caller, &which, asked).await?;
    let shown = |view: &KeyView| (view.cursor.clone(), DataStoreKeyOut::show(view));
    let items = listing.items.iter().map(shown).collect();
    Ok(Fields::of(&query.params).list(listing.total_count, items))
}

pub(crate) async fn clear(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
    _: Params,
) -> Result<Response, ApiError> {
    app.engine.data_stores().clear(&caller, &which).await?;
    let store = app.engine.data_stores().get(&caller, &which).await?;
    Ok(Fields::default().data(DataStoreOut::show(&store)))
}

pub(crate) async fn read(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let entry =
        app.engine.data_stores().entry(&caller, &which, &query.params.needed("key")?).await?;
    let end = OrNull(entry.expires_at.map(Timestamp::ms));
    Ok(Fields::of(&query.params).data(DataStoreRecordOut::show(
        &entry.key,
        &shown(&entry.value),
        Some(end),
    )))
}

pub(crate) async fn set(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let key = params.needed("key")?;
    let value =
        params.0.get("value").ok_or_else(|| ApiError::missing("value", "it may be any JSON"))?;
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
    app.engine.data_stores().set_entry(&caller, &which, &key, value, ends).await?;
    Ok(Fields::default().data(DataStoreRecordOut::show(&key, value, None)))
}

pub(crate) async fn remove_key(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(which): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let key = params.needed("key")?;
    app.engine.data_stores().delete_entry(&caller, &which, &key).await?;
    Ok(Fields::default().data(DeletedKeyOut::show(&key)))
}
