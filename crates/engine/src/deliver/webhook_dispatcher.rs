//! Webhook dispatcher: sends each delivery, which is queued with the run that made its event, and
//! retries until the receiver accepts it.
//!
//! Each webhook with due deliveries has a task of its own, so that a receiver that hangs delays no
//! other webhook. A task holds a permit of a fair semaphore by organization: while permits are
//! short, it is released after a batch and granted to the organization that holds the fewest.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use millrace_fair::{FairSemaphore, Policy, Quotas};
use millrace_model::error_chain;
use millrace_model::ids::{OrgId, WebhookId};
use millrace_model::webhook::{DeliveryStatus, Webhook, WebhookAttempt, WebhookDelivery, next_try};
use millrace_store::{StoreResult, WebhookTry};
use parking_lot::Mutex;
use reqwest::StatusCode;

use crate::answers;
use crate::background::{Activation, Background, Next, Task};
use crate::ctx::Ctx;
use crate::deliver::webhook_address::Sealed;
use crate::deliver::webhook_request;
use crate::deliver::{is_in_time, recorded};
use crate::reach::{Reach, Unreachable};
use crate::tenants::secrets::Keyring;

/// How often due deliveries are looked for though nothing woke the task.
const POLL: Duration = Duration::from_secs(1);
/// A try that takes longer has failed.
const TRY_TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A claimed delivery is hidden from others for so long; then whoever claimed it is taken to have
/// died.
const HIDDEN_MS: i64 = 30_000;
/// Webhooks that are sent to at once, and those of one organization among them.
const SLOTS_MAX: usize = 64;
const SLOTS: Policy = Policy::fewest_held(Quotas::of(SLOTS_MAX).tenant(32));
/// Deliveries to one webhook at once, and batches before another webhook may have the slot; one
/// where others have less than their share and no slot.
const BATCH: u32 = 8;
const BATCHES_MAX: u32 = 16;
/// How long a success may take to end its answer, whose body nobody needs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Characters of an answer's body that are kept, and those that are read: a secret of the webhook
/// that begins in the former ends in the latter, or is longer and hidden by its beginning.
const ANSWER_CHARS_MAX: usize = 300;
const ANSWER_CHARS_READ: usize = 1_024;
/// Deliveries whose time is over, given up in a round.
const EXPIRE_MAX: u32 = 1000;
const EXPIRED: &str = "the webhook was down or paused for so long that it was never tried";

/// How a try ended.
#[derive(Default)]
struct Tried {
    answered: Option<StatusCode>,
    /// Why it failed.
    error: Option<String>,
    /// The beginning of the answer's body, where it has one.
    answer: Option<String>,
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

    /// The delivery's last error: with what a refusal says. The page of a redirect says nothing.
    fn last_error(&self) -> Option<String> {
        let error = self.error.clone()?;
        let is_redirect = self.answered.is_some_and(|status| status.is_redirection());
        Some(match &self.answer {
            Some(answer) if !is_redirect => format!("{error}: {answer}"),
            _ => error,
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
    /// Whether webhooks wait for a slot that their organizations' quotas would give them.
    are_short: AtomicBool,
}

impl Background for WebhookDispatcher {
    const TASK: Task = Task::WebhookDispatcher;

    async fn activate(&mut self, now: &Activation) -> Next {
        if let Err(error) = self.0.fill_slots().await {
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
            slots: FairSemaphore::new(SLOTS),
            are_short: AtomicBool::default(),
        }))
    }
}

impl Dispatching {
    async fn fill_slots(self: &Arc<Self>) -> StoreResult<()> {
        let now = self.ctx.now();
        let expired = self.ctx.store.expire_webhook_deliveries(now, EXPIRE_MAX, EXPIRED).await?;
        if expired > 0 {
            tracing::warn!(expired, "deliveries to webhooks were given up");
        }
        let mut due = self.ctx.store.due_webhooks(now, 2 * SLOTS_MAX as u32).await?;
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
                if let Err(error) = this.serve(webhook).await {
                    tracing::error!(webhook.id = %id, error = error_chain(&error), "could not go on with a webhook's deliveries; trying again");
                }
                this.busy.lock().remove(&id);
                drop(slot);
                this.ctx.tasks.wake(Task::WebhookDispatcher);
            });
        }
        Ok(())
    }

    async fn serve(&self, webhook: Webhook) -> StoreResult<()> {
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
            for (delivery, (tried, attempt)) in batch.iter().zip(tried) {
                health = health.after(tried.is_up(), self.ctx.now());
                tries.push(self.judge(&webhook, delivery, &tried, attempt));
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
    fn judge(
        &self,
        webhook: &Webhook,
        delivery: &WebhookDelivery,
        tried: &Tried,
        attempt: WebhookAttempt,
    ) -> WebhookTry {
        let id = delivery.id.clone();
        let Some(error) = tried.last_error() else {
            let status = DeliveryStatus::Delivered;
            return WebhookTry { id, status, attempt, error: None, next_at: None };
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
        WebhookTry { id, status, attempt, error: Some(error), next_at }
    }

    async fn try_delivery(
        &self,
        webhook: &Webhook,
        sealed: Result<&Sealed, &String>,
        delivery: &WebhookDelivery,
    ) -> (Tried, WebhookAttempt) {
        let (at, began) = (self.ctx.now(), Instant::now());
        let tried = self.send(webhook, sealed, delivery, at.secs()).await;
        let attempt = WebhookAttempt {
            at_ms: at.ms(),
            duration_ms: u32::try_from(began.elapsed().as_millis()).unwrap_or(u32::MAX),
            status: tried.answered.map(|status| status.as_u16()),
            error: tried.error.clone(),
            answer: tried.answer.clone(),
        };
        (tried, attempt)
    }

    async fn send(
        &self,
        webhook: &Webhook,
        sealed: Result<&Sealed, &String>,
        delivery: &WebhookDelivery,
        secs: i64,
    ) -> Tried {
        let failed = |error: String| Tried { error: Some(error), ..Tried::default() };
        let sealed = match sealed {
            Ok(sealed) => sealed,
            Err(error) => return failed(error.clone()),
        };
        let headers = match webhook_request::headers(&sealed.secret, delivery, secs) {
            Ok(headers) => headers,
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
        let request = headers
            .into_iter()
            .fold(client.post(url.clone()), |request, (name, value)| request.header(name, value))
            .body(delivery.body.clone());
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
            tokio::time::timeout(ANSWER_TIMEOUT, answers::start_of(response, ANSWER_CHARS_READ))
                .await
                .unwrap_or_default();
        let answer: String = sealed.hide_in(&url, &body).chars().take(ANSWER_CHARS_MAX).collect();
        let answer = Some(answer.trim().to_owned()).filter(|answer| !answer.is_empty());
        let error = (!status.is_success()).then(|| {
            let error = format!("the receiver answered {}", status.as_u16());
            if status.is_redirection() {
                format!("{error}, a redirect, which is not followed")
            } else {
                error
            }
        });
        Tried { answered: Some(status), error, answer, retry_after_ms, is_closed: false }
    }
}

/// What clients for webhooks have in common. An answer is taken as it is sent: a small one cannot
/// become a large one here.
fn common() -> reqwest::ClientBuilder {
    reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT).timeout(TRY_TIMEOUT).no_gzip()
}
