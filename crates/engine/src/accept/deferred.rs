//! Deferred events (reference 3): an emit with a `delivery_ts` that is yet to come waits in the
//! channel `$in` of its emitter, and is delivered as any other once it is due.

use millrace_model::clock::Timestamp;
use millrace_model::error_chain;
use millrace_model::event::Event;
use millrace_model::ids::RunId;
use millrace_model::run::Context;
use millrace_model::source::Owner;
use millrace_model::subscription::DEFERRED;
use millrace_store::{Effects, StoreError};
use serde_json::{Map, Value, json};

use crate::background::Task;
use crate::run::program::SourceProgram;
use crate::settle::publish::Settled;
use crate::{Engine, EngineError};

/// The end of the year 9999: further away is a slip, and no later than that.
const LATEST_MS: f64 = 253_402_300_799_999.0;
/// Fields of a waiting event's metadata that are not the event's own.
const WAITING_FIELDS: [&str; 5] = ["delivery_ts", "channel", "trace_id", "hops", "handles_error"];

/// Until when an emit is put off that came `at` a time; none where it is not, or that time had
/// come.
pub(crate) fn put_off_until(meta: &Map<String, Value>, at: Timestamp) -> Option<Timestamp> {
    let until =
        meta.get("delivery_ts").and_then(Value::as_f64).filter(|until| until.is_finite())?;
    let until = Timestamp(until.min(LATEST_MS) as i64);
    (until > at).then_some(until)
}

/// What is wrong with a `delivery_ts` that is no time: its event is emitted at once.
pub(crate) fn no_time(meta: &Map<String, Value>) -> Option<String> {
    let given = meta.get("delivery_ts").filter(|given| !given.is_null() && !given.is_number())?;
    Some(format!(
        "`delivery_ts` of an event is `{}`, and has to be a number, milliseconds since 1970: the event was emitted at once",
        millrace_model::shown(&given.to_string())
    ))
}

impl Engine {
    /// The event as it waits in `$in`; `metadata` is the event's own.
    pub(crate) fn waiting_event(
        &self,
        source: &SourceProgram,
        channel: &str,
        payload: String,
        metadata: &str,
        at: Timestamp,
        cause: &Context,
    ) -> Event {
        let mut shown: Map<String, Value> =
            millrace_model::json::from_str(metadata).unwrap_or_default();
        shown.insert("delivery_ts".into(), json!(at.ms()));
        shown.insert("channel".into(), json!(channel));
        shown.insert("trace_id".into(), json!(cause.trace_id));
        shown.insert("hops".into(), json!(cause.hops));
        shown.insert("handles_error".into(), json!(cause.handles_error));
        self.new_event(
            source.source.id.as_str(),
            &source.source.org_id,
            DEFERRED.into(),
            payload,
            Value::Object(shown).to_string(),
        )
    }

    /// Delivers what is due; the error is that of the first event that could not be delivered.
    pub(crate) async fn deliver_deferred(&self, limit: u32) -> Result<(), EngineError> {
        let mut delivered = Ok(());
        for event in self.0.store.due_deferred(self.now(), limit).await? {
            if let Err(error) = self.deliver_waiting(&event).await {
                tracing::error!(emitter.id = event.emitter_id, event.id = %event.id, error = error_chain(&error), "could not deliver a deferred event");
                delivered = delivered.and(Err(error));
            }
        }
        delivered
    }

    async fn deliver_waiting(&self, waiting: &Event) -> Result<(), EngineError> {
        let mut metadata: Map<String, Value> = millrace_model::json::from_str(&waiting.metadata)
            .map_err(|e| EngineError::damaged("a deferred event", e))?;
        let text =
            |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or("").to_owned();
        let (channel, trace_id) = (text("channel"), text("trace_id"));
        let hops =
            metadata.get("hops").and_then(Value::as_u64).and_then(|hops| u32::try_from(hops).ok());
        let handles_error = metadata.get("handles_error") == Some(&Value::Bool(true));
        metadata.retain(|field, _| !WAITING_FIELDS.contains(&field.as_str()));
        let mut effects = Effects {
            deferred: Some((waiting.emitter_id.clone(), waiting.id)),
            ..Effects::default()
        };
        // What a source that was deleted meanwhile put off goes with it.
        if self
            .live_program(&waiting.org_id, &Owner::from_row(waiting.emitter_id.clone()))
            .await?
            .is_some()
        {
            let context = Context { trace_id, hops, handles_error, ..Context::default() };
            let event = self.new_event(
                &waiting.emitter_id,
                &waiting.org_id,
                channel,
                waiting.payload.clone(),
                Value::Object(metadata).to_string(),
            );
            let event = Event { emit_id: waiting.emit_id.clone(), ..event };
            effects.log_owner = Some((
                waiting.org_id.clone(),
                waiting.emitter_id.clone(),
                RunId::at(&self.0.ids, self.now()),
            ));
            self.add_event(&mut effects, event, &context, handles_error).await?;
        }
        let settled = Settled::of(&effects, 0);
        let log = effects.log_owner.clone().filter(|_| !effects.logs.is_empty());
        match self.0.store.settle_effects(effects).await {
            Ok(()) => {}
            // Another server delivered it, or it was taken back.
            Err(StoreError::StateChanged) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        self.publish_settled(settled);
        if let Some((org, owner, run)) = log {
            self.publish_log(&org, &owner, &run);
        }
        self.queued();
        self.0.tasks.wake(Task::WebhookDispatcher);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emit_is_put_off_only_to_a_time_to_come() {
        let now = Timestamp(1_700_000_000_000);
        let check = |value: Value| {
            put_off_until(json!({ "delivery_ts": value }).as_object().expect("an object"), now)
                .map(Timestamp::ms)
        };
        assert_eq!(check(json!(1_700_000_000_001_i64)), Some(1_700_000_000_001));
        assert_eq!(check(json!(1_700_000_000_000_i64)), None);
        // Seconds are long past, as milliseconds.
        assert_eq!(check(json!(1_700_000_060)), None);
        assert_eq!(check(json!(1e300)), Some(253_402_300_799_999));
        for none in [json!(null), json!("1700000000001"), json!({}), json!(-1)] {
            assert_eq!(check(none), None);
        }
        let told =
            |value: Value| no_time(json!({ "delivery_ts": value }).as_object().expect("an object"));
        assert_eq!((told(json!(null)), told(json!(5)), no_time(&Map::new())), (None, None, None));
        assert!(told(json!("2026-01-01")).is_some_and(|text| text.contains("`\"2026-01-01\"`")));
    }
}
