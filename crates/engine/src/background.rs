//! Background tasks of the engine and the driver that runs them: when each is activated, woken and
//! stopped, and how its last activation ended.

use std::fmt::Write as _;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use millrace_model::{Clock, error_chain};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Pause of a task that panicked.
const AFTER_PANIC: Duration = Duration::from_secs(1);

/// A background task by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    ArtifactPruner,
    CheckIn,
    ConcurrencyLimiter,
    Deliverer,
    Dispatcher,
    LeaseKeeper,
    Mailer,
    NodeListener,
    NodeNotifier,
    NodeRelay,
    Pruner,
    QueueWatch,
    Replayer,
    Scheduler,
    SearchIndexer,
    TraceExporter,
    WebhookDispatcher,
}

impl Task {
    const ALL: [Self; 17] = [
        Self::ArtifactPruner,
        Self::CheckIn,
        Self::ConcurrencyLimiter,
        Self::Deliverer,
        Self::Dispatcher,
        Self::LeaseKeeper,
        Self::Mailer,
        Self::NodeListener,
        Self::NodeNotifier,
        Self::NodeRelay,
        Self::Pruner,
        Self::QueueWatch,
        Self::Replayer,
        Self::Scheduler,
        Self::SearchIndexer,
        Self::TraceExporter,
        Self::WebhookDispatcher,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::ArtifactPruner => "artifact_pruner",
            Self::CheckIn => "check_in",
            Self::ConcurrencyLimiter => "concurrency_limiter",
            Self::Deliverer => "deliverer",
            Self::Dispatcher => "dispatcher",
            Self::LeaseKeeper => "lease_keeper",
            Self::Mailer => "mailer",
            Self::NodeListener => "node_listener",
            Self::NodeNotifier => "node_notifier",
            Self::NodeRelay => "node_relay",
            Self::Pruner => "pruner",
            Self::QueueWatch => "queue_watch",
            Self::Replayer => "replayer",
            Self::Scheduler => "scheduler",
            Self::SearchIndexer => "search_indexer",
            Self::TraceExporter => "trace_exporter",
            Self::WebhookDispatcher => "webhook_dispatcher",
        }
    }
}

/// When a task is activated again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// At once.
    Now,
    /// After a pause, which no wake shortens.
    After(Duration),
    /// When it is woken ([`Tasks::wake`]), or after a pause.
    Woken(Duration),
    /// Never: its work is over.
    Never,
}

