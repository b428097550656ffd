//! A call under way in a host: its bounds, and its frames turned into effects.

mod steps;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine as _;
use bytes::Bytes;
use millrace_model::egress::Refusal;
use millrace_model::http::check_headers;
use millrace_model::run::LogLevel;
use millrace_model::{Clock as _, SystemClock};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::ask::{AnswerChannel, Asks};
use crate::ended_call::EndedCall;
use crate::reported::{checked_object, checked_pause, cut, thrown};
use crate::types::{CallDone, CallFailure, Effect, EffectSink, FailureKind, HttpResponse};
use crate::wire::{FromHost, StepState, WireError};

/// What a line of output counts beside its text, bytes: empty lines need room too.
pub(crate) const LINE_BYTES: usize = 64;
/// A call that writes so many times what is kept of its output is ended: reading on costs the
/// server, and keeps nothing.
const FLOOD_FACTOR: usize = 256;

/// Frames that only show how far a step is, bytes and number: far more than the runtime sends of a
/// hundred steps.
const SHOWN_BYTES_MAX: usize = 512 << 20;
const SHOWN_MAX: usize = 200_000;
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
    /// Bytes of frames with lines of output, kept or not.
    log_frame_bytes: usize,
    result_bytes_left: usize,
    result_bytes_max: usize,
    /// Frames that only show how far a step is, and their bytes.
    shown: usize,
    shown_bytes: usize,
    /// Events that it emitted, and what it sent.
    emits: usize,
    logs_cut: bool,
    /// Refused connections that its output tells of.
    refused: BTreeSet<Refusal>,
    /// The step that was started and is not finished.
    step: Option<String>,
    /// The steps that may be started after it.
    steps: std::vec::IntoIter<String>,
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
        steps: Vec<String>,
        log_bytes_max: usize,
        result_bytes_max: usize,
    ) -> Self {
        let mut steps = steps.into_iter();
        Self {
            sink,
            end,
            log_bytes_max,
            log_bytes: 0,
            log_frame_bytes: 0,
            result_bytes_left: result_bytes_max,
            result_bytes_max,
            shown: 0,
            shown_bytes: 0,
            emits: 0,
            logs_cut: false,
            refused: BTreeSet::new(),
            step: steps.next(),
            steps,
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
        answers: &AnswerChannel,
        id: u64,
        ask: u64,
        kind: String,
        payload: &RawValue,
        bytes: usize,
    ) -> Result<After, WireError> {
        if let Err(message) = self.asks.count(bytes) {
            return Ok(After::OverWithHost(self.payload_too_large(message)));
        }
        if let Some(ask) = self.asks.open(answers, id, ask, kind, payload)? {
            self.sink.ask(ask);
        }
        Ok(After::GoesOn)
    }

    /// Takes the frame that reports, once, that the call awaits something.
    pub(crate) fn awaits_now(&mut self) -> Result<(), WireError> {
        if std::mem::replace(&mut self.awaits, true) {
            return Err(WireError::OutOfOrder("`awaits` twice"));
        }
        Ok(())
    }

    /// Takes the frame that reports, once, that the code of the call has begun.
    pub(crate) fn entered_now(&mut self) -> Result<(), WireError> {
        if std::mem::replace(&mut self.entered, true) {
            return Err(WireError::OutOfOrder("`entered` twice"));
        }
        Ok(())
    }

    /// The end of the call, where a frame takes it over a limit.
    fn over_limits(
        &mut self,
        frame: &FromHost<'_>,
        bytes: usize,
    ) -> Result<Option<After>, WireError> {
        // Neither is part of the result.
        let is_shown =
            matches!(frame, FromHost::Step { state: StepState::Props | StepState::Exported, .. });
        if is_shown {
            self.shown += 1;
            self.shown_bytes += bytes;
            if self.shown > SHOWN_MAX {
                return Err(WireError::OutOfOrder("more of how far its steps are than allowed"));
            }
            if self.shown_bytes > SHOWN_BYTES_MAX {
                return Ok(Some(After::OverWithHost(self.too_large())));
            }
        }
        if !is_shown && !matches!(frame, FromHost::Log { .. } | FromHost::Done { ok: false, .. }) {
            match self.result_bytes_left.checked_sub(bytes) {
                Some(left) => self.result_bytes_left = left,
                None => return Ok(Some(After::OverWithHost(self.too_large()))),
            }
        }
        if matches!(frame, FromHost::Emit { .. } | FromHost::Send { .. }) {
            self.emits += 1;
            if self.emits > EMITS_MAX {
                let message = format!(
                    "the run emitted and sent more than {EMITS_MAX} times (`$emit`, `$.send`), the limit; emit several in one event, or leave some to the next run"
                );
                return Ok(Some(After::OverWithHost(self.payload_too_large(message))));
            }
        }
        Ok(None)
    }

    /// Takes a frame that names this call.
    pub(crate) fn frame(&mut self, frame: FromHost<'_>, bytes: usize) -> Result<After, WireError> {
        if let Some(over) = self.over_limits(&frame, bytes)? {
            if matches!(frame, FromHost::Respond { .. }) {
                self.sink.effect(Effect::Respond(too_large_to_send()));
            }
            return Ok(over);
        }
        let owned = |raw: &RawValue| raw.to_owned();
        let effect = match frame {
            FromHost::Log { level, text, ts, .. } => {
                self.log(&level, text, ts);
                return Ok(self.log_flood(bytes));
            }
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
                let body = decoded(body, &encoding)?;
                Effect::Respond(HttpResponse { status, headers, body, immediate })
            }
            FromHost::Step { namespace, state, duration_ms, props, exports, .. } => {
                let step = match state {
                    StepState::Started => self.step_started(namespace)?,
                    StepState::Props => self.step_props(namespace, props)?,
                    StepState::Exported => self.step_exported(namespace, exports)?,
                    StepState::Finished => self.step_finished(namespace, duration_ms, exports)?,
                };
                let Some(effect) = step else { return Ok(After::GoesOn) };
                effect
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
            self.log("warn", text, SystemClock.now().0);
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
        self.log("warn", text, SystemClock.now().0);
    }

    fn log(&mut self, level: &str, text: String, ts_ms: i64) {
        self.log_bytes = self.log_bytes.saturating_add(text.len() + LINE_BYTES);
        if self.logs_cut {
            return;
        }
        let (level, text) = if self.log_bytes <= self.log_bytes_max {
            (LogLevel::parse(level), text)
        } else {
            self.logs_cut = true;
            let cut = "[the output of this run is longer than is kept; the rest is cut]";
            (LogLevel::Warn, cut.to_owned())
        };
        self.sink.effect(Effect::Log { level, text, ts_ms });
    }

    /// Counts a frame with a line by its own size, of which the line may be a small part.
    fn log_flood(&mut self, bytes: usize) -> After {
        self.log_frame_bytes = self.log_frame_bytes.saturating_add(bytes + LINE_BYTES);
        let limit = self.log_bytes_max.saturating_mul(FLOOD_FACTOR);
        if self.log_frame_bytes <= limit {
            return After::GoesOn;
        }
        After::OverWithHost(self.payload_too_large(format!(
            "the run wrote more than {limit} bytes of output, the limit; write less of it"
        )))
    }

    fn too_large(&self) -> CallFailure {
        self.payload_too_large(format!(
            "the results, exports, emitted events and answer of the run have more than {} bytes in all, as JSON, the limit; keep large data outside and pass on where it is",
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

/// Answer to a client whose own would be larger than a run may leave: it did answer, so it is not
/// told that it did not (reference 4).
fn too_large_to_send() -> HttpResponse {
    let text = "The answer of the run is larger than its limit; the run's error says more";
    HttpResponse {
        status: 500,
        headers: vec![("content-type".into(), "text/plain; charset=utf-8".into())],
        body: Bytes::from_static(text.as_bytes()),
        immediate: false,
    }
}

fn decoded(body: Cow<'_, str>, encoding: &str) -> Result<Bytes, WireError> {
    match encoding {
        "base64" => base64::engine::general_purpose::STANDARD
            .decode(body.as_bytes())
            .map(Bytes::from)
            .map_err(|e| WireError::Malformed(e.to_string())),
        _ => Ok(Bytes::from(body.into_owned())),
    }
}
