//! Pauses: how they begin, and each way they end.

use millrace_model::clock::Timestamp;
use millrace_model::ids::RunId;
use millrace_model::run::{NewRun, RunStatus};
use millrace_model::source::Owner;

use super::Database;
use super::sample::{NODE, Org, at, log, settlement};
use crate::{
    Callback, CalledBack, Effects, Pause, PauseEnd, Pausing, Settlement, StoreError, Woken,
};

const STATE: &str = r#"{"kind":"delay","namespace":"a"}"#;
const RESULT: &str = r#"{"steps":[1],"duration_ms":1}"#;
const REQUEST: &str = r#"{"method":"POST","body":"ü"}"#;

/// A workflow with a run under way.
async fn under_way(database: &dyn Database) -> (Org, Owner, RunId) {
    let org = Org::first(database).await;
    let owner = Owner::Workflow(org.add_workflow("a").await.id);
    let id = org.start(&owner, 0).await;
    (org, owner, id)
}

pub(super) fn pausing(id: &RunId, attempt: i64, wake_at: Timestamp, then: PauseEnd) -> Pausing {
    Pausing {
        run_id: id.clone(),
        attempt,
        now: at(10),
        wake_at,
        then,
        state: STATE.into(),
        result: RESULT.into(),
        effects: Effects::default(),
    }
}

fn callback(id: &RunId, attempt: i64, end: PauseEnd, ms: i64) -> Callback {
    Callback { run_id: id.clone(), attempt, end, request: REQUEST.into(), now: at(ms) }
}

async fn wake(org: &Org, ms: i64, limit: u32) -> (u64, u64) {
    let Woken { resumed, cancelled } = org.store.wake_runs(at(ms), limit).await.expect("wakes");
    (resumed, cancelled)
}

pub async fn a_paused_run_waits_and_is_not_claimed(database: &dyn Database) {
    let (org, owner, id) = under_way(database).await;
    let effects = Effects {
        events: vec![org.event("p_x", "", 1, 0)],
        logs: vec![log(1, "before")],
        log_owner: Some((org.id.clone(), owner.as_str().to_owned(), id.clone())),
        ..Effects::default()
    };
    let status = org
        .store
        .pause_run(Pausing { effects, ..pausing(&id, 1, at(100), PauseEnd::Resume) })
        .await
        .expect("pauses");
    assert_eq!(status, RunStatus::Paused);
    let run = org.stored(&id).await;
    assert_eq!(
        (run.status, run.attempt, run.finished_at, run.result.as_deref()),
        (RunStatus::Paused, 1, None, Some(RESULT))
    );
    assert_eq!(org.events("p_x").await.len(), 1);
    assert_eq!(org.store.run_logs(&id).await.expect("reads").len(), 1);
    let attempt = org.store.run_attempt(&id).await.expect("reads");
    assert_eq!(attempt, Some((org.id.clone(), RunStatus::Paused, 1)));
    let unknown = org.run(&owner, 0).id;
    assert_eq!(org.store.run_attempt(&unknown).await.expect("reads"), None);
    assert!(org.claim(NODE, 1_000_000, 10).await.is_empty());
    assert_eq!(org.store.unfinished_runs().await.expect("counts"), 0);
    assert_eq!(org.store.requeue_running(None).await.expect("requeues"), 0);
    assert_eq!(org.store.renew(&[(id.clone(), 1)], at(9)).await.expect("renews"), [id.clone()]);
    let filter =
        crate::RunFilter { statuses: vec![RunStatus::Paused], ..super::history::of_owner(&owner) };
    let listed =
        org.store.list_runs(&org.id, &filter, true, &super::sample::page(10)).await.expect("lists");
    assert_eq!((listed.items.len(), listed.total_count), (1, 1));
    // However old it is, it is no history.
    assert_eq!(org.prune(at(1_000_000), 10).await, 1);
    assert_eq!(org.stored(&id).await.status, RunStatus::Paused);
}

