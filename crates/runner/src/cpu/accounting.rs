//! CPU accounting of organizations. While CPU is short, an organization that uses more than its
//! share is throttled: its hosts leave a CPU to the others, and get long time slices. None of them
//! need be a hog: thirty hosts that each use a little use as much as one busy loop.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::CpuTime;

/// An organization that uses less than this between two samples is not throttled.
const THROTTLED_FROM: Duration = Duration::from_millis(250);
/// For how long after one of its calls an organization has a share that others leave to it.
const ACTIVE: Duration = Duration::from_secs(10);
/// How long an organization is throttled that used more than its share: what it uses meanwhile says
/// little of what it would use.
const THROTTLED: Duration = Duration::from_secs(5);

/// What all organizations with hosts use.
#[derive(Default)]
pub(crate) struct CpuAccounting(Mutex<HashMap<String, Account>>);

#[derive(Default)]
struct Account {
    hosts: usize,
    time: CpuTime,
    worked: Option<Instant>,
    /// When it last used more than its share.
    exceeded: Option<Instant>,
}

impl Account {
    fn is_throttled(&self, now: Instant) -> bool {
        self.exceeded.is_some_and(|at| now.duration_since(at) < THROTTLED)
    }
}

/// A host's part of what its organization uses, until it is dropped.
pub(crate) struct HostAccount {
    accounting: Arc<CpuAccounting>,
    organization: String,
    time: CpuTime,
}

impl CpuAccounting {
    pub(crate) fn of_host(self: &Arc<Self>, organization: &str) -> HostAccount {
        self.0.lock().entry(organization.to_owned()).or_default().hosts += 1;
        HostAccount {
            accounting: self.clone(),
            organization: organization.to_owned(),
            time: CpuTime::default(),
        }
    }
}

impl HostAccount {
    /// Whether its organization is throttled.
    pub(crate) fn is_throttled(&self, now: Instant) -> bool {
        let accounts = self.accounting.0.lock();
        accounts.get(&self.organization).is_some_and(|own| own.is_throttled(now))
    }

    /// Records what the host used since the last sample, and whether it had calls; gives whether
    /// its organization is throttled from now on.
    pub(crate) fn record(&mut self, time: CpuTime, has_worked: bool, now: Instant) -> bool {
        let mut accounts = self.accounting.0.lock();
        let Some(own) = accounts.get_mut(&self.organization) else { return false };
        own.time = own.time - self.time + time;
        self.time = time;
        if has_worked {
            own.worked = Some(now);
        }
        let used = own.time.used;
        let all = accounts.values().fold(CpuTime::default(), |all, account| all + account.time);
        let active = accounts
            .values()
            .filter(|account| account.worked.is_some_and(|at| now.duration_since(at) < ACTIVE))
            .count();
        let is_short = all.waited >= all.used / 2;
        let exceeds = is_short
            && active > 1
            && used >= THROTTLED_FROM
            && used > all.used / u32::try_from(active).unwrap_or(u32::MAX);
        let Some(own) = accounts.get_mut(&self.organization) else { return false };
        if exceeds {
            own.exceeded = Some(now);
        }
        own.is_throttled(now)
    }
}

impl Drop for HostAccount {
    fn drop(&mut self) {
        let mut accounts = self.accounting.0.lock();
        if let Some(own) = accounts.get_mut(&self.organization) {
            (own.hosts, own.time) = (own.hosts - 1, own.time - self.time);
            if own.hosts == 0 {
                accounts.remove(&self.organization);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(used: u64, waited: u64) -> CpuTime {
        CpuTime { used: Duration::from_millis(used), waited: Duration::from_millis(waited) }
    }

    #[test]
    fn an_organization_that_uses_more_than_its_share_is_throttled_while_cpu_is_short() {
        let (accounting, mut now) = (Arc::new(CpuAccounting::default()), Instant::now());
        let (mut one, mut another, mut other) =
            (accounting.of_host("a"), accounting.of_host("a"), accounting.of_host("b"));
        assert!(!one.record(time(900, 900), true, now), "nobody else is active");
        assert!(!other.record(time(20, 20), true, now), "it uses little");
        assert!(!one.record(time(900, 100), true, now), "there is enough");
        assert!(!one.record(time(200, 900), true, now), "it uses little by itself");
        assert!(another.record(time(200, 900), true, now), "together they use much");
        assert!(
            one.is_throttled(now)
                && accounting.of_host("a").is_throttled(now)
                && !other.is_throttled(now),
            "as all of its hosts"
        );
        drop(another);
        assert!(one.record(time(200, 900), true, now), "for a while");
        now += THROTTLED;
        assert!(!one.record(time(200, 900), true, now), "no longer");
        other.record(time(400, 0), true, now);
        assert!(!one.record(time(300, 900), true, now), "the other uses more");
        other.record(time(200, 0), true, now);
        assert!(one.record(time(300, 900), true, now));
        now += ACTIVE;
        assert!(!one.record(time(300, 900), true, now), "nobody else has worked for long");
        drop((one, other));
        assert!(accounting.0.lock().is_empty());
    }
}
