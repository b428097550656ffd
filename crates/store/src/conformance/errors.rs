//! Groups of errors, failed runs and replays of many.

use millrace_model::error_event::{CHANGES_MAX, ErrorGroup, ErrorGroupChange, ErrorState};
use millrace_model::ids::{DeploymentId, ErrorGroupId, ReplayId, RunId};
use millrace_model::page::Page;
use millrace_model::replay::{Replay, ReplayCounts, ReplayPosition, ReplaySelection, ReplayStatus};
use millrace_model::run::{NewRun, Original, RunStatus, Start};
use millrace_model::source::Owner;

use super::Database;
use super::sample::{IDS, Org, at, log, page, settlement};
use crate::{Effects, ErrorGroupFilter, FailedRuns, Leftovers, ReplayStep, Settlement, StoreError};

pub(super) fn group(
    org: &Org,
    owner: &str,
    id: &str,
    class: &str,
    run: &RunId,
    ms: i64,
) -> ErrorGroup {
    ErrorGroup {
        id: ErrorGroupId::from_row(format!("eg_{id}")),
        org_id: org.id.clone(),
        owner: owner.to_owned(),
        class: class.to_owned(),
        step: "charge\u{0}".into(),
        frame: "run (a.mjs:1:1)".into(),
        message: format!("at {ms}"),
        last_run_id: run.clone(),
        first_at: at(ms),
        last_at: at(ms),
        count: 1,
        state: ErrorState::Open,
        state_at: None,
        note: None,
    }
}

/// A run that fails at once; of a group where one is given.
async fn fail(org: &Org, owner: &Owner, ms: i64, of: Option<(&str, &str)>) -> RunId {
    let id = org.start(owner, ms).await;
    let group = of.map(|(group_id, class)| group(org, owner.as_str(), group_id, class, &id, ms));
    let settlement = Settlement {
        status: RunStatus::Failed,
        error: Some("{}".into()),
        group,
        ..settlement(&id, 1, ms)
    };
    org.store.settle(settlement).await.expect("settles");
    id
}

fn owner(name: &str) -> Owner {
    Owner::from_row(name.to_owned())
}

pub async fn a_failed_run_counts_in_its_group(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (a, b) = (owner("p_a"), owner("p_b"));
    fail(&org, &a, 10, Some(("one", "TypeError"))).await;
    let newest = fail(&org, &a, 30, Some(("one", "TypeError"))).await;
    fail(&org, &b, 20, Some(("two", "Error"))).await;
    let listed = org
        .store
        .list_error_groups(&org.id, &ErrorGroupFilter::default(), &page(10))
        .await
        .expect("lists");
    assert_eq!((listed.total_count, listed.items.len()), (2, 2));
    let [one, two] = <[ErrorGroup; 2]>::try_from(listed.items).expect("two groups");
    assert_eq!(
        (one.count, one.first_at, one.last_at, one.message.as_str(), &one.last_run_id),
        (2, at(10), at(30), "at 30", &newest)
    );
    assert_eq!((two.owner.as_str(), two.class.as_str(), two.count), ("p_b", "Error", 1));
    let of_a =
        org.store.list_error_groups(&org.id, &of("p_a"), &page(10)).await.expect("lists").items;
    assert_eq!(of_a, [one.clone()]);
    let next = Page { limit: 1, after: Some(one.id.to_string()), ..Page::default() };
    assert_eq!(
        org.store
            .list_error_groups(&org.id, &ErrorGroupFilter::default(), &next)
            .await
            .expect("lists")
            .items,
        [two]
    );
    assert_eq!(org.store.error_group(&org.id, &one.id).await.expect("reads"), Some(one.clone()));
    assert_eq!(other.store.error_group(&other.id, &one.id).await.expect("reads"), None);
    assert!(
        other
            .store
            .list_error_groups(&other.id, &of("p_a"), &page(10))
            .await
            .expect("lists")
            .items
            .is_empty()
    );
}

fn of(owner: &str) -> ErrorGroupFilter {
    ErrorGroupFilter { owner: Some(owner.into()), ..ErrorGroupFilter::default() }
}

