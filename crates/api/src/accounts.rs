//! `/accounts`: connected accounts. Credentials only where they are asked for.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{NewAccount, UpdateAccount};
use millrace_model::ids::AccountId;
use millrace_model::tenant::{Caller, Scope};
use serde_json::json;

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, id};
use crate::sources::own;
use crate::wire::{self, Fields};

pub(crate) async fn create(State(app): State<App>, Auth(caller): Auth, params: Params) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let slug = params.text("app")?.ok_or_else(|| ApiError::field("app", "`app` is missing; give the slug of an app, such as `stripe`"))?;
    let new = NewAccount { app: slug, name: params.text("name")?, credentials: params.object("credentials")?.unwrap_or_default() };
    let view = app.engine.create_account(&caller, new).await?;
    Ok(Fields::of(&params).data(wire::account(&view)))
}

pub(crate) async fn list(State(app): State<App>, Auth(caller): Auth, query: ListQuery) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    accounts(&app, &caller, &query, "app").await
}

/// The older form: the app is named by `query` (facts 1.2).
pub(crate) async fn list_of(State(app): State<App>, Auth(caller): Auth, Path(org): Path, query: ListQuery) -> Result<Response, ApiError> {
    own(&app, &caller, &org).await?;
    accounts(&app, &caller, &query, "query").await
}

async fn accounts(app: &App, caller: &Caller, query: &ListQuery, field: &str) -> Result<Response, ApiError> {
    let slug = query.params.text(field)?.filter(|slug| !slug.is_empty());
    let with_credentials = with_credentials(app, caller, &query.params)?;
    let listing = app.engine.list_accounts(caller, slug.as_deref(), with_credentials, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |view| wire::account(&view)))
}

/// Whether credentials are asked for, by a key that may see them.
fn with_credentials(app: &App, caller: &Caller, params: &Params) -> Result<bool, ApiError> {
    let asked = params.flag("include_credentials")?.unwrap_or(false);
    if asked {
        app.engine.check_scope(caller, Scope::Full)?;
    }
    Ok(asked)
}

pub(crate) async fn show(State(app): State<App>, Auth(caller): Auth, Path(text): Path, query: ListQuery) -> Result<Response, ApiError> {
    let with_credentials = with_credentials(&app, &caller, &query.params)?;
    let view = app.engine.account(&caller, &id::<AccountId>("account", &text)?, with_credentials).await?;
    Ok(Fields::of(&query.params).data(wire::account(&view)))
}

pub(crate) async fn update(State(app): State<App>, Auth(caller): Auth, Path(text): Path, params: Params) -> Result<Response, ApiError> {
    let update = UpdateAccount { name: params.text("name")?, credentials: params.object("credentials")? };
    let view = app.engine.update_account(&caller, &id::<AccountId>("account", &text)?, update).await?;
    Ok(Fields::of(&params).data(wire::account(&view)))
}

pub(crate) async fn remove(State(app): State<App>, Auth(caller): Auth, Path(text): Path) -> Result<Response, ApiError> {
    let account = id::<AccountId>("account", &text)?;
    app.engine.delete_account(&caller, &account).await?;
    Ok(Fields::default().data(json!({ "id": account, "deleted": true })))
}
