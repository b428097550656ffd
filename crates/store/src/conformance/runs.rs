//! Accepting, claiming, renewing, releasing runs.

use std::collections::HashSet;

use millrace_model::ids::{DeploymentId, IdSource, RunId};
use millrace_model::run::{NewRun, RunKind, RunStatus, Start};
use millrace_model::source::Owner;

use super::Database;
use super::sample::{LEASE_MS, NODE, Org, at, settlement};
use crate::StoreError;

const OTHER_NODE: &str = "node_b";

async fn with_owner(database: &dyn Database) -> (Org, Owner) {
    let org = Org::first(database).await;
    let owner = Owner::Workflow(org.add_workflow("a").await.id);
    (org, owner)
}

pub async fn an_accepted_run_waits_in_the_queue(database: &dyn Database) {
    let (org, owner) = with_owner(database).await;
    let deployment_id = Some(DeploymentId::generate(&IdSource::default()));
    let new = NewRun {
        deployment_id,
        kind: RunKind::Test,
        trigger_id: "hi_x".into(),
        ..org.run(&owner, 5)
    };
    org.store.accept(new.clone(), NODE).await.expect("accepted");
    let run = org.stored(&new.id).await;
    assert_eq!((run.status, run.attempt, run.created_at), (RunStatus::Queued, 0, at(5)));
    assert_eq!((run.started_at, run.finished_at, run.result, run.error), (None, None, None, None));
    assert_eq!(
        (run.org_id, run.owner, run.deployment_id, run.kind),
        (new.org_id, new.owner, new.deployment_id, new.kind)
    );
    assert_eq!(
        (run.trigger_id, &*run.event, run.context),
        (new.trigger_id, &*new.event, new.context)
    );
    assert_eq!(org.store.unfinished_runs().await.expect("counts"), 1);
    assert!(org.store.stored_bytes().await.expect("counts") > 0);
}

pub async fn a_run_accepted_as_claimed_is_under_way(database: &dyn Database) {
    let (org, owner) = with_owner(database).await;
    let id = org.start(&owner, 5).await;
    let run = org.stored(&id).await;
    assert_eq!((run.status, run.attempt, run.started_at), (RunStatus::Running, 1, Some(at(5))));
    assert!(org.claim(OTHER_NODE, 6, 10).await.is_empty());
    org.store.settle(settlement(&id, 1, 9)).await.expect("settles");
    assert_eq!(org.store.unfinished_runs().await.expect("counts"), 0);
}

pub async fn a_run_is_accepted_once(database: &dyn Database) {
    let (org, owner) = with_owner(database).await;
    let run = org.run(&owner, 0);
    org.store.accept(run.clone(), NODE).await.expect("accepted");
    let again = NewRun { start: Start::Claimed { lease_until: at(9) }, ..run.clone() };
    assert!(matches!(org.store.accept(again, NODE).await, Err(StoreError::Taken("id"))));
    assert_eq!(org.stored(&run.id).await.status, RunStatus::Queued);
}

pub async fn claims_take_the_oldest(database: &dyn Database) {
    let (org, owner) = with_owner(database).await;
    assert!(org.claim(NODE, 0, 10).await.is_empty());
    let (third, first, second) =
        (org.accept(&owner, 30).await, org.accept(&owner, 10).await, org.accept(&owner, 20).await);
    let claimed = org.claim(NODE, 100, 2).await;
    assert_eq!(claimed.iter().map(|run| &run.id).collect::<Vec<_>>(), [&first, &second]);
    for run in &claimed {
        assert_eq!(
            (run.status, run.attempt, run.started_at, run.finished_at),
            (RunStatus::Running, 1, Some(at(100)), None)
        );
        assert_eq!(*run.event, *org.run(&owner, 0).event);
    }
    assert_eq!(
        org.claim(OTHER_NODE, 101, 2).await.iter().map(|run| &run.id).collect::<Vec<_>>(),
        [&third]
    );
    assert!(org.claim(NODE, 102, 2).await.is_empty());
    assert_eq!(org.store.unfinished_runs().await.expect("counts"), 3);
}

