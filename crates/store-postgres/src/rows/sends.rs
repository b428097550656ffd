//! Webhooks, deliveries, mail.

use millrace_model::clock::Timestamp;
use millrace_model::ids::{DeliveryId, MailId, OrgId, RunId, UserId, WebhookDeliveryId, WebhookId};
use millrace_model::webhook::{Health, Webhook, WebhookDelivery};
use millrace_store::{Delivery, DeliveryKind, DeliveryStatus, Mail, MailStatus, StoreResult};
use tokio_postgres::Row;

use super::{corrupt, corrupt_json, get, time};

pub(crate) const WEBHOOK: &str = "id, org_id, user_id, name, description, url, secret, active, failures, paused_until, created_at, updated_at";
pub(crate) const WEBHOOK_DELIVERY: &str = "id, org_id, target_id, event_key, body, traceparent, status, attempts, last_status, last_error, next_at, give_up_at, created_at, attempt_log";
pub(crate) const DELIVERY: &str = "id, org_id, owner_id, run_id, position, kind, payload, step, status, attempts, response_status, last_error, created_at, finished_at";
pub(crate) const MAIL: &str =
    "id, org_id, recipient, subject, text, html, link, status, attempts, last_error, created_at";

pub(crate) fn webhook(row: &Row) -> StoreResult<Webhook> {
    Ok(Webhook {
        id: WebhookId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        user_id: UserId::from_row(get(row, "user_id")?),
        name: get(row, "name")?,
        description: get(row, "description")?,
        url: get(row, "url")?,
        secret: get(row, "secret")?,
        active: get(row, "active")?,
        health: Health {
            failures: u32::try_from(get::<i64>(row, "failures")?)
                .map_err(|_| corrupt("failures"))?,
            paused_until: get::<Option<i64>>(row, "paused_until")?.map(Timestamp),
        },
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn webhook_delivery(row: &Row) -> StoreResult<WebhookDelivery> {
    Ok(WebhookDelivery {
        id: WebhookDeliveryId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        target_id: get(row, "target_id")?,
        event_key: get(row, "event_key")?,
        body: get(row, "body")?,
        traceparent: get(row, "traceparent")?,
        status: DeliveryStatus::parse(&get::<String>(row, "status")?)
            .ok_or_else(|| corrupt("status"))?,
        attempts: u32::try_from(get::<i64>(row, "attempts")?).map_err(|_| corrupt("attempts"))?,
        last_status: get::<Option<i64>>(row, "last_status")?
            .and_then(|status| u16::try_from(status).ok()),
        last_error: get(row, "last_error")?,
        next_at: time(row, "next_at")?,
        give_up_at: time(row, "give_up_at")?,
        created_at: time(row, "created_at")?,
        attempt_log: get::<Vec<&str>>(row, "attempt_log")?
            .into_iter()
            .map(|attempt| {
                millrace_model::json::from_str(attempt).map_err(|e| corrupt_json("attempt_log", &e))
            })
            .collect::<StoreResult<_>>()?,
    })
}

pub(crate) fn mail(row: &Row) -> StoreResult<Mail> {
    Ok(Mail {
        id: MailId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        recipient: get(row, "recipient")?,
        subject: get(row, "subject")?,
        text: get(row, "text")?,
        html: get(row, "html")?,
        link: get(row, "link")?,
        status: MailStatus::parse(get(row, "status")?).ok_or_else(|| corrupt("status"))?,
        attempts: get(row, "attempts")?,
        last_error: get(row, "last_error")?,
        created_at: time(row, "created_at")?,
    })
}

pub(crate) fn delivery(row: &Row) -> StoreResult<Delivery> {
    Ok(Delivery {
        id: DeliveryId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        owner: get(row, "owner_id")?,
        run_id: RunId::from_row(get(row, "run_id")?),
        position: get(row, "position")?,
        kind: DeliveryKind::parse(get(row, "kind")?).ok_or_else(|| corrupt("kind"))?,
        payload: get(row, "payload")?,
        step: get(row, "step")?,
        status: DeliveryStatus::parse(get(row, "status")?).ok_or_else(|| corrupt("status"))?,
        attempts: get(row, "attempts")?,
        response_status: get(row, "response_status")?,
        last_error: get(row, "last_error")?,
        created_at: time(row, "created_at")?,
        finished_at: get::<Option<i64>>(row, "finished_at")?.map(Timestamp),
    })
}
