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
    tracker: TaskTracker,
}

impl Tasks {
    /// A token that ends when the engine stops.
    pub(crate) fn token(&self) -> CancellationToken {
        self.stop.clone()
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    /// A task that goes on until the engine stops. One that panics is started again: nothing else would do its work.
    pub(crate) fn keep<F: Future<Output = ()> + Send + 'static>(&self, name: &'static str, start: impl Fn() -> F + Send + 'static) {
        let stop = self.stop.clone();
        self.tracker.spawn(async move {
            while AssertUnwindSafe(start()).catch_unwind().await.is_err() {
                tracing::error!(name, "a task panicked, which is a bug; it is started again");
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(RESTART_AFTER) => {}
                }
            }
        });
    }

    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits for all tasks, at most `limit`.
    pub(crate) async fn wait(&self, limit: Duration) {
        self.tracker.close();
        if tokio::time::timeout(limit, self.tracker.wait()).await.is_err() {
            tracing::warn!("some tasks did not end in time");
        }
    }
}
