//! `/users/me`, `/workspaces`.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{NewOrganization, UpdateOrganization};
use millrace_model::clock::Timestamp;
use serde_json::json;

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, encode_cursor, id};
use crate::wire::{self, Fields};
use crate::written_back::WrittenBack;

pub(crate) async fn me(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let me = app.engine.organizations().me(&caller).await?;
    let orgs: Vec<_> = me.organizations.iter().map(wire::organization).collect();
    Ok(Fields::of(&query.params).data(json!({ "id": me.user.id, "username": me.user.username, "email": me.user.email, "orgs": orgs })))
}

pub(crate) async fn workspaces(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let me = app.engine.organizations().me(&caller).await?;
    let items = me
        .organizations
        .iter()
        .map(|o| (encode_cursor(o.id.as_str()), wire::organization(o)))
        .collect();
    Fields::of(&query.params).whole(items, &query.page)
}

pub(crate) async fn workspace(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(org): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let organization = app.engine.organizations().get(&caller, &id("workspace", &org)?).await?;
    Ok(Fields::of(&query.params).data(wire::organization(&organization)))
}

pub(crate) async fn update_workspace(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(org): Path,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    let org = id("workspace", &org)?;
    back.check(&params, async {
        Ok(wire::organization(&app.engine.organizations().get(&caller, &org).await?))
    })
    .await?;
    let update = UpdateOrganization {
        name: params.text("name")?,
        error_recipients: params.words("error_recipients")?,
    };
    let organization = app.engine.organizations().update(&caller, &org, update).await?;
    Ok(Fields::of(&params).data(wire::organization(&organization)))
}

/// Ours: another organization in this server, with a key of its own that is shown this once.
pub(crate) async fn create_workspace(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    let text = |field| params.text(field).map(Option::unwrap_or_default);
    let (organization, key) = app
        .engine
        .organizations()
        .create(&caller, NewOrganization { name: text("name")?, email: text("email")? })
        .await?;
    let mut shown = wire::organization(&organization);
    shown["api_key"] = json!(key);
    Ok(Fields::default().data(shown))
}

/// What the person prefers in the organization.
pub(crate) async fn preferences(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let (preferences, at) = app.engine.preferences().get(&caller).await?;
    Ok(Fields::of(&query.params)
        .data(json!({ "preferences": preferences, "updated_at": at.map(Timestamp::secs) })))
}

pub(crate) async fn set_preferences(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    let given = params.object("preferences")?;
    let given = given.ok_or_else(|| {
        ApiError::field(
            "preferences",
            "`preferences` is missing: an object, which takes the place of what was there",
        )
    })?;
    let shown = json!(given);
    let at = app.engine.preferences().set(&caller, given).await?;
    Ok(Fields::of(&params).data(json!({ "preferences": shown, "updated_at": at.secs() })))
}
