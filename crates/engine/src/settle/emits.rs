//! Emitted events of a source's run: deduplicated, stored, and passed on to its listeners.

use std::sync::Arc;

use millrace_model::dedupe::{Candidate, dedupe};
use millrace_model::event::Event;
use millrace_model::ids::WebhookId;
use millrace_model::run::{Context, LogLevel, LogLine, NewRun, Start};
use millrace_model::source::Owner;
use millrace_model::subscription::{ERRORS, LOGS, check_channel};
use millrace_store::{Effects, SHARED_EVENT_BYTES_MIN, SourceChange};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::accept::deferred::{no_time, put_off_until};
use crate::run::claimed_run::ClaimedRun;
use crate::run::context::Origin;
use crate::run::program::SourceProgram;
use crate::run::sink::Collected;
use crate::settle::settle_order::{Remembered, Turn};
use crate::{Engine, EngineError};

/// What the runs and deliveries for all listeners of a commit's events may come to, bytes.
const PASSED_ON_BYTES_MAX: usize = 256 << 20;
/// What each counts beside the payload: its context and its row.
const LISTENER_BYTES: usize = 1 << 10;
/// What an event's summary shows at most.
const SUMMARY_CHARS_MAX: usize = 1000;

impl Engine {
    /// Dedupes a source's emits on its state as stored now, and adds events, listeners' runs and
    /// the state's change, with what the run wrote to `$.service.db`.
    pub(crate) async fn add_emits(
        &self,
        effects: &mut Effects,
        source: &SourceProgram,
        context: &Context,
        collected: &Collected,
        turn: &Turn,
    ) -> Result<Option<Remembered>, EngineError> {
        let (emits, db) = (&collected.emits, &collected.db);
        if emits.is_empty() && db.is_empty() {
            return Ok(None);
        }
        let (mut metas, mut payloads) =
            (Vec::with_capacity(emits.len()), Vec::with_capacity(emits.len()));
        for emit in emits {
            let meta = meta_of(emit.meta.as_deref());
            if self.refuse_channel(effects, &channel_of(&meta)) {
                continue;
            }
            if let Some(text) = no_time(&meta) {
                let (at, level) = (emit.at, LogLevel::Warn);
                effects.logs.push(LogLine { at, level, text, step: None });
            }
            let payload =
                emit.event.as_ref().map_or_else(|| "null".to_owned(), |e| e.get().to_owned());
            match put_off_until(&meta, emit.at) {
                // The strategy does not see it: a source that puts a task off emits it under the
                // same id once it is due.
                Some(at) => effects.events.push(self.waiting_event(
                    source,
                    &channel_of(&meta),
                    payload,
                    &shown_meta(&meta),
                    at,
                    context,
                )),
                None => {
                    metas.push(meta);
                    payloads.push(payload);
                }
            }
        }
        let candidates: Vec<Candidate> = metas
            .iter()
            .map(|m| Candidate {
                id: m.get("id").cloned(),
                ts: m.get("ts").and_then(Value::as_f64),
            })
            .collect();
        let remembered = match source.strategy {
            Some(_) if !metas.is_empty() => Some(self.remembered(turn, source).await?),
            _ => None,
        };
        let before = remembered.as_ref().map(|m| m.remembered.clone()).unwrap_or_default();
        let outcome = dedupe(source.strategy, &before.dedupe, &candidates);
        for (_, error) in &outcome.refused {
            effects.logs.push(self.error_line(&format!("Error: {error}")));
        }
        effects.deduped = u64::try_from(
            metas.len().saturating_sub(outcome.emitted.len() + outcome.refused.len()),
        )
        .unwrap_or(0);
        for index in outcome.emitted {
            let payload = std::mem::take(&mut payloads[index]);
            let event = self.new_event(
                source.source.id.as_str(),
                &source.source.org_id,
                channel_of(&metas[index]),
                payload,
                shown_meta(&metas[index]),
            );
            self.add_event(effects, event, context, context.handles_error).await?;
        }
        let leaves = remembered.and_then(|memory| memory.leaves(outcome.state, effects.deduped));
        let state = match &leaves {
            Some(left) => {
                let text = serde_json::to_string(&left.dedupe)
                    .map_err(|e| EngineError::internal("could not write a dedupe state", e))?;
                Some((before.version, text))
            }
            None => None,
        };
        if state.is_some() || !db.is_empty() {
            effects.source = Some(SourceChange {
                source_id: source.source.id.clone(),
                dedupe: state,
                db: db.clone(),
            });
        }
        Ok(leaves)
    }

