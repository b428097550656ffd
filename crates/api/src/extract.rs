//! Extractors of handlers: the caller, parameters from query and body, pages, ids.

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use millrace_engine::{ASKED_BY, Asker, Client, EngineError, People};
use millrace_model::ids::{SourceId, WorkflowId};
use millrace_model::page::Page;
use millrace_model::tenant::{Caller, Scope};
use millrace_model::workflow::WorkflowTag;

use crate::App;
use crate::audit::RequestAudit;
use crate::contract::known::{Known, ORG};
use crate::contract::routes::Needs;
use crate::error::ApiError;
use crate::params::given_once;
pub(crate) use crate::params::{Params, query, short, unfolded};
use crate::room::{PageMemory, Whose};
use crate::shown_key::ShownKey;

/// The one parameter of a path. Unlike axum's own, it answers in our form of errors.
pub(crate) struct Path(pub(crate) String);

impl FromRequestParts<App> for Path {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let axum::extract::Path(text) = axum::extract::Path::from_request_parts(parts, app)
            .await
            .map_err(|_| ApiError::no_such_path())?;
        Ok(Self(text))
    }
}

/// Several parameters of a path, in order.
pub(crate) struct Paths<const N: usize>(pub(crate) [String; N]);

impl<const N: usize> FromRequestParts<App> for Paths<N> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let axum::extract::Path(texts) =
            axum::extract::Path::<Vec<String>>::from_request_parts(parts, app)
                .await
                .map_err(|_| ApiError::no_such_path())?;
        texts.try_into().map(Self).map_err(|_| ApiError::no_such_path())
    }
}

/// What has events, runs and logs of its own.
pub(crate) trait Emitter: FromStr + Send {
    /// As errors call it.
    const WHAT: &'static str;
}

impl Emitter for SourceId {
    const WHAT: &'static str = "source";
}

impl Emitter for WorkflowId {
    const WHAT: &'static str = "workflow";
}

/// An emitter's id in a path, as text; one of the other kind names nothing there.
pub(crate) fn emitter<E: Emitter>(text: String) -> Result<String, ApiError> {
    id::<E>(E::WHAT, &text)?;
    Ok(text)
}

/// Who makes the request, as far as wrong keys are counted.
pub(crate) struct ShownBy(pub(crate) Option<Asker>);

impl ShownBy {
    fn of(parts: &Parts, app: &App) -> Self {
        // Behind a proxy that is not trusted all have its address: what clients say of theirs is
        // not believed.
        let address = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|c| c.0.ip());
        let asked_by = parts.headers.get(ASKED_BY).and_then(|value| value.to_str().ok());
        Self(app.engine.keys().asker(address, asked_by))
    }
}

impl FromRequestParts<App> for ShownBy {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        Ok(Self::of(parts, app))
    }
}

/// The entity tags that `if-match` names; None: the header is not there, or any will do (`*`). What
/// is no tag of ours matches nothing.
pub(crate) struct IfMatch<T = WorkflowTag>(pub(crate) Option<Vec<T>>);

impl<T: FromStr + Send> FromRequestParts<App> for IfMatch<T> {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Self::Rejection> {
        let given: Vec<_> = parts
            .headers
            .get_all(header::IF_MATCH)
            .iter()
            .map(|value| value.to_str().unwrap_or(""))
            .collect();
        let tags: Vec<_> = given.iter().flat_map(|line| line.split(',')).map(str::trim).collect();
        let any = given.is_empty() || tags.contains(&"*");
        // A proxy that compresses makes a tag weak.
        let strong =
            |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"').parse().ok();
        Ok(Self((!any).then(|| tags.into_iter().filter_map(strong).collect())))
    }
}

/// A client that shows a password, or a link that works once, from a page of this server.
pub(crate) struct Visitor(pub(crate) Client);

impl FromRequestParts<App> for Visitor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        from_own_page(&parts.method, &parts.headers)?;
        let ShownBy(asker) = ShownBy::of(parts, app);
        let address = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|c| c.0.ip());
        let user_agent = parts
            .headers
            .get(header::USER_AGENT)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        Ok(Self(Client { asker, address, user_agent }))
    }
}

