//! Webhooks: addresses to which events are sent, and when a delivery is tried again.

use crate::clock::Timestamp;
use crate::ids::{OrgId, UserId, WebhookDeliveryId, WebhookId};

/// A webhook's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Its id, also the `listener_id` of its subscriptions.
    pub id: WebhookId,
    /// The organization.
    pub org_id: OrgId,
    /// Who made it.
    pub user_id: UserId,
    /// Shown name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Where events are sent.
    pub url: String,
    /// What signs them, sealed under the master key.
    pub secret: String,
    /// Whether events are sent.
    pub active: bool,
    /// The state of the endpoint.
    pub health: Health,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed.
    pub updated_at: Timestamp,
}

/// What is known of an endpoint: a circuit that opens when it is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Tries in a row that found it down.
    pub failures: u32,
    /// Nothing is sent before.
    pub paused_until: Option<Timestamp>,
}

/// Failures in a row that open the circuit.
const FAILURES_MAX: u32 = 5;
/// The first pause; each further failure doubles it, up to the longest.
const PAUSE_MS: i64 = 30_000;
const PAUSE_MAX_MS: i64 = 15 * 60_000;

impl Health {
    /// After a try that found the endpoint up, whatever it said of the event, or down.
    #[must_use]
    pub fn after(self, up: bool, now: Timestamp) -> Self {
        if up {
            return Self::default();
        }
        // Tries that were under way when the circuit opened say nothing new.
        if self.paused_until.is_some_and(|until| until > now) {
            return self;
        }
        let failures = self.failures.saturating_add(1);
        let paused_until = failures
            .checked_sub(FAILURES_MAX)
            .map(|over| now.plus_ms((PAUSE_MS << over.min(10)).min(PAUSE_MAX_MS)));
        Self { failures, paused_until }
    }

    /// Whether the next try is a look at whether the endpoint is up again: then one is enough.
    pub const fn is_probing(self) -> bool {
        self.failures >= FAILURES_MAX
    }
}

/// How long a delivery is tried.
pub const GIVE_UP_AFTER_MS: i64 = 24 * 3600 * 1000;
/// The first wait; each further one is three times as long, up to the longest.
const WAIT_MS: i64 = 5_000;
const WAIT_MAX_MS: i64 = 6 * 3600 * 1000;

/// When a delivery that failed `failed` times (at least once) is tried again: exponential, a fifth
/// more or less by `chance` (0 to 1), so that what failed together does not come back together; not
/// sooner than the receiver asked for. `None`: it would be after `give_up_at`.
pub fn next_try(
    failed: u32,
    chance: f64,
    now: Timestamp,
    asked_ms: Option<i64>,
    give_up_at: Timestamp,
) -> Option<Timestamp> {
    let wait = WAIT_MS
        .saturating_mul(3_i64.saturating_pow(failed.saturating_sub(1).min(20)))
        .min(WAIT_MAX_MS);
    let jittered = (wait as f64 * (0.8 + 0.4 * chance.clamp(0.0, 1.0))) as i64;
    let at = now.plus_ms(jittered.max(asked_ms.unwrap_or(0).clamp(0, WAIT_MAX_MS)));
    (at <= give_up_at).then_some(at)
}

/// The states of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryStatus {
    /// Waits for its next try.
    Queued,
    /// The receiver took it.
    Delivered,
    /// Given up: a dead letter, which can be replayed.
    Failed,
}

impl DeliveryStatus {
    /// As stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }

    /// Reads back [`DeliveryStatus::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Queued, Self::Delivered, Self::Failed].into_iter().find(|s| s.as_str() == text)
    }
}

