//! Server-sent events, resumed when the connection is lost.

use std::ops::ControlFlow;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Response};
use serde_json::Value;

use crate::client::Client;
use crate::error::CliError;
use crate::terminal::printer;

const EVENT_STREAM: &str = "text/event-stream";
/// The largest event that is read.
const EVENT_BYTES_MAX: usize = 32 << 20;
/// The longest id of an event that the stream is resumed after.
const ID_BYTES_MAX: usize = 1 << 10;
/// Between attempts to connect again.
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_LAST: Duration = Duration::from_secs(10);
/// A stream has a keepalive every 15 seconds, an export one row after the other. After so much
/// silence nobody is there any more, though the connection may never say so.
const SILENCE_MAX: Duration = Duration::from_secs(120);

/// The next part of what a server sends; None where it ended, or is silent for too long.
pub(crate) async fn next_of<S: Stream + Unpin>(body: &mut S) -> Option<S::Item> {
    tokio::time::timeout(SILENCE_MAX, body.next()).await.ok().flatten()
}

/// What is followed.
pub(crate) struct Follow {
    /// A path below `/v1`.
    pub(crate) path: String,
    /// The last event that was seen; the stream begins after it. None: from now on.
    pub(crate) after: Option<String>,
}

/// Calls `each` with the data of each event, for as long as it takes.
pub(crate) async fn follow(
    client: &Client,
    follow: Follow,
    mut each: impl FnMut(Value) -> Result<(), CliError>,
) -> Result<(), CliError> {
    follow_until(client, follow, |_, data| each(data).map(ControlFlow::Continue)).await
}

/// Calls `each` with the name and data of each event until it breaks.
pub(crate) async fn follow_until(
    client: &Client,
    mut follow: Follow,
    mut each: impl FnMut(&str, Value) -> Result<ControlFlow<()>, CliError>,
) -> Result<(), CliError> {
    let mut wait = RETRY_FIRST;
    let mut connected_before = false;
    loop {
        let lost = match connection(client, &mut follow, &mut each, &mut wait).await {
            Ok(ControlFlow::Break(())) => return Ok(()),
            Ok(ControlFlow::Continue(())) => None,
            // A request that cannot be made is not made the second time either.
            Err(CliError::Unreachable { url, source }) if source.is_builder() => {
                return Err(CliError::Unreachable { url, source });
            }
            Err(error @ (CliError::Unreachable { .. } | CliError::Silent { .. }))
                if connected_before || wait > RETRY_FIRST =>
            {
                Some(error)
            }
            Err(CliError::Refused { status: 500.., .. }) if connected_before => None,
            Err(error) => return Err(error),
        };
        if !connected_before || wait == RETRY_FIRST {
            printer::note(&lost.map_or_else(
                || "the stream ended; connecting again".to_owned(),
                |e| format!("{e}; trying again"),
            ));
        }
        connected_before = true;
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(RETRY_LAST);
    }
}

