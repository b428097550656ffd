//! Frames: a 4-byte little-endian length and a JSON object. What does not fit the catalogue is a
//! violation.

use std::borrow::Cow;

use bytes::{Buf as _, Bytes, BytesMut};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The end of the year 9999: a time beyond it is none that clients can show. Epoch milliseconds.
const LATEST_MS: i64 = 253_402_300_799_999;

/// The most bytes of a name: of a step, or of a kind of `$.send` and of questions. A name of a step
/// that is longer cannot be deployed.
const NAME_BYTES_MAX: usize = 64;
/// The longest duration that a host may report, milliseconds: a year.
const DURATION_MS_MAX: f64 = 365.0 * 24.0 * 3600.0 * 1000.0;

/// Why a host's frames cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    #[error("a frame of {bytes} bytes, allowed are {max}")]
    TooLong { bytes: usize, max: usize },
    #[error("a frame that is not of the protocol: {0}")]
    Malformed(String),
    #[error("a frame out of order: {0}")]
    OutOfOrder(&'static str),
    #[error("the beginning of a frame, and its rest not within {seconds} s, while it slept")]
    BrokeOff { seconds: u64 },
    #[error("a frame for a call it was not given")]
    UnknownCall,
}

/// A frame from a host.
#[derive(Debug)]
pub(crate) enum FromHost<'a> {
    Hello {
        protocol: u32,
    },
    Loaded,
    LoadFailed {
        error: WireFailure,
    },
    Cancelled {
        id: u64,
    },
    Quiet,
    Awaits {
        id: u64,
    },
    /// The code of a call begins.
    Entered {
        id: u64,
    },
    Back {
        id: u64,
    },
    Log {
        id: u64,
        level: Cow<'a, str>,
        text: String,
        ts: i64,
        late: bool,
    },
    Emit {
        id: u64,
        event: Option<&'a RawValue>,
        meta: Option<&'a RawValue>,
    },
    Db {
        id: u64,
        key: String,
        value: Option<&'a RawValue>,
    },
    Respond {
        id: u64,
        status: u16,
        headers: Vec<(String, String)>,
        body: Cow<'a, str>,
        encoding: Cow<'a, str>,
        immediate: bool,
    },
    Step {
        id: u64,
        namespace: String,
        state: StepState,
        duration_ms: f64,
        exports: Option<&'a RawValue>,
        props: Option<&'a RawValue>,
    },
    Send {
        id: u64,
        kind: String,
        payload: &'a RawValue,
    },
    Ask {
        id: u64,
        ask: u64,
        kind: String,
        payload: &'a RawValue,
    },
    Done {
        id: u64,
        ok: bool,
        result: Option<&'a RawValue>,
        exit: Option<Exit>,
        paused: Option<WirePause<'a>>,
        error: Option<WireFailure>,
        namespace: Option<String>,
        exports: Option<&'a RawValue>,
        left_running: bool,
    },
}

/// All fields of all frames: a tagged enum cannot borrow raw JSON, so the type is looked at
/// afterwards.
#[derive(Deserialize)]
struct Flat<'a> {
    #[serde(borrow)]
    t: Cow<'a, str>,
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    protocol: u32,
    #[serde(default)]
    error: Option<WireFailure>,
    #[serde(borrow, default)]
    level: Cow<'a, str>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    ts: i64,
    #[serde(default)]
    late: bool,
    #[serde(default)]
    ask: Option<u64>,
    #[serde(borrow, default, deserialize_with = "present")]
    event: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    meta: Option<&'a RawValue>,
    #[serde(default)]
    key: Option<String>,
    #[serde(borrow, default, deserialize_with = "present")]
    value: Option<&'a RawValue>,
    #[serde(default)]
    status: u16,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(borrow, default)]
    body: Cow<'a, str>,
    #[serde(borrow, default)]
    encoding: Cow<'a, str>,
    #[serde(default)]
    immediate: bool,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    state: Option<StepState>,
    #[serde(default)]
    duration_ms: f64,
    #[serde(borrow, default, deserialize_with = "present")]
    exports: Option<&'a RawValue>,
    #[serde(borrow, default)]
    props: Option<&'a RawValue>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(borrow, default, deserialize_with = "present")]
    payload: Option<&'a RawValue>,
    #[serde(default)]
    ok: Option<bool>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default)]
    exit: Option<Exit>,
    #[serde(borrow, default)]
    paused: Option<WirePause<'a>>,
    #[serde(default)]
    left_running: bool,
}

