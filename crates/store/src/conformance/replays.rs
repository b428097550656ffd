//! Replays of many runs.

use millrace_model::ids::{ReplayId, RunId};
use millrace_model::page::Page;
use millrace_model::replay::{Replay, ReplayCounts, ReplayPosition, ReplaySelection, ReplayStatus};
use millrace_model::run::{NewRun, Original, RunStatus};
use millrace_model::source::Owner;

use super::Database;
use super::errors::{fail, failed, owner, which};
use super::sample::{IDS, Org, at, page, settlement};
use crate::{ReplayStep, Settlement, StoreError};

fn replay(org: &Org, ms: i64) -> Replay {
    Replay {
        id: ReplayId::generate(&IDS),
        org_id: org.id.clone(),
        owner: "p_a".into(),
        selection: ReplaySelection {
            class: Some("Type\u{0}Error".into()),
            ..ReplaySelection::default()
        },
        status: ReplayStatus::Running,
        version: 0,
        position: ReplayPosition::default(),
        total: Some(2),
        replayed: 0,
        skipped: 0,
        note: None,
        created_at: at(ms),
        updated_at: at(ms),
    }
}

async fn add_replay(org: &Org, ms: i64) -> Replay {
    let replay = replay(org, ms);
    org.store.create_replay(replay.clone()).await.expect("a replay");
    replay
}

fn next(replay: &Replay, of: &[&RunId], runs: Vec<NewRun>) -> ReplayStep {
    let replay = Replay {
        version: replay.version + 1,
        replayed: replay.replayed + runs.len() as i64,
        note: Some("n".into()),
        ..replay.clone()
    };
    ReplayStep { replay, runs: of.iter().map(|&id| Original::of(id.clone())).zip(runs).collect() }
}

/// A run as a replay makes it.
fn again(org: &Org, owner: &Owner, ms: i64) -> NewRun {
    NewRun {
        context: r#"{"id":"x","test":false,"replay":true,"owner_id":"o"}"#.into(),
        ..org.run(owner, ms)
    }
}

pub async fn a_replay_takes_each_step_once(database: &dyn Database) {
    let org = Org::first(database).await;
    let (a, replay) = (owner("p_a"), add_replay(&org, 0).await);
    assert_eq!(org.store.replay(&org.id, &replay.id).await.expect("reads"), Some(replay.clone()));
    let first = fail(&org, &a, 10, None).await;
    let step = next(&replay, &[&first], vec![again(&org, &a, 20)]);
    let twice = next(&replay, &[&first], vec![again(&org, &a, 21)]);
    let (one, two) = tokio::join!(org.store.step_replay(step), org.store.step_replay(twice));
    let refused = one.is_err() as u8 + two.is_err() as u8;
    assert_eq!(refused, 1);
    assert!(one.err().or(two.err()).is_some_and(|e| matches!(e, StoreError::StateChanged)));
    assert_eq!(org.claim("node_b", 100, 10).await.len(), 1);
    let stored = org.store.replay(&org.id, &replay.id).await.expect("reads").expect("the replay");
    assert_eq!((stored.version, stored.replayed, stored.note.as_deref()), (1, 1, Some("n")));
    // The same run again, by whatever mistake, leaves nothing.
    let clash = next(&stored, &[&first], vec![again(&org, &a, 22)]);
    assert!(org.store.step_replay(clash).await.is_err());
    assert_eq!(org.store.replay(&org.id, &replay.id).await.expect("reads"), Some(stored));
    assert!(org.claim("node_b", 100, 10).await.is_empty());
}

pub async fn a_replay_that_is_held_is_not_running(database: &dyn Database) {
    let org = Org::first(database).await;
    let (older, newer) = (add_replay(&org, 0).await, add_replay(&org, 1).await);
    let running = async |after: &str| -> Vec<_> {
        let running = org.store.running_replays(after, 10).await.expect("reads");
        running.into_iter().map(|r| r.id).collect()
    };
    let (first, last) =
        if older.id.as_str() < newer.id.as_str() { (&older, &newer) } else { (&newer, &older) };
    assert_eq!(running("").await, [first.id.clone(), last.id.clone()]);
    // Each has its turn, however many are before it.
    assert_eq!(running(first.id.as_str()).await[0], last.id);
    let mut held = next(&older, &[], Vec::new());
    held.replay.status = ReplayStatus::Paused;
    org.store.step_replay(held).await.expect("holds");
    // What was decided before is too late.
    let a = owner("p_a");
    let first = fail(&org, &a, 10, None).await;
    assert!(matches!(
        org.store.step_replay(next(&older, &[&first], vec![again(&org, &a, 20)])).await,
        Err(StoreError::StateChanged)
    ));
    assert!(org.claim("node_b", 100, 10).await.is_empty());
    assert_eq!(running("").await, [newer.id.clone()]);
    let listed = org.store.list_replays(&org.id, &page(10)).await.expect("lists");
    assert_eq!(listed.items.iter().map(|r| &r.id).collect::<Vec<_>>(), [&newer.id, &older.id]);
    // A list has no events, which may be long; the record has.
    let third = ReplayId::generate(&IDS);
    let with_event = |event| Replay {
        selection: ReplaySelection { event, ..older.selection.clone() },
        id: third.clone(),
        ..replay(&org, 2)
    };
    let given = with_event(Some(serde_json::json!({ "a": "\u{0}\"event\"" })));
    org.store.create_replay(given.clone()).await.expect("a replay");
    let listed = org.store.list_replays(&org.id, &page(1)).await.expect("lists");
    assert_eq!(listed.items, [with_event(None)]);
    assert_eq!(org.store.replay(&org.id, &third).await.expect("reads"), Some(given));
    let other = Org::another(&org.store, "other").await;
    assert_eq!(other.store.replay(&other.id, &newer.id).await.expect("reads"), None);
}

