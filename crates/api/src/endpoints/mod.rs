//! Generated endpoints (spec 4.4): any method, any path below, any media type. The hot path.

mod cookies;
pub(crate) mod encodings;
mod own_headers;
pub(crate) mod pauses;
pub(crate) mod uploads;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use millrace_model::http::{EndpointRequest, EndpointResponse, check_headers};
use millrace_model::proxies::Scheme;

use crate::endpoints::encodings::{Coding, codings, decoded_whole};
use crate::endpoints::uploads::For;
use crate::error::{ApiError, status};
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
    let answered = run(app, at, request).await;
    of_any_origin(answered.unwrap_or_else(IntoResponse::into_response))
}

/// An answer that scripts of any page may read.
fn of_any_origin(mut response: Response) -> Response {
    response
        .headers_mut()
        .entry(header::ACCESS_CONTROL_ALLOW_ORIGIN)
        .or_insert(HeaderValue::from_static("*"));
    response
}

/// Methods that browsers are told of whatever they ask for (reference 3).
const METHODS: &str = "GET,HEAD,PUT,PATCH,POST,DELETE";

/// The answer to a browser that asks what it may send. It names what was asked for: `*` does not
/// cover `Authorization` (Fetch, 4.9).
fn preflight(asked: &HeaderMap) -> Response {
    let any = HeaderValue::from_static("*");
    let headers = asked
        .get(header::ACCESS_CONTROL_REQUEST_HEADERS)
        .filter(|names| !names.is_empty())
        .cloned();
    let method =
        asked.get(header::ACCESS_CONTROL_REQUEST_METHOD).and_then(|method| method.to_str().ok());
    let methods = match method.filter(|method| !METHODS.split(',').any(|known| known == *method)) {
        Some(other) => HeaderValue::try_from(format!("{METHODS},{other}"))
            .unwrap_or(HeaderValue::from_static(METHODS)),
        None => HeaderValue::from_static(METHODS),
    };
    let answer = [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, any.clone()),
        (header::ACCESS_CONTROL_ALLOW_METHODS, methods),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, headers.unwrap_or(any)),
        (
            header::VARY,
            HeaderValue::from_static(
                "Access-Control-Request-Headers, Access-Control-Request-Method",
            ),
        ),
    ];
    answer.into_response()
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
    let host =
        forwarded_host.or_else(|| parts.headers.get(header::HOST)?.to_str().ok()).unwrap_or("");
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

/// What code answered. Header names and values that HTTP does not allow are left out, as are those
/// that the connection sets, or that speak for the server; cookies go back to where they came from.
/// `base`: see [`At`].
fn to_response(answer: EndpointResponse, base: &str) -> Result<Response, ApiError> {
    let status = status(answer.status)?;
    check_headers(answer.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())))
        .map_err(|error| ApiError::unsendable_headers(&error))?;
    // Answers of these have no body; a length would make clients wait for one.
    let empty = matches!(
        status,
        StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED
    );
    let mut response = Response::new(if empty { Body::empty() } else { Body::from(answer.body) });
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in answer.headers {
        let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::try_from(value.into_bytes()))
        else {
            continue;
        };
        let Some(value) =
            (if name == header::SET_COOKIE { cookies::own(&value, base) } else { Some(value) })
        else {
            continue;
        };
        if own_headers::may_be_sent(&name) {
            headers.append(name, value);
        }
    }
    if empty {
        return Ok(response);
    }
    let kind = headers
        .entry(header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static("text/plain; charset=utf-8"));
    // Browsers go by the last of several, also of several in one line.
    let inert = is_inert(kind) && headers.get_all(header::CONTENT_TYPE).iter().nth(1).is_none();
    if inert {
        // A browser that goes by what it finds in the body may find a page.
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    } else {
        headers.append(header::CONTENT_SECURITY_POLICY, SANDBOX);
    }
    Ok(response)
}

