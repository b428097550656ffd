//! Webhooks, their deliveries, and auto-subscriptions.

use std::collections::HashSet;

use millrace_model::ids::{AutoSubscriptionId, WebhookDeliveryId, WebhookId};
use millrace_model::subscription::AutoSubscription;
use millrace_model::webhook::{DeliveryStatus, Health, Webhook, WebhookDelivery};

use super::sample::{IDS, Org, at, page};
use super::{Database, subscriptions::ALL, webhook_attempts::attempt};
use crate::{Effects, WebhookReplay, WebhookTry};

pub(super) fn webhook(org: &Org, ms: i64) -> Webhook {
    Webhook {
        id: WebhookId::generate(&IDS),
        org_id: org.id.clone(),
        user_id: org.user.clone(),
        name: Some("A hook ü".into()),
        description: None,
        url: "https://hook.example.test/a?b=1".into(),
        secret: "sealed".into(),
        active: true,
        health: Health { failures: 3, paused_until: Some(at(ms)) },
        created_at: at(ms),
        updated_at: at(ms + 1),
    }
}

async fn add(org: &Org, ms: i64) -> Webhook {
    let webhook = Webhook { health: Health::default(), ..webhook(org, ms) };
    org.store.create_webhook(webhook.clone()).await.expect("stores");
    webhook
}

fn delivery(org: &Org, webhook: &Webhook, seq: i64, ms: i64) -> WebhookDelivery {
    org.webhook_delivery(webhook.id.as_str(), seq, ms)
}

async fn queue(org: &Org, deliveries: Vec<WebhookDelivery>) {
    org.store
        .settle_effects(Effects { webhook_deliveries: deliveries, ..Effects::default() })
        .await
        .expect("settles");
}

async fn claim(org: &Org, webhook: &Webhook, ms: i64, limit: u32) -> Vec<WebhookDelivery> {
    org.store
        .claim_webhook_deliveries(webhook.id.as_str(), at(ms), at(ms + 100), limit)
        .await
        .expect("claims")
}

async fn due(org: &Org, ms: i64) -> Vec<Webhook> {
    org.store.due_webhooks(at(ms), 10).await.expect("reads")
}

async fn listed(
    org: &Org,
    webhook: &Webhook,
    status: Option<DeliveryStatus>,
) -> Vec<WebhookDelivery> {
    org.store
        .list_webhook_deliveries(&org.id, webhook.id.as_str(), status, &page(100))
        .await
        .expect("lists")
        .items
}

fn tried(id: &WebhookDeliveryId, status: DeliveryStatus, next_ms: Option<i64>) -> WebhookTry {
    let error = (status != DeliveryStatus::Delivered).then(|| "down\u{0}".to_owned());
    WebhookTry { id: id.clone(), status, attempt: attempt(1), error, next_at: next_ms.map(at) }
}

pub async fn a_webhook_comes_back_as_it_was_given(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (first, second) = (webhook(&org, 1), webhook(&org, 2));
    for webhook in [&first, &second, &webhook(&other, 3)] {
        org.store.create_webhook(webhook.clone()).await.expect("stores");
    }
    assert_eq!(org.store.webhook(&org.id, &first.id).await.expect("reads"), Some(first.clone()));
    assert!(org.store.webhook(&other.id, &first.id).await.expect("reads").is_none());
    let listed = org.store.list_webhooks(&org.id, &page(10)).await.expect("lists");
    assert_eq!((listed.total_count, listed.items), (2, vec![second, first.clone()]));
    assert!(!org.store.delete_webhook(&other.id, &first.id).await.expect("answers"));
    assert!(org.store.delete_webhook(&org.id, &first.id).await.expect("removes"));
    assert!(!org.store.delete_webhook(&org.id, &first.id).await.expect("answers"));
}

pub async fn a_webhook_listens_until_it_is_deleted(database: &dyn Database) {
    let org = Org::first(database).await;
    let (hook, asleep) = (add(&org, 0).await, Webhook { active: false, ..webhook(&org, 0) });
    org.store.create_webhook(asleep.clone()).await.expect("stores");
    for listener in [&hook.id, &asleep.id] {
        org.store
            .subscribe(org.subscription("dc_a", listener.as_str(), ""))
            .await
            .expect("subscribes");
    }
    let listeners = async || org.store.listeners(&org.id, &["dc_a"], "").await.expect("reads");
    assert_eq!(listeners().await, [hook.id.to_string()]);
    org.store.delete_webhook(&org.id, &hook.id).await.expect("removes");
    assert!(listeners().await.is_empty());
    assert_eq!(org.store.list_subscriptions(&org.id, &ALL).await.expect("lists").len(), 1);
}