/// An event on its way to a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookDelivery {
    /// Its id, the same for all tries: `webhook-id`.
    pub id: WebhookDeliveryId,
    /// The organization.
    pub org_id: OrgId,
    /// The webhook, as text: the table could hold other targets.
    pub target_id: String,
    /// What is sent, once to a target however often it is asked for: emitter and event.
    pub event_key: String,
    /// The body, JSON text.
    pub body: String,
    /// The header of that name, where traces were on.
    pub traceparent: Option<String>,
    /// Its state.
    pub status: DeliveryStatus,
    /// How often it was tried.
    pub attempts: u32,
    /// The status of the last answer.
    pub last_status: Option<u16>,
    /// Why the last try failed.
    pub last_error: Option<String>,
    /// When it is tried next.
    pub next_at: Timestamp,
    /// Until when it is tried.
    pub give_up_at: Timestamp,
    /// When the event was settled.
    pub created_at: Timestamp,
    /// The last [`ATTEMPTS_KEPT`] attempts, oldest first. A replay keeps those before it.
    pub attempt_log: Vec<WebhookAttempt>,
}

/// Attempts of a delivery that are kept.
pub const ATTEMPTS_KEPT: u32 = 20;

/// An attempt of a delivery
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct WebhookAttempt {
    /// When it began; its `webhook-timestamp` is this, in seconds
    pub at_ms: i64,
    /// How long it took, with reading the beginning of the answer
    pub duration_ms: u32,
    /// The HTTP status of the answer; null: there was none
    pub status: Option<u16>,
    /// Why it failed; null: the receiver accepted it
    pub error: Option<String>,
    /// The first 300 characters of the answer's body on one line, secrets of the webhook as `***`
    pub answer: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_go_on_for_about_a_day_ever_more_rarely() {
        for chance in [0.0, 0.5, 1.0] {
            let (mut now, mut failed, mut waits) = (Timestamp(0), 1, Vec::new());
            while let Some(at) = next_try(failed, chance, now, None, Timestamp(GIVE_UP_AFTER_MS)) {
                waits.push(at.ms() - now.ms());
                (now, failed) = (at, failed + 1);
            }
            assert!(
                (8..=13).contains(&waits.len()) && now.ms() > GIVE_UP_AFTER_MS * 2 / 3,
                "{waits:?}"
            );
            assert!(
                waits.windows(2).all(|w| w[0] <= w[1]) && (4_000..=6_000).contains(&waits[0]),
                "{waits:?}"
            );
        }
    }

    #[test]
    fn a_receiver_may_ask_for_more_time_within_bounds() {
        let at = |asked| {
            next_try(1, 0.5, Timestamp(0), Some(asked), Timestamp(i64::MAX)).map(Timestamp::ms)
        };
        assert_eq!(
            (at(60_000), at(1), at(-5), at(i64::MAX)),
            (Some(60_000), Some(5_000), Some(5_000), Some(WAIT_MAX_MS))
        );
        assert_eq!(
            next_try(u32::MAX, 1.0, Timestamp(0), None, Timestamp(GIVE_UP_AFTER_MS)),
            Some(Timestamp(WAIT_MAX_MS / 5 * 6))
        );
    }

    #[test]
    fn a_circuit_opens_after_five_failures_and_closes_with_a_success() {
        let (mut health, mut now) = (Health::default(), Timestamp(0));
        for _ in 0..4 {
            health = health.after(false, now);
        }
        assert!(health.paused_until.is_none() && !health.is_probing());
        let pauses: Vec<i64> = (0..7)
            .map(|_| {
                health = health.after(false, now);
                let until = health.paused_until.unwrap_or(now);
                assert_eq!(
                    health.after(false, until.plus_ms(-1)),
                    health,
                    "a late failure adds nothing"
                );
                let pause = until.ms() - now.ms();
                now = until;
                pause / 1000
            })
            .collect();
        assert_eq!(pauses, [30, 60, 120, 240, 480, 900, 900]);
        assert!(health.is_probing());
        assert_eq!(health.after(true, now), Health::default());
        assert!(
            Health { failures: u32::MAX, paused_until: None }
                .after(false, Timestamp(0))
                .paused_until
                .is_some()
        );
    }
}