/// The caller, by its key or session, which may do what the route needs.
pub(crate) struct Auth(pub(crate) Caller);

impl FromRequestParts<App> for Auth {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let key = credential(&parts.method, &parts.headers)?;
        let ShownBy(from) = ShownBy::of(parts, app);
        let caller = app.engine.keys().authenticate(key, from.as_ref()).await?;
        app.engine.keys().count_request(&caller)?;
        // A route that says nothing of its scope is for keys that may do everything.
        let known = parts.extensions.get::<Arc<Known>>().cloned();
        let needs = known.as_ref().map_or(Needs::Scope(Scope::Full), |known| known.needs);
        needs.check(&caller)?;
        if parts.method != Method::GET {
            let shown = ShownKey::new(key, &caller, needs);
            parts.extensions.insert(shown);
        }
        if let Some(known) = known {
            let query = query(parts.uri.query());
            if parts.method == Method::GET {
                known.check(&query)?;
            } else {
                // What stands in the body is looked at with it.
                known.check_names(&query)?;
            }
            given_once(parts.uri.query(), &query)?;
            if !known.declares(ORG) {
                Params(query).org_is(&caller)?;
                parts.extensions.insert(NamesOrg(caller.clone()));
            }
        }
        if let Some(audit) = parts.extensions.get::<RequestAudit>() {
            audit.begin(app, &caller).await?;
        }
        let whose = Whose::of(&parts.extensions);
        whose.is(&caller.org_id);
        whose.may(&caller.scopes);
        Ok(Self(caller))
    }
}

/// Whose organization the body may name, where the handler does not look itself.
#[derive(Clone)]
pub(crate) struct NamesOrg(pub(crate) Caller);

/// The key that a request shows; None: none.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// The session's cookie. It goes to `/v1` alone: what is at `/e/…` was written by strangers, and is
/// of the same origin.
pub(crate) const SESSION_COOKIE: &str = "millrace_session";
/// The cookie of a sign-in by a provider that was begun; it goes to where that ends alone.
pub(crate) const SIGN_IN_COOKIE: &str = "millrace_sign_in";
/// The header that a page of another origin cannot send, for no answer allows it (CORS).
pub(crate) const CSRF_HEADER: &str = "x-millrace-csrf";

/// The key or token that a request shows, or else its session's cookie.
pub(crate) fn credential<'a>(method: &Method, headers: &'a HeaderMap) -> Result<&'a str, ApiError> {
    if let Some(key) = bearer(headers) {
        // The token of a session is good in its cookie only, where no script can read it.
        return if People::has_form_of_session(key) {
            Err(EngineError::Unauthorized.into())
        } else {
            Ok(key)
        };
    }
    let token = session_cookie(headers).ok_or(EngineError::Unauthorized)?;
    from_own_page(method, headers)?;
    Ok(token)
}

/// The token in the cookie of a session.
fn session_cookie(headers: &HeaderMap) -> Option<&str> {
    only_cookie(headers, SESSION_COOKIE).filter(|token| People::has_form_of_session(token))
}

/// The cookie of this name. None where there are several: what else is of this site may have set
/// one of them.
pub(crate) fn only_cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let pairs = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut values = pairs
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(found, _)| *found == name)
        .map(|(_, value)| value);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// That a request which a browser makes by itself, cookies with it, comes of a page of this server.
pub(crate) fn from_own_page(method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    let said = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    let changes = !matches!(*method, Method::GET | Method::HEAD);
    // Browsers say nothing of it where the server has no certificate, unless it is on the same
    // machine.
    let fits = match said("sec-fetch-site") {
        None | Some("same-origin") => true,
        // The user asked for it, in the line of addresses.
        Some("none") => !changes,
        Some(_) => false,
    };
    let of_this_host = |origin: &str| {
        said("host").is_some_and(|host| {
            origin.split_once("://").is_some_and(|(_, at)| at.eq_ignore_ascii_case(host))
        })
    };
    if !fits || (changes && said("origin").is_some_and(|origin| !of_this_host(origin))) {
        return Err(ApiError::from_foreign_page());
    }
    if changes && said(CSRF_HEADER).is_none() {
        Err(ApiError::csrf_header_missing(CSRF_HEADER))
    } else {
        Ok(())
    }
}

