//! Reading and pruning of history.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millrace_model::event::{Event, EventFilter, PAYLOAD_PREVIEW_BYTES};
use millrace_model::ids::{EventId, RunId};
use millrace_model::page::{Page, Room};
use millrace_model::run::{LogFilter, LogLevel, LogLine, RunKind, RunStatus};
use millrace_model::source::Owner;

use super::Database;
use super::sample::{LEASE_MS, NODE, Org, at, event_id, log, page, settlement};
use crate::{Effects, RunFilter, RunState, Settlement, StoreError};

const EMITTER: &str = "dc_emitter";

pub(super) fn of_owner(owner: &Owner) -> RunFilter {
    RunFilter { owner: Some(owner.as_str().to_owned()), ..RunFilter::default() }
}

async fn settle_with_logs(org: &Org, owner: &Owner, ms: i64, texts: &[&str]) -> RunId {
    let id = org.start(owner, ms).await;
    let logs = texts.iter().map(|text| log(ms, text)).collect();
    let effects = Effects {
        logs,
        log_owner: Some((org.id.clone(), owner.as_str().to_owned(), id.clone())),
        ..Effects::default()
    };
    org.store.settle(Settlement { effects, ..settlement(&id, 1, ms + 1) }).await.expect("settles");
    id
}

async fn shown(org: &Org, name: Option<&str>, page: &Page) -> Vec<EventId> {
    org.store
        .list_events(&org.id, EMITTER, EventFilter::of(name), true, page)
        .await
        .expect("lists")
        .items
        .into_iter()
        .map(|listed| listed.event.id)
        .collect()
}

pub async fn a_run_is_of_its_organization(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let owner = Owner::Workflow(org.add_workflow("a").await.id);
    let id = org.accept(&owner, 0).await;
    assert!(org.store.run(&other.id, &id).await.expect("reads").is_none());
    let theirs =
        org.store.list_runs(&other.id, &of_owner(&owner), true, &page(10)).await.expect("lists");
    assert_eq!((theirs.items.len(), theirs.total_count), (0, 0));
    assert!(org.store.run(&org.id, &org.run(&owner, 0).id).await.expect("reads").is_none());
}

pub async fn runs_are_listed_by_owner_and_filter(database: &dyn Database) {
    let org = Org::first(database).await;
    let (owner, another) = (
        Owner::Workflow(org.add_workflow("a").await.id),
        Owner::Workflow(org.add_workflow("b").await.id),
    );
    let (succeeded, failed) = (org.start(&owner, 10).await, org.start(&owner, 20).await);
    let (running, queued) = (org.start(&owner, 30).await, org.accept(&owner, 40).await);
    org.accept(&another, 25).await;
    org.store.settle(settlement(&succeeded, 1, 50)).await.expect("settles");
    let error = Some("{}".to_owned());
    org.store
        .settle(Settlement { status: RunStatus::Failed, error, ..settlement(&failed, 1, 50) })
        .await
        .expect("settles");
    let list = async |filter: RunFilter| {
        let listing = org
            .store
            .list_runs(
                &org.id,
                &RunFilter { owner: Some(owner.as_str().to_owned()), ..filter },
                true,
                &page(10),
            )
            .await
            .expect("lists");
        assert_eq!(listing.total_count, listing.items.len() as u64);
        listing.items.into_iter().map(|listed| listed.run.id).collect::<Vec<_>>()
    };
    let status = |status| RunFilter { statuses: vec![status], ..RunFilter::default() };
    assert_eq!(
        list(RunFilter::default()).await,
        [queued.clone(), running.clone(), failed.clone(), succeeded.clone()]
    );
    assert_eq!(list(status(RunStatus::Queued)).await, [queued.clone()]);
    assert_eq!(list(status(RunStatus::Running)).await, [running.clone()]);
    assert_eq!(list(status(RunStatus::Failed)).await, [failed.clone()]);
    assert_eq!(list(status(RunStatus::Succeeded)).await, [succeeded.clone()]);
    assert!(list(status(RunStatus::Cancelled)).await.is_empty());
    // From a time on, and before another.
    let range = RunFilter { from: Some(at(20)), to: Some(at(40)), ..RunFilter::default() };
    assert_eq!(list(range.clone()).await, [running, failed.clone()]);
    assert_eq!(list(RunFilter { statuses: vec![RunStatus::Failed], ..range }).await, [failed]);
}

