//! Events of a source that a person emits, or sends again, without a run of its code.

use millrace_model::event::Event;
use millrace_model::ids::{EventId, RunId, SourceId};
use millrace_model::subscription::{DEFERRED, ERRORS, check_channel};
use millrace_model::tenant::Caller;
use millrace_store::Effects;
use serde_json::{Map, Value};

use crate::accept::app_hooks::EVENT_BYTES_MAX;
use crate::background::Task;
use crate::run::context::Origin;
use crate::settle::emits::shown_meta;
use crate::{Engine, EngineError};

/// An event to be emitted.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// Its data.
    pub event: Value,
    /// The channel; empty for the default one.
    pub channel: String,
    /// `id`, `summary` and `ts`, as `$emit` takes them.
    pub metadata: Map<String, Value>,
}

/// What an event started.
#[derive(Clone, Debug)]
pub struct PassedOn {
    /// The event.
    pub event: EventId,
    /// Runs of workflows and sources.
    pub runs: Vec<RunId>,
    /// Deliveries to webhooks.
    pub deliveries: usize,
}

impl Engine {
    /// Emits an event in the name of a source. Dedupe neither sees nor remembers it.
    pub async fn emit_event(
        &self,
        caller: &Caller,
        id: &SourceId,
        new: NewEvent,
    ) -> Result<PassedOn, EngineError> {
        let source = self.owned_source(caller, id).await?;
        check_channel(&new.channel)
            .map_err(|message| EngineError::invalid("event_name", message))?;
        let payload = new.event.to_string();
        if payload.len() > EVENT_BYTES_MAX {
            return Err(EngineError::TooLarge {
                message: format!("the event is larger than {EVENT_BYTES_MAX} bytes"),
            });
        }
        let event = self.new_event(
            source.id.as_str(),
            &source.org_id,
            new.channel,
            payload,
            shown_meta(&new.metadata),
        );
        let listeners = self
            .subscriptions()
            .listeners_of(&event.org_id, &event.emitter_id, &event.name)
            .await?;
        let mut effects = self.passed_on(&event, &listeners, false).await?;
        effects.events.push(event.clone());
        self.commit_passed_on(event.id, effects).await
    }

    /// Sends a recorded event to the listeners of now again, or to one of them. It is not recorded
    /// a second time.
    pub async fn replay_event(
        &self,
        caller: &Caller,
        id: &SourceId,
        event: EventId,
        to: Option<&str>,
    ) -> Result<PassedOn, EngineError> {
        let source = self.owned_source(caller, id).await?;
        let before = EventId::from_ordinal(event.ordinal() - 1);
        let found =
            self.0.store.events_after(&caller.org_id, source.id.as_str(), before, 1).await?.pop();
        let recorded = found
            .filter(|found| found.id == event && found.name != DEFERRED)
            .ok_or_else(|| EngineError::not_found("event", event))?;
        let all = self
            .subscriptions()
            .listeners_of(&recorded.org_id, &recorded.emitter_id, &recorded.name)
            .await?;
        let listeners: Vec<String> =
            all.iter().filter(|listener| to.is_none_or(|to| to == *listener)).cloned().collect();
        if let (Some(to), true) = (to, listeners.is_empty()) {
            let shown = millrace_model::shown(to);
            let message = format!(
                "`{shown}` is no active listener of this event's channel; allowed are {}",
                shown_listeners(&all)
            );
            return Err(EngineError::invalid("listener_id", message));
        }
        let effects = self.passed_on(&recorded, &listeners, true).await?;
        self.commit_passed_on(event, effects).await
    }

    async fn passed_on(
        &self,
        event: &Event,
        listeners: &[String],
        is_replay: bool,
    ) -> Result<Effects, EngineError> {
        let mut effects = Effects::default();
        let origin = Origin {
            trace_id: Some(self.0.ids.ksuid(self.now())),
            handles_error: event.name == ERRORS,
            replay: is_replay,
            ..Origin::first("COMPONENT", event.emitter_id.as_str())
        };
        self.pass_on_to(&mut effects, event, listeners, origin).await?;
        // No run has a log that could say so.
        match effects.logs.pop() {
            Some(line) => Err(EngineError::TooLarge { message: line.text }),
            None => Ok(effects),
        }
    }

    async fn commit_passed_on(
        &self,
        event: EventId,
        effects: Effects,
    ) -> Result<PassedOn, EngineError> {
        let passed = PassedOn {
            event,
            runs: effects.runs.iter().map(|run| run.id.clone()).collect(),
            deliveries: effects.webhook_deliveries.len(),
        };
        let events = effects.events.clone();
        self.0.store.settle_effects(effects).await?;
        self.publish_to_streams(events);
        self.queued();
        self.0.tasks.wake(Task::WebhookDispatcher);
        Ok(passed)
    }
}

/// The first of them by their ids.
fn shown_listeners(listeners: &[String]) -> String {
    match listeners {
        [] => "none, as nothing listens".into(),
        some => some.iter().take(20).cloned().collect::<Vec<_>>().join(", "),
    }
}
