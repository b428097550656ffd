//! What handlers take: the caller, parameters from query and body, pages, ids.

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use millrace_engine::{ASKED_BY, Asker, Client, Engine, EngineError, Standing};
use millrace_model::ids::{SourceId, WorkflowId};
use millrace_model::page::Page;
use millrace_model::tenant::{Caller, Scope};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use url::form_urlencoded;

use crate::audit::Trail;
use crate::contract::known::{Known, ORG};
use crate::contract::routes::Needs;
use crate::error::ApiError;
use crate::guard::Part;
use crate::room::{PageMemory, Share, Use, Whose};
use crate::{App, KEYLESS_BODY_BYTES_MAX, V1_BODY_BYTES_MAX};

/// The one parameter of a path. Unlike axum's own, it answers in our form of errors.
pub(crate) struct Path(pub(crate) String);

impl FromRequestParts<App> for Path {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let axum::extract::Path(text) = axum::extract::Path::from_request_parts(parts, app).await.map_err(|_| ApiError::no_such_path())?;
        Ok(Self(text))
    }
}

/// Several parameters of a path, in order.
pub(crate) struct Paths<const N: usize>(pub(crate) [String; N]);

impl<const N: usize> FromRequestParts<App> for Paths<N> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let axum::extract::Path(texts) = axum::extract::Path::<Vec<String>>::from_request_parts(parts, app).await.map_err(|_| ApiError::no_such_path())?;
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
        // Behind a proxy that is not trusted all have its address: what clients say of theirs is not believed.
        let address = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|c| c.0.ip());
        Self(app.engine.asker(address, parts.headers.get(ASKED_BY).and_then(|value| value.to_str().ok())))
    }
}

impl FromRequestParts<App> for ShownBy {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        Ok(Self::of(parts, app))
    }
}

/// The revisions that `if-match` names; None: the header is not there, or any will do (`*`). What is no revision of ours matches nothing.
pub(crate) struct IfMatch(pub(crate) Option<Vec<i64>>);

impl FromRequestParts<App> for IfMatch {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Self::Rejection> {
        let given: Vec<_> = parts.headers.get_all(header::IF_MATCH).iter().map(|value| value.to_str().unwrap_or("")).collect();
        let tags: Vec<_> = given.iter().flat_map(|line| line.split(',')).map(str::trim).collect();
        let any = given.is_empty() || tags.contains(&"*");
        // A proxy that compresses makes a tag weak.
        let revision = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"').parse().ok();
        Ok(Self((!any).then(|| tags.into_iter().filter_map(revision).collect())))
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
        let user_agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
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
        let caller = app.engine.authenticate(key, from.as_ref()).await?;
        app.engine.count_request(&caller)?;
        // A route that says nothing of its scope is for keys that may do everything.
        let known = parts.extensions.get::<Arc<Known>>().cloned();
        match known.as_ref().map_or(Needs::Scope(Scope::Full), |known| known.needs) {
            Needs::AnyKey | Needs::Nothing => {}
            Needs::Scope(scope) => app.engine.check_scope(&caller, scope)?,
        }
        if let Some(known) = known {
            let query = query(parts.uri.query());
            known.check(&query)?;
            given_once(parts.uri.query(), &query)?;
            if !known.declares(ORG) {
                Params(query).org_is(&caller)?;
                parts.extensions.insert(NamesOrg(caller.clone()));
            }
        }
        if let Some(trail) = parts.extensions.get::<Trail>() {
            trail.begin(app, &caller).await?;
        }
        let whose = Whose::of(&parts.extensions);
        whose.is(&caller.org_id);
        whose.may(&caller.scopes);
        Ok(Self(caller))
    }
}

/// Whose organization the body may name, where the handler does not look itself.
#[derive(Clone)]
struct NamesOrg(Caller);

/// The key that a request shows; None: none.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// The session's cookie. It goes to `/v1` alone: what is at `/e/…` was written by strangers, and is of the same origin.
pub(crate) const SESSION_COOKIE: &str = "millrace_session";
/// The cookie of a sign-in by a provider that was begun; it goes to where that ends alone.
pub(crate) const SIGN_IN_COOKIE: &str = "millrace_sign_in";
/// The header that a page of another origin cannot send, for no answer allows it (CORS).
const CSRF_HEADER: &str = "x-millrace-csrf";