async fn connection(
    client: &Client,
    follow: &mut Follow,
    each: &mut impl FnMut(&str, Value) -> Result<ControlFlow<()>, CliError>,
    wait: &mut Duration,
) -> Result<ControlFlow<()>, CliError> {
    let mut request = client.request(Method::GET, &follow.path)?.header(ACCEPT, EVENT_STREAM);
    if let Some(after) = &follow.after {
        request = request.header("last-event-id", after);
    }
    let response = client.open(request).await?;
    // What is no stream has no event, however often it is asked for.
    if !is_stream(&response) {
        return Err(client.no_answer());
    }
    *wait = RETRY_FIRST;
    let mut body = response.bytes_stream();
    let mut frames = Frames::default();
    while let Some(chunk) = next_of(&mut body).await {
        // A lost connection is resumed like a closed one.
        let Ok(chunk) = chunk else { return Ok(ControlFlow::Continue(())) };
        let pushed = frames.push(&chunk, |frame| {
            if let Some(id) = frame.id.filter(|id| may_be_sent(id)) {
                follow.after = Some(id.to_owned());
            }
            each(frame.name, frame.data)
        })?;
        if pushed.is_break() {
            return Ok(pushed);
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn is_stream(response: &Response) -> bool {
    let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    media_type.is_some_and(|value| {
        value.split(';').next().is_some_and(|t| t.trim().eq_ignore_ascii_case(EVENT_STREAM))
    })
}

/// Whether the id of an event may be sent back as a header. With another one no request could be
/// made, and none would end.
fn may_be_sent(id: &str) -> bool {
    id.len() <= ID_BYTES_MAX && HeaderValue::from_str(id).is_ok()
}

/// An event of a stream.
struct Frame<'a> {
    /// `message` where it has no name.
    name: &'a str,
    id: Option<&'a str>,
    data: Value,
}

/// Cuts bytes into events.
#[derive(Default)]
struct Frames {
    buffer: Vec<u8>,
    /// Bytes at the start that hold no end of an event.
    searched: usize,
}

impl Frames {
    fn push(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Frame<'_>) -> Result<ControlFlow<()>, CliError>,
    ) -> Result<ControlFlow<()>, CliError> {
        self.buffer.extend_from_slice(bytes);
        while let Some(end) = self.buffer[self.searched..]
            .windows(2)
            .position(|w| w == b"\n\n")
            .map(|at| at + self.searched)
        {
            let frame: Vec<u8> = self.buffer.drain(..end + 2).collect();
            self.searched = 0;
            let text = String::from_utf8_lossy(&frame);
            let field = |name: &str| {
                text.lines()
                    .filter_map(|l| l.strip_prefix(name)?.strip_prefix(':'))
                    .map(|v| v.strip_prefix(' ').unwrap_or(v))
                    .collect::<Vec<_>>()
            };
            let data = field("data").join("\n");
            if let Ok(data) = millrace_model::json::read(&data) {
                let name = field("event").first().copied().unwrap_or("message");
                if each(Frame { name, id: field("id").first().copied(), data })?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        self.searched = self.buffer.len().saturating_sub(1);
        if self.buffer.len() > EVENT_BYTES_MAX {
            return Err(CliError::StreamTooLarge { bytes_max: EVENT_BYTES_MAX });
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_falls_silent_is_not_waited_for_without_end() {
        let began = tokio::time::Instant::now();
        let mut body = futures::stream::iter([1, 2]).chain(futures::stream::pending());
        assert_eq!(
            (next_of(&mut body).await, next_of(&mut body).await, next_of(&mut body).await),
            (Some(1), Some(2), None)
        );
        assert_eq!(began.elapsed(), SILENCE_MAX);
    }

    #[test]
    fn an_id_that_no_header_holds_is_not_sent_back() {
        assert!(may_be_sent("1-0") && may_be_sent(""));
        let long = "1".repeat(ID_BYTES_MAX + 1);
        for id in ["a\0b", "a\rb", "a\nb", "\u{1b}", long.as_str()] {
            assert!(!may_be_sent(id), "{id:?}");
        }
    }

    #[test]
    fn events_are_cut_wherever_the_bytes_are() {
        let text =
            ":keepalive\n\nid: 1-0\ndata: {\"e\":\"é\"}\n\nevent: run\ndata: [1,\ndata: 2]\n\n";
        for size in 1..text.len() {
            let mut frames = Frames::default();
            let mut seen = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                let pushed = frames.push(chunk, |frame| {
                    seen.push((
                        frame.name.to_owned(),
                        frame.id.map(str::to_owned),
                        frame.data.to_string(),
                    ));
                    Ok(ControlFlow::Continue(()))
                });
                assert!(pushed.is_ok());
            }
            let expected = [
                ("message".to_owned(), Some("1-0".to_owned()), "{\"e\":\"é\"}".to_owned()),
                ("run".to_owned(), None, "[1,2]".to_owned()),
            ];
            assert_eq!(seen, expected, "chunks of {size}");
        }
    }
}