pub async fn an_event_is_queued_once_for_a_webhook(database: &dyn Database) {
    let org = Org::first(database).await;
    let (hook, other) = (add(&org, 0).await, add(&org, 1).await);
    let first = delivery(&org, &hook, 1, 5);
    queue(&org, vec![first.clone(), delivery(&org, &hook, 2, 5), delivery(&org, &other, 1, 5)])
        .await;
    queue(&org, vec![delivery(&org, &hook, 1, 9)]).await;
    assert_eq!(
        (listed(&org, &hook, None).await.len(), listed(&org, &other, None).await.len()),
        (2, 1)
    );
    assert_eq!(
        org.store.webhook_delivery(&org.id, &first.id).await.expect("reads"),
        Some(first.clone())
    );
    let stranger = Org::another(&org.store, "other").await;
    assert!(org.store.webhook_delivery(&stranger.id, &first.id).await.expect("reads").is_none());
    assert!(
        org.store
            .list_webhook_deliveries(&stranger.id, hook.id.as_str(), None, &page(10))
            .await
            .expect("lists")
            .items
            .is_empty()
    );
}

pub async fn due_webhooks_are_active_awake_and_longest_due_first(database: &dyn Database) {
    let org = Org::first(database).await;
    let (late, early, idle) = (add(&org, 0).await, add(&org, 1).await, add(&org, 2).await);
    let asleep = Webhook { active: false, health: Health::default(), ..webhook(&org, 3) };
    org.store.create_webhook(asleep.clone()).await.expect("stores");
    queue(
        &org,
        vec![
            delivery(&org, &late, 1, 20),
            delivery(&org, &early, 1, 10),
            delivery(&org, &asleep, 1, 5),
            delivery(&org, &idle, 1, 90),
        ],
    )
    .await;
    assert!(due(&org, 9).await.is_empty());
    assert_eq!(due(&org, 20).await, [early.clone(), late.clone()]);
    let paused = Health { failures: 5, paused_until: Some(at(40)) };
    org.store.record_webhook_deliveries(&early.id, Vec::new(), paused).await.expect("records");
    assert_eq!(due(&org, 39).await, [late.clone()]);
    assert_eq!(due(&org, 40).await, [Webhook { health: paused, ..early }, late]);
}

pub async fn organizations_take_turns_in_due_webhooks(database: &dyn Database) {
    let busy = Org::first(database).await;
    let calm = Org::another(&busy.store, "calm").await;
    let (first, second, own) = (add(&busy, 0).await, add(&busy, 1).await, add(&calm, 2).await);
    queue(
        &busy,
        vec![
            delivery(&busy, &first, 1, 10),
            delivery(&busy, &second, 1, 11),
            delivery(&calm, &own, 1, 20),
        ],
    )
    .await;
    assert_eq!(due(&busy, 30).await, [first, own, second]);
}

pub async fn a_claimed_delivery_is_hidden_until_it_is_tried_again(database: &dyn Database) {
    let org = Org::first(database).await;
    let hook = add(&org, 0).await;
    let all: Vec<WebhookDelivery> = (0..12).map(|seq| delivery(&org, &hook, seq, seq)).collect();
    queue(&org, all.clone()).await;
    let first = claim(&org, &hook, 20, 2).await;
    assert_eq!(first.iter().map(|d| &d.id).collect::<Vec<_>>(), [&all[0].id, &all[1].id]);
    let (a, b, c) = tokio::join!(
        claim(&org, &hook, 21, 5),
        claim(&org, &hook, 21, 5),
        claim(&org, &hook, 21, 5)
    );
    let claimed: Vec<String> = [a, b, c].into_iter().flatten().map(|d| d.id.to_string()).collect();
    assert_eq!((claimed.len(), claimed.iter().collect::<HashSet<_>>().len()), (10, 10));
    assert!(claim(&org, &hook, 119, 20).await.is_empty());
    assert_eq!(claim(&org, &hook, 120, 20).await.len(), 2);
}

