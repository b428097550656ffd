//! Webhooks and their deliveries.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, WebhookDeliveryId, WebhookId};
use millrace_model::page::{Listing, Page};
use millrace_model::webhook::{Health, Webhook, WebhookDelivery};
use millrace_store::{DeliveryStatus, StoreResult, WebhookReplay, WebhookTry, Webhooks};

use crate::db::{statement, text, transaction};
use crate::rows::{Table, list, one};
use crate::{PostgresStore, rows, webhooks};

#[async_trait]
impl Webhooks for PostgresStore {
    async fn create_webhook(&self, webhook: Webhook) -> StoreResult<()> {
        webhooks::create(&self.db.client().await?, &webhook).await
    }
    async fn webhook(&self, org: &OrgId, id: &WebhookId) -> StoreResult<Option<Webhook>> {
        by_id!(self, "webhooks", rows::WEBHOOK, org, id, rows::webhook)
    }
    async fn list_webhooks(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Webhook>> {
        let table = Table { name: "webhooks", columns: rows::WEBHOOK, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::webhook).await
    }
    async fn delete_webhook(&self, org: &OrgId, id: &WebhookId) -> StoreResult<bool> {
        transaction!(self.db, |t| webhooks::delete(&t, org, id))
    }
    async fn due_webhooks(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Webhook>> {
        webhooks::due(&self.db.client().await?, now, limit).await
    }
    async fn claim_webhook_deliveries(
        &self,
        target: &str,
        now: Timestamp,
        hidden_until: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<WebhookDelivery>> {
        statement!(self.db, "webhook_claim", |c| webhooks::claim(
            &c,
            target,
            now,
            hidden_until,
            limit
        ))
    }
    async fn record_webhook_deliveries(
        &self,
        webhook: &WebhookId,
        tries: Vec<WebhookTry>,
        health: Health,
    ) -> StoreResult<()> {
        transaction!(self.db, "webhook_result", |t| webhooks::record(&t, webhook, &tries, health))
    }
    async fn webhook_delivery(
        &self,
        org: &OrgId,
        id: &WebhookDeliveryId,
    ) -> StoreResult<Option<WebhookDelivery>> {
        by_id!(self, "webhook_deliveries", rows::WEBHOOK_DELIVERY, org, id, rows::webhook_delivery)
    }
    async fn list_webhook_deliveries(
        &self,
        org: &OrgId,
        target: &str,
        status: Option<DeliveryStatus>,
        page: &Page,
    ) -> StoreResult<Listing<WebhookDelivery>> {
        // Said literally, so that the dead letters are found through their index.
        let filter = match status {
            Some(DeliveryStatus::Failed) => {
                "org_id = $1 AND target_id = $2 AND status = 'failed' AND $3::text IS NOT NULL"
            }
            _ => "org_id = $1 AND target_id = $2 AND ($3::text IS NULL OR status = $3)",
        };
        let table = Table { name: "webhook_deliveries", columns: rows::WEBHOOK_DELIVERY, filter };
        list(
            &self.db.client().await?,
            &table,
            &[&org.as_str(), &text(target), &status.map(DeliveryStatus::as_str)],
            page,
            rows::webhook_delivery,
        )
        .await
    }
    async fn replay_webhook_deliveries(&self, replay: WebhookReplay) -> StoreResult<u64> {
        webhooks::replay(&self.db.client().await?, &replay).await
    }
    async fn expire_webhook_deliveries(
        &self,
        now: Timestamp,
        limit: u32,
        error: &str,
    ) -> StoreResult<u64> {
        webhooks::expire(&self.db.client().await?, now, limit, error).await
    }
}
