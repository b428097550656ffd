//! The page of a run, where the links in mails lead. It is a client of `/v1` like any other.

use axum::http::{HeaderName, header};
use axum::response::{Html, IntoResponse, Response};

const POLICY: &str =
    "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) async fn run() -> Response {
    let headers = [(header::CONTENT_SECURITY_POLICY, POLICY), (HeaderName::from_static("referrer-policy"), "no-referrer"), (header::CACHE_CONTROL, "no-store")];
    (headers, Html(include_str!("pages/run.html"))).into_response()
}

pub(crate) async fn run_script() -> Response {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("pages/run.js")).into_response()
}
