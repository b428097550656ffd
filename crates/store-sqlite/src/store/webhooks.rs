//! Webhooks and their deliveries.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, WebhookDeliveryId, WebhookId};
use millrace_model::page::{Listing, Page};
use millrace_model::webhook::{Health, Webhook, WebhookDelivery};
use millrace_store::{
    DeliveryStatus, StoreResult, WebhookReplay, WebhookTry, Webhooks, fail_point,
};

use crate::rows::{list, number, one};
use crate::steps::STEP;
use crate::{SqliteStore, rows, webhooks};

#[async_trait]
impl Webhooks for SqliteStore {
    async fn create_webhook(&self, webhook: Webhook) -> StoreResult<()> {
        self.db.write(move |c| webhooks::create(c, &webhook)).await
    }
    async fn webhook(&self, org: &OrgId, id: &WebhookId) -> StoreResult<Option<Webhook>> {
        by_id!(self, "webhooks", org, id, rows::webhook)
    }
    async fn list_webhooks(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Webhook>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db
            .read(move |c| list(c, "webhooks", "org_id = ?1", &[&org], &page, rows::webhook))
            .await
    }
    async fn delete_webhook(&self, org: &OrgId, id: &WebhookId) -> StoreResult<bool> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| webhooks::delete(c, &org, &id)).await
    }
    async fn due_webhooks(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Webhook>> {
        self.db.queued("webhooks", move |c| webhooks::due(c, now, limit)).await
    }
    async fn claim_webhook_deliveries(
        &self,
        target: &str,
        now: Timestamp,
        hidden_until: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<WebhookDelivery>> {
        let target = target.to_owned();
        write_at!(self, "webhook_claim", |c| webhooks::claim(c, &target, now, hidden_until, limit))
    }
    async fn record_webhook_deliveries(
        &self,
        webhook: &WebhookId,
        tries: Vec<WebhookTry>,
        health: Health,
    ) -> StoreResult<()> {
        let webhook = webhook.clone();
        write_at!(self, "webhook_result", |c| webhooks::record(c, &webhook, &tries, health))
    }
    async fn webhook_delivery(
        &self,
        org: &OrgId,
        id: &WebhookDeliveryId,
    ) -> StoreResult<Option<WebhookDelivery>> {
        by_id!(self, "webhook_deliveries", org, id, rows::webhook_delivery)
    }
    async fn list_webhook_deliveries(
        &self,
        org: &OrgId,
        target: &str,
        status: Option<DeliveryStatus>,
        page: &Page,
    ) -> StoreResult<Listing<WebhookDelivery>> {
        let (org, target, page) = (org.to_string(), target.to_owned(), page.clone());
        // Said literally, so that the dead letters are found through their index.
        let filter = match status {
            Some(DeliveryStatus::Failed) => {
                "org_id = ?1 AND target_id = ?2 AND status = 'failed' AND ?3 IS NOT NULL"
            }
            _ => "org_id = ?1 AND target_id = ?2 AND ?3 IN ('', status)",
        };
        let status = status.map_or("", DeliveryStatus::as_str);
        self.db
            .read(move |c| {
                list(
                    c,
                    "webhook_deliveries",
                    filter,
                    &[&org, &target, status],
                    &page,
                    rows::webhook_delivery,
                )
            })
            .await
    }
    async fn replay_webhook_deliveries(&self, replay: WebhookReplay) -> StoreResult<u64> {
        let mut replayed = 0;
        // As removals: the writer is held for a step only.
        while replayed < u64::from(replay.limit) {
            let left = u32::try_from(u64::from(replay.limit) - replayed).unwrap_or(STEP).min(STEP);
            let step = WebhookReplay { limit: left, ..replay.clone() };
            let queued = self.db.write(move |c| webhooks::replay(c, &step)).await?;
            replayed += queued;
            if queued < u64::from(left) {
                break;
            }
        }
        Ok(replayed)
    }
    async fn expire_webhook_deliveries(
        &self,
        now: Timestamp,
        limit: u32,
        error: &str,
    ) -> StoreResult<u64> {
        let error = error.to_owned();
        // A look at the queue costs no commit while none is over.
        let over = self.db.read(move |c| number(c, "SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE status = 'queued' AND give_up_at < ?1)", [now.ms()]));
        if over.await? == 0 {
            return Ok(0);
        }
        self.db.write(move |c| webhooks::expire(c, now, limit, &error)).await
    }
}