/// Work that goes on as long as the engine.
pub(crate) trait Background: Send + 'static {
    const TASK: Task;
    /// Whether it goes on until nothing is under way any more: runs need it that end while the
    /// engine stops.
    const TO_THE_END: bool = false;
    /// Pause before the first activation.
    const DELAY: Duration = Duration::ZERO;

    /// Does what is to be done now. It is never dropped midway; a long one looks at
    /// [`Activation::stop`].
    fn activate(&mut self, now: &Activation) -> impl Future<Output = Next> + Send;

    /// Ends the pause after an activation, beside wakes and time.
    fn interrupted(&mut self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

/// What an activation is given: whether the engine stops, and where failures are reported.
pub(crate) struct Activation {
    task: Task,
    states: Arc<States>,
    pub(crate) stop: CancellationToken,
}

impl Activation {
    /// Reports a failure after which the task goes on.
    pub(crate) fn failed(&self, what: &str, error: &(dyn std::error::Error + 'static)) {
        tracing::error!(task = self.task.as_str(), error = error_chain(error), "{what}");
        self.count_failure();
    }

    /// As [`Self::failed`], of a task whose work can wait.
    pub(crate) fn warned(&self, what: &str, error: &(dyn std::error::Error + 'static)) {
        tracing::warn!(task = self.task.as_str(), error = error_chain(error), "{what}");
        self.count_failure();
    }

    fn count_failure(&self) {
        self.states.of(self.task).has_failed.store(true, Ordering::Relaxed);
    }

    /// Pauses within an activation; says whether it is time to stop.
    pub(crate) async fn stops_within(&self, pause: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => true,
            () = tokio::time::sleep(pause) => false,
        }
    }
}

/// What is known of one task.
#[derive(Default)]
struct State {
    wake: Notify,
    is_started: AtomicBool,
    /// Whether the activation of now has reported a failure.
    has_failed: AtomicBool,
    succeeded: AtomicU64,
    failed: AtomicU64,
    /// When its last activation ended, milliseconds.
    last_ms: AtomicI64,
}

impl State {
    fn ended(&self, at_ms: i64) {
        let is_failure = self.has_failed.swap(false, Ordering::Relaxed);
        let count = if is_failure { &self.failed } else { &self.succeeded };
        count.fetch_add(1, Ordering::Relaxed);
        self.last_ms.store(at_ms, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct States([State; Task::ALL.len()]);

impl States {
    fn of(&self, task: Task) -> &State {
        &self.0[task as usize]
    }
}

/// The tasks of an engine: background tasks, and those that end by themselves.
#[derive(Default)]
pub(crate) struct Tasks {
    stop: CancellationToken,
    end: CancellationToken,
    tracker: TaskTracker,
    states: Arc<States>,
}

impl Tasks {
    /// A token that ends when the engine stops: nothing new is begun.
    pub(crate) fn token(&self) -> CancellationToken {
        self.stop.clone()
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Starts a task that ends by itself.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        // It may be large, and is moved more than once on its way.
        self.tracker.spawn(Box::pin(task));
    }

    /// Activates a task that pauses; one that is active is activated once more.
    pub(crate) fn wake(&self, task: Task) {
        self.states.of(task).wake.notify_one();
    }

    /// Runs a background task until the engine stops. A panic ends the activation, not the task:
    /// nothing else would do its work.
    pub(crate) fn start<B: Background>(&self, mut task: B, clock: Arc<dyn Clock>) {
        let now = Activation {
            task: B::TASK,
            states: self.states.clone(),
            stop: if B::TO_THE_END { self.end.clone() } else { self.stop.clone() },
        };
        self.states.of(B::TASK).is_started.store(true, Ordering::Relaxed);
        self.tracker.spawn(async move {
            let state = now.states.of(B::TASK);
            if !B::DELAY.is_zero() && now.stops_within(B::DELAY).await {
                return;
            }
            loop {
                let ended = AssertUnwindSafe(task.activate(&now)).catch_unwind().await;
                let next = ended.unwrap_or_else(|_| {
                    tracing::error!(
                        task = B::TASK.as_str(),
                        "a task panicked, which is a bug; it is restarted after a pause"
                    );
                    now.count_failure();
                    Next::After(AFTER_PANIC)
                });
                state.ended(clock.now().ms());
                let (is_woken, pause) = match next {
                    Next::Now => (false, Duration::ZERO),
                    Next::After(pause) => (false, pause),
                    Next::Woken(pause) => (true, pause),
                    Next::Never => return,
                };
                tokio::select! {
                    biased;
                    () = now.stop.cancelled() => return,
                    () = async {}, if next == Next::Now => {}
                    () = state.wake.notified(), if is_woken => {}
                    () = task.interrupted() => {}
                    () = tokio::time::sleep(pause) => {}
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

    /// How the activations of the background tasks ended, in the text format of Prometheus.
    pub(crate) fn write_metrics(&self, out: &mut String) {
        let started = || {
            Task::ALL
                .into_iter()
                .map(|task| (task.as_str(), self.states.of(task)))
                .filter(|(_, state)| state.is_started.load(Ordering::Relaxed))
        };
        // Writing to a String cannot fail.
        let name = "millrace_background_activations_total";
        let _ = write!(
            out,
            "# HELP {name} Activations of background tasks, by how they ended\n# TYPE {name} counter\n"
        );
        for (task, state) in started() {
            for (ending, count) in [("succeeded", &state.succeeded), ("failed", &state.failed)] {
                let count = count.load(Ordering::Relaxed);
                let _ = writeln!(out, "{name}{{task=\"{task}\",ending=\"{ending}\"}} {count}");
            }
        }
        let name = "millrace_background_last_activation_timestamp_seconds";
        let _ = write!(
            out,
            "# HELP {name} When the last activation of a background task ended\n# TYPE {name} gauge\n"
        );
        for (task, state) in started() {
            let at = state.last_ms.load(Ordering::Relaxed) as f64 / 1e3;
            let _ = writeln!(out, "{name}{{task=\"{task}\"}} {at}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use millrace_model::clock::{ManualClock, Timestamp};

    use super::*;

    /// Counts its activations; does in each what its script says.
    struct Counting {
        count: Arc<AtomicU32>,
        script: fn(u32, &Activation) -> Next,
    }

    impl Background for Counting {
        const TASK: Task = Task::Mailer;

        async fn activate(&mut self, now: &Activation) -> Next {
            let nth = self.count.fetch_add(1, Ordering::SeqCst) + 1;
            (self.script)(nth, now)
        }
    }

    fn start(tasks: &Tasks, script: fn(u32, &Activation) -> Next) -> Arc<AtomicU32> {
        let count = Arc::new(AtomicU32::new(0));
        let clock = Arc::new(ManualClock::at(Timestamp(5_000)));
        tasks.start(Counting { count: count.clone(), script }, clock);
        count
    }

    fn metrics(tasks: &Tasks) -> String {
        let mut out = String::new();
        tasks.write_metrics(&mut out);
        out
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_is_activated_after_its_pause_or_when_it_is_woken() {
        let tasks = Tasks::default();
        let count = start(&tasks, |nth, _| match nth {
            1 | 2 => Next::Woken(Duration::from_secs(60)),
            _ => Next::After(Duration::from_secs(60)),
        });
        let after = async |secs| {
            tokio::time::sleep(Duration::from_secs(secs)).await;
            count.load(Ordering::SeqCst)
        };
        assert_eq!((after(59).await, after(2).await), (1, 2));
        tasks.wake(Task::Scheduler);
        assert_eq!(after(1).await, 2, "another task was woken");
        tasks.wake(Task::Mailer);
        assert_eq!(after(1).await, 3);
        tasks.wake(Task::Mailer);
        assert_eq!((after(50).await, after(10).await), (3, 4), "no wake shortens this pause");
        tasks.stop();
        tasks.wait(Duration::from_secs(1)).await;
        assert_eq!(after(600).await, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_and_panics_are_counted_and_the_task_goes_on() {
        let tasks = Tasks::default();
        let count = start(&tasks, |nth, now| match nth {
            1 => {
                now.failed("did not work", &std::fmt::Error);
                Next::Now
            }
            2 => panic!("a bug"),
            3 => Next::Now,
            _ => Next::Never,
        });
        tokio::time::sleep(AFTER_PANIC * 2).await;
        assert_eq!(count.load(Ordering::SeqCst), 4);
        let text = metrics(&tasks);
        for series in [
            "millrace_background_activations_total{task=\"mailer\",ending=\"succeeded\"} 2\n",
            "millrace_background_activations_total{task=\"mailer\",ending=\"failed\"} 2\n",
            "millrace_background_last_activation_timestamp_seconds{task=\"mailer\"} 5\n",
        ] {
            assert!(text.contains(series), "{text}");
        }
        assert!(!text.contains("scheduler"), "it was not started");
    }

    #[test]
    fn each_task_has_a_state_of_its_own() {
        for (at, task) in Task::ALL.into_iter().enumerate() {
            assert_eq!(task as usize, at, "{}", task.as_str());
        }
    }
}