pub async fn what_became_of_a_delivery_is_recorded(database: &dyn Database) {
    let org = Org::first(database).await;
    let hook = add(&org, 0).await;
    let [sent, again, dead] = [1, 2, 3].map(|seq| delivery(&org, &hook, seq, seq));
    queue(&org, vec![sent.clone(), again.clone(), dead.clone()]).await;
    let tries = vec![
        tried(&sent.id, DeliveryStatus::Delivered, None),
        tried(&again.id, DeliveryStatus::Queued, Some(500)),
        tried(&dead.id, DeliveryStatus::Failed, None),
    ];
    let health = Health { failures: 2, paused_until: None };
    org.store.record_webhook_deliveries(&hook.id, tries, health).await.expect("records");
    assert_eq!(
        org.store.webhook(&org.id, &hook.id).await.expect("reads").map(|w| w.health),
        Some(health)
    );
    let state = async |id: &WebhookDeliveryId| {
        let d =
            org.store.webhook_delivery(&org.id, id).await.expect("reads").expect("the delivery");
        (d.status, d.attempts, d.last_status, d.last_error.is_some())
    };
    assert_eq!(state(&sent.id).await, (DeliveryStatus::Delivered, 1, Some(503), false));
    assert_eq!(state(&again.id).await, (DeliveryStatus::Queued, 1, Some(503), true));
    assert_eq!(state(&dead.id).await, (DeliveryStatus::Failed, 1, Some(503), true));
    assert!(claim(&org, &hook, 499, 10).await.is_empty());
    assert_eq!(
        claim(&org, &hook, 500, 10).await.iter().map(|d| &d.id).collect::<Vec<_>>(),
        [&again.id]
    );
    assert_eq!(
        listed(&org, &hook, Some(DeliveryStatus::Failed))
            .await
            .iter()
            .map(|d| &d.id)
            .collect::<Vec<_>>(),
        [&dead.id]
    );
}

/// Of a server that stood still during its try, while another took the delivery over.
pub async fn what_a_late_try_says_of_a_delivery_that_is_over_counts_only_if_it_was_taken(
    database: &dyn Database,
) {
    let org = Org::first(database).await;
    let hook = add(&org, 0).await;
    let [sent, dead] = [1, 2].map(|seq| delivery(&org, &hook, seq, seq));
    queue(&org, vec![sent.clone(), dead.clone()]).await;
    let (well, down) = (Health::default(), Health { failures: 7, paused_until: Some(at(9_000)) });
    let record = async |tries: Vec<WebhookTry>, health: Health| {
        org.store.record_webhook_deliveries(&hook.id, tries, health).await.expect("records")
    };
    record(
        vec![
            tried(&sent.id, DeliveryStatus::Delivered, None),
            tried(&dead.id, DeliveryStatus::Failed, None),
        ],
        well,
    )
    .await;
    let state = async |id: &WebhookDeliveryId| {
        let d =
            org.store.webhook_delivery(&org.id, id).await.expect("reads").expect("the delivery");
        (d.status, d.attempts)
    };
    for late in [
        tried(&sent.id, DeliveryStatus::Queued, Some(50)),
        tried(&sent.id, DeliveryStatus::Failed, None),
        tried(&dead.id, DeliveryStatus::Queued, Some(50)),
    ] {
        record(vec![late], down).await;
        assert_eq!(
            (state(&sent.id).await, state(&dead.id).await),
            ((DeliveryStatus::Delivered, 1), (DeliveryStatus::Failed, 1))
        );
    }
    assert!(claim(&org, &hook, 1_000, 10).await.is_empty());
    assert_eq!(
        org.store.webhook(&org.id, &hook.id).await.expect("reads").map(|w| w.health),
        Some(well),
        "nor of the endpoint"
    );
    record(vec![tried(&dead.id, DeliveryStatus::Delivered, None)], well).await;
    assert_eq!(state(&dead.id).await, (DeliveryStatus::Delivered, 2));
}

pub async fn dead_letters_are_replayed(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let hook = add(&org, 0).await;
    let all: Vec<WebhookDelivery> = (1..=4).map(|seq| delivery(&org, &hook, seq, seq)).collect();
    queue(&org, all.clone()).await;
    let mut tries: Vec<WebhookTry> =
        all[..3].iter().map(|d| tried(&d.id, DeliveryStatus::Failed, None)).collect();
    tries.push(tried(&all[3].id, DeliveryStatus::Delivered, None));
    org.store.record_webhook_deliveries(&hook.id, tries, Health::default()).await.expect("records");
    let again = |id: Option<&WebhookDeliveryId>, limit| WebhookReplay {
        org_id: org.id.clone(),
        target_id: hook.id.to_string(),
        id: id.cloned(),
        now: at(1_000),
        give_up_at: at(9_000),
        limit,
    };
    assert_eq!(
        org.store
            .replay_webhook_deliveries(WebhookReplay {
                org_id: other.id.clone(),
                ..again(None, 10)
            })
            .await
            .expect("answers"),
        0
    );
    assert_eq!(
        org.store.replay_webhook_deliveries(again(Some(&all[3].id), 10)).await.expect("replays"),
        1,
        "one that was delivered, by its id"
    );
    assert_eq!(
        org.store.replay_webhook_deliveries(again(Some(&all[3].id), 10)).await.expect("answers"),
        0,
        "it waits already"
    );
    assert_eq!(org.store.replay_webhook_deliveries(again(None, 2)).await.expect("replays"), 2);
    // Whoever asks for it has mended something: a circuit that is open lets a try through at once.
    let paused = |until| Health { failures: 7, paused_until: Some(at(until)) };
    let health =
        async || org.store.webhook(&org.id, &hook.id).await.expect("reads").map(|w| w.health);
    for (until, limit, then) in [(5_000, 0, 5_000), (5_000, 1, 1_000), (900, 1, 900)] {
        let [failed] = [tried(&all[0].id, DeliveryStatus::Failed, None)];
        org.store
            .record_webhook_deliveries(&hook.id, vec![failed], paused(until))
            .await
            .expect("records");
        org.store.replay_webhook_deliveries(again(None, limit)).await.expect("replays");
        assert_eq!(health().await, Some(paused(then)), "{until} {limit}");
    }
    assert_eq!(
        listed(&org, &hook, Some(DeliveryStatus::Failed))
            .await
            .iter()
            .map(|d| &d.id)
            .collect::<Vec<_>>(),
        [&all[2].id],
        "the oldest first"
    );
    assert!(claim(&org, &hook, 999, 10).await.is_empty());
    let claimed = claim(&org, &hook, 1_000, 10).await;
    assert!(
        claimed.len() == 3 && claimed.iter().all(|d| d.attempts == 0 && d.give_up_at == at(9_000)),
        "{claimed:?}"
    );
}

