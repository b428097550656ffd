//! Server-sent events as lines.

use futures::StreamExt as _;
use reqwest::Method;
use serde_json::Value;

use crate::client::Client;
use crate::commands::CliError;

/// Calls `each` with the data of each event until the stream ends or `each` says stop.
pub(crate) async fn follow(client: &Client, path: &str, mut each: impl FnMut(Value) -> bool) -> Result<(), CliError> {
    let request = client.request(Method::GET, path).header("accept", "text/event-stream");
    let response = request.send().await.map_err(|e| client.unreachable(&e))?;
    if !response.status().is_success() {
        let answer: Value = response.json().await.unwrap_or(Value::Null);
        return Err(CliError::new(answer["error"].as_str().unwrap_or("the stream was refused").to_owned(), ""));
    }
    let mut body = response.bytes_stream();
    let mut buffer = Vec::new();
    while let Some(chunk) = body.next().await {
        buffer.extend_from_slice(&chunk.map_err(|e| client.unreachable(&e))?);
        while let Some(end) = buffer.windows(2).position(|w| w == b"\n\n") {
            let frame: Vec<u8> = buffer.drain(..end + 2).collect();
            let text = String::from_utf8_lossy(&frame);
            let data: String = text.lines().filter_map(|l| l.strip_prefix("data:")).map(str::trim_start).collect();
            if let Ok(value) = serde_json::from_str::<Value>(&data)
                && !each(value)
            {
                return Ok(());
            }
        }
    }
    Ok(())
}