    pub(crate) fn new_event(
        &self,
        emitter: &str,
        org: &millrace_model::ids::OrgId,
        name: String,
        payload: String,
        metadata: String,
    ) -> Event {
        let now = self.now();
        Event {
            id: self.0.ids.event_id(now),
            org_id: org.clone(),
            emitter_id: emitter.to_owned(),
            name,
            emit_id: self.0.ids.ksuid(now),
            payload,
            metadata,
        }
    }

    /// Whether no code may emit into a channel; the log says so.
    pub(crate) fn refuse_channel(&self, effects: &mut Effects, channel: &str) -> bool {
        let Err(refused) = check_channel(channel) else { return false };
        effects.logs.push(self.error_line(&format!("Error: an event was not emitted: {refused}")));
        true
    }

    /// Adds an event and what goes to its listeners.
    pub(crate) async fn add_event(
        &self,
        effects: &mut Effects,
        event: Event,
        context: &Context,
        handles_error: bool,
    ) -> Result<(), EngineError> {
        self.pass_on(effects, &event, context, handles_error).await?;
        effects.events.push(event);
        Ok(())
    }

    /// Adds a run or a delivery for each listener of an event; a chain that is too long is cut and
    /// says so.
    async fn pass_on(
        &self,
        effects: &mut Effects,
        event: &Event,
        context: &Context,
        handles_error: bool,
    ) -> Result<(), EngineError> {
        let listeners = self
            .subscriptions()
            .listeners_of(&event.org_id, &event.emitter_id, &event.name)
            .await?;
        let origin = Origin {
            trace_id: Some(context.trace_id.clone()),
            hops: context.hops,
            handles_error: handles_error || event.name == ERRORS,
            ..Origin::first("COMPONENT", event.emitter_id.as_str())
        };
        self.pass_on_to(effects, event, &listeners, origin).await
    }

    /// The same to these listeners. `origin`: of their runs, with the hops before.
    pub(crate) async fn pass_on_to(
        &self,
        effects: &mut Effects,
        event: &Event,
        listeners: &[String],
        origin: Origin,
    ) -> Result<(), EngineError> {
        let hops = origin.hops.unwrap_or(0) + 1;
        let origin = Origin { hops: Some(hops), ..origin };
        let trace_id = origin.trace_id.as_deref().unwrap_or_default();
        if hops > self.0.config.hops_max && !listeners.is_empty() {
            let cut = format!(
                "the event was not passed on: it has gone through {} workflows and sources, the limit; listeners left out: {}",
                hops - 1,
                listeners.join(", ")
            );
            effects.logs.push(self.error_line(&cut));
        } else if Self::makes_too_much(effects, event, listeners) {
            let cut = format!(
                "Error: events were not passed on to their {} listeners: with them, what one commit of this run makes for listeners would have more than {} MiB, \
                 the limit; emit less in one run, or keep large data outside and emit where it is",
                listeners.len(),
                PASSED_ON_BYTES_MAX >> 20
            );
            // Once, however many events there are.
            if effects.logs.last().is_none_or(|line| line.text != cut) {
                effects.logs.push(self.error_line(&cut));
            }
        } else {
            let payload: Arc<str> = event.payload.as_str().into();
            for listener in listeners {
                if listener.starts_with(WebhookId::PREFIX) {
                    effects
                        .webhook_deliveries
                        .push(self.webhooks().delivery(event, listener, trace_id)?);
                    continue;
                }
                if self.0.full_queues.contains(listener) {
                    let cut = format!(
                        "Error: the event was not passed on to `{listener}`: as many of its runs wait as may, {} (--waiting-runs-max); pass it on again once they have run",
                        self.0.config.waiting_runs_max
                    );
                    if effects.logs.iter().all(|line| line.text != cut) {
                        effects.logs.push(self.error_line(&cut));
                    }
                    continue;
                }
                if let Some(run) = self.listener_run(event, &payload, listener, &origin).await? {
                    effects.runs.push(run);
                }
            }
        }
        Ok(())
    }

