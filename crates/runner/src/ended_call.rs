//! A call that is over, and the lines of what it left running.

use std::sync::Arc;

use millrace_model::run::LogLevel;

use crate::call::LINE_BYTES;
use crate::types::LateSink;

/// What is kept of a call's output after its end, bytes.
const LATE_BYTES_MAX: usize = 64 << 10;

/// A call that is over, of which lines may still come.
pub(crate) struct EndedCall {
    sink: Arc<dyn LateSink>,
    bytes_left: usize,
}

impl EndedCall {
    pub(crate) fn new(sink: Arc<dyn LateSink>) -> Self {
        Self { sink, bytes_left: LATE_BYTES_MAX }
    }

    /// Hands a line on, or what there is room for.
    pub(crate) fn line(&mut self, level: &str, mut text: String, ts_ms: i64) {
        let Some(room) = self.bytes_left.checked_sub(LINE_BYTES) else { return };
        if text.len() > room {
            text.truncate(text.floor_char_boundary(room));
            text.push_str(" [cut]");
        }
        self.bytes_left = room.saturating_sub(text.len());
        self.sink.line(LogLevel::parse(level), text, ts_ms);
    }
}
