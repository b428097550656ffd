//! Limits that hold runs of a workflow back in the queue.

use millrace_model::limits::{RunLimits, Throttle};
use millrace_model::source::{Owner, Source};

use super::Database;
use super::sample::{LEASE_MS, NODE, Org, settlement};
use crate::{Effects, Interfaces, NewDeployment, Settlement, StoreError};

/// A workflow with limits.
async fn limited(
    org: &Org,
    slug: &str,
    concurrency: Option<u32>,
    throttle: Option<Throttle>,
) -> Owner {
    let workflow = org.add_workflow(slug).await.id;
    let limits = Some(RunLimits { concurrency, throttle, in_order: false });
    org.store
        .deploy_workflow(NewDeployment { limits, ..org.deployment(&workflow, 1) })
        .await
        .expect("deploys");
    Owner::Workflow(workflow)
}

async fn claims(org: &Org, ms: i64) -> usize {
    org.claim(NODE, ms, 10).await.len()
}

pub async fn no_more_runs_at_once_than_a_workflow_may_have(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = limited(&org, "limited", Some(2), None).await;
    let free = Owner::Workflow(org.add_workflow("free").await.id);
    for ms in 0..5 {
        org.accept(&owner, ms).await;
    }
    let first = org.claim(NODE, 10, 10).await;
    assert_eq!(
        first.iter().map(|run| run.created_at).collect::<Vec<_>>(),
        [super::sample::at(0), super::sample::at(1)]
    );
    assert_eq!(claims(&org, 11).await, 0);
    // Others go on, also where they are younger.
    org.accept(&free, 100).await;
    assert_eq!(claims(&org, 101).await, 1);
    org.store.settle(settlement(&first[0].id, 1, 102)).await.expect("settles");
    assert_eq!((claims(&org, 103).await, claims(&org, 104).await), (1, 0));
    // A lease that ran out is claimed again, and holds no place meanwhile.
    assert_eq!(
        org.claim(NODE, 10 * LEASE_MS, 10).await.iter().filter(|run| run.owner == owner).count(),
        2
    );
}

pub async fn what_is_left_of_a_share_goes_to_others(database: &dyn Database) {
    let org = Org::first(database).await;
    let flood = Owner::Workflow(org.add_workflow("flood").await.id);
    let few = Owner::Workflow(org.add_workflow("few").await.id);
    let limited = limited(&org, "limited", Some(1), None).await;
    // The owner that comes last in turn.
    for after in [&flood, &few, &limited] {
        for ms in 0..20 {
            org.accept(&flood, ms).await;
        }
        for owner in [&few, &limited, &limited] {
            org.accept(owner, 30).await;
        }
        let claim = async || org.claim_behind(after.as_str(), &[], NODE, 100, 8).await;
        let first = claim().await;
        let of = |owner: &Owner| first.iter().filter(|run| run.owner == *owner).count();
        assert_eq!((of(&flood), of(&few), of(&limited)), (6, 1, 1), "{}", after.as_str());
        assert_eq!((claim().await.len(), claim().await.len()), (8, 6));
        assert!(claim().await.is_empty());
        let ended = first.iter().find(|run| run.owner == limited).expect("one of it");
        org.store.settle(settlement(&ended.id, 1, 101)).await.expect("settles");
        let last = claim().await;
        assert_eq!(last.len(), 1);
        org.store.settle(settlement(&last[0].id, 1, 102)).await.expect("settles");
    }
}

pub async fn limits_hold_however_many_servers_claim(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = limited(&org, "limited", Some(3), None).await;
    for ms in 0..20 {
        org.accept(&owner, ms).await;
    }
    let (a, b, c, d) =
        tokio::join!(claims(&org, 100), claims(&org, 100), claims(&org, 100), claims(&org, 100));
    let more = claims(&org, 101).await;
    assert_eq!(a + b + c + d + more, 3);
}

