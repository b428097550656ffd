//! Pauses (reference 4): an attempt ends with one, the run waits in the store, and its next attempt
//! begins behind the finished steps.

use millrace_model::Timestamp;
use millrace_model::error_chain;
use millrace_model::error_event::ErrorBody;
use millrace_model::json;
use millrace_model::limits::Retry;
use millrace_model::pause::{PauseKind, PauseState, Paused};
use millrace_model::run::{
    Context, LogLine, RunKind, RunResult, RunStatus, Sent, StepAttempt, StepError, StepResult,
};
use millrace_runner::{CallDone, CallFailure, CallPaused, FailureKind};
use millrace_store::{Pause, PauseEnd};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::run::claimed_run::ClaimedRun;
use crate::{Engine, EngineError};

/// What is kept of an error's message with a try.
const ATTEMPT_MESSAGE_CHARS: usize = 1_000;

/// Attempts of one run, each of which may end with a pause.
const ATTEMPTS_MAX: i64 = 10_000;

/// What an attempt takes over from those before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    /// Finished steps, in order.
    pub(crate) steps: Vec<StepResult>,
    /// What finished steps of an attempt that was lost sent.
    pub(crate) sends: Vec<Sent>,
    /// The step that was tried before and is tried again, with its tries.
    pub(crate) tried: Option<(String, Vec<StepAttempt>)>,
    /// What they wrote.
    pub(crate) logs: Vec<LogLine>,
    /// What of it cannot be read, and why: the run cannot go on.
    pub(crate) damaged: Option<String>,
    /// The last pause, and the attempt that ended with it.
    pub(crate) pause: Option<(PauseState, i64)>,
    /// How the step that runs again is told so.
    resume: Option<Box<RawValue>>,
}

/// A pause that an attempt ends with.
pub(crate) struct Rest {
    pub(crate) state: PauseState,
    pub(crate) wake_at: Timestamp,
    pub(crate) then: PauseEnd,
    /// The step that will run again, as it is shown meanwhile.
    pub(crate) step: Option<StepResult>,
}

impl Rest {
    pub(crate) fn of(paused: &CallPaused, now: Timestamp) -> Result<Self, EngineError> {
        let then =
            if paused.kind == PauseKind::Suspend { PauseEnd::Cancel } else { PauseEnd::Resume };
        let step = match paused.kind {
            PauseKind::Rerun => {
                let exports = match &paused.exports {
                    Some(exports) => exports.clone(),
                    None => raw("{}".into())?,
                };
                Some(StepResult::new(
                    paused.namespace.clone(),
                    RunStatus::Paused,
                    Some(paused.duration_ms),
                    exports,
                ))
            }
            _ => None,
        };
        let state = PauseState {
            kind: paused.kind,
            namespace: paused.namespace.clone(),
            run: paused.run.clone(),
            retries: 0,
        };
        Ok(Self { state, wake_at: now.plus_ms(paused.ms), then, step })
    }

    /// The pause before a failed step is run again; None where it is not. What ran out of time or
    /// memory would again (reference 4).
    pub(crate) fn retry(
        retry: &Retry,
        failure: &CallFailure,
        carried: &Carried,
        now: Timestamp,
    ) -> Option<Self> {
        if !matches!(failure.kind, FailureKind::Thrown | FailureKind::HostCrashed) {
            return None;
        }
        let namespace = failure.namespace.clone()?;
        // A step that was retried before counts on, and one that was to run again is still told so.
        let before = carried
            .pause
            .as_ref()
            .map(|(state, _)| state)
            .filter(|state| state.namespace == namespace);
        let retries = before.map_or(0, |state| state.retries);
        let wake_at = now.plus_ms(retry.wait_ms(retries)?);
        let run = before.and_then(|state| state.run.clone());
        let state = PauseState { kind: PauseKind::Retry, namespace, run, retries: retries + 1 };
        Some(Self { state, wake_at, then: PauseEnd::Resume, step: None })
    }

