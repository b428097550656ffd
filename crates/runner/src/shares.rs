//! CPU accounting of organizations. While CPU is short, an organization that uses more than its
//! share is throttled: its hosts leave a CPU to the others, and get long time slices. None of them
//! need be a CPU hog: thirty hosts that each use a little take as much as one busy loop.

use std::collections::HashMap;
use std::ops::{Add, Sub};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Between two looks one that takes less than this keeps nobody from anything.
const MUCH: Duration = Duration::from_millis(250);
/// For how long others leave room for an organization after one of its calls.
const AT_WORK: Duration = Duration::from_secs(10);
/// How long one keeps back that took more than its share: what it takes while it does says little
/// of what it would.
const KEEPS_BACK: Duration = Duration::from_secs(5);

/// What there was of the processors for some process between two looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// How long it had one.
    pub used: Duration,
    /// How long it waited for one.
    pub waited: Duration,
}

impl Add for Taken {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { used: self.used + other.used, waited: self.waited + other.waited }
    }
}

impl Sub for Taken {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            used: self.used.saturating_sub(other.used),
            waited: self.waited.saturating_sub(other.waited),
        }
    }
}

/// What all organizations with hosts take.
#[derive(Default)]
pub(crate) struct Shares(Mutex<HashMap<String, Share>>);

#[derive(Default)]
struct Share {
    hosts: usize,
    taken: Taken,
    worked: Option<Instant>,
    /// When it last took more than its share.
    exceeded: Option<Instant>,
}

impl Share {
    fn keeps_back(&self, now: Instant) -> bool {
        self.exceeded.is_some_and(|at| now.duration_since(at) < KEEPS_BACK)
    }
}

/// A host's part of what its organization takes, until it is dropped.
pub(crate) struct Part {
    shares: Arc<Shares>,
    organization: String,
    taken: Taken,
}

impl Shares {
    pub(crate) fn part(self: &Arc<Self>, organization: &str) -> Part {
        self.0.lock().entry(organization.to_owned()).or_default().hosts += 1;
        Part {
            shares: self.clone(),
            organization: organization.to_owned(),
            taken: Taken::default(),
        }
    }
}

impl Part {
    /// Whether its organization keeps back.
    pub(crate) fn keeps_back(&self, now: Instant) -> bool {
        self.shares.0.lock().get(&self.organization).is_some_and(|own| own.keeps_back(now))
    }

    /// Tells what the host took since the last look, and whether it had calls; gives whether its
    /// organization is to keep back.
    pub(crate) fn look(&mut self, taken: Taken, has_worked: bool, now: Instant) -> bool {
        let mut shares = self.shares.0.lock();
        let Some(own) = shares.get_mut(&self.organization) else { return false };
        own.taken = own.taken - self.taken + taken;
        self.taken = taken;
        if has_worked {
            own.worked = Some(now);
        }
        let used = own.taken.used;
        let all = shares.values().fold(Taken::default(), |all, share| all + share.taken);
        let at_work = shares
            .values()
            .filter(|share| share.worked.is_some_and(|at| now.duration_since(at) < AT_WORK))
            .count();
        let is_short = all.waited >= all.used / 2;
        let exceeds = is_short
            && at_work > 1
            && used >= MUCH
            && used > all.used / u32::try_from(at_work).unwrap_or(u32::MAX);
        let Some(own) = shares.get_mut(&self.organization) else { return false };
        if exceeds {
            own.exceeded = Some(now);
        }
        own.keeps_back(now)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let mut shares = self.shares.0.lock();
        if let Some(own) = shares.get_mut(&self.organization) {
            (own.hosts, own.taken) = (own.hosts - 1, own.taken - self.taken);
            if own.hosts == 0 {
                shares.remove(&self.organization);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(used: u64, waited: u64) -> Taken {
        Taken { used: Duration::from_millis(used), waited: Duration::from_millis(waited) }
    }

    #[test]
    fn who_takes_more_than_its_share_keeps_back_where_there_is_not_enough() {
        let (shares, mut now) = (Arc::new(Shares::default()), Instant::now());
        let (mut one, mut another, mut other) =
            (shares.part("a"), shares.part("a"), shares.part("b"));
        assert!(!one.look(took(900, 900), true, now), "nobody else is at work");
        assert!(!other.look(took(20, 20), true, now), "it takes little");
        assert!(!one.look(took(900, 100), true, now), "there is enough");
        assert!(!one.look(took(200, 900), true, now), "it takes little by itself");
        assert!(another.look(took(200, 900), true, now), "together they take much");
        assert!(
            one.keeps_back(now) && shares.part("a").keeps_back(now) && !other.keeps_back(now),
            "as all of its hosts"
        );
        drop(another);
        assert!(one.look(took(200, 900), true, now), "for a while");
        now += KEEPS_BACK;
        assert!(!one.look(took(200, 900), true, now), "no longer");
        other.look(took(400, 0), true, now);
        assert!(!one.look(took(300, 900), true, now), "the other takes more");
        other.look(took(200, 0), true, now);
        assert!(one.look(took(300, 900), true, now));
        now += AT_WORK;
        assert!(!one.look(took(300, 900), true, now), "nobody else has worked for long");
        drop((one, other));
        assert!(shares.0.lock().is_empty());
    }
}