/// The key or token that a request shows, or else its session's cookie.
pub(crate) fn credential<'a>(method: &Method, headers: &'a HeaderMap) -> Result<&'a str, ApiError> {
    if let Some(key) = bearer(headers) {
        // The token of a session is good in its cookie only, where no script can read it.
        return if Engine::has_form_of_session(key) { Err(EngineError::Unauthorized.into()) } else { Ok(key) };
    }
    let token = session_cookie(headers).ok_or(EngineError::Unauthorized)?;
    from_own_page(method, headers)?;
    Ok(token)
}

/// The token in the cookie of a session.
fn session_cookie(headers: &HeaderMap) -> Option<&str> {
    only_cookie(headers, SESSION_COOKIE).filter(|token| Engine::has_form_of_session(token))
}

/// The cookie of this name. None where there are several: what else is of this site may have set one of them.
pub(crate) fn only_cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(';'));
    let mut values = pairs.filter_map(|pair| pair.trim().split_once('=')).filter(|(found, _)| *found == name).map(|(_, value)| value);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// That a request which a browser makes by itself, cookies with it, comes of a page of this server.
pub(crate) fn from_own_page(method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    let said = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    let changes = !matches!(*method, Method::GET | Method::HEAD);
    // Browsers say nothing of it where the server has no certificate, unless it is on the same machine.
    let fits = match said("sec-fetch-site") {
        None | Some("same-origin") => true,
        // The user asked for it, in the line of addresses.
        Some("none") => !changes,
        Some(_) => false,
    };
    let of_this_host = |origin: &str| said("host").is_some_and(|host| origin.split_once("://").is_some_and(|(_, at)| at.eq_ignore_ascii_case(host)));
    if !fits || (changes && said("origin").is_some_and(|origin| !of_this_host(origin))) {
        return Err(ApiError::from_foreign_page());
    }
    if changes && said(CSRF_HEADER).is_none() { Err(ApiError::csrf_header_missing(CSRF_HEADER)) } else { Ok(()) }
}

/// The key that was shown, for an answer that goes on: it ends with the key.
pub(crate) struct Lasting(pub(crate) Standing);

impl FromRequestParts<App> for Lasting {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(app.engine.standing(credential(&parts.method, &parts.headers)?)))
    }
}

/// Parameters of a request: the query, and over it the JSON body (reference 1).
pub(crate) struct Params(pub(crate) Map<String, Value>);

impl FromRequest<App> for Params {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let mut params = query(request.uri().query());
        let for_user = params.get(EXTERNAL_USER).cloned();
        let trail = request.extensions().get::<Trail>().cloned();
        let media = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
        let is_form = media.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded"));
        let (known, names_org) = (request.extensions().get::<Arc<Known>>().cloned(), request.extensions().get::<NamesOrg>().cloned());
        let limit = match known.as_ref().map(|known| known.needs) {
            Some(Needs::Nothing) => KEYLESS_BODY_BYTES_MAX,
            _ => V1_BODY_BYTES_MAX,
        };
        let part = request.extensions().get::<Arc<Part>>().cloned();
        let share = Share::of(&app.unfolded, Use::Reading, Whose::of(request.extensions()));
        let bytes = Bytes::from_request(request, app).await.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => ApiError::body_too_large(limit, ""),
            _ => ApiError::body_unreadable(),
        })?;
        let is_large = bytes.len() > READ_AT_ONCE_BYTES_MAX;
        let read = move || {
            let memory = unfolded(&bytes, is_form);
            if memory > UNFOLDED_BYTES_MAX {
                return Err(ApiError::body_unfolds(memory, UNFOLDED_BYTES_MAX));
            }
            if let Some(part) = part {
                if !share.grow(memory) {
                    return Err(ApiError::no_memory_for_body());
                }
                part.unfolds_to(share);
            }
            if is_form {
                // OAuth asks for it (RFC 6749, 4.4.2), and `curl -d` says it of whatever it sends.
                merge_form(&mut params, &bytes)?;
            } else {
                merge(&mut params, &bytes)?;
            }
            Ok(params)
        };
        let params = if is_large {
            // The semaphore is never closed.
            let _place = LARGE_READS.acquire().await.map_err(|_| ApiError::body_unreadable())?;
            tokio::task::spawn_blocking(read).await.map_err(|_| ApiError::body_unreadable())??
        } else {
            read()?
        };
        if let Some(known) = known {
            known.check(&params)?;
        }
        if let (Some(asked), Some(given)) = (for_user, params.get(EXTERNAL_USER))
            && asked != *given
        {
            return Err(given_twice(EXTERNAL_USER));
        }
        if let Some(trail) = trail {
            trail.gave(&params);
        }
        let params = Self(params);
        if let Some(NamesOrg(caller)) = names_org {
            params.org_is(&caller)?;
        }
        Ok(params)
    }
}

