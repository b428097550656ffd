//! Answers that code gives at endpoints, as HTTP has them. Hosts of code are not trusted: what they
//! say of a connection, or of the server, is left out.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use millrace_model::http::{EndpointResponse, check_headers};

use crate::endpoints::{SANDBOX, cookies};
use crate::error::{ApiError, status};

/// Headers that browsers hold against all of an origin, which is the server's: they are not a
/// component's to say.
const OF_THE_ORIGIN: [&str; 7] = [
    "clear-site-data",
    "strict-transport-security",
    "alt-svc",
    "nel",
    "report-to",
    "reporting-endpoints",
    "service-worker-allowed",
];

/// Headers of a connection, which are not for who is behind it (RFC 9110, 7.6.1), and what the
/// library says of a body.
const OF_THE_CONNECTION: [&str; 10] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers that are there once (RFC 9110, 5.3): of several lines each client takes another.
const ONCE: [&str; 9] = [
    "age",
    "content-location",
    "content-type",
    "date",
    "etag",
    "expires",
    "last-modified",
    "location",
    "retry-after",
];

/// What code answered. Header names and values that HTTP does not allow are left out, as are those
/// that the connection sets, or that speak for the server; cookies go back to where they came from.
/// Of a header that is there once the last line counts, as of Node's `setHeader`. `base`: see
/// [`super::At`].
pub(super) fn to_response(answer: EndpointResponse, base: &str) -> Result<Response, ApiError> {
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
        if OF_THE_CONNECTION.contains(&name.as_str()) || OF_THE_ORIGIN.contains(&name.as_str()) {
            continue;
        }
        if ONCE.contains(&name.as_str()) {
            headers.insert(name, value);
        } else {
            headers.append(name, value);
        }
    }
    if empty {
        return Ok(response);
    }
    let kind = headers
        .entry(header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static("text/plain; charset=utf-8"));
    if is_inert(kind) {
        // A browser that goes by what it finds in the body may find a page.
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    } else {
        headers.append(header::CONTENT_SECURITY_POLICY, SANDBOX);
    }
    Ok(response)
}

/// Whether no browser takes it for a page: browsers go by the last of several types in one line.
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
    use super::*;

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
    fn no_answer_says_what_is_the_connection_s_or_twice_what_is_there_once() {
        let mut given = vec![("link", "<a>"), ("link", "<b>")];
        given.extend(OF_THE_CONNECTION.map(|name| (name, "1")));
        given.extend(ONCE.map(|name| (name, "first")));
        given.extend(ONCE.map(|name| (name, "last")));
        let response = to_response(answer(200, &given), "/e/abc").unwrap();
        let headers = response.headers();
        assert_eq!(OF_THE_CONNECTION.map(|name| headers.contains_key(name)), [false; 10]);
        for name in ONCE {
            assert_eq!(headers.get_all(name).iter().collect::<Vec<_>>(), ["last"], "{name}");
        }
        assert_eq!(headers.get_all("link").iter().count(), 2);
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
        let sent: Vec<_> =
            sniffed.headers().get_all(header::X_CONTENT_TYPE_OPTIONS).iter().collect();
        assert_eq!(sent, ["nosniff"]);
    }
}