pub async fn states_of_runs_are_the_newest_from_a_time_on(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (owner, another) = (
        Owner::Workflow(org.add_workflow("a").await.id),
        Owner::Workflow(org.add_workflow("b").await.id),
    );
    let (succeeded, running, queued) =
        (org.start(&owner, 10).await, org.start(&owner, 20).await, org.accept(&owner, 30).await);
    org.accept(&another, 25).await;
    org.store.settle(settlement(&succeeded, 1, 50)).await.expect("settles");
    let states = async |id, from, limit| {
        org.store.run_states(id, owner.as_str(), at(from), limit).await.expect("reads")
    };
    let state = |id: &RunId, status, attempt, ms| RunState {
        id: id.clone(),
        status,
        attempt,
        created_at: at(ms),
    };
    let all = [
        state(&queued, RunStatus::Queued, 0, 30),
        state(&running, RunStatus::Running, 1, 20),
        state(&succeeded, RunStatus::Succeeded, 1, 10),
    ];
    assert_eq!(states(&org.id, 0, 10).await, all);
    assert_eq!(states(&org.id, 20, 10).await, all[..2]);
    assert_eq!(states(&org.id, 0, 1).await, all[..1]);
    assert!(states(&other.id, 0, 10).await.is_empty());
}

pub async fn runs_that_ended_are_read_for_statistics(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (owner, another) = (
        Owner::Workflow(org.add_workflow("a").await.id),
        Owner::Workflow(org.add_workflow("b").await.id),
    );
    let (first, second) = (org.start(&owner, 10).await, org.start(&another, 20).await);
    org.start(&owner, 30).await;
    org.accept(&owner, 40).await;
    for (id, ms) in [(&first, 60), (&second, 90)] {
        org.store.settle(settlement(id, 1, ms)).await.expect("settles");
    }
    let read = async |org_id, owner, from, to, max| {
        org.store
            .ended_runs(org_id, owner, RunKind::Live, (at(from), at(to)), max)
            .await
            .expect("reads")
    };
    let whole = read(&org.id, None, 0, 100, 10).await;
    assert_eq!(
        whole.runs.iter().map(|run| (run.accepted_at, run.status)).collect::<Vec<_>>(),
        [(at(20), RunStatus::Succeeded), (at(10), RunStatus::Succeeded)]
    );
    assert!(
        whole.runs.iter().all(|run| run.duration_ms.is_some_and(|ms| ms > 0))
            && whole.looked_at_from.is_none()
    );
    assert_eq!(read(&org.id, Some(owner.as_str()), 0, 100, 10).await.runs, whole.runs[1..]);
    assert_eq!(read(&org.id, None, 11, 20, 10).await.runs, []);
    // The newest are looked at, also where they are another owner's.
    let cut = read(&org.id, Some(owner.as_str()), 0, 100, 1).await;
    assert_eq!((cut.runs.len(), cut.looked_at_from), (0, Some(at(20))));
    assert!(read(&other.id, None, 0, 100, 10).await.runs.is_empty());
    let tests = org
        .store
        .ended_runs(&org.id, None, RunKind::Test, (at(0), at(100)), 10)
        .await
        .expect("reads");
    assert!(tests.runs.is_empty());
}

