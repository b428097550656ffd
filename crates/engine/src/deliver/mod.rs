//! Deliveries after a run: each is tried until it is taken, refused for good, or given up. What was
//! taken while the server died may come twice; requests carry the delivery's id, objects have a
//! name of their own and mails are queued once.

pub(crate) mod http;
pub(crate) mod mailer;
pub(crate) mod outbox;
pub(crate) mod s3;
pub(crate) mod smtp;
pub(crate) mod webhook_address;
pub(crate) mod webhook_dispatcher;
pub(crate) mod webhook_request;
pub(crate) mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use lettre::message::Mailboxes;
use millrace_fair::{FairSemaphore, Policy, Quotas};
use millrace_model::clock::Timestamp;
use millrace_model::error_chain;
use millrace_model::ids::{MailId, OrgId};
use millrace_model::json;
use millrace_store::{
    Delivery, DeliveryKind, DeliveryResult, Held, Mail, MailStatus, StoreError, StoreResult,
};
use serde::Deserialize;
use serde_json::Value;

use crate::background::{Activation, Background, Next, Task};
use crate::ctx::Ctx;
use crate::reach::Reach;
use crate::trace_context;

/// How often deliveries are looked at though nothing woke the deliverer.
const POLL: Duration = Duration::from_secs(2);
/// A try that takes longer has failed; a claimed delivery is hidden from others for twice that.
pub(crate) const TRY_TIMEOUT: Duration = Duration::from_secs(15);
/// Deliveries under way at once, and those of one organization among them.
const UNDER_WAY: Quotas = Quotas::of(32).tenant(16);
/// Tries, after which it has failed for good.
const ATTEMPTS_MAX: i64 = 8;
/// The wait after the first try, milliseconds; each further one is so many times longer: about an
/// hour and a half in all.
const FIRST_WAIT_MS: i64 = 5_000;
const WAIT_FACTOR: i64 = 3;
/// How much a wait may be shortened, percent: what failed together is not tried again together.
const JITTER_PERCENT: i64 = 20;
/// Rest after a try could not be recorded.
const RECORD_AGAIN_AFTER: Duration = Duration::from_millis(500);
/// Recipients of one e-mail.
const RECIPIENTS_MAX: usize = 10;

/// Whether there is time for a try of what was claimed, before others may take it over: the claim's
/// answer may have come late, the server have stood still, or those before it have taken long. What
/// is not tried comes again.
pub(crate) fn is_in_time(now: Timestamp, hidden_until: Timestamp, try_timeout: Duration) -> bool {
    now.plus_ms(i64::try_from(try_timeout.as_millis()).unwrap_or(i64::MAX)) <= hidden_until
}

/// Records what became of a try, again and again while the database cannot be reached: what is
/// not recorded is sent once more. Ends when others may do that, who would not wait for this.
pub(crate) async fn recorded<F: Future<Output = StoreResult<()>> + Send>(
    ctx: &Ctx,
    hidden_until: Timestamp,
    record: impl Fn() -> F + Send,
) -> StoreResult<()> {
    loop {
        match record().await {
            Err(StoreError::Overloaded | StoreError::Unavailable(_))
                if ctx.now() < hidden_until && !ctx.tasks.stopping() =>
            {
                tokio::time::sleep(RECORD_AGAIN_AFTER).await;
            }
            done => return done,
        }
    }
}

/// How a try ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Tried {
    /// It was taken.
    Taken { status: Option<u16> },
    /// It may be taken later.
    Later { status: Option<u16>, error: String },
    /// It will never be.
    Never { status: Option<u16>, error: String },
}

impl Tried {
    pub(crate) fn never(error: impl Into<String>) -> Self {
        Self::Never { status: None, error: error.into() }
    }

    /// By an HTTP status.
    pub(crate) fn by_status(status: u16, said: &str) -> Self {
        let answered = || format!("answered with status {status}{said}");
        match status {
            100..=399 => Self::Taken { status: Some(status) },
            408 | 425 | 429 | 500..=599 => Self::Later { status: Some(status), error: answered() },
            _ => Self::Never { status: Some(status), error: answered() },
        }
    }
}

#[derive(Deserialize)]
struct Email {
    subject: String,
    text: Option<String>,
    html: Option<String>,
    to: Option<Value>,
}

/// Sends what code sends with `$.send`, but for events.
#[derive(Clone)]
pub(crate) struct Deliverer(Arc<Deliveries>);

struct Deliveries {
    ctx: Arc<Ctx>,
    /// For the operator's own object store; what code names is reached by clients of its own.
    http: reqwest::Client,
    /// Reaches what code sends to.
    reach: Reach,
    slots: FairSemaphore<OrgId>,
}

impl Background for Deliverer {
    const TASK: Task = Task::Deliverer;

    async fn activate(&mut self, now: &Activation) -> Next {
        if let Err(error) = self.deliver_due().await {
            now.failed("could not read what is to be delivered", &error);
        }
        Next::Woken(POLL)
    }
}