pub async fn owners_take_turns(database: &dyn Database) {
    let org = Org::first(database).await;
    let mut owners = Vec::new();
    for name in ["a", "b", "c", "d"] {
        owners.push(Owner::Workflow(org.add_workflow(name).await.id));
    }
    owners.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    // One has a flood that is older than all that the others have.
    for ms in 0..50 {
        org.accept(&owners[1], ms).await;
    }
    for (n, owner) in [0, 2, 3].into_iter().zip([&owners[0], &owners[2], &owners[3]]) {
        org.accept(owner, 100 + n).await;
    }
    let of = |runs: &[millrace_model::run::Run]| {
        let mut found: Vec<usize> = runs
            .iter()
            .filter_map(|run| owners.iter().position(|owner| *owner == run.owner))
            .collect();
        found.sort_unstable();
        found
    };
    let first = org.claim(NODE, 200, 8).await;
    let found = of(&first);
    assert!([0, 2, 3].iter().all(|n| found.contains(n)), "each has its turn: {found:?}");
    assert!(found.iter().filter(|n| **n == 1).count() >= 2, "{found:?}");
    for n in [0, 2, 3] {
        org.accept(&owners[n], 300).await;
    }
    // Fewer than there are owners: who was behind comes first.
    assert_eq!(of(&org.claim_behind(owners[1].as_str(), &[], NODE, 400, 2).await), [2, 3]);
    assert_eq!(of(&org.claim_behind(owners[3].as_str(), &[], NODE, 401, 2).await), [0, 1]);
    assert!(
        org.claim_behind("", &[owners[1].as_str().to_owned()], NODE, 402, 10).await.is_empty(),
        "the flood alone is left, and is passed over"
    );
    let mut rest = 0;
    loop {
        let runs = org.claim(NODE, 403, 10).await;
        if runs.is_empty() {
            break;
        }
        rest += runs.len();
    }
    assert_eq!(
        rest + found.iter().filter(|n| **n == 1).count() + 1,
        50,
        "all of it comes in the end"
    );
}

pub async fn claims_at_once_share_the_queue(database: &dyn Database) {
    let (org, owner) = with_owner(database).await;
    for ms in 0..40 {
        org.accept(&owner, ms).await;
    }
    let mut claimed: Vec<RunId> = Vec::new();
    loop {
        let (a, b, c, d) = tokio::join!(
            org.claim("a", 100, 6),
            org.claim("b", 100, 6),
            org.claim("c", 100, 6),
            org.claim("d", 100, 6)
        );
        let round: Vec<RunId> = [a, b, c, d].into_iter().flatten().map(|run| run.id).collect();
        if round.is_empty() {
            break;
        }
        claimed.extend(round);
    }
    assert_eq!(claimed.len(), 40);
    assert_eq!(claimed.iter().collect::<HashSet<_>>().len(), 40);
}

pub async fn a_lease_that_ran_out_is_claimed_again(database: &dyn Database) {
    let (org, owner) = with_owner(database).await;
    let id = org.start(&owner, 0).await;
    assert!(org.claim(OTHER_NODE, LEASE_MS, 10).await.is_empty());
    let again = org.claim(OTHER_NODE, LEASE_MS + 1, 10).await;
    assert_eq!(
        again.iter().map(|run| (&run.id, run.attempt, run.started_at)).collect::<Vec<_>>(),
        [(&id, 2, Some(at(LEASE_MS + 1)))]
    );
    // Who held it before holds it no more.
    assert!(matches!(org.store.settle(settlement(&id, 1, 0)).await, Err(StoreError::Fenced)));
    assert!(matches!(org.store.release(&id, 1, false).await, Err(StoreError::Fenced)));
    assert_eq!(
        org.store.renew(&[(id.clone(), 1)], at(9 * LEASE_MS)).await.expect("answers"),
        [id.clone()]
    );
    org.store.settle(settlement(&id, 2, 0)).await.expect("settles");
    assert!(org.claim(NODE, 10 * LEASE_MS, 10).await.is_empty());
}

