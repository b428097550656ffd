//! Long tasks: started by name, told to stop, waited for.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long a task that panicked rests.
const RESTART_AFTER: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Tasks {
    stop: CancellationToken,
    end: CancellationToken,
    tracker: TaskTracker,
}

impl Tasks {
    /// A token that ends when the engine stops: nothing new is begun.
    pub(crate) fn token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// A token that ends once nothing is under way any more.
    pub(crate) fn end_token(&self) -> CancellationToken {
        self.end.clone()
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    /// A task that goes on until then. One that panics is started again: nothing else would do its
    /// work.
    pub(crate) fn keep<F: Future<Output = ()> + Send + 'static>(
        &self,
        name: &'static str,
        until: CancellationToken,
        start: impl Fn() -> F + Send + 'static,
    ) {
        self.tracker.spawn(async move {
            while AssertUnwindSafe(start()).catch_unwind().await.is_err() {
                tracing::error!(name, "a task panicked, which is a bug; it is started again");
                tokio::select! {
                    () = until.cancelled() => return,
                    () = tokio::time::sleep(RESTART_AFTER) => {}
                }
            }
        });
    }

    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    pub(crate) fn end(&self) {
        self.stop.cancel();
        self.end.cancel();
    }

    /// Waits for all tasks, at most `limit`.
    pub(crate) async fn wait(&self, limit: Duration) {
        self.tracker.close();
        if tokio::time::timeout(limit, self.tracker.wait()).await.is_err() {
            tracing::warn!("some tasks did not end in time");
        }
    }
}