pub async fn only_the_attempt_that_holds_a_run_pauses_it(database: &dyn Database) {
    let (org, _, id) = under_way(database).await;
    for attempt in [0, 2] {
        assert!(matches!(
            org.store.pause_run(pausing(&id, attempt, at(100), PauseEnd::Resume)).await,
            Err(StoreError::Fenced)
        ));
    }
    org.store.pause_run(pausing(&id, 1, at(100), PauseEnd::Resume)).await.expect("pauses");
    assert!(matches!(
        org.store.pause_run(pausing(&id, 1, at(200), PauseEnd::Resume)).await,
        Err(StoreError::Fenced)
    ));
    assert!(matches!(org.store.settle(settlement(&id, 1, 20)).await, Err(StoreError::Fenced)));
    assert_eq!(org.store.next_wake_at().await.expect("reads"), Some(at(100)));
}

pub async fn a_pause_ends_when_its_time_comes(database: &dyn Database) {
    let (org, owner, first) = under_way(database).await;
    let (second, third) = (org.start(&owner, 1).await, org.start(&owner, 2).await);
    assert_eq!(org.store.next_wake_at().await.expect("reads"), None);
    for (id, wake_at) in [(&first, 300), (&second, 100), (&third, 200)] {
        org.store.pause_run(pausing(id, 1, at(wake_at), PauseEnd::Resume)).await.expect("pauses");
    }
    assert_eq!(org.store.next_wake_at().await.expect("reads"), Some(at(100)));
    assert_eq!(wake(&org, 99, 10).await, (0, 0));
    assert_eq!(wake(&org, 300, 2).await, (2, 0));
    assert_eq!(org.store.next_wake_at().await.expect("reads"), Some(at(300)));
    let claimed = org.claim(NODE, 400, 10).await;
    let claimed: Vec<_> =
        claimed.into_iter().map(|run| (run.id, run.attempt, run.result)).collect();
    assert_eq!(claimed, [&second, &third].map(|id| (id.clone(), 2, Some(RESULT.to_owned()))));
    assert_eq!(
        org.store.last_pause(&second).await.expect("reads"),
        Some(Pause { attempt: 1, state: STATE.into(), callback: None })
    );
    assert_eq!(wake(&org, 300, 10).await, (1, 0));
    assert_eq!(wake(&org, 300, 10).await, (0, 0));
    assert_eq!(org.store.next_wake_at().await.expect("reads"), None);
}

pub async fn a_pause_ends_once_however_many_servers_see_it(database: &dyn Database) {
    let (org, owner, _) = under_way(database).await;
    for ms in 0..10 {
        let id = org.start(&owner, ms).await;
        org.store.pause_run(pausing(&id, 1, at(100), PauseEnd::Resume)).await.expect("pauses");
    }
    let (a, b, c) = tokio::join!(wake(&org, 100, 10), wake(&org, 100, 10), wake(&org, 100, 10));
    let more = wake(&org, 100, 10).await;
    assert_eq!(a.0 + b.0 + c.0 + more.0, 10);
    assert_eq!(org.claim(NODE, 200, 20).await.len(), 10);
}

pub async fn a_pause_that_nobody_ends_in_time_cancels(database: &dyn Database) {
    let (org, _, id) = under_way(database).await;
    org.store.pause_run(pausing(&id, 1, at(100), PauseEnd::Cancel)).await.expect("pauses");
    assert_eq!(wake(&org, 100, 10).await, (0, 1));
    let run = org.stored(&id).await;
    assert_eq!(
        (run.status, run.finished_at, run.result.as_deref()),
        (RunStatus::Cancelled, Some(at(100)), Some(RESULT))
    );
    assert_eq!(
        org.store.call_back(callback(&id, 1, PauseEnd::Resume, 101)).await.expect("answers"),
        CalledBack::TooLate
    );
    assert!(org.claim(NODE, 200, 10).await.is_empty());
}

