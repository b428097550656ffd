//! Webhooks and their deliveries.

use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, WebhookId};
use millrace_model::webhook::{ATTEMPTS_KEPT, Health, Webhook, WebhookDelivery};
use millrace_store::{StoreResult, WebhookReplay, WebhookTry};
use rusqlite::{Connection, params};

use crate::rows::{self, execute};
use crate::store::json;
use crate::subscriptions;

pub(crate) fn create(c: &Connection, w: &Webhook) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO webhooks (id, org_id, user_id, name, description, url, secret, active, failures, paused_until, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            w.id.as_str(),
            w.org_id.as_str(),
            w.user_id.as_str(),
            w.name,
            w.description,
            w.url,
            w.secret,
            w.active,
            w.health.failures,
            w.health.paused_until.map(|t| t.ms()),
            w.created_at.ms(),
            w.updated_at.ms()
        ],
    )?;
    Ok(())
}

pub(crate) fn delete(c: &Connection, org: &OrgId, id: &WebhookId) -> StoreResult<bool> {
    if execute(
        c,
        "DELETE FROM webhooks WHERE id = ?1 AND org_id = ?2",
        [id.as_str(), org.as_str()],
    )? == 0
    {
        return Ok(false);
    }
    subscriptions::remove_all(c, id.as_str())?;
    Ok(true)
}

pub(crate) fn due(
    c: &Connection,
    now: Timestamp,
    limit: u32,
) -> StoreResult<(Vec<Webhook>, Vec<String>)> {
    rows::readable(
        c,
        "webhooks",
        "SELECT * FROM webhooks w
         WHERE active = 1 AND (paused_until IS NULL OR paused_until <= ?1)
           AND EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.target_id = w.id AND d.status = 'queued' AND d.next_at <= ?1)
         ORDER BY row_number() OVER (PARTITION BY org_id ORDER BY (SELECT min(d.next_at) FROM webhook_deliveries d WHERE d.target_id = w.id AND d.status = 'queued'), id),
           (SELECT min(d.next_at) FROM webhook_deliveries d WHERE d.target_id = w.id AND d.status = 'queued'), id LIMIT ?2",
        params![now.ms(), limit],
        rows::webhook,
    )
}

/// Queues what a settlement sends; what was queued before stays as it is.
pub(crate) fn queue(c: &Connection, deliveries: &[WebhookDelivery]) -> StoreResult<()> {
    for d in deliveries {
        execute(
            c,
            "INSERT INTO webhook_deliveries (id, org_id, target_id, event_key, body, status, attempts, last_status, last_error, next_at, give_up_at, created_at, traceparent)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT (target_id, event_key) DO NOTHING",
            params![
                d.id.as_str(),
                d.org_id.as_str(),
                d.target_id,
                d.event_key,
                d.body,
                d.status.as_str(),
                d.attempts,
                d.last_status,
                d.last_error,
                d.next_at.ms(),
                d.give_up_at.ms(),
                d.created_at.ms(),
                d.traceparent
            ],
        )?;
    }
    Ok(())
}

pub(crate) fn claim(
    c: &Connection,
    target: &str,
    now: Timestamp,
    hidden_until: Timestamp,
    limit: u32,
) -> StoreResult<Vec<WebhookDelivery>> {
    let mut claimed = rows::claimed(
        c,
        "webhook_deliveries",
        "UPDATE webhook_deliveries SET next_at = ?3 WHERE id IN
           (SELECT id FROM webhook_deliveries WHERE target_id = ?1 AND status = 'queued' AND next_at <= ?2 ORDER BY next_at, id LIMIT ?4) RETURNING *",
        params![target, now.ms(), hidden_until.ms(), limit],
        rows::webhook_delivery,
    )?;
    // RETURNING gives no order.
    claimed.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(claimed)
}

pub(crate) fn record(
    c: &Connection,
    webhook: &WebhookId,
    tries: &[WebhookTry],
    health: Health,
) -> StoreResult<()> {
    let mut recorded = 0;
    for t in tries {
        recorded += execute(
            c,
            "UPDATE webhook_deliveries SET status = ?2, attempts = attempts + 1, last_status = ?3, last_error = ?4, next_at = coalesce(?5, next_at),
               attempt_log = json_insert(CASE WHEN json_array_length(attempt_log) < ?7 THEN attempt_log ELSE json_remove(attempt_log, '$[0]') END, '$[#]', json(?6))
             WHERE id = ?1 AND (status = 'queued' OR (?2 = 'delivered' AND status <> 'delivered'))",
            params![
                t.id.as_str(),
                t.status.as_str(),
                t.attempt.status,
                t.error,
                t.next_at.map(|at| at.ms()),
                json(&t.attempt)?,
                ATTEMPTS_KEPT
            ],
        )?;
    }
    if recorded == 0 && !tries.is_empty() {
        return Ok(());
    }
    execute(
        c,
        "UPDATE webhooks SET failures = ?2, paused_until = ?3 WHERE id = ?1",
        params![webhook.as_str(), health.failures, health.paused_until.map(|t| t.ms())],
    )?;
    Ok(())
}

pub(crate) fn replay(c: &Connection, replay: &WebhookReplay) -> StoreResult<u64> {
    let one = replay.id.as_ref().map(|id| id.as_str());
    // Two texts: the dead letters have an index of their own.
    let which = match one {
        Some(_) => "webhook_deliveries WHERE id = ?3 AND status <> 'queued'",
        None => {
            "webhook_deliveries INDEXED BY webhook_deliveries_failed WHERE status = 'failed' AND ?3 IS NULL"
        }
    };
    let replayed = execute(
        c,
        &format!(
            "UPDATE webhook_deliveries SET status = 'queued', attempts = 0, next_at = ?4, give_up_at = ?5 WHERE id IN
               (SELECT id FROM {which} AND target_id = ?2 AND org_id = ?1 ORDER BY created_at, id LIMIT ?6)"
        ),
        params![replay.org_id.as_str(), replay.target_id, one, replay.now.ms(), replay.give_up_at.ms(), replay.limit],
    )?;
    if replayed > 0 {
        execute(
            c,
            "UPDATE webhooks SET paused_until = ?2 WHERE id = ?1 AND paused_until > ?2",
            params![replay.target_id, replay.now.ms()],
        )?;
    }
    Ok(replayed as u64)
}

pub(crate) fn expire(c: &Connection, now: Timestamp, limit: u32, error: &str) -> StoreResult<u64> {
    let expired = execute(
        c,
        "UPDATE webhook_deliveries SET status = 'failed', last_error = coalesce(last_error, ?3) WHERE id IN
           (SELECT id FROM webhook_deliveries WHERE status = 'queued' AND give_up_at < ?1 AND next_at <= ?1 ORDER BY give_up_at LIMIT ?2)",
        params![now.ms(), limit, error],
    )?;
    Ok(expired as u64)
}