    /// Passes a source's log lines on as one event, where somebody listens to `$logs`. The event is
    /// kept nowhere else: the lines are in the log. One for a run, so that what logs while it
    /// handles logs makes no more of them each time.
    pub(crate) async fn add_log_event(
        &self,
        effects: &mut Effects,
        claimed: &ClaimedRun,
        context: &Context,
    ) -> Result<(), EngineError> {
        if effects.logs.is_empty()
            || self
                .subscriptions()
                .listeners_of(&claimed.org_id, claimed.owner.as_str(), LOGS)
                .await?
                .is_empty()
        {
            return Ok(());
        }
        let lines: Vec<Value> = effects
            .logs
            .iter()
            .map(|line| json!({ "ts": line.at.ms(), "level": line.level, "text": line.text }))
            .collect();
        let event = self.new_event(
            claimed.owner.as_str(),
            &claimed.org_id,
            LOGS.into(),
            json!({ "run_id": claimed.id, "lines": lines }).to_string(),
            "{}".into(),
        );
        self.pass_on(effects, &event, context, context.handles_error).await
    }

    /// Whether an event's listeners would make a commit larger than it may be; else they are
    /// counted.
    fn makes_too_much(effects: &mut Effects, event: &Event, listeners: &[String]) -> bool {
        let webhooks = listeners.iter().filter(|id| id.starts_with(WebhookId::PREFIX)).count();
        let runs = listeners.len() - webhooks;
        let is_shared = event.payload.len() >= SHARED_EVENT_BYTES_MIN;
        let payloads = webhooks + if is_shared { runs.min(1) } else { runs };
        let comes_to = effects
            .passed_on_bytes
            .saturating_add(event.payload.len().saturating_mul(payloads))
            .saturating_add(LISTENER_BYTES.saturating_mul(listeners.len()));
        let is_too_much = comes_to > PASSED_ON_BYTES_MAX;
        if !is_too_much {
            effects.passed_on_bytes = comes_to;
        }
        is_too_much
    }

    async fn listener_run(
        &self,
        event: &Event,
        payload: &Arc<str>,
        listener: &str,
        origin: &Origin,
    ) -> Result<Option<NewRun>, EngineError> {
        let owner = Owner::from_row(listener.to_owned());
        let Some(program) = self.live_program(&event.org_id, &owner).await? else {
            return Ok(None);
        };
        if !program.identity().active {
            return Ok(None);
        }
        self.new_run(&program, origin, payload.clone(), Start::Queued).map(Some)
    }
}

fn meta_of(meta: Option<&RawValue>) -> Map<String, Value> {
    meta.and_then(|m| millrace_model::json::from_str(m.get()).ok()).unwrap_or_default()
}

/// The channel that an emit is for.
fn channel_of(meta: &Map<String, Value>) -> String {
    meta.get("name").and_then(Value::as_str).unwrap_or("").to_owned()
}

/// What the history keeps of an emit's metadata.
pub(crate) fn shown_meta(meta: &Map<String, Value>) -> String {
    let mut shown = Map::new();
    for field in ["id", "summary", "ts"] {
        match meta.get(field) {
            Some(Value::String(text)) => {
                shown.insert(
                    field.into(),
                    Value::from(text.chars().take(SUMMARY_CHARS_MAX).collect::<String>()),
                );
            }
            Some(value @ (Value::Number(_) | Value::Bool(_))) => {
                shown.insert(field.into(), value.clone());
            }
            _ => {}
        }
    }
    Value::Object(shown).to_string()
}
