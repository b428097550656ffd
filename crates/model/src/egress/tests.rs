use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

fn closed(policy: &Policy, to: &str) -> Option<Rule> {
    policy.decide(to.parse().unwrap_or_else(|_| panic!("{to} is no address"))).err().map(|r| r.rule)
}

fn allowing(list: &[&str]) -> Policy {
    Policy { allow: list.iter().map(|a| a.parse().expect("opens")).collect(), ..Policy::default() }
}

#[test]
fn what_leads_nowhere_outside_is_closed() {
    let policy = Policy::default();
    for (to, rule) in [
        ("127.0.0.1:80", Rule::Loopback),
        ("127.255.255.255:1", Rule::Loopback),
        ("[::1]:80", Rule::Loopback),
        ("169.254.169.254:80", Rule::LinkLocal),
        ("[fe80::1]:80", Rule::LinkLocal),
        ("[febf::1]:80", Rule::LinkLocal),
        ("10.0.0.1:80", Rule::Private),
        ("172.16.0.1:80", Rule::Private),
        ("172.31.255.255:80", Rule::Private),
        ("192.168.1.1:80", Rule::Private),
        ("[fd00:ec2::254]:80", Rule::Private),
        ("[fec0::1]:80", Rule::Private),
        ("100.64.0.1:80", Rule::SharedByProvider),
        ("100.127.255.255:80", Rule::SharedByProvider),
        ("168.63.129.16:80", Rule::SharedByProvider),
        ("[::ffff:168.63.129.16]:32526", Rule::SharedByProvider),
        ("224.0.0.1:80", Rule::Multicast),
        ("[ff02::1]:80", Rule::Multicast),
        ("0.0.0.0:80", Rule::Unspecified),
        ("0.1.2.3:80", Rule::Unspecified),
        ("[::]:80", Rule::Unspecified),
        ("255.255.255.255:80", Rule::Reserved),
        ("192.0.2.1:80", Rule::Reserved),
        ("198.18.0.1:80", Rule::Reserved),
        // IPv4 in IPv6 clothes.
        ("[::ffff:127.0.0.1]:80", Rule::Loopback),
        ("[::ffff:a9fe:a9fe]:80", Rule::LinkLocal),
        ("[::127.0.0.1]:80", Rule::Loopback),
        ("[::ffff:0:10.0.0.1]:80", Rule::Private),
        ("[64:ff9b::10.0.0.1]:80", Rule::Private),
        ("[64:ff9b:1::8.8.8.8]:80", Rule::Private),
        ("[2002:7f00:1::1]:80", Rule::Loopback),
        ("[2002:808:808::5efe:a00:1]:80", Rule::Private),
        ("[2001:0:808:808::f5ff:fffe]:80", Rule::Private),
        ("[2001:0:a00:1::1:2]:80", Rule::Private),
        ("[2a00::5efe:10.0.0.1]:80", Rule::Private),
        ("[2a00::200:5efe:192.168.0.1]:80", Rule::Private),
        ("8.8.8.8:53", Rule::ForeignResolver),
    ] {
        assert_eq!(closed(&policy, to), Some(rule), "{to}");
    }
    for open in [
        "8.8.8.8:443",
        "1.1.1.1:80",
        "168.63.129.17:80",
        "172.32.0.1:80",
        "100.128.0.1:1",
        "[2606:4700::1111]:443",
        "[::ffff:8.8.8.8]:443",
        "[64:ff9b::8.8.8.8]:443",
    ] {
        assert_eq!(closed(&policy, open), None, "{open}");
    }
}

#[test]
fn the_operator_opens_ranges_ports_and_names() {
    let mut policy =
        allowing(&["10.0.0.0/8:443", "fd00::/8", "192.168.1.7", "db.internal:5432", "[::1]:8080"]);
    policy.named.insert("db.internal".into(), vec!["127.0.0.9".parse().expect("an address")]);
    for open in [
        "10.1.2.3:443",
        "[fd12::1]:9",
        "192.168.1.7:1",
        "127.0.0.9:5432",
        "[::1]:8080",
        "[::ffff:10.1.2.3]:443",
    ] {
        assert_eq!(closed(&policy, open), None, "{open}");
    }
    for shut in [
        "10.1.2.3:80",
        "11.0.0.0:53",
        "192.168.1.8:1",
        "127.0.0.9:5433",
        "[::1]:8081",
        "127.0.0.1:5432",
    ] {
        assert!(closed(&policy, shut).is_some(), "{shut}");
    }
    assert_eq!(policy.names().collect::<Vec<_>>(), ["db.internal"]);
}

#[test]
fn resolvers_are_open_on_their_port_only() {
    let policy = Policy {
        resolvers: vec![
            "127.0.0.53".parse().expect("an address"),
            "9.9.9.9".parse().expect("an address"),
        ],
        ..Policy::default()
    };
    assert_eq!(closed(&policy, "127.0.0.53:53"), None);
    assert_eq!(closed(&policy, "9.9.9.9:53"), None);
    assert_eq!(closed(&policy, "[::ffff:127.0.0.53]:53"), None);
    assert_eq!(closed(&policy, "127.0.0.53:80"), Some(Rule::Loopback));
    assert_eq!(closed(&policy, "127.0.0.54:53"), Some(Rule::Loopback));
    assert_eq!(closed(&policy, "8.8.4.4:53"), Some(Rule::ForeignResolver));
}

