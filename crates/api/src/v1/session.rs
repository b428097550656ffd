//! `/session`, `/sessions`, `/links`: people who sign in with a browser.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use millrace_engine::{LinkAnswer, SessionView, SignedIn};
use millrace_model::clock::Timestamp;
use millrace_model::ids::SessionId;
use millrace_model::people::Session;
use millrace_model::tenant::Caller;
use serde_json::{Value, json};

use crate::App;
use crate::audit::Trail;
use crate::error::{ApiError, accepted};
use crate::extract::{
    Auth, ListQuery, Params, Path, SESSION_COOKIE, SIGN_IN_COOKIE, Visitor, encode_cursor, id,
    only_cookie,
};
use crate::wire::Fields;

/// Where a sign-in by the provider begins and ends.
const SIGN_IN_PATH: &str = "/v1/sign_in";

/// Signs in with an address and a password.
pub(crate) async fn begin(
    State(app): State<App>,
    Visitor(client): Visitor,
    trail: Extension<Trail>,
    params: Params,
) -> Result<Response, ApiError> {
    let signed_in = app
        .engine
        .people()
        .sign_in(&needed(&params, "email")?, &needed(&params, "password")?, &client)
        .await?;
    begun(&app, &trail, signed_in).await
}

/// How one signs in.
pub(crate) async fn ways(State(app): State<App>, query: ListQuery) -> Result<Response, ApiError> {
    Ok(Fields::of(&query.params).data(json!({ "provider": app.engine.oidc().provider_name() })))
}

/// Begins a sign-in by the provider. The cookie binds it to this browser.
pub(crate) async fn begin_with_provider(
    State(app): State<App>,
    Visitor(_): Visitor,
    _: Params,
) -> Result<Response, ApiError> {
    let begun = app.engine.oidc().begin().await?;
    let mut response =
        Fields::default().data(json!({ "url": begun.url, "expires_at": begun.expires_at.secs() }));
    put_cookie(
        &app,
        &mut response,
        SIGN_IN_COOKIE,
        SIGN_IN_PATH,
        &begun.pending,
        begun.max_age_secs,
    );
    Ok(response)
}

