//! Runs that go again: those that were lost with a process through no fault of their own, or found
//! no room for one. One that shared its process gets one to itself then: whichever of those in it
//! ended the process takes no others with it a second time, and shows by itself what it does.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use millrace_model::ids::RunId;
use millrace_model::run::RunKind;
use millrace_runner::{CallFailure, FailureKind, IsolateSpec};
use parking_lot::Mutex;

use crate::run::claimed_run::ClaimedRun;
use crate::run::program::Program;
use crate::run::sink::Collector;
use crate::{Engine, EngineError};

/// Before a run is tried again for which no process could be started.
const NO_ROOM_PAUSE: Duration = Duration::from_secs(2);
/// Runs that are remembered. Those that another server claims stay here, and are few.
const LOST_MAX: usize = 10_000;

/// Runs that were lost with a process that they shared, and have not begun again here.
#[derive(Default)]
pub(crate) struct LostTogether(Mutex<HashSet<RunId>>);

impl LostTogether {
    fn add(&self, id: &RunId) {
        let mut lost = self.0.lock();
        if lost.len() >= LOST_MAX {
            lost.clear();
        }
        lost.insert(id.clone());
    }

    fn take(&self, id: &RunId) -> bool {
        let mut lost = self.0.lock();
        !lost.is_empty() && lost.remove(id)
    }
}

impl Engine {
    /// The isolate that a run's call goes to.
    pub(crate) fn isolate_for(
        &self,
        claimed: &ClaimedRun,
        isolate: &Arc<IsolateSpec>,
    ) -> Arc<IsolateSpec> {
        if claimed.attempt > 1 && self.0.lost_together.take(&claimed.id) {
            return Arc::new(IsolateSpec {
                id: format!("{}:alone", isolate.id),
                calls_per_isolate: 1,
                ..(**isolate).clone()
            });
        }
        isolate.clone()
    }

    /// Whether the run goes back to the queue: its host died through no fault of its own, or there
    /// was no room.
    pub(crate) async fn runs_again(
        &self,
        claimed: &ClaimedRun,
        program: &Program,
        failure: &CallFailure,
        sink: &Collector,
    ) -> Result<bool, EngineError> {
        let count_attempt = match failure.kind {
            FailureKind::HostLost if self.0.tasks.stopping() => false,
            FailureKind::HostLost => true,
            FailureKind::Overloaded | FailureKind::NoRoom => false,
            _ => return Ok(false),
        };
        if claimed.kind == RunKind::Test {
            return Ok(false);
        }
        self.keep_progress(sink).await?;
        if failure.kind == FailureKind::NoRoom {
            tracing::warn!(run.id = %claimed.id, reason = failure.message, "a run waits: no process can be started for it");
            // It is held meanwhile, and its place with it: those that wait for one do not all try
            // at once.
            let _ = tokio::time::timeout(NO_ROOM_PAUSE, self.0.tasks.token().cancelled()).await;
        }
        self.store_run(claimed.unstored.as_deref()).await?;
        if count_attempt && shares_processes(program) {
            tracing::info!(run.id = %claimed.id, reason = failure.message, "a run was lost with a process that it shared; it runs again, in one of its own");
            self.0.lost_together.add(&claimed.id);
        }
        self.0.store.release(&claimed.id, claimed.attempt, count_attempt).await?;
        self.queued();
        Ok(true)
    }
}

/// Whether runs of this code may be in one process.
fn shares_processes(program: &Program) -> bool {
    match program {
        Program::Source(program) => program.isolate.calls_per_isolate > 1,
        Program::Workflow(program) => program.isolate.calls_per_isolate > 1,
        Program::Damaged(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use millrace_model::ids::IdSource;

    use super::*;

    #[test]
    fn a_run_that_was_lost_with_others_is_remembered_until_it_begins_again() {
        let (lost, ids) = (LostTogether::default(), IdSource::default());
        let id = RunId::generate(&ids);
        assert!(!lost.take(&id));
        lost.add(&id);
        assert!(lost.take(&id) && !lost.take(&id));
    }

    #[test]
    fn no_more_are_remembered_than_there_is_room_for() {
        let (lost, ids) = (LostTogether::default(), IdSource::default());
        for _ in 0..=LOST_MAX {
            lost.add(&RunId::generate(&ids));
        }
        assert!(lost.0.lock().len() <= LOST_MAX);
    }
}