fn change(org: &Org, state: ErrorState, ms: i64, note: Option<&str>) -> ErrorGroupChange {
    ErrorGroupChange {
        at: at(ms),
        state,
        by: Some(org.user.clone().into()),
        note: note.map(str::to_owned),
        run_id: None,
    }
}

pub async fn a_resolved_group_regresses_with_a_run_accepted_after_that(database: &dyn Database) {
    let org = Org::first(database).await;
    let a = owner("p_a");
    fail(&org, &a, 10, Some(("one", "TypeError"))).await;
    let early = org.start(&a, 20).await;
    let id = ErrorGroupId::from_row("eg_one".into());
    let read =
        || async { org.store.error_group(&org.id, &id).await.expect("reads").expect("the group") };
    assert!(
        org.store
            .change_error_group(
                &org.id,
                &id,
                change(&org, ErrorState::Resolved, 30, Some("mended"))
            )
            .await
            .expect("changes")
    );
    // It was accepted before, by the version that was not mended.
    let group = Some(group(&org, "p_a", "one", "TypeError", &early, 40));
    let settlement = Settlement {
        status: RunStatus::Failed,
        error: Some("{}".into()),
        group,
        ..settlement(&early, 1, 40)
    };
    org.store.settle(settlement).await.expect("settles");
    let group = read().await;
    assert_eq!(
        (group.state, group.state_at, group.note.as_deref(), group.count),
        (ErrorState::Resolved, Some(at(30)), Some("mended"), 2)
    );
    let again = fail(&org, &a, 50, Some(("one", "TypeError"))).await;
    let group = read().await;
    assert_eq!(
        (group.state, group.state_at, group.note.as_deref()),
        (ErrorState::Regressed, Some(at(50)), Some("mended"))
    );
    fail(&org, &a, 60, Some(("one", "TypeError"))).await;
    let changes = org.store.error_group_changes(&id).await.expect("reads");
    assert_eq!(
        changes.iter().map(|c| (c.state, c.run_id.as_ref())).collect::<Vec<_>>(),
        [(ErrorState::Regressed, Some(&again)), (ErrorState::Resolved, None)]
    );
    assert_eq!(
        (&changes[0].by, changes[1].by.as_ref().map(|by| (&by.id, by.name.is_some()))),
        (&None, Some((&org.user, true)))
    );
    // An ignored one stays so, and is of the organization alone.
    assert!(
        org.store
            .change_error_group(&org.id, &id, change(&org, ErrorState::Ignored, 70, None))
            .await
            .expect("changes")
    );
    fail(&org, &a, 80, Some(("one", "TypeError"))).await;
    assert_eq!(read().await.state, ErrorState::Ignored);
    let other = Org::another(&org.store, "other").await;
    assert!(
        !other
            .store
            .change_error_group(&other.id, &id, change(&other, ErrorState::Open, 90, None))
            .await
            .expect("is refused")
    );
    assert_eq!(org.store.error_group_changes(&id).await.expect("reads").len(), 3);
}

pub async fn groups_are_listed_by_state_class_and_when_they_were_seen(database: &dyn Database) {
    let org = Org::first(database).await;
    let a = owner("p_a");
    for (id, class, ms) in
        [("one", "TypeError", 10), ("two", "Error", 20), ("three", "TypeError", 30)]
    {
        fail(&org, &a, ms, Some((id, class))).await;
    }
    let two = ErrorGroupId::from_row("eg_two".into());
    assert!(
        org.store
            .change_error_group(&org.id, &two, change(&org, ErrorState::Resolved, 40, None))
            .await
            .expect("changes")
    );
    let listed = async |filter: ErrorGroupFilter| {
        let listing =
            org.store.list_error_groups(&org.id, &filter, &page(10)).await.expect("lists");
        assert_eq!(listing.total_count, listing.items.len() as u64);
        listing.items.into_iter().map(|g| g.id.to_string()).collect::<Vec<_>>()
    };
    let by = |states: &[ErrorState]| ErrorGroupFilter { states: states.to_vec(), ..of("p_a") };
    assert_eq!(listed(by(&[ErrorState::Open])).await, ["eg_three", "eg_one"]);
    assert_eq!(listed(by(&[ErrorState::Resolved, ErrorState::Regressed])).await, ["eg_two"]);
    assert_eq!(
        listed(ErrorGroupFilter {
            states: vec![ErrorState::Open],
            since: Some(at(30)),
            ..ErrorGroupFilter::default()
        })
        .await,
        ["eg_three"]
    );
    assert_eq!(
        listed(ErrorGroupFilter { class: Some("Error".into()), ..ErrorGroupFilter::default() })
            .await,
        ["eg_two"]
    );
}

