//! How an engine's writes fare, as seen by whoever commits them. Time here is the machine's own count, which no change of its clock moves.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{StoreError, StoreResult};

/// A commit that takes longer waits for a disk that is not well.
const SLOW: Duration = Duration::from_secs(1);
/// How long a slow commit that ended is told of.
const REMEMBER: Duration = Duration::from_secs(10);

/// How writes fare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// They are committed in good time.
    Good,
    /// A commit takes, or took a moment ago, so long.
    Slow(Duration),
    /// The last one failed: the disk is full.
    Full,
    /// The last one failed.
    Failing,
}

/// Keeps count of commits under way.
#[derive(Debug, Default)]
pub struct Pulse(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    under_way: BTreeMap<u64, Instant>,
    /// When a commit was slow last, and how slow.
    slow: Option<(Instant, Duration)>,
    failed: Option<Condition>,
}

/// A commit under way; forgotten where it is dropped without an end.
#[derive(Debug)]
pub struct Beat<'a> {
    pulse: &'a Pulse,
    id: u64,
}

impl Pulse {
    /// A commit begins.
    pub fn begin(&self) -> Beat<'_> {
        let mut state = self.state();
        let id = state.next;
        state.next += 1;
        state.under_way.insert(id, Instant::now());
        Beat { pulse: self, id }
    }

    /// How writes fare now.
    pub fn condition(&self) -> Condition {
        let state = self.state();
        if let Some(failed) = state.failed {
            return failed;
        }
        let oldest = state.under_way.first_key_value().map(|(_, began)| began.elapsed());
        let last = state.slow.filter(|(ended, _)| ended.elapsed() < REMEMBER).map(|(_, took)| took);
        oldest.filter(|age| *age >= SLOW).max(last).map_or(Condition::Good, Condition::Slow)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Beat<'_> {
    /// The commit ended. What the product refuses is no failure of the database.
    pub fn end<T>(self, result: &StoreResult<T>) {
        let mut state = self.pulse.state();
        if let Some(took) = state.under_way.get(&self.id).map(Instant::elapsed).filter(|took| *took >= SLOW) {
            state.slow = Some((Instant::now(), took));
        }
        let failed = match result {
            Err(StoreError::StorageFull) => Some(Condition::Full),
            Err(StoreError::Database(_) | StoreError::Unavailable(_) | StoreError::Damaged { .. }) => Some(Condition::Failing),
            _ => None,
        };
        match (state.failed, failed) {
            (None, Some(Condition::Full)) => tracing::error!("the disk of the database is full: nothing is accepted until there is room"),
            (None, Some(_)) => tracing::error!("the database does not take writes"),
            (Some(_), None) => tracing::info!("the database takes writes again"),
            _ => {}
        }
        state.failed = failed;
    }
}

impl Drop for Beat<'_> {
    fn drop(&mut self) {
        self.pulse.state().under_way.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_until_a_write_succeeds() {
        let pulse = Pulse::default();
        assert_eq!(pulse.condition(), Condition::Good);
        pulse.begin().end::<()>(&Err(StoreError::StorageFull));
        assert_eq!(pulse.condition(), Condition::Full);
        pulse.begin().end::<()>(&Err(StoreError::Unavailable("gone".into())));
        assert_eq!(pulse.condition(), Condition::Failing);
        drop(pulse.begin());
        assert_eq!(pulse.condition(), Condition::Failing);
        pulse.begin().end::<()>(&Err(StoreError::Fenced));
        assert_eq!(pulse.condition(), Condition::Good);
    }

    #[test]
    fn a_slow_commit_is_told_while_it_lasts_and_a_while_after() {
        let pulse = Pulse::default();
        let beat = pulse.begin();
        assert_eq!(pulse.condition(), Condition::Good);
        let Some(earlier) = Instant::now().checked_sub(2 * SLOW) else { return };
        pulse.state().under_way.insert(beat.id, earlier);
        assert!(matches!(pulse.condition(), Condition::Slow(took) if took >= 2 * SLOW));
        beat.end(&Ok(()));
        assert!(matches!(pulse.condition(), Condition::Slow(took) if took >= 2 * SLOW));
        pulse.state().slow = Instant::now().checked_sub(REMEMBER).map(|ended| (ended, SLOW));
        assert_eq!(pulse.condition(), Condition::Good);
    }
}
