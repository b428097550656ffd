//! Generated endpoints (spec 4.4): any method, any path below, any media type. The hot path.

mod answer;
mod cookies;
mod cors;
pub(crate) mod encodings;
pub(crate) mod pauses;
pub(crate) mod uploads;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use millrace_model::http::EndpointRequest;
use millrace_model::proxies::Scheme;

use crate::endpoints::answer::to_response;
use crate::endpoints::cors::{Sender, preflight};
use crate::endpoints::encodings::{Coding, codings, decoded_whole};
use crate::endpoints::uploads::For;
use crate::error::ApiError;
use crate::guard::Part;
use crate::paths::restore_path;
use crate::room::{Share, Use, Whose};
use crate::{App, Reached};

/// What endpoints' paths lie below.
const BELOW: &str = "/e/";
/// Room made for a body before any of it is here, whatever its length claims to be, and the least
/// that it grows by.
const BODY_ROOM_MAX: usize = 16 << 10;

/// What code answers is a page of this server's own origin, where the run page keeps the API key: a
/// page from an endpoint gets an origin of its own, and cannot read it.
pub(crate) const SANDBOX: HeaderValue = HeaderValue::from_static(
    "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts allow-top-navigation-by-user-activation",
);

/// Accepts a request to an endpoint.
pub(crate) async fn handle(State(app): State<App>, mut request: Request) -> Response {
    let routed = request.uri().clone();
    let (key, path) = key_and_path(&routed);
    if restore_path(&mut request) {
        let sent = request.uri().clone();
        let (base, path) = base_and_path(&sent);
        return handle_at(&app, At { key, path, base }, request).await;
    }
    handle_at(&app, At { key, path, base: &format!("{BELOW}{key}") }, request).await
}

/// A request to a host that stands for an endpoint: all of the path is the code's.
pub(crate) async fn handle_key(app: &App, key: String, mut request: Request) -> Response {
    restore_path(&mut request);
    let uri = request.uri().clone();
    handle_at(app, At { key: &key, path: uri.path(), base: "" }, request).await
}

/// Which endpoint a request is for.
#[derive(Clone, Copy)]
struct At<'a> {
    key: &'a str,
    /// What of the path the code sees.
    path: &'a str,
    /// What of it comes before; nothing where the endpoint has a host of its own.
    base: &'a str,
}

async fn handle_at(app: &App, at: At<'_>, request: Request) -> Response {
    if request.method() == Method::OPTIONS {
        return preflight(request.headers());
    }
    let sender = Sender::of(request.headers());
    let answered = run(app, at, request).await;
    sender.may_read(answered.unwrap_or_else(IntoResponse::into_response))
}

async fn run(app: &App, at: At<'_>, request: Request) -> Result<Response, ApiError> {
    // Before anything of its body is read.
    let org = app.engine.endpoint_org(at.key).await?;
    Whose::of(request.extensions()).is(&org);
    let of = For { org: &org, endpoint: Some(at.key), path: at.path };
    let request = endpoint_request(app, of, request).await?;
    to_response(app.engine.handle_endpoint(at.key, request).await?, at.base)
}

/// A request as the engine takes it.
async fn endpoint_request(
    app: &App,
    of: For<'_>,
    request: Request,
) -> Result<EndpointRequest, ApiError> {
    if let Some(files) = uploads::files_in(app, &request) {
        return Box::pin(uploads::request(app, of, files, request)).await;
    }
    let codings = codings(request.headers())?;
    let (parts, body) = request.into_parts();
    let body = read(body, &parts.headers, app.config.http_body_max_bytes).await?;
    with_body(app, of.path, &parts, body, codings).await
}

/// A request whose body was read, encoded as it came.
pub(crate) async fn with_body(
    app: &App,
    path: &str,
    parts: &Parts,
    body: Vec<u8>,
    codings: Vec<Coding>,
) -> Result<EndpointRequest, ApiError> {
    let mut request = head(app, path, parts);
    if codings.is_empty() || body.is_empty() {
        request.body = body;
        return Ok(request);
    }
    request.body = decoded_whole(body.clone(), codings, app.config.http_body_max_bytes).await?;
    counts_beside(app, parts, request.body.len())?;
    request.encoded = Some(body);
    Ok(request)
}

/// Counts what a body was decoded to beside its bytes, until its request is answered.
pub(crate) fn counts_beside(app: &App, parts: &Parts, bytes: usize) -> Result<(), ApiError> {
    let Some(part) = parts.extensions.get::<Arc<Part>>() else { return Ok(()) };
    let share = Share::of(&app.unfolded, Use::Reading, Whose::of(&parts.extensions));
    if !share.grow(bytes) {
        return Err(ApiError::no_memory_for_body());
    }
    part.unfolds_to(share);
    Ok(())
}

