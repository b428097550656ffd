//! Webhook dispatcher: sends each delivery, which is queued with the run that made its event, and
//! retries until the receiver accepts it.
//!
//! Each webhook with due deliveries has a task of its own, so that a receiver that hangs delays no
//! other webhook. A task holds a permit of a fair semaphore by organization: while permits are
//! short, it is released after a batch and granted to the organization that holds the fewest.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::join_all;
use hmac::{Hmac, KeyInit as _, Mac as _};
use millrace_fair::{FairSemaphore, Policy, Quotas};
use millrace_model::error_chain;
use millrace_model::ids::{OrgId, WebhookId};
use millrace_model::webhook::{DeliveryStatus, Webhook, WebhookDelivery, next_try};
use millrace_store::{StoreResult, WebhookTry};
use parking_lot::Mutex;
use reqwest::StatusCode;
use sha2::Sha256;

use crate::VERSION;
use crate::answers;
use crate::background::{Activation, Background, Next, Task};
use crate::ctx::Ctx;
use crate::deliver::webhook_address::Sealed;
use crate::deliver::webhooks::SECRET_PREFIX;
use crate::deliver::{is_in_time, recorded};
use crate::reach::{Reach, Unreachable};
use crate::tenants::secrets::Keyring;
use crate::trace_context;

/// How often due deliveries are looked for though nothing woke the task.
const POLL: Duration = Duration::from_secs(1);
/// A try that takes longer has failed.
const TRY_TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A claimed delivery is hidden from others for so long; then whoever claimed it is taken to have
/// died.
const HIDDEN_MS: i64 = 30_000;
/// Webhooks that are sent to at once, and those of one organization among them.
const LANES_MAX: usize = 64;
const LANES: Policy = Policy::fewest_held(Quotas::of(LANES_MAX).tenant(32));
/// Deliveries to one webhook at once, and batches before another webhook may have the lane; one
/// where others have less than their share and no lane.
const BATCH: u32 = 8;
const BATCHES_MAX: u32 = 16;
/// How long a success may take to end its answer, whose body nobody needs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Of a refusal's body, so much is kept with the error.
const ERROR_CHARS_MAX: usize = 300;
/// Deliveries whose time is over, given up in a round.
const EXPIRE_MAX: u32 = 1000;
const EXPIRED: &str = "the webhook was down or paused for so long that it was never tried";

/// How a try ended.
struct Tried {
    answered: Option<StatusCode>,
    /// Why it failed.
    error: Option<String>,
    /// When the receiver asked to be asked again.
    retry_after_ms: Option<i64>,
    /// The egress policy closes its address: nothing was sent.
    is_closed: bool,
}

impl Tried {
    /// Whether the receiver is there, whatever it says of this event.
    fn is_up(&self) -> bool {
        // Of one that may not be asked nothing is known, and nothing is won by waiting for it.
        self.is_closed
            || self.answered.is_some_and(|s| {
                !s.is_server_error()
                    && s != StatusCode::TOO_MANY_REQUESTS
                    && s != StatusCode::REQUEST_TIMEOUT
            })
    }
}

/// Sends deliveries to webhooks, those of each by themselves.
#[derive(Clone)]
pub(crate) struct WebhookDispatcher(Arc<Dispatching>);

struct Dispatching {
    ctx: Arc<Ctx>,
    keyring: Arc<Keyring>,
    reach: Reach,
    /// The webhooks that are being sent to.
    busy: Mutex<HashSet<WebhookId>>,
    slots: FairSemaphore<OrgId>,
    /// Whether webhooks wait for a lane that their organizations' quotas would give them.
    are_short: AtomicBool,
}

impl Background for WebhookDispatcher {
    const TASK: Task = Task::WebhookDispatcher;

    async fn activate(&mut self, now: &Activation) -> Next {
        if let Err(error) = self.0.open_lanes().await {
            now.failed("could not look for deliveries; trying again", &error);
        }
        Next::Woken(POLL)
    }
}

