//! Settling: what a run leaves becomes durable in one transaction (invariants 2, 3, 4).

pub(crate) mod error_events;
pub(crate) mod notice;
pub(crate) mod sends;
pub(crate) mod turns;

use std::sync::Arc;

use millrace_model::dedupe::{Candidate, dedupe};
use millrace_model::error_event::KEPT_NOTHING;
use millrace_model::event::Event;
use millrace_model::ids::{RunId, WebhookId};
use millrace_model::run::{Context, LogLevel, LogLine, NewRun, RunKind, RunResult, RunStatus, Start, StepResult};
use millrace_model::source::Owner;
use millrace_model::subscription::{DEFERRED, ERRORS, LOGS};
use millrace_runner::CallOutcome;
use millrace_store::{Effects, Pausing, Settlement, SourceChange, StoreError};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::accept::deferred::put_off_until;
use crate::run::context::Origin;
use crate::run::execute::Held;
use crate::run::pauses::{Carried, Rest, may_pause};
use crate::run::program::{Program, SourceProgram};
use crate::run::sink::Collected;
use crate::settle::error_events::Failed;
use crate::settle::turns::{Remembered, Turn};
use crate::{Engine, EngineError, StreamItem};

/// How often a settlement is decided anew because the source's state moved under it.
const TRIES_MAX: u32 = 50;
/// What an event's summary shows at most.
const SUMMARY_CHARS_MAX: usize = 1000;

impl Engine {
    /// Settles a run with all it did; or its attempt, where that ended with a pause.
    pub(crate) async fn settle_run(
        &self,
        held: &Held,
        program: &Arc<Program>,
        carried: Carried,
        mut collected: Collected,
        outcome: CallOutcome,
    ) -> Result<(), EngineError> {
        let context: Context = serde_json::from_str(&held.context).map_err(|e| EngineError::internal("a stored context is damaged", e))?;
        let mut error = outcome.result.as_ref().err().map(|failure| self.error_body(program, failure));
        let mut rest = self.rest(held, program, &carried, &outcome)?;
        if let Some(rest) = &mut rest
            && let Some(error) = error.take()
        {
            // Withheld from `$errors` until the last retry has failed.
            collected.logs.push(self.error_line(&format!("{}\nthe step runs again at {}", error.stack, rest.wake_at.iso())));
            rest.step = Some(self.retried_step(held, rest, &error)?);
        }
        if let (Some(error), Program::Source(_)) = (&error, &**program) {
            collected.logs.push(self.error_line(&error.stack));
        }
        let status = if error.is_some() { RunStatus::Failed } else { RunStatus::Succeeded };
        let mut settlement = self.bare_settlement(held, status)?;
        let mut result = result_of(carried, &mut collected, &outcome)?;
        settlement.error = match &error {
            Some(error) => Some(serde_json::to_string(error).map_err(|e| EngineError::internal("could not write an error", e))?),
            None => None,
        };
        let mut effects = Effects { log_owner: Some((held.org_id.clone(), held.owner.as_str().to_owned(), held.id.clone())), ..Effects::default() };
        if held.kind == RunKind::Live
            && let Some(error) = &error
        {
            settlement.group = Some(self.error_group(held, program, error));
            self.add_error_event(&mut effects, &mut collected, Failed { held, error, result: &result }, program, &context).await?;
        }
        self.add_sends(&mut effects, &mut collected, held, &context).await?;
        // What was cut off on the way is in the log as well.
        collected.logs.append(&mut effects.logs);
        if let Some(rest) = rest {
            effects.logs = collected.logs;
            result.paused = Some(rest.shown());
            if let Some(step) = &rest.step {
                result.steps.retain(|s| s.namespace != step.namespace);
                result.steps.push(step.clone());
            }
            return self.pause(held, rest, result_text(&result)?, effects).await;
        }
        if context.keeps_nothing {
            if let Some(late) = &collected.late {
                late.drop_all();
            }
            forget(&mut settlement, &mut result, &mut collected)?;
        }
        settlement.result = result_text(&result)?;
        let base = effects;
        match &**program {
            Program::Workflow(_) => {
                settlement.effects = Effects { logs: collected.logs, ..base };
                self.commit(program, settlement).await
            }
            Program::Source(source) => self.settle_source(held, program, source, &context, collected, settlement, base).await,
        }
    }

