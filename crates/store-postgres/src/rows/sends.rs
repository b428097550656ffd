//! Webhooks, deliveries, mail.

use millrace_store::send_rows;
use tokio_postgres::Row;

use super::{attempt_log, corrupt, get, parsed, time};

pub(crate) const WEBHOOK: &str = "id, org_id, user_id, name, description, url, secret, active, failures, paused_until, created_at, updated_at";
pub(crate) const WEBHOOK_DELIVERY: &str = "id, org_id, target_id, event_key, body, traceparent, status, attempts, last_status, last_error, next_at, give_up_at, created_at, attempt_log";
pub(crate) const DELIVERY: &str = "id, org_id, owner_id, run_id, position, kind, payload, step, status, attempts, response_status, last_error, created_at, finished_at";
pub(crate) const MAIL: &str =
    "id, org_id, recipient, subject, text, html, link, status, attempts, last_error, created_at";

send_rows!(Row);
