//! The page of runs, where the links in mails lead, and of sources (spec 4.5). It is a client of `/v1` like any other.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use millrace_model::IdSource;

/// No inline script or style, and nothing from elsewhere: what a run holds was written by strangers. What their code answers is of this origin too, and is no script here.
const POLICY: &str = "default-src 'none'; style-src 'self'; connect-src 'self'; worker-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const SCRIPT: &str = "<script src=\"/assets/page.js\">";

pub(crate) async fn page() -> Response {
    let nonce = URL_SAFE_NO_PAD.encode(IdSource::default().bytes::<18>());
    let html = include_str!("page.html").replace(SCRIPT, &SCRIPT.replace("<script", &format!("<script nonce=\"{nonce}\"")));
    let policy = HeaderValue::from_maybe_shared(format!("{POLICY}; script-src 'nonce-{nonce}'")).unwrap_or(HeaderValue::from_static(POLICY));
    let headers = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer")),
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, html).into_response()
}

/// A page that says one thing.
pub(crate) fn message(status: StatusCode, title: &str, words: &str) -> Response {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title><link rel=\"stylesheet\" href=\"/assets/page.css\"><main><h1>{title}</h1><p>{words}</p></main></html>"
    );
    let headers = [
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer")),
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, html).into_response()
}

pub(crate) async fn script() -> Response {
    file("text/javascript; charset=utf-8", include_str!("page.js"))
}

pub(crate) async fn style() -> Response {
    file("text/css; charset=utf-8", include_str!("page.css"))
}

/// A small file of this version; the next version's must not mix with it.
fn file(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], text).into_response()
}