/// The field that names the external user of a request.
const EXTERNAL_USER: &str = "external_user_id";
/// The most characters of an external user's id (facts 6.2).
const EXTERNAL_USER_MAX: usize = 250;

/// A body beyond this is read beside the threads that serve all others, bytes.
const READ_AT_ONCE_BYTES_MAX: usize = 256 << 10;
/// How many of these at once.
static LARGE_READS: Semaphore = Semaphore::const_new(2);
/// The memory that one body may take as it is read, bytes.
const UNFOLDED_BYTES_MAX: usize = 256 << 20;
/// What a value takes in its list or object, with the room that these keep to grow, bytes.
const VALUE_BYTES: usize = 160;
/// What a list or object takes with its first value, bytes.
const NEST_BYTES: usize = 400;

/// About how much memory a body takes as it is read, beside its texts: each of its values takes far more than the two bytes that it may be written in.
/// Of a form the fields are counted.
pub(crate) fn unfolded(body: &[u8], is_form: bool) -> usize {
    if is_form && !is_object(body) {
        return body.iter().filter(|byte| **byte == b'&').count() * VALUE_BYTES;
    }
    let (mut bytes, mut in_text) = (0, false);
    let mut rest = body.iter();
    while let Some(byte) = rest.next() {
        match (byte, in_text) {
            (b'"', _) => in_text = !in_text,
            (b'\\', true) => _ = rest.next(),
            (b',', false) => bytes += VALUE_BYTES,
            (b'[' | b'{', false) => bytes += NEST_BYTES,
            _ => {}
        }
    }
    bytes
}

/// Lays the body's fields over those of the query. How deep it may be nested is serde's own limit.
fn merge(params: &mut Map<String, Value>, body: &[u8]) -> Result<(), ApiError> {
    if body.trim_ascii().is_empty() {
        return Ok(());
    }
    let fields: Option<Fields> = serde_json::from_slice(body).map_err(|e| match e.classify() {
        // Of JSON that is right there is nothing else to say.
        serde_json::error::Category::Data => ApiError::malformed_json(format!("the body is JSON, but cannot be read as an object of fields: {e}")),
        _ => ApiError::malformed_json(format!("the body is not JSON: {e}")),
    })?;
    params.extend(fields.unwrap_or_default().0);
    Ok(())
}

/// The fields of a body, each there once: of two, one reader would take the first and another the last.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl<'de> serde::Deserialize<'de> for Fields {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Once;
        impl<'de> serde::de::Visitor<'de> for Once {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut given: A) -> Result<Fields, A::Error> {
                let mut fields = Map::new();
                while let Some((name, value)) = given.next_entry::<String, Value>()? {
                    if fields.contains_key(&name) {
                        return Err(serde::de::Error::custom(format!("the field `{name:.100}` is given twice; give it once")));
                    }
                    fields.insert(name, value);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_any(Once)
    }
}

fn is_object(body: &[u8]) -> bool {
    body.trim_ascii().first() == Some(&b'{')
}

/// A body that says it is a form: JSON where it looks like an object all the same.
fn merge_form(params: &mut Map<String, Value>, body: &[u8]) -> Result<(), ApiError> {
    if is_object(body) {
        return merge(params, body);
    }
    let text = std::str::from_utf8(body).map_err(|_| ApiError::malformed_json("the body is a form, but not UTF-8"))?;
    let given = query(Some(text));
    given_once(Some(text), &given)?;
    params.extend(given);
    Ok(())
}

/// A query as parameters.
pub(crate) fn query(query: Option<&str>) -> Map<String, Value> {
    form_urlencoded::parse(query.unwrap_or("").as_bytes()).map(|(name, value)| (name.into_owned(), Value::from(value.into_owned()))).collect()
}

