//! Names of response headers that are the server's to set, and are left out of what code answers.

use axum::http::HeaderName;

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

/// Headers of one connection (RFC 9110, 7.6.1), which an answer that code fetched brings along.
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

/// Whether a component may set a header of its answer.
pub(super) fn may_be_sent(name: &HeaderName) -> bool {
    !OF_THE_ORIGIN.contains(&name.as_str()) && !OF_THE_CONNECTION.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_connection_and_of_the_origin_are_the_servers() {
        let sent = |name: &'static str| may_be_sent(&HeaderName::from_static(name));
        assert!(OF_THE_CONNECTION.iter().chain(&OF_THE_ORIGIN).all(|name| !sent(name)));
        for name in ["set-cookie", "link", "content-encoding", "proxy-status", "x-te"] {
            assert!(sent(name), "{name}");
        }
    }
}
