//! `/session`, `/sessions`, `/links`: sign-in of people with a browser.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use millrace_engine::{LinkAnswer, NewLink, SessionView, SignedIn};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{LinkId, SessionId, UserId};
use millrace_model::people::{Link, LinkKind, Role, Session};
use millrace_model::tenant::{Caller, Organization, Scope, User};

use crate::App;
use crate::audit::RequestAudit;
use crate::contract::routes::{Gives, Route, delete, get, post, put};
use crate::contract::shape::{of, record};
use crate::contract::table::{ANY, FULL, NOTHING, text};
use crate::error::{ApiError, accepted};
use crate::extract::{
    Auth, ListQuery, Params, Path, SESSION_COOKIE, SIGN_IN_COOKIE, Visitor, encode_cursor, id,
    only_cookie,
};
use crate::fields::Fields;
use crate::v1::names;
use crate::v1::users::{MembershipOut, OrganizationNameOut};

/// Where a sign-in by the provider begins and ends.
const SIGN_IN_PATH: &str = "/v1/sign_in";

record! {
    /// Who is signed in
    SessionUserOut<'a>(u: &'a User) {
        id: &'a UserId = &u.id,
        name: &'a str = &u.username,
        email: &'a str = &u.email,
    }
}

record! {
    /// Who asks, in which organization, and what that role may do. Of an API key `id` is null, and
    /// `role` the widest whose scope the key has
    SessionOut<'a>(caller: &'a Caller, view: &'a SessionView) {
        id: Option<&'a SessionId> = caller.session.as_ref(),
        user: SessionUserOut<'a> = SessionUserOut::new(&view.user),
        org: OrganizationNameOut<'a> = OrganizationNameOut::new(&view.organization),
        role: Option<Role> = view.role,
        scopes: Vec<Scope> = caller.scopes.iter().collect(),
        orgs: Vec<MembershipOut<'a>> =
            view.organizations.iter().map(|(o, role)| MembershipOut::new(o, *role)).collect(),
        expires_at: Option<i64> = caller.ends_at.map(Timestamp::secs),
    }
}

record! {
    /// How people sign in beside their passwords
    SignInWaysOut<'a>(provider: Option<&'a str>) {
        provider: Option<&'a str> = provider,
    }
}

record! {
    /// The provider's page, to which the browser goes
    SignInBegunOut<'a>(url: &'a str, expires_at: Timestamp) {
        url: &'a str = url,
        expires_at: i64 = expires_at.secs(),
    }
}

record! {
    /// A session of a person in a browser
    BrowserSessionOut<'a>(s: &'a Session, caller: &'a Caller) {
        id: &'a SessionId = &s.id,
        current: bool = caller.session.as_ref() == Some(&s.id),
        address: &'a str = &s.address,
        user_agent: &'a str = &s.user_agent,
        created_at: i64 = s.created_at.secs(),
        used_at: i64 = s.used_at.secs(),
        expires_at: i64 = s.ends_at().secs(),
    }
}

record! {
    /// What a link that works once is for
    LinkOut<'a>(l: &'a Link, o: &'a Organization) {
        kind: LinkKind = l.kind,
        email: &'a str = &l.email,
        role: Option<Role> = l.role,
        org: OrganizationNameOut<'a> = OrganizationNameOut::new(o),
        expires_at: i64 = l.expires_at.secs(),
    }
}

record! {
    /// A link that works once, shown this once
    SetupLinkOut<'a>(made: &'a NewLink) {
        id: &'a LinkId = &made.link.id,
        kind: LinkKind = made.link.kind,
        email: &'a str = &made.link.email,
        url: &'a str = &made.url,
        mailed: bool = made.mailed,
        expires_at: i64 = made.link.expires_at.secs(),
        created_at: i64 = made.link.created_at.secs(),
    }
}

record! {
    /// What was asked for, and perhaps is on its way
    AskedOut() {
        asked: bool = true,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        post("/session", NOTHING, "Sign in: sets the cookie of a session, for browsers", begin)
            .takes(&[text("email", "The address").required(), text("password", "The password").required()])
            .gives(Gives::One(of::<SessionOut>())),
        get("/sign_in", NOTHING, "How people sign in beside their passwords", ways).one(of::<SignInWaysOut>()),
        post(
            "/sign_in/begin",
            NOTHING,
            "Begin to sign in by the provider of OpenID Connect; sets a cookie that ends it, for browsers",
            begin_with_provider,
        )
        .gives(Gives::One(of::<SignInBegunOut>())),
        post(
            "/sign_in/finish",
            NOTHING,
            "Sign in with what the provider sent the browser back with: sets the cookie of a session",
            finish_with_provider,
        )
        .takes(&[
            text("state", "The parameter `state` of the address that the browser came back to").required(),
            text("code", "Its parameter `code`").required(),
        ])
        .gives(Gives::One(of::<SessionOut>())),
        get("/session", ANY, "Who asks, in which organization, and what that role may do", show).one(of::<SessionOut>()),
        put("/session", ANY, "Look at another organization that one belongs to; only of a session", switch)
            .takes(&[text("org_id", "The organization").required()])
            .one(of::<SessionOut>()),
        delete("/session", ANY, "Sign out; only of a session", end),
        put("/session/password", ANY, "Set another password, and end all other sessions; only of a session", change_password)
            .takes(&[text("current_password", "The password of now").required(), text("password", "The new one, 12 to 256 characters").within(12, 256).required()])
            .one(of::<SessionOut>()),
        get("/sessions", ANY, "One's sessions, newest first; only of a session", list).page(of::<BrowserSessionOut>()),
        delete("/sessions/{id}", ANY, "End one of one's sessions; only of a session", end_one),
        post(
            "/links",
            NOTHING,
            "Mail a link by which somebody who forgot the password sets another one; the same answer whether or not there is such a person",
            forgot,
        )
        .takes(&[text("email", "The address that the person signs in with").required()])
        .gives(Gives::One(of::<AskedOut>()))
        .status(202),
        post("/links/open", NOTHING, "What a link that works once is for: a first visit, an invitation or another password", open_link)
            .takes(&[text("token", "What stands at the end of its address").required()])
            .gives(Gives::One(of::<LinkOut>())),
        post("/links/use", NOTHING, "Use a link that works once, and sign in", use_link)
            .takes(&[
                text("token", "What stands at the end of its address").required(),
                text("password", "The password to be set, 12 to 256 characters; of an invited person who has a login, the current one").within(12, 256).required(),
                text("name", "One's name"),
                text("email", "The address to sign in with; of a first visit only"),
            ])
            .gives(Gives::One(of::<SessionOut>())),
        post("/setup_links", FULL, "Make a link by which a member of the organization sets a password; it works once, within a day", setup_link)
            .takes(&[text("email", "Whose password; absent: the user's that the key acts for")])
            .gives(Gives::One(of::<SetupLinkOut>())),
    ]
}

