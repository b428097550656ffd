//! Servers that share a database: each publishes its changes, which invalidate the caches of the
//! others, and its settled runs, which reach the streams of the others. Notifications may be lost:
//! while the listener is down the cache is bypassed ([`crate::cache`]) and the queue is polled, and
//! streams read what they missed once it is back ([`StreamItem::Missed`]).

mod tasks;

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millrace_model::clock::Timestamp;
use millrace_model::error_chain;
use millrace_model::event::Event;
use millrace_model::ids::{EventId, OrgId, RunId};
use millrace_model::run::{LogLine, RunResult, RunStatus, StepResult};
use millrace_store::{Changed, EventAt, NodeMessage, Notification, StoreResult};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::background::Task;
use crate::nodes::tasks::{CheckIn, NodeListener, NodeNotifier, NodeRelay, Shown};
use crate::{Engine, StepEnd, StreamItem};

/// How long the entry of a server is valid after its check-in, milliseconds.
pub(crate) const ALIVE_MS: i64 = 10_000;
/// Messages that wait to be published, beyond which the oldest are left out.
const MESSAGES_MAX: usize = 20_000;
/// Messages of others that wait to be looked up for streams.
const RELAYED_MAX: usize = 10_000;
/// The largest run whose steps and lines are read for streams; of a larger one they read what is
/// stored, where there is room for it.
const RELAYED_BYTES_MAX: u64 = 16 << 20;
/// Events read at once.
const EVENTS_PAGE: u32 = 200;
/// How long an owner counts as followed on another server after that said so; it says so at each
/// check-in.
const FOLLOWED_FOR: Duration = Duration::from_secs(10);
/// Owners that are followed on other servers.
const FOLLOWED_MAX: usize = 10_000;
/// Messages that wait, beyond which no lines are added: they come with their run's end.
const LINES_WAITING_MAX: usize = 5_000;
/// Bytes of the message of a line; a longer one comes with its run's end.
const LINE_MAX: usize = 7_000;

/// Messages that wait to be published, and since when the oldest of them has waited.
#[derive(Default)]
struct Waiting {
    messages: Vec<NodeMessage>,
    since: Timestamp,
}

impl Waiting {
    /// Adds messages; of too many the oldest are left out, with [`NodeMessage::Missed`] in their
    /// place.
    fn add(&mut self, messages: impl IntoIterator<Item = NodeMessage>, now: Timestamp) {
        if self.messages.is_empty() {
            self.since = now;
        }
        self.messages.extend(messages);
        if self.messages.len() > MESSAGES_MAX {
            let left_out = self.messages.len() - MESSAGES_MAX / 2;
            self.messages.splice(..left_out, [NodeMessage::Missed(self.since.ms())]);
        }
    }

    fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Puts messages back that could not be published.
    fn put_back(&mut self, before: Self, now: Timestamp) {
        let newer = std::mem::replace(self, before);
        self.add(newer.messages, now);
    }
}

#[derive(Default)]
pub(crate) struct Nodes {
    /// Number of other servers that use the database, at the last check-in.
    pub(crate) others: AtomicU64,
    messages: Mutex<Waiting>,
    /// Owners whose lines other servers want as they come, and until when.
    followed: Mutex<HashMap<String, Instant>>,
}

impl Nodes {
    fn follow(&self, owner: String) {
        let (mut followed, now) = (self.followed.lock(), Instant::now());
        if followed.len() >= FOLLOWED_MAX {
            followed.retain(|_, until| *until > now);
        }
        if followed.len() < FOLLOWED_MAX {
            followed.insert(owner, now + FOLLOWED_FOR);
        }
    }

    fn is_followed(&self, owner: &str) -> bool {
        self.followed.lock().get(owner).is_some_and(|until| *until > Instant::now())
    }
}

impl Engine {
    pub(crate) async fn start_with_others(&self) -> StoreResult<()> {
        if self.0.store.single_node() {
            self.0.cache.has_no_others();
            return Ok(());
        }
        self.check_in().await?;
        let (relay, relayed) = mpsc::channel(RELAYED_MAX);
        self.start_task(NodeListener { engine: self.clone(), relay, complete_until: None });
        self.start_task(NodeRelay { engine: self.clone(), relayed, shown: HashMap::new() });
        self.start_task(NodeNotifier { engine: self.clone() });
        self.start_task(CheckIn { engine: self.clone() });
        Ok(())
    }

    /// Whether no other server uses the database. False where that cannot be known.
    pub(crate) fn is_alone(&self) -> bool {
        self.0.store.single_node()
            || (self.0.nodes.others.load(Ordering::SeqCst) == 0 && self.0.cache.is_current())
    }