/// Ends a sign-in by the provider, with what it sent the browser back with.
pub(crate) async fn finish_with_provider(
    State(app): State<App>,
    Visitor(client): Visitor,
    trail: Extension<Trail>,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, ApiError> {
    let pending = only_cookie(&headers, SIGN_IN_COOKIE);
    let signed_in = app
        .engine
        .oidc()
        .finish(pending, &needed(&params, "state")?, &needed(&params, "code")?, &client)
        .await?;
    let mut response = begun(&app, &trail, signed_in).await?;
    put_cookie(&app, &mut response, SIGN_IN_COOKIE, SIGN_IN_PATH, "", 0);
    Ok(response)
}

/// Uses a link that works once, and signs in.
pub(crate) async fn use_link(
    State(app): State<App>,
    Visitor(client): Visitor,
    trail: Extension<Trail>,
    params: Params,
) -> Result<Response, ApiError> {
    let answer = LinkAnswer {
        name: params.text("name")?,
        email: params.text("email")?,
        password: needed(&params, "password")?,
    };
    let signed_in =
        app.engine.people().use_link(&needed(&params, "token")?, answer, &client).await?;
    begun(&app, &trail, signed_in).await
}

/// What a link is for.
pub(crate) async fn open_link(
    State(app): State<App>,
    Visitor(_): Visitor,
    params: Params,
) -> Result<Response, ApiError> {
    let (link, organization) = app.engine.people().open_link(&needed(&params, "token")?).await?;
    Ok(Fields::default().data(json!({
        "kind": link.kind.as_str(), "email": link.email, "role": link.role, "org": { "id": organization.id, "name": organization.name },
        "expires_at": link.expires_at.secs(),
    })))
}

async fn begun(app: &App, trail: &Trail, signed_in: SignedIn) -> Result<Response, ApiError> {
    trail.begin(app, &signed_in.caller).await?;
    let view = app.engine.people().session_view(&signed_in.caller).await?;
    let mut response = Fields::default().data(shown(&signed_in.caller, &view));
    set_cookie(app, &mut response, &signed_in.token, signed_in.max_age_secs);
    Ok(response)
}

/// Strict: no other site makes a request with it. `/v1` alone: what is at `/e/…` never gets it.
fn set_cookie(app: &App, response: &mut Response, token: &str, max_age: i64) {
    put_cookie(app, response, SESSION_COOKIE, "/v1", token, max_age);
}

fn put_cookie(
    app: &App,
    response: &mut Response,
    name: &str,
    path: &str,
    value: &str,
    max_age: i64,
) {
    let secure = if app.config.base_url.starts_with("https:") { "; Secure" } else { "" };
    let cookie = format!(
        "{name}={value}; Path={path}; HttpOnly; SameSite=Strict; Max-Age={max_age}{secure}"
    );
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// Who asks, and what that role may do.
pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let view = app.engine.people().session_view(&caller).await?;
    Ok(Fields::of(&query.params).data(shown(&caller, &view)))
}

/// Looks at another organization.
pub(crate) async fn switch(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    let caller = app
        .engine
        .people()
        .switch_organization(&caller, &id("workspace", &needed(&params, "org_id")?)?)
        .await?;
    let view = app.engine.people().session_view(&caller).await?;
    Ok(Fields::of(&params).data(shown(&caller, &view)))
}

/// Signs out.
pub(crate) async fn end(
    State(app): State<App>,
    Auth(caller): Auth,
    _: Params,
) -> Result<Response, ApiError> {
    let ended = app.engine.people().end_session(&caller, None).await?;
    let mut response = Fields::default().data(json!({ "id": ended, "deleted": true }));
    set_cookie(&app, &mut response, "", 0);
    Ok(response)
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let sessions = app.engine.people().sessions(&caller).await?;
    let items = sessions
        .iter()
        .map(|session| (encode_cursor(session.id.as_str()), listed(session, &caller)))
        .collect();
    Fields::of(&query.params).whole(items, &query.page)
}

pub(crate) async fn end_one(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let ended =
        app.engine.people().end_session(&caller, Some(&id::<SessionId>("session", &text)?)).await?;
    Ok(Fields::default().data(json!({ "id": ended, "deleted": true })))
}

/// Sets another password.
pub(crate) async fn change_password(
    State(app): State<App>,
    Auth(caller): Auth,
    Visitor(client): Visitor,
    params: Params,
) -> Result<Response, ApiError> {
    app.engine
        .people()
        .change_password(
            &caller,
            &needed(&params, "current_password")?,
            &needed(&params, "password")?,
            &client,
        )
        .await?;
    let view = app.engine.people().session_view(&caller).await?;
    Ok(Fields::of(&params).data(shown(&caller, &view)))
}

/// Mails a link to somebody who forgot the password; the answer is the same where there is nobody.
pub(crate) async fn forgot(
    State(app): State<App>,
    Visitor(client): Visitor,
    params: Params,
) -> Result<Response, ApiError> {
    app.engine.people().forgot_password(&needed(&params, "email")?, &client)?;
    Ok(accepted(Fields::default().data(json!({ "asked": true }))))
}

/// A link by which somebody sets a password.
pub(crate) async fn setup_link(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let made = app.engine.people().setup_link(&caller, params.text("email")?.as_deref()).await?;
    let link = made.link;
    Ok(Fields::default().data(
        json!({ "id": link.id, "kind": link.kind.as_str(), "email": link.email, "url": made.url, "mailed": made.mailed, "expires_at": link.expires_at.secs(), "created_at": link.created_at.secs() }),
    ))
}

fn needed(params: &Params, field: &'static str) -> Result<String, ApiError> {
    params.text(field)?.ok_or_else(|| ApiError::field(field, format!("`{field}` is missing")))
}

fn shown(caller: &Caller, view: &SessionView) -> Value {
    let organizations = view
        .organizations
        .iter()
        .map(|(o, role)| json!({ "id": o.id, "name": o.name, "role": role }));
    json!({
        "id": caller.session,
        "user": { "id": view.user.id, "name": view.user.username, "email": view.user.email },
        "org": { "id": view.organization.id, "name": view.organization.name },
        "role": view.role,
        "scopes": caller.scopes.iter().collect::<Vec<_>>(),
        "orgs": organizations.collect::<Vec<_>>(),
        "expires_at": caller.ends_at.map(Timestamp::secs),
    })
}

fn listed(s: &Session, caller: &Caller) -> Value {
    json!({
        "id": s.id, "current": caller.session.as_ref() == Some(&s.id), "address": s.address, "user_agent": s.user_agent,
        "created_at": s.created_at.secs(), "used_at": s.used_at.secs(), "expires_at": s.ends_at().secs(),
    })
}
