//! Execution of a claimed run: its call goes to a host, and its effects come back to be settled.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millrace_model::clock::Timestamp;
use millrace_model::run::{Context, LogLevel, LogLine, RunKind};
use millrace_model::{error_chain, json};
use millrace_runner::{Call, CallFailure, CallOutcome, Effect, EffectSink as _, FailureKind};
use millrace_store::fail_point;

use crate::run::asks::{AskScope, AskingRun};
use crate::run::begin_order::BeginTurn;
use crate::run::call::{source_call, workflow_call};
use crate::run::claimed_run::ClaimedRun;
use crate::run::lease_guard::LeaseGuard;
use crate::run::pauses::{Carried, may_pause_again};
use crate::run::program::{Program, WorkflowProgram};
use crate::run::progress::Progress;
use crate::run::refused_connections::with_refusal_meant;
use crate::run::sink::{CallDb, Collector, Responder};
use crate::service_db;
use crate::settle::is_fenced;
use crate::{Engine, EngineError};

impl Engine {
    /// Runs and settles. Whatever goes wrong here leaves the run to its lease: it is claimed again.
    pub(crate) async fn execute(
        &self,
        mut claimed: ClaimedRun,
        mut lease: LeaseGuard,
        program: Option<Arc<Program>>,
        responder: Option<Responder>,
    ) {
        let begins = lease.begins.take();
        let _until_settled = lease;
        let mut tried = self.try_execute(&mut claimed, begins, program, responder).await;
        if let Err(error @ EngineError::Damaged { .. }) = &tried {
            // Tried again it would find the same.
            tried = Box::pin(self.settle_damaged(&claimed, error)).await;
        }
        if let Err(error) = tried {
            if claimed.unstored.as_ref().is_some_and(|run| !run.is_stored()) {
                tracing::error!(run.id = %claimed.id, error = error_chain(&error), "a run could not be stored with its end; its client gets the answer that its event was not accepted");
            } else if is_fenced(&error) {
                tracing::warn!(run.id = %claimed.id, error = error_chain(&error), "a run was not settled by this attempt: another one has claimed or settled it");
            } else {
                tracing::error!(run.id = %claimed.id, error = error_chain(&error), "a run could not be settled; it is tried again when its lease ends");
            }
        }
    }