impl Deliverer {
    /// None where no HTTP client can be made: what code sends stays queued.
    pub(crate) fn new(ctx: &Arc<Ctx>) -> Option<Self> {
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TRY_TIMEOUT)
            .build()
            .inspect_err(|error| {
                tracing::error!(
                    error = error_chain(error),
                    "no HTTP client could be made; what code sends stays queued"
                );
            })
            .ok()?;
        Some(Self(Arc::new(Deliveries {
            ctx: ctx.clone(),
            http,
            reach: Reach::new(ctx.config.egress.clone(), http::common),
            slots: FairSemaphore::new(Policy::fewest_held(UNDER_WAY)),
        })))
    }

    /// Starts what is due, as far as slots are free; each that ends looks for the next.
    async fn deliver_due(&self) -> StoreResult<()> {
        let Deliveries { ctx, slots, .. } = &*self.0;
        let free = slots.free();
        if free == 0 {
            return Ok(());
        }
        let now = ctx.now();
        let hidden_until = now.plus_ms(i64::try_from(TRY_TIMEOUT.as_millis()).unwrap_or(0) * 2);
        let count = |held| u32::try_from(held).unwrap_or(u32::MAX);
        let by = slots.held_by_tenant().into_iter().map(|(org, held)| (org, count(held))).collect();
        let held = Held { share: count(UNDER_WAY.tenant), by };
        let limit = u32::try_from(free).unwrap_or(1);
        let due = ctx.store.claim_deliveries(now, hidden_until, limit, &held).await?;
        for delivery in due {
            // Only this task takes slots, and the store keeps to the organizations' quotas.
            let Some(slot) = slots.try_acquire(delivery.org_id.clone(), ()) else { break };
            let deliveries = self.0.clone();
            ctx.tasks.spawn(async move {
                if is_in_time(deliveries.ctx.now(), hidden_until, TRY_TIMEOUT) {
                    deliveries.deliver(&delivery, hidden_until).await;
                }
                drop(slot);
                deliveries.ctx.tasks.wake(Task::Deliverer);
            });
        }
        Ok(())
    }
}

impl Deliveries {
    async fn deliver(&self, delivery: &Delivery, hidden_until: Timestamp) {
        let trying = async {
            match delivery.kind {
                DeliveryKind::Http => {
                    http::send(
                        &self.reach,
                        delivery,
                        self.traceparent_of(delivery).await.as_deref(),
                    )
                    .await
                }
                DeliveryKind::S3 => {
                    s3::put(&self.http, self.ctx.config.s3.as_ref(), delivery, self.ctx.now()).await
                }
                DeliveryKind::Email => self.queue_email(delivery).await,
            }
        };
        let tried =
            tokio::time::timeout(TRY_TIMEOUT, trying).await.unwrap_or_else(|_| Tried::Later {
                status: None,
                error: format!("no answer within {} s", TRY_TIMEOUT.as_secs()),
            });
        let result = self.delivery_result(delivery, tried);
        if let Some(error) = &result.error {
            tracing::info!(delivery.id = %delivery.id, run.id = %delivery.run_id, attempt = delivery.attempts + 1, error, "a delivery failed");
        }
        let record = || self.ctx.store.delivery_result(&delivery.id, result.clone());
        if let Err(error) = recorded(&self.ctx, hidden_until, record).await {
            tracing::error!(delivery.id = %delivery.id, error = error_chain(&error), "could not record a delivery; it may be tried again");
        }
    }

    /// What a delivery carries on of its run's trace, where traces are on and the run is still
    /// known.
    async fn traceparent_of(&self, delivery: &Delivery) -> Option<String> {
        self.ctx.config.traces.as_ref()?;
        let run = self.ctx.store.run(&delivery.org_id, &delivery.run_id).await.ok().flatten()?;
        trace_context::parent_of(&run.context, &run.id, run.attempt)
    }

    fn delivery_result(&self, delivery: &Delivery, tried: Tried) -> DeliveryResult {
        let at = self.ctx.now();
        let (status, error, retry_at) = match tried {
            Tried::Taken { status } => (status, None, None),
            Tried::Never { status, error } => (status, Some(error), None),
            Tried::Later { status, error } => {
                let random = i64::from(u16::from_le_bytes(self.ctx.ids.bytes()));
                (
                    status,
                    Some(error),
                    wait_ms(delivery.attempts + 1, random).map(|ms| at.plus_ms(ms)),
                )
            }
        };
        DeliveryResult {
            response_status: status.map(i64::from),
            error: error.map(|e| e.chars().take(1000).collect()),
            retry_at,
            at,
        }
    }