pub async fn logs_are_read_backwards_by_level_text_and_step(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    let run = org.start(&owner, 0).await;
    let lines = [
        ("one", LogLevel::Log, None),
        ("Two ORDERS", LogLevel::Warn, Some("s")),
        ("two", LogLevel::Error, Some("s")),
        ("two'%", LogLevel::Log, Some("t")),
    ];
    let logs = lines
        .map(|(text, level, step)| LogLine {
            at: at(1),
            level,
            text: text.into(),
            step: step.map(str::to_owned),
        })
        .to_vec();
    let log_owner = Some((org.id.clone(), owner.as_str().to_owned(), run.clone()));
    let effects = Effects { logs, log_owner, ..Effects::default() };
    org.store.settle(Settlement { effects, ..settlement(&run, 1, 5) }).await.expect("settles");
    let read = async |filter: LogFilter, limit| {
        org.store.owner_logs(&org.id, owner.as_str(), &filter, limit).await.expect("reads")
    };
    let texts = async |filter: LogFilter| {
        read(filter, 10).await.into_iter().map(|found| found.line.text).collect::<Vec<_>>()
    };
    let by = LogFilter::default;
    assert_eq!(
        texts(LogFilter { levels: vec![LogLevel::Warn, LogLevel::Error], ..by() }).await,
        ["Two ORDERS", "two"]
    );
    assert_eq!(
        texts(LogFilter { text: Some("TWO".into()), ..by() }).await,
        ["Two ORDERS", "two", "two'%"]
    );
    assert_eq!(texts(LogFilter { text: Some("'%".into()), ..by() }).await, ["two'%"]);
    assert_eq!(
        texts(LogFilter { step: Some("s".into()), text: Some("orders".into()), ..by() }).await,
        ["Two ORDERS"]
    );
    // All of one moment: a page goes on where the one before began.
    let (mut pages, mut before) = (Vec::new(), None);
    loop {
        let page = read(LogFilter { before, ..by() }, 3).await;
        let Some(first) = page.first() else { break };
        before = Some(first.place);
        pages.push(page.into_iter().map(|found| found.line.text).collect::<Vec<_>>());
    }
    assert_eq!(pages, [vec!["Two ORDERS", "two", "two'%"], vec!["one"]]);
}

pub async fn logs_come_in_order(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (owner, another) =
        (Owner::Source(org.add_source("a").await.id), Owner::Source(org.add_source("b").await.id));
    let first = settle_with_logs(&org, &owner, 0, &["a", "b", "c"]).await;
    let second = settle_with_logs(&org, &owner, 5, &["d", "e"]).await;
    settle_with_logs(&org, &another, 7, &["x"]).await;
    let lines = org.store.run_logs(&first).await.expect("reads");
    assert_eq!(lines, [log(0, "a"), log(0, "b"), log(0, "c")]);
    let lines_of = first.clone();
    let newest = org
        .store
        .owner_logs(&org.id, owner.as_str(), &LogFilter::default(), 3)
        .await
        .expect("reads");
    let newest: Vec<_> = newest.into_iter().map(|found| (found.run_id, found.line)).collect();
    assert_eq!(
        newest,
        [(first, log(0, "c")), (second.clone(), log(5, "d")), (second, log(5, "e"))]
    );
    assert!(
        org.store
            .owner_logs(&other.id, owner.as_str(), &LogFilter::default(), 3)
            .await
            .expect("reads")
            .is_empty()
    );
    assert!(org.store.run_logs(&org.run(&owner, 0).id).await.expect("reads").is_empty());
    // What is to be read is known before: the logs count with their run, which is its
    // organization's only.
    let bytes = async |org_id, id| org.store.run_bytes(org_id, id).await.expect("reads");
    let run = org.store.run(&org.id, &lines_of).await.expect("reads").expect("is there");
    let texts = run.event.len()
        + run.context.len()
        + run.result.map_or(0, |text| text.len())
        + run.error.map_or(0, |text| text.len());
    assert_eq!(bytes(&org.id, &lines_of).await, Some(texts as u64 + 3));
    assert_eq!(
        (bytes(&other.id, &lines_of).await, bytes(&org.id, &org.run(&owner, 0).id).await),
        (None, None)
    );
}