/// Refuses a parameter of a query or form that is there twice with two values: one reader would take the first and another the last.
fn given_once(text: Option<&str>, read: &Map<String, Value>) -> Result<(), ApiError> {
    // Most queries have one parameter, or none.
    let Some(text) = text.filter(|text| text.contains('&')) else { return Ok(()) };
    let mut pairs = form_urlencoded::parse(text.as_bytes());
    match pairs.find(|(name, value)| read.get(name.as_ref()).is_some_and(|kept| kept != value.as_ref())) {
        Some((name, _)) => Err(given_twice(&name)),
        None => Ok(()),
    }
}

/// The values are not shown: they may be secrets.
fn given_twice(name: &str) -> ApiError {
    let shown: String = name.chars().take(80).collect();
    ApiError::field(&shown, format!("`{shown}` is given twice, with two values; give it once (the values of a list with commas between them)"))
}

impl Params {
    /// A text; absent where it is null.
    pub(crate) fn text(&self, field: &str) -> Result<Option<String>, ApiError> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(ApiError::field(field, format!("`{field}` is {}, allowed is a string", short(other)))),
        }
    }

    /// The external user for whom the request is made; None where none is named. One that is named in vain is refused: without one, the organization's own
    /// program sees everything.
    pub(crate) fn external_user(&self) -> Result<Option<String>, ApiError> {
        let field = EXTERNAL_USER;
        match self.0.get(field) {
            None => Ok(None),
            Some(Value::String(user)) if !user.trim().is_empty() && user.chars().count() <= EXTERNAL_USER_MAX => Ok(Some(user.clone())),
            Some(other) => {
                let allowed = format!("allowed is a text of 1 to {EXTERNAL_USER_MAX} characters; leave it out to act as the organization's own program");
                Err(ApiError::field(field, format!("`{field}` is {}, {allowed}", short(other))))
            }
        }
    }

    /// True or false, also as text of a query.
    pub(crate) fn flag(&self, field: &str) -> Result<Option<bool>, ApiError> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if text == "true" || text == "1" => Ok(Some(true)),
            Some(Value::String(text)) if text == "false" || text == "0" => Ok(Some(false)),
            Some(other) => Err(ApiError::field(field, format!("`{field}` is {}, allowed are true and false", short(other)))),
        }
    }

    /// An object.
    pub(crate) fn object(&self, field: &str) -> Result<Option<Map<String, Value>>, ApiError> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object.clone())),
            Some(other) => Err(ApiError::field(field, format!("`{field}` is {}, allowed is an object", short(other)))),
        }
    }

    /// A whole number, also as text of a query.
    pub(crate) fn number<T: FromStr>(&self, field: &str) -> Result<Option<T>, ApiError> {
        let text = match self.0.get(field) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        text.parse().map(Some).map_err(|_| ApiError::field(field, format!("`{field}` is {}, allowed is a whole number within bounds", short(&self.0[field]))))
    }

    /// Words: a list of strings, or one string with commas between them.
    pub(crate) fn words(&self, field: &str) -> Result<Option<Vec<String>>, ApiError> {
        match self.0.get(field) {
            Some(Value::String(text)) => Ok(Some(text.split([',', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect())),
            _ => self.parsed(field),
        }
    }

    /// Anything that serde reads.
    pub(crate) fn parsed<T: DeserializeOwned>(&self, field: &str) -> Result<Option<T>, ApiError> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                serde_json::from_value(value.clone()).map(Some).map_err(|e| ApiError::field(field, format!("`{field}` is not of the expected form: {e}")))
            }
        }
    }

    /// That the organization, where one is named, is the caller's own; another one does not exist for it.
    pub(crate) fn org_is(&self, caller: &Caller) -> Result<(), ApiError> {
        for field in ["org_id", "workspace_id"] {
            if let Some(org) = self.text(field)?
                && org != caller.org_id.as_str()
            {
                return Err(EngineError::not_found("workspace", org).into());
            }
        }
        Ok(())
    }
}

pub(crate) fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > 60 { format!("`{}…`", text.chars().take(57).collect::<String>()) } else { format!("`{text}`") }
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
        if let Some(known) = parts.extensions.get::<Arc<Known>>() {
            known.check(&params.0)?;
            given_once(parts.uri.query(), &params.0)?;
        }
        let memory = PageMemory::of(&app.unfolded, Whose::of(&parts.extensions));
        let limit = match params.text("limit")? {
            None => Page::LIMIT_DEFAULT,
            Some(text) => text.parse().ok().filter(|n| (1..=Page::LIMIT_MAX).contains(n)).ok_or_else(|| {
                ApiError::field("limit", format!("`limit` is `{}`, allowed are 1 to {}", text.chars().take(40).collect::<String>(), Page::LIMIT_MAX))
            })?,
        };
        let cursor = |field| params.text(field).map(|c| c.filter(|text| !text.is_empty()).map(|text| decode_cursor(&text)));
        Ok(Self { page: Page { limit, after: cursor("after")?, before: cursor("before")?, room: memory.room() }, params, memory })
    }
}