pub async fn a_request_ends_a_pause_once(database: &dyn Database) {
    let (org, owner, id) = under_way(database).await;
    org.store.pause_run(pausing(&id, 1, at(100), PauseEnd::Cancel)).await.expect("pauses");
    // An address of another attempt is none of this pause.
    assert_eq!(
        org.store.call_back(callback(&id, 2, PauseEnd::Resume, 20)).await.expect("answers"),
        CalledBack::TooLate
    );
    assert_eq!(
        org.store
            .call_back(callback(&org.run(&owner, 0).id, 1, PauseEnd::Resume, 20))
            .await
            .expect("answers"),
        CalledBack::Unknown
    );
    assert_eq!(
        org.store.call_back(callback(&id, 1, PauseEnd::Resume, 20)).await.expect("answers"),
        CalledBack::Done
    );
    for end in [PauseEnd::Resume, PauseEnd::Cancel] {
        assert_eq!(
            org.store.call_back(callback(&id, 1, end, 21)).await.expect("answers"),
            CalledBack::TooLate
        );
    }
    // Its time means nothing any more.
    assert_eq!(wake(&org, 1000, 10).await, (0, 0));
    assert_eq!(
        org.claim(NODE, 1000, 10)
            .await
            .into_iter()
            .map(|run| (run.id, run.attempt))
            .collect::<Vec<_>>(),
        [(id.clone(), 2)]
    );
    assert_eq!(
        org.store.last_pause(&id).await.expect("reads"),
        Some(Pause { attempt: 1, state: STATE.into(), callback: Some(REQUEST.into()) })
    );
    org.store.settle(settlement(&id, 2, 1001)).await.expect("settles");
}

pub async fn a_request_after_the_time_of_a_pause_comes_too_late(database: &dyn Database) {
    let (org, _, id) = under_way(database).await;
    org.store.pause_run(pausing(&id, 1, at(100), PauseEnd::Cancel)).await.expect("pauses");
    // The scheduler has not been there yet.
    for end in [PauseEnd::Resume, PauseEnd::Cancel] {
        assert_eq!(
            org.store.call_back(callback(&id, 1, end, 100)).await.expect("answers"),
            CalledBack::TooLate
        );
    }
    assert_eq!(org.stored(&id).await.status, RunStatus::Paused);
    assert_eq!(wake(&org, 100, 10).await, (0, 1));
    assert_eq!(org.stored(&id).await.status, RunStatus::Cancelled);
}

pub async fn a_request_cancels_a_paused_run(database: &dyn Database) {
    let (org, _, id) = under_way(database).await;
    org.store.pause_run(pausing(&id, 1, at(100), PauseEnd::Resume)).await.expect("pauses");
    assert_eq!(
        org.store.call_back(callback(&id, 1, PauseEnd::Cancel, 20)).await.expect("answers"),
        CalledBack::Done
    );
    let run = org.stored(&id).await;
    assert_eq!((run.status, run.finished_at), (RunStatus::Cancelled, Some(at(20))));
    assert_eq!(org.store.next_wake_at().await.expect("reads"), None);
}