    /// There may be runs to be claimed, here or elsewhere.
    pub(crate) fn queued(&self) {
        self.0.tasks.wake(Task::Dispatcher);
        self.publish_message(|| NodeMessage::Queued);
    }

    /// A run paused or is over.
    pub(crate) fn run_changed(&self, org: &OrgId, owner: &str, run: &RunId) {
        self.notify_streams(org, owner, run);
        self.publish_log(org, owner, run);
    }

    /// Notifies the other servers that there are lines in the log of a run, or of what only has a
    /// log, as a hook.
    pub(crate) fn publish_log(&self, org: &OrgId, owner: &str, run: &RunId) {
        self.publish_message(|| NodeMessage::Run(org.clone(), owner.to_owned(), run.clone()));
    }

    /// Streams of the owner and of its organization.
    fn notify_streams(&self, org: &OrgId, owner: &str, run: &RunId) {
        self.0.streams.send(owner, || StreamItem::Run(run.clone()));
        self.0.streams.send(org.as_str(), || StreamItem::Run(run.clone()));
    }

    pub(crate) fn publish_event(&self, event: &Event) {
        self.publish_message(|| {
            NodeMessage::Event(event.org_id.clone(), event.emitter_id.clone(), event.id.into())
        });
    }

    pub(crate) fn publish_message(&self, message: impl FnOnce() -> NodeMessage) {
        if self.is_alone() {
            return;
        }
        let mut waiting = self.0.nodes.messages.lock();
        let message = message();
        if message == NodeMessage::Queued && waiting.messages.contains(&message) {
            return;
        }
        waiting.add([message], self.now());
        drop(waiting);
        self.0.tasks.wake(Task::NodeNotifier);
    }

    /// Publishes a line of a run whose owner is followed on another server.
    pub(crate) fn publish_line(
        &self,
        owner: &str,
        run: &RunId,
        attempt: i64,
        nth: usize,
        line: &LogLine,
    ) {
        if self.is_alone()
            || !self.0.nodes.is_followed(owner)
            || self.0.nodes.messages.lock().messages.len() >= LINES_WAITING_MAX
        {
            return;
        }
        let message = NodeMessage::Line {
            owner: owner.to_owned(),
            run: run.clone(),
            attempt,
            nth,
            line: line.clone(),
        };
        if serde_json::to_vec(&message).is_ok_and(|text| text.len() <= LINE_MAX) {
            self.publish_message(|| message);
        }
    }

    async fn check_in(&self) -> StoreResult<()> {
        let others = self.0.store.check_in(&self.0.node, ALIVE_MS).await?;
        if self.0.nodes.others.swap(others, Ordering::SeqCst) != others {
            tracing::info!(others, "other servers use the database");
        }
        Ok(())
    }

    /// Nothing of this server goes on any more.
    pub(crate) async fn check_out(&self) {
        if self.0.store.single_node() {
            return;
        }
        if let Err(error) = self.0.store.check_out(&self.0.node).await {
            tracing::debug!(
                error = error_chain(&error),
                "could not announce that this server stops; the others notice it soon"
            );
        }
    }

    /// A source or workflow changed: its live version, endpoints and everyone's listeners are read
    /// anew.
    pub(crate) fn forget_owner(&self, owner: &str) {
        // Its versions too: one that was deleted runs no more.
        self.0.programs.forget_where(|program| program.identity().owner.as_str() == owner);
        self.0.cache.forget_owner(owner);
    }

    fn forget_everything(&self) {
        self.0.cache.forget_all();
        self.0.programs.forget_all();
        self.domains().forget();
    }

    fn look_at_everything(&self) {
        for task in [
            Task::Dispatcher,
            Task::Scheduler,
            Task::Mailer,
            Task::Deliverer,
            Task::WebhookDispatcher,
        ] {
            self.0.tasks.wake(task);
        }
    }

