//! Domains of endpoints.

use std::net::Ipv6Addr;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{Method, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use millrace_engine::Keys;
use millrace_model::domain::EndpointDomain;
use millrace_model::ids::HttpInterfaceId;

use crate::contract::routes::{Gives, Route, delete, get, post};
use crate::contract::shape::{of, record};
use crate::contract::table::{DEPLOY, ORG, READ};
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, bearer, id};
use crate::fields::Fields;
use crate::input::{Input, input};
use crate::v1::names;
use crate::{ApiConfig, App, Reached, endpoints};

/// Characters that a host's name may have (RFC 1035, 2.3.4).
const NAME_MAX: usize = 255;

record! {
    /// A domain that stands for an endpoint
    DomainOut<'a>(d: &'a EndpointDomain, config: &'a ApiConfig) with {
        let scheme = if config.base_url.starts_with("https:") { "https" } else { "http" };
    } {
        id: &'a str = &d.id,
        endpoint_id: &'a HttpInterfaceId = &d.endpoint_id,
        url: String = format!("{scheme}://{}", d.id),
        created_at: i64 = d.created_at.secs(),
    }
}

input! {
    /// What a domain stands for.
    DomainIn {
        /// The domain, such as `hooks.example.com`
        domain: String,
        /// The endpoint: the `hi_` id of a trigger
        endpoint_id: String,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get("/domains", READ, "Domains that stand for endpoints, newest first", list)
            .takes(&[ORG])
            .page(of::<DomainOut>()),
        post(
            "/domains",
            DEPLOY,
            "Attach a domain to an endpoint; its name must resolve to this server",
            create,
        )
        .reads::<DomainIn>()
        .takes(&[ORG])
        .gives(Gives::One(of::<DomainOut>())),
        delete("/domains/{domain}", DEPLOY, "Detach a domain from its endpoint", remove),
    ]
}

/// A request to a host that stands for an endpoint is the endpoint's, whatever its path: no page of
/// a stranger has this server's origin, and none of ours is there.
pub(crate) async fn by_host(app: &App, request: Request, next: Next) -> Response {
    // Neither is a request for what is at an address, and code would take it for one.
    if matches!(*request.method(), Method::CONNECT | Method::TRACE) {
        return ApiError::never_taken(request.method()).into_response();
    }
    let path = request.uri().path();
    // `*` is the server as a whole, of which only OPTIONS asks (RFC 9112, 3.2.4): behind a host,
    // code would take it for an address.
    let is_target = path.starts_with('/') || (path == "*" && *request.method() == Method::OPTIONS);
    if !is_target {
        return ApiError::no_target().into_response();
    }
    let host = match host(&request) {
        Ok(host) => host,
        Err(error) => return error.into_response(),
    };
    match app.engine.domains().endpoint_of_host(host).await {
        None => next.run(request).await,
        Some(key) if shows_key(&request) && would_hand_on_key(app, host, &key).await => {
            ApiError::key_for_another(host).into_response()
        }
        Some(key) => Box::pin(endpoints::handle_key(app, key, request)).await,
    }
}

/// Whether a request to that host would show code an API key: an organization may have attached a
/// name that leads to this server, and clients may take it for the server's own. Not below the
/// endpoint domain, which is the operator's.
async fn would_hand_on_key(app: &App, host: &str, endpoint_key: &str) -> bool {
    app.engine.domains().is_attached(host).await && !app.engine.asks_for_key(endpoint_key).await
}

/// Whether a request shows what looks like a key of this server: its sender took the host for the
/// server itself.
fn shows_key(request: &Request) -> bool {
    bearer(request.headers()).is_some_and(Keys::has_form_of_key)
}

/// The one host that a request is for; empty where it names none, as HTTP/1.0 may. What stands
/// before this server may go by another of several, may cut what is no name in another place, and
/// may put in one that is missing (RFC 9112, 3.2).
fn host(request: &Request) -> Result<&str, ApiError> {
    let mut lines = request.headers().get_all(header::HOST).iter();
    let line = lines.next();
    if lines.next().is_some() {
        return Err(ApiError::several_hosts());
    }
    if line.is_none() && request.version() == Version::HTTP_11 {
        return Err(ApiError::host_missing());
    }
    let line = line.map(|line| line.to_str().map_err(|_| ApiError::no_host())).transpose()?;
    let target = request.uri().authority().map(Authority::as_str);
    let host = match (line, target) {
        (Some(line), Some(target)) if !line.is_empty() && !line.eq_ignore_ascii_case(target) => {
            return Err(ApiError::several_hosts());
        }
        (Some(line), _) if !line.is_empty() => line,
        (_, target) => target.unwrap_or(""),
    };
    // What a trusted proxy says that the client sent counts for what the proxy put in its place.
    let host = request
        .extensions()
        .get::<Reached>()
        .and_then(|reached| reached.host.as_deref())
        .unwrap_or(host);
    if is_host(host) { Ok(host) } else { Err(ApiError::no_host()) }
}

/// A name or an address, with or without a port; or nothing. Letters of other scripts come in ASCII
/// (RFC 3986, 3.2.2; in brackets is an address of IPv6).
fn is_host(host: &str) -> bool {
    let is_port = |port: &str| {
        port.is_empty() || (port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok())
    };
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, rest)) = rest.split_once(']') else { return false };
        return address.parse::<Ipv6Addr>().is_ok()
            && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port));
    }
    let (name, port) = host.split_once(':').unwrap_or((host, ""));
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%".contains(&byte);
    name.bytes().all(is_of_name)
        && name.len() <= NAME_MAX
        && is_port(port)
        && (!name.is_empty() || host.is_empty())
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let DomainIn { domain, endpoint_id } = DomainIn::read(&params)?;
    let made = app
        .engine
        .domains()
        .create(&caller, &domain, &id::<HttpInterfaceId>("endpoint", &endpoint_id)?)
        .await?;
    Ok(Fields::default().data(DomainOut::show(&made, &app.config)))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.domains().list(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |d| DomainOut::show(&d, &app.config)))
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(domain): Path,
    _: Params,
) -> Result<Response, ApiError> {
    app.engine.domains().delete(&caller, &domain).await?;
    Ok(names::deleted(&domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_or_without_a_port() {
        for host in [
            "",
            "a",
            "a.b-c_d",
            "a:",
            "a:80",
            "1.2.3.4:65535",
            "[::1]",
            "[::1]:8787",
            "xn--bcher-kva.example",
        ] {
            assert!(is_host(host), "{host}");
        }
        for host in [
            "[::1",
            "[zz]:1",
            "[::1]x",
            "a:b:c",
            "1.2.3.4.5:abc",
            "127.0.0.1:99999",
            ":80",
            "a b",
            "a/b",
            "::1",
            "a:+1",
            &"x".repeat(256),
        ] {
            assert!(!is_host(host), "{host}");
        }
    }
}
