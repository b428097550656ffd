//! Search index of the texts of runs, updated in the background after runs have ended.
//!
//! The index is a second or two old. An update step starts only while no accepted run waits for a
//! run slot, and each step is followed by a longer pause, so that indexing takes a third of one
//! CPU at most; where runs always wait, a step is made from time to time.

use std::sync::Arc;
use std::time::Duration;

use millrace_model::Timestamp;
use millrace_store::IndexStep;
use tokio::time::Instant;

use crate::background::{Activation, Background, Next, Task};
use crate::ctx::Ctx;

/// Runs that were accepted so lately are left: most of them end meanwhile, and are looked at once.
const BEHIND_MS: i64 = 1_000;
/// How often all runs are looked at for those that became visible late, behind others that were
/// accepted after them.
const SWEEP_EVERY_MS: i64 = 3_600_000;
/// Runs of a step: the writer of SQLite is held up for some milliseconds.
const STEP_RUNS: u32 = 32;
/// The pause where there is nothing to do, and after a failure.
const IDLE: Duration = Duration::from_millis(500);
const FAILED: Duration = Duration::from_secs(5);
/// The time after a start in which it does nothing: runs that waited for the start go first.
const AFTER_START: Duration = Duration::from_secs(10);
/// The shortest pause after a step.
const REST_MIN: Duration = Duration::from_millis(5);
/// How long it waits while runs wait.
const HELD_BACK_MAX: Duration = Duration::from_secs(5);

/// Brings runs that ended into the index.
pub(crate) struct SearchIndexer {
    ctx: Arc<Ctx>,
    /// Whether accepted runs wait for their turn.
    do_runs_wait: Box<dyn Fn() -> bool + Send + Sync>,
}

impl SearchIndexer {
    pub(crate) fn new(
        ctx: Arc<Ctx>,
        do_runs_wait: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { ctx, do_runs_wait: Box::new(do_runs_wait) }
    }
}

impl Background for SearchIndexer {
    const TASK: Task = Task::SearchIndexer;
    const DELAY: Duration = AFTER_START;

    async fn activate(&mut self, activation: &Activation) -> Next {
        let begun = Instant::now();
        while (self.do_runs_wait)() && begun.elapsed() < HELD_BACK_MAX {
            if activation.stops_within(IDLE / 4).await {
                return Next::Never;
            }
        }
        let (begun, now) = (Instant::now(), self.ctx.now());
        let step = IndexStep {
            now,
            until: now.plus_ms(-BEHIND_MS),
            swept_before: now.plus_ms(-SWEEP_EVERY_MS),
            limit: STEP_RUNS,
        };
        Next::After(match self.ctx.store.index_runs(step).await {
            Ok(0) => IDLE,
            Ok(_) => (begun.elapsed() * 2).max(REST_MIN),
            Err(error) => {
                activation.warned("could not index runs for the search; it is tried again", &error);
                FAILED
            }
        })
    }
}

/// Which runs of an organization a search knows.
#[derive(Clone, Copy, Debug)]
pub struct IndexedRuns {
    /// Those that were accepted before.
    pub until: Timestamp,
    /// Of those that were accepted before this, not all yet; none: all.
    pub from: Option<Timestamp>,
}