/// A field that is there with `null` is there.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Flat<'a> {
    fn typed(mut self) -> Result<FromHost<'a>, WireError> {
        let of_pause = self.paused.as_ref().map(|paused| &paused.namespace);
        for name in self.namespace.iter().chain(&self.kind).chain(of_pause) {
            if name.len() > NAME_BYTES_MAX {
                let bytes = name.len();
                let said = format!("a name of {bytes} bytes, allowed are {NAME_BYTES_MAX}");
                return Err(WireError::Malformed(said));
            }
        }
        self.duration_ms = self.duration_ms.clamp(0.0, DURATION_MS_MAX);
        if let Some(paused) = &mut self.paused {
            paused.duration_ms = paused.duration_ms.clamp(0.0, DURATION_MS_MAX);
        }
        let t = self.t.into_owned();
        let need = |field: &'static str| WireError::Malformed(format!("`{t}` without `{field}`"));
        let id = self.id.ok_or_else(|| need("id"));
        Ok(match t.as_str() {
            "hello" => FromHost::Hello { protocol: self.protocol },
            "loaded" => FromHost::Loaded,
            "load_failed" => {
                FromHost::LoadFailed { error: self.error.ok_or_else(|| need("error"))? }
            }
            "cancelled" => FromHost::Cancelled { id: id? },
            "quiet" => FromHost::Quiet,
            "awaits" => FromHost::Awaits { id: id? },
            "entered" => FromHost::Entered { id: id? },
            "back" => FromHost::Back { id: id? },
            "log" => FromHost::Log {
                id: id?,
                level: self.level,
                text: self.text.ok_or_else(|| need("text"))?,
                ts: self.ts.clamp(0, LATEST_MS),
                late: self.late,
            },
            "emit" => FromHost::Emit { id: id?, event: self.event, meta: self.meta },
            "db" => FromHost::Db {
                id: id?,
                key: self.key.ok_or_else(|| need("key"))?,
                value: self.value,
            },
            "respond" => FromHost::Respond {
                id: id?,
                status: self.status,
                headers: self.headers,
                body: self.body,
                encoding: self.encoding,
                immediate: self.immediate,
            },
            "step" => FromHost::Step {
                id: id?,
                namespace: self.namespace.ok_or_else(|| need("namespace"))?,
                state: self.state.ok_or_else(|| need("state"))?,
                duration_ms: self.duration_ms,
                exports: self.exports,
                props: self.props,
            },
            "send" => FromHost::Send {
                id: id?,
                kind: self.kind.ok_or_else(|| need("kind"))?,
                payload: self.payload.ok_or_else(|| need("payload"))?,
            },
            "ask" => FromHost::Ask {
                id: id?,
                ask: self.ask.ok_or_else(|| need("ask"))?,
                kind: self.kind.ok_or_else(|| need("kind"))?,
                payload: self.payload.ok_or_else(|| need("payload"))?,
            },
            "done" => FromHost::Done {
                id: id?,
                ok: self.ok.ok_or_else(|| need("ok"))?,
                result: self.result,
                exit: self.exit,
                paused: self.paused,
                error: self.error,
                namespace: self.namespace,
                exports: self.exports,
                left_running: self.left_running,
            },
            _ => return Err(WireError::Malformed("an unknown type".into())),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StepState {
    Started,
    Props,
    Exported,
    Finished,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Exit {
    #[serde(default)]
    pub(crate) reason: Option<String>,
}

/// A pause as a host tells it.
#[derive(Debug, Deserialize)]
pub(crate) struct WirePause<'a> {
    pub(crate) namespace: String,
    pub(crate) kind: String,
    pub(crate) ms: f64,
    #[serde(default)]
    pub(crate) duration_ms: f64,
    #[serde(borrow, default)]
    pub(crate) run: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) exports: Option<&'a RawValue>,
}

/// An error as a host tells it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WireFailure {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) stack: String,
}

/// Takes one whole frame off the buffer, if there is one.
pub(crate) fn take_frame(buffer: &mut BytesMut, max: usize) -> Result<Option<Bytes>, WireError> {
    let Some(head) = buffer.first_chunk::<4>() else { return Ok(None) };
    let bytes = u32::from_le_bytes(*head) as usize;
    if bytes > max {
        return Err(WireError::TooLong { bytes, max });
    }
    if buffer.len() < 4 + bytes {
        buffer.reserve(4 + bytes - buffer.len());
        return Ok(None);
    }
    buffer.advance(4);
    Ok(Some(buffer.split_to(bytes).freeze()))
}

/// Reads a frame.
pub(crate) fn parse(frame: &[u8]) -> Result<FromHost<'_>, WireError> {
    let flat: Flat<'_> =
        millrace_model::json::from_slice(frame).map_err(|e| WireError::Malformed(e.to_string()))?;
    flat.typed()
}

/// Puts a frame together.
pub(crate) fn frame(parts: &[&str]) -> Bytes {
    begun(parts, 0)
}

/// The beginning of a frame whose other bytes follow.
pub(crate) fn head(begin: &str, rest: usize) -> Bytes {
    begun(&[begin], rest)
}

fn begun(parts: &[&str], rest: usize) -> Bytes {
    let bytes: usize = parts.iter().map(|p| p.len()).sum();
    let mut out = BytesMut::with_capacity(4 + bytes);
    out.extend_from_slice(&u32::try_from(bytes + rest).unwrap_or(u32::MAX).to_le_bytes());
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
    out.freeze()
}

#[cfg(test)]
mod tests;
