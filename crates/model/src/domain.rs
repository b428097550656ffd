//! Domains of endpoints, and the addresses of endpoints.

use crate::clock::Timestamp;
use crate::ids::{HttpInterfaceId, OrgId};

/// A domain that is attached to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointDomain {
    /// The domain, in lower case.
    pub id: String,
    /// The organization.
    pub org_id: OrgId,
    /// The endpoint.
    pub endpoint_id: HttpInterfaceId,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Where the endpoint of a key is reached. `domain`: where endpoints have hosts of their own.
pub fn endpoint_url(base_url: &str, domain: Option<&str>, key: &str) -> String {
    match domain {
        Some(domain) => format!(
            "{}://{key}.{domain}",
            if base_url.starts_with("https:") { "https" } else { "http" }
        ),
        None => format!("{base_url}/e/{key}"),
    }
}

/// The host of a `Host` header, in lower case and without its port; None where it is empty.
pub fn host_of(header: &str) -> Option<String> {
    let host = match header.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => header,
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then_some(host)
}

/// Whether a text is a domain of at least two labels, in lower case, and no address.
pub fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = text.rsplit('.').next().unwrap_or("");
    text.len() <= 253
        && text.contains('.')
        && text.split('.').all(is_label)
        && !last.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_without_case_port_and_last_dot() {
        let host = |text: &str| host_of(text);
        assert_eq!(host("A.Example.COM:8080").as_deref(), Some("a.example.com"));
        assert_eq!(host("a.test.").as_deref(), Some("a.test"));
        assert_eq!(host("[::1]:80").as_deref(), Some("[::1]"));
        assert_eq!((host(""), host(":80")), (None, None));
    }

    #[test]
    fn domains_are_names() {
        for good in ["a.test", "hooks.example.com", "xn--bcher-kva.example", "1.2.3.x4"] {
            assert!(is_domain(good), "{good}");
        }
        for bad in [
            "",
            "test",
            "A.test",
            "a..test",
            "-a.test",
            "a-.test",
            "a_b.test",
            "10.0.0.1",
            "a.test/x",
            "a.test:80",
            &format!("{}.test", "a".repeat(64)),
            "é.test",
        ] {
            assert!(!is_domain(bad), "{bad}");
        }
    }

    #[test]
    fn endpoints_have_a_path_or_a_host_of_their_own() {
        assert_eq!(endpoint_url("https://m.test", None, "enx"), "https://m.test/e/enx");
        assert_eq!(
            endpoint_url("https://m.test", Some("hooks.test"), "enx"),
            "https://enx.hooks.test"
        );
        assert_eq!(
            endpoint_url("http://m.test:81", Some("hooks.test:81"), "enx"),
            "http://enx.hooks.test:81"
        );
    }
}
