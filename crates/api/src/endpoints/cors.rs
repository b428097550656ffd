//! Cross-origin rules of endpoints (CORS): pages of any origin may send requests and read the
//! answers. Credentials of this server are no part of it: its cookies go to `/v1` alone, and
//! endpoints take none.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

const ANY: HeaderValue = HeaderValue::from_static("*");
/// Methods that each preflight names (reference 3).
const METHODS: &str = "GET,HEAD,PUT,PATCH,POST,DELETE";
/// What scripts may read of every answer, or of none (Fetch, 4.9).
const UNNAMED: [HeaderName; 8] = [
    header::CACHE_CONTROL,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::EXPIRES,
    header::LAST_MODIFIED,
    header::PRAGMA,
    header::SET_COOKIE,
];

/// What a request says of the page that sends it.
pub(super) struct Sender {
    /// Its origin, where it has one.
    origin: Option<HeaderValue>,
    /// Whether the request shows a cookie, which only code of the endpoint can have set, or a
    /// password, which a browser may have kept: both are for pages of the endpoint's own choice.
    has_credentials: bool,
}

impl Sender {
    pub(super) fn of(request: &HeaderMap) -> Self {
        // `null` is what any page can have.
        let origin = request.get(header::ORIGIN).filter(|origin| *origin != "null").cloned();
        let has_credentials =
            request.contains_key(header::COOKIE) || request.contains_key(header::AUTHORIZATION);
        Self { origin, has_credentials }
    }

    /// Lets scripts of the page read an answer, and the names of its headers. What code says of it
    /// stays. An answer to credentials that the browser added is read by no page that code did not
    /// name, as `*` does not cover them; a token that the script added itself is no such one.
    pub(super) fn may_read(&self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        if headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN) {
            return response;
        }
        if self.origin.is_some()
            && let Some(names) = exposed(headers)
        {
            headers.entry(header::ACCESS_CONTROL_EXPOSE_HEADERS).or_insert(names);
        }
        self.allow(headers, !self.has_credentials);
        response
    }

    fn allow(&self, headers: &mut HeaderMap, with_credentials: bool) {
        let origin = self.origin.as_ref().filter(|_| with_credentials);
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.cloned().unwrap_or(ANY));
        if origin.is_some() {
            let allowed = HeaderValue::from_static("true");
            headers.entry(header::ACCESS_CONTROL_ALLOW_CREDENTIALS).or_insert(allowed);
        }
        if self.origin.is_some() {
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
        }
    }
}

/// The names of an answer's headers that scripts may read only where they are listed.
fn exposed(headers: &HeaderMap) -> Option<HeaderValue> {
    let own: Vec<_> = headers
        .keys()
        .filter(|name| !UNNAMED.contains(name) && !name.as_str().starts_with("access-control-"))
        .map(HeaderName::as_str)
        .collect();
    HeaderValue::try_from(own.join(",")).ok().filter(|names| !names.is_empty())
}

/// The answer to a browser that asks what it may send: also with credentials, as
/// `navigator.sendBeacon` asks for JSON. It names what was asked for: `*` does not cover
/// `Authorization`, and with credentials nothing (Fetch, 4.9).
pub(super) fn preflight(asked: &HeaderMap) -> Response {
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
        (header::ACCESS_CONTROL_ALLOW_METHODS, methods),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, headers.unwrap_or(ANY)),
        (
            header::VARY,
            HeaderValue::from_static(
                "Access-Control-Request-Headers, Access-Control-Request-Method",
            ),
        ),
    ];
    let mut answer = answer.into_response();
    Sender::of(asked).allow(answer.headers_mut(), true);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let line = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        lines.iter().map(line).collect()
    }

    fn said<'a>(response: &'a Response, name: &str) -> &'a str {
        response.headers().get(name).map_or("", |value| value.to_str().expect("text"))
    }

    fn answered(
        request: &[(&'static str, &'static str)],
        own: &[(&'static str, &'static str)],
    ) -> [String; 4] {
        let mut response = ().into_response();
        response.headers_mut().extend(headers(own));
        let read = Sender::of(&headers(request)).may_read(response);
        ["origin", "credentials"]
            .map(|name| said(&read, &format!("access-control-allow-{name}")).to_owned())
            .into_iter()
            .chain(
                ["access-control-expose-headers", "vary"].map(|name| said(&read, name).to_owned()),
            )
            .collect::<Vec<_>>()
            .try_into()
            .expect("four")
    }

    #[test]
    fn a_page_may_send_with_credentials() {
        let asked = [
            ("origin", "https://a.test"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "content-type"),
        ];
        let answer = preflight(&headers(&asked));
        for (name, value) in [
            ("access-control-allow-origin", "https://a.test"),
            ("access-control-allow-credentials", "true"),
            ("access-control-allow-headers", "content-type"),
        ] {
            assert_eq!(said(&answer, name), value, "{name}");
        }
        let vary: Vec<_> = answer.headers().get_all("vary").iter().collect();
        assert!(vary.iter().any(|names| *names == "Origin"), "{vary:?}");
    }

    #[test]
    fn an_answer_is_read_with_its_own_headers() {
        let page = ("origin", "https://a.test");
        assert_eq!(
            answered(&[page], &[("x-own", "1"), ("content-type", "a/b")]),
            ["https://a.test", "true", "x-own", "Origin"]
        );
        assert_eq!(answered(&[], &[("x-own", "1")]), ["*", "", "", ""]);
        assert_eq!(answered(&[("origin", "null")], &[]), ["*", "", "", ""]);
        // What it says to a cookie or a kept password is for pages that code names.
        for credentials in [("cookie", "a=1"), ("authorization", "Basic YTpi")] {
            assert_eq!(answered(&[page, credentials], &[]), ["*", "", "", "Origin"]);
        }
        let named = [("access-control-allow-origin", "https://b.test")];
        assert_eq!(answered(&[page], &named), ["https://b.test", "", "", ""]);
    }
}
