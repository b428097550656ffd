//! Normalization of request paths before they are routed: a segment matches its route whether the
//! client percent-encodes the characters that need no encoding or not (`/%24errors/` is
//! `/$errors/`, as `encodeURIComponent` writes it).

use axum::body::Body;
use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::{Parts, PathAndQuery};

/// The address as the client sent it, in the extensions of a request whose path was normalized.
/// Code behind an endpoint gets this one.
#[derive(Clone, Debug)]
struct AsSent(Uri);

/// Decodes the escapes of a request's path that stand for characters which a segment may hold as
/// they are. `/` and `%` stay encoded, so that an escape never makes a segment of its own, and
/// nothing is decoded twice. Call it before the router: a middleware runs once the route is chosen.
pub fn normalize_path(request: &mut Request<Body>) {
    if !request.uri().path().contains('%') {
        return;
    }
    let Some(path) = normalized(request.uri().path()) else { return };
    let sent = request.uri().clone();
    let mut parts = Parts::from(sent.clone());
    let query = sent.query().map(|query| format!("?{query}")).unwrap_or_default();
    let Ok(path_and_query) = PathAndQuery::try_from(path + &query) else { return };
    parts.path_and_query = Some(path_and_query);
    let Ok(uri) = Uri::from_parts(parts) else { return };
    *request.uri_mut() = uri;
    request.extensions_mut().insert(AsSent(sent));
}

/// Gives a request its address as the client sent it; false where that is the one it has.
pub(crate) fn restore_path(request: &mut Request) -> bool {
    match request.extensions_mut().remove::<AsSent>() {
        Some(AsSent(uri)) => {
            *request.uri_mut() = uri;
            true
        }
        None => false,
    }
}

/// None where nothing changes.
fn normalized(path: &str) -> Option<String> {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, behind)) = rest.split_once('%') {
        out.push_str(before);
        match behind
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
            .filter(|byte| is_of_segment(*byte))
        {
            Some(byte) => {
                out.push(char::from(byte));
                rest = &behind[2..];
            }
            None => {
                out.push('%');
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    (out.len() < path.len()).then_some(out)
}

/// `pchar` of RFC 3986, 3.3: what a segment may hold as it is.
fn is_of_segment(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_a_segment_may_hold_is_decoded_and_once() {
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(normalized(path).as_deref(), expected, "{path}")
        };
        check(
            "/v1/workflows/p_1/%24errors/event_summaries",
            Some("/v1/workflows/p_1/$errors/event_summaries"),
        );
        check("/v1/components/registry/a%40b%3A1%2C2", Some("/v1/components/registry/a@b:1,2"));
        check("/%76%31/%7euser%2E", Some("/v1/~user."));
        for same in [
            "/v1/a%2Fb",
            "/v1/a%2fb",
            "/v1/%2524errors",
            "/v1/%C3%A9",
            "/v1/%00",
            "/v1/%3F%23%20%5C",
            "/v1/%",
            "/v1/%4",
            "/v1/%é",
            "/v1/%+4",
        ] {
            check(same, None);
        }
        check("/v1/%2F%41", Some("/v1/%2FA"));
    }

    #[test]
    fn the_query_stays_and_the_address_as_sent_comes_back() {
        let mut request =
            Request::builder().uri("http://h/e/%61bc/%24x?a=%24").body(Body::empty()).unwrap();
        normalize_path(&mut request);
        assert_eq!(request.uri(), "http://h/e/abc/$x?a=%24");
        assert!(restore_path(&mut request));
        assert_eq!(request.uri(), "http://h/e/%61bc/%24x?a=%24");
        assert!(!restore_path(&mut request));
    }

    proptest! {
        #[test]
        fn the_segments_stay_as_many_and_mean_the_same(path in "(/(%[0-9a-fA-F]{2}|[a-z$@:,]){0,6}){1,4}") {
            let out = normalized(&path).unwrap_or_else(|| path.clone());
            let decoded = |text: &str| text.split('/').map(|s| percent_encoding::percent_decode_str(s).collect::<Vec<u8>>()).collect::<Vec<_>>();
            prop_assert_eq!(decoded(&out), decoded(&path));
            prop_assert!(normalized(&out).is_none(), "{}", out);
        }
    }
}
