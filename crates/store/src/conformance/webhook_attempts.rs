//! Deliveries to webhooks and their attempts: how many are kept, and in what order.

use millrace_model::ids::WebhookDeliveryId;
use millrace_model::webhook::{
    ATTEMPTS_KEPT, DeliveryStatus, Health, WebhookAttempt, WebhookDelivery,
};

use super::Database;
use super::sample::{DAY_MS, IDS, Org, at, event_id};
use super::webhooks::webhook;
use crate::{Effects, WebhookReplay, WebhookTry};

impl Org {
    /// An event on its way to a target.
    pub(super) fn webhook_delivery(&self, target: &str, seq: i64, ms: i64) -> WebhookDelivery {
        WebhookDelivery {
            traceparent: (seq % 2 == 0).then(|| format!("00-{seq:032x}-{seq:016x}-01")),
            id: WebhookDeliveryId::generate(&IDS),
            org_id: self.id.clone(),
            target_id: target.to_owned(),
            event_key: format!("dc_a:{}", event_id(0, seq)),
            body: r#"{"a":"ü"}"#.into(),
            status: DeliveryStatus::Queued,
            attempts: 0,
            last_status: None,
            last_error: None,
            next_at: at(ms),
            give_up_at: at(ms + DAY_MS),
            created_at: at(ms),
            attempt_log: Vec::new(),
        }
    }
}

pub(super) fn attempt(ms: i64) -> WebhookAttempt {
    WebhookAttempt {
        at_ms: ms,
        duration_ms: 7,
        status: Some(503),
        error: Some("the receiver answered 503".into()),
        answer: Some("\u{0}\"{ü}\\u0000,NULL".into()),
    }
}

pub async fn the_last_attempts_of_a_delivery_are_kept_and_outlast_a_replay(
    database: &dyn Database,
) {
    let org = Org::first(database).await;
    let hook = webhook(&org, 0);
    org.store.create_webhook(hook.clone()).await.expect("stores");
    let [one, other] = [1, 2].map(|seq| org.webhook_delivery(hook.id.as_str(), seq, seq));
    org.store
        .settle_effects(Effects {
            webhook_deliveries: vec![one.clone(), other.clone()],
            ..Effects::default()
        })
        .await
        .expect("settles");
    let record = async |ms, status| {
        let tried = WebhookTry {
            id: one.id.clone(),
            status,
            attempt: attempt(ms),
            error: None,
            next_at: Some(at(ms + 1)),
        };
        org.store
            .record_webhook_deliveries(&hook.id, vec![tried], Health::default())
            .await
            .expect("records");
    };
    let log = async |delivery: &WebhookDelivery| {
        let read = org.store.webhook_delivery(&org.id, &delivery.id).await.expect("reads");
        read.expect("the delivery").attempt_log
    };
    let kept = i64::from(ATTEMPTS_KEPT);
    assert_eq!(log(&one).await, []);
    for ms in 1..=kept {
        record(ms, DeliveryStatus::Queued).await;
    }
    assert_eq!(log(&one).await, (1..=kept).map(attempt).collect::<Vec<_>>());
    record(kept + 1, DeliveryStatus::Queued).await;
    record(kept + 2, DeliveryStatus::Failed).await;
    let last: Vec<_> = (3..=kept + 2).map(attempt).collect();
    assert_eq!(log(&one).await, last);
    record(kept + 3, DeliveryStatus::Failed).await;
    assert_eq!(log(&one).await, last, "a late attempt of a delivery that is over");
    let replay = WebhookReplay {
        org_id: org.id.clone(),
        target_id: hook.id.to_string(),
        id: None,
        now: at(50),
        give_up_at: at(900),
        limit: 10,
    };
    assert_eq!(org.store.replay_webhook_deliveries(replay).await.expect("replays"), 1);
    assert_eq!(log(&one).await, last, "a replay keeps the attempts before it");
    let claimed = org
        .store
        .claim_webhook_deliveries(hook.id.as_str(), at(60), at(90), 10)
        .await
        .expect("claims");
    let logs: Vec<_> = claimed.iter().map(|d| d.attempt_log.len()).collect();
    assert!(logs.len() == 2 && logs.contains(&0) && logs.contains(&last.len()), "{logs:?}");
}