/// Whether no browser takes it for a page.
fn is_inert(kind: &HeaderValue) -> bool {
    let essence =
        kind.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let inert = [&b"text/plain"[..], b"application/json"]
        .iter()
        .any(|inert| essence.eq_ignore_ascii_case(inert));
    inert && !kind.as_bytes().contains(&b',')
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
        check("/%65/%61bc//x%2Fy?z", "/%65/%61bc", "//x%2Fy");
        check("/e/%61bc", "/e/%61bc", "/");
    }

    fn answer(status: u16, headers: &[(&str, &str)]) -> EndpointResponse {
        EndpointResponse {
            status,
            headers: headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            body: b"body".to_vec(),
        }
    }

    #[test]
    fn answers_keep_what_http_allows() {
        let given = [
            ("X-A", "1"),
            ("set-cookie", "a"),
            ("set-cookie", "b"),
            ("x-é", "1"),
            ("x-split", "a\r\nb: c"),
            ("content-length", "999"),
            ("Keep-Alive", "timeout=5"),
            ("Clear-Site-Data", "*"),
            ("x-utf", "é"),
        ];
        let response = to_response(answer(418, &given), "/e/abc").unwrap();
        assert_eq!(response.status().as_u16(), 418);
        let names: Vec<_> = response
            .headers()
            .iter()
            .map(|(n, v)| (n.as_str(), String::from_utf8_lossy(v.as_bytes()).into_owned()))
            .collect();
        let expected = [
            ("x-a", "1"),
            ("set-cookie", "a; Path=/e/abc"),
            ("set-cookie", "b; Path=/e/abc"),
            ("x-utf", "é"),
            ("content-type", "text/plain; charset=utf-8"),
            ("x-content-type-options", "nosniff"),
        ];
        assert_eq!(names, expected.map(|(n, v)| (n, v.to_owned())));
        for status in [100, 101, 199, 0, 600, 999] {
            assert!(to_response(answer(status, &[]), "/e/abc").is_err(), "{status}");
        }
    }

    #[test]
    fn answers_with_too_many_headers_are_none() {
        let sent =
            |lines: usize| to_response(answer(200, &vec![("set-cookie", "a=1"); lines]), "/e/abc");
        assert!(sent(256).is_ok() && sent(257).is_err() && sent(100_000).is_err());
    }

    #[tokio::test]
    async fn answers_that_have_no_body_have_no_length() {
        for status in [204, 205, 304] {
            let response = to_response(answer(status, &[("etag", "a")]), "/e/abc").unwrap();
            assert_eq!(
                (response.headers().len(), response.headers().get("etag").is_some()),
                (1, true),
                "{status}"
            );
            assert!(axum::body::to_bytes(response.into_body(), 10).await.unwrap().is_empty());
        }
    }

    #[test]
    fn pages_of_endpoints_have_an_origin_of_their_own() {
        let sandboxed = |kind| {
            to_response(answer(200, &[("Content-Type", kind)]), "/e/abc")
                .unwrap()
                .headers()
                .contains_key(header::CONTENT_SECURITY_POLICY)
        };
        assert!(
            sandboxed("text/html")
                && sandboxed("image/svg+xml")
                && sandboxed("text/javascript")
                && sandboxed("")
        );
        assert!(
            !sandboxed("application/json")
                && !sandboxed("text/plain; charset=utf-8")
                && !sandboxed("Text/Plain ;charset=utf-8")
        );
        for dressed in [
            "text/plain, text/html",
            "text/plain;charset=utf-8,text/html",
            "application/json , text/html",
            "text/plainhtml",
            "application/jsonx",
        ] {
            assert!(sandboxed(dressed), "{dressed}");
        }
        let two = [("content-type", "text/plain"), ("Content-Type", "text/html")];
        assert!(
            to_response(answer(200, &two), "/e/abc")
                .unwrap()
                .headers()
                .contains_key(header::CONTENT_SECURITY_POLICY)
        );
        let sniffed = to_response(
            answer(200, &[("content-type", "text/plain"), ("x-content-type-options", "none")]),
            "/e/abc",
        )
        .unwrap();
        let told: Vec<_> =
            sniffed.headers().get_all(header::X_CONTENT_TYPE_OPTIONS).iter().collect();
        assert_eq!(told, ["nosniff"]);
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
