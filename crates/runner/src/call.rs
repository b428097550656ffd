//! A call under way in a host: its bounds, and its frames turned into effects.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine as _;
use bytes::Bytes;
use millrace_model::egress::Refusal;
use millrace_model::http::check_headers;
use millrace_model::json;
use millrace_model::pause::PauseKind;
use millrace_model::run::LogLevel;
use millrace_model::{Clock as _, SystemClock};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::ask::{Asks, Desk};
use crate::ended_call::EndedCall;
use crate::types::{
    CallDone, CallFailure, CallPaused, Effect, EffectSink, FailureKind, HttpResponse,
};
use crate::wire::{FromHost, StepState, WireError, WireFailure, WirePause};

/// The most characters of an error's class.
const CODE_CHARS_MAX: usize = 200;
/// The most bytes of an error's text that are kept.
const STACK_BYTES_MAX: usize = 64 << 10;

/// What a line of output counts beside its text, bytes: empty lines need room too.
pub(crate) const LINE_BYTES: usize = 64;
/// A call that writes so many times what is kept of its output is ended: reading on costs the
/// server, and keeps nothing.
const FLOOD_FACTOR: usize = 256;

/// Frames that only show how far a step is: far more than the runtime sends of a hundred steps.
const SHOWN_BYTES_MAX: usize = 512 << 20;
/// Props of a step that are shown, bytes; the runtime keeps them to a fourth.
const SHOWN_PROPS_BYTES_MAX: usize = 64 << 10;
/// Events that a call may emit, and what it may send, in all: each is stored and delivered by
/// itself.
const EMITS_MAX: usize = 10_000;

/// Different refused connections that a call's output tells of.
pub(crate) const REFUSALS_KEPT: usize = 20;

pub(crate) type Ended = Result<CallDone, CallFailure>;

/// A call under way.
pub(crate) struct UnderWay {
    sink: Arc<dyn EffectSink>,
    end: oneshot::Sender<Ended>,
    log_bytes_max: usize,
    log_bytes: usize,
    result_bytes_left: usize,
    result_bytes_max: usize,
    /// Bytes of frames that only show how far a step is.
    shown_bytes: usize,
    /// Events that it emitted, and what it sent.
    emits: usize,
    logs_cut: bool,
    /// Refused connections that its output tells of.
    refused: BTreeSet<Refusal>,
    /// The step that was started and is not finished.
    step: Option<String>,
    asks: Asks,
    /// It said that it awaits something.
    pub(crate) awaits: bool,
    /// It said that its code has begun.
    pub(crate) entered: bool,
}

/// What a frame means for its call.
pub(crate) enum After {
    /// It goes on.
    GoesOn,
    /// It is over, well or not.
    Over(Ended),
    /// It is over and the host goes with it.
    OverWithHost(CallFailure),
}

impl UnderWay {
    pub(crate) fn new(
        sink: Arc<dyn EffectSink>,
        end: oneshot::Sender<Ended>,
        first_step: Option<String>,
        log_bytes_max: usize,
        result_bytes_max: usize,
    ) -> Self {
        Self {
            sink,
            end,
            log_bytes_max,
            log_bytes: 0,
            result_bytes_left: result_bytes_max,
            result_bytes_max,
            shown_bytes: 0,
            emits: 0,
            logs_cut: false,
            refused: BTreeSet::new(),
            step: first_step,
            asks: Asks::default(),
            awaits: false,
            entered: false,
        }
    }

    /// A host has it.
    pub(crate) fn began(&self) {
        if let Some(namespace) = self.step.clone() {
            self.sink.effect(Effect::StepStarted { namespace });
        }
    }

    /// The step it is in.
    pub(crate) fn step(&self) -> Option<String> {
        self.step.clone()
    }

    /// Where lines go that come of it after its end.
    pub(crate) fn late(&self) -> Option<EndedCall> {
        self.sink.late().map(EndedCall::new)
    }

    pub(crate) fn end(self, ended: Ended) {
        // Whoever asked may have gone away.
        let _ = self.end.send(ended);
    }

    /// Takes an ask of this call, `id` in its host.
    pub(crate) fn ask(
        &mut self,
        desk: &Desk,
        id: u64,
        ask: u64,
        kind: String,
        payload: &RawValue,
    ) -> Result<(), WireError> {
        if let Some(ask) = self.asks.open(desk, id, ask, kind, payload)? {
            self.sink.ask(ask);
        }
        Ok(())
    }