pub async fn a_request_before_the_pause_is_kept(database: &dyn Database) {
    let (org, owner, id) = under_way(database).await;
    assert_eq!(
        org.store.call_back(callback(&id, 1, PauseEnd::Resume, 5)).await.expect("answers"),
        CalledBack::Kept
    );
    assert_eq!(
        org.store.call_back(callback(&id, 1, PauseEnd::Cancel, 6)).await.expect("answers"),
        CalledBack::TooLate
    );
    assert_eq!(org.store.last_pause(&id).await.expect("reads"), None);
    assert_eq!(
        org.store.pause_run(pausing(&id, 1, at(100), PauseEnd::Cancel)).await.expect("pauses"),
        RunStatus::Queued
    );
    assert_eq!(
        org.store.last_pause(&id).await.expect("reads"),
        Some(Pause { attempt: 1, state: STATE.into(), callback: Some(REQUEST.into()) })
    );
    assert_eq!(wake(&org, 1000, 10).await, (0, 0));
    // The next pause is not ended by what ended this one.
    assert_eq!(org.claim(NODE, 20, 10).await.len(), 1);
    assert_eq!(
        org.store.pause_run(pausing(&id, 2, at(100), PauseEnd::Cancel)).await.expect("pauses"),
        RunStatus::Paused
    );
    let cancelled = org.start(&owner, 1).await;
    assert_eq!(
        org.store.call_back(callback(&cancelled, 1, PauseEnd::Cancel, 5)).await.expect("answers"),
        CalledBack::Kept
    );
    assert_eq!(
        org.store
            .pause_run(pausing(&cancelled, 1, at(100), PauseEnd::Resume))
            .await
            .expect("pauses"),
        RunStatus::Cancelled
    );
    assert_eq!(org.stored(&cancelled).await.finished_at, Some(at(10)));
}

pub async fn a_request_is_never_lost_while_an_attempt_ends(database: &dyn Database) {
    let (org, owner, _) = under_way(database).await;
    for ms in 0..20 {
        let id = org.start(&owner, ms).await;
        let (paused, called) = tokio::join!(
            org.store.pause_run(pausing(&id, 1, at(1000), PauseEnd::Cancel)),
            org.store.call_back(callback(&id, 1, PauseEnd::Resume, 5))
        );
        let expected = if called.expect("answers") == CalledBack::Kept {
            RunStatus::Queued
        } else {
            RunStatus::Paused
        };
        assert_eq!(paused.expect("pauses"), expected);
        assert_eq!(org.stored(&id).await.status, RunStatus::Queued);
    }
}

pub async fn a_request_for_an_attempt_without_a_pause_means_nothing(database: &dyn Database) {
    let (org, _, id) = under_way(database).await;
    assert_eq!(
        org.store.call_back(callback(&id, 1, PauseEnd::Cancel, 5)).await.expect("answers"),
        CalledBack::Kept
    );
    org.store.settle(settlement(&id, 1, 20)).await.expect("settles");
    assert_eq!(org.stored(&id).await.status, RunStatus::Succeeded);
    assert_eq!(
        org.store.call_back(callback(&id, 1, PauseEnd::Cancel, 21)).await.expect("answers"),
        CalledBack::TooLate
    );
}

pub async fn what_waits_can_be_cancelled(database: &dyn Database) {
    let (org, owner, paused) = under_way(database).await;
    let other = Org::another(&org.store, "other").await;
    org.store.pause_run(pausing(&paused, 1, at(100), PauseEnd::Resume)).await.expect("pauses");
    let (queued, running) = (org.accept(&owner, 1).await, org.start(&owner, 2).await);
    assert_eq!(org.store.cancel_run(&other.id, &queued, at(5)).await.expect("answers"), None);
    for (id, before, after) in [
        (&queued, RunStatus::Queued, RunStatus::Cancelled),
        (&paused, RunStatus::Paused, RunStatus::Cancelled),
        (&running, RunStatus::Running, RunStatus::Running),
        (&queued, RunStatus::Cancelled, RunStatus::Cancelled),
    ] {
        assert_eq!(org.store.cancel_run(&org.id, id, at(5)).await.expect("answers"), Some(before));
        assert_eq!(org.stored(id).await.status, after);
    }
    assert_eq!(
        (org.stored(&paused).await.finished_at, org.store.next_wake_at().await.expect("reads")),
        (Some(at(5)), None)
    );
    assert!(org.claim(NODE, 6, 10).await.is_empty());
}

