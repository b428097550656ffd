//! Reports of a host about the end of a call: errors, pauses and exports, checked and cut.

use millrace_model::json;
use millrace_model::pause::PauseKind;
use serde_json::value::RawValue;

use crate::types::{CallFailure, CallPaused, FailureKind};
use crate::wire::{WireError, WireFailure, WirePause};

/// The most characters of an error's class.
const CODE_CHARS_MAX: usize = 200;
/// The most bytes of an error's text that are kept.
const STACK_BYTES_MAX: usize = 64 << 10;
/// The longest pause, milliseconds: a year.
const PAUSE_MS_MAX: f64 = 365.0 * 24.0 * 3600.0 * 1000.0;

/// The host checks these too, in the code's own stack; here they are an untrusted process's claims.
pub(crate) fn checked_pause(pause: WirePause<'_>) -> Result<CallPaused, WireError> {
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
pub(crate) fn checked_object(object: &RawValue, what: &str) -> Result<(), WireError> {
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
pub(crate) fn cut(mut text: String) -> String {
    if text.len() > STACK_BYTES_MAX {
        let end = text.floor_char_boundary(STACK_BYTES_MAX);
        text.truncate(end);
        text.push_str("\n[cut]");
    }
    text
}