pub async fn a_group_keeps_its_newest_changes_until_it_is_pruned(database: &dyn Database) {
    let org = Org::first(database).await;
    fail(&org, &owner("p_a"), 10, Some(("one", "TypeError"))).await;
    let id = ErrorGroupId::from_row("eg_one".into());
    for n in 0..i64::from(CHANGES_MAX) + 2 {
        let state = if n % 2 == 0 { ErrorState::Ignored } else { ErrorState::Open };
        assert!(
            org.store
                .change_error_group(
                    &org.id,
                    &id,
                    change(&org, state, 100 + n, Some(&n.to_string()))
                )
                .await
                .expect("changes")
        );
    }
    let changes = org.store.error_group_changes(&id).await.expect("reads");
    assert_eq!(
        (changes.len(), changes[0].note.as_deref(), changes[99].note.as_deref()),
        (CHANGES_MAX as usize, Some("101"), Some("2"))
    );
    let leftovers = Leftovers { before: Some(at(20)), audit_before: None, now: at(300), limit: 10 };
    org.store.prune_leftovers(leftovers).await.expect("prunes");
    assert_eq!(org.store.error_group(&org.id, &id).await.expect("reads"), None);
    assert!(org.store.error_group_changes(&id).await.expect("reads").is_empty());
}

pub async fn a_group_knows_the_deployments_that_it_was_seen_in(database: &dyn Database) {
    let org = Org::first(database).await;
    let a = owner("p_a");
    for (deployment, id, ms) in
        [("d_1", "one", 10), ("d_1", "one", 20), ("d_2", "one", 30), ("d_2", "two", 40)]
    {
        let run = NewRun {
            deployment_id: Some(DeploymentId::from_row(deployment.into())),
            start: Start::Claimed { lease_until: at(ms + 1_000) },
            ..org.run(&a, ms)
        };
        let run_id = run.id.clone();
        org.store.accept(run, "node_a").await.expect("accepts");
        let group = Some(group(&org, "p_a", id, "TypeError", &run_id, ms));
        let settlement = Settlement {
            status: RunStatus::Failed,
            error: Some("{}".into()),
            group,
            ..settlement(&run_id, 1, ms)
        };
        org.store.settle(settlement).await.expect("settles");
    }
    let one = org
        .store
        .error_group(&org.id, &ErrorGroupId::from_row("eg_one".into()))
        .await
        .expect("reads")
        .expect("the group");
    let versions = org.store.error_group_versions(&one, 10).await.expect("reads");
    let seen: Vec<_> = versions
        .iter()
        .map(|v| (v.deployment_id.as_str(), v.version, v.count, v.first_at, v.last_at))
        .collect();
    assert_eq!(seen, [("d_2", None, 1, at(30), at(30)), ("d_1", None, 2, at(10), at(20))]);
    assert_eq!(org.store.error_group_versions(&one, 2).await.expect("reads").len(), 1);
}

