//! Deliveries of `$.send.*`: stored with the settlement, tried in order, recorded.

use std::collections::{HashMap, HashSet};

use millrace_model::ids::{DeliveryId, RunId};
use millrace_model::source::Owner;

use super::Database;
use super::sample::{IDS, Org, at, settlement};
use crate::{
    Delivery, DeliveryKind, DeliveryResult, DeliveryStatus, Effects, Held, Settlement, StoreError,
};

fn delivery(org: &Org, run: &RunId, position: i64) -> Delivery {
    Delivery {
        id: DeliveryId::generate(&IDS),
        org_id: org.id.clone(),
        owner: "p_1".into(),
        run_id: run.clone(),
        position,
        kind: [DeliveryKind::Http, DeliveryKind::Email, DeliveryKind::S3]
            [usize::try_from(position % 3).unwrap_or(0)],
        payload: r#"{"b":1,"a":"\u0000"}"#.into(),
        step: None,
        status: DeliveryStatus::Queued,
        attempts: 0,
        response_status: None,
        last_error: None,
        created_at: at(0),
        finished_at: None,
    }
}

/// A settled run that sent so much.
pub(super) async fn sent(org: &Org, slug: &str, count: i64) -> Vec<Delivery> {
    let workflow = org.add_workflow(slug).await;
    let run = org.start(&Owner::Workflow(workflow.id), 0).await;
    let deliveries: Vec<Delivery> =
        (0..count).map(|position| delivery(org, &run, position)).collect();
    let effects = Effects { deliveries: deliveries.clone(), ..Effects::default() };
    org.store.settle(Settlement { effects, ..settlement(&run, 1, 0) }).await.expect("settles");
    deliveries
}

/// As many as are free for whom comes.
pub(super) fn nobody() -> Held {
    Held { share: 100, by: HashMap::new() }
}

async fn claim(org: &Org, ms: i64, retry_ms: i64, limit: u32) -> Vec<DeliveryId> {
    org.store
        .claim_deliveries(at(ms), at(retry_ms), limit, &nobody())
        .await
        .expect("claims")
        .into_iter()
        .map(|d| d.id)
        .collect()
}

async fn record(org: &Org, id: &DeliveryId, error: Option<&str>, retry_ms: Option<i64>, ms: i64) {
    let result = DeliveryResult {
        response_status: Some(503),
        error: error.map(str::to_owned),
        retry_at: retry_ms.map(at),
        at: at(ms),
    };
    org.store.delivery_result(id, result).await.expect("records");
}

pub async fn deliveries_come_with_the_settlement_or_not_at_all(database: &dyn Database) {
    let org = Org::first(database).await;
    let deliveries = sent(&org, "a", 3).await;
    let run = &deliveries[0].run_id;
    assert_eq!(org.store.run_deliveries(run).await.expect("reads"), deliveries);
    let late = Effects { deliveries: vec![delivery(&org, run, 9)], ..Effects::default() };
    assert!(matches!(
        org.store.settle(Settlement { effects: late, ..settlement(run, 1, 0) }).await,
        Err(StoreError::Fenced)
    ));
    assert_eq!(org.store.run_deliveries(run).await.expect("reads").len(), 3);
}