    /// Takes a frame that names this call.
    pub(crate) fn frame(&mut self, frame: FromHost<'_>, bytes: usize) -> Result<After, WireError> {
        // Neither is part of the result.
        let is_shown =
            matches!(frame, FromHost::Step { state: StepState::Props | StepState::Exported, .. });
        if is_shown {
            self.shown_bytes += bytes;
            if self.shown_bytes > SHOWN_BYTES_MAX {
                return Ok(After::OverWithHost(self.too_large()));
            }
        }
        if !is_shown && !matches!(frame, FromHost::Log { .. } | FromHost::Done { ok: false, .. }) {
            match self.result_bytes_left.checked_sub(bytes) {
                Some(left) => self.result_bytes_left = left,
                None => {
                    return Ok(After::OverWithHost(self.too_large()));
                }
            }
        }
        if matches!(frame, FromHost::Emit { .. } | FromHost::Send { .. }) {
            self.emits += 1;
            if self.emits > EMITS_MAX {
                let message = format!(
                    "the run emitted and sent more than {EMITS_MAX} times (`$emit`, `$.send`), the limit; emit several in one event, or leave some to the next run"
                );
                return Ok(After::OverWithHost(self.payload_too_large(message)));
            }
        }
        let owned = |raw: &RawValue| raw.to_owned();
        let effect = match frame {
            FromHost::Log { level, text, ts, .. } => return Ok(self.log(&level, text, ts)),
            FromHost::Emit { event, meta, .. } => {
                Effect::Emit { event: event.map(owned), meta: meta.map(owned) }
            }
            FromHost::Db { key, value, .. } => Effect::Db { key, value: value.map(owned) },
            FromHost::Respond { status, headers, body, encoding, immediate, .. } => {
                if !(200..=599).contains(&status) {
                    return Err(WireError::OutOfOrder(
                        "a response with a status outside 200 to 599",
                    ));
                }
                if let Err(error) = check_headers(
                    headers.iter().map(|(name, value)| (name.as_str(), value.as_str())),
                ) {
                    return Ok(After::OverWithHost(
                        self.payload_too_large(format!("the answer cannot be sent: {error}")),
                    ));
                }
                let body = match &*encoding {
                    "base64" => Bytes::from(
                        base64::engine::general_purpose::STANDARD
                            .decode(body.as_bytes())
                            .map_err(|e| WireError::Malformed(e.to_string()))?,
                    ),
                    _ => Bytes::from(body.into_owned()),
                };
                Effect::Respond(HttpResponse { status, headers, body, immediate })
            }
            FromHost::Step { namespace, state: StepState::Started, .. } => {
                self.step = Some(namespace.clone());
                Effect::StepStarted { namespace }
            }
            FromHost::Step { namespace, state: StepState::Props, props, .. } => {
                let props = props.ok_or(WireError::OutOfOrder("a step's props without props"))?;
                if props.get().len() > SHOWN_PROPS_BYTES_MAX
                    || self.step.as_ref() != Some(&namespace)
                {
                    return Ok(After::GoesOn);
                }
                checked_object(props, "a step's props")?;
                Effect::StepProps { namespace, props: owned(props) }
            }
            FromHost::Step { namespace, state: StepState::Exported, exports, .. } => {
                let exports =
                    exports.ok_or(WireError::OutOfOrder("what a step exported without exports"))?;
                if self.step.as_ref() == Some(&namespace)
                    && exports.get().len() <= self.result_bytes_left
                {
                    self.failed_exports(namespace, exports)?;
                }
                return Ok(After::GoesOn);
            }
            FromHost::Step {
                namespace, state: StepState::Finished, duration_ms, exports, ..
            } => {
                self.step = None;
                let exports =
                    exports.ok_or(WireError::OutOfOrder("a finished step without exports"))?;
                checked_object(exports, "a finished step's exports")?;
                Effect::StepFinished {
                    namespace,
                    duration_ms: duration_ms as u64,
                    exports: exports.to_owned(),
                }
            }
            FromHost::Send { kind, payload, .. } => {
                Effect::Send { kind, payload: payload.to_owned() }
            }
            FromHost::Done { ok: true, result, exit, paused, .. } => {
                let null = || RawValue::NULL.to_owned();
                let paused = paused.map(checked_pause).transpose()?;
                let done = CallDone {
                    result: result.map_or_else(null, owned),
                    exit: exit.map(|e| cut(e.reason.unwrap_or_default())),
                    paused,
                };
                return Ok(After::Over(Ok(done)));
            }
            FromHost::Done { ok: false, error, namespace, exports, .. } => {
                if let (Some(exports), Some(step)) =
                    (exports, self.step().filter(|step| Some(step) == namespace.as_ref()))
                {
                    self.failed_exports(step, exports)?;
                }
                let namespace = namespace.or_else(|| self.step());
                return Ok(After::Over(Err(thrown(error.unwrap_or_default(), namespace))));
            }
            FromHost::Hello { .. }
            | FromHost::Loaded
            | FromHost::LoadFailed { .. }
            | FromHost::Cancelled { .. }
            | FromHost::Quiet
            | FromHost::Awaits { .. }
            | FromHost::Entered { .. }
            | FromHost::Back { .. }
            | FromHost::Ask { .. } => {
                return Err(WireError::OutOfOrder("not a frame of a call"));
            }
        };
        self.sink.effect(effect);
        Ok(After::GoesOn)
    }

