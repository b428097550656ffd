//! Webhooks and their deliveries.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, WebhookDeliveryId, WebhookId};
use millrace_model::page::{Listing, Page};
use millrace_model::webhook::{DeliveryStatus, Health, Webhook, WebhookAttempt, WebhookDelivery};

use crate::StoreResult;

/// How a try of a delivery to a webhook ended; the try is counted.
#[derive(Clone, Debug)]
pub struct WebhookTry {
    /// The delivery.
    pub id: WebhookDeliveryId,
    /// Its state from now on.
    pub status: DeliveryStatus,
    /// What is appended to its log; its status is the delivery's last.
    pub attempt: WebhookAttempt,
    /// Why it failed, with the beginning of the answer.
    pub error: Option<String>,
    /// When it is tried next.
    pub next_at: Option<Timestamp>,
}

/// Which deliveries to a webhook are to be sent again.
#[derive(Clone, Debug)]
pub struct WebhookReplay {
    /// The organization.
    pub org_id: OrgId,
    /// The target.
    pub target_id: String,
    /// This one, failed or delivered; without it all that failed, the oldest first.
    pub id: Option<WebhookDeliveryId>,
    /// From when on they are tried.
    pub now: Timestamp,
    /// Until when they are tried.
    pub give_up_at: Timestamp,
    /// How many at most.
    pub limit: u32,
}

/// Webhooks and what is sent to them.
#[async_trait]
pub trait Webhooks: Send + Sync + 'static {
    /// Stores a webhook.
    async fn create_webhook(&self, webhook: Webhook) -> StoreResult<()>;
    /// A webhook of the organization.
    async fn webhook(&self, org: &OrgId, id: &WebhookId) -> StoreResult<Option<Webhook>>;
    /// The webhooks, newest first. Cursor: id.
    async fn list_webhooks(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Webhook>>;
    /// Removes a webhook with its subscriptions; says whether there was one. Its deliveries stay
    /// until they are pruned, and none is sent.
    async fn delete_webhook(&self, org: &OrgId, id: &WebhookId) -> StoreResult<bool>;
    /// Active webhooks that are not paused and have deliveries due at `now`: the longest due of
    /// each organization, then the next of each.
    async fn due_webhooks(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Webhook>>;
    /// Takes up to `limit` deliveries to a target that are due at `now`, the longest due, hiding
    /// them from others until `hidden_until`.
    async fn claim_webhook_deliveries(
        &self,
        target: &str,
        now: Timestamp,
        hidden_until: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<WebhookDelivery>>;
    /// Records how deliveries to a webhook ended, and what that says of its endpoint. One that is
    /// over stays as it is, except that one which was taken was delivered, whatever somebody else
    /// found before; where all are over, their endpoint too.
    async fn record_webhook_deliveries(
        &self,
        webhook: &WebhookId,
        tries: Vec<WebhookTry>,
        health: Health,
    ) -> StoreResult<()>;
    /// A delivery of the organization to a webhook.
    async fn webhook_delivery(
        &self,
        org: &OrgId,
        id: &WebhookDeliveryId,
    ) -> StoreResult<Option<WebhookDelivery>>;
    /// Deliveries to a target, newest first; with `status`, those in that state. Cursor: id.
    async fn list_webhook_deliveries(
        &self,
        org: &OrgId,
        target: &str,
        status: Option<DeliveryStatus>,
        page: &Page,
    ) -> StoreResult<Listing<WebhookDelivery>>;
    /// Queues deliveries again that are at their end, and ends the webhook's pause where there are
    /// any. How many.
    async fn replay_webhook_deliveries(&self, replay: WebhookReplay) -> StoreResult<u64>;
    /// Marks up to `limit` queued deliveries as failed whose time was over before `now`; `error`
    /// stands where none was tried. How many.
    async fn expire_webhook_deliveries(
        &self,
        now: Timestamp,
        limit: u32,
        error: &str,
    ) -> StoreResult<u64>;
}