pub async fn a_run_s_deliveries_are_first_tried_in_order(database: &dyn Database) {
    let org = Org::first(database).await;
    let all = sent(&org, "a", 3).await;
    assert!(claim(&org, -1, 50, 10).await.is_empty());
    assert_eq!(claim(&org, 0, 50, 10).await, [all[0].id.clone()]);
    // Hidden, and in the way of those behind it.
    assert!(claim(&org, 49, 90, 10).await.is_empty());
    assert_eq!(claim(&org, 50, 90, 10).await, [all[0].id.clone()]);
    // One that is tried again holds nobody up.
    record(&org, &all[0].id, Some("no route"), Some(500), 60).await;
    assert_eq!(claim(&org, 60, 90, 10).await, [all[1].id.clone()]);
    record(&org, &all[1].id, None, None, 70).await;
    assert_eq!(claim(&org, 70, 90, 10).await, [all[2].id.clone()]);
    record(&org, &all[2].id, Some("refused\u{0}"), None, 80).await;
    assert!(claim(&org, 499, 600, 10).await.is_empty());
    assert_eq!(claim(&org, 500, 600, 10).await, [all[0].id.clone()]);
    let now = org.store.run_deliveries(&all[0].run_id).await.expect("reads");
    let shown: Vec<_> =
        now.iter().map(|d| (d.status, d.attempts, d.response_status, d.finished_at)).collect();
    assert_eq!(
        shown,
        [
            (DeliveryStatus::Queued, 1, Some(503), None),
            (DeliveryStatus::Delivered, 1, Some(503), Some(at(70))),
            (DeliveryStatus::Failed, 1, Some(503), Some(at(80))),
        ]
    );
    assert_eq!(
        (now[0].last_error.as_deref(), now[1].last_error.as_deref()),
        (Some("no route"), None)
    );
    assert!(now[2].last_error.as_deref().is_some_and(|error| error.starts_with("refused")));
    // What is over stays as it is.
    record(&org, &all[1].id, Some("late"), Some(900), 90).await;
    assert_eq!(
        org.store.run_deliveries(&all[0].run_id).await.expect("reads")[1].status,
        DeliveryStatus::Delivered
    );
    // One that was taken was: another server may have given it up meanwhile.
    record(&org, &all[2].id, None, None, 95).await;
    assert_eq!(
        org.store.run_deliveries(&all[0].run_id).await.expect("reads")[2].status,
        DeliveryStatus::Delivered
    );
}

pub async fn claims_at_once_share_the_deliveries(database: &dyn Database) {
    let org = Org::first(database).await;
    for n in 0..12 {
        sent(&org, &format!("w-{n}"), 2).await;
    }
    let (a, b, c) =
        tokio::join!(claim(&org, 0, 100, 12), claim(&org, 0, 100, 12), claim(&org, 0, 100, 12));
    let claimed: Vec<String> = [a, b, c].into_iter().flatten().map(|id| id.to_string()).collect();
    assert_eq!((claimed.len(), claimed.iter().collect::<HashSet<_>>().len()), (12, 12));
}

pub async fn organizations_take_turns_in_deliveries_up_to_their_share(database: &dyn Database) {
    let busy = Org::first(database).await;
    let calm = Org::another(&busy.store, "calm").await;
    for n in 0..6 {
        sent(&busy, &format!("w-{n}"), 1).await;
    }
    let late = sent(&calm, "calm", 1).await.remove(0);
    // It is later, and it is not held up.
    record(&calm, &late.id, Some("no route"), Some(40), 0).await;
    let claimed = async |limit: u32, share: u32, held: &[(&Org, u32)]| {
        let held =
            Held { share, by: held.iter().map(|(org, count)| (org.id.clone(), *count)).collect() };
        let all = busy.store.claim_deliveries(at(50), at(100), limit, &held).await.expect("claims");
        (
            all.iter().filter(|d| d.org_id == busy.id).count(),
            all.iter().filter(|d| d.org_id == calm.id).count(),
        )
    };
    assert_eq!(claimed(10, 2, &[(&busy, 2), (&calm, 2)]).await, (0, 0));
    assert_eq!(claimed(1, 4, &[(&busy, 2)]).await, (0, 1), "who holds the fewest comes first");
    assert_eq!(claimed(10, 4, &[(&busy, 2)]).await, (2, 0));
    assert_eq!(claimed(10, 3, &[]).await, (3, 0));
    assert_eq!(claimed(10, 16, &[]).await, (1, 0));
}

pub async fn deliveries_go_with_their_run(database: &dyn Database) {
    let org = Org::first(database).await;
    let all = sent(&org, "a", 2).await;
    org.prune(at(1), 100).await;
    assert!(org.store.run_deliveries(&all[0].run_id).await.expect("reads").is_empty());
    assert!(claim(&org, 100, 200, 10).await.is_empty());
}

pub async fn a_mail_is_queued_once(database: &dyn Database) {
    let org = Org::first(database).await;
    let mail =
        crate::Mail { html: Some("<p>ü</p>".into()), link: Some("sealed".into()), ..org.mail(1) };
    org.store.queue_mail(mail.clone()).await.expect("queues");
    org.store.queue_mail(mail.clone()).await.expect("queues");
    assert_eq!(org.mails().await, [mail.clone()]);
    assert_eq!(org.store.claim_mail(at(1), at(9), 10, None).await.expect("claims"), [mail]);
}