pub async fn paused_runs_go_with_their_workflow(database: &dyn Database) {
    let (org, owner, id) = under_way(database).await;
    org.store.pause_run(pausing(&id, 1, at(100), PauseEnd::Resume)).await.expect("pauses");
    let Owner::Workflow(workflow) = &owner else { panic!("a workflow") };
    org.store.delete_workflow(&org.id, workflow).await.expect("deletes");
    assert_eq!(org.stored(&id).await.status, RunStatus::Cancelled);
    assert_eq!(
        (org.store.next_wake_at().await.expect("reads"), wake(&org, 200, 10).await),
        (None, (0, 0))
    );
}

pub async fn a_pause_outlives_the_server(database: &dyn Database) {
    let (org, _, id) = under_way(database).await;
    org.store.pause_run(pausing(&id, 1, at(100), PauseEnd::Resume)).await.expect("pauses");
    org.store.close().await;
    let store = database.open().await;
    assert_eq!(store.next_wake_at().await.expect("reads"), Some(at(100)));
    assert_eq!(
        store.wake_runs(at(100), 10).await.expect("wakes"),
        Woken { resumed: 1, cancelled: 0 }
    );
    assert_eq!(
        store.last_pause(&id).await.expect("reads").map(|p| p.state),
        Some(STATE.to_owned())
    );
}

pub async fn logs_of_attempts_follow_each_other(database: &dyn Database) {
    let (org, owner, id) = under_way(database).await;
    let effects = |texts: &[&str]| Effects {
        logs: texts.iter().map(|text| log(1, text)).collect(),
        log_owner: Some((org.id.clone(), owner.as_str().to_owned(), id.clone())),
        ..Effects::default()
    };
    org.store
        .pause_run(Pausing {
            effects: effects(&["a", "b"]),
            ..pausing(&id, 1, at(100), PauseEnd::Resume)
        })
        .await
        .expect("pauses");
    assert_eq!(wake(&org, 100, 10).await, (1, 0));
    assert_eq!(org.claim(NODE, 101, 10).await.len(), 1);
    org.store
        .settle(Settlement { effects: effects(&["c"]), ..settlement(&id, 2, 102) })
        .await
        .expect("settles");
    let lines = org.store.run_logs(&id).await.expect("reads");
    assert_eq!(lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(org.prune(at(1000), 10).await, 1);
    assert_eq!(org.store.last_pause(&id).await.expect("reads"), None);
}

pub async fn progress_is_kept_for_the_next_attempt(database: &dyn Database) {
    let (org, _, id) = under_way(database).await;
    assert!(matches!(org.store.keep_progress(&id, 2, RESULT).await, Err(StoreError::Fenced)));
    org.store.keep_progress(&id, 1, RESULT).await.expect("keeps");
    assert_eq!(org.store.requeue_running(None).await.expect("requeues"), 1);
    assert!(matches!(org.store.keep_progress(&id, 1, "{}").await, Err(StoreError::Fenced)));
    let again = org.claim(NODE, 5, 10).await;
    assert_eq!(
        again.iter().map(|run| (run.attempt, run.result.as_deref())).collect::<Vec<_>>(),
        [(2, Some(RESULT))]
    );
    org.store.settle(settlement(&id, 2, 6)).await.expect("settles");
    assert!(matches!(org.store.keep_progress(&id, 2, RESULT).await, Err(StoreError::Fenced)));
    assert_eq!(org.stored(&id).await.result.as_deref(), Some(r#"{"steps":[],"duration_ms":1}"#));
}

pub async fn a_run_may_begin_behind_steps(database: &dyn Database) {
    let (org, owner, _) = under_way(database).await;
    let run = NewRun { result: Some(RESULT.into()), ..org.run(&owner, 5) };
    org.store.accept(run.clone(), NODE).await.expect("accepted");
    assert_eq!(
        org.claim(NODE, 6, 10).await.into_iter().map(|run| run.result).collect::<Vec<_>>(),
        [Some(RESULT.to_owned())]
    );
}
