//! OAuth clients, and the tokens that they get for their id and secret (`client_credentials`).

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use millrace_model::ids::OauthClientId;
use millrace_model::tenant::{OauthClient, Scope, Scopes};
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, ShownBy, id};
use crate::v1::api_keys::scopes;
use crate::wire::Fields;

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let name = params
        .text("name")?
        .ok_or_else(|| ApiError::field("name", "`name` is missing; say what the client is for"))?;
    let (client, secret) =
        app.engine.oauth_clients().create(&caller, &name, scopes(&params)?).await?;
    let mut shown = shown(&client);
    shown["client_secret"] = json!(secret);
    Ok(Fields::default().data(shown))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.oauth_clients().list(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |client| shown(&client)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let client = app
        .engine
        .oauth_clients()
        .get(&caller, &id::<OauthClientId>("OAuth client", &text)?)
        .await?;
    Ok(Fields::of(&query.params).data(shown(&client)))
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let client = id::<OauthClientId>("OAuth client", &text)?;
    app.engine.oauth_clients().delete(&caller, &client).await?;
    Ok(Fields::default().data(json!({ "id": client, "deleted": true })))
}

/// The record; `id` is the `client_id` of requests. Never the secret.
fn shown(c: &OauthClient) -> Value {
    json!({ "id": c.id, "name": c.name, "user_id": c.user_id, "scopes": c.scopes.iter().collect::<Vec<_>>(), "created_at": c.created_at.secs() })
}

pub(crate) async fn token(
    State(app): State<App>,
    ShownBy(from): ShownBy,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, ApiError> {
    let grant = params.text("grant_type")?.unwrap_or_default();
    if grant != "client_credentials" {
        let shown = millrace_model::shown(&grant);
        return Err(ApiError::field(
            "grant_type",
            format!("`grant_type` is `{shown}`, allowed is `client_credentials`"),
        ));
    }
    let wanted = match params.text("scope")? {
        // `*` stands for all that the client may do, as clients of such platforms say it.
        Some(text) if text.trim() != "*" => {
            let refused = |word: String| {
                let allowed = Scope::ALL.map(Scope::as_str).join(", ");
                let shown = millrace_model::shown(&word);
                ApiError::field(
                    "scope",
                    format!(
                        "`{shown}` is not a scope; allowed are {allowed}, and `*` for all that the client may do"
                    ),
                )
            };
            Scopes::parse(&text).map_err(refused)?
        }
        _ => None,
    };
    let (client, secret) = credentials(&headers, &params)?;
    let issued =
        app.engine.oauth_clients().issue_token(&client, &secret, wanted, from.as_ref()).await?;
    let body = json!({ "access_token": issued.token, "token_type": "Bearer", "expires_in": issued.expires_in, "created_at": issued.created_at.secs() });
    Ok(([(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(body))
        .into_response())
}

/// A token that is not there is revoked as well (RFC 7009).
pub(crate) async fn revoke(
    State(app): State<App>,
    ShownBy(from): ShownBy,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, ApiError> {
    let token =
        params.text("token")?.ok_or_else(|| ApiError::field("token", "`token` is missing"))?;
    let (client, secret) = credentials(&headers, &params)?;
    app.engine.oauth_clients().revoke_token(&client, &secret, &token, from.as_ref()).await?;
    Ok(Json(json!({})).into_response())
}

/// Id and secret, as parameters or as `Authorization: Basic` (RFC 6749, 2.3.1).
fn credentials(headers: &HeaderMap, params: &Params) -> Result<(String, String), ApiError> {
    let given = (params.text("client_id")?, params.text("client_secret")?);
    if let (Some(id), Some(secret)) = given {
        return Ok((id, secret));
    }
    let basic = headers.get(header::AUTHORIZATION).and_then(|value| {
        let (scheme, text) = value.to_str().ok()?.split_once(' ')?;
        let text = scheme
            .eq_ignore_ascii_case("basic")
            .then(|| STANDARD.decode(text.trim()).ok())
            .flatten()?;
        let (id, secret) = std::str::from_utf8(&text).ok()?.split_once(':')?;
        Some((id.to_owned(), secret.to_owned()))
    });
    basic.ok_or_else(|| ApiError::field("client_id", "`client_id` and `client_secret` are missing"))
}
