//! Counts of wrong API keys by client address. A key has 238 bits: it is not guessed, but each
//! guess costs a look-up.
//!
//! Others may share the address, behind a proxy or a gateway: keys that were good before are looked
//! up all the same. Requests of components to this server's API come from its own address, or from
//! that of the proxy before it, which all clients have: they are counted for the component's
//! organization, so that a component locks out nobody else.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use millrace_model::Timestamp;
use millrace_model::ids::OrgId;
use parking_lot::Mutex;

/// The header by which this server tells itself whose component asks. Nobody else can make its
/// value.
pub const ASKED_BY: &str = "x-millrace-asked-by";
/// Wrong keys of one address in a minute; then it waits.
const WRONG_MAX: u32 = 300;
/// The span in which they are counted.
const SPAN_MS: i64 = 60_000;
/// Addresses, and keys that were good, which are remembered. What is forgotten counts from new.
const REMEMBERED_MAX: usize = 20_000;

/// Who shows a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Asker {
    /// A client, by its address.
    Address(IpAddr),
    /// A component of an organization.
    Organization(OrgId),
}

impl Asker {
    /// What is counted as one. One who has an address of IPv6 has 2^64 of them.
    pub(crate) fn whole(&self) -> Self {
        match self {
            Self::Address(address) => Self::Address(match address.to_canonical() {
                IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & (!0 << 64)).into(),
                v4 => v4,
            }),
            Self::Organization(_) => self.clone(),
        }
    }
}

impl fmt::Display for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Organization(org) => write!(f, "components of {org}"),
        }
    }
}

/// Who sent wrong keys lately.
#[derive(Default)]
pub(crate) struct WrongKeys {
    /// Since when, and how many.
    wrong: Mutex<HashMap<Asker, (Timestamp, u32)>>,
    /// Hashes of keys that were good when they were last looked up.
    good: Mutex<HashSet<String>>,
}

impl WrongKeys {
    /// How long one has to wait until another key of theirs is looked up; None: not at all, or this
    /// key was good before.
    pub(crate) fn wait(&self, from: &Asker, hash: &str, now: Timestamp) -> Option<Duration> {
        let (since, count) = *self.wrong.lock().get(&from.whole())?;
        let left = since.ms() + SPAN_MS - now.ms();
        if count < WRONG_MAX || !(1..=SPAN_MS).contains(&left) || self.good.lock().contains(hash) {
            return None;
        }
        Some(Duration::from_millis(left.unsigned_abs()))
    }

    /// Counts a wrong key.
    pub(crate) fn count(&self, from: &Asker, now: Timestamp) {
        let mut wrong = self.wrong.lock();
        if wrong.len() >= REMEMBERED_MAX {
            wrong.retain(|_, (since, _)| (0..SPAN_MS).contains(&(now.ms() - since.ms())));
            if wrong.len() >= REMEMBERED_MAX {
                wrong.clear();
            }
        }
        let entry = wrong.entry(from.whole()).or_insert((now, 0));
        if !(0..SPAN_MS).contains(&(now.ms() - entry.0.ms())) {
            *entry = (now, 0);
        }
        entry.1 = entry.1.saturating_add(1);
        if entry.1 == WRONG_MAX {
            tracing::warn!(%from, "many wrong API keys come from one place; for a minute no unknown key of theirs is looked up");
        }
    }

    pub(crate) fn was_good(&self, hash: &str) {
        let mut good = self.good.lock();
        if good.len() >= REMEMBERED_MAX {
            good.clear();
        }
        good.insert(hash.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> Asker {
        Asker::Address(text.parse().expect("an address"))
    }

    #[test]
    fn an_address_waits_after_too_many_and_no_other_does() {
        let keys = WrongKeys::default();
        keys.was_good("good");
        for n in 0..WRONG_MAX {
            assert_eq!(keys.wait(&ip("10.0.0.1"), "x", Timestamp(0)), None, "{n}");
            keys.count(&ip("::ffff:10.0.0.1"), Timestamp(0));
        }
        assert_eq!(
            keys.wait(&ip("10.0.0.1"), "x", Timestamp(1_000)),
            Some(Duration::from_secs(59))
        );
        assert_eq!(
            keys.wait(&ip("10.0.0.1"), "good", Timestamp(1_000)),
            None,
            "who shares the address goes on"
        );
        assert_eq!(keys.wait(&ip("10.0.0.2"), "x", Timestamp(1_000)), None);
        assert_eq!(keys.wait(&ip("10.0.0.1"), "x", Timestamp(SPAN_MS)), None);
        assert_eq!(
            keys.wait(&ip("10.0.0.1"), "x", Timestamp(-SPAN_MS)),
            None,
            "a clock that was set back locks nobody out for long"
        );
        keys.count(&ip("10.0.0.1"), Timestamp(SPAN_MS));
        assert_eq!(
            keys.wait(&ip("10.0.0.1"), "x", Timestamp(SPAN_MS + 1)),
            None,
            "it counts from new"
        );
    }

    #[test]
    fn components_are_counted_for_their_organization_alone() {
        let (keys, of) = (WrongKeys::default(), |org: &str| {
            Asker::Organization(OrgId::from_row(org.to_owned()))
        });
        for _ in 0..WRONG_MAX {
            keys.count(&of("o_a"), Timestamp(0));
        }
        assert!(keys.wait(&of("o_a"), "x", Timestamp(0)).is_some());
        assert_eq!(
            (
                keys.wait(&of("o_b"), "x", Timestamp(0)),
                keys.wait(&ip("127.0.0.1"), "x", Timestamp(0))
            ),
            (None, None)
        );
    }

    #[test]
    fn a_network_of_ipv6_is_one_address_and_the_memory_is_bounded() {
        let keys = WrongKeys::default();
        for n in 0..WRONG_MAX {
            keys.count(&ip(&format!("2001:db8::{n:x}")), Timestamp(0));
        }
        assert!(
            keys.wait(&ip("2001:db8::ffff"), "x", Timestamp(0)).is_some()
                && keys.wait(&ip("2001:db8:0:1::1"), "x", Timestamp(0)).is_none()
        );
        for n in 0..2 * REMEMBERED_MAX as u32 {
            keys.count(&Asker::Address(n.to_be_bytes().into()), Timestamp(0));
            keys.was_good(&n.to_string());
        }
        assert!(
            keys.wrong.lock().len() <= REMEMBERED_MAX && keys.good.lock().len() <= REMEMBERED_MAX
        );
    }
}
