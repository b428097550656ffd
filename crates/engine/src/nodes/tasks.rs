//! Background tasks of a server that shares its database: check-in, notifier, listener, relay.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use millrace_model::clock::Timestamp;
use millrace_model::error_chain;
use millrace_model::ids::{OrgId, RunId};
use millrace_store::{EventAt, NodeMessage, Notification};
use tokio::sync::mpsc;

use crate::background::{Activation, Background, Next, Task};
use crate::nodes::RELAYED_MAX;
use crate::{Engine, StreamItem};

/// How often this server says that it is there.
const CHECK_IN_EVERY: Duration = Duration::from_secs(2);
/// How long messages are gathered, so that many go together.
const GATHERED: Duration = Duration::from_millis(20);
/// Rest after a `LISTEN` or a publication failed.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// Longest pause of the notifier, which is woken for each message.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// Runs whose lines and steps that streams have got are remembered.
const RUNS_REMEMBERED: usize = 10_000;

/// What of a run the streams here have got.
#[derive(Default)]
pub(super) struct Shown {
    /// Lines that were stored when the run was last looked at.
    lines: usize,
    pub(super) steps: usize,
    /// The attempt whose lines came since, and how many of it there are up to the last that came.
    live: Option<(i64, usize)>,
}

impl Shown {
    /// Whether a line is the next one. After one that did not come, none is: the rest comes in its
    /// order with the run's end or pause. Who begins to listen in the middle of an attempt gets
    /// what comes from then on, as on the server where the run is.
    fn is_next(&mut self, attempt: i64, nth: usize) -> bool {
        let is_next = match self.live {
            Some((of, next)) if of == attempt => nth == next || nth == 0,
            Some((of, _)) => of < attempt,
            None => true,
        };
        if is_next {
            self.live = Some((attempt, nth + 1));
        }
        is_next
    }

    /// How many of the stored lines were shown, now that so many are, the last of them of that
    /// attempt.
    pub(super) fn lines_shown(&mut self, stored: usize, attempt: i64) -> usize {
        if stored <= self.lines {
            return stored;
        }
        let live = self.live.take().filter(|(of, _)| *of == attempt).map_or(0, |(_, count)| count);
        std::mem::replace(&mut self.lines, stored) + live
    }
}

/// Notifies the other servers of what happens here.
pub(super) struct NodeNotifier {
    pub(super) engine: Engine,
}

impl Background for NodeNotifier {
    const TASK: Task = Task::NodeNotifier;
    const TO_THE_END: bool = true;

    async fn activate(&mut self, _: &Activation) -> Next {
        let inner = &self.engine.0;
        let waiting = inner.nodes.messages.lock().take();
        if waiting.messages.is_empty() {
            return Next::Woken(IDLE_MAX);
        }
        if let Err(error) = inner.store.publish(&inner.node, &waiting.messages).await {
            tracing::debug!(
                error = error_chain(&error),
                "could not notify the other servers; it is tried again"
            );
            inner.nodes.messages.lock().put_back(waiting, self.engine.now());
            return Next::After(AGAIN_AFTER);
        }
        Next::After(GATHERED)
    }
}

/// Says again and again that this server is there.
pub(super) struct CheckIn {
    pub(super) engine: Engine,
}

impl Background for CheckIn {
    const TASK: Task = Task::CheckIn;
    const TO_THE_END: bool = true;
    const DELAY: Duration = CHECK_IN_EVERY;

    async fn activate(&mut self, now: &Activation) -> Next {
        if let Err(error) = self.engine.check_in().await {
            now.warned(
                "could not announce that this server is up; others may take over its work",
                &error,
            );
        }
        for owner in self.engine.0.streams.read() {
            self.engine.publish_message(|| NodeMessage::Followed(owner));
        }
        Next::After(CHECK_IN_EVERY)
    }
}

/// Listens to the database for changes and messages of the other servers.
pub(super) struct NodeListener {
    pub(super) engine: Engine,
    pub(super) relay: mpsc::Sender<NodeMessage>,
    /// The time up to which notifications came without a gap; None: before the first `LISTEN`.
    pub(super) complete_until: Option<Timestamp>,
}

impl Background for NodeListener {
    const TASK: Task = Task::NodeListener;
    const TO_THE_END: bool = true;