    /// The pause that the attempt ended with.
    fn rest(&self, held: &Held, program: &Program, carried: &Carried, outcome: &CallOutcome) -> Result<Option<Rest>, EngineError> {
        match (&outcome.result, program) {
            (Err(failure), Program::Workflow(workflow)) if may_pause(held) => {
                Ok(workflow.settings.auto_retry.as_ref().and_then(|retry| Rest::retry(retry, failure, carried, self.now())))
            }
            (Ok(done), Program::Workflow(_)) if may_pause(held) => done.paused.as_ref().map(|paused| Rest::of(paused, self.now())).transpose(),
            _ => Ok(None),
        }
    }

    /// Ends the attempt with a pause, and all it did with it.
    async fn pause(&self, held: &Held, rest: Rest, result: String, effects: Effects) -> Result<(), EngineError> {
        let (events, listeners, to_webhooks) = (effects.events.clone(), effects.runs.len(), !effects.webhook_deliveries.is_empty());
        let state = serde_json::to_string(&rest.state).map_err(|e| EngineError::internal("could not write a pause", e))?;
        let (run_id, attempt) = (held.id.clone(), held.attempt);
        let pausing = Pausing { run_id, attempt, now: self.now(), wake_at: rest.wake_at, then: rest.then, state, result, effects };
        let status = self.0.store.pause_run(pausing).await?;
        self.tell_streams(events);
        self.run_changed(&held.org_id, held.owner.as_str(), &held.id);
        if listeners > 0 || status == RunStatus::Queued {
            self.queued();
        }
        if to_webhooks {
            self.0.wake_webhooks.notify_one();
        }
        self.0.wake_scheduler.notify_one();
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one settlement, taken apart once")]
    async fn settle_source(
        &self,
        held: &Held,
        program: &Arc<Program>,
        source: &SourceProgram,
        context: &Context,
        collected: Collected,
        settlement: Settlement,
        base: Effects,
    ) -> Result<(), EngineError> {
        for _ in 0..TRIES_MAX {
            let turn = self.0.turns.of(&source.source.id).await;
            let mut effects = base.clone();
            effects.logs.clone_from(&collected.logs);
            let db = self.0.writes.not_overtaken(&source.source.id, &collected.db);
            let written = i64::from(!db.is_empty());
            let leaves = self.add_emits(&mut effects, source, context, &collected, db, &turn).await?;
            self.add_log_event(&mut effects, held, context).await?;
            let attempt = Settlement { effects, ..settlement.clone() };
            self.0.writes.settled(&source.source.id, &collected.db);
            self.0.writes.settlement(&source.source.id, written);
            let done = self.commit_in_turn(turn, leaves, self.commit(program, attempt)).await;
            if done.is_err() {
                self.0.writes.taken_back(&source.source.id, &collected.db);
                self.0.writes.settlement(&source.source.id, -written);
            }
            match done {
                Err(EngineError::Internal { source: cause, .. }) if is_state_changed(&*cause) => {}
                other => return other,
            }
        }
        Err(EngineError::internal("a source's state kept changing while its run was settled", held.id.to_string()))
    }

    /// What a hook left, which is no run of the queue.
    pub(crate) async fn settle_hook(
        &self,
        program: &Program,
        source: &SourceProgram,
        run_id: &RunId,
        origin: &Origin,
        collected: Collected,
    ) -> Result<(), EngineError> {
        let context: Context = {
            let run = self.new_run(program, origin, "null".into(), Start::Queued)?;
            serde_json::from_str(&run.context).map_err(|e| EngineError::internal("a context is damaged", e))?
        };
        for _ in 0..TRIES_MAX {
            let turn = self.0.turns.of(&source.source.id).await;
            let mut effects = Effects {
                logs: collected.logs.clone(),
                log_owner: Some((source.source.org_id.clone(), source.source.id.to_string(), run_id.clone())),
                ..Effects::default()
            };
            let db = self.0.writes.not_overtaken(&source.source.id, &collected.db);
            let written = i64::from(!db.is_empty());
            let leaves = self.add_emits(&mut effects, source, &context, &collected, db, &turn).await?;
            let events = effects.events.clone();
            let commit = async { self.0.store.settle_effects(effects).await.map_err(EngineError::from) };
            self.0.writes.settled(&source.source.id, &collected.db);
            self.0.writes.settlement(&source.source.id, written);
            let done = self.commit_in_turn(turn, leaves, commit).await;
            if done.is_err() {
                self.0.writes.taken_back(&source.source.id, &collected.db);
                self.0.writes.settlement(&source.source.id, -written);
            }
            match done {
                Err(EngineError::Internal { source: cause, .. }) if is_state_changed(&*cause) => {}
                other => {
                    other?;
                    self.tell_streams(events);
                    self.queued();
                    self.0.wake_webhooks.notify_one();
                    return Ok(());
                }
            }
        }
        Err(EngineError::internal("a source's state kept changing while a hook was settled", source.source.id.to_string()))
    }

    async fn commit(&self, program: &Program, settlement: Settlement) -> Result<(), EngineError> {
        let effects = &settlement.effects;
        let (events, listeners, mail) = (effects.events.clone(), effects.runs.len(), effects.notice.is_some());
        let (sent, to_webhooks) = (!effects.deliveries.is_empty(), !effects.webhook_deliveries.is_empty());
        let run_id = settlement.run_id.clone();
        let isolate = match program {
            Program::Source(source) => Some(source.isolate.id.clone()),
            Program::Workflow(_) => None,
        };
        match self.0.store.settle(settlement).await {
            Ok(()) => {}
            Err(StoreError::StateChanged) => return Err(EngineError::internal("the source's state changed", StoreError::StateChanged)),
            Err(error) => {
                // The host's live `$.service.db` now holds writes that are not stored: the next run loads the stored ones. One that began since waits
                // for the end of this run before it reads them.
                if let Some(isolate) = isolate {
                    self.0.runner.evict_begun(&isolate).await;
                }
                return Err(error.into());
            }
        }
        self.tell_streams(events);
        let identity = program.identity();
        self.run_changed(identity.org_id, identity.owner.as_str(), &run_id);
        if listeners > 0 {
            self.queued();
        }
        if mail {
            self.0.wake_mailer.notify_one();
        }
        if sent {
            self.0.wake_deliverer.notify_one();
        }
        if to_webhooks {
            self.0.wake_webhooks.notify_one();
        }
        Ok(())
    }

    pub(crate) fn tell_streams(&self, events: Vec<Event>) {
        self.0.metrics.settled_events(events.len());
        for event in events {
            if event.name == DEFERRED {
                self.0.wake_scheduler.notify_one();
            }
            self.tell_others_of_event(&event);
            let owner = event.emitter_id.clone();
            self.0.streams.send(&owner, || StreamItem::Event(Arc::new(event)));
        }
    }

    /// The end of a run without effects.
    pub(crate) fn bare_settlement(&self, held: &Held, status: RunStatus) -> Result<Settlement, EngineError> {
        let result = serde_json::to_string(&RunResult::default()).map_err(|e| EngineError::internal("could not write a result", e))?;
        Ok(Settlement {
            run_id: held.id.clone(),
            attempt: held.attempt,
            status,
            finished_at: self.now(),
            result,
            error: None,
            group: None,
            forget: None,
            effects: Effects::default(),
        })
    }

    pub(crate) fn error_line(&self, text: &str) -> LogLine {
        LogLine { at: self.now(), level: LogLevel::Error, text: text.to_owned() }
    }

    /// Dedupes a source's emits on its state as stored now, and adds events, listeners' runs and the state's change. `db`: its writes that count.
    async fn add_emits(
        &self,
        effects: &mut Effects,
        source: &SourceProgram,
        context: &Context,
        collected: &Collected,
        db: Vec<(String, Option<String>)>,
        turn: &Turn,
    ) -> Result<Option<Remembered>, EngineError> {
        let emits = &collected.emits;
        if emits.is_empty() && db.is_empty() {
            return Ok(None);
        }
        let now = self.now();
        let (mut metas, mut payloads) = (Vec::with_capacity(emits.len()), Vec::with_capacity(emits.len()));
        for emit in emits {
            let meta = meta_of(emit.meta.as_deref());
            let payload = emit.event.as_ref().map_or_else(|| "null".to_owned(), |e| e.get().to_owned());
            match put_off_until(&meta, now) {
                // The strategy does not see it: a source that puts a task off emits it under the same id once it is due.
                Some(at) => effects.events.push(self.waiting_event(source, &channel_of(&meta), payload, &shown_meta(&meta), at, context)),
                None => {
                    metas.push(meta);
                    payloads.push(payload);
                }
            }
        }
        let candidates: Vec<Candidate> = metas.iter().map(|m| Candidate { id: m.get("id").cloned(), ts: m.get("ts").and_then(Value::as_f64) }).collect();
        let remembered = match source.strategy {
            Some(_) if !metas.is_empty() => Some(self.remembered(turn, source).await?),
            _ => None,
        };
        let before = remembered.as_ref().map(|r| r.dedupe.clone()).unwrap_or_default();
        let outcome = dedupe(source.strategy, &before, &candidates);
        for (_, error) in &outcome.refused {
            effects.logs.push(self.error_line(&format!("Error: {error}")));
        }
        for index in outcome.emitted {
            let payload = std::mem::take(&mut payloads[index]);
            let event = self.new_event(source.source.id.as_str(), &source.source.org_id, channel_of(&metas[index]), payload, shown_meta(&metas[index]));
            self.add_event(effects, event, context, context.handles_error).await?;
        }
        let changed = remembered.filter(|_| outcome.state != before);
        let state = match &changed {
            Some(before) => {
                let text = serde_json::to_string(&outcome.state).map_err(|e| EngineError::internal("could not write a dedupe state", e))?;
                Some((before.version, text))
            }
            None => None,
        };
        if state.is_some() || !db.is_empty() {
            effects.source = Some(SourceChange { source_id: source.source.id.clone(), dedupe: state, db });
        }
        Ok(changed.map(|before| Remembered { version: before.version + 1, dedupe: outcome.state }))
    }

    pub(crate) fn new_event(&self, emitter: &str, org: &millrace_model::ids::OrgId, name: String, payload: String, metadata: String) -> Event {
        let now = self.now();
        Event { id: self.0.ids.event_id(now), org_id: org.clone(), emitter_id: emitter.to_owned(), name, emit_id: self.0.ids.ksuid(now), payload, metadata }
    }

    /// Adds an event and what goes to its listeners.
    pub(crate) async fn add_event(&self, effects: &mut Effects, event: Event, context: &Context, handles_error: bool) -> Result<(), EngineError> {
        self.pass_on(effects, &event, context, handles_error).await?;
        effects.events.push(event);
        Ok(())
    }

    /// Adds a run or a delivery for each listener of an event; a chain that is too long is cut and says so.
    async fn pass_on(&self, effects: &mut Effects, event: &Event, context: &Context, handles_error: bool) -> Result<(), EngineError> {
        let listeners = self.listeners_of(&event.org_id, &event.emitter_id, &event.name).await?;
        let hops = context.hops.unwrap_or(0) + 1;
        if hops > self.0.config.hops_max && !listeners.is_empty() {
            let cut = format!(
                "the event was not passed on: it has gone through {} workflows and sources, the limit; listeners left out: {}",
                hops - 1,
                listeners.join(", ")
            );
            effects.logs.push(self.error_line(&cut));
        } else {
            for listener in listeners.iter() {
                if listener.starts_with(WebhookId::PREFIX) {
                    effects.webhook_deliveries.push(self.webhook_delivery(event, listener, &context.trace_id)?);
                    continue;
                }
                let origin = Origin {
                    trace_id: Some(context.trace_id.clone()),
                    hops: Some(hops),
                    handles_error: handles_error || event.name == ERRORS,
                    ..Origin::first("COMPONENT", event.emitter_id.as_str())
                };
                if let Some(run) = self.listener_run(event, listener, &origin).await? {
                    effects.runs.push(run);
                }
            }
        }
        Ok(())
    }

    /// Passes a source's log lines on as one event, where somebody listens to `$logs`. The event is kept nowhere else: the
    /// lines are in the log. One for a run, so that what logs while it handles logs makes no more of them each time.
    async fn add_log_event(&self, effects: &mut Effects, held: &Held, context: &Context) -> Result<(), EngineError> {
        if effects.logs.is_empty() || self.listeners_of(&held.org_id, held.owner.as_str(), LOGS).await?.is_empty() {
            return Ok(());
        }
        let lines: Vec<Value> = effects.logs.iter().map(|line| json!({ "ts": line.at.ms(), "level": line.level, "text": line.text })).collect();
        let event = self.new_event(held.owner.as_str(), &held.org_id, LOGS.into(), json!({ "run_id": held.id, "lines": lines }).to_string(), "{}".into());
        self.pass_on(effects, &event, context, context.handles_error).await
    }

    async fn listener_run(&self, event: &Event, listener: &str, origin: &Origin) -> Result<Option<NewRun>, EngineError> {
        let owner = Owner::from_row(listener.to_owned());
        let Some(program) = self.live_program(&event.org_id, &owner).await? else { return Ok(None) };
        if !program.identity().active {
            return Ok(None);
        }
        self.new_run(&program, origin, event.payload.clone(), Start::Queued).map(Some)
    }
}

fn is_state_changed(cause: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    matches!(cause.downcast_ref::<StoreError>(), Some(StoreError::StateChanged))
}

fn meta_of(meta: Option<&RawValue>) -> Map<String, Value> {
    meta.and_then(|m| serde_json::from_str(m.get()).ok()).unwrap_or_default()
}

/// The channel that an emit is for.
fn channel_of(meta: &Map<String, Value>) -> String {
    meta.get("name").and_then(Value::as_str).unwrap_or("").to_owned()
}

/// What the history keeps of an emit's metadata.
fn shown_meta(meta: &Map<String, Value>) -> String {
    let mut shown = Map::new();
    for field in ["id", "summary", "ts"] {
        match meta.get(field) {
            Some(Value::String(text)) => {
                shown.insert(field.into(), Value::from(text.chars().take(SUMMARY_CHARS_MAX).collect::<String>()));
            }
            Some(value @ (Value::Number(_) | Value::Bool(_))) => {
                shown.insert(field.into(), value.clone());
            }
            _ => {}
        }
    }
    Value::Object(shown).to_string()
}

/// What the run leaves: the steps of earlier attempts, then those of this one.
fn result_of(carried: Carried, collected: &mut Collected, outcome: &CallOutcome) -> Result<RunResult, EngineError> {
    let empty = || RawValue::from_string("{}".into()).map_err(|e| EngineError::internal("could not write a result", e));
    let mut result = RunResult { duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX), steps: carried.steps, ..RunResult::default() };
    // A step that runs again is not finished, and is shown by its pause.
    let again = outcome.result.as_ref().ok().and_then(|done| done.paused.as_ref()).map(|p| p.namespace.clone());
    for step in collected.steps.drain(..).filter(|s| s.finished.is_some() || Some(&s.namespace) != again.as_ref()) {
        result.steps.push(match step.finished {
            Some((duration_ms, exports)) => StepResult { namespace: step.namespace, status: RunStatus::Succeeded, duration_ms: Some(duration_ms), exports },
            None => StepResult { namespace: step.namespace, status: RunStatus::Failed, duration_ms: None, exports: empty()? },
        });
    }
    if let Ok(done) = &outcome.result {
        result.return_value = serde_json::from_str::<Value>(done.result.get()).ok().filter(|v| !v.is_null());
        result.exit_reason.clone_from(&done.exit);
    }
    Ok(result)
}

/// Takes away what a run that keeps no data would leave: which steps ran and how it ended is told, and its error.
fn forget(settlement: &mut Settlement, result: &mut RunResult, collected: &mut Collected) -> Result<(), EngineError> {
    settlement.forget = Some(KEPT_NOTHING.into());
    result.return_value = None;
    result.exit_reason = None;
    result.sends.clear();
    for step in &mut result.steps {
        step.exports = RawValue::from_string("{}".into()).map_err(|e| EngineError::internal("could not write a result", e))?;
    }
    collected.logs.clear();
    Ok(())
}

fn result_text(result: &RunResult) -> Result<String, EngineError> {
    serde_json::to_string(result).map_err(|e| EngineError::internal("could not write a result", e))
}