pub async fn pages_are_read_where_they_have_room(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    let text = "ü".repeat(50_000);
    let large = |n| Event { payload: format!("\"{text}\""), ..org.event(EMITTER, "", n, 0) };
    org.emit(vec![org.event(EMITTER, "", 1, 0), large(2), large(3)]).await;
    for n in 0..3 {
        let run = org.start(&owner, n).await;
        org.store
            .settle(Settlement { result: format!("\"{text}\""), ..settlement(&run, 1, n + 1) })
            .await
            .expect("settles");
    }
    let asked = Arc::new(AtomicU64::new(0));
    let with_room = |limit, room: u64| {
        let asked = asked.clone();
        let take = move |bytes| {
            asked.store(bytes, Ordering::Relaxed);
            bytes <= room
        };
        Page { room: Room::new(take), ..page(limit) }
    };
    let events = async |whole, page: Page| {
        org.store.list_events(&org.id, EMITTER, EventFilter::of(None), whole, &page).await
    };
    let runs =
        async |page: Page| org.store.list_runs(&org.id, &of_owner(&owner), true, &page).await;

    let whole = events(true, with_room(10, 250_000)).await.expect("lists");
    let bytes: usize = whole.items.iter().map(|e| e.payload_bytes + e.event.metadata.len()).sum();
    assert_eq!((whole.items.len(), asked.load(Ordering::Relaxed)), (3, bytes as u64));
    assert!(whole.items.iter().all(|e| e.payload_bytes == e.event.payload.len()));
    // Of a summary, as much is read as it shows.
    let summaries = events(false, with_room(10, 5_000)).await.expect("lists").items;
    assert_eq!(summaries[2], whole.items[2]);
    assert_eq!(summaries[0].payload_bytes, 100_002);
    assert!(
        whole.items[0].event.payload.starts_with(&summaries[0].event.payload),
        "{}",
        summaries[0].event.payload
    );
    assert!((PAYLOAD_PREVIEW_BYTES..5_000).contains(&summaries[0].event.payload.len()));
    // A page asks for itself, not for its list.
    assert_eq!(events(true, with_room(1, 150_000)).await.expect("lists").items.len(), 1);
    assert!(matches!(events(true, with_room(10, 150_000)).await, Err(StoreError::NoMemory)));
    assert_eq!(runs(with_room(3, 310_000)).await.expect("lists").items.len(), 3);
    assert!((300_000..310_000).contains(&asked.load(Ordering::Relaxed)));
    assert!(matches!(runs(with_room(3, 300_000)).await, Err(StoreError::NoMemory)));
    assert!(matches!(
        org.store.list_sources(&org.id, None, &with_room(1, 1)).await,
        Err(StoreError::NoMemory)
    ));
    assert_eq!(
        org.store
            .list_sources(&org.id, None, &with_room(1, 1 << 20))
            .await
            .expect("lists")
            .items
            .len(),
        1
    );
}

pub async fn events_are_the_newest_hundred_of_a_stream(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    assert_eq!(
        org.store
            .list_events(&org.id, EMITTER, EventFilter::of(None), true, &page(10))
            .await
            .expect("lists")
            .total_count,
        0
    );
    let mut events: Vec<Event> =
        (0..110).map(|n| org.event(EMITTER, if n % 2 == 0 { "" } else { "odd" }, n, 0)).collect();
    events.push(org.event(EMITTER, "$errors", 200, 0));
    events.push(org.event("dc_another", "", 201, 0));
    org.emit(events).await;
    let ids = |numbers: &[i64]| numbers.iter().map(|n| event_id(*n, 0)).collect::<Vec<_>>();
    assert_eq!(shown(&org, None, &page(3)).await, ids(&[109, 108, 107]));
    assert_eq!(shown(&org, Some("odd"), &page(3)).await, ids(&[109, 107, 105]));
    assert_eq!(shown(&org, Some(""), &page(2)).await, ids(&[108, 106]));
    assert_eq!(shown(&org, Some("$errors"), &page(3)).await, ids(&[200]));
    assert!(shown(&org, Some("none"), &page(3)).await.is_empty());
    let total = async |org_id, name| {
        org.store
            .list_events(org_id, EMITTER, EventFilter::of(name), true, &page(1))
            .await
            .expect("lists")
            .total_count
    };
    assert_eq!(total(&org.id, None).await, 100);
    assert_eq!(total(&org.id, Some("odd")).await, 55);
    assert_eq!(total(&other.id, None).await, 0);
    // Nothing is shown beyond the hundredth.
    assert_eq!(
        shown(&org, None, &Page { after: Some(event_id(11, 0).to_string()), ..page(100) }).await,
        ids(&[10])
    );
    assert!(
        shown(&org, None, &Page { after: Some(event_id(10, 0).to_string()), ..page(100) })
            .await
            .is_empty()
    );
}