    pub(crate) fn shown(&self) -> Paused {
        Paused {
            kind: self.state.kind,
            namespace: self.state.namespace.clone(),
            until_ms: self.wake_at.ms(),
        }
    }
}

impl Carried {
    /// Attempts since the last pause, this one included.
    pub(crate) fn tries(&self, attempt: i64) -> i64 {
        attempt - self.pause.as_ref().map_or(0, |(_, ended)| *ended)
    }

    /// Adds the attempts that ended with their process to the tries of the step that they were in.
    pub(crate) fn add_lost(&mut self, attempt: i64, step: Option<String>) {
        let Some(namespace) = step.filter(|_| self.tries(attempt) > 1) else { return };
        let told = self
            .steps
            .iter()
            .flat_map(|step| &step.attempts)
            .filter(|tried| **tried == StepAttempt::LOST)
            .count();
        // The last one was lost in this step; those of steps before it are told there.
        let lost = usize::try_from(self.tries(attempt) - 1)
            .unwrap_or(0)
            .saturating_sub(told)
            .clamp(1, StepResult::ATTEMPTS_MAX);
        let mut tries = self
            .tried
            .take()
            .filter(|(tried, _)| *tried == namespace)
            .map(|(_, tries)| tries)
            .unwrap_or_default();
        tries.extend(std::iter::repeat_n(StepAttempt::LOST, lost));
        self.tried = Some((namespace, tries));
    }

