//! Ranges of addresses that are not public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Rule;

/// An IPv4 address that is written as an IPv6 one (`::ffff:a.b.c.d`) as what the kernel sends to.
pub fn canonical(ip: IpAddr) -> IpAddr {
    ip.to_canonical()
}

/// The rule that closes an address whatever machine this is.
pub(super) fn rule(ip: IpAddr) -> Option<Rule> {
    match canonical(ip) {
        IpAddr::V4(ip) => rule_v4(ip),
        IpAddr::V6(ip) => {
            rule_v6(ip).or_else(|| embedded(ip).into_iter().flatten().find_map(rule_v4))
        }
    }
}

fn rule_v4(ip: Ipv4Addr) -> Option<Rule> {
    Some(match ip.octets() {
        [0, ..] => Rule::Unspecified,
        [127, ..] => Rule::Loopback,
        [169, 254, ..] => Rule::LinkLocal,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Rule::Private,
        // The second is Azure's service for the agents of its machines, the same in all networks.
        [100, 64..=127, ..] | [168, 63, 129, 16] => Rule::SharedByProvider,
        [224..=239, ..] => Rule::Multicast,
        // Protocols' own, documentation, measurements, the relays of 6to4, the future and
        // broadcast.
        [192, 0, 0, _]
        | [192, 0, 2, _]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [198, 18 | 19, ..]
        | [192, 88, 99, _]
        | [240..=255, ..] => Rule::Reserved,
        _ => return None,
    })
}

fn rule_v6(ip: Ipv6Addr) -> Option<Rule> {
    Some(match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Rule::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Rule::Loopback,
        [0xfe80..=0xfebf, ..] => Rule::LinkLocal,
        // Unique local, and the older site-local.
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Rule::Private,
        [0xff00..=0xffff, ..] => Rule::Multicast,
        // A translator of this network's own: what is behind it is not known here.
        [0x64, 0xff9b, 1, ..] => Rule::Private,
        // Discarded, documentation, benchmarks, identifiers that are no addresses.
        [0x100, 0, 0, ..]
        | [0x2001, 0xdb8, ..]
        | [0x3fff, 0..=0xfff, ..]
        | [0x2001, 2, 0, ..]
        | [0x2001, 0x10..=0x2f, ..]
        | [0x5f00, ..] => Rule::Reserved,
        _ => return None,
    })
}

/// IPv4 addresses inside an IPv6 one, to which a translator or a tunnel on the way would lead.
fn embedded(ip: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let v4 = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match ip.segments() {
        // Compatible (`::a.b.c.d`), mapped, and translated by SIIT.
        [0, 0, 0, 0, 0, 0 | 0xffff, a, b] | [0, 0, 0, 0, 0xffff, 0, a, b] => [v4(a, b), None],
        // NAT64.
        [0x64, 0xff9b, 0, 0, 0, 0, a, b] => [v4(a, b), None],
        // 6to4.
        [0x2002, a, b, _, _, _, c, d] => [v4(a, b), isatap(ip).and(v4(c, d))],
        // Teredo: the server, and the client with its bits turned.
        [0x2001, 0, a, b, _, _, c, d] => [v4(a, b), v4(!c, !d)],
        _ => [isatap(ip), None],
    }
}

/// ISATAP: an interface whose identifier holds an IPv4 address.
fn isatap(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    match ip.segments() {
        [_, _, _, _, 0 | 0x200, 0x5efe, a, b] => {
            Some(Ipv4Addr::from((u32::from(a) << 16) | u32::from(b)))
        }
        _ => None,
    }
}