pub async fn events_are_paged_by_their_ids(database: &dyn Database) {
    let org = Org::first(database).await;
    org.emit((0..6).map(|seq| org.event(EMITTER, "", 0, seq)).collect()).await;
    let ids = |numbers: &[i64]| numbers.iter().map(|n| event_id(0, *n)).collect::<Vec<_>>();
    let cursor = |n: i64| Some(event_id(0, n).to_string());
    assert_eq!(shown(&org, None, &Page { after: cursor(4), ..page(2) }).await, ids(&[3, 2]));
    assert_eq!(shown(&org, None, &Page { before: cursor(1), ..page(2) }).await, ids(&[3, 2]));
    assert_eq!(shown(&org, None, &Page { before: cursor(4), ..page(9) }).await, ids(&[5]));
    assert_eq!(
        shown(&org, None, &Page { after: cursor(5), before: cursor(1), ..page(2) }).await,
        ids(&[4, 3])
    );
    // A cursor need not be an event: what it names may be gone.
    assert_eq!(shown(&org, None, &Page { after: cursor(100), ..page(1) }).await, ids(&[5]));
    org.store
        .delete_events(&org.id, EMITTER, None, (Some(event_id(0, 3)), Some(event_id(0, 3))))
        .await
        .expect("deletes");
    assert_eq!(shown(&org, None, &Page { after: cursor(3), ..page(1) }).await, ids(&[2]));
    assert_eq!(shown(&org, None, &Page { before: cursor(3), ..page(1) }).await, ids(&[4]));
    for unknown in
        [Page { after: Some("x".into()), ..page(5) }, Page { before: Some("x".into()), ..page(5) }]
    {
        let listed =
            org.store.list_events(&org.id, EMITTER, EventFilter::of(None), true, &unknown).await;
        assert!(matches!(listed, Err(StoreError::UnknownCursor(_))));
    }
}

pub async fn events_after_one_resume_a_stream(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let events = vec![
        org.event(EMITTER, "", 0, 0),
        org.event(EMITTER, "x", 0, 1),
        org.event(EMITTER, "$errors", 1, 0),
        org.event(EMITTER, "", 2, 0),
    ];
    org.emit(events.clone()).await;
    let after = async |ms, seq, limit| {
        org.store.events_after(&org.id, EMITTER, event_id(ms, seq), limit).await.expect("reads")
    };
    assert_eq!(after(-1, 0, 10).await, events);
    assert_eq!(after(0, 0, 2).await, events[1..3]);
    assert_eq!(after(1, 5, 10).await, events[3..]);
    assert!(after(2, 0, 10).await.is_empty());
    assert!(
        org.store
            .events_after(&other.id, EMITTER, event_id(-1, 0), 10)
            .await
            .expect("reads")
            .is_empty()
    );
}

pub async fn events_are_deleted_in_an_inclusive_range(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let names = ["", "x", "", "x", "$errors", ""];
    org.emit(names.iter().zip(0..).map(|(name, seq)| org.event(EMITTER, name, 0, seq)).collect())
        .await;
    org.emit(vec![org.event("dc_another", "", 0, 0)]).await;
    let delete = async |org_id, name, start: Option<i64>, end: Option<i64>| {
        let range = (start.map(|n| event_id(0, n)), end.map(|n| event_id(0, n)));
        org.store.delete_events(org_id, EMITTER, name, range).await.expect("deletes")
    };
    assert_eq!(delete(&other.id, None, None, None).await, 0);
    assert_eq!(delete(&org.id, Some("x"), None, Some(2)).await, 1);
    assert_eq!(delete(&org.id, None, Some(2), Some(3)).await, 2);
    assert_eq!(delete(&org.id, None, Some(6), None).await, 0);
    let left = org.events(EMITTER).await.into_iter().map(|event| event.id.seq).collect::<Vec<_>>();
    assert_eq!(left, [0, 4, 5]);
    assert_eq!(delete(&org.id, None, None, None).await, 3);
    assert_eq!(org.events("dc_another").await.len(), 1);
}

pub async fn pruning_removes_what_is_old_and_settled(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    let (old, young) = (
        settle_with_logs(&org, &owner, 0, &["old"]).await,
        settle_with_logs(&org, &owner, 100, &["young"]).await,
    );
    let (running, queued) = (org.start(&owner, 0).await, org.accept(&owner, 0).await);
    org.emit(vec![org.event(EMITTER, "", 99, 5), org.event(EMITTER, "", 100, 0)]).await;
    assert_eq!(org.prune(at(0), 100).await, 0);
    assert_eq!(org.prune(at(100), 100).await, 2);
    assert!(org.store.run(&org.id, &old).await.expect("reads").is_none());
    assert!(org.store.run_logs(&old).await.expect("reads").is_empty());
    assert_eq!(org.store.run_logs(&young).await.expect("reads").len(), 1);
    assert_eq!(
        org.events(EMITTER).await.into_iter().map(|event| event.id).collect::<Vec<_>>(),
        [event_id(100, 0)]
    );
    // What is not settled is kept, however old.
    for (run, status) in [
        (&young, RunStatus::Succeeded),
        (&running, RunStatus::Running),
        (&queued, RunStatus::Queued),
    ] {
        assert_eq!(org.stored(run).await.status, status);
    }
    assert_eq!(org.claim(NODE, LEASE_MS + 1, 10).await.len(), 2);
}