#[test]
fn this_machine_and_its_database_are_closed_wherever_they_are() {
    let mut policy = Policy {
        own: vec!["5.6.7.8".parse().expect("an address")],
        database: vec!["5.6.7.9:5432".parse().expect("one")],
        ..Policy::default()
    };
    assert_eq!(closed(&policy, "5.6.7.8:443"), Some(Rule::ThisMachine));
    assert_eq!(closed(&policy, "[::ffff:5.6.7.8]:443"), Some(Rule::ThisMachine));
    assert_eq!(closed(&policy, "5.6.7.9:5432"), Some(Rule::Database));
    assert_eq!(closed(&policy, "5.6.7.9:443"), None);
    policy.allow.push("5.6.7.8:443".parse().expect("opens"));
    assert_eq!(closed(&policy, "5.6.7.8:443"), None);
}

#[test]
fn a_refusal_names_address_rule_and_the_flag_that_opens_it() {
    for (to, shown) in [("[::ffff:127.0.0.1]:80", "127.0.0.1:80"), ("[fd00::1]:80", "[fd00::1]:80")]
    {
        let refusal =
            Policy::default().decide(to.parse().expect("an address")).expect_err("closed");
        let words = refusal.to_string();
        let (_, flag) = words.split_once("--egress-allow ").expect("names the flag");
        assert_eq!(flag, shown);
        assert!(words.contains("EACCES") && words.contains(&refusal.rule.to_string()), "{words}");
        assert_eq!(allowing(&[flag]).decide(to.parse().expect("an address")), Ok(()));
    }
}

#[test]
fn texts_that_open_nothing_are_refused_with_their_cause() {
    for bad in [
        "",
        " ",
        "10.0.0.0/33",
        "10.0.0/8",
        "10.0.0.1:0",
        "10.0.0.1:70000",
        "[fd00::1",
        "fd00::/129",
        "a b",
        "2130706433",
        "0x7f.1",
        "-",
        "db-.internal:5432",
        "http://x",
        "x..y",
        "*",
        "a/8",
        "10.1.2.3/8",
        "10.1.2.3/0",
        "[fd00::1]/8:443",
    ] {
        assert!(bad.parse::<Allow>().is_err(), "{bad:?} opens something");
    }
    let words = "10.1.2.3/8:443".parse::<Allow>().expect_err("two things in one").to_string();
    assert!(
        words.contains("`10.1.2.3` is one address of the range 10.0.0.0/8; write that"),
        "{words}"
    );
    for (text, shown) in [
        ("10.0.0.0/8", "10.0.0.0/8"),
        (" 10.0.0.1 ", "10.0.0.1/32"),
        ("[fd00::]/8:443", "[fd00::/8]:443"),
        ("[fd00::1]", "fd00::1/128"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("Db.Internal.:5432", "db.internal:5432"),
        ("localhost", "localhost"),
        ("0.0.0.0/0", "0.0.0.0/0"),
    ] {
        assert_eq!(text.parse::<Allow>().map(|a| a.to_string()), Ok(shown.to_owned()), "{text}");
    }
}

/// Closed ranges of IPv4, and how many of their bits are given.
const CLOSED: &[([u8; 4], u8)] = &[
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 168, 0, 0], 16),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

proptest! {
    #[test]
    fn what_is_shown_can_be_given_again(v4: u32, v6: u128, four: bool, bits in 0u8..=128, port in proptest::option::of(1u16..)) {
        let address = if four { IpAddr::V4(Ipv4Addr::from(v4)) } else { IpAddr::V6(Ipv6Addr::from(v6)) };
        let bits = if four { bits % 33 } else { bits };
        let address = super::allow::first(address, bits);
        let allow = Allow { to: Target::Net { address, bits }, port };
        let again: Allow = allow.to_string().parse().expect("opens");
        prop_assert_eq!(again.to_string().parse::<Allow>().expect("opens"), again.clone());
        if !matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some()) {
            prop_assert_eq!(again, allow);
        }
    }

    #[test]
    fn no_clothes_open_an_ipv4_address(range in prop::sample::select(CLOSED), rest: u32, port: u16, low: u16, high: u16) {
        let policy = Policy::default();
        let (net, bits) = range;
        let v4 = u32::from(Ipv4Addr::from(net)) | (rest >> bits);
        let plain = Ipv4Addr::from(v4);
        let (a, b) = ((v4 >> 16) as u16, v4 as u16);
        prop_assert!(policy.decide(SocketAddr::new(IpAddr::V4(plain), port)).is_err(), "{plain}");
        for clothed in [
            plain.to_ipv6_mapped(),
            plain.to_ipv6_compatible(),
            Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, a, b),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, a, b),
            Ipv6Addr::new(0x2002, a, b, low, high, 1, 2, 3),
            Ipv6Addr::new(0x2001, 0, 0x808, 0x808, low, high, !a, !b),
            Ipv6Addr::new(0x2a00, low, high, 1, 0x200, 0x5efe, a, b),
        ] {
            prop_assert!(policy.decide(SocketAddr::new(IpAddr::V6(clothed), port)).is_err(), "{clothed}");
        }
    }

    #[test]
    fn a_range_holds_the_addresses_that_begin_like_it(v4: u32, other: u32, bits in 0u8..=32) {
        let allow = Allow { to: Target::Net { address: Ipv4Addr::from(v4).into(), bits }, port: None };
        let mask = if bits == 0 { 0 } else { u32::MAX << (32 - bits) };
        prop_assert_eq!(allow.to.contains(Ipv4Addr::from(other).into()), other & mask == v4 & mask);
    }

    #[test]
    fn texts_of_any_kind_are_no_trouble(text in ".{0,80}") {
        let _ = text.parse::<Allow>();
    }
}
