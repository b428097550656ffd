//! `/api_keys`. A key is shown once, when it is made.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{GRACE_MAX, NewApiKey, RATE_MAX, UpdateApiKey};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{ApiKeyId, UserId};
use millrace_model::tenant::{ApiKey, Scope, Scopes};

use crate::App;
use crate::contract::routes::{Gives, Route, delete, get, post, put};
use crate::contract::shape::{of, record};
use crate::contract::table::{FULL, ORG};
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, id};
use crate::fields::Fields;
use crate::input::{Change, EpochSecs, Input, input};
use crate::v1::names;
use crate::written_back::WrittenBack;

record! {
    /// A key's record
    ApiKeyOut<'a>(k: &'a ApiKey) {
        id: &'a ApiKeyId = &k.id,
        name: &'a str = &k.name,
        user_id: &'a UserId = &k.user_id,
        scopes: Vec<Scope> = k.scopes.iter().collect(),
        rate_per_minute: Option<u32> = k.rate_per_minute,
        expires_at: Option<i64> = k.expires_at.map(Timestamp::secs),
        old_key_until: Option<i64> = k.old.as_ref().map(|(_, until)| until.secs()),
        created_at: i64 = k.created_at.secs(),
    }
}

record! {
    /// A new key, shown this once
    NewApiKeyOut<'a>(k: &'a ApiKey, key: &'a str) {
        #[serde(flatten)]
        record: ApiKeyOut<'a> = ApiKeyOut::new(k),
        key: &'a str = key,
    }
}

record! {
    /// The master key of now
    MasterKeyOut(id: String) {
        master_key_id: String = id,
    }
}

input! {
    for NewApiKey {
        /// What it is for
        name: String,
        /// What it may do: `read`, `invoke`, `deploy`, or `full`, which is everything
        scopes: Scopes,
        /// Requests a minute; absent: the server's setting
        rate_per_minute: Option<u32>,
        /// When it ends, epoch seconds; absent or null: never
        expires_at: Option<EpochSecs>,
    }
}

input! {
    for UpdateApiKey {
        /// A new name
        name: Option<String>,
        /// When it ends, epoch seconds; null: never; absent: as it is
        expires_at: Change<EpochSecs>,
    }
}

input! {
    /// How a key is replaced.
    RotateIn {
        /// How long the key before is still taken; 0 where it is not given, at most 30 days
        grace_seconds: Option<u64>,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        post("/api_keys", FULL, "Make a key; the key is shown this once", create)
            .reads::<NewApiKey>()
            .bounds("rate_per_minute", 1, RATE_MAX)
            .takes(&[ORG])
            .gives(Gives::One(of::<NewApiKeyOut>())),
        get("/api_keys", FULL, "The organization's keys, newest first; never the keys themselves", list)
            .page(of::<ApiKeyOut>()),
        get("/api_keys/{id}", FULL, "A key's record", show).one(of::<ApiKeyOut>()),
        put("/api_keys/{id}", FULL, "Give a key another name or end", update)
            .reads::<UpdateApiKey>()
            .updates()
            .one(of::<ApiKeyOut>()),
        delete(
            "/api_keys/{id}",
            FULL,
            "Revoke a key, at once; not the key of the request itself",
            revoke,
        ),
        post("/api_keys/{id}/rotate", FULL, "Put a new key in its place, shown this once", rotate)
            .reads::<RotateIn>()
            .bounds("grace_seconds", 0, GRACE_MAX.as_secs() as u32)
            .gives(Gives::One(of::<NewApiKeyOut>())),
        post(
            "/master_key/rotate",
            FULL,
            "Put a new master key in the place of the one under which all secrets are kept; only for the organization that was made first",
            rotate_master,
        )
        .gives(Gives::One(of::<MasterKeyOut>())),
    ]
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let (key, text) = app.engine.keys().create(&caller, Input::read(&params)?).await?;
    Ok(Fields::default().data(NewApiKeyOut::show(&key, &text)))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.keys().list(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |key| ApiKeyOut::show(&key)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let key = app.engine.keys().get(&caller, &id::<ApiKeyId>("API key", &text)?).await?;
    Ok(Fields::of(&query.params).data(ApiKeyOut::show(&key)))
}

pub(crate) async fn update(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    let key = id::<ApiKeyId>("API key", &text)?;
    back.check(&params, async {
        Ok(ApiKeyOut::show(&app.engine.keys().get(&caller, &key).await?))
    })
    .await?;
    let key = app.engine.keys().update(&caller, &key, Input::read(&params)?).await?;
    Ok(Fields::of(&params).data(ApiKeyOut::show(&key)))
}

pub(crate) async fn revoke(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let key = id::<ApiKeyId>("API key", &text)?;
    app.engine.keys().revoke(&caller, &key).await?;
    Ok(names::deleted(key.as_str()))
}

pub(crate) async fn rotate(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let grace = Duration::from_secs(RotateIn::read(&params)?.grace_seconds.unwrap_or(0));
    let (key, text) =
        app.engine.keys().rotate(&caller, &id::<ApiKeyId>("API key", &text)?, grace).await?;
    Ok(Fields::default().data(NewApiKeyOut::show(&key, &text)))
}

/// Another master key in the place of the current one.
pub(crate) async fn rotate_master(
    State(app): State<App>,
    Auth(caller): Auth,
    _: Params,
) -> Result<Response, ApiError> {
    Ok(Fields::default().data(MasterKeyOut::show(app.engine.master_key().rotate(&caller).await?)))
}
