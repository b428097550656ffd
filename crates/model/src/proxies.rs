//! Trusted reverse proxies, and the client of a request according to the headers that they add.
//! Pure: the server passes in the peer's address and the header lines.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::egress::{Allow, Target, canonical};

/// A range of addresses that proxies of the operator have: `10.0.0.0/8`, `192.0.2.7`, `fd00::/8`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TrustedProxy(Allow);

/// A text that is no range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` names no proxy: {why}; expected is an address or a range of addresses without a port, such as 10.0.0.7, 10.0.0.0/8 or fd00::/8"
)]
pub struct BadProxy {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

impl TrustedProxy {
    /// Whether an address is in the range.
    pub fn contains(&self, ip: IpAddr) -> bool {
        self.0.to.contains(ip)
    }
}

impl FromStr for TrustedProxy {
    type Err = BadProxy;

    fn from_str(text: &str) -> Result<Self, BadProxy> {
        let bad = |why: String| BadProxy { text: text.chars().take(200).collect(), why };
        let range: Allow =
            text.parse().map_err(|error: crate::egress::BadAllow| bad(error.why.into_owned()))?;
        match (&range.to, range.port) {
            (Target::Name(_), _) => Err(bad("that is a name".into())),
            (_, Some(_)) => Err(bad("it has a port, and proxies connect from any".into())),
            (_, None) => Ok(Self(range)),
        }
    }
}

impl fmt::Display for TrustedProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<String> for TrustedProxy {
    type Error = BadProxy;

    fn try_from(text: String) -> Result<Self, BadProxy> {
        text.parse()
    }
}

impl From<TrustedProxy> for String {
    fn from(proxy: TrustedProxy) -> Self {
        proxy.to_string()
    }
}

/// The scheme of a request as its client made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// As URLs begin.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn of(text: &str) -> Option<Self> {
        let is = |word| text.eq_ignore_ascii_case(word);
        match () {
            () if is("https") || is("wss") => Some(Self::Https),
            () if is("http") || is("ws") => Some(Self::Http),
            () => None,
        }
    }
}

/// Where a request comes from, and what its client took the server for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The client's address.
    pub address: IpAddr,
    /// What a proxy says of the scheme.
    pub scheme: Option<Scheme>,
    /// The `Host` that a proxy says the client sent, as it stands there.
    pub host: Option<String>,
}

/// What one proxy says of the side that it was asked from.
#[derive(Default)]
struct Hop {
    /// None: it does not say, or not in a form that is an address.
    address: Option<IpAddr>,
    scheme: Option<Scheme>,
    host: Option<String>,
}

/// Where a request comes from. `lines` gives the lines of a header in their order. The rightmost
/// address that is not itself trusted counts: what stands left of it may be the client's invention.
/// Where any `X-Forwarded-*` is there, `Forwarded` is not looked at.
pub fn origin(
    trusted: &[TrustedProxy],
    peer: IpAddr,
    lines: impl Fn(&'static str) -> Vec<String>,
) -> Origin {
    let is_trusted = |address: IpAddr| trusted.iter().any(|proxy| proxy.contains(address));
    let peer = canonical(peer);
    if !is_trusted(peer) {
        return Origin { address: peer, scheme: None, host: None };
    }
    let [addresses, schemes, hosts] =
        ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"].map(|name| list(&lines(name)));
    let is_x = !(addresses.is_empty() && schemes.is_empty() && hosts.is_empty());
    let hops: Vec<Hop> = if is_x {
        addresses.iter().map(|text| Hop { address: address_of(text), ..Hop::default() }).collect()
    } else {
        lines("forwarded").iter().flat_map(|line| forwarded(line)).collect()
    };
    let (mut address, mut back) = (peer, 0);
    for (n, hop) in hops.iter().rev().enumerate() {
        if !is_trusted(address) {
            break;
        }
        back = n;
        let Some(before) = hop.address else { break };
        address = before;
    }
    if is_x {
        // A proxy adds to each list, or replaces it: shorter lists were replaced by the proxy that
        // the client spoke to.
        let at = |list: &[String]| list.iter().rev().nth(back).or(list.first()).cloned();
        return Origin {
            address,
            scheme: at(&schemes).and_then(|text| Scheme::of(&text)),
            host: at(&hosts),
        };
    }
    let hop = hops.into_iter().rev().nth(back).unwrap_or_default();
    Origin { address, scheme: hop.scheme, host: hop.host }
}

/// The words of lines that are one list.
fn list(lines: &[String]) -> Vec<String> {
    lines
        .iter()
        .flat_map(|line| line.split(','))
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// An address with or without a port, in brackets or not.
fn address_of(text: &str) -> Option<IpAddr> {
    let bare = |text: &str| {
        text.parse::<IpAddr>().or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()))
    };
    let address =
        bare(text).ok().or_else(|| text.strip_prefix('[')?.strip_suffix(']')?.parse().ok());
    address.map(canonical)
}

