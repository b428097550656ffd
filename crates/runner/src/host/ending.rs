//! Ends of calls that come from outside of their code: beyond their time, or with their process.

use tokio::sync::oneshot;

use crate::host::Host;
use crate::host::exit::ExitReason;
use crate::host::state::{DrainReason, HostState};
use crate::wire;

/// A call that was taken away from its host, which takes no more.
pub(crate) struct GivenUp {
    /// The step that it was in.
    pub(crate) step: Option<String>,
    /// Where other calls are in the process, one of which may be why it did not end: comes once the
    /// host answers, which shows that its event loop turns.
    pub(crate) answer: Option<oneshot::Receiver<()>>,
}

impl Host {
    /// Takes a call away that ran over its time, or is not waited for. One that ended meanwhile has
    /// no step.
    pub(crate) fn give_up(&self, id: u64) -> GivenUp {
        let mut calls = self.calls.lock();
        self.drain(DrainReason::Retired);
        let is_alone = calls.under_way.keys().chain(&calls.late).all(|other| *other == id);
        let call = calls.under_way.remove(&id);
        if call.is_some() {
            calls.late.insert(id);
        }
        // Under the lock of the calls: a look at both sees the call or its answer that is to come.
        let answer = (!is_alone).then(|| {
            let (answers, answer) = oneshot::channel();
            self.cancels.lock().insert(id, answers);
            answer
        });
        GivenUp { step: call.and_then(|call| call.step()), answer }
    }

    /// Cancels a call that is not waited for; ends when the host answers.
    pub(crate) async fn cancel(&self, id: u64, answer: oneshot::Receiver<()>) {
        // A host that is gone needs no cancel.
        let _ = self
            .answers
            .writer
            .send(wire::frame(&[r#"{"t":"cancel","id":"#, &id.to_string(), "}"]).into())
            .await;
        let _ = answer.await;
    }

    /// Whether all its calls are over or given up, and nobody waits for an answer of it.
    pub(crate) fn is_abandoned(&self) -> bool {
        let calls = self.calls.lock();
        calls.under_way.is_empty() && self.cancels.lock().is_empty()
    }

    /// Its process is gone: ends the calls that were under way. Those that were given up were in it
    /// as well.
    pub(super) fn end_calls(&self, reason: &ExitReason) {
        let (calls, count) = {
            let mut calls = self.calls.lock();
            self.state.advance(HostState::Exited);
            calls.ended.clear();
            let count = calls.under_way.len() + calls.late.len();
            (std::mem::take(&mut calls.under_way), count)
        };
        for call in calls.into_values() {
            let step = call.step();
            call.end(Err(reason.failure_among(count, step)));
        }
    }
}