    /// The `results` of a call: exports of finished steps by namespace, JSON text.
    pub(crate) fn results(&self) -> Result<String, EngineError> {
        let mut text = String::from("{");
        for step in &self.steps {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&written(&step.namespace)?);
            text.push(':');
            text.push_str(step.exports.get());
        }
        text.push('}');
        Ok(text)
    }

    /// The `resume` of a call as the tail of an object; empty for none.
    pub(crate) fn resume_field(&self) -> String {
        self.resume
            .as_ref()
            .map_or_else(String::new, |resume| format!(r#","resume":{}"#, resume.get()))
    }
}

impl Engine {
    /// What this attempt of a run begins with. Nothing is read for a first attempt.
    pub(crate) async fn carried(&self, claimed: &mut ClaimedRun) -> Result<Carried, EngineError> {
        let pause =
            if claimed.attempt > 1 { self.0.store.last_pause(&claimed.id).await? } else { None };
        let mut carried = Carried::default();
        // Read again it would be the same: the run ends with it, and is not tried for ever.
        if let Err(error) = self.take_up(claimed, pause, &mut carried) {
            carried.damaged = Some(error_chain(&error));
        }
        Ok(carried)
    }

    fn take_up(
        &self,
        claimed: &mut ClaimedRun,
        pause: Option<Pause>,
        carried: &mut Carried,
    ) -> Result<(), EngineError> {
        if let Some(text) = claimed.result.take() {
            let result: RunResult = millrace_model::json::from_str(&text)
                .map_err(|e| EngineError::damaged("stored results of a run", e))?;
            let (finished, others): (Vec<_>, Vec<_>) =
                result.steps.into_iter().partition(|s| s.status == RunStatus::Succeeded);
            carried.steps = finished;
            carried.tried =
                others.into_iter().last().map(|step| (step.namespace.clone(), step.tries()));
            carried.sends = result.sends;
            carried.logs = result.logs;
        }
        let Some(pause) = pause else { return Ok(()) };
        let mut state: PauseState = millrace_model::json::from_str(&pause.state)
            .map_err(|e| EngineError::damaged("a stored pause", e))?;
        carried.pause = Some((state.clone(), pause.attempt));
        if let Some(request) = pause.callback {
            let request =
                json::read(&request).map_err(|e| EngineError::damaged("a stored request", e))?;
            match state.kind {
                PauseKind::Delay | PauseKind::Suspend => {
                    add_resume_data(&mut carried.steps, &state.namespace, &request)?
                }
                PauseKind::Rerun => {
                    state.run = Some(with_field(state.run.as_deref(), "callback_request", request)?)
                }
                PauseKind::Retry => {}
            }
        }
        if let Some(run) = &state.run {
            carried.resume = Some(raw(format!(
                r#"{{"namespace":{},"run":{}}}"#,
                written(&state.namespace)?,
                run.get()
            ))?);
        }
        carried.pause = Some((state, pause.attempt));
        // Each wake-up is an execution of its own, of the same trace (reference 4).
        let mut context: Context = millrace_model::json::from_str(&claimed.context)
            .map_err(|e| EngineError::damaged("a stored context", e))?;
        context.id = self.0.ids.ksuid(self.now());
        claimed.context = written(&context)?;
        Ok(())
    }

    /// A step that failed and will be retried, as it is shown meanwhile.
    pub(crate) fn retried_step(
        &self,
        claimed: &ClaimedRun,
        rest: &Rest,
        error: &ErrorBody,
        exported: Option<&RawValue>,
    ) -> Result<StepResult, EngineError> {
        let urls = self.flow_urls(claimed);
        let attempt = json!({ "error": error, "rerun_url": urls["resume_url"], "cancel_url": urls["cancel_url"], "resume_ts": rest.wake_at.iso() });
        let mut exports: Map<String, Value> = exported
            .and_then(|exported| millrace_model::json::from_str(exported.get()).ok())
            .unwrap_or_default();
        exports.insert(
            "$summary".into(),
            format!("Failed; retry {} follows", rest.state.retries).into(),
        );
        exports.insert("$attempt".into(), attempt);
        let step = StepResult::new(
            rest.state.namespace.clone(),
            RunStatus::Failed,
            None,
            raw(Value::Object(exports).to_string())?,
        );
        let message = error.message.chars().take(ATTEMPT_MESSAGE_CHARS).collect();
        Ok(StepResult { error: Some(StepError { code: error.code.clone(), message }), ..step })
    }
}

/// Whether an attempt may pause: a test never does, and has said so.
pub(crate) fn may_pause(claimed: &ClaimedRun) -> bool {
    claimed.kind == RunKind::Live
}

/// Fails an attempt that would pause a run which has paused as often as one may: a step that
/// repeats itself for ever ends so.
pub(crate) fn may_pause_again(
    claimed: &ClaimedRun,
    done: CallDone,
) -> Result<CallDone, CallFailure> {
    let Some(paused) = done.paused.as_ref().filter(|_| claimed.attempt >= ATTEMPTS_MAX) else {
        return Ok(done);
    };
    let message = format!(
        "the run would pause once more, and has been started {ATTEMPTS_MAX} times, the limit; go on in a run of its own (`$.flow.trigger`)"
    );
    let code = "TooManyPauses";
    let (stack, namespace) = (format!("{code}: {message}"), Some(paused.namespace.clone()));
    Err(CallFailure {
        kind: FailureKind::PayloadTooLarge,
        code: code.into(),
        message,
        stack,
        namespace,
    })
}

/// What was sent to resume a run becomes an export of the step that paused it.
fn add_resume_data(
    steps: &mut [StepResult],
    namespace: &str,
    request: &Value,
) -> Result<(), EngineError> {
    if let Some(step) = steps.iter_mut().find(|s| s.namespace == namespace) {
        step.exports = with_field(Some(&*step.exports), "$resume_data", request.clone())?;
    }
    Ok(())
}

fn with_field(
    object: Option<&RawValue>,
    name: &str,
    value: Value,
) -> Result<Box<RawValue>, EngineError> {
    let mut fields: Map<String, Value> = match object {
        Some(object) => json::read(object.get())
            .and_then(serde_json::from_value)
            .map_err(|e| EngineError::damaged("a stored object", e))?,
        None => Map::new(),
    };
    fields.insert(name.to_owned(), value);
    raw(written(&fields)?)
}

fn raw(text: String) -> Result<Box<RawValue>, EngineError> {
    RawValue::from_string(text).map_err(|e| EngineError::internal("could not write JSON", e))
}

fn written(value: &(impl serde::Serialize + ?Sized)) -> Result<String, EngineError> {
    serde_json::to_string(value).map_err(|e| EngineError::internal("could not write JSON", e))
}
