//! Webhooks: addresses that listen. What is on its way to them is sent by `deliver`.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use millrace_model::event::Event;
use millrace_model::ids::{WebhookDeliveryId, WebhookId};
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::Caller;
use millrace_model::webhook::{DeliveryStatus, GIVE_UP_AFTER_MS, Health, Webhook, WebhookDelivery};
use millrace_store::WebhookReplay;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use url::Url;

use crate::EngineError;
use crate::background::Task;
use crate::ctx::Ctx;
use crate::deliver::webhook_address::{Sealed, is_masked, shown_address};
use crate::deliver::webhook_request::{Headers, shown_headers};
use crate::tenants::secrets::Keyring;
use crate::trace_context;

/// What a secret begins with, as Standard Webhooks writes it.
pub(crate) const SECRET_PREFIX: &str = "whsec_";
/// Webhooks of one organization.
const WEBHOOKS_MAX: u64 = 1_000;
/// Dead letters replayed by one request; the rest by the next.
const REPLAY_MAX: u32 = 10_000;

/// A webhook to be made.
#[derive(Clone, Debug)]
pub struct NewWebhook {
    /// Where events are sent.
    pub url: String,
    /// Shown name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
}

/// An event as it is sent: the same as in a list of event summaries (reference 2).
#[derive(Serialize)]
struct Sent<'a> {
    id: String,
    indexed_at_ms: i64,
    event: &'a RawValue,
    metadata: Map<String, Value>,
}

/// The webhooks of all organizations.
pub struct Webhooks {
    ctx: Arc<Ctx>,
    keyring: Arc<Keyring>,
}

impl Webhooks {
    pub(crate) const fn new(ctx: Arc<Ctx>, keyring: Arc<Keyring>) -> Self {
        Self { ctx, keyring }
    }

    /// Makes a webhook; what signs its deliveries is shown this once.
    pub async fn create(
        &self,
        caller: &Caller,
        new: NewWebhook,
    ) -> Result<(Webhook, String), EngineError> {
        let (webhook, secret) = self.prepare(caller, new)?;
        self.check_count(
            self.ctx
                .store
                .list_webhooks(&caller.org_id, &Page { limit: 1, ..Page::default() })
                .await?
                .total_count
                + 1,
        )?;
        self.ctx.store.create_webhook(webhook.clone()).await?;
        Ok((webhook, secret))
    }

    /// That the organization may have so many.
    pub(crate) fn check_count(&self, count: u64) -> Result<(), EngineError> {
        if count <= WEBHOOKS_MAX {
            return Ok(());
        }
        let message =
            format!("an organization may have {WEBHOOKS_MAX} webhooks; delete some first");
        Err(EngineError::Conflict { code: "too_many_webhooks", message })
    }

    /// A webhook that is not stored yet, and its secret.
    pub(crate) fn prepare(
        &self,
        caller: &Caller,
        new: NewWebhook,
    ) -> Result<(Webhook, String), EngineError> {
        let url = webhook_url(&new.url)?;
        if let Some(refusal) = Url::parse(&url)
            .ok()
            .and_then(|url| crate::reach::closed(&self.ctx.config.egress, &url))
        {
            return Err(EngineError::invalid(
                "url",
                format!(
                    "`url` leads to {}, {}; whoever runs the server opens it with --egress-allow {}",
                    refusal.address.ip(),
                    refusal.rule,
                    refusal.address
                ),
            ));
        }
        let name = line("name", new.name, 100)?;
        let description = line("description", new.description, 1000)?;
        let (id, now) = (WebhookId::generate(&self.ctx.ids), self.ctx.now());
        let secret = format!("{SECRET_PREFIX}{}", STANDARD.encode(self.ctx.ids.bytes::<32>()));
        let (sealed, url) = Sealed::of(secret.clone(), &url);
        let webhook = Webhook {
            secret: self.keyring.seal(&self.ctx.ids, id.as_str(), &sealed.text())?,
            id,
            org_id: caller.org_id.clone(),
            user_id: caller.user_id.clone(),
            name,
            description,
            url,
            active: true,
            health: Health::default(),
            created_at: now,
            updated_at: now,
        };
        Ok((webhook, secret))
    }

