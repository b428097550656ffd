//! Handle of an enqueued call on its way to a host.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::call::Ended;
use crate::host::exit;
use crate::host::{ExitReason, Host};
use crate::host_pool::{Begun, IsolateKey};
use crate::runner::Runner;
use crate::types::{CallFailure, CallOutcome};

/// A call that waits for a host or is under way in one. Dropped while it waits, it leaves the
/// queue; dropped later, the call goes on within its time.
pub struct QueuedRun {
    pub(super) runner: Runner,
    pub(super) isolate: IsolateKey,
    pub(super) ticket: Option<u64>,
    pub(super) refused: Option<CallFailure>,
    /// Tells which host has it; None once that is known.
    pub(super) begins: Option<oneshot::Receiver<Begun>>,
    pub(super) ended: Option<oneshot::Receiver<Ended>>,
    /// The host that has the call, and the call's id there.
    pub(super) serving: Option<(Arc<Host>, u64)>,
    pub(super) timeout: Duration,
}

impl QueuedRun {
    /// Waits for the end of the call.
    pub async fn outcome(mut self) -> CallOutcome {
        self.wait().await
    }

    /// Waits for the end of the call, or ends it as one beyond its time once `stop` comes.
    pub async fn outcome_unless(mut self, stop: impl Future<Output = ()>) -> CallOutcome {
        let started = Instant::now();
        tokio::select! {
            outcome = self.wait() => return outcome,
            () = stop => {}
        }
        let step = match self.serving.take() {
            Some((host, id)) => {
                let step = host.give_up(id).and_then(|call| call.step());
                self.runner.retire_after_timeout(&host, id).await;
                step
            }
            // A host that takes it in this moment has no time for it.
            None => {
                self.timeout = Duration::ZERO;
                None
            }
        };
        CallOutcome { result: Err(exit::stopped(step)), duration: started.elapsed() }
    }

    async fn wait(&mut self) -> CallOutcome {
        let failed = |failure| CallOutcome { result: Err(failure), duration: Duration::ZERO };
        if let Some(failure) = self.refused.take() {
            return failed(failure);
        }
        let begun = match self.begins.as_mut() {
            Some(begins) => begins.await,
            None => return failed(ExitReason::Ended.failure(None)),
        };
        (self.ticket, self.begins) = (None, None);
        let (host, id) = match begun {
            Ok(Ok(begun)) => begun,
            Ok(Err(failure)) => return failed(failure),
            // The runner shuts down.
            Err(_) => return failed(ExitReason::Ended.failure(None)),
        };
        self.serving = Some((host.clone(), id));
        let started = Instant::now();
        let result = match self.ended.as_mut() {
            Some(ended) => self.runner.end_of(&host, id, self.timeout, ended).await,
            None => Err(ExitReason::Ended.failure(None)),
        };
        self.serving = None;
        CallOutcome { result, duration: started.elapsed() }
    }
}

impl Drop for QueuedRun {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.runner.0.pool.lock().leave(&self.isolate, ticket);
        }
        let (serving, begins) = (self.serving.take(), self.begins.take());
        let Some(mut ended) = self.ended.take().filter(|_| serving.is_some() || begins.is_some())
        else {
            return;
        };
        let (runner, timeout) = (self.runner.clone(), self.timeout);
        tokio::spawn(async move {
            let serving = match (serving, begins) {
                // A host may have taken it in the meantime, or have it ahead.
                (None, Some(begins)) => begins.await.ok().and_then(Result::ok),
                (serving, _) => serving,
            };
            if let Some((host, id)) = serving {
                let _ = runner.end_of(&host, id, timeout, &mut ended).await;
            }
        });
    }
}