pub async fn a_renewed_lease_holds(database: &dyn Database) {
    let (org, owner) = with_owner(database).await;
    let (kept, lost) = (org.start(&owner, 0).await, org.start(&owner, 1).await);
    assert!(
        org.store.renew(&[(kept.clone(), 1)], at(3 * LEASE_MS)).await.expect("renews").is_empty()
    );
    let claimed = org.claim(OTHER_NODE, 2 * LEASE_MS, 10).await;
    assert_eq!(claimed.into_iter().map(|run| run.id).collect::<Vec<_>>(), [lost]);
    assert_eq!(org.stored(&kept).await.attempt, 1);
    assert!(org.store.renew(&[], at(0)).await.expect("answers").is_empty());
}

pub async fn renewing_tells_what_is_no_longer_held(database: &dyn Database) {
    let (org, owner) = with_owner(database).await;
    let (held, settled, released) =
        (org.start(&owner, 0).await, org.start(&owner, 1).await, org.start(&owner, 2).await);
    org.store.settle(settlement(&settled, 1, 3)).await.expect("settles");
    org.store.release(&released, 1, true).await.expect("releases");
    let unknown = org.run(&owner, 0).id;
    let all = [&settled, &held, &released, &unknown].map(|id| (id.clone(), 1));
    assert_eq!(
        org.store.renew(&all, at(9 * LEASE_MS)).await.expect("renews"),
        [settled.clone(), released, unknown]
    );
    assert_eq!(org.stored(&settled).await.status, RunStatus::Succeeded);
}

pub async fn a_released_run_is_queued_again(database: &dyn Database) {
    let (org, owner) = with_owner(database).await;
    let id = org.start(&owner, 0).await;
    org.store.release(&id, 1, true).await.expect("releases");
    let queued = org.stored(&id).await;
    assert_eq!((queued.status, queued.attempt), (RunStatus::Queued, 1));
    assert!(matches!(org.store.release(&id, 1, true).await, Err(StoreError::Fenced)));
    assert_eq!(org.claim(NODE, 1, 10).await.iter().map(|run| run.attempt).collect::<Vec<_>>(), [2]);
    // An attempt that was no fault of the run's is not counted.
    org.store.release(&id, 2, false).await.expect("releases");
    assert_eq!(org.claim(NODE, 2, 10).await.iter().map(|run| run.attempt).collect::<Vec<_>>(), [2]);
    assert!(matches!(
        org.store.release(&org.run(&owner, 0).id, 1, true).await,
        Err(StoreError::Fenced)
    ));
}

pub async fn running_runs_are_queued_again_at_start(database: &dyn Database) {
    let (org, owner) = with_owner(database).await;
    let (running, queued, settled) =
        (org.start(&owner, 0).await, org.accept(&owner, 1).await, org.start(&owner, 2).await);
    org.store.settle(settlement(&settled, 1, 3)).await.expect("settles");
    assert_eq!(org.store.requeue_running(None).await.expect("requeues"), 1);
    assert_eq!(org.store.requeue_running(None).await.expect("requeues"), 0);
    let claimed = org.claim(NODE, 5, 10).await;
    assert_eq!(
        claimed.into_iter().map(|run| (run.id, run.attempt)).collect::<Vec<_>>(),
        [(running, 2), (queued, 1)]
    );
    assert_eq!(org.stored(&settled).await.status, RunStatus::Succeeded);
}

pub async fn running_runs_of_a_node_are_queued_again(database: &dyn Database) {
    let (org, owner) = with_owner(database).await;
    let ours = org.accept(&owner, 0).await;
    assert_eq!(org.claim(NODE, 1, 10).await.len(), 1);
    let theirs = org.accept(&owner, 1).await;
    assert_eq!(org.claim(OTHER_NODE, 1, 10).await.len(), 1);
    assert_eq!(org.store.requeue_running(Some(NODE)).await.expect("requeues"), 1);
    assert_eq!(org.stored(&ours).await.status, RunStatus::Queued);
    assert_eq!(org.stored(&theirs).await.status, RunStatus::Running);
}