pub async fn what_is_over_is_given_up_and_what_is_old_goes(database: &dyn Database) {
    let org = Org::first(database).await;
    let hook = add(&org, 0).await;
    let (over, due) = (
        WebhookDelivery { give_up_at: at(10), ..delivery(&org, &hook, 1, 0) },
        delivery(&org, &hook, 2, 0),
    );
    queue(&org, vec![over.clone(), due.clone()]).await;
    assert_eq!(
        org.store.expire_webhook_deliveries(at(10), 10, "never tried").await.expect("answers"),
        0
    );
    assert_eq!(
        org.store.expire_webhook_deliveries(at(11), 10, "never tried").await.expect("gives up"),
        1
    );
    let failed = listed(&org, &hook, Some(DeliveryStatus::Failed)).await;
    assert_eq!((failed.len(), failed[0].last_error.as_deref()), (1, Some("never tried")));
    assert_eq!(org.prune(at(0), 10).await, 0);
    assert_eq!(org.prune(at(1), 10).await, 2);
    assert!(listed(&org, &hook, None).await.is_empty());
}

pub async fn auto_subscriptions_hold_for_what_is_made_later(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let hook = add(&org, 0).await;
    let before = org.add_source("before").await;
    let auto = |name: &str, ms| AutoSubscription {
        id: AutoSubscriptionId::generate(&IDS),
        org_id: org.id.clone(),
        listener_id: hook.id.to_string(),
        event_name: name.into(),
        created_at: at(ms),
    };
    let errors = auto("$errors", 1);
    assert_eq!(org.store.auto_subscribe(errors.clone()).await.expect("stores"), errors);
    assert_eq!(
        org.store.auto_subscribe(auto("$errors", 2)).await.expect("answers"),
        errors,
        "the same again gives the one that exists"
    );
    let logs = org.store.auto_subscribe(auto("$logs", 3)).await.expect("stores");
    assert_eq!(
        org.store.list_auto_subscriptions(&org.id).await.expect("lists"),
        [logs.clone(), errors.clone()]
    );
    assert!(org.store.list_auto_subscriptions(&other.id).await.expect("lists").is_empty());
    let (source, workflow) = (org.add_source("after").await, org.add_workflow("after").await);
    other.add_source("theirs").await;
    let listens = async |emitter: &str| {
        let all = org.store.list_subscriptions(&org.id, &ALL).await.expect("lists");
        let mut names: Vec<_> = all
            .into_iter()
            .filter(|s| s.emitter_id == emitter && s.listener_id == hook.id.as_str())
            .map(|s| s.event_name)
            .collect();
        names.sort();
        names
    };
    assert_eq!(listens(source.id.as_str()).await, ["$errors", "$logs"]);
    assert_eq!(listens(workflow.id.as_str()).await, ["$errors", "$logs"]);
    assert!(listens(before.id.as_str()).await.is_empty());
    assert!(org.store.list_subscriptions(&other.id, &ALL).await.expect("lists").is_empty());
    assert!(!org.store.delete_auto_subscription(&other.id, &logs.id).await.expect("answers"));
    assert!(org.store.delete_auto_subscription(&org.id, &logs.id).await.expect("removes"));
    assert_eq!(listens(org.add_source("later").await.id.as_str()).await, ["$errors"]);
    assert_eq!(
        listens(source.id.as_str()).await,
        ["$errors", "$logs"],
        "what was subscribed stays"
    );
    org.store.delete_webhook(&org.id, &hook.id).await.expect("removes");
    assert!(org.store.list_auto_subscriptions(&org.id).await.expect("lists").is_empty());
}