impl ListQuery {
    /// The cursor of a list that goes forward only, as it was given: one that looks like another cursor is still a key or a path.
    pub(crate) fn forward(&self) -> Result<Option<String>, ApiError> {
        match self.page.before {
            Some(_) => Err(ApiError::field("before", "`before` is given, but this list goes forward only; allowed is `after`")),
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
    let is_slug = |text: &String| text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
    decoded(&cursor).filter(is_slug).unwrap_or(cursor)
}

/// What a cursor says, where it is base64url of ASCII: no event's id is.
fn decoded(cursor: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok().filter(|bytes| !bytes.is_empty() && bytes.is_ascii())?;
    String::from_utf8(bytes).ok()
}

/// An id in a path; one of another form names nothing.
pub(crate) fn id<T: FromStr>(what: &'static str, text: &str) -> Result<T, ApiError> {
    text.parse().map_err(|_| EngineError::not_found(what, text).into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_wins_over_the_query_and_must_be_an_object() {
        let check = |text: &str, body: &str| {
            let mut params = query(Some(text));
            merge(&mut params, body.as_bytes()).map(|()| Value::Object(params)).map_err(|e| format!("{e:?}"))
        };
        assert_eq!(check("a=1&event_name=%24errors", ""), Ok(json!({ "a": "1", "event_name": "$errors" })));
        assert_eq!(check("a=1&b=2", r#" {"a": {"c": null}} "#), Ok(json!({ "a": { "c": null }, "b": "2" })));
        assert_eq!(check("a=x+y%26", "null"), Ok(json!({ "a": "x y&" })));
        assert!(check("", "[1]").unwrap_err().contains("expected an object"));
        assert!(check("", r#"{"a": 1, "a": 2}"#).unwrap_err().contains("`a` is given twice; give it once"));
        assert!(check("", "{").unwrap_err().contains("malformed_json"));
        assert!(check("", &"[".repeat(100_000)).unwrap_err().contains("malformed_json"));
    }

    #[test]
    fn what_a_body_unfolds_to_is_told_before_it_is_read() {
        let json = br#"{"a": [0, 1, ",,[{&\\\",,"], "b": "\\"}"#;
        assert_eq!((unfolded(json, false), unfolded(json, true)), (2 * NEST_BYTES + 3 * VALUE_BYTES, 2 * NEST_BYTES + 3 * VALUE_BYTES));
        assert_eq!((unfolded(b"\"=1&b=2,[", true), unfolded(b"\"\\", false)), (VALUE_BYTES, 0));
    }

    #[test]
    fn parameters_are_read_as_texts_of_a_query_or_as_json() {
        let params = Params(json!({ "yes": "1", "no": false, "none": null, "text": "t", "object": { "a": 1 } }).as_object().cloned().unwrap());
        assert_eq!((params.flag("yes").ok(), params.flag("no").ok(), params.flag("none").ok()), (Some(Some(true)), Some(Some(false)), Some(None)));
        assert_eq!(params.text("text").ok(), Some(Some("t".into())));
        assert!(params.object("object").is_ok_and(|o| o.is_some_and(|o| o["a"] == 1)));
        assert!(params.flag("text").is_err() && params.text("object").is_err() && params.object("text").is_err());
    }

    #[test]
    fn a_path_takes_only_ids_of_its_kind() {
        assert_eq!(emitter::<SourceId>("dc_1".into()).ok(), Some("dc_1".into()));
        assert!(emitter::<SourceId>("p_1".into()).is_err() && emitter::<WorkflowId>("dc_1".into()).is_err());
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
            assert_eq!((slug_cursor(decode_cursor(&encode_cursor(slug))), slug_cursor(decode_cursor(slug))), (slug.to_owned(), slug.to_owned()));
        }
        assert_eq!(encode_cursor("slack"), "c2xhY2s");
    }
}
