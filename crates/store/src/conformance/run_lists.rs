//! Lists of runs across an organization.

use millrace_model::ids::RunId;
use millrace_model::page::{Page, Room};
use millrace_model::run::{NewRun, Original, Run, RunKind, RunStatus, Start};
use millrace_model::search::asked;
use millrace_model::source::Owner;

use super::Database;
use super::errors::group;
use super::pauses::pausing;
use super::sample::{LEASE_MS, NODE, Org, at, page, settlement};
use super::search::index;
use crate::{LIGHT_RESULT_BYTES, PauseEnd, RunFilter, Settlement, StoreError};

#[expect(clippy::too_many_lines, reason = "a list of filters and what each finds")]
pub async fn runs_of_all_owners_are_listed_by_what_is_asked(database: &dyn Database) {
    use RunStatus::{Cancelled, Failed, Paused, Queued, Running, Succeeded};
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (one, two) = (
        Owner::Workflow(org.add_workflow("a").await.id),
        Owner::Source(org.add_source("b").await.id),
    );
    other.accept(&Owner::Workflow(other.add_workflow("a").await.id), 15).await;
    let traced = |owner: &Owner, ms, trace: &str, kind, trigger: &str| {
        let context = format!(r#"{{"id":"x","trace_id":"{trace}","workflow_name":"a \\u0000"}}"#);
        let start = Start::Claimed { lease_until: at(ms + LEASE_MS) };
        NewRun { context, kind, trigger_id: trigger.into(), start, ..org.run(owner, ms) }
    };
    let begin = async |run: NewRun| {
        let id = run.id.clone();
        org.store.accept(run, NODE).await.expect("accepted");
        id
    };
    let succeeded = begin(traced(&one, 10, "t1", RunKind::Live, "hi_1")).await;
    let failed = begin(traced(&two, 20, "t2", RunKind::Live, "hi_2")).await;
    let tested = begin(traced(&one, 30, "t2", RunKind::Test, "hi_1")).await;
    let (running, queued, cancelled) =
        (org.start(&two, 40).await, org.accept(&one, 50).await, org.accept(&two, 60).await);
    let paused = begin(traced(&one, 70, "t3", RunKind::Live, "hi_1")).await;
    let replay = NewRun { replays: Some(Original::of(failed.clone())), ..org.run(&two, 80) };
    let replay = begin(replay).await;
    org.store.settle(settlement(&succeeded, 1, 15)).await.expect("settles");
    org.store.settle(settlement(&tested, 1, 130)).await.expect("settles");
    let group = group(&org, two.as_str(), "one", "TypeError", &failed, 25);
    let failure = Settlement {
        status: Failed,
        error: Some("{}".into()),
        group: Some(group.clone()),
        ..settlement(&failed, 1, 25)
    };
    org.store.settle(failure).await.expect("settles");
    org.store.cancel_run(&org.id, &cancelled, at(65)).await.expect("cancels");
    org.store.pause_run(pausing(&paused, 1, at(1_000), PauseEnd::Resume)).await.expect("pauses");

    let list = async |filter: RunFilter| {
        let listing = org.store.list_runs(&org.id, &filter, false, &page(10)).await.expect("lists");
        assert_eq!(listing.total_count, listing.items.len() as u64, "{filter:?}");
        listing.items.into_iter().map(|listed| listed.run.id).collect::<Vec<_>>()
    };
    let all = [&replay, &paused, &cancelled, &queued, &running, &tested, &failed, &succeeded]
        .map(Clone::clone);
    assert_eq!(list(RunFilter::default()).await, all);
    // Of all owners and of one, by any states: each of these is answered from other indexes.
    let sets: &[(&[RunStatus], &[&RunId])] = &[
        (&[Queued, Running, Paused], &[&replay, &paused, &queued, &running]),
        (&[Failed, Paused], &[&paused, &failed]),
        (&[Failed], &[&failed]),
        (&[Cancelled, Failed], &[&cancelled, &failed]),
        (&[Cancelled], &[&cancelled]),
        (&[Succeeded, Queued], &[&replay, &queued, &tested, &succeeded]),
        (&[Succeeded], &[&tested, &succeeded]),
        (&[Running], &[&running]),
    ];
    let of_two = [&replay, &cancelled, &running, &failed];
    for (statuses, expected) in sets {
        let filter = RunFilter { statuses: statuses.to_vec(), ..RunFilter::default() };
        let expected: Vec<_> = expected.iter().map(|id| (*id).clone()).collect();
        assert_eq!(list(filter.clone()).await, expected, "{statuses:?}");
        let theirs: Vec<_> = expected.into_iter().filter(|id| of_two.contains(&id)).collect();
        assert_eq!(
            list(RunFilter { owner: Some(two.as_str().into()), ..filter }).await,
            theirs,
            "{statuses:?} of one owner"
        );
    }
    let by = RunFilter::default;
    assert_eq!(list(RunFilter { kind: Some(RunKind::Test), ..by() }).await, [tested.clone()]);
    assert_eq!(
        list(RunFilter { trigger_id: Some("hi_1".into()), ..by() }).await,
        [paused.clone(), tested.clone(), succeeded.clone()]
    );
    assert_eq!(
        list(RunFilter { trace_id: Some("t2".into()), ..by() }).await,
        [tested.clone(), failed.clone()]
    );
    assert_eq!(
        list(RunFilter { trace_id: Some("t2".into()), statuses: vec![Failed], ..by() }).await,
        [failed.clone()]
    );
    assert_eq!(
        list(RunFilter { error_class: Some("TypeError".into()), ..by() }).await,
        [failed.clone()]
    );
    // A test counts in no group, and has a class.
    let test = begin(traced(&one, 90, "t4", RunKind::Test, "hi_1")).await;
    let error = Some(r#"{"code":"SyntaxError","message":""}"#.into());
    let failure = Settlement { status: Failed, error, ..settlement(&test, 1, 95) };
    org.store.settle(failure).await.expect("settles");
    assert_eq!(list(RunFilter { error_class: Some("SyntaxError".into()), ..by() }).await, [test]);
    assert_eq!(
        list(RunFilter {
            error_group: Some(group.id.to_string()),
            owner: Some(two.as_str().into()),
            ..by()
        })
        .await,
        [failed.clone()]
    );
    assert!(list(RunFilter { error_class: Some("RangeError".into()), ..by() }).await.is_empty());
    assert!(
        list(RunFilter { error_class: Some("TypeError".into()), statuses: vec![Paused], ..by() })
            .await
            .is_empty()
    );
    assert_eq!(list(RunFilter { replay_of: Some(failed.clone()), ..by() }).await, [replay.clone()]);
    let ids = vec![succeeded.clone(), paused.clone(), org.run(&one, 0).id];
    assert_eq!(
        list(RunFilter { ids: Some(ids), ..by() }).await,
        [paused.clone(), succeeded.clone()]
    );
    assert!(list(RunFilter { ids: Some(Vec::new()), ..by() }).await.is_empty());
    assert_eq!(list(RunFilter { min_ms: Some(100), ..by() }).await, [tested.clone()]);
    assert_eq!(
        list(RunFilter { from: Some(at(20)), to: Some(at(40)), ..by() }).await,
        [tested.clone(), failed.clone()]
    );
    for text in ["", "a\u{0}b", "' OR 1"] {
        assert!(
            list(RunFilter { trigger_id: Some(text.into()), kind: Some(RunKind::Hook), ..by() })
                .await
                .is_empty()
        );
        assert!(list(RunFilter { owner: Some(text.into()), ..by() }).await.is_empty());
    }
    assert!(
        org.store
            .list_runs(
                &other.id,
                &RunFilter { owner: Some(one.as_str().into()), ..by() },
                false,
                &page(10)
            )
            .await
            .expect("lists")
            .items
            .is_empty()
    );
    assert_eq!(
        org.store.list_runs(&other.id, &by(), false, &page(10)).await.expect("lists").items.len(),
        1
    );
    assert_eq!(
        org.store
            .lineage(&org.id, &failed)
            .await
            .expect("reads")
            .and_then(|lineage| lineage.replayed_by),
        Some(replay.clone())
    );
    assert_eq!(
        org.store
            .lineage(&org.id, &replay)
            .await
            .expect("reads")
            .and_then(|lineage| lineage.replay_of),
        Some(failed.clone())
    );
    assert_eq!(org.store.lineage(&other.id, &failed).await.expect("reads"), None);
    let edited = Original { id: failed.clone(), event_edited: true };
    let edited = begin(NewRun { replays: Some(edited), ..org.run(&two, 90) }).await;
    let lineage =
        async |id: &RunId| org.store.lineage(&org.id, id).await.expect("reads").expect("a run");
    assert_eq!(
        (
            lineage(&edited).await.event_edited,
            lineage(&replay).await.event_edited,
            lineage(&failed).await.event_edited
        ),
        (true, false, false)
    );
}

pub async fn runs_that_fit_are_read_oldest_first_and_counted(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (one, two) = (
        Owner::Workflow(org.add_workflow("a").await.id),
        Owner::Source(org.add_source("b").await.id),
    );
    other.accept(&Owner::Workflow(other.add_workflow("a").await.id), 15).await;
    let mut all = Vec::new();
    // Two of one moment: their ids decide.
    for (n, owner) in [&one, &two, &one, &two, &one].into_iter().enumerate() {
        let run = org.start(owner, 10 * (n as i64 / 2)).await;
        org.store.settle(settlement(&run, 1, 100)).await.expect("settles");
        all.push((at(10 * (n as i64 / 2)), run));
    }
    let waiting = org.accept(&one, 70).await;
    all.sort();
    let ended = RunFilter {
        statuses: vec![RunStatus::Succeeded, RunStatus::Failed],
        ..RunFilter::default()
    };
    let mut read: Vec<(_, RunId)> = Vec::new();
    loop {
        let part = org.store.matching_runs(&org.id, &ended, read.last(), 2).await.expect("reads");
        assert!(
            part.len() <= 2 && part.iter().all(|run| !run.event.is_empty() && run.result.is_some())
        );
        if part.is_empty() {
            break;
        }
        read.extend(part.into_iter().map(|run| (run.created_at, run.id)));
    }
    assert_eq!(read, all);
    let of_one =
        RunFilter { owner: Some(one.as_str().into()), from: Some(at(10)), ..RunFilter::default() };
    let ids = |runs: Vec<Run>| runs.into_iter().map(|run| run.id).collect::<Vec<_>>();
    let theirs: Vec<RunId> = all
        .iter()
        .filter(|(time, _)| *time == at(20))
        .map(|(_, id)| id.clone())
        .chain([waiting])
        .collect();
    let read = ids(org
        .store
        .matching_runs(&org.id, &of_one, Some(&(at(10), RunId::from_row("run_zzzz".into()))), 10)
        .await
        .expect("reads"));
    assert_eq!(read, theirs);
    let count = async |filter: &RunFilter, max| {
        org.store.count_runs(&org.id, filter, max).await.expect("counts")
    };
    assert_eq!(
        (count(&ended, 10).await, count(&ended, 3).await, count(&RunFilter::default(), 10).await),
        (5, 3, 6)
    );
    assert_eq!(other.store.count_runs(&other.id, &ended, 10).await.expect("counts"), 0);
}

pub async fn light_records_of_runs_leave_out_what_is_large(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    for (n, result) in [(0, "1".to_owned()), (1, format!("\"{}\"", "x".repeat(LIGHT_RESULT_BYTES)))]
    {
        let run = org.start(&owner, n).await;
        org.store
            .settle(Settlement { result, ..settlement(&run, 1, n + 1) })
            .await
            .expect("settles");
    }
    let results = async |whole, page: &Page| {
        let runs = org.store.list_runs(&org.id, &RunFilter::default(), whole, page).await?.items;
        Ok::<_, StoreError>(
            runs.into_iter()
                .map(|listed| (listed.run.result.map(|text| text.len()), listed.run.event.len()))
                .collect::<Vec<_>>(),
        )
    };
    let room = |bytes| Page { room: Room::new(move |asked| asked <= bytes), ..page(10) };
    let event = org.run(&owner, 0).event.len();
    assert_eq!(
        results(true, &page(10)).await.expect("lists"),
        [(Some(LIGHT_RESULT_BYTES + 2), event), (Some(1), event)]
    );
    assert_eq!(results(false, &room(1_000)).await.expect("lists"), [(None, 0), (Some(1), 0)]);
    assert!(matches!(results(true, &room(1_000)).await, Err(StoreError::NoMemory)));
}

pub async fn a_run_has_one_duration_in_lists_searches_and_statistics(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    // Its first attempt is lost; the second takes 7 ms.
    let tried = org.start(&owner, 0).await;
    assert_eq!(org.claim(NODE, LEASE_MS + 1, 10).await.len(), 1);
    org.store.settle(settlement(&tried, 2, LEASE_MS + 8)).await.expect("settles");
    // The clock goes back while it runs.
    let back = org.start(&owner, LEASE_MS + 20).await;
    org.store.settle(settlement(&back, 1, LEASE_MS + 15)).await.expect("settles");
    assert_eq!(
        (org.stored(&tried).await.duration_ms(), org.stored(&back).await.duration_ms()),
        (Some(7), Some(0))
    );
    let within = (at(0), at(9 * LEASE_MS));
    let ended =
        org.store.ended_runs(&org.id, None, RunKind::Live, within, 10).await.expect("reads");
    let counted: Vec<_> = ended.runs.iter().map(|run| run.duration_ms).collect();
    assert_eq!(counted, [Some(0), Some(7)]);
    index(&org, 9 * LEASE_MS, 10).await;
    let words = asked("1").expect("a word");
    for (least, expected) in [(0, vec![back, tried.clone()]), (7, vec![tried]), (8, vec![])] {
        let filter = RunFilter { min_ms: Some(least), ..RunFilter::default() };
        let page = page(10);
        let listed = org.store.list_runs(&org.id, &filter, false, &page).await.expect("lists");
        let found = org.store.search_runs(&org.id, &words, &filter, false, &page).await;
        for items in [listed.items, found.expect("searches").listing.items] {
            let ids: Vec<_> = items.into_iter().map(|listed| listed.run.id).collect();
            assert_eq!(ids, expected, "{least}");
        }
    }
}
