//! Server-sent events, resumed when the connection is lost.

use std::time::Duration;

use futures::StreamExt as _;
use reqwest::Method;
use serde_json::Value;

use crate::client::Client;
use crate::error::CliError;
use crate::terminal::printer;

/// The largest event that is read.
const EVENT_BYTES_MAX: usize = 32 << 20;
/// Between attempts to connect again.
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_LAST: Duration = Duration::from_secs(10);

/// What is followed.
pub(crate) struct Follow {
    /// A path below `/v1`.
    pub(crate) path: String,
    /// The last event that was seen; the stream begins after it. None: from now on.
    pub(crate) after: Option<String>,
}

/// Calls `each` with the data of each event, for as long as it takes.
pub(crate) async fn follow(client: &Client, mut follow: Follow, mut each: impl FnMut(Value) -> Result<(), CliError>) -> Result<(), CliError> {
    let mut wait = RETRY_FIRST;
    let mut connected_before = false;
    loop {
        let lost = match connection(client, &mut follow, &mut each, &mut wait).await {
            Ok(()) => None,
            Err(error @ CliError::Unreachable { .. }) if connected_before || wait > RETRY_FIRST => Some(error),
            Err(error @ CliError::Unreachable { .. }) => return Err(error),
            Err(CliError::Refused { status: 500.., .. }) if connected_before => None,
            Err(error) => return Err(error),
        };
        if !connected_before || wait == RETRY_FIRST {
            printer::note(&lost.map_or_else(|| "the stream ended; connecting again".to_owned(), |e| format!("{e}; trying again")));
        }
        connected_before = true;
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(RETRY_LAST);
    }
}

async fn connection(client: &Client, follow: &mut Follow, each: &mut impl FnMut(Value) -> Result<(), CliError>, wait: &mut Duration) -> Result<(), CliError> {
    let mut request = client.request(Method::GET, &follow.path).header("accept", "text/event-stream");
    if let Some(after) = &follow.after {
        request = request.header("last-event-id", after);
    }
    let response = request.send().await.map_err(|e| client.unreachable(e))?;
    if !response.status().is_success() {
        return Err(client.refusal(response).await);
    }
    *wait = RETRY_FIRST;
    let mut body = response.bytes_stream();
    let mut frames = Frames::default();
    while let Some(chunk) = body.next().await {
        // A lost connection is resumed like a closed one.
        let Ok(chunk) = chunk else { return Ok(()) };
        frames.push(&chunk, |id, data| {
            if let Some(id) = id {
                follow.after = Some(id.to_owned());
            }
            each(data)
        })?;
    }
    Ok(())
}

/// Cuts bytes into events.
#[derive(Default)]
struct Frames {
    buffer: Vec<u8>,
    /// Bytes at the start that hold no end of an event.
    searched: usize,
}

impl Frames {
    fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Option<&str>, Value) -> Result<(), CliError>) -> Result<(), CliError> {
        self.buffer.extend_from_slice(bytes);
        while let Some(end) = self.buffer[self.searched..].windows(2).position(|w| w == b"\n\n").map(|at| at + self.searched) {
            let frame: Vec<u8> = self.buffer.drain(..end + 2).collect();
            self.searched = 0;
            let text = String::from_utf8_lossy(&frame);
            let field =
                |name: &str| text.lines().filter_map(|l| l.strip_prefix(name)?.strip_prefix(':')).map(|v| v.strip_prefix(' ').unwrap_or(v)).collect::<Vec<_>>();
            let data = field("data").join("\n");
            if let Ok(value) = serde_json::from_str(&data) {
                each(field("id").first().copied(), value)?;
            }
        }
        self.searched = self.buffer.len().saturating_sub(1);
        if self.buffer.len() > EVENT_BYTES_MAX {
            return Err(CliError::StreamTooLarge { bytes_max: EVENT_BYTES_MAX });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_cut_wherever_the_bytes_are() {
        let text = ":keepalive\n\nid: 1-0\ndata: {\"e\":\"é\"}\n\ndata: [1,\ndata: 2]\n\n";
        for size in 1..text.len() {
            let mut frames = Frames::default();
            let mut seen = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                let pushed = frames.push(chunk, |id, data| {
                    seen.push((id.map(str::to_owned), data.to_string()));
                    Ok(())
                });
                assert!(pushed.is_ok());
            }
            assert_eq!(seen, [(Some("1-0".to_owned()), "{\"e\":\"é\"}".to_owned()), (None, "[1,2]".to_owned())], "chunks of {size}");
        }
    }
}
