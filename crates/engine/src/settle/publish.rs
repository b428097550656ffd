//! Publication of what was settled: events and log lines go to streams once they are committed.

use std::sync::Arc;

use millrace_model::event::Event;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::run::{LogLevel, LogLine};
use millrace_model::subscription::DEFERRED;
use millrace_store::Effects;

use crate::background::Task;
use crate::{Engine, StreamItem};

/// What a commit leaves for streams.
pub(crate) struct Settled {
    events: Vec<Event>,
    /// Whose lines these are: organization, owner, run.
    log_owner: Option<(OrgId, String, RunId)>,
    /// Lines that the server added: those of the code were streamed as they were written.
    lines: Vec<LogLine>,
}

impl Settled {
    /// `streamed`: how many of the lines streams have got.
    pub(crate) fn of(effects: &Effects, streamed: usize) -> Self {
        let lines = effects.logs.get(streamed..).unwrap_or_default().to_vec();
        let log_owner = effects.log_owner.as_ref().filter(|_| !lines.is_empty()).cloned();
        Self { events: effects.events.clone(), log_owner, lines }
    }
}

impl Engine {
    /// Publishes what a commit left to the streams of this server. Other servers read it.
    pub(crate) fn publish_settled(&self, settled: Settled) {
        if let Some((_, owner, run)) = &settled.log_owner {
            for line in settled.lines {
                self.0.streams.send(owner, || StreamItem::Log(run.clone(), line));
            }
        }
        self.publish_to_streams(settled.events);
    }

    pub(crate) fn publish_to_streams(&self, events: Vec<Event>) {
        self.0.metrics.settled_events(events.len());
        for event in events {
            if event.name == DEFERRED {
                self.0.tasks.wake(Task::Scheduler);
            }
            self.publish_event(&event);
            let owner = event.emitter_id.clone();
            self.0.streams.send(&owner, || StreamItem::Event(Arc::new(event)));
        }
    }

    pub(crate) fn error_line(&self, text: &str) -> LogLine {
        LogLine { at: self.now(), level: LogLevel::Error, text: text.to_owned(), step: None }
    }
}