/// The elements of one line of `Forwarded` (RFC 7239, 4). What does not read ends what is believed:
/// it stands for a hop without an address.
fn forwarded(line: &str) -> Vec<Hop> {
    let Some(elements) = split(line, ',') else { return vec![Hop::default()] };
    let hop = |element: &str| {
        let mut hop = Hop::default();
        for pair in split(element, ';').unwrap_or_default() {
            let Some((name, value)) = pair.split_once('=') else { continue };
            let value = unquoted(value.trim());
            match name.trim().to_ascii_lowercase().as_str() {
                "for" => hop.address = address_of(&value),
                "proto" => hop.scheme = Scheme::of(&value),
                "host" => hop.host = Some(value),
                _ => {}
            }
        }
        hop
    };
    elements.into_iter().map(str::trim).filter(|element| !element.is_empty()).map(hop).collect()
}

/// Parts between separators that stand outside of quotes; None where a quote is not closed.
fn split(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut parts, mut begin, mut in_quotes, mut escaped) = (Vec::new(), 0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_quotes => escaped = true,
            '"' => in_quotes = !in_quotes,
            _ if c == separator && !in_quotes => {
                parts.push(&text[begin..at]);
                begin = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    (!in_quotes).then_some(parts)
}

fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return value.to_owned();
    };
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        out.extend(if c == '\\' { rest.next() } else { Some(c) });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(peer: &str, headers: &[(&str, &str)]) -> (String, Option<&'static str>, Option<String>) {
        let trusted: Vec<TrustedProxy> =
            ["10.0.0.0/8", "fd00::/8"].iter().map(|text| text.parse().unwrap()).collect();
        let lines = |name: &str| {
            headers.iter().filter(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()).collect()
        };
        let origin = origin(&trusted, peer.parse().unwrap(), lines);
        (origin.address.to_string(), origin.scheme.map(Scheme::as_str), origin.host)
    }

    fn address(peer: &str, headers: &[(&str, &str)]) -> String {
        of(peer, headers).0
    }

    #[test]
    fn only_a_trusted_peer_is_believed() {
        let said = [
            ("x-forwarded-for", "1.2.3.4"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "a.test"),
        ];
        assert_eq!(of("10.0.0.1", &said), ("1.2.3.4".into(), Some("https"), Some("a.test".into())));
        assert_eq!(of("::ffff:10.0.0.1", &said).0, "1.2.3.4");
        assert_eq!(of("11.0.0.1", &said), ("11.0.0.1".into(), None, None));
        assert_eq!(
            of("11.0.0.1", &[("forwarded", "for=1.2.3.4;proto=https")]),
            ("11.0.0.1".into(), None, None)
        );
        assert_eq!(of("10.0.0.1", &[]), ("10.0.0.1".into(), None, None));
    }

    #[test]
    fn the_rightmost_address_that_is_not_trusted_counts() {
        let xff = |text| address("10.0.0.1", &[("x-forwarded-for", text)]);
        assert_eq!(xff("6.6.6.6, 1.2.3.4"), "1.2.3.4");
        assert_eq!(xff("6.6.6.6, 1.2.3.4, 10.0.0.2,10.0.0.3"), "1.2.3.4");
        assert_eq!(xff("10.0.0.9, 10.0.0.2"), "10.0.0.9");
        assert_eq!(xff("1.2.3.4:5678"), "1.2.3.4");
        assert_eq!(xff("[2001:db8::1]:80"), "2001:db8::1");
        assert_eq!(xff("[2001:db8::1]"), "2001:db8::1");
        assert_eq!(xff("::ffff:1.2.3.4"), "1.2.3.4");
        // What is no address ends what is believed.
        assert_eq!(xff("6.6.6.6, unknown, 10.0.0.2"), "10.0.0.2");
        assert_eq!(xff("6.6.6.6, nonsense"), "10.0.0.1");
        assert_eq!(
            address("10.0.0.1", &[("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "1.2.3.4")]),
            "1.2.3.4"
        );
    }

    #[test]
    fn scheme_and_host_are_those_that_the_clients_proxy_saw() {
        let said = |xff, proto, host| {
            of(
                "10.0.0.1",
                &[
                    ("x-forwarded-for", xff),
                    ("x-forwarded-proto", proto),
                    ("x-forwarded-host", host),
                ],
            )
        };
        assert_eq!(
            said("1.2.3.4, 10.0.0.2", "https, http", "a.test, b.test"),
            ("1.2.3.4".into(), Some("https"), Some("a.test".into()))
        );
        assert_eq!(
            said("6.6.6.6, 1.2.3.4", "http, https", "evil.test, a.test"),
            ("1.2.3.4".into(), Some("https"), Some("a.test".into()))
        );
        assert_eq!(
            said("1.2.3.4, 10.0.0.2", "https", "a.test"),
            ("1.2.3.4".into(), Some("https"), Some("a.test".into()))
        );
        assert_eq!(
            of("10.0.0.1", &[("x-forwarded-proto", "HTTPS")]),
            ("10.0.0.1".into(), Some("https"), None)
        );
        assert_eq!(of("10.0.0.1", &[("x-forwarded-proto", "gopher")]).1, None);
    }

    #[test]
    fn forwarded_is_read_with_its_quotes() {
        let fwd = |text| of("10.0.0.1", &[("forwarded", text)]);
        assert_eq!(
            fwd("For=\"[2001:db8::1]:4711\";Proto=https;host=\"a.test:8443\""),
            ("2001:db8::1".into(), Some("https"), Some("a.test:8443".into()))
        );
        assert_eq!(
            fwd("for=6.6.6.6, for=1.2.3.4;proto=https, for=10.0.0.2;proto=http"),
            ("1.2.3.4".into(), Some("https"), None)
        );
        assert_eq!(fwd("for=_hidden;proto=https"), ("10.0.0.1".into(), Some("https"), None));
        assert_eq!(fwd("for=\"6.6.6.6, for=1.2.3.4").0, "10.0.0.1");
        assert_eq!(fwd("for=\"6.6.6.6, \\\" for=7.7.7.7\", for=1.2.3.4").0, "1.2.3.4");
        assert_eq!(
            address("10.0.0.1", &[("forwarded", "for=6.6.6.6"), ("x-forwarded-for", "1.2.3.4")]),
            "1.2.3.4"
        );
    }

    #[test]
    fn a_proxy_is_a_range_of_addresses() {
        for good in
            ["10.0.0.7", "10.0.0.0/8", "0.0.0.0/0", "::1", "fd00::/8", "::ffff:10.0.0.0/104"]
        {
            assert!(good.parse::<TrustedProxy>().is_ok(), "{good}");
        }
        for bad in ["", " ", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.1:80", "proxy.internal", "*"] {
            let error = bad.parse::<TrustedProxy>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{bad}` names no proxy")), "{error}");
        }
    }
}