/// A request without its body.
pub(crate) fn head(app: &App, path: &str, parts: &Parts) -> EndpointRequest {
    let reached = parts.extensions.get::<Reached>();
    let forwarded_host = reached.and_then(|reached| reached.host.as_deref());
    // HTTP/1.0 needs no host, and one may be empty (RFC 9112, 3.2).
    let host = forwarded_host
        .or_else(|| parts.headers.get(header::HOST)?.to_str().ok())
        .filter(|host| !host.is_empty())
        .unwrap_or_else(|| host_of(&app.config.base_url));
    let of_base =
        if app.config.base_url.starts_with("https:") { Scheme::Https } else { Scheme::Http };
    let scheme = reached.and_then(|reached| reached.scheme).unwrap_or(of_base).as_str();
    // Behind the router, a connection always has its address; a test may have none.
    let client_ip = parts
        .extensions
        .get::<ConnectInfo<SocketAddr>>()
        .map(|c| c.0.ip().to_canonical().to_string())
        .unwrap_or_default();
    EndpointRequest {
        method: parts.method.as_str().to_owned(),
        url: format!("{scheme}://{host}{}", parts.uri.path()),
        path: path.to_owned(),
        query: parts.uri.query().unwrap_or("").to_owned(),
        headers: header_list(&parts.headers),
        client_ip,
        body: Vec::new(),
        encoded: None,
        parsed: None,
    }
}

/// The host of a URL, with its port.
fn host_of(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    behind.split('/').next().unwrap_or_default()
}

/// `/e/{key}` and the rest of a path, both as they were sent.
fn base_and_path(sent: &Uri) -> (&str, &str) {
    let path = sent.path();
    match path.match_indices('/').nth(2) {
        Some((at, _)) => path.split_at(at),
        None => (path, "/"),
    }
}

/// `/e/{key}/{path}` as it was sent: the path is not decoded, since any bytes may be escaped in it.
fn key_and_path(uri: &Uri) -> (&str, &str) {
    let below = uri.path().strip_prefix(BELOW).unwrap_or("");
    match below.find('/') {
        Some(at) => below.split_at(at),
        None => (below, "/"),
    }
}

/// What may be done about a body that is too large.
const TOO_LARGE_HINT: &str = " (--http-body-max-bytes); a larger one is kept as a file where the header `x-pd-upload-body: 1`, or `pipedream_upload_body=1` in the query, asks for that";

/// The body, up to the limit.
pub(crate) async fn read(
    body: Body,
    headers: &HeaderMap,
    limit: usize,
) -> Result<Vec<u8>, ApiError> {
    let too_large = || ApiError::body_too_large(limit, TOO_LARGE_HINT);
    let claimed =
        headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if claimed.is_some_and(|claimed| claimed > limit) {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(claimed.unwrap_or(0).min(BODY_ROOM_MAX));
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| ApiError::body_unreadable())?;
        if bytes.len() + chunk.len() > limit {
            return Err(too_large());
        }
        if bytes.capacity() - bytes.len() < chunk.len() {
            // Room grows by a quarter, not to twice: under a flood that is what there is of bodies
            // beside the bytes that are counted.
            bytes.reserve_exact(chunk.len().max(bytes.len() / 4).max(BODY_ROOM_MAX));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Values are UTF-8 where they can be, else Latin-1, so that no byte is lost.
fn header_list(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| {
        std::str::from_utf8(bytes)
            .map_or_else(|_| bytes.iter().copied().map(char::from).collect(), str::to_owned)
    };
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes()))).collect()
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    #[test]
    fn the_key_is_cut_off_and_the_rest_kept_as_sent() {
        let check = |uri: &'static str, key: &str, path: &str| {
            assert_eq!(key_and_path(&Uri::from_static(uri)), (key, path), "{uri}")
        };
        check("/e/abc", "abc", "/");
        check("/e/abc/", "abc", "/");
        check("/e/abc/x/y?z=1", "abc", "/x/y");
        check("/e/abc//x%2Fy/%FF", "abc", "//x%2Fy/%FF");
        let check = |uri: &'static str, base: &str, path: &str| {
            assert_eq!(base_and_path(&Uri::from_static(uri)), (base, path), "{uri}")
        };
        assert_eq!(host_of("https://a.example:8443/hooks"), "a.example:8443");
        check("/%65/%61bc//x%2Fy?z", "/%65/%61bc", "//x%2Fy");
        check("/e/%61bc", "/e/%61bc", "/");
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_its_limit() {
        let read_chunks = async |sizes: &[usize], limit| {
            let chunks: Vec<_> =
                sizes.iter().map(|size| Ok::<_, std::io::Error>(vec![b'a'; *size])).collect();
            read(Body::from_stream(stream::iter(chunks)), &HeaderMap::new(), limit)
                .await
                .map(|bytes| bytes.len())
                .ok()
        };
        assert_eq!(read_chunks(&[], 10).await, Some(0));
        assert_eq!(read_chunks(&[4, 6], 10).await, Some(10));
        assert_eq!(read_chunks(&[4, 7], 10).await, None);
        // What fits again after a chunk that did not is no body either.
        assert_eq!(read_chunks(&[11, 1], 10).await, None);
    }
}
