//! Cookies that code sets: each goes back to the endpoint that set it and nowhere else. By itself a
//! browser would send one to every host of a domain, and to all of an origin, where others'
//! endpoints are, and pages that its size could shut.

use axum::http::HeaderValue;

/// Bytes of an attribute beyond which browsers go on without it (RFC 6265bis, 5.6).
const ATTRIBUTE_BYTES_MAX: usize = 1024;

/// A `Set-Cookie` as its endpoint may say it (RFC 6265, 5.2). `base`: the path that all of the
/// endpoint's addresses lie below; empty where it has a host of its own. None where no header may
/// hold it.
pub(super) fn own(value: &HeaderValue, base: &str) -> Option<HeaderValue> {
    let mut parts = value.as_bytes().split(|byte| *byte == b';');
    let mut kept = parts.next().unwrap_or_default().to_vec();
    let (mut path, mut others) = (&b""[..], Vec::new());
    for part in parts {
        let at = part.iter().position(|byte| *byte == b'=').unwrap_or(part.len());
        let name = part[..at].trim_ascii();
        if name.eq_ignore_ascii_case(b"path") {
            // Browsers go by the last.
            path = part.get(at + 1..).unwrap_or_default().trim_ascii();
        } else if !name.eq_ignore_ascii_case(b"domain") {
            others.push(b';');
            others.extend_from_slice(part);
        }
    }
    let path = below(path, base.as_bytes());
    if !path.is_empty() {
        // First, for some read so many attributes and no more.
        kept.extend_from_slice(b"; Path=");
        kept.extend_from_slice(&path);
    }
    kept.extend_from_slice(&others);
    HeaderValue::from_bytes(&kept).ok()
}

/// Where a cookie goes that names this path. Code sees paths below its endpoint's own, and may know
/// the whole one from the request's address.
fn below(path: &[u8], base: &[u8]) -> Vec<u8> {
    let is_path = path.first() == Some(&b'/');
    if base.is_empty() {
        return if is_path { path.to_vec() } else { Vec::new() };
    }
    let named = match path.strip_prefix(base) {
        Some(rest) if rest.is_empty() || rest[0] == b'/' => path.to_vec(),
        _ if is_path && path != b"/" => [base, path].concat(),
        _ => base.to_vec(),
    };
    // What a browser takes where none is named is all endpoints'.
    if named.len() <= ATTRIBUTE_BYTES_MAX { named } else { base.to_vec() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(cookie: &str, base: &str) -> String {
        own(&HeaderValue::from_str(cookie).unwrap(), base).unwrap().to_str().unwrap().to_owned()
    }

    #[test]
    fn a_cookie_stays_below_its_endpoint() {
        let check =
            |cookie: &str, expected: &str| assert_eq!(said(cookie, "/e/abc"), expected, "{cookie}");
        check("a=1", "a=1; Path=/e/abc");
        check("a=1; Path=/", "a=1; Path=/e/abc");
        check("a=1; path = / ; HttpOnly", "a=1; Path=/e/abc; HttpOnly");
        check("a=1; Path=/x; Path=/y", "a=1; Path=/e/abc/y");
        check("a=1; Path=/x; Path=", "a=1; Path=/e/abc");
        check("a=1; Path=x", "a=1; Path=/e/abc");
        check("a=1; Path=/e/abc", "a=1; Path=/e/abc");
        check("a=1; Path=/e/abc/x", "a=1; Path=/e/abc/x");
        check("a=1; Path=/e/abcd", "a=1; Path=/e/abc/e/abcd");
        check("a=1; Path=/e/ab", "a=1; Path=/e/abc/e/ab");
        check("a=1; Domain=.example.com; Secure; Max-Age=5", "a=1; Path=/e/abc; Secure; Max-Age=5");
        check("a=1; DOMAIN", "a=1; Path=/e/abc");
        check(
            &format!("a=1; Path=/{}", "x".repeat(1017)),
            &format!("a=1; Path=/e/abc/{}", "x".repeat(1017)),
        );
        check(&format!("a=1; Path=/{}", "x".repeat(1018)), "a=1; Path=/e/abc");
        check("a=path=/; SameSite=Lax", "a=path=/; Path=/e/abc; SameSite=Lax");
    }

    #[test]
    fn a_host_s_cookie_stays_the_host_s() {
        let check =
            |cookie: &str, expected: &str| assert_eq!(said(cookie, ""), expected, "{cookie}");
        check("a=1", "a=1");
        check("a=1; Path=/x; Domain=example.com", "a=1; Path=/x");
        check("a=1; Path=x", "a=1");
    }

    proptest! {
        #[test]
        fn whatever_code_says_it_is_never_sent_elsewhere(cookie in "[ -~]{0,60}", attribute in "( |\t)*(?i:path|domain)( |\t)*=[ -~]{0,20}") {
            let said = said(&format!("{cookie};{attribute}"), "/e/abc");
            let attributes: Vec<_> = said.split(';').skip(1).map(|part| part.split_once('=').unwrap_or((part, ""))).collect();
            prop_assert!(!attributes.iter().any(|(name, _)| name.trim().eq_ignore_ascii_case("domain")), "{}", said);
            let paths: Vec<_> = attributes.iter().filter(|(name, _)| name.trim().eq_ignore_ascii_case("path")).map(|(_, value)| value.trim()).collect();
            prop_assert_eq!(paths.len(), 1);
            prop_assert!(paths[0] == "/e/abc" || paths[0].starts_with("/e/abc/"), "{}", said);
        }
    }
}
