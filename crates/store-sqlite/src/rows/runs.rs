//! Runs, logs, events, errors, replays.

use millrace_store::run_rows;
use rusqlite::Row;

use super::owners::author;
use super::{corrupt, corrupt_json, get, json, parsed, payload_bytes, time, with_text};

run_rows!(Row<'_>);
