//! `/accounts`: connected accounts. Credentials only where they are asked for.

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use millrace_engine::{
    AccountView, ErrorKind, NewAccount, NewConnection, UpdateAccount, check_scope,
};
use millrace_model::account::{App as Registered, Connection, ConnectionState};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AccountId, AppId, ConnectionId};
use millrace_model::tenant::{Caller, Scope};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::App;
use crate::app::message;
use crate::contract::routes::{Gives, Route, delete, get, post, put};
use crate::contract::shape::{of, record};
use crate::contract::table::{DRY_RUN, FULL, ORG, READ, flag, object, text};
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, credential, id, query};
use crate::fields::Fields;
use crate::v1::names::NamedOut;
use crate::v1::sources::own;
use crate::v1::{names, provider_refusal};
use crate::written_back::WrittenBack;

record! {
    /// The app of an account
    AccountAppOut<'a>(a: &'a Registered) {
        id: &'a AppId = &a.id,
        name_slug: &'a str = &a.name_slug,
        name: &'a str = &a.definition.name,
    }
}

record! {
    /// A connected account
    AccountOut<'a>(view: &'a AccountView) with {
        let a = &view.account;
    } {
        id: &'a AccountId = &a.id,
        name: &'a str = &a.name,
        app: AccountAppOut<'a> = AccountAppOut::new(&view.app),
        healthy: bool = a.healthy,
        problem: Option<&'a str> = a.problem.as_deref(),
        external_user_id: Option<&'a str> = a.external_user_id.as_deref(),
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<i64> = a.expires_at.map(Timestamp::secs),
        #[serde(skip_serializing_if = "Option::is_none")]
        credentials: Option<&'a Map<String, Value>> = view.credentials.as_ref(),
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        warnings: &'a [String] = &view.warnings,
        created_at: i64 = a.created_at.secs(),
        updated_at: i64 = a.updated_at.secs(),
    }
}

/// How far a connection is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ConnectionStatus {
    /// Nobody has come back from the provider yet.
    Waiting,
    /// The account is there.
    Connected,
    /// There will be none.
    Failed,
}

record! {
    /// A connection of an account at its provider; `connect_url`, the provider's page, only where
    /// it is begun
    ConnectionOut<'a>(c: &'a Connection, url: Option<&'a str>) with {
        let (status, account, problem) = match &c.state {
            ConnectionState::Waiting | ConnectionState::Answered => {
                (ConnectionStatus::Waiting, None, None)
            }
            ConnectionState::Connected(account) => {
                (ConnectionStatus::Connected, Some(account), None)
            }
            ConnectionState::Failed(problem) => (ConnectionStatus::Failed, None, Some(problem)),
        };
    } {
        id: &'a ConnectionId = &c.id,
        app: &'a str = &c.app,
        external_user_id: Option<&'a str> = c.external_user_id.as_deref(),
        status: ConnectionStatus = status,
        account_id: Option<&'a AccountId> = account,
        problem: Option<&'a String> = problem,
        #[serde(skip_serializing_if = "Option::is_none")]
        connect_url: Option<&'a str> = url,
        created_at: i64 = c.created_at.secs(),
        expires_at: i64 = c.expires_at.secs(),
    }
}

