//! The settlements of a source take turns: each decides on what the one before leaves. Where the
//! store has one writer, a turn is over as soon as the writer has the settlement, so that many are
//! one commit; what it will leave is known without waiting for that.

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

/// What the settlements that are on their way will leave.
#[derive(Default)]
pub(crate) struct Ahead {
    remembered: Option<Remembered>,
    /// Counts up when what was said here is taken back: settlements that went before then say
    /// nothing of it any more.
    epoch: u64,
}

/// The sources that are settling.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<SourceId, Arc<AsyncMutex<Ahead>>>>);

/// A turn to settle.
pub(crate) struct Turn {
    lock: Arc<AsyncMutex<Ahead>>,
    guard: OwnedMutexGuard<Ahead>,
}

impl Turns {
    /// Waits for the turn of a source.
    pub(crate) async fn of(&self, source: &SourceId) -> Turn {
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
    fn take_back(guard: &mut Ahead, epoch: u64) {
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
    ) -> Result<Remembered, EngineError> {
        if let Some(remembered) = &turn.guard.remembered {
            return Ok(remembered.clone());
        }
        let stored = self.0.store.source_state(&source.source.id).await?;
        let dedupe = match stored.dedupe.as_str() {
            "" => DedupeState::default(),
            text => serde_json::from_str(text)
                .map_err(|e| EngineError::damaged("a stored dedupe state", e))?,
        };
        Ok(Remembered { version: stored.version, dedupe })
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
