//! Webhooks and their deliveries.

use deadpool_postgres::{Client, GenericClient, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, WebhookId};
use millrace_model::webhook::{ATTEMPTS_KEPT, Health, Webhook, WebhookDelivery};
use millrace_store::{StoreResult, WebhookReplay, WebhookTry};

use crate::db::{text, unwritable};
use crate::rows::{self, execute};
use crate::subscriptions;

pub(crate) async fn create(c: &impl GenericClient, w: &Webhook) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO webhooks (id, org_id, user_id, name, description, url, secret, active, failures, paused_until, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        &[
            &w.id.as_str(),
            &w.org_id.as_str(),
            &w.user_id.as_str(),
            &w.name.as_deref().map(text),
            &w.description.as_deref().map(text),
            &text(&w.url),
            &w.secret,
            &w.active,
            &i64::from(w.health.failures),
            &w.health.paused_until.map(|t| t.ms()),
            &w.created_at.ms(),
            &w.updated_at.ms(),
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn delete(t: &Transaction<'_>, org: &OrgId, id: &WebhookId) -> StoreResult<bool> {
    if execute(
        t,
        "DELETE FROM webhooks WHERE id = $1 AND org_id = $2",
        &[&id.as_str(), &org.as_str()],
    )
    .await?
        == 0
    {
        return Ok(false);
    }
    subscriptions::remove_all(t, id.as_str()).await?;
    Ok(true)
}

pub(crate) async fn due(c: &Client, now: Timestamp, limit: u32) -> StoreResult<Vec<Webhook>> {
    let sql = format!(
        "SELECT {} FROM webhooks w
         WHERE active AND (paused_until IS NULL OR paused_until <= $1)
           AND EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.target_id = w.id AND d.status = 'queued' AND d.next_at <= $1)
         ORDER BY row_number() OVER (PARTITION BY org_id ORDER BY (SELECT min(d.next_at) FROM webhook_deliveries d WHERE d.target_id = w.id AND d.status = 'queued'), id),
           (SELECT min(d.next_at) FROM webhook_deliveries d WHERE d.target_id = w.id AND d.status = 'queued'), id LIMIT $2",
        rows::WEBHOOK
    );
    rows::claimed(c, "webhooks", &sql, &[&now.ms(), &i64::from(limit)], rows::webhook).await
}

/// Queues what a settlement sends; what was queued before stays as it is.
pub(crate) async fn queue(
    c: &impl GenericClient,
    deliveries: &[WebhookDelivery],
) -> StoreResult<()> {
    if deliveries.is_empty() {
        return Ok(());
    }
    let column =
        |value: fn(&WebhookDelivery) -> &str| deliveries.iter().map(value).collect::<Vec<&str>>();
    let (ids, orgs, targets) =
        (column(|d| d.id.as_str()), column(|d| d.org_id.as_str()), column(|d| &d.target_id));
    let (keys, bodies, states) =
        (column(|d| &d.event_key), column(|d| &d.body), column(|d| d.status.as_str()));
    let number =
        |value: fn(&WebhookDelivery) -> i64| deliveries.iter().map(value).collect::<Vec<i64>>();
    let (next, over, made) =
        (number(|d| d.next_at.ms()), number(|d| d.give_up_at.ms()), number(|d| d.created_at.ms()));
    let traces: Vec<Option<&str>> = deliveries.iter().map(|d| d.traceparent.as_deref()).collect();
    execute(
        c,
        "INSERT INTO webhook_deliveries (id, org_id, target_id, event_key, body, status, attempts, next_at, give_up_at, created_at, traceparent)
         SELECT id, org_id, target_id, event_key, body, status, 0, next_at, give_up_at, created_at, traceparent
         FROM UNNEST($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[])
           AS n (id, org_id, target_id, event_key, body, status, next_at, give_up_at, created_at, traceparent)
         ON CONFLICT (target_id, event_key) DO NOTHING",
        &[&ids, &orgs, &targets, &keys, &bodies, &states, &next, &over, &made, &traces],
    )
    .await?;
    Ok(())
}

/// As runs are claimed: what another server takes is passed over.
pub(crate) async fn claim(
    c: &Client,
    target: &str,
    now: Timestamp,
    hidden_until: Timestamp,
    limit: u32,
) -> StoreResult<Vec<WebhookDelivery>> {
    let sql = format!(
        "WITH picked AS MATERIALIZED (
           SELECT id AS picked_id FROM webhook_deliveries WHERE target_id = $1 AND status = 'queued' AND next_at <= $2
           ORDER BY next_at, id LIMIT $4 FOR UPDATE SKIP LOCKED)
         UPDATE webhook_deliveries SET next_at = $3 FROM picked WHERE id = picked_id RETURNING {}",
        rows::WEBHOOK_DELIVERY
    );
    let mut claimed = rows::claimed(
        c,
        "webhook_deliveries",
        &sql,
        &[&text(target), &now.ms(), &hidden_until.ms(), &i64::from(limit)],
        rows::webhook_delivery,
    )
    .await?;
    // RETURNING gives no order.
    claimed.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(claimed)
}