pub async fn runs_of_a_source_that_run_in_order_never_overtake_each_other(database: &dyn Database) {
    let org = Org::first(database).await;
    let limits = Some(RunLimits { concurrency: Some(1), throttle: None, in_order: true });
    let source = Source {
        limits: limits.clone(),
        ..org.source(&org.add_component(None, 0).await, "in order", 0)
    };
    org.store.create_source(source.clone(), Interfaces::default()).await.expect("stores");
    assert_eq!(
        org.store.source(&org.id, &source.id).await.expect("reads").and_then(|s| s.limits),
        limits
    );
    let owner = Owner::Source(source.id.clone());
    org.store.check_in("another", 60_000).await.expect("checks in");
    let runs: Vec<_> = (0..4).map(|ms| org.run(&owner, ms)).collect();
    // The client of the first waits for its answer at another server, where several share the
    // database.
    org.store.accept_queued(runs[0].clone(), u32::MAX, Some("another")).await.expect("accepted");
    for run in &runs[1..] {
        org.store.accept_queued(run.clone(), u32::MAX, None).await.expect("accepted");
    }
    for (n, run) in runs.iter().enumerate() {
        let ms = 100 + n as i64;
        if n == 0 && !org.store.single_node() {
            assert!(
                org.claim(NODE, ms, 10).await.is_empty(),
                "none that came later is started in its place"
            );
        }
        let node = if n == 0 { "another" } else { NODE };
        let claimed = org.claim(node, ms, 10).await;
        assert_eq!(claimed.iter().map(|r| &r.id).collect::<Vec<_>>(), [&run.id]);
        assert!(org.claim(node, ms, 10).await.is_empty(), "one at a time");
        org.store.settle(settlement(&run.id, 1, ms)).await.expect("settles");
    }
    org.store
        .update_source(Source { limits: None, ..source }, Interfaces::default())
        .await
        .expect("updates");
    for ms in 5..8 {
        org.accept(&owner, ms).await;
    }
    assert_eq!(org.claim(NODE, 200, 10).await.len(), 3);
}

pub async fn so_many_runs_start_in_each_interval(database: &dyn Database) {
    let org = Org::first(database).await;
    let throttle = |runs| Some(Throttle { runs, interval_ms: 100 });
    let owner = limited(&org, "throttled", None, throttle(2)).await;
    let stopped = limited(&org, "stopped", None, throttle(0)).await;
    for ms in 0..5 {
        org.accept(&owner, ms).await;
        org.accept(&stopped, ms).await;
    }
    let mut started = Vec::new();
    for ms in [1000, 1099, 1100, 1150, 1300] {
        started.push(claims(&org, ms).await);
    }
    assert_eq!(started, [2, 0, 2, 0, 1]);
}

pub async fn a_deployment_replaces_limits(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = limited(&org, "limited", Some(1), None).await;
    for ms in 0..3 {
        org.accept(&owner, ms).await;
    }
    assert_eq!(claims(&org, 10).await, 1);
    let Owner::Workflow(workflow) = &owner else { panic!("a workflow") };
    org.store.deploy_workflow(org.deployment(workflow, 2)).await.expect("deploys");
    assert_eq!(claims(&org, 11).await, 2);
}

pub async fn a_full_queue_refuses(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = limited(&org, "limited", Some(1), None).await;
    let other = limited(&org, "other", Some(1), None).await;
    for ms in 0..2 {
        org.store.accept_queued(org.run(&owner, ms), 2, None).await.expect("accepted");
    }
    let is_full = async || org.store.full_queues(2).await.expect("reads");
    assert_eq!(is_full().await, [owner.as_str()]);
    let refused = org.run(&owner, 3);
    assert!(matches!(
        org.store.accept_queued(refused.clone(), 2, None).await,
        Err(StoreError::QueueFull)
    ));
    assert!(org.store.run(&org.id, &refused.id).await.expect("reads").is_none());
    org.store.accept_queued(org.run(&other, 3), 2, None).await.expect("accepted");
    // What is under way does not wait.
    assert_eq!(claims(&org, 10).await, 2);
    assert_eq!(is_full().await, Vec::<String>::new());
    org.store.accept_queued(org.run(&owner, 4), 2, None).await.expect("accepted");
    assert!(matches!(
        org.store.accept_queued(org.run(&owner, 5), 2, None).await,
        Err(StoreError::QueueFull)
    ));
}