pub async fn failed_runs_tell_when_each_group_was_seen(database: &dyn Database) {
    let org = Org::first(database).await;
    let (a, b) = (owner("p_a"), owner("p_b"));
    fail(&org, &a, 10, Some(("one", "TypeError"))).await;
    fail(&org, &b, 20, Some(("two", "Error"))).await;
    fail(&org, &a, 30, Some(("one", "TypeError"))).await;
    fail(&org, &a, 40, None).await;
    let well = org.start(&a, 35).await;
    org.store.settle(settlement(&well, 1, 35)).await.expect("settles");
    let seen = async |from: i64, to: i64, max: u32| {
        let found = org.store.failed_times(&org.id, (at(from), at(to)), max).await.expect("reads");
        found.into_iter().map(|f| (f.at, f.group.map(|id| id.to_string()))).collect::<Vec<_>>()
    };
    let (one, two) = (Some("eg_one".to_owned()), Some("eg_two".to_owned()));
    assert_eq!(
        seen(10, 41, 10).await,
        [(at(40), None), (at(30), one.clone()), (at(20), two.clone()), (at(10), one.clone())]
    );
    assert_eq!(seen(20, 40, 10).await, [(at(30), one.clone()), (at(20), two)]);
    assert_eq!(seen(10, 40, 1).await, [(at(30), one)]);
    let other = Org::another(&org.store, "other").await;
    assert_eq!(other.store.failed_times(&other.id, (at(0), at(50)), 10).await.expect("reads"), []);
}

fn which(org: &Org, owner: &Owner) -> FailedRuns {
    FailedRuns {
        org_id: org.id.clone(),
        owner: owner.as_str().to_owned(),
        class: None,
        group: None,
        from: None,
        to: None,
        after: None,
        limit: 10,
    }
}

async fn failed(org: &Org, which: &FailedRuns) -> Vec<RunId> {
    org.store.failed_runs(which).await.expect("reads").into_iter().map(|run| run.id).collect()
}

pub async fn failed_runs_fit_class_group_and_time(database: &dyn Database) {
    let org = Org::first(database).await;
    let a = owner("p_a");
    let first = fail(&org, &a, 10, Some(("one", "TypeError"))).await;
    let second = fail(&org, &a, 20, Some(("two", "TypeError"))).await;
    let third = fail(&org, &a, 30, Some(("three", "Error"))).await;
    fail(&org, &owner("p_b"), 40, Some(("four", "TypeError"))).await;
    let well = org.start(&a, 50).await;
    org.store.settle(settlement(&well, 1, 50)).await.expect("settles");
    let all = which(&org, &a);
    assert_eq!(failed(&org, &all).await, [first.clone(), second.clone(), third.clone()]);
    assert_eq!(
        failed(&org, &FailedRuns { class: Some("TypeError".into()), ..all.clone() }).await,
        [first.clone(), second.clone()]
    );
    assert_eq!(
        failed(
            &org,
            &FailedRuns { group: Some(ErrorGroupId::from_row("eg_three".into())), ..all.clone() }
        )
        .await,
        [third.clone()]
    );
    assert_eq!(
        failed(&org, &FailedRuns { from: Some(at(20)), to: Some(at(30)), ..all.clone() }).await,
        [second.clone()]
    );
    assert_eq!(
        failed(&org, &FailedRuns { after: Some((at(10), first)), limit: 1, ..all.clone() }).await,
        [second]
    );
    assert_eq!(org.store.count_failed_runs(&all).await.expect("counts"), 3);
    assert_eq!(
        org.store.count_failed_runs(&FailedRuns { limit: 2, ..all }).await.expect("counts"),
        2
    );
}

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
    let (org, third) = (Org::first(database).await, ReplayId::generate(&IDS));
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

pub async fn what_keeps_no_data_leaves_none(database: &dyn Database) {
    let org = Org::first(database).await;
    let a = owner("p_a");
    let id = org.start(&a, 0).await;
    let logged = Effects {
        logs: vec![log(1, "secret")],
        log_owner: Some((org.id.clone(), "p_a".into(), id.clone())),
        ..Effects::default()
    };
    org.store.settle_effects(logged).await.expect("an earlier attempt's log");
    org.store
        .settle(Settlement { forget: Some(r#"{"$kept":false}"#.into()), ..settlement(&id, 1, 5) })
        .await
        .expect("settles");
    let run = org.stored(&id).await;
    assert_eq!((run.event.as_str(), run.status), (r#"{"$kept":false}"#, RunStatus::Succeeded));
    assert!(org.store.run_logs(&id).await.expect("reads").is_empty());
}