/// The query of a list.
pub(crate) struct ListQuery {
    pub(crate) page: Page,
    pub(crate) params: Params,
    /// What the page takes, to be kept until its answer is made.
    pub(crate) memory: Arc<PageMemory>,
}

impl FromRequestParts<App> for ListQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let params = Params(query(parts.uri.query()));
        // Of a route without a key nobody else looks.
        let known = parts.extensions.get::<Arc<Known>>();
        if let Some(known) = known {
            known.check(&params.0)?;
            given_once(parts.uri.query(), &params.0)?;
        }
        let default = known.and_then(|known| known.default_of("limit"));
        let memory = PageMemory::of(app, Whose::of(&parts.extensions));
        let limit = params.number("limit")?.or(default).unwrap_or(Page::LIMIT_DEFAULT);
        let cursor = |field| {
            params
                .text(field)
                .map(|c| c.filter(|text| !text.is_empty()).map(|text| decode_cursor(&text)))
        };
        Ok(Self {
            page: Page {
                limit,
                after: cursor("after")?,
                before: cursor("before")?,
                room: memory.room(),
            },
            params,
            memory,
        })
    }
}

impl ListQuery {
    /// The cursor of a list that goes forward only, as it was given: one that looks like another
    /// cursor is still a key or a path.
    pub(crate) fn forward(&self) -> Result<Option<String>, ApiError> {
        match self.page.before {
            Some(_) => Err(ApiError::field(
                "before",
                "`before` is given, but this list goes forward only; allowed is `after`",
            )),
            None => self.params.text("after"),
        }
    }
}

/// Cursors of records are unpadded base64url of the id (facts 0); the id itself does as well.
pub(crate) fn encode_cursor(id: &str) -> String {
    URL_SAFE_NO_PAD.encode(id)
}

fn decode_cursor(cursor: &str) -> String {
    decoded(cursor).filter(|id| id.contains(['_', '.'])).unwrap_or_else(|| cursor.to_owned())
}

/// A cursor of apps: base64url of the slug, the slug, or the id.
pub(crate) fn slug_cursor(cursor: String) -> String {
    let is_slug = |text: &String| {
        text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
    };
    decoded(&cursor).filter(is_slug).unwrap_or(cursor)
}

/// What a cursor says, where it is base64url of ASCII: no event's id is.
fn decoded(cursor: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD
        .decode(cursor)
        .ok()
        .filter(|bytes| !bytes.is_empty() && bytes.is_ascii())?;
    String::from_utf8(bytes).ok()
}

/// An id in a path; one of another form names nothing.
pub(crate) fn id<T: FromStr>(what: &'static str, text: &str) -> Result<T, ApiError> {
    text.parse().map_err(|_| EngineError::not_found(what, text).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_takes_only_ids_of_its_kind() {
        assert_eq!(emitter::<SourceId>("dc_1".into()).ok(), Some("dc_1".into()));
        assert!(
            emitter::<SourceId>("p_1".into()).is_err()
                && emitter::<WorkflowId>("dc_1".into()).is_err()
        );
    }

    #[test]
    fn cursors_are_the_id_in_base64url_or_the_id() {
        assert_eq!(encode_cursor("dc_K0uAee"), "ZGNfSzB1QWVl");
        assert_eq!(decode_cursor("ZGNfSzB1QWVl"), "dc_K0uAee");
        assert_eq!(decode_cursor("dc_K0uAee"), "dc_K0uAee");
        assert_eq!(decode_cursor("1606511826306-0"), "1606511826306-0");
        // Ids of domains are the domains.
        assert_eq!(decode_cursor(&encode_cursor("pay.example.com")), "pay.example.com");
        assert_eq!(decode_cursor("pay.example.com"), "pay.example.com");
        for slug in ["slack", "google_sheets", "stripe", "app_1a"] {
            assert_eq!(
                (
                    slug_cursor(decode_cursor(&encode_cursor(slug))),
                    slug_cursor(decode_cursor(slug))
                ),
                (slug.to_owned(), slug.to_owned())
            );
        }
        assert_eq!(encode_cursor("slack"), "c2xhY2s");
    }
}
