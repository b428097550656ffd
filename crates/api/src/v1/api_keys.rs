//! `/api_keys`. A key is shown once, when it is made.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{NewApiKey, UpdateApiKey};
use millrace_model::clock::Timestamp;
use millrace_model::ids::ApiKeyId;
use millrace_model::tenant::{ApiKey, Scope, Scopes};
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, id};
use crate::wire::{self, Fields};
use crate::written_back::WrittenBack;

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let new = NewApiKey {
        name: params
            .text("name")?
            .ok_or_else(|| ApiError::field("name", "`name` is missing; say what the key is for"))?,
        scopes: scopes(&params)?,
        rate_per_minute: params.number("rate_per_minute")?,
        expires_at: end(&params)?.flatten(),
    };
    let (key, text) = app.engine.keys().create(&caller, new).await?;
    Ok(Fields::default().data(with_key(&key, &text)))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.keys().list(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |key| wire::api_key(&key)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let key = app.engine.keys().get(&caller, &id::<ApiKeyId>("API key", &text)?).await?;
    Ok(Fields::of(&query.params).data(wire::api_key(&key)))
}

pub(crate) async fn update(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    let key = id::<ApiKeyId>("API key", &text)?;
    back.check(&params, async { Ok(wire::api_key(&app.engine.keys().get(&caller, &key).await?)) })
        .await?;
    let update = UpdateApiKey { name: params.text("name")?, expires_at: end(&params)? };
    let key = app.engine.keys().update(&caller, &key, update).await?;
    Ok(Fields::of(&params).data(wire::api_key(&key)))
}

pub(crate) async fn revoke(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let key = id::<ApiKeyId>("API key", &text)?;
    app.engine.keys().revoke(&caller, &key).await?;
    Ok(Fields::default().data(json!({ "id": key, "deleted": true })))
}

pub(crate) async fn rotate(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let grace = Duration::from_secs(params.number("grace_seconds")?.unwrap_or(0));
    let (key, text) =
        app.engine.keys().rotate(&caller, &id::<ApiKeyId>("API key", &text)?, grace).await?;
    Ok(Fields::default().data(with_key(&key, &text)))
}

fn with_key(key: &ApiKey, text: &str) -> Value {
    let mut shown = wire::api_key(key);
    shown["key"] = json!(text);
    shown
}

/// What the key may do. Nothing is given that was not asked for by its name: a missing or null
/// field is refused.
pub(crate) fn scopes(params: &Params) -> Result<Scopes, ApiError> {
    let allowed = || Scope::ALL.map(Scope::as_str).join(", ");
    let missing = || {
        ApiError::field(
            "scopes",
            format!(
                "`scopes` is missing; say what may be done: {} (`full` is everything)",
                allowed()
            ),
        )
    };
    let words = params.words("scopes")?.ok_or_else(missing)?;
    let parsed = words.iter().map(|word| {
        Scope::parse(word).ok_or_else(|| {
            ApiError::field(
                "scopes",
                format!(
                    "`{}` is not a scope; allowed are {}",
                    millrace_model::shown(word),
                    allowed()
                ),
            )
        })
    });
    Scopes::of(parsed.collect::<Result<_, _>>()?).ok_or_else(|| {
        ApiError::field("scopes", format!("`scopes` is empty; allowed are {}", allowed()))
    })
}

/// The end that is asked for, in epoch seconds; null takes it away.
fn end(params: &Params) -> Result<Option<Option<Timestamp>>, ApiError> {
    match params.0.get("expires_at") {
        None => Ok(None),
        Some(Value::Null) => Ok(Some(None)),
        // Beyond the year 9999 it is a time in milliseconds by mistake.
        Some(_) => match params.number::<i64>("expires_at")? {
            Some(secs) if (0..=253_402_300_799).contains(&secs) => {
                Ok(Some(Some(Timestamp(secs * 1000))))
            }
            _ => Err(ApiError::field("expires_at", "`expires_at` is not a time in epoch seconds")),
        },
    }
}

/// Another master key in the place of the one of now.
pub(crate) async fn rotate_master(
    State(app): State<App>,
    Auth(caller): Auth,
    _: Params,
) -> Result<Response, ApiError> {
    Ok(Fields::default()
        .data(json!({ "master_key_id": app.engine.master_key().rotate(&caller).await? })))
}
