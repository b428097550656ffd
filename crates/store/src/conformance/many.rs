//! Changes of many rows: they are whole, and where there is one writer others write meanwhile.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use millrace_model::event::EventFilter;
use millrace_model::ids::WebhookId;
use millrace_model::run::{NewRun, RunStatus};
use millrace_model::source::Owner;
use millrace_model::webhook::{DeliveryStatus, Health};
use tokio::task::JoinSet;

use super::sample::{Org, at, event_id, page};
use super::{Database, data_stores, webhook_attempts::attempt, webhooks};
use crate::{Effects, RunFilter, StoreError, WebhookReplay, WebhookTry};

const EMITTER: &str = "dc_many";
/// More than an engine changes in a step, by far.
const MANY: i64 = 1_600;

/// Makes a change and, once it began, a small write of somebody else's, which is not to wait for
/// its end.
async fn beside_others<T>(org: &Org, change: impl Future<Output = T>) -> T {
    let mut change = pin!(change);
    if org.store.single_node() {
        let begun = poll_fn(|context| Poll::Ready(change.as_mut().poll(context))).await;
        assert!(begun.is_pending(), "it ended at once");
        // On a busy machine both may have ended before they are looked at: the write comes first.
        tokio::select! {
            biased;
            written = org.store.put_retention(&org.id, "p_other", None) => written.expect("writes"),
            _ = &mut change => panic!("what somebody else wrote waited for the end of the change"),
        }
    }
    change.await
}

pub async fn many_events_are_removed_and_counted(database: &dyn Database) {
    let org = Org::first(database).await;
    let name = |seq: i64| if seq % 2 == 0 { "even" } else { "odd" };
    org.emit((0..5_000).map(|seq| org.event(EMITTER, name(seq), 0, seq)).collect()).await;
    org.emit(vec![org.event(EMITTER, "$in", 1, 0)]).await;
    let delete = |name, from| {
        org.store.delete_events(&org.id, EMITTER, name, (Some(event_id(0, from)), None))
    };
    assert_eq!(delete(Some("none"), 0).await.expect("deletes"), 0);
    assert_eq!(delete(Some("odd"), 4_000).await.expect("deletes"), 500);
    assert_eq!(beside_others(&org, delete(None, 0)).await.expect("deletes"), 4_500);
    assert!(org.events(EMITTER).await.iter().all(|event| event.name == "$in"));
    assert_eq!(
        org.store
            .list_events(&org.id, EMITTER, EventFilter::of(Some("$in")), true, &page(1))
            .await
            .expect("lists")
            .total_count,
        1
    );
}

pub async fn a_large_data_store_is_cleared_and_removed(database: &dyn Database) {
    let org = Org::first(database).await;
    let (id, neighbour) = (data_stores::add(&org, "a").await, data_stores::add(&org, "b").await);
    data_stores::set(&org, &neighbour, "k", "1").await;
    let fill = async || {
        let mut writes = JoinSet::new();
        for n in 0..600 {
            let (store, write) =
                (org.store.clone(), data_stores::write(&id, &format!("k{n}"), "1"));
            writes.spawn(async move { store.data_store_set(write).await });
        }
        writes
            .join_all()
            .await
            .into_iter()
            .collect::<Result<Vec<()>, StoreError>>()
            .expect("writes");
        assert_eq!(org.store.data_store_size(&id, "", at(0)).await.expect("counts"), 600);
    };
    fill().await;
    beside_others(&org, org.store.data_store_clear(&id)).await.expect("clears");
    assert_eq!(data_stores::counted(&org, &id).await, (0, 0));
    fill().await;
    assert!(beside_others(&org, org.store.delete_data_store(&org.id, &id)).await.expect("removes"));
    assert!(org.store.data_store(&org.id, &id).await.expect("reads").is_none());
    assert_eq!(data_stores::counted(&org, &neighbour).await, (1, 2));
}

pub async fn many_dead_letters_are_replayed(database: &dyn Database) {
    let org = Org::first(database).await;
    let hook = webhooks::webhook(&org, 0);
    org.store.create_webhook(hook.clone()).await.expect("stores");
    let all: Vec<_> =
        (1..=MANY).map(|seq| org.webhook_delivery(hook.id.as_str(), seq, seq)).collect();
    let failed = |id| WebhookTry {
        id,
        status: DeliveryStatus::Failed,
        attempt: attempt(1),
        error: None,
        next_at: None,
    };
    let tries = all.iter().map(|d| failed(d.id.clone())).collect();
    org.store
        .settle_effects(Effects { webhook_deliveries: all.clone(), ..Effects::default() })
        .await
        .expect("settles");
    org.store.record_webhook_deliveries(&hook.id, tries, Health::default()).await.expect("records");
    let count = async |status| {
        let listed = org
            .store
            .list_webhook_deliveries(&org.id, hook.id.as_str(), Some(status), &page(1))
            .await
            .expect("lists");
        (listed.total_count, listed.items.first().map(|d| d.id.clone()))
    };
    let newest = all.last().map(|d| d.id.clone());
    assert_eq!(
        count(DeliveryStatus::Failed).await,
        (1_000, newest.clone()),
        "counted up to a thousand"
    );
    let limit = 1_500;
    let again = WebhookReplay {
        org_id: org.id.clone(),
        target_id: hook.id.to_string(),
        id: None,
        now: at(9),
        give_up_at: at(9_000),
        limit,
    };
    assert_eq!(
        beside_others(&org, org.store.replay_webhook_deliveries(again.clone()))
            .await
            .expect("replays"),
        1_500
    );
    // The oldest went first.
    assert_eq!(count(DeliveryStatus::Failed).await, (100, newest));
    assert_eq!(count(DeliveryStatus::Queued).await, (1_000, Some(all[1_499].id.clone())));
    let of_nobody = WebhookReplay { target_id: format!("{}none", WebhookId::PREFIX), ..again };
    assert_eq!(org.store.replay_webhook_deliveries(of_nobody).await.expect("answers"), 0);
}

pub async fn an_owner_goes_with_the_many_runs_that_wait(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let workflow = org.add_workflow("a").await;
    let owner = Owner::Workflow(workflow.id.clone());
    let runs: Vec<NewRun> = (0..MANY).map(|ms| org.run(&owner, ms)).collect();
    org.store.settle_effects(Effects { runs, ..Effects::default() }).await.expect("settles");
    let waiting = async || {
        let queued =
            RunFilter { statuses: vec![RunStatus::Queued], ..super::history::of_owner(&owner) };
        org.store.list_runs(&org.id, &queued, false, &page(1)).await.expect("lists").total_count
    };
    assert!(matches!(
        org.store.delete_workflow(&other.id, &workflow.id).await,
        Err(StoreError::NotFound)
    ));
    assert_eq!(
        waiting().await,
        1_000,
        "counted up to a thousand; another organization takes nothing away"
    );
    beside_others(&org, org.store.delete_workflow(&org.id, &workflow.id)).await.expect("deletes");
    assert_eq!(waiting().await, 0);
}
