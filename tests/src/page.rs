//! The page in a document of its own, without a browser.

use serde_json::Value;

use crate::Server;

/// What the page at a path shows, line by line, after `acts`: `name=value` fills a field, other words are those of a button that is pressed.
pub fn shown(server: &Server, path: &str, acts: &[&str]) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/page.mjs");
    let output = std::process::Command::new("node").args([script, &server.url, &server.api_key, path]).args(acts).output().expect("node starts");
    let lines: Result<Value, _> = serde_json::from_slice(&output.stdout);
    let lines = lines.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    lines.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