    /// Listens until the connection is lost.
    async fn activate(&mut self, now: &Activation) -> Next {
        let engine = &self.engine;
        let began = Instant::now();
        let mut notifications = match engine.0.store.listen().await {
            Ok(Some(notifications)) => notifications,
            Ok(None) => return Next::Never,
            Err(error) => {
                now.warned(
                    "could not listen to the database; until it can be, everything is read from it",
                    &error,
                );
                return Next::After(AGAIN_AFTER);
            }
        };
        // What was read before may have changed while nothing listened.
        engine.forget_everything();
        engine.0.cache.complete_until(began);
        engine.look_at_everything();
        if let Some(since) = self.complete_until {
            engine.0.streams.missed(since);
        }
        self.complete_until = Some(engine.now());
        loop {
            let notification = tokio::select! {
                biased;
                () = now.stop.cancelled() => return Next::Never,
                received = notifications.recv() => received,
            };
            let Some(notification) = notification else { break };
            if let Notification::CompleteUntil(at) = notification {
                let ago = i64::try_from(at.elapsed().as_millis()).unwrap_or(0);
                self.complete_until = Some(engine.now().plus_ms(-ago));
            }
            engine.notified(notification, &self.relay).await;
        }
        engine.0.cache.listener_is_down();
        now.warned(
            "lost the LISTEN connection to the database; caches are not used until it is back",
            &ConnectionLost,
        );
        Next::After(AGAIN_AFTER)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the connection was lost")]
struct ConnectionLost;

/// Reads what settled on other servers for the streams here.
pub(super) struct NodeRelay {
    pub(super) engine: Engine,
    pub(super) relayed: mpsc::Receiver<NodeMessage>,
    /// What streams have got of each run.
    pub(super) shown: HashMap<RunId, Shown>,
}

impl Background for NodeRelay {
    const TASK: Task = Task::NodeRelay;
    const TO_THE_END: bool = true;

    async fn activate(&mut self, now: &Activation) -> Next {
        let (engine, shown) = (&self.engine, &mut self.shown);
        let mut messages = Vec::new();
        tokio::select! {
            biased;
            () = now.stop.cancelled() => return Next::Never,
            _ = self.relayed.recv_many(&mut messages, RELAYED_MAX) => {}
        }
        if messages.is_empty() {
            return Next::Never;
        }
        let mut events: HashMap<(OrgId, String), BTreeSet<EventAt>> = HashMap::new();
        let mut of_runs = Vec::new();
        for one in messages {
            match one {
                NodeMessage::Event(org, emitter, at) => {
                    events.entry((org, emitter)).or_default().insert(at);
                }
                of_run @ (NodeMessage::Run(..) | NodeMessage::Line { .. }) => of_runs.push(of_run),
                NodeMessage::Queued | NodeMessage::Followed(_) | NodeMessage::Missed(_) => {}
            }
        }
        for ((org, emitter), wanted) in events {
            if let Err(error) = engine.relay_events(&org, &emitter, &wanted).await {
                now.warned(
                    &format!(
                        "events of `{emitter}` on another server could not be read for a stream"
                    ),
                    &error,
                );
                if let Some(first) = wanted.first() {
                    engine.missed(&NodeMessage::Event(org, emitter, *first));
                }
            }
        }
        for message in of_runs {
            if shown.len() >= RUNS_REMEMBERED {
                shown.clear();
            }
            match message {
                NodeMessage::Line { owner, run, attempt, nth, line }
                    if shown.entry(run.clone()).or_default().is_next(attempt, nth) =>
                {
                    engine.0.streams.send(&owner, || StreamItem::Log(run, line));
                }
                NodeMessage::Run(org, owner, run) => {
                    let before = shown.entry(run.clone()).or_default();
                    if let Err(error) = engine.relay_run(&org, &owner, &run, before).await {
                        now.warned(
                            &format!(
                                "the run `{run}` of another server could not be read for a stream"
                            ),
                            &error,
                        );
                    }
                }
                _ => {}
            }
        }
        Next::Now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_shown_once_and_in_order() {
        let mut shown = Shown::default();
        // One of the first attempt is missed: what comes behind it waits for the store.
        assert!(
            shown.is_next(1, 0)
                && shown.is_next(1, 1)
                && !shown.is_next(1, 3)
                && !shown.is_next(1, 4)
        );
        assert_eq!(shown.lines_shown(0, 1), 0);
        assert_eq!(shown.lines_shown(5, 1), 2);
        // Looked at again, without anything new.
        assert_eq!(shown.lines_shown(5, 1), 5);
        // The second attempt is followed from its third line on.
        assert!(shown.is_next(2, 2) && !shown.is_next(1, 5));
        assert_eq!(shown.lines_shown(9, 2), 8);
        // What a third wrote was lost with its host; nothing of the fourth came by itself.
        assert!(shown.is_next(3, 0) && shown.is_next(3, 0));
        assert_eq!(shown.lines_shown(11, 4), 9);
    }
}