pub async fn what_became_of_replayed_runs_is_told(database: &dyn Database) {
    let org = Org::first(database).await;
    let (a, replay) = (owner("p_a"), add_replay(&org, 0).await);
    let originals = [
        fail(&org, &a, 10, None).await,
        fail(&org, &a, 11, None).await,
        fail(&org, &a, 12, None).await,
    ];
    let runs = vec![again(&org, &a, 2_000), again(&org, &a, 4_000), again(&org, &a, 6_000)];
    let ids: Vec<RunId> = runs.iter().map(|run| run.id.clone()).collect();
    org.store
        .step_replay(next(&replay, &originals.iter().collect::<Vec<_>>(), runs))
        .await
        .expect("steps");
    assert_eq!(org.store.replay_under_way(&replay.id).await.expect("counts"), 3);
    assert_eq!(org.claim("node_b", 9_000, 2).await.len(), 2);
    org.store.settle(settlement(&ids[0], 1, 9_000)).await.expect("settles");
    let error = Some("{}".into());
    org.store
        .settle(Settlement { status: RunStatus::Failed, error, ..settlement(&ids[1], 1, 9_000) })
        .await
        .expect("settles");
    assert_eq!(org.store.replay_under_way(&replay.id).await.expect("counts"), 1);
    let counts = org.store.replay_counts(&replay.id).await.expect("counts");
    assert_eq!(counts, ReplayCounts { unfinished: 1, succeeded: 1, failed: 1, cancelled: 0 });
    let listed = org.store.replayed_runs(&replay.id, &page(10)).await.expect("lists");
    assert_eq!(listed.total_count, 3);
    let mut statuses: Vec<_> =
        listed.items.iter().map(|r| (r.original_id.clone(), r.run_id.clone(), r.status)).collect();
    statuses.sort_by(|a, b| a.0.cmp(&b.0));
    let mut expected: Vec<_> = originals
        .iter()
        .zip(&ids)
        .zip([RunStatus::Succeeded, RunStatus::Failed, RunStatus::Queued])
        .map(|((o, n), s)| (o.clone(), n.clone(), Some(s)))
        .collect();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(statuses, expected);
    let after =
        Page { limit: 1, after: Some(listed.items[0].original_id.to_string()), ..Page::default() };
    assert_eq!(
        org.store.replayed_runs(&replay.id, &after).await.expect("lists").items,
        [listed.items[1].clone()]
    );
    // Neither what a replay mended nor a replay itself is replayed by the next.
    assert_eq!(failed(&org, &which(&org, &a)).await, [originals[1].clone(), originals[2].clone()]);
}

pub async fn a_run_that_was_replayed_by_itself_is_mended_too(database: &dyn Database) {
    let org = Org::first(database).await;
    let a = owner("p_a");
    let originals = [fail(&org, &a, 10, None).await, fail(&org, &a, 11, None).await];
    // Twice the same, and one that fails again.
    for (original, ms) in [(&originals[0], 2_000), (&originals[0], 2_001), (&originals[1], 2_002)] {
        let run = NewRun { replays: Some(Original::of(original.clone())), ..again(&org, &a, ms) };
        let id = run.id.clone();
        org.store.accept(run, "node_b").await.expect("accepted");
        assert_eq!(org.claim("node_b", ms + 1, 10).await.len(), 1);
        let (status, error) = if original == &originals[0] {
            (RunStatus::Succeeded, None)
        } else {
            (RunStatus::Failed, Some("{}".into()))
        };
        org.store
            .settle(Settlement { status, error, ..settlement(&id, 1, ms + 2) })
            .await
            .expect("settles");
    }
    assert_eq!(failed(&org, &which(&org, &a)).await, [originals[1].clone()]);
}