    async fn notified(&self, notification: Notification, relay: &mpsc::Sender<NodeMessage>) {
        match notification {
            Notification::CompleteUntil(at) => self.0.cache.complete_until(at),
            Notification::Changed(Changed::Owner(id)) => {
                self.forget_owner(&id);
                // It may have a timer that is due before all others.
                self.0.tasks.wake(Task::Scheduler);
            }
            Notification::Changed(Changed::Listeners) => self.0.cache.listeners.forget_all(),
            Notification::Changed(Changed::Callers) => self.0.cache.forget_callers(),
            Notification::Changed(Changed::Domains) => self.domains().forget(),
            Notification::Changed(Changed::Nodes) => {
                if let Err(error) = self.check_in().await {
                    tracing::debug!(
                        error = error_chain(&error),
                        "could not count the servers; they are counted again soon"
                    );
                }
            }
            Notification::Message(node, _) if node == self.0.node => {}
            Notification::Message(_, NodeMessage::Queued) => self.0.tasks.wake(Task::Dispatcher),
            Notification::Message(_, NodeMessage::Followed(owner)) => self.0.nodes.follow(owner),
            Notification::Message(_, NodeMessage::Missed(since)) => {
                self.0.streams.missed(Timestamp(since))
            }
            Notification::Message(
                _,
                message
                @ (NodeMessage::Event(..) | NodeMessage::Run(..) | NodeMessage::Line { .. }),
            ) => {
                let (NodeMessage::Event(_, owner, _)
                | NodeMessage::Run(_, owner, _)
                | NodeMessage::Line { owner, .. }) = &message
                else {
                    return;
                };
                if !self.0.streams.has_readers(owner) {
                    return;
                }
                if let Err(left_out) = relay.try_send(message) {
                    self.missed(&left_out.into_inner());
                }
            }
        }
    }

    /// Something of an owner cannot be relayed: its streams read what is stored.
    fn missed(&self, message: &NodeMessage) {
        let (owner, since) = match message {
            NodeMessage::Event(_, owner, at) => (owner, Timestamp(EventId::from_ordinal(at.0).ms)),
            NodeMessage::Run(_, owner, _) | NodeMessage::Line { owner, .. } => (owner, self.now()),
            NodeMessage::Queued | NodeMessage::Followed(_) | NodeMessage::Missed(_) => return,
        };
        self.0.streams.send(owner, || StreamItem::Missed(since));
    }

    async fn relay_events(
        &self,
        org: &OrgId,
        emitter: &str,
        wanted: &BTreeSet<EventAt>,
    ) -> StoreResult<()> {
        let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else { return Ok(()) };
        let mut after = first.0 - 1;
        while after < last.0 {
            let events = self
                .0
                .store
                .events_after(org, emitter, EventId::from_ordinal(after), EVENTS_PAGE)
                .await?;
            let Some(end) = events.last().map(|event| event.id.ordinal()) else { break };
            after = end;
            for event in events.into_iter().filter(|event| wanted.contains(&event.id.into())) {
                self.0.streams.send(emitter, || StreamItem::Event(std::sync::Arc::new(event)));
            }
        }
        Ok(())
    }

    /// Steps of a run come as they end, lines that did not come by themselves with its end or
    /// pause.
    async fn relay_run(
        &self,
        org: &OrgId,
        owner: &str,
        id: &RunId,
        before: &mut Shown,
    ) -> StoreResult<()> {
        let bytes = self.0.store.run_bytes(org, id).await?;
        if bytes.is_some_and(|bytes| bytes > RELAYED_BYTES_MAX) {
            let run = NodeMessage::Run(org.clone(), owner.to_owned(), id.clone());
            self.missed(&run);
            self.notify_streams(org, owner, id);
            return Ok(());
        }
        let lines = self.0.store.run_logs(id).await?;
        let Some(run) = self.0.store.run(org, id).await? else {
            // A hook has a log and no run.
            self.relay_lines(owner, id, &lines, before.lines_shown(lines.len(), 0));
            return Ok(());
        };
        let steps = run
            .result
            .as_deref()
            .and_then(|text| millrace_model::json::from_str::<RunResult>(text).ok())
            .map(|result| result.steps)
            .unwrap_or_default();
        // The record of the run says which step failed: a step without its end would be shown as
        // one that goes on.
        let ended = |step: &&StepResult| step.status != RunStatus::Failed;
        for step in steps.iter().skip(before.steps).filter(ended) {
            let end = step.duration_ms.map(|duration_ms| {
                std::sync::Arc::new(StepEnd { duration_ms, exports: step.exports.get().to_owned() })
            });
            self.0
                .streams
                .send(owner, || StreamItem::Step(id.clone(), step.namespace.clone(), end));
        }
        self.relay_lines(owner, id, &lines, before.lines_shown(lines.len(), run.attempt));
        before.steps = steps.len();
        self.notify_streams(org, owner, id);
        Ok(())
    }

    fn relay_lines(&self, owner: &str, id: &RunId, lines: &[LogLine], shown: usize) {
        for line in lines.iter().skip(shown) {
            self.0.streams.send(owner, || StreamItem::Log(id.clone(), line.clone()));
        }
    }
}
