//! Limiter of owners' quotas under CPU pressure (adaptive concurrency limit): additive increase,
//! multiplicative decrease, and only while several owners are active.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::Key;
use crate::policy::Adaptive;

/// Whether threads get the CPU time that they want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressure {
    /// They wait too long: quotas of those with more than their share shrink.
    High,
    /// In between: quotas of those with more than their share stay as they are.
    Moderate,
    /// They do not wait: quotas grow back.
    Low,
}

/// Limits of owners, and the completions that they are derived from.
pub(crate) struct Limiter<O> {
    policy: Adaptive,
    completed: HashMap<O, Completed>,
    /// Owners that may hold fewer permits than their quota.
    limits: HashMap<O, usize>,
}

/// Completions of one owner.
struct Completed {
    latest: Instant,
    /// Since the last adjustment.
    count: u64,
}

/// What an active owner holds, waits for, and completed since the last adjustment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    pub(crate) held: usize,
    pub(crate) waiting: usize,
    pub(crate) completed: u64,
}

impl<O: Key> Limiter<O> {
    pub(crate) fn new(policy: Adaptive) -> Self {
        Self { policy, completed: HashMap::new(), limits: HashMap::new() }
    }

    /// The limit of an owner, where it has one below its quota.
    pub(crate) fn limit(&self, owner: &O) -> Option<usize> {
        self.limits.get(owner).copied()
    }

    /// An owner released a permit.
    pub(crate) fn completed(&mut self, owner: &O, now: Instant) {
        match self.completed.get_mut(owner) {
            Some(completed) => {
                (completed.latest, completed.count) = (now, completed.count + 1);
            }
            None => _ = self.completed.insert(owner.clone(), Completed { latest: now, count: 1 }),
        }
    }

    /// Adjusts the limits. `busy`: owners that hold or wait for permits, with how many. `quota`:
    /// what an owner may hold without a limit.
    pub(crate) fn adjust<'a>(
        &mut self,
        busy: impl Iterator<Item = (&'a O, usize, usize)>,
        quota: usize,
        pressure: Pressure,
        now: Instant,
    ) where
        O: 'a,
    {
        let mut active = self.take_completed(now);
        for (owner, held, waiting) in busy {
            let activity = active.entry(owner.clone()).or_default();
            (activity.held, activity.waiting) = (held, waiting);
        }
        self.adjust_to(&active, quota, pressure);
    }

    /// The owners with completions lately; counts anew.
    fn take_completed(&mut self, now: Instant) -> HashMap<O, Activity> {
        let mut active = HashMap::new();
        let lately: Duration = self.policy.active;
        self.completed.retain(|owner, completed| {
            let count = std::mem::take(&mut completed.count);
            let is_active = now.duration_since(completed.latest) < lately;
            if is_active {
                active.insert(owner.clone(), Activity { completed: count, ..Activity::default() });
            }
            is_active
        });
        active
    }

    fn adjust_to(&mut self, active: &HashMap<O, Activity>, quota: usize, pressure: Pressure) {
        if active.len() < 2 {
            self.limits.clear();
            return;
        }
        let all: u64 = active.values().map(|activity| activity.completed).sum();
        let share = all / active.len() as u64;
        self.limits.retain(|owner, _| active.contains_key(owner));
        for (owner, activity) in active {
            let limit = self.limits.get(owner).copied();
            let now = limit.unwrap_or(quota);
            let next = match pressure {
                // Below what it holds, which may be less than its limit.
                Pressure::High if activity.waiting > 0 && activity.completed > share => {
                    (now.min(activity.held) * 4 / 5).max(quota.div_ceil(self.policy.floor))
                }
                Pressure::High | Pressure::Moderate if activity.completed >= share => now,
                _ => now + now / 8 + 1,
            };
            if next >= quota {
                self.limits.remove(owner);
            } else if limit != Some(next) {
                self.limits.insert(owner.clone(), next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACTIVE: Duration = Duration::from_secs(10);

    fn limiter() -> Limiter<&'static str> {
        Limiter::new(Adaptive { floor: 8, active: ACTIVE })
    }

    fn activity(of: &[(&'static str, usize, usize, u64)]) -> HashMap<&'static str, Activity> {
        of.iter()
            .map(|(owner, held, waiting, completed)| {
                (*owner, Activity { held: *held, waiting: *waiting, completed: *completed })
            })
            .collect()
    }

    #[test]
    fn an_owner_with_more_than_its_share_is_limited_while_cpu_is_short() {
        let mut limiter = limiter();
        let flood = |held, count| activity(&[("flood", held, 1000, count), ("other", 1, 0, 20)]);
        limiter.adjust_to(&activity(&[("flood", 128, 1000, 300)]), 128, Pressure::High);
        assert!(limiter.limits.is_empty(), "it is alone");
        limiter.adjust_to(&flood(128, 300), 128, Pressure::Low);
        assert!(limiter.limits.is_empty(), "there is enough");
        let mut held = 128;
        for expected in [102, 81, 64] {
            limiter.adjust_to(&flood(held, 300), 128, Pressure::High);
            held = limiter.limits["flood"];
            assert_eq!((held, limiter.limits.len()), (expected, 1));
        }
        limiter.adjust_to(&flood(64, 300), 128, Pressure::Moderate);
        assert_eq!(limiter.limits["flood"], 64);
        limiter.adjust_to(&flood(64, 15), 128, Pressure::High);
        assert_eq!(limiter.limits["flood"], 73, "the other has more");
        for _ in 0..8 {
            limiter.adjust_to(&flood(64, 300), 128, Pressure::Low);
        }
        assert!(limiter.limits.is_empty(), "nothing is left of it");
    }

    #[test]
    fn an_owner_below_its_share_is_not_limited_and_none_falls_below_the_floor() {
        let mut limiter = limiter();
        for _ in 0..40 {
            let flood = limiter.limits.get("flood").copied().unwrap_or(128);
            let active =
                activity(&[("flood", flood, 9, 400), ("slow", 100, 5, 2), ("small", 1, 0, 20)]);
            limiter.adjust_to(&active, 128, Pressure::High);
        }
        assert_eq!((limiter.limits.len(), limiter.limits["flood"]), (1, 16), "an eighth");
    }

    #[test]
    fn an_owner_is_active_for_a_while_after_a_completion() {
        let (mut limiter, start) = (limiter(), Instant::now());
        limiter.completed(&"one", start);
        limiter.completed(&"one", start);
        limiter.completed(&"two", start + ACTIVE / 2);
        let active = limiter.take_completed(start + ACTIVE / 2);
        assert_eq!((active["one"].completed, active["two"].completed), (2, 1));
        let active = limiter.take_completed(start + ACTIVE);
        assert_eq!((active.len(), active["two"].completed), (1, 0), "it is counted once");
    }
}