    /// To the outbox, which tries again by itself: one mail for each recipient, the owner where
    /// none is given.
    async fn queue_email(&self, delivery: &Delivery) -> Tried {
        let later = |error: &dyn std::error::Error| Tried::Later {
            status: None,
            error: error_chain(error),
        };
        let email: Email = match millrace_model::json::from_str(&delivery.payload) {
            Ok(email) => email,
            Err(error) => return Tried::never(format!("the e-mail cannot be read: {error}")),
        };
        let recipients = match &email.to {
            Some(to) => match recipients(to) {
                Ok(recipients) => recipients,
                Err(error) => return Tried::never(error),
            },
            None => match self.ctx.store.organization(&delivery.org_id).await {
                Ok(Some(organization)) => vec![organization.email],
                Ok(None) => return Tried::never("the organization is gone"),
                Err(error) => return later(&error),
            },
        };
        let tail = delivery.id.as_str().trim_start_matches(millrace_model::ids::DeliveryId::PREFIX);
        for (n, recipient) in recipients.into_iter().enumerate() {
            let mail = Mail {
                // Made of the delivery's: a second try queues nothing twice.
                id: MailId::from_row(format!("{}{tail}{n}", MailId::PREFIX)),
                org_id: delivery.org_id.clone(),
                recipient,
                subject: crate::checks::one_line(&email.subject),
                text: email.text.clone().unwrap_or_default(),
                link: None,
                html: email.html.clone().filter(|html| !html.is_empty()),
                status: MailStatus::Queued,
                attempts: 0,
                last_error: None,
                created_at: self.ctx.now(),
            };
            match self.ctx.store.queue_mail(mail).await {
                Ok(true) => {}
                Ok(false) => return later(&outbox::OutboxFull),
                Err(error) => return later(&error),
            }
        }
        self.ctx.tasks.wake(Task::Mailer);
        Tried::Taken { status: None }
    }
}

/// How long to wait after so many tries; none: no more. `random` is any number.
fn wait_ms(tries: i64, random: i64) -> Option<i64> {
    if tries >= ATTEMPTS_MAX {
        return None;
    }
    let full = FIRST_WAIT_MS * WAIT_FACTOR.pow(u32::try_from(tries - 1).unwrap_or(0));
    Some(full - full * (random % (JITTER_PERCENT + 1)) / 100)
}

/// A text or a list of texts, each one address or several.
fn recipients(to: &Value) -> Result<Vec<String>, String> {
    let texts: Vec<&str> = match to {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut all = Vec::new();
    for text in texts {
        let parsed: Mailboxes = text.parse().map_err(|e| {
            format!("`{}` is not an e-mail address: {e}", millrace_model::shown(text))
        })?;
        all.extend(parsed.iter().map(ToString::to_string));
    }
    match all.len() {
        1..=RECIPIENTS_MAX => Ok(all),
        n => Err(format!("an e-mail has 1 to {RECIPIENTS_MAX} recipients; this has {n}")),
    }
}

/// Where a delivery goes, without what may be secret.
pub(crate) fn target(delivery: &Delivery) -> String {
    target_of(delivery.kind, &json::shown(&delivery.payload))
}

/// Target of what was given to `$.send`, without what may be secret.
pub(crate) fn target_of(kind: DeliveryKind, payload: &Value) -> String {
    let text = |field: &str| payload[field].as_str().unwrap_or("").to_owned();
    match kind {
        DeliveryKind::Http => {
            let method = payload["method"].as_str().unwrap_or("GET");
            let place = url::Url::parse(&text("url")).map(|mut url| {
                url.set_query(None);
                url.set_fragment(None);
                // Fails only for addresses that have no user.
                let _ = url.set_username("").and(url.set_password(None));
                url.to_string()
            });
            format!("{method} {}", place.unwrap_or_default())
        }
        DeliveryKind::Email => match &payload["to"] {
            Value::Null => "the owner".into(),
            to => recipients(to).unwrap_or_default().join(", "),
        },
        DeliveryKind::S3 => format!("s3://{}/{}", text("bucket"), text("prefix")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn waits_grow_are_shortened_at_random_and_end() {
        let waits: Vec<_> = (1..=ATTEMPTS_MAX).map(|tries| wait_ms(tries, 0)).collect();
        assert_eq!(waits[..3], [Some(5_000), Some(15_000), Some(45_000)]);
        assert_eq!((waits[6], waits[7]), (Some(3_645_000), None));
        assert_eq!((wait_ms(1, 20), wait_ms(1, 21)), (Some(4_000), Some(5_000)));
    }

    #[test]
    fn recipients_are_addresses_and_few() {
        assert_eq!(
            recipients(&json!("a@x.test, B <b@x.test>")),
            Ok(vec!["a@x.test".into(), "B <b@x.test>".into()])
        );
        assert_eq!(recipients(&json!(["a@x.test", "c@x.test"])).map(|r| r.len()), Ok(2));
        for bad in [
            json!("nobody"),
            json!([]),
            json!(7),
            json!(vec!["a@x.test"; 11]),
            json!("a@x.test\nBcc: b@x.test"),
        ] {
            assert!(recipients(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn statuses_tell_what_becomes_of_a_delivery() {
        assert_eq!(Tried::by_status(204, ""), Tried::Taken { status: Some(204) });
        assert!(
            matches!(Tried::by_status(404, ""), Tried::Never { .. })
                && matches!(Tried::by_status(429, ""), Tried::Later { .. })
        );
    }
}
