//! Webhooks, deliveries, mail.

use millrace_store::send_rows;
use rusqlite::Row;

use super::{attempt_log, corrupt, get, parsed, time};

send_rows!(Row<'_>);
