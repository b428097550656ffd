//! Commit health of an engine: durations and results of commits. Times are monotonic, which no
//! change of the machine's clock affects.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use millrace_model::error_chain;

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
    /// A commit takes so long, and has not ended.
    Waiting(Duration),
    /// A commit took so long a moment ago.
    Slow(Duration),
    /// The last one failed, or one did since room was found: the disk is full.
    Full,
    /// The last one failed.
    Failing,
    /// They are committed in good time, but something was read that is not as it was written.
    Damaged,
}

/// Keeps count of commits under way.
#[derive(Debug, Default)]
pub struct CommitHealth {
    state: Mutex<State>,
    /// Whether small writes fit into room that the files have already, also on a full disk.
    has_slack: bool,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    under_way: BTreeMap<u64, Instant>,
    /// When a commit was slow last, and how slow.
    slow: Option<(Instant, Duration)>,
    failed: Option<Condition>,
    damaged: bool,
}

/// A commit under way; forgotten where it is dropped without an end.
#[derive(Debug)]
pub struct CommitUnderWay<'a> {
    health: &'a CommitHealth,
    id: u64,
}

impl CommitHealth {
    /// Of a database whose small writes fit into room that its files have already, while new rows
    /// are refused: a disk that was full is taken to be so until [`CommitHealth::found_room`],
    /// whatever is committed meanwhile.
    pub fn with_slack() -> Self {
        Self { has_slack: true, ..Self::default() }
    }

    /// A look showed that there is room.
    pub fn found_room(&self) {
        let mut state = self.state();
        if state.failed == Some(Condition::Full) {
            state.failed = None;
            tracing::info!("the database takes writes again");
        }
    }

    /// Something was read that is not as it was written: told until the server ends, for what else
    /// is read well says nothing of it.
    pub fn found_damage(&self) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.damaged, true) {
            tracing::error!(
                "the database is damaged: what is whole goes on; `millrace doctor` looks through all of it, and a backup can take its place"
            );
        }
    }

    /// A commit begins.
    pub fn begin(&self) -> CommitUnderWay<'_> {
        let mut state = self.state();
        let id = state.next;
        state.next += 1;
        state.under_way.insert(id, Instant::now());
        CommitUnderWay { health: self, id }
    }

    /// How writes fare now.
    pub fn condition(&self) -> Condition {
        let state = self.state();
        if let Some(failed) = state.failed {
            return failed;
        }
        let oldest = state.under_way.first_key_value().map(|(_, began)| began.elapsed());
        if let Some(age) = oldest.filter(|age| *age >= SLOW) {
            return Condition::Waiting(age);
        }
        let last = state.slow.filter(|(ended, _)| ended.elapsed() < REMEMBER);
        let otherwise = if state.damaged { Condition::Damaged } else { Condition::Good };
        last.map_or(otherwise, |(_, took)| Condition::Slow(took))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CommitUnderWay<'_> {
    /// The commit ended. What the product refuses is no failure of the database.
    pub fn end<T>(self, result: &StoreResult<T>) {
        let mut state = self.health.state();
        if let Some(took) =
            state.under_way.get(&self.id).map(Instant::elapsed).filter(|took| *took >= SLOW)
        {
            state.slow = Some((Instant::now(), took));
        }
        let failed = match result {
            Err(StoreError::StorageFull) => Some(Condition::Full),
            Err(
                StoreError::Database(_) | StoreError::Unavailable(_) | StoreError::Damaged { .. },
            ) => Some(Condition::Failing),
            _ => None,
        };
        if self.health.has_slack && state.failed == Some(Condition::Full) {
            return;
        }
        match (state.failed, failed) {
            (None, Some(Condition::Full)) => tracing::error!(
                "the disk of the database is full: nothing is accepted until there is room"
            ),
            (None, Some(_)) => tracing::error!(
                error = result.as_ref().err().map(|error| error_chain(error)),
                "the database does not take writes"
            ),
            (Some(_), None) => tracing::info!("the database takes writes again"),
            _ => {}
        }
        state.failed = failed;
    }
}

impl Drop for CommitUnderWay<'_> {
    fn drop(&mut self) {
        self.health.state().under_way.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_until_a_write_succeeds() {
        let health = CommitHealth::default();
        assert_eq!(health.condition(), Condition::Good);
        health.begin().end::<()>(&Err(StoreError::StorageFull));
        assert_eq!(health.condition(), Condition::Full);
        health.begin().end::<()>(&Err(StoreError::Unavailable("gone".into())));
        assert_eq!(health.condition(), Condition::Failing);
        drop(health.begin());
        assert_eq!(health.condition(), Condition::Failing);
        health.begin().end::<()>(&Err(StoreError::Fenced));
        assert_eq!(health.condition(), Condition::Good);
    }

    #[test]
    fn where_small_writes_fit_a_full_disk_is_told_until_room_is_found() {
        let health = CommitHealth::with_slack();
        health.begin().end::<()>(&Err(StoreError::StorageFull));
        health.begin().end(&Ok(()));
        health.begin().end::<()>(&Err(StoreError::Unavailable("gone".into())));
        assert_eq!(health.condition(), Condition::Full);
        health.found_room();
        assert_eq!(health.condition(), Condition::Good);
        health.begin().end::<()>(&Err(StoreError::Unavailable("gone".into())));
        health.found_room();
        assert_eq!(health.condition(), Condition::Failing, "room is not all that it takes");
        health.begin().end(&Ok(()));
        assert_eq!(health.condition(), Condition::Good);
    }

    #[test]
    fn a_slow_commit_is_told_while_it_lasts_and_a_while_after() {
        let health = CommitHealth::default();
        let commit = health.begin();
        assert_eq!(health.condition(), Condition::Good);
        let Some(earlier) = Instant::now().checked_sub(2 * SLOW) else { return };
        health.state().under_way.insert(commit.id, earlier);
        assert!(matches!(health.condition(), Condition::Waiting(age) if age >= 2 * SLOW));
        commit.end(&Ok(()));
        assert!(matches!(health.condition(), Condition::Slow(took) if took >= 2 * SLOW));
        health.state().slow = Instant::now().checked_sub(REMEMBER).map(|ended| (ended, SLOW));
        assert_eq!(health.condition(), Condition::Good);
    }
}
