//! Handle of an enqueued call on its way to a host.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::call::Ended;
use crate::host::exit;
use crate::host::{ExitReason, GivenUp, Host};
use crate::host_pool::{Begun, IsolateKey};
use crate::runner::{Runner, in_time};
use crate::types::{CallFailure, CallOutcome};

/// How long a host has to show that its event loop turns.
const CANCEL_GRACE: Duration = Duration::from_millis(250);

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
                let given_up = host.give_up(id);
                self.runner.retire_after_timeout(&host, id, given_up.answer).await;
                given_up.step
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

impl Runner {
    /// Waits for the end of a call that a host has, within its time.
    async fn end_of(
        &self,
        host: &Arc<Host>,
        id: u64,
        timeout: Duration,
        ended: &mut oneshot::Receiver<Ended>,
    ) -> Ended {
        match in_time(timeout, ended).await {
            Some(Ok(ended)) => ended,
            Some(Err(_)) => Err(ExitReason::Ended.failure(None)),
            None => {
                // It may have ended in this very moment: then its end was lost with the receiver,
                // and it counts as late.
                let GivenUp { step, answer } = host.give_up(id);
                if self.retire_after_timeout(host, id, answer).await {
                    return Err(exit::timed_out(timeout, step));
                }
                // Any of those in the process may have kept it from the others.
                Err(ExitReason::Blocked.failure(step))
            }
        }
    }

    /// A host with a call that never ended takes no new ones; it is ended at once if its event loop
    /// is blocked or nobody else is in it. False where others are, and it is blocked.
    async fn retire_after_timeout(
        &self,
        host: &Arc<Host>,
        id: u64,
        answer: Option<oneshot::Receiver<()>>,
    ) -> bool {
        self.0.pool.lock().remove(host);
        let turns = match answer {
            Some(answer) => {
                tokio::time::timeout(CANCEL_GRACE, host.cancel(id, answer)).await.is_ok()
            }
            None => true,
        };
        if !turns {
            host.kill(ExitReason::Blocked);
        } else if host.is_abandoned() {
            host.kill(ExitReason::Ended);
        }
        self.start_hosts();
        turns
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
