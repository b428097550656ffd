//! `/accounts`: connected accounts. Credentials only where they are asked for.

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use millrace_engine::{
    AccountView, ErrorKind, NewAccount, NewConnection, UpdateAccount, check_scope,
};
use millrace_model::ids::AccountId;
use millrace_model::tenant::{Caller, Scope};
use serde_json::{Value, json};

use crate::App;
use crate::app::message;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, credential, id, query};
use crate::v1::names;
use crate::v1::sources::own;
use crate::wire::{self, Fields};
use crate::written_back::WrittenBack;

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let slug = params.text("app")?.ok_or_else(|| {
        ApiError::field("app", "`app` is missing; give the slug of an app, such as `stripe`")
    })?;
    let new = NewAccount {
        app: slug,
        name: params.text("name")?,
        credentials: params.object("credentials")?.unwrap_or_default(),
    };
    let view =
        app.engine.accounts().create(&caller.acting_for(params.external_user()?), new).await?;
    Ok(Fields::of(&params).data(wire::account(&view)))
}

/// Begins to connect an account by OAuth: gives the provider's page, to be opened in a browser.
pub(crate) async fn connect(
    State(app): State<App>,
    Auth(caller): Auth,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let slug = params
        .text("app")?
        .ok_or_else(|| ApiError::field("app", "`app` is missing; give the slug of an app"))?;
    let account = params.text("account_id")?.map(|text| id("account", &text)).transpose()?;
    let new = NewConnection {
        app: slug,
        name: params.text("name")?,
        account,
        fields: params.object("credentials")?.unwrap_or_default(),
    };
    let key = credential(&Method::POST, &headers)?;
    let link = app
        .engine
        .accounts()
        .connect(&caller.acting_for(params.external_user()?), key, new)
        .await?;
    let mut shown = wire::connection(&link.connection);
    shown["connect_url"] = json!(link.url);
    Ok(Fields::of(&params).data(shown))
}

/// State of a connection, for a client that waits until its user has answered at the provider.
pub(crate) async fn connection(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let connection = app.engine.accounts().connection(&caller, &id("connection", &text)?).await?;
    Ok(Fields::of(&query.params).data(wire::connection(&connection)))
}

/// Where the provider sends the user back to. A page for people, not part of `/v1`.
pub(crate) async fn callback(State(app): State<App>, RawQuery(text): RawQuery) -> Response {
    let params = Params(query(text.as_deref()));
    let field = |name: &str| params.text(name).ok().flatten().unwrap_or_default();
    let refused = |words: String| message(StatusCode::BAD_REQUEST, "Not connected", &words);
    let (error, code) = (field("error"), field("code"));
    let answer = if !error.is_empty() {
        Err(format!("the provider answered: {}", error.chars().take(200).collect::<String>()))
    } else if code.is_empty() {
        Err("the provider gave no code; begin again".to_owned())
    } else {
        Ok(code.as_str())
    };
    match app.engine.accounts().finish_connecting(&field("state"), answer).await {
        Ok(view) => {
            let words = format!(
                "The account `{}` of {} is connected. You may close this page.",
                view.account.name, view.app.definition.name
            );
            message(StatusCode::OK, "Connected", &words)
        }
        Err(error) if error.kind() == ErrorKind::Internal => {
            tracing::error!(error = %error, "an account could not be connected");
            message(
                StatusCode::INTERNAL_SERVER_ERROR,
                "Not connected",
                "The server failed. Its log says why.",
            )
        }
        Err(error) => refused(error.to_string()),
    }
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    listed(&app, &caller, &query, "app", wire::account).await
}

/// The older form: the app is named by `query` (facts 1.2).
pub(crate) async fn list_of(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(org): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    own(&app, &caller, &org).await?;
    listed(&app, &caller, &query, "query", wire::account).await
}

pub(crate) async fn listed(
    app: &App,
    caller: &Caller,
    query: &ListQuery,
    field: &str,
    show: fn(&AccountView) -> Value,
) -> Result<Response, ApiError> {
    let slug = query.params.text(field)?.filter(|slug| !slug.is_empty());
    let with_credentials = with_credentials(caller, &query.params)?;
    let caller = caller.clone().acting_for(query.params.external_user()?);
    let listing =
        app.engine.accounts().list(&caller, slug.as_deref(), with_credentials, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |view| show(&view)))
}

/// Whether credentials are asked for, by a key that may see them.
pub(crate) fn with_credentials(caller: &Caller, params: &Params) -> Result<bool, ApiError> {
    let asked = params.flag("include_credentials")?.unwrap_or(false);
    if asked {
        check_scope(caller, Scope::Full)?;
    }
    Ok(asked)
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let with_credentials = with_credentials(&caller, &query.params)?;
    let view = app
        .engine
        .accounts()
        .get(&caller, &id::<AccountId>("account", &text)?, with_credentials)
        .await?;
    Ok(Fields::of(&query.params).data(wire::account(&view)))
}

pub(crate) async fn update(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    let account = id::<AccountId>("account", &text)?;
    back.check(&params, async {
        Ok(wire::account(&app.engine.accounts().get(&caller, &account, false).await?))
    })
    .await?;
    let external_user_id = match params.0.get("external_user_id") {
        Some(Value::Null) => Some(None),
        _ => params.external_user()?.map(Some),
    };
    let update = UpdateAccount {
        name: params.text("name")?,
        credentials: params.object("credentials")?,
        external_user_id,
    };
    let view = app.engine.accounts().update(&caller, &account, update).await?;
    Ok(Fields::of(&params).data(wire::account(&view)))
}

/// What names it, as a delete would tell.
pub(crate) async fn uses(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
) -> Result<Response, ApiError> {
    let found = app.engine.account_would_go(&caller, &id::<AccountId>("account", &text)?).await?;
    Ok(Json(json!({ "data": found.uses.iter().map(names::shown).collect::<Vec<_>>() }))
        .into_response())
}

pub(crate) async fn check(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let view = app.engine.accounts().check(&caller, &id::<AccountId>("account", &text)?).await?;
    Ok(Fields::of(&params).data(wire::account(&view)))
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let account = id::<AccountId>("account", &text)?;
    if names::is_dry(&params)? {
        return Ok(names::would_go(
            account.as_str(),
            &app.engine.account_would_go(&caller, &account).await?,
        ));
    }
    app.engine.accounts().delete(&caller, &account).await?;
    Ok(Fields::default().data(json!({ "id": account, "deleted": true })))
}