    async fn try_execute(
        &self,
        claimed: &mut ClaimedRun,
        begins: Option<BeginTurn>,
        program: Option<Arc<Program>>,
        responder: Option<Responder>,
    ) -> Result<(), EngineError> {
        let Some(program) = self.program_of(claimed, program).await? else {
            return Box::pin(self.settle_orphan(claimed)).await;
        };
        let scope = AskScope::new(
            claimed.org_id.clone(),
            program.stores().clone(),
            Some(AskingRun::of(claimed)),
        );
        let db = if matches!(&*program, Program::Source(_)) { CallDb::OfRun } else { CallDb::None };
        let sink = Collector::new(
            self.clone(),
            claimed.owner.as_str(),
            claimed.id.clone(),
            db,
            responder,
            Some(scope),
        );
        sink.publish_lines(claimed.attempt);
        self.note_call(&claimed.id, &sink);
        let mut carried = self.carried(claimed).await?;
        let claimed = &*claimed;
        if let Program::Workflow(workflow) = &*program {
            let struck = next_steps(workflow, &carried).next();
            carried.add_lost(claimed.attempt, struck);
            if claimed.kind == RunKind::Live {
                sink.keep(Progress::of(claimed, &carried, workflow.namespaces.len()));
            }
        }
        let tries = carried.tries(claimed.attempt);
        let (asked, waits) = (self.now(), Instant::now());
        let mut outcome = if tries > self.0.config.attempts_max {
            let step = if let Program::Workflow(workflow) = &*program {
                next_steps(workflow, &carried).next()
            } else {
                None
            };
            gave_up(tries - 1, step, &sink)
        } else if let Some(damage) = &carried.damaged {
            damaged(&format!(
                "the run cannot go on from what it left before: {damage}; start it again"
            ))
        } else {
            match self.call(claimed, begins, &carried, &program, sink.clone()).await {
                Err(error @ EngineError::Damaged { .. }) => damaged(&error.to_string()),
                other => other?,
            }
        };
        if let Err(failure) = &outcome.result
            && self.runs_again(claimed, &program, failure, &sink).await?
        {
            return Ok(());
        }
        outcome.result = outcome.result.and_then(|done| may_pause_again(claimed, done));
        let (mut collected, responder) = sink.take();
        outcome.result =
            outcome.result.map_err(|failure| with_refusal_meant(failure, &collected.refusals));
        if let Program::Source(source) = &*program {
            if !source.has_db {
                collected.db.clear();
            }
            if let Some(size) = self.db_beyond_limit(&source.source.id, &collected.db).await? {
                collected.db.clear();
                outcome.result = Err(db_too_large(size));
            }
        }
        collected.carry_on(std::mem::take(&mut carried.sends), std::mem::take(&mut carried.logs));
        if let Some(late) =
            self.late_tick(claimed, asked, waits.elapsed().saturating_sub(outcome.duration))
        {
            collected.logs.push(late);
        }
        let response = collected.response.take();
        if response.is_some()
            && responder.as_ref().is_none_or(Responder::is_closed)
            && had_client(claimed)
        {
            collected.logs.push(answered_before(&program, self.now()));
        }
        let limited = program.limits().is_some();
        let watched = self.watch(&collected, &outcome);
        let late = collected.late.clone();
        let settled = self.settle_run(claimed, &program, carried, collected, outcome).await;
        if settled.is_ok() {
            self.publish_watched(claimed, &watched);
            if let Some(late) = late {
                late.settled();
            }
        }
        if limited {
            // Another of its runs may have waited for this one.
            self.queued();
        }
        if let Some(responder) = responder
            && settled.is_ok()
        {
            // The client may have gone away.
            let _ = responder.send(response);
        }
        settled
    }

    /// Counts the first attempt of a tick: its call was asked for at `asked`, and waited so long
    /// for a process. One that began late says so in its log.
    fn late_tick(
        &self,
        claimed: &ClaimedRun,
        asked: Timestamp,
        waited: Duration,
    ) -> Option<LogLine> {
        if claimed.attempt > 1
            || claimed.kind != RunKind::Live
            || !claimed.trigger_id.starts_with("ti_")
        {
            return None;
        }
        let context: Context = json::from_str(&claimed.context).ok()?;
        if context.replay {
            return None;
        }
        let due =
            context.due.as_deref().and_then(Timestamp::parse_iso).unwrap_or(claimed.created_at);
        let began = asked.plus_ms(i64::try_from(waited.as_millis()).unwrap_or(i64::MAX));
        let late = Duration::from_millis(u64::try_from(began.since(due)).unwrap_or(0));
        self.0.metrics.ticked(late);
        (late >= TICK_LATE).then(|| {
            let seconds = late.as_secs_f64();
            let text = format!("this tick was due at {} and began {seconds:.1} s later: the server was down, or had other runs to do first", due.iso());
            LogLine { at: began, level: LogLevel::Warn, text, step: None }
        })
    }

