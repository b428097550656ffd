//! Addresses that the operator opens: `CIDR[:PORT]` or `name[:PORT]`.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::canonical;

/// One thing that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Allow {
    /// Addresses.
    pub to: Target,
    /// None: all ports.
    pub port: Option<u16>,
}

/// Addresses by range or by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The addresses that have the first `bits` bits of `address`; 32 of 32 (or 128 of 128): it
    /// alone.
    Net {
        /// An address of the range.
        address: IpAddr,
        /// How many bits count.
        bits: u8,
    },
    /// What a name leads to, looked up by the server. In small letters.
    Name(String),
}

/// A text that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` opens nothing: {why}; expected is a range of addresses or a name, with or without a port, such as 10.0.0.0/8, 10.1.2.3:443, [fd00::/8]:443 or db.internal:5432"
)]
pub struct BadAllow {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub why: Cow<'static, str>,
}

impl Target {
    /// Whether an address is in the range. A name contains none by itself.
    pub fn contains(&self, ip: IpAddr) -> bool {
        let Self::Net { address, bits } = self else { return false };
        match (address, canonical(ip)) {
            (IpAddr::V4(net), IpAddr::V4(ip)) => {
                equal(u128::from(net.to_bits()), u128::from(ip.to_bits()), *bits, 32)
            }
            (IpAddr::V6(net), IpAddr::V6(ip)) => equal(net.to_bits(), ip.to_bits(), *bits, 128),
            _ => false,
        }
    }
}

fn equal(a: u128, b: u128, bits: u8, width: u8) -> bool {
    // Of no bits all are equal; to shift by the whole width would not do.
    bits == 0 || (a ^ b) >> (width - bits) == 0
}

impl FromStr for Allow {
    type Err = BadAllow;

    fn from_str(text: &str) -> Result<Self, BadAllow> {
        let refused = |why| BadAllow { text: text.chars().take(200).collect(), why };
        let bad = |why: &'static str| refused(Cow::from(why));
        let port_of = |port: &str| {
            port.parse()
                .ok()
                .filter(|p| *p != 0)
                .ok_or_else(|| bad("the port is no number from 1 to 65535"))
        };
        let trimmed = text.trim();
        let (host, port) = if let Some(rest) = trimmed.strip_prefix('[') {
            let (inner, after) =
                rest.split_once(']').ok_or_else(|| bad("the bracket is not closed"))?;
            // `[fd00::]/8:443` as well as `[fd00::/8]:443`.
            let (bits, port) = match after.split_once(':') {
                Some((bits, port)) => (bits, Some(port_of(port)?)),
                None => (after, None),
            };
            (format!("{inner}{bits}"), port)
        } else if trimmed.matches(':').count() == 1 {
            let (host, port) = trimmed.split_once(':').unwrap_or((trimmed, ""));
            (host.to_owned(), Some(port_of(port)?))
        } else {
            (trimmed.to_owned(), None)
        };
        let (address, bits) = match host.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (host.as_str(), None),
        };
        let Ok(address) = address.parse::<IpAddr>() else {
            if bits.is_some() || host.contains(':') {
                return Err(bad("that is no range of addresses"));
            }
            return Ok(Self {
                to: Target::Name(
                    name(&host).ok_or_else(|| bad("that is neither an address nor a name"))?,
                ),
                port,
            });
        };
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits
                .parse()
                .ok()
                .filter(|b| *b <= width)
                .ok_or_else(|| bad("the number after `/` is no count of bits"))?,
            None => width,
        };
        let first = first(address, bits);
        if first != address {
            // Who wrote it may have meant either.
            return Err(refused(
                format!("`{address}` is one address of the range {first}/{bits}; write that for the whole range, or the address alone").into(),
            ));
        }
        Ok(Self { to: net(address, bits), port })
    }
}

/// The first address of the range that an address is in.
pub(super) fn first(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => Ipv4Addr::from_bits(
            v4.to_bits() & u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0),
        )
        .into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(
            v6.to_bits() & u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0),
        )
        .into(),
    }
}

/// Ranges of mapped addresses are ranges of IPv4: that is how they are compared.
fn net(address: IpAddr, bits: u8) -> Target {
    const MAPPED: Ipv6Addr = Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0);
    match address {
        IpAddr::V6(v6) if bits >= 96 && (v6.to_bits() ^ MAPPED.to_bits()) >> 32 == 0 => {
            Target::Net { address: v6.to_canonical(), bits: bits - 96 }
        }
        address => Target::Net { address, bits },
    }
}

/// A name of a machine. Numbers in other forms (`0x7f.1`, `2130706433`) are no names: resolvers
/// take them for addresses.
fn name(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let label = |l: &str| {
        (1..=63).contains(&l.len())
            && !l.starts_with('-')
            && !l.ends_with('-')
            && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let last_is_number = name
        .rsplit('.')
        .next()
        .is_some_and(|l| l.bytes().next().is_some_and(|b| b.is_ascii_digit()));
    (name.len() <= 253 && name.split('.').all(label) && !last_is_number).then_some(name)
}

impl fmt::Display for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.to, self.port) {
            (Target::Name(name), None) => f.write_str(name),
            (Target::Name(name), Some(port)) => write!(f, "{name}:{port}"),
            (Target::Net { address, bits }, None) => write!(f, "{address}/{bits}"),
            (Target::Net { address: IpAddr::V4(v4), bits }, Some(port)) => {
                write!(f, "{v4}/{bits}:{port}")
            }
            (Target::Net { address: IpAddr::V6(v6), bits }, Some(port)) => {
                write!(f, "[{v6}/{bits}]:{port}")
            }
        }
    }
}

impl TryFrom<String> for Allow {
    type Error = BadAllow;

    fn try_from(text: String) -> Result<Self, BadAllow> {
        text.parse()
    }
}

impl From<Allow> for String {
    fn from(allow: Allow) -> Self {
        allow.to_string()
    }
}
