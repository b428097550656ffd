//! Cancelling of a run: one that waits, and a test that is under way.

use millrace_model::error_event::ErrorBody;
use millrace_model::ids::RunId;
use millrace_model::run::{Run, RunKind, RunStatus};
use millrace_model::tenant::Caller;
use millrace_runner::{CallOutcome, QueuedRun};
use tokio_util::sync::CancellationToken;

use crate::run::claimed_run::ClaimedRun;
use crate::{Engine, EngineError};

impl Engine {
    /// Cancels a run that is queued or paused, and stops a test that this server runs: its record
    /// says so once its process is gone.
    pub async fn cancel_run(&self, caller: &Caller, id: &RunId) -> Result<Run, EngineError> {
        let store = &self.0.store;
        let before = store
            .cancel_run(&caller.org_id, id, self.now())
            .await?
            .ok_or_else(|| EngineError::not_found("run", id))?;
        match before {
            RunStatus::Queued | RunStatus::Paused => {}
            RunStatus::Running if self.stop_test(id) => {}
            RunStatus::Running => {
                return Err(EngineError::Conflict {
                    code: "run_is_running",
                    message: format!(
                        "the run `{id}` is under way; only a run that is queued or paused can be cancelled, and a test on the server that runs it"
                    ),
                });
            }
            ended => {
                return Err(EngineError::Conflict {
                    code: "run_has_ended",
                    message: format!("the run `{id}` has ended: {}", ended.as_str()),
                });
            }
        }
        store.run(&caller.org_id, id).await?.ok_or_else(|| EngineError::not_found("run", id))
    }

    /// From now on the test can be stopped, until [`Engine::test_is_over`].
    pub(crate) fn test_begins(&self, id: &RunId) {
        self.0.tests.lock().insert(id.clone(), CancellationToken::new());
    }

    pub(crate) fn test_is_over(&self, id: &RunId) {
        self.0.tests.lock().remove(id);
    }

    /// False where this server runs no such test.
    fn stop_test(&self, id: &RunId) -> bool {
        let tests = self.0.tests.lock();
        tests.get(id).inspect(|stop| stop.cancel()).is_some()
    }

    /// Waits for the end of a run's call, or stops it.
    pub(crate) async fn outcome_of(&self, claimed: &ClaimedRun, call: QueuedRun) -> CallOutcome {
        let stop = match claimed.kind {
            RunKind::Test => self.0.tests.lock().get(&claimed.id).cloned(),
            RunKind::Live | RunKind::Hook => None,
        };
        match stop {
            Some(stop) => call.outcome_unless(stop.cancelled()).await,
            None => call.outcome().await,
        }
    }
}

/// How a run ends with this outcome. `error`: what is not tried again.
pub(crate) fn status_of(error: Option<&ErrorBody>, outcome: &CallOutcome) -> RunStatus {
    match (error, &outcome.result) {
        (Some(_), Err(failure)) if failure.is_stopped() => RunStatus::Cancelled,
        (Some(_), _) => RunStatus::Failed,
        (None, _) => RunStatus::Succeeded,
    }
}