    async fn call(
        &self,
        claimed: &ClaimedRun,
        begins: Option<BeginTurn>,
        carried: &Carried,
        program: &Program,
        sink: Arc<Collector>,
    ) -> Result<CallOutcome, EngineError> {
        let (isolate, call) = match program {
            Program::Source(source) => {
                let props = match source.props.text(self, &claimed.org_id).await? {
                    Ok(props) => props,
                    Err(outcome) => return Ok(outcome),
                };
                let db = self.db_of(source).await?;
                let body = source_call(
                    &props,
                    &source.dynamic_props,
                    db.as_deref(),
                    None,
                    &claimed.event,
                )?;
                (
                    self.isolate_for(claimed, &source.isolate),
                    Call { body, timeout: self.0.config.source_timeout, steps: Vec::new() },
                )
            }
            Program::Workflow(workflow) => {
                let timeout = workflow.timeout(claimed.trigger_id.starts_with("hi_"));
                let steps = match workflow.steps.text(self, &claimed.org_id).await? {
                    Ok(steps) => steps,
                    Err(outcome) => return Ok(outcome),
                };
                let flow = self.flow_urls(claimed).to_string();
                let body = workflow_call(
                    &steps,
                    claimed,
                    carried,
                    &flow,
                    self.now().plus_ms(i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX)).ms(),
                )?;
                (
                    self.isolate_for(claimed, &workflow.isolate),
                    Call { body, timeout, steps: next_steps(workflow, carried).collect() },
                )
            }
            Program::Damaged(program) => return Ok(damaged(&program.why)),
        };
        fail_point!("engine.run.before_call");
        let queued = self.0.runner.enqueue(isolate, call, sink);
        drop(begins);
        let outcome = self.outcome_of(claimed, queued).await;
        fail_point!("engine.run.after_call");
        Ok(outcome)
    }
}

/// Whether a client sent the run's event and waited for an answer, then or before.
fn had_client(claimed: &ClaimedRun) -> bool {
    let is_replay =
        || json::from_str::<Context>(&claimed.context).is_ok_and(|context| context.replay);
    claimed.kind == RunKind::Live && claimed.trigger_id.starts_with("hi_") && !is_replay()
}

/// What the log says of an answer that came too late.
fn answered_before(program: &Program, at: Timestamp) -> LogLine {
    let (call, how) = match program {
        Program::Workflow(_) => (
            "$.respond",
            "`custom_response: true` on the workflow's HTTP trigger makes every client wait for it",
        ),
        Program::Source(_) | Program::Damaged(_) => (
            "respond",
            "`customResponse: true` on the source's HTTP prop makes every client wait for it",
        ),
    };
    let text = format!(
        "`{call}` came too late: the request had its answer before, and this one was not sent; {how}"
    );
    LogLine { at, level: LogLevel::Warn, text, step: None }
}

/// A tick that begins so long after it was due is marked.
const TICK_LATE: Duration = Duration::from_secs(5);

/// The steps of an attempt in order. Where earlier attempts were lost, the first one was struck.
fn next_steps(workflow: &WorkflowProgram, carried: &Carried) -> impl Iterator<Item = String> {
    workflow
        .namespaces
        .iter()
        .filter(|n| carried.steps.iter().all(|done| done.namespace != **n))
        .cloned()
}

/// A run that wrote more than its source may keep, around the runtime.
fn db_too_large(size: usize) -> CallFailure {
    let message = format!(
        "$.service.db would hold {size} characters after this run; allowed are {} for a component: nothing of it was kept",
        service_db::SIZE_MAX
    );
    CallFailure {
        kind: FailureKind::PayloadTooLarge,
        code: "RangeError".into(),
        stack: format!("RangeError: {message}"),
        message,
        namespace: None,
    }
}

fn gave_up(attempts: i64, step: Option<String>, sink: &Collector) -> CallOutcome {
    if let Some(namespace) = &step {
        // It is shown as the one that failed.
        sink.effect(Effect::StepStarted { namespace: namespace.clone() });
    }
    let message = format!(
        "the run was started {attempts} times and its process died each time before it ended"
    );
    CallOutcome {
        result: Err(CallFailure {
            kind: FailureKind::HostCrashed,
            code: "InternalFailure".into(),
            stack: format!("InternalFailure: {message}"),
            message,
            namespace: step,
        }),
        duration: std::time::Duration::ZERO,
    }
}

/// How a run ends that needs what is stored and cannot be read.
fn damaged(message: &str) -> CallOutcome {
    let code = "DamagedData";
    let failure = CallFailure {
        kind: FailureKind::ProtocolViolation,
        code: code.into(),
        stack: format!("{code}: {message}"),
        message: message.into(),
        namespace: None,
    };
    CallOutcome { result: Err(failure), duration: Duration::ZERO }
}