/// Whether so many wait: a queue of that length is full, and one more goes into a longer one.
async fn waits(org: &Org, owner: &Owner, waiting: &mut u32, ms: i64) {
    if *waiting > 0 {
        let refused = org.store.accept_queued(org.run(owner, ms), *waiting, None).await;
        assert!(matches!(refused, Err(StoreError::QueueFull)), "fewer than {waiting} wait at {ms}");
    }
    let accepted = org.store.accept_queued(org.run(owner, ms), *waiting + 1, None).await;
    assert!(accepted.is_ok(), "more than {waiting} wait at {ms}: {accepted:?}");
    *waiting += 1;
}

pub async fn a_queue_is_counted_however_its_runs_come_and_go(database: &dyn Database) {
    let org = Org::first(database).await;
    let workflow = org.add_workflow("counted").await.id;
    let owner = Owner::Workflow(workflow.clone());
    let deployed = async |concurrency: Option<u32>, ms: i64| {
        let limits = concurrency.map(|n| RunLimits {
            concurrency: Some(n),
            throttle: None,
            in_order: false,
        });
        org.store
            .deploy_workflow(NewDeployment { limits, ..org.deployment(&workflow, ms) })
            .await
            .expect("deploys");
    };
    // Those that wait before there are limits.
    for ms in 0..2 {
        org.accept(&owner, ms).await;
    }
    let mut waiting = 2;
    waits(&org, &owner, &mut waiting, 3).await;
    deployed(Some(3), 1).await;
    waits(&org, &owner, &mut waiting, 4).await;
    deployed(Some(4), 2).await;
    waits(&org, &owner, &mut waiting, 5).await;

    let claimed = org.claim(NODE, 10, 10).await;
    assert_eq!(claimed.len(), 4);
    waiting -= 4;
    waits(&org, &owner, &mut waiting, 11).await;
    // Back into the queue, out of a pause, and one that is over.
    org.store.release(&claimed[0].id, 1, true).await.expect("releases");
    waiting += 1;
    waits(&org, &owner, &mut waiting, 12).await;
    org.store
        .pause_run(super::pauses::pausing(
            &claimed[1].id,
            1,
            super::sample::at(20),
            crate::PauseEnd::Resume,
        ))
        .await
        .expect("pauses");
    org.store.settle(settlement(&claimed[2].id, 1, 13)).await.expect("settles");
    waits(&org, &owner, &mut waiting, 14).await;
    assert_eq!(org.store.wake_runs(super::sample::at(30), 10).await.expect("wakes").resumed, 1);
    waiting += 1;
    waits(&org, &owner, &mut waiting, 31).await;
    // What another run leaves for it, and what does not commit.
    let effects =
        Effects { runs: vec![org.run(&owner, 32), org.run(&owner, 33)], ..Effects::default() };
    let twice = Settlement { effects, ..settlement(&claimed[3].id, 1, 34) };
    org.store.settle(twice.clone()).await.expect("settles");
    assert!(matches!(org.store.settle(twice).await, Err(StoreError::Fenced)));
    waiting += 2;
    waits(&org, &owner, &mut waiting, 35).await;
    // Cancelled ones.
    org.store.cancel_run(&org.id, &claimed[0].id, super::sample::at(36)).await.expect("cancels");
    waiting -= 1;
    waits(&org, &owner, &mut waiting, 37).await;
    let again = org.claim(NODE, 40, 10).await.len();
    waiting -= u32::try_from(again).expect("fits");
    waits(&org, &owner, &mut waiting, 41).await;
    assert_eq!(org.store.requeue_running(None).await.expect("requeues"), again as u64);
    waiting += u32::try_from(again).expect("fits");
    waits(&org, &owner, &mut waiting, 42).await;
    // Without limits, and with them again.
    deployed(None, 3).await;
    waits(&org, &owner, &mut waiting, 43).await;
    deployed(Some(1), 4).await;
    waits(&org, &owner, &mut waiting, 44).await;
    // Many at once.
    let full = waiting + 2;
    let more =
        async |ms: i64| org.store.accept_queued(org.run(&owner, ms), full, None).await.is_ok();
    let (a, b, c, d) = tokio::join!(more(50), more(51), more(52), more(53));
    assert_eq!([a, b, c, d].iter().filter(|accepted| **accepted).count(), 2);
}