    /// Whether a webhook sends to this address, which names its user and password or shows `***`
    /// for them.
    pub(crate) fn is_at(&self, webhook: &Webhook, url: &str) -> bool {
        let Ok(url) = Url::parse(url) else { return false };
        if shown_address(&webhook.url) != shown_address(url.as_str()) {
            return false;
        }
        is_masked(&url)
            || Sealed::open(&self.keyring, webhook)
                .is_ok_and(|sealed| sealed.address(&webhook.url) == Some(url))
    }

    /// A webhook of the organization.
    pub async fn get(&self, caller: &Caller, id: &WebhookId) -> Result<Webhook, EngineError> {
        self.ctx
            .store
            .webhook(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("webhook", id))
    }

    /// The webhooks, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        page: &Page,
    ) -> Result<Listing<Webhook>, EngineError> {
        Ok(self.ctx.store.list_webhooks(&caller.org_id, page).await?)
    }

    /// Removes a webhook and its subscriptions. What was on its way is not sent.
    pub async fn delete(&self, caller: &Caller, id: &WebhookId) -> Result<(), EngineError> {
        let there = self.ctx.store.delete_webhook(&caller.org_id, id).await?;
        self.ctx.cache.listeners.forget_all();
        if there { Ok(()) } else { Err(EngineError::not_found("webhook", id)) }
    }

    /// What was or is to be sent to a webhook, newest first; failed ones are its dead letters.
    pub async fn list_deliveries(
        &self,
        caller: &Caller,
        id: &WebhookId,
        status: Option<DeliveryStatus>,
        page: &Page,
    ) -> Result<Listing<WebhookDelivery>, EngineError> {
        self.get(caller, id).await?;
        Ok(self
            .ctx
            .store
            .list_webhook_deliveries(&caller.org_id, id.as_str(), status, page)
            .await?)
    }

    /// A delivery to a webhook, and the headers of its last attempt.
    pub async fn get_delivery(
        &self,
        caller: &Caller,
        id: &WebhookId,
        delivery: &WebhookDeliveryId,
    ) -> Result<(WebhookDelivery, Headers), EngineError> {
        let webhook = self.get(caller, id).await?;
        let found = self
            .delivery_to(caller, id, delivery)
            .await?
            .ok_or_else(|| EngineError::not_found("delivery", delivery))?;
        // A secret that cannot be read fails each attempt before it is sent.
        let headers = Sealed::open(&self.keyring, &webhook)
            .map(|sealed| shown_headers(&sealed, &webhook.url, &found))
            .unwrap_or_default();
        Ok((found, headers))
    }

    async fn delivery_to(
        &self,
        caller: &Caller,
        webhook: &WebhookId,
        id: &WebhookDeliveryId,
    ) -> Result<Option<WebhookDelivery>, EngineError> {
        let found = self.ctx.store.webhook_delivery(&caller.org_id, id).await?;
        Ok(found.filter(|delivery| delivery.target_id == webhook.as_str()))
    }

    /// Sends a delivery again, or without `delivery` all dead letters, the oldest first. How many
    /// are queued now.
    pub async fn replay_deliveries(
        &self,
        caller: &Caller,
        id: &WebhookId,
        delivery: Option<WebhookDeliveryId>,
    ) -> Result<u64, EngineError> {
        self.get(caller, id).await?;
        let now = self.ctx.now();
        let replay = WebhookReplay {
            org_id: caller.org_id.clone(),
            target_id: id.to_string(),
            id: delivery.clone(),
            now,
            give_up_at: now.plus_ms(GIVE_UP_AFTER_MS),
            limit: REPLAY_MAX,
        };
        let count = self.ctx.store.replay_webhook_deliveries(replay).await?;
        if let (Some(delivery), 0) = (delivery, count)
            && self.delivery_to(caller, id, &delivery).await?.is_none()
        {
            return Err(EngineError::not_found("delivery", delivery));
        }
        self.ctx.tasks.wake(Task::WebhookDispatcher);
        Ok(count)
    }

    /// An event to be sent to a webhook, of that trace.
    pub(crate) fn delivery(
        &self,
        event: &Event,
        target: &str,
        trace: &str,
    ) -> Result<WebhookDelivery, EngineError> {
        let damaged = |e| EngineError::internal("could not write an event", e);
        let payload =
            millrace_model::json::from_str::<&RawValue>(&event.payload).map_err(damaged)?;
        let mut metadata: Map<String, Value> =
            millrace_model::json::from_str(&event.metadata).map_err(damaged)?;
        for (field, value) in
            [("emitter_id", &event.emitter_id), ("emit_id", &event.emit_id), ("name", &event.name)]
        {
            metadata.insert(field.into(), json!(value));
        }
        let sent =
            Sent { id: event.id.to_string(), indexed_at_ms: event.id.ms, event: payload, metadata };
        let now = self.ctx.now();
        Ok(WebhookDelivery {
            id: WebhookDeliveryId::generate(&self.ctx.ids),
            org_id: event.org_id.clone(),
            target_id: target.to_owned(),
            event_key: format!("{}:{}", event.emitter_id, event.id),
            body: serde_json::to_string(&sent).map_err(damaged)?,
            traceparent: self
                .ctx
                .config
                .traces
                .is_some()
                .then(|| trace_context::parent_of_all(trace)),
            status: DeliveryStatus::Queued,
            attempts: 0,
            last_status: None,
            last_error: None,
            next_at: now,
            give_up_at: now.plus_ms(GIVE_UP_AFTER_MS),
            created_at: now,
            attempt_log: Vec::new(),
        })
    }
}