/// Signs in with an address and a password.
pub(crate) async fn begin(
    State(app): State<App>,
    Visitor(client): Visitor,
    audit: Extension<RequestAudit>,
    params: Params,
) -> Result<Response, ApiError> {
    let signed_in = app
        .engine
        .people()
        .sign_in(&params.needed("email")?, &params.needed("password")?, &client)
        .await?;
    begun(&app, &audit, signed_in).await
}

/// How one signs in.
pub(crate) async fn ways(State(app): State<App>, query: ListQuery) -> Result<Response, ApiError> {
    Ok(Fields::of(&query.params).data(SignInWaysOut::show(app.engine.oidc().provider_name())))
}

/// Begins a sign-in by the provider. The cookie binds it to this browser.
pub(crate) async fn begin_with_provider(
    State(app): State<App>,
    Visitor(_): Visitor,
    _: Params,
) -> Result<Response, ApiError> {
    let begun = app.engine.oidc().begin().await?;
    let mut response = Fields::default().data(SignInBegunOut::show(&begun.url, begun.expires_at));
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
    audit: Extension<RequestAudit>,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, ApiError> {
    let pending = only_cookie(&headers, SIGN_IN_COOKIE);
    let signed_in = app
        .engine
        .oidc()
        .finish(pending, &params.needed("state")?, &params.needed("code")?, &client)
        .await?;
    let mut response = begun(&app, &audit, signed_in).await?;
    put_cookie(&app, &mut response, SIGN_IN_COOKIE, SIGN_IN_PATH, "", 0);
    Ok(response)
}

/// Uses a link that works once, and signs in.
pub(crate) async fn use_link(
    State(app): State<App>,
    Visitor(client): Visitor,
    audit: Extension<RequestAudit>,
    params: Params,
) -> Result<Response, ApiError> {
    let answer = LinkAnswer {
        name: params.text("name")?,
        email: params.text("email")?,
        password: params.needed("password")?,
    };
    let signed_in = app.engine.people().use_link(&params.needed("token")?, answer, &client).await?;
    begun(&app, &audit, signed_in).await
}

/// What a link is for.
pub(crate) async fn open_link(
    State(app): State<App>,
    Visitor(_): Visitor,
    params: Params,
) -> Result<Response, ApiError> {
    let (link, organization) = app.engine.people().open_link(&params.needed("token")?).await?;
    Ok(Fields::default().data(LinkOut::show(&link, &organization)))
}

async fn begun(app: &App, audit: &RequestAudit, signed_in: SignedIn) -> Result<Response, ApiError> {
    audit.begin(app, &signed_in.caller).await?;
    let view = app.engine.people().session_view(&signed_in.caller).await?;
    let mut response = Fields::default().data(SessionOut::show(&signed_in.caller, &view));
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
    Ok(Fields::of(&query.params).data(SessionOut::show(&caller, &view)))
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
        .switch_organization(&caller, &id("workspace", &params.needed("org_id")?)?)
        .await?;
    let view = app.engine.people().session_view(&caller).await?;
    Ok(Fields::of(&params).data(SessionOut::show(&caller, &view)))
}

/// Signs out.
pub(crate) async fn end(
    State(app): State<App>,
    Auth(caller): Auth,
    _: Params,
) -> Result<Response, ApiError> {
    let ended = app.engine.people().end_session(&caller, None).await?;
    let mut response = names::deleted(ended.as_str());
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
        .map(|session| {
            (encode_cursor(session.id.as_str()), BrowserSessionOut::show(session, &caller))
        })
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
    Ok(names::deleted(ended.as_str()))
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
            &params.needed("current_password")?,
            &params.needed("password")?,
            &client,
        )
        .await?;
    let view = app.engine.people().session_view(&caller).await?;
    Ok(Fields::of(&params).data(SessionOut::show(&caller, &view)))
}

/// Mails a link to somebody who forgot the password; the answer is the same where there is nobody.
pub(crate) async fn forgot(
    State(app): State<App>,
    Visitor(client): Visitor,
    params: Params,
) -> Result<Response, ApiError> {
    app.engine.people().forgot_password(&params.needed("email")?, &client)?;
    Ok(accepted(Fields::default().data(AskedOut::show())))
}

/// A link by which somebody sets a password.
pub(crate) async fn setup_link(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let made = app.engine.people().setup_link(&caller, params.text("email")?.as_deref()).await?;
    Ok(Fields::default().data(SetupLinkOut::show(&made)))
}