pub async fn pruning_goes_in_steps(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    for ms in 0..5 {
        settle_with_logs(&org, &owner, ms, &["line"]).await;
    }
    org.emit((0..3).map(|seq| org.event(EMITTER, "", 0, seq)).collect()).await;
    let mut steps = Vec::new();
    for _ in 0..4 {
        steps.push(org.prune(at(100), 2).await);
    }
    assert_eq!(steps, [4, 3, 1, 0]);
    assert!(
        org.store
            .owner_logs(&org.id, owner.as_str(), &LogFilter::default(), 10)
            .await
            .expect("reads")
            .is_empty()
    );
}

pub async fn a_deferred_event_waits_until_it_is_due_and_is_delivered_once(database: &dyn Database) {
    let org = Org::first(database).await;
    // What an author says of an event may hold U+0000, which Postgres reads out of no JSON, and a
    // text that looks like one.
    let metadata = |due: i64| {
        format!(
            r#"{{"summary":"\u0000","id":"\\u0000","delivery_ts":{},"channel":""}}"#,
            at(due).ms()
        )
    };
    let waits =
        |ms: i64, due: i64| Event { metadata: metadata(due), ..org.event(EMITTER, "$in", ms, 0) };
    assert_eq!(org.store.next_deferred_at().await.expect("reads"), None);
    org.emit(vec![
        waits(1, 500),
        waits(2, 300),
        org.event(EMITTER, "", 3, 0),
        org.event(EMITTER, "$in", 4, 0),
    ])
    .await;
    // One that says no time is never due, but is there.
    assert_eq!(org.store.next_deferred_at().await.expect("reads"), Some(at(300)));
    assert_eq!(shown(&org, Some("$in"), &page(10)).await.len(), 3);
    assert_eq!(shown(&org, None, &page(10)).await, [event_id(3, 0)]);
    let due = async |ms: i64, limit: u32| {
        org.store
            .due_deferred(at(ms), limit)
            .await
            .expect("reads")
            .into_iter()
            .map(|e| e.id)
            .collect::<Vec<_>>()
    };
    assert_eq!((due(299, 10).await, due(300, 10).await), (vec![], vec![event_id(2, 0)]));
    assert_eq!(
        (due(500, 1).await, due(500, 10).await),
        (vec![event_id(2, 0)], vec![event_id(2, 0), event_id(1, 0)])
    );
    // Delivered once, and nothing more is written by who comes second.
    let deliver = |seq: i64| Effects {
        deferred: Some((EMITTER.into(), event_id(2, 0))),
        events: vec![org.event(EMITTER, "", 300, seq)],
        ..Effects::default()
    };
    org.store.settle_effects(deliver(0)).await.expect("settles");
    assert!(matches!(org.store.settle_effects(deliver(1)).await, Err(StoreError::StateChanged)));
    assert_eq!(shown(&org, None, &page(10)).await, [event_id(300, 0), event_id(3, 0)]);
    assert_eq!(due(500, 10).await, [event_id(1, 0)]);
    // What waits is not old, and is not meant by a removal that does not name it.
    org.prune(at(10_000), 100).await;
    org.store.delete_events(&org.id, EMITTER, None, (None, None)).await.expect("removes");
    assert_eq!(shown(&org, Some("$in"), &page(10)).await, [event_id(4, 0), event_id(1, 0)]);
    assert_eq!(
        org.store
            .delete_events(&org.id, EMITTER, Some("$in"), (None, Some(event_id(1, 0))))
            .await
            .expect("removes"),
        1
    );
    assert_eq!(org.store.next_deferred_at().await.expect("reads"), None);
}