fn webhook_url(text: &str) -> Result<String, EngineError> {
    let refused = || {
        let shown = millrace_model::shown(text);
        EngineError::invalid(
            "url",
            format!(
                "`{shown}` is not the address of a webhook; it starts with http:// or https:// and names a host"
            ),
        )
    };
    if text.is_empty() {
        return Err(EngineError::missing("url", "`url` is required: where events are sent"));
    }
    let url = Url::parse(text).map_err(|_| refused())?;
    // Where the host is missing, the parser takes the first part of the path for it.
    let names_host = text.split_once("://").is_some_and(|(_, rest)| !rest.starts_with(['/', '\\']));
    if is_masked(&url) {
        return Err(EngineError::invalid(
            "url",
            "`***` in `url` means the stored user and password, and none are stored for it; give them",
        ));
    }
    let fits = names_host
        && matches!(url.scheme(), "http" | "https")
        && url.host_str().is_some_and(|host| !host.is_empty())
        && text.len() <= 2048;
    if fits { Ok(url.into()) } else { Err(refused()) }
}

fn line(field: &str, text: Option<String>, max: usize) -> Result<Option<String>, EngineError> {
    match text {
        Some(text) if text.chars().count() > max || text.chars().any(char::is_control) => {
            Err(EngineError::invalid(
                field,
                format!("`{field}` has at most {max} characters on one line"),
            ))
        }
        text => Ok(text.filter(|text| !text.is_empty())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_at_a_host() {
        assert_eq!(
            webhook_url("https://a.test:8443/x?y=1").ok().as_deref(),
            Some("https://a.test:8443/x?y=1")
        );
        assert_eq!(webhook_url("http://127.0.0.1").ok().as_deref(), Some("http://127.0.0.1/"));
        for wrong in [
            "",
            "a.test",
            "ftp://a.test",
            "https://",
            "javascript:alert(1)",
            "https://***@a.test/in",
            &format!("http://a.test/{}", "x".repeat(2048)),
        ] {
            assert!(webhook_url(wrong).is_err(), "{wrong}");
        }
    }
}