    /// Reports what a step exported before it failed, where the call may leave that much.
    fn failed_exports(&mut self, namespace: String, exports: &RawValue) -> Result<(), WireError> {
        checked_object(exports, "a failed step's exports")?;
        if exports.get().len() <= self.result_bytes_left {
            self.sink.effect(Effect::StepFailed { namespace, exports: exports.to_owned() });
        } else {
            let text = format!(
                "the exports of the step `{namespace}` are not kept: the run would leave more than {} bytes",
                self.result_bytes_max
            );
            // One line is no flood.
            let _ = self.log("warn", text, SystemClock.now().0);
        }
        Ok(())
    }

    /// Tells of a connection that was refused, in the call's output.
    pub(crate) fn refused(&mut self, refusal: &Refusal) {
        if self.refused.len() > REFUSALS_KEPT || !self.refused.insert(*refusal) {
            return;
        }
        let text = if self.refused.len() > REFUSALS_KEPT {
            "[more connections were refused; the rest is cut]".into()
        } else {
            refusal.to_string()
        };
        if self.refused.len() <= REFUSALS_KEPT {
            self.sink.refused(refusal);
        }
        // Far too few to be a flood.
        let _ = self.log("warn", text, SystemClock.now().0);
    }

    fn log(&mut self, level: &str, text: String, ts_ms: i64) -> After {
        self.log_bytes = self.log_bytes.saturating_add(text.len() + LINE_BYTES);
        if self.log_bytes <= self.log_bytes_max && !self.logs_cut {
            self.sink.effect(Effect::Log { level: LogLevel::parse(level), text, ts_ms });
        } else if !self.logs_cut {
            self.logs_cut = true;
            self.sink.effect(Effect::Log {
                level: LogLevel::Warn,
                text: "[the output of this run is longer than is kept; the rest is cut]".into(),
                ts_ms,
            });
        } else if self.log_bytes > self.log_bytes_max.saturating_mul(FLOOD_FACTOR) {
            let limit = self.log_bytes_max.saturating_mul(FLOOD_FACTOR);
            let failure = self.payload_too_large(format!(
                "the run wrote more than {limit} bytes of output, the limit; write less of it"
            ));
            return After::OverWithHost(failure);
        }
        After::GoesOn
    }

    fn too_large(&self) -> CallFailure {
        self.payload_too_large(format!(
            "the results, exports and emitted events of the run have more than {} bytes in all, the limit; keep large data outside and pass on where it is",
            self.result_bytes_max
        ))
    }

    fn payload_too_large(&self, message: String) -> CallFailure {
        CallFailure {
            kind: FailureKind::PayloadTooLarge,
            code: "PayloadTooLarge".into(),
            stack: format!("PayloadTooLarge: {message}"),
            message,
            namespace: self.step(),
        }
    }
}

/// The longest pause, milliseconds: a year.
const PAUSE_MS_MAX: f64 = 365.0 * 24.0 * 3600.0 * 1000.0;

/// The host checks these too, in the code's own stack; here they are an untrusted process's claims.
fn checked_pause(pause: WirePause<'_>) -> Result<CallPaused, WireError> {
    let kind = match pause.kind.as_str() {
        "delay" => PauseKind::Delay,
        "suspend" => PauseKind::Suspend,
        "rerun" => PauseKind::Rerun,
        _ => return Err(WireError::OutOfOrder("a pause of an unknown kind")),
    };
    if !(0.0..=PAUSE_MS_MAX).contains(&pause.ms) {
        return Err(WireError::OutOfOrder(
            "a pause that is longer than a year, or ends before it begins",
        ));
    }
    pause.run.map_or(Ok(()), |run| checked_object(run, "the `run` of a pause"))?;
    pause.exports.map_or(Ok(()), |exports| checked_object(exports, "a pause's exports"))?;
    let owned = |raw: &RawValue| raw.to_owned();
    Ok(CallPaused {
        namespace: pause.namespace,
        kind,
        ms: pause.ms as i64,
        duration_ms: pause.duration_ms as u64,
        run: pause.run.map(owned),
        exports: pause.exports.map(owned),
    })
}

/// What a later attempt begins with is read then: here it is still this call's fault.
fn checked_object(object: &RawValue, what: &str) -> Result<(), WireError> {
    if json::is_object(object.get()) {
        Ok(())
    } else {
        Err(WireError::Malformed(format!("{what} are no object, or are nested too deep")))
    }
}

/// An error that the code threw.
pub(crate) fn thrown(error: WireFailure, namespace: Option<String>) -> CallFailure {
    // A class has one line, whatever code gave its error as a name.
    let code: String = error
        .code
        .chars()
        .take(CODE_CHARS_MAX)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let code = code.trim();
    CallFailure {
        kind: FailureKind::Thrown,
        code: if code.is_empty() { "Error".into() } else { code.to_owned() },
        message: cut(error.message),
        stack: cut(error.stack),
        namespace,
    }
}

/// Keeps the head of a long text and says so.
fn cut(mut text: String) -> String {
    if text.len() > STACK_BYTES_MAX {
        let end = text.floor_char_boundary(STACK_BYTES_MAX);
        text.truncate(end);
        text.push_str("\n[cut]");
    }
    text
}
