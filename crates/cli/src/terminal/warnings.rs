//! Warnings that the server's records carry.

use serde_json::Value;

use crate::terminal::printer::{note, yellow};

/// The `warnings` of a record, each on a line; `before`: what they are about.
pub(crate) fn show(record: &Value, before: &str) {
    for warning in record["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        note(yellow("warning:").and(&format!(" {before}{warning}")));
    }
}
