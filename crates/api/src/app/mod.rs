//! The web application: its page, its files, and the few pages that need no script. It is a client
//! of `/v1` like any other.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::read::GzDecoder;
use millrace_model::IdSource;

use crate::extract::Path;
use crate::{App, error};

/// A file of the build.
struct File {
    name: &'static str,
    bytes: Bytes,
}

enum Bytes {
    /// In both encodings that browsers take.
    Packed {
        br: &'static [u8],
        gz: &'static [u8],
    },
    Plain(&'static [u8]),
}

mod build {
    use super::{Bytes, File};

    include!(concat!(env!("OUT_DIR"), "/web.rs"));
}

/// What stands in the place of the nonce in the page.
const NONCE: &str = "{nonce}";
/// Policy of pages without a script.
const PLAIN_POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Where those have their style.
pub(crate) const PLAIN_STYLE: &str = "/assets/plain.css";

/// The addresses of the application and its files.
pub(crate) fn router() -> axum::Router<App> {
    let files = axum::Router::new()
        .route(PLAIN_STYLE, get(plain_style))
        .route("/assets/{name}", get(asset));
    build::ADDRESSES.iter().fold(files, |router, address| router.route(address, get(page)))
}

async fn page(headers: HeaderMap) -> Response {
    shown(StatusCode::OK, &headers)
}

/// What is at no address: browsers get the application, which says so, and others words that a
/// program reads.
pub(crate) async fn elsewhere(method: Method, headers: HeaderMap, uri: Uri) -> Response {
    let wants_page = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    let first = uri.path().split('/').nth(1).unwrap_or_default();
    if method == Method::GET && wants_page && !matches!(first, "v1" | "e" | "assets") {
        return shown(StatusCode::NOT_FOUND, &headers);
    }
    error::no_route(uri).await.into_response()
}

fn shown(status: StatusCode, headers: &HeaderMap) -> Response {
    let Some(page) = build::PAGE else {
        return message(
            StatusCode::NOT_IMPLEMENTED,
            "No application",
            "This program was built without the web application: run `cargo xtask build`, and build it again.",
        );
    };
    let nonce = URL_SAFE_NO_PAD.encode(IdSource::default().bytes::<18>());
    let policy = HeaderValue::from_maybe_shared(policy(headers, &nonce))
        .unwrap_or(HeaderValue::from_static(PLAIN_POLICY));
    (status, page_headers(policy), page.replace(NONCE, &nonce)).into_response()
}

/// Scripts, workers and styles come of the build alone. What strangers' code answers at `/e/…` is
/// of this origin too, and their host with a path keeps it out, which `'self'` would not. The nonce
/// is for styles: the editor and the dialogs make elements of them.
fn policy(headers: &HeaderMap, nonce: &str) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    // An address of IPv6 is no source of a policy.
    let is_source = !host.is_empty()
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':'))
        && host.matches(':').count() < 2;
    let assets = if is_source { format!("{host}/assets/") } else { "'self'".to_owned() };
    format!(
        "default-src 'none'; script-src {assets}; worker-src {assets}; style-src {assets} 'nonce-{nonce}'; font-src {assets}; img-src 'self' data:; \
         connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; \
         require-trusted-types-for 'script'"
    )
}

fn page_headers(policy: HeaderValue) -> [(HeaderName, HeaderValue); 3] {
    [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ]
}

/// A page that says one thing.
pub(crate) fn message(status: StatusCode, title: &str, words: &str) -> Response {
    let words = words
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;");
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
         <link rel=\"stylesheet\" href=\"{PLAIN_STYLE}\"><main><h1>{title}</h1><p>{words}</p></main></html>"
    );
    (status, page_headers(HeaderValue::from_static(PLAIN_POLICY)), html).into_response()
}

/// It changes with the version, under the same name.
async fn plain_style() -> Response {
    let headers =
        [(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
    (headers, include_str!("plain.css")).into_response()
}

/// A file of the build. Its name holds a hash of what is in it.
async fn asset(Path(name): Path, headers: HeaderMap, uri: Uri) -> Response {
    let Ok(at) = build::FILES.binary_search_by(|file| file.name.cmp(&name)) else {
        return error::no_route(uri).await.into_response();
    };
    let file = &build::FILES[at];
    let (bytes, encoding) = match &file.bytes {
        Bytes::Plain(bytes) => (axum::body::Bytes::from_static(bytes), None),
        Bytes::Packed { br, .. } if takes(&headers, "br") => {
            (axum::body::Bytes::from_static(br), Some("br"))
        }
        Bytes::Packed { gz, .. } if takes(&headers, "gzip") => {
            (axum::body::Bytes::from_static(gz), Some("gzip"))
        }
        Bytes::Packed { gz, .. } => (unpacked(gz), None),
    };
    let mut response = bytes.into_response();
    let mut put = |name: HeaderName, value: &'static str| {
        _ = response.headers_mut().insert(name, HeaderValue::from_static(value))
    };
    put(header::CONTENT_TYPE, media(file.name));
    put(header::CACHE_CONTROL, "public, max-age=31536000, immutable");
    put(header::VARY, "accept-encoding");
    if let Some(encoding) = encoding {
        put(header::CONTENT_ENCODING, encoding);
    }
    response
}

fn takes(headers: &HeaderMap, encoding: &str) -> bool {
    let lines =
        headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|part| {
        let mut parts = part.split(';').map(str::trim);
        parts.next().is_some_and(|name| name.eq_ignore_ascii_case(encoding))
            && !parts.any(|quality| matches!(quality, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

fn unpacked(gz: &[u8]) -> axum::body::Bytes {
    let mut bytes = Vec::new();
    // It was packed at the build.
    let _ = std::io::Read::read_to_end(&mut GzDecoder::new(gz), &mut bytes);
    bytes.into()
}

fn media(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        Some("json" | "map") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(host: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::HOST, HeaderValue::from_str(host).unwrap())])
    }

    #[test]
    fn a_policy_names_the_host_that_was_asked_and_nothing_that_ends_a_directive() {
        let of = |host: &str| policy(&asked(host), "n");
        assert!(of("mill.example:8787").contains("script-src mill.example:8787/assets/; "));
        for host in ["[::1]:8787", "a;script-src *", "a b", "::1", ""] {
            assert!(of(host).contains("script-src 'self'; "), "{host}");
        }
    }

    #[test]
    fn the_application_has_the_addresses_that_mails_lead_to() {
        for address in ["/", "/runs/{id}", "/sources", "/sources/new", "/login"] {
            assert!(build::ADDRESSES.contains(&address), "{address}");
        }
        assert!(build::FILES.is_sorted_by_key(|file| file.name));
    }

    #[test]
    fn an_encoding_is_taken_where_it_is_named_and_not_refused() {
        let takes = |line: &str, encoding| {
            takes(
                &HeaderMap::from_iter([(
                    header::ACCEPT_ENCODING,
                    HeaderValue::from_str(line).unwrap(),
                )]),
                encoding,
            )
        };
        assert!(takes("gzip, deflate, br", "br") && takes("GZIP;q=0.5", "gzip"));
        assert!(
            !takes("br;q=0, gzip", "br") && !takes("identity", "gzip") && !takes("brotli", "br")
        );
    }
}