pub(crate) fn routes() -> Vec<Route> {
    let credentials =
        flag("include_credentials", "Show the credentials; needs a key with the scope `full`");
    vec![
        get("/accounts", READ, "Connected accounts", list)
            .takes(&[
                text("app", "Only of the app with this slug or id"),
                text("external_user_id", "Only those that carry this external user"),
                credentials,
                ORG,
            ])
            .page(of::<AccountOut>()),
        post("/accounts", FULL, "Connect an account", create)
            .takes(&[
                text("app", "The app's slug").required(),
                text("name", "Its name"),
                object("credentials", "A value for each field of the app"),
                text("external_user_id", "The external user of `/v1/connect` whose it is; not given: the organization's own"),
                ORG,
            ])
            .one(of::<AccountOut>()),
        post("/accounts/connect", FULL, "Begin to connect an account by OAuth: gives the provider's page, to be opened in a browser", connect)
            .takes(&[
                text("app", "The app's slug").required(),
                text("name", "The account's name"),
                text("account_id", "An account to be connected again"),
                object("credentials", "Values of the app's other fields"),
                text("external_user_id", "The external user of `/v1/connect` whose it is; not given: the organization's own"),
                ORG,
            ])
            .one(of::<ConnectionOut>()),
        get(
            "/accounts/connect/{id}",
            READ,
            "A connection that was begun: whether somebody came back from the provider, and with what account",
            connection,
        )
        .one(of::<ConnectionOut>()),
        get("/accounts/{id}", READ, "A connected account", show).takes(&[credentials]).one(of::<AccountOut>()),
        get("/accounts/{id}/uses", READ, "The workflows and sources that name it", uses).gives(Gives::List(of::<NamedOut>())),
        post(
            "/accounts/{id}/check",
            FULL,
            "Ask its provider for a token now, and tell whether the account works; of one without a refresh token as it is known",
            check,
        )
        .one(of::<AccountOut>()),
        put("/accounts/{id}", FULL, "Change an account's name or credentials", update)
            .takes(&[
                text("name", "A new name"),
                object("credentials", "New values; the others stay"),
                text("external_user_id", "The external user of `/v1/connect` whose it is from now on; null: nobody's"),
            ])
            .updates()
            .one(of::<AccountOut>()),
        delete("/accounts/{id}", FULL, "Forget an account", remove).takes(&[DRY_RUN]),
        get("/workspaces/{org}/accounts", READ, "Connected accounts", list_of)
            .takes(&[text("query", "An app's slug"), text("external_user_id", "Only those that carry this external user"), credentials])
            .page(of::<AccountOut>()),
        get("/orgs/{org}/accounts", READ, "Connected accounts", list_of)
            .takes(&[text("query", "An app's slug"), text("external_user_id", "Only those that carry this external user"), credentials])
            .page(of::<AccountOut>()),
    ]
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let new = NewAccount {
        app: params.needed("app")?,
        name: params.text("name")?,
        credentials: params.object("credentials")?.unwrap_or_default(),
    };
    let view =
        app.engine.accounts().create(&caller.acting_for(params.external_user()?), new).await?;
    Ok(Fields::of(&params).data(AccountOut::show(&view)))
}

/// Begins to connect an account by OAuth: gives the provider's page, to be opened in a browser.
pub(crate) async fn connect(
    State(app): State<App>,
    Auth(caller): Auth,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let account = params.text("account_id")?.map(|text| id("account", &text)).transpose()?;
    let new = NewConnection {
        app: params.needed("app")?,
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
    Ok(Fields::of(&params).data(ConnectionOut::show(&link.connection, Some(&link.url))))
}

/// State of a connection, for a client that waits until its user has answered at the provider.
pub(crate) async fn connection(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let connection = app.engine.accounts().connection(&caller, &id("connection", &text)?).await?;
    Ok(Fields::of(&query.params).data(ConnectionOut::show(&connection, None)))
}

/// Where the provider sends the user back to. A page for people, not part of `/v1`.
pub(crate) async fn callback(State(app): State<App>, RawQuery(text): RawQuery) -> Response {
    let params = Params(query(text.as_deref()));
    let field = |name: &str| params.text(name).ok().flatten().unwrap_or_default();
    let refused = |words: String| message(StatusCode::BAD_REQUEST, "Not connected", &words);
    let (error, code) = (field("error"), field("code"));
    let answer = if !error.is_empty() {
        Err(provider_refusal::line(&error, &field("error_description")))
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
    listed(&app, &caller, &query, "app", |view| AccountOut::show(view)).await
}

/// The older form: the app is named by `query` (facts 1.2).
pub(crate) async fn list_of(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(org): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    own(&app, &caller, &org).await?;
    listed(&app, &caller, &query, "query", |view| AccountOut::show(view)).await
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
    Ok(Fields::of(&query.params).data(AccountOut::show(&view)))
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
        Ok(AccountOut::show(&app.engine.accounts().get(&caller, &account, false).await?))
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
    Ok(Fields::of(&params).data(AccountOut::show(&view)))
}

/// What names it, as a delete would tell.
pub(crate) async fn uses(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
) -> Result<Response, ApiError> {
    let found = app.engine.account_would_go(&caller, &id::<AccountId>("account", &text)?).await?;
    Ok(Json(json!({ "data": found.uses.iter().map(names::NamedOut::show).collect::<Vec<_>>() }))
        .into_response())
}

pub(crate) async fn check(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let view = app.engine.accounts().check(&caller, &id::<AccountId>("account", &text)?).await?;
    Ok(Fields::of(&params).data(AccountOut::show(&view)))
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
    Ok(names::deleted(account.as_str()))
}
