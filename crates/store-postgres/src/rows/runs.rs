//! Runs, logs, events, errors, replays.

use millrace_store::run_rows;
use tokio_postgres::Row;

use super::owners::author;
use super::{corrupt, corrupt_json, get, json, parsed, payload_bytes, time, with_text};

pub(crate) const LOG_LINE: &str = "run_id, at, level, text, step";
pub(crate) const EVENT: &str = "emitter_id, ordinal, org_id, name, emit_id, payload, metadata";
pub(crate) const ERROR_GROUP: &str = "id, org_id, owner_id, class, step, frame, message, last_run_id, first_at, last_at, count, state, state_at, note";
pub(crate) const REPLAY: &str = "id, org_id, owner_id, selection, status, version, position, total, replayed, skipped, note, created_at, updated_at";

run_rows!(Row);
