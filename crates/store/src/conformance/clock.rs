//! Times that are moved when the machine's clock goes back.

use millrace_model::run::RunStatus;
use millrace_model::source::{Owner, Timer};

use super::Database;
use super::deliveries::sent;
use super::sample::{DAY_MS, LEASE_MS, Org, at};
use crate::{DeliveryResult, Effects, Interfaces, PauseEnd, Pausing, Woken};

pub async fn late_timers_are_moved_and_nothing_fires(database: &dyn Database) {
    let org = Org::first(database).await;
    let source = org.source(&org.add_component(None, 0).await, "a", 0);
    let owner = Owner::Source(source.id.clone());
    let (near, far) = (org.timer(&owner, 1_000), org.timer(&owner, 5_000));
    let inactive = Timer { active: false, ..org.timer(&owner, 9_000) };
    let interfaces =
        Interfaces { timers: vec![near.clone(), far.clone(), inactive], ..Interfaces::default() };
    org.store.create_source(source, interfaces).await.expect("stores");
    assert_eq!(
        org.store.late_timers(at(500), 10).await.expect("reads"),
        [far.clone(), near.clone()]
    );
    assert_eq!(org.store.late_timers(at(1_000), 10).await.expect("reads"), [far.clone()]);
    assert!(org.store.move_timer(&far.id, at(5_000), at(700)).await.expect("moves"));
    assert!(
        !org.store.move_timer(&far.id, at(5_000), at(600)).await.expect("answers"),
        "it has moved on"
    );
    let due = org.store.due_timers(at(700), 10).await.expect("reads");
    assert_eq!(
        due.iter().map(|t| (t.id.clone(), t.next_at)).collect::<Vec<_>>(),
        [(far.id, at(700))]
    );
    assert_eq!(org.store.unfinished_runs().await.expect("counts"), 0);
}

pub async fn what_waits_is_moved_with_the_clock(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Workflow(org.add_workflow("a").await.id);
    let id = org.start(&owner, 0).await;
    let (run_id, hour) = (id.clone(), 3_600_000);
    let pausing = Pausing {
        run_id,
        attempt: 1,
        now: at(hour),
        wake_at: at(hour + 60_000),
        then: PauseEnd::Resume,
        state: "{}".into(),
        result: "{}".into(),
        effects: Effects::default(),
    };
    org.store.pause_run(pausing).await.expect("pauses");
    let mail = org.add_mail(hour).await;
    // A second later the clock is an hour back: half of what is left of the wait goes by there.
    org.store.clock_went_back(at(1_000), hour, None).await.expect("moves");
    assert_eq!(org.store.wake_runs(at(59_999), 10).await.expect("wakes"), Woken::default());
    assert_eq!(
        org.store.wake_runs(at(60_000), 10).await.expect("wakes"),
        Woken { resumed: 1, cancelled: 0 }
    );
    assert_eq!(org.stored(&id).await.status, RunStatus::Queued);
    assert_eq!(
        org.store
            .claim_mail(at(0), at(LEASE_MS), 10, None)
            .await
            .expect("claims")
            .into_iter()
            .map(|m| m.id)
            .collect::<Vec<_>>(),
        [mail.id]
    );
}

pub async fn tries_of_deliveries_are_moved_with_the_clock(database: &dyn Database) {
    let org = Org::first(database).await;
    let delivery = sent(&org, "a", 1).await.remove(0);
    let later = DeliveryResult {
        response_status: Some(503),
        error: Some("busy".into()),
        retry_at: Some(at(DAY_MS + 5_000)),
        at: at(DAY_MS),
    };
    org.store.delivery_result(&delivery.id, later).await.expect("records");
    org.store.clock_went_back(at(1), DAY_MS, None).await.expect("moves");
    assert!(
        org.store
            .claim_deliveries(at(4_999), at(9_999), 10, &super::deliveries::nobody())
            .await
            .expect("claims")
            .is_empty()
    );
    assert_eq!(
        org.store
            .claim_deliveries(at(5_000), at(9_999), 10, &super::deliveries::nobody())
            .await
            .expect("claims")
            .len(),
        1
    );
}

pub async fn a_notice_of_a_clock_that_was_wrong_holds_up_none(database: &dyn Database) {
    let org = Org::first(database).await;
    assert!(org.notify("p_a", "TypeError", 3_650 * DAY_MS).await);
    assert!(org.notify("p_a", "TypeError", 0).await);
    // One that was put right by less than a window sends no second mail in it.
    assert!(org.notify("p_b", "TypeError", DAY_MS / 2).await);
    assert!(!org.notify("p_b", "TypeError", 0).await);
    assert!(org.notify("p_b", "TypeError", DAY_MS / 2 + DAY_MS).await);
}
