//! Settle order: a keyed mutex, so that each settlement of a source decides on the state that the
//! one before leaves. Where the store has one writer, the mutex is released as soon as the writer
//! has the settlement: many are one commit, and the state to come is known before it is durable.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Poll;

use millrace_model::dedupe::DedupeState;
use millrace_model::ids::SourceId;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::run::program::SourceProgram;
use crate::{Engine, EngineError};

/// What a source remembers between runs, with the version that settling checks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Remembered {
    pub(crate) version: i64,
    pub(crate) dedupe: DedupeState,
}

/// What a turn decides on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) remembered: Remembered,
    /// Whether it is what settlements on their way will leave, which may fail yet.
    is_ahead: bool,
}

impl Memory {
    /// What the store is to have once a settlement is done that leaves `dedupe` and has left out so
    /// many events; none: nothing to store. What was left out for a settlement on its way is right
    /// only if that one is done, which the version says: it may be an earlier attempt of the same
    /// run, of which nothing is kept where this one has its lease.
    pub(crate) fn leaves(self, dedupe: DedupeState, deduped: u64) -> Option<Remembered> {
        let relies = self.is_ahead && deduped > 0;
        let Remembered { version, dedupe: before } = self.remembered;
        (relies || dedupe != before)
            .then(|| Remembered { version: version.saturating_add(1), dedupe })
    }
}

/// What the settlements that are on their way will leave.
#[derive(Default)]
pub(crate) struct Pending {
    remembered: Option<Remembered>,
    /// Counts up when what was said here is taken back: settlements that went before then say
    /// nothing of it any more.
    epoch: u64,
}

/// The sources that are settling.
#[derive(Default)]
pub(crate) struct SettleOrder(Mutex<HashMap<SourceId, Arc<AsyncMutex<Pending>>>>);

/// A turn to settle.
pub(crate) struct Turn {
    lock: Arc<AsyncMutex<Pending>>,
    guard: OwnedMutexGuard<Pending>,
}

impl SettleOrder {
    /// Waits for the turn of a source.
    pub(crate) async fn turn_of(&self, source: &SourceId) -> Turn {
        let lock = {
            let mut locks = self.0.lock();
            // Those on their way hold theirs: what is ahead is forgotten only once nothing is.
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            locks.entry(source.clone()).or_default().clone()
        };
        let guard = lock.clone().lock_owned().await;
        Turn { lock, guard }
    }
}

impl Turn {
    /// Takes back what was said of settlements on their way: the next one reads the store.
    fn take_back(guard: &mut Pending, epoch: u64) {
        if guard.epoch == epoch {
            guard.epoch += 1;
            guard.remembered = None;
        }
    }
}

impl Engine {
    /// What a source remembers when this turn begins.
    pub(crate) async fn remembered(
        &self,
        turn: &Turn,
        source: &SourceProgram,
    ) -> Result<Memory, EngineError> {
        if let Some(remembered) = turn.guard.remembered.clone() {
            return Ok(Memory { remembered, is_ahead: true });
        }
        let stored = self.0.store.source_state(&source.source.id).await?;
        let dedupe = match stored.dedupe.as_str() {
            "" => DedupeState::default(),
            text => millrace_model::json::from_str(text)
                .map_err(|e| EngineError::damaged("a stored dedupe state", e))?,
        };
        let remembered = Remembered { version: stored.version, dedupe };
        Ok(Memory { remembered, is_ahead: false })
    }

    /// Commits what was decided in a turn, and ends the turn as soon as the next one can be
    /// decided. `leaves`: what the source remembers then, where it changes.
    pub(crate) async fn commit_in_turn<T>(
        &self,
        mut turn: Turn,
        leaves: Option<Remembered>,
        commit: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, EngineError> {
        let mut commit = std::pin::pin!(commit);
        if !self.0.store.single_node() {
            // Several connections keep no order among them.
            return commit.await;
        }
        // The first poll hands it to the writer, in order.
        if let Poll::Ready(done) =
            std::future::poll_fn(|cx| Poll::Ready(commit.as_mut().poll(cx))).await
        {
            let epoch = turn.guard.epoch;
            Turn::take_back(&mut turn.guard, epoch);
            return done;
        }
        if leaves.is_some() {
            turn.guard.remembered = leaves;
        }
        let epoch = turn.guard.epoch;
        let Turn { lock, guard } = turn;
        drop(guard);
        let done = commit.await;
        if done.is_err() {
            Turn::take_back(&mut *lock.lock().await, epoch);
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use millrace_model::dedupe::{Candidate, Strategy, dedupe};
    use serde_json::json;

    use super::*;

    fn after(before: &DedupeState, id: u64) -> DedupeState {
        let candidate = Candidate { id: Some(json!(id)), ts: None };
        dedupe(Some(Strategy::Unique), before, &[candidate]).state
    }

    #[test]
    fn what_was_left_out_for_a_settlement_on_its_way_is_held_against_the_version() {
        let known = after(&DedupeState::default(), 1);
        let memory = |is_ahead| Memory {
            remembered: Remembered { version: 4, dedupe: known.clone() },
            is_ahead,
        };
        let next = after(&known, 2);
        for (is_ahead, dedupe, deduped, expected) in [
            (false, &known, 1, None),
            (false, &next, 0, Some(5)),
            (true, &known, 0, None),
            // The second attempt of a run emits what the first one, which is on its way, did.
            (true, &known, 1, Some(5)),
            (true, &next, 0, Some(5)),
        ] {
            let leaves = memory(is_ahead).leaves(dedupe.clone(), deduped);
            assert_eq!(leaves.as_ref().map(|left| left.version), expected);
            assert!(leaves.is_none_or(|left| left.dedupe == *dedupe));
        }
    }
}