impl WebhookDispatcher {
    pub(crate) fn new(ctx: &Arc<Ctx>, keyring: &Arc<Keyring>) -> Self {
        Self(Arc::new(Dispatching {
            ctx: ctx.clone(),
            keyring: keyring.clone(),
            reach: Reach::new(ctx.config.egress.clone(), common),
            busy: Mutex::default(),
            slots: FairSemaphore::new(LANES),
            are_short: AtomicBool::default(),
        }))
    }
}

impl Dispatching {
    async fn open_lanes(self: &Arc<Self>) -> StoreResult<()> {
        let now = self.ctx.now();
        let expired = self.ctx.store.expire_webhook_deliveries(now, EXPIRE_MAX, EXPIRED).await?;
        if expired > 0 {
            tracing::warn!(expired, "deliveries to webhooks were given up");
        }
        let mut due = self.ctx.store.due_webhooks(now, 2 * LANES_MAX as u32).await?;
        due.retain(|webhook| !self.busy.lock().contains(&webhook.id));
        self.are_short.store(false, Ordering::Relaxed);
        while let Some(at) = self.slots.first_among(due.iter().map(|webhook| &webhook.org_id)) {
            let Some(slot) = self.slots.try_acquire(due[at].org_id.clone(), ()) else {
                self.are_short.store(true, Ordering::Relaxed);
                break;
            };
            let webhook = due.remove(at);
            self.busy.lock().insert(webhook.id.clone());
            let this = self.clone();
            self.ctx.tasks.spawn(async move {
                let id = webhook.id.clone();
                if let Err(error) = this.serve_lane(webhook).await {
                    tracing::error!(webhook.id = %id, error = error_chain(&error), "could not go on with a webhook's deliveries; trying again");
                }
                this.busy.lock().remove(&id);
                drop(slot);
                this.ctx.tasks.wake(Task::WebhookDispatcher);
            });
        }
        Ok(())
    }

