//! Frames: a 4-byte little-endian length and a JSON object. What does not fit the catalogue is a violation.

use std::borrow::Cow;

use bytes::{Buf as _, Bytes, BytesMut};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Why a host's frames cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    #[error("a frame of {bytes} bytes, allowed are {max}")]
    TooLong { bytes: usize, max: usize },
    #[error("a frame that is not of the protocol: {0}")]
    Malformed(String),
    #[error("a frame out of order: {0}")]
    OutOfOrder(&'static str),
    #[error("a frame for a call it was not given")]
    UnknownCall,
}

/// A frame from a host.
#[derive(Debug, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
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
    Log {
        id: u64,
        level: String,
        text: String,
        ts: i64,
    },
    Emit {
        id: u64,
        #[serde(borrow, default)]
        event: Option<&'a RawValue>,
        #[serde(borrow, default)]
        meta: Option<&'a RawValue>,
    },
    Db {
        id: u64,
        key: String,
        #[serde(borrow, default)]
        value: Option<&'a RawValue>,
    },
    Respond {
        id: u64,
        status: u16,
        #[serde(default)]
        headers: Vec<(String, String)>,
        #[serde(borrow, default)]
        body: Cow<'a, str>,
        #[serde(default)]
        encoding: String,
        #[serde(default)]
        immediate: bool,
    },
    Step {
        id: u64,
        namespace: String,
        state: StepState,
        #[serde(default)]
        duration_ms: f64,
        #[serde(borrow, default)]
        exports: Option<&'a RawValue>,
    },
    Send {
        id: u64,
        kind: String,
        #[serde(borrow)]
        payload: &'a RawValue,
    },
    Done {
        id: u64,
        ok: bool,
        #[serde(borrow, default)]
        result: Option<&'a RawValue>,
        #[serde(default)]
        exit: Option<Exit>,
        #[serde(default)]
        error: Option<WireFailure>,
        #[serde(default)]
        namespace: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StepState {
    Started,
    Finished,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Exit {
    #[serde(default)]
    pub(crate) reason: Option<String>,
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
    serde_json::from_slice(frame).map_err(|e| WireError::Malformed(e.to_string()))
}

/// Puts a frame together.
pub(crate) fn frame(parts: &[&str]) -> Bytes {
    let bytes: usize = parts.iter().map(|p| p.len()).sum();
    let mut out = BytesMut::with_capacity(4 + bytes);
    out.extend_from_slice(&u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes());
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_frames_wait_and_long_ones_are_refused() {
        let whole = frame(&[r#"{"t":"loaded"}"#]);
        let mut buffer = BytesMut::from(&whole[..7]);
        assert_eq!(take_frame(&mut buffer, 100), Ok(None));
        buffer.extend_from_slice(&whole[7..]);
        let taken = take_frame(&mut buffer, 100).expect("fits").expect("whole");
        assert!(matches!(parse(&taken), Ok(FromHost::Loaded)));
        let mut long = BytesMut::from(&[0xff, 0xff, 0xff, 0x7f][..]);
        assert!(matches!(take_frame(&mut long, 100), Err(WireError::TooLong { .. })));
    }

    #[test]
    fn garbage_is_malformed() {
        for bad in ["", "[]", "{}", r#"{"t":"nope"}"#, r#"{"t":"done"}"#, r#"{"t":"log","id":-1}"#, "\u{0}"] {
            assert!(matches!(parse(bad.as_bytes()), Err(WireError::Malformed(_))), "{bad}");
        }
    }
}
