//! Frames of `GET /v1/stream`, as a client reads them.

use futures::{Stream, StreamExt as _};
use reqwest::Method;
use serde_json::Value;

use crate::Client;

/// A frame: its id, kind and data.
pub type Frame = (String, String, Value);

/// A kind of frame, and what its record must be.
pub type Awaited<'a> = (&'a str, &'a dyn Fn(&Value) -> bool);

/// Frames of a stream that is open; `last`: what it resumes.
pub async fn opened(
    server: &Client,
    topics: &str,
    last: &str,
) -> impl Stream<Item = Frame> + Unpin + use<> {
    let request = server
        .raw(Method::GET, &format!("/v1/stream?topics={topics}"))
        .bearer_auth(&server.api_key)
        .header("last-event-id", last);
    let response = request.send().await.expect("an answer");
    assert_eq!(
        (response.status().as_u16(), response.headers()["content-type"].to_str().ok()),
        (200, Some("text/event-stream"))
    );
    frames(response.bytes_stream().map(|bytes| bytes.expect("bytes").to_vec()))
}

/// Frames in the bytes of a stream, which end with it.
pub fn frames(
    bytes: impl Stream<Item = Vec<u8>> + Send + 'static,
) -> impl Stream<Item = Frame> + Unpin {
    let texts = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).boxed();
    let frames =
        futures::stream::unfold((texts, String::new()), |(mut texts, mut text)| async move {
            loop {
                if let Some(end) = text.find("\n\n") {
                    let frame: String = text.drain(..end + 2).collect();
                    let field = |name: &str| {
                        frame
                            .lines()
                            .find_map(|line| line.strip_prefix(name))
                            .map(|value| value.trim().to_owned())
                    };
                    if let (Some(kind), Some(data)) = (field("event:"), field("data:")) {
                        let data = serde_json::from_str(&data).expect("JSON");
                        return Some((
                            (field("id:").unwrap_or_default(), kind, data),
                            (texts, text),
                        ));
                    }
                } else {
                    text.push_str(&texts.next().await?);
                }
            }
        });
    Box::pin(frames)
}

/// All frames up to that of each topic that is awaited.
pub async fn until(
    stream: &mut (impl Stream<Item = Frame> + Unpin),
    awaited: &[Awaited<'_>],
) -> Vec<Frame> {
    let mut seen: Vec<Frame> = Vec::new();
    let is_there = |seen: &[Frame]| {
        awaited
            .iter()
            .all(|(kind, fits)| seen.iter().any(|(_, of, data)| of == kind && fits(&data["data"])))
    };
    while !is_there(&seen) {
        seen.push(stream.next().await.expect("a frame"));
    }
    seen
}