    async fn serve_lane(&self, webhook: Webhook) -> StoreResult<()> {
        // A secret that cannot be read fails its deliveries, each with that error.
        let sealed = Sealed::open(&self.keyring, &webhook).map_err(|error| error.to_string());
        let mut health = webhook.health;
        for _ in 0..BATCHES_MAX {
            let now = self.ctx.now();
            if self.ctx.tasks.stopping() || health.paused_until.is_some_and(|until| until > now) {
                break;
            }
            let limit = if health.is_probing() { 1 } else { BATCH };
            let hidden_until = now.plus_ms(HIDDEN_MS);
            let batch = self
                .ctx
                .store
                .claim_webhook_deliveries(webhook.id.as_str(), now, hidden_until, limit)
                .await?;
            if batch.is_empty() || !is_in_time(self.ctx.now(), hidden_until, TRY_TIMEOUT) {
                break;
            }
            let tried = join_all(
                batch.iter().map(|delivery| self.try_delivery(&webhook, sealed.as_ref(), delivery)),
            )
            .await;
            let mut tries = Vec::with_capacity(batch.len());
            for (delivery, tried) in batch.iter().zip(tried) {
                health = health.after(tried.is_up(), self.ctx.now());
                tries.push(self.judge(&webhook, delivery, tried));
            }
            if health.failures > 0 && health.paused_until.is_some() {
                tracing::warn!(webhook.id = %webhook.id, failures = health.failures, "a webhook is down; its deliveries wait");
            }
            recorded(&self.ctx, hidden_until, || {
                self.ctx.store.record_webhook_deliveries(&webhook.id, tries.clone(), health)
            })
            .await?;
            if self.are_short.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    }

    /// What becomes of a delivery after a try.
    fn judge(&self, webhook: &Webhook, delivery: &WebhookDelivery, tried: Tried) -> WebhookTry {
        let answered = tried.answered.map(|s| s.as_u16());
        let id = delivery.id.clone();
        let Some(error) = tried.error else {
            return WebhookTry {
                id,
                status: DeliveryStatus::Delivered,
                answered,
                error: None,
                next_at: None,
            };
        };
        // Gone: the receiver will never take it. Closed: once the operator opens the address, it
        // can be replayed.
        let gone = tried.is_closed || tried.answered == Some(StatusCode::GONE);
        let chance = f64::from(u32::from_le_bytes(self.ctx.ids.bytes::<4>())) / f64::from(u32::MAX);
        let next_at = if gone {
            None
        } else {
            next_try(
                delivery.attempts + 1,
                chance,
                self.ctx.now(),
                tried.retry_after_ms,
                delivery.give_up_at,
            )
        };
        if next_at.is_none() {
            tracing::warn!(webhook.id = %webhook.id, delivery.id = %id, error, "a delivery was given up; it can be replayed");
        }
        let status =
            if next_at.is_some() { DeliveryStatus::Queued } else { DeliveryStatus::Failed };
        WebhookTry { id, status, answered, error: Some(error), next_at }
    }

    async fn try_delivery(
        &self,
        webhook: &Webhook,
        sealed: Result<&Sealed, &String>,
        delivery: &WebhookDelivery,
    ) -> Tried {
        let secs = self.ctx.now().secs();
        let failed = |error: String| Tried {
            answered: None,
            error: Some(error),
            retry_after_ms: None,
            is_closed: false,
        };
        let sealed = match sealed {
            Ok(sealed) => sealed,
            Err(error) => return failed(error.clone()),
        };
        let signature = match sign(&sealed.secret, delivery.id.as_str(), secs, &delivery.body) {
            Ok(signature) => signature,
            Err(error) => return failed(error),
        };
        let Some(url) = sealed.address(&webhook.url) else {
            return failed("the webhook's address is damaged".into());
        };
        let client = match self.reach.client(&url).await {
            Ok(client) => client,
            Err(why) => {
                return Tried {
                    is_closed: matches!(why, Unreachable::Closed(_)),
                    ..failed(why.to_string())
                };
            }
        };
        let request = client
            .post(url)
            .header("content-type", "application/json")
            .header("webhook-id", delivery.id.as_str())
            .header("webhook-timestamp", secs)
            .header("webhook-signature", signature)
            .body(delivery.body.clone());
        let request = match &delivery.traceparent {
            Some(parent) => request.header(trace_context::HEADER, parent),
            None => request,
        };
        let response = match request.send().await {
            Ok(response) => response,
            // The address may hold a password: it is not part of the text.
            Err(error) => return failed(error_chain(&error.without_url())),
        };
        let status = response.status();
        let header = |name: &str| {
            response.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned)
        };
        let retry_after_ms = header("retry-after")
            .and_then(|secs| secs.trim().parse::<i64>().ok())
            .map(|secs| secs.saturating_mul(1000));
        let body =
            tokio::time::timeout(ANSWER_TIMEOUT, answers::start_of(response, ERROR_CHARS_MAX))
                .await
                .unwrap_or_default();
        let error = match status {
            s if s.is_success() => None,
            s if s.is_redirection() => Some(format!(
                "the receiver answered {}, a redirect, which is not followed",
                s.as_u16()
            )),
            s => Some(
                format!("the receiver answered {}: {body}", s.as_u16())
                    .trim_end_matches([':', ' '])
                    .to_owned(),
            ),
        };
        Tried { answered: Some(status), error, retry_after_ms, is_closed: false }
    }
}

/// What clients for webhooks have in common. An answer is taken as it is sent: a small one cannot
/// become a large one here.
fn common() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TRY_TIMEOUT)
        .no_gzip()
        .user_agent(format!("Millrace-Webhooks/{VERSION}"))
}

/// The signature of Standard Webhooks: HMAC-SHA256 over id, time and body, in base64.
fn sign(secret: &str, id: &str, timestamp: i64, body: &str) -> Result<String, String> {
    let damaged = "the webhook's secret is damaged";
    let key = STANDARD
        .decode(secret.strip_prefix(SECRET_PREFIX).unwrap_or(secret))
        .map_err(|_| damaged)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| damaged)?;
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    Ok(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        // The example of the specification's reference libraries.
        let signed = sign(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signed.as_deref(), Ok("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assert!(sign("whsec_***", "a", 1, "{}").is_err());
    }
}
