//! Long tasks: started by name, told to stop, waited for.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

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