pub(crate) async fn record(
    t: &Transaction<'_>,
    webhook: &WebhookId,
    tries: &[WebhookTry],
    health: Health,
) -> StoreResult<()> {
    let mut recorded = 0;
    for one in tries {
        recorded += execute(
            t,
            "UPDATE webhook_deliveries SET status = $2, attempts = attempts + 1, last_status = $3, last_error = $4, next_at = coalesce($5, next_at),
               attempt_log = (attempt_log || $6::text)[cardinality(attempt_log) + 2 - $7::int :]
             WHERE id = $1 AND (status = 'queued' OR ($2 = 'delivered' AND status <> 'delivered'))",
            &[
                &one.id.as_str(),
                &one.status.as_str(),
                &one.attempt.status.map(i64::from),
                &one.error.as_deref().map(text),
                &one.next_at.map(|at| at.ms()),
                &serde_json::to_string(&one.attempt).map_err(unwritable)?,
                &(ATTEMPTS_KEPT as i32),
            ],
        )
        .await?;
    }
    if recorded == 0 && !tries.is_empty() {
        return Ok(());
    }
    execute(
        t,
        "UPDATE webhooks SET failures = $2, paused_until = $3 WHERE id = $1",
        &[&webhook.as_str(), &i64::from(health.failures), &health.paused_until.map(|t| t.ms())],
    )
    .await?;
    Ok(())
}

pub(crate) async fn replay(c: &Client, replay: &WebhookReplay) -> StoreResult<u64> {
    let one = replay.id.as_ref().map(|id| id.as_str());
    // Two texts: the dead letters have an index of their own.
    let which = if one.is_some() {
        "id = $3 AND status <> 'queued'"
    } else {
        "status = 'failed' AND $3::text IS NULL"
    };
    let sql = format!(
        "UPDATE webhook_deliveries SET status = 'queued', attempts = 0, next_at = $4, give_up_at = $5 WHERE id IN
           (SELECT id FROM webhook_deliveries WHERE {which} AND target_id = $2 AND org_id = $1 ORDER BY created_at, id LIMIT $6)"
    );
    let (target, limit) = (text(&replay.target_id), i64::from(replay.limit));
    let replayed = execute(
        c,
        &sql,
        &[
            &replay.org_id.as_str(),
            &target,
            &one,
            &replay.now.ms(),
            &replay.give_up_at.ms(),
            &limit,
        ],
    )
    .await?;
    if replayed > 0 {
        let woken = "UPDATE webhooks SET paused_until = $2 WHERE id = $1 AND paused_until > $2";
        execute(c, woken, &[&text(&replay.target_id), &replay.now.ms()]).await?;
    }
    Ok(replayed)
}

pub(crate) async fn expire(
    c: &Client,
    now: Timestamp,
    limit: u32,
    error: &str,
) -> StoreResult<u64> {
    execute(
        c,
        "UPDATE webhook_deliveries SET status = 'failed', last_error = coalesce(last_error, $3) WHERE id IN
           (SELECT id FROM webhook_deliveries WHERE status = 'queued' AND give_up_at < $1 AND next_at <= $1 ORDER BY give_up_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
        &[&now.ms(), &i64::from(limit), &text(error)],
    )
    .await
}
