//! Settling: everything a run leaves, once, or nothing.

use millrace_model::event::EventFilter;
use millrace_model::ids::{RunId, SourceId};
use millrace_model::run::{LogFilter, NewRun, Run, RunStatus, Start};
use millrace_model::source::Owner;
use millrace_model::webhook::WebhookDelivery;
use tokio::task::JoinSet;

use super::Database;
use super::sample::{NODE, Org, at, log, page, settlement};
use crate::{Effects, Settlement, SourceChange, SourceState, StoreError, Unstored};

/// A source with a run under way.
async fn under_way(database: &dyn Database) -> (Org, SourceId, RunId) {
    let org = Org::first(database).await;
    let source = org.add_source("a").await.id;
    let run = org.start(&Owner::Source(source.clone()), 0).await;
    (org, source, run)
}

/// Something of everything, decided on a state's version.
fn everything(org: &Org, source: &SourceId, run: &RunId, version: i64) -> Effects {
    let id = source.as_str();
    Effects {
        deduped: 0,
        passed_on_bytes: 0,
        events: vec![
            org.event(id, "", 1, 0),
            org.event(id, "named", 1, 1),
            org.event(id, "$errors", 1, 2),
        ],
        source: Some(SourceChange {
            source_id: source.clone(),
            dedupe: Some((version, "[1]".into())),
            db: vec![("k".into(), Some("1".into()))],
        }),
        runs: vec![
            org.run(&Owner::Source(source.clone()), 2),
            org.run(&Owner::Source(source.clone()), 3),
        ],
        logs: vec![log(1, "one"), log(1, "two")],
        log_owner: Some((org.id.clone(), id.to_owned(), run.clone())),
        webhook_deliveries: vec![org.webhook_delivery("wh_a", 1, 1)],
        notice: Some(org.notice(id, "TypeError", 1)),
        deliveries: Vec::new(),
        deferred: None,
    }
}

fn failed(run: &RunId, attempt: i64, effects: Effects) -> Settlement {
    let error = Some(r#"{"code":"TypeError"}"#.into());
    Settlement { status: RunStatus::Failed, error, effects, ..settlement(run, attempt, 9) }
}

/// That nothing of [`everything`] is there, and the run still goes on.
async fn nothing_left(org: &Org, source: &SourceId, run: &RunId, state: &SourceState) {
    assert_eq!(org.stored(run).await.status, RunStatus::Running);
    assert!(org.events(source.as_str()).await.is_empty());
    assert_eq!(org.store.unfinished_runs().await.expect("counts"), 1);
    assert_eq!(&org.store.source_state(source).await.expect("reads"), state);
    assert!(org.store.source_db(source).await.expect("reads").is_empty());
    assert!(org.store.run_logs(run).await.expect("reads").is_empty());
    assert!(webhook_deliveries(org).await.is_empty());
    assert!(org.mails().await.is_empty());
}

async fn webhook_deliveries(org: &Org) -> Vec<WebhookDelivery> {
    org.store.list_webhook_deliveries(&org.id, "wh_a", None, &page(10)).await.expect("lists").items
}

pub async fn a_run_leaves_everything_at_once(database: &dyn Database) {
    let (org, source, run) = under_way(database).await;
    let effects = everything(&org, &source, &run, 0);
    org.store.settle(failed(&run, 1, effects.clone())).await.expect("settles");
    let settled = org.stored(&run).await;
    assert_eq!(
        (settled.status, settled.attempt, settled.finished_at),
        (RunStatus::Failed, 1, Some(at(9)))
    );
    assert_eq!(
        (settled.result.as_deref(), settled.error.as_deref()),
        (Some(r#"{"steps":[],"duration_ms":1}"#), Some(r#"{"code":"TypeError"}"#))
    );
    assert_eq!(org.events(source.as_str()).await, effects.events);
    assert_eq!(
        org.store.source_state(&source).await.expect("reads"),
        SourceState { version: 1, dedupe: "[1]".into() }
    );
    assert_eq!(
        org.store.source_db(&source).await.expect("reads"),
        [("k".to_owned(), "1".to_owned())]
    );
    assert_eq!(org.store.run_logs(&run).await.expect("reads"), effects.logs);
    assert_eq!(webhook_deliveries(&org).await, effects.webhook_deliveries);
    assert_eq!(org.mails().await, effects.notice.map(|n| n.mails(0)).unwrap_or_default());
    let listeners = org.claim(NODE, 10, 10).await;
    assert_eq!(
        listeners.iter().map(|r| &r.id).collect::<Vec<_>>(),
        effects.runs.iter().map(|r| &r.id).collect::<Vec<_>>()
    );
}

pub async fn a_fenced_settlement_leaves_nothing(database: &dyn Database) {
    let (org, source, run) = under_way(database).await;
    for attempt in [0, 2] {
        let settled =
            org.store.settle(failed(&run, attempt, everything(&org, &source, &run, 0))).await;
        assert!(matches!(settled, Err(StoreError::Fenced)), "{settled:?}");
        nothing_left(&org, &source, &run, &SourceState::default()).await;
    }
    let unknown = org.run(&Owner::Source(source.clone()), 0).id;
    let settled = org.store.settle(failed(&unknown, 1, everything(&org, &source, &run, 0))).await;
    assert!(matches!(settled, Err(StoreError::Fenced)), "{settled:?}");
    nothing_left(&org, &source, &run, &SourceState::default()).await;
}

pub async fn a_run_settles_once(database: &dyn Database) {
    let (org, source, run) = under_way(database).await;
    org.store.settle(settlement(&run, 1, 5)).await.expect("settles");
    let again = org.store.settle(failed(&run, 1, everything(&org, &source, &run, 0))).await;
    assert!(matches!(again, Err(StoreError::Fenced)), "{again:?}");
    let again = org.store.settle(settlement(&run, 1, 6)).await;
    assert!(matches!(again, Err(StoreError::Fenced)), "{again:?}");
    assert_eq!(
        (org.stored(&run).await.finished_at, org.events(source.as_str()).await.len()),
        (Some(at(5)), 0)
    );
    // One that waits in the queue is nobody's to settle.
    let queued = org.accept(&Owner::Source(source), 6).await;
    assert!(matches!(org.store.settle(settlement(&queued, 0, 7)).await, Err(StoreError::Fenced)));
}

pub async fn a_run_that_was_not_stored_is_stored_as_it_ended(database: &dyn Database) {
    let (org, source, _) = under_way(database).await;
    for forget in [None, Some(r#"{"$kept":false}"#.to_owned())] {
        let accepted = || NewRun {
            start: Start::Claimed { lease_until: at(60) },
            ..org.run(&Owner::Source(source.clone()), 2)
        };
        let end = |run: &RunId| Settlement {
            forget: forget.clone(),
            group: Some(super::errors::group(&org, source.as_str(), "a", "TypeError", run, 9)),
            ..failed(run, 1, Effects::default())
        };
        let (first, run) = (accepted(), accepted());
        org.store.accept(first.clone(), NODE).await.expect("accepted");
        org.store.settle(end(&first.id)).await.expect("settles");
        let unstored = Some(Box::new(Unstored { run: run.clone(), node: NODE.into() }));
        let with_its_end = Settlement { unstored, ..end(&run.id) };
        org.store.settle(with_its_end.clone()).await.expect("settles");
        let expected = Run { id: run.id.clone(), ..org.stored(&first.id).await };
        let expected = format!("{expected:?}");
        assert_eq!(format!("{:?}", org.stored(&run.id).await), expected);
        // It is there once.
        assert!(org.store.settle(with_its_end).await.is_err());
        assert!(matches!(org.store.settle(end(&run.id)).await, Err(StoreError::Fenced)));
        assert_eq!(format!("{:?}", org.stored(&run.id).await), expected);
    }
}

/// An engine writes ends that come at once together: one that cannot be stored is in nobody's way.
pub async fn of_many_ends_at_once_each_has_its_own_result(database: &dyn Database) {
    let (org, source, _) = under_way(database).await;
    let known = org.run(&Owner::Source(source.clone()), 1);
    org.store.accept(known.clone(), NODE).await.expect("accepted");
    let mut settling = JoinSet::new();
    for n in 0..150 {
        let mut run = NewRun {
            start: Start::Claimed { lease_until: at(60) },
            ..org.run(&Owner::Source(source.clone()), 1)
        };
        if n % 50 == 7 {
            run.id = known.id.clone();
        }
        let store = org.store.clone();
        settling.spawn(async move {
            let unstored = Some(Box::new(Unstored { run: run.clone(), node: NODE.into() }));
            (
                run.id.clone(),
                store.settle(Settlement { unstored, ..settlement(&run.id, 1, 9) }).await,
            )
        });
    }
    for (id, settled) in settling.join_all().await {
        assert_eq!(settled.is_err(), id == known.id, "{settled:?}");
        let status = org.stored(&id).await.status;
        assert_eq!(status == RunStatus::Succeeded, id != known.id, "{status:?}");
    }
}

pub async fn settlements_at_once_settle_once(database: &dyn Database) {
    let (org, source, run) = under_way(database).await;
    let settle = |seq: i64| {
        let effects =
            Effects { events: vec![org.event(source.as_str(), "", 1, seq)], ..Effects::default() };
        org.store.settle(failed(&run, 1, effects))
    };
    let (a, b, c) = tokio::join!(settle(1), settle(2), settle(3));
    let settled = [&a, &b, &c].into_iter().filter(|settled| settled.is_ok()).count();
    assert_eq!((settled, org.events(source.as_str()).await.len()), (1, 1));
    assert!(
        [a, b, c]
            .into_iter()
            .filter_map(Result::err)
            .all(|error| matches!(error, StoreError::Fenced))
    );
}

pub async fn a_state_that_moved_on_leaves_nothing(database: &dyn Database) {
    let (org, source, run) = under_way(database).await;
    // Decided on a version that never was.
    let settled = org.store.settle(failed(&run, 1, everything(&org, &source, &run, 1))).await;
    assert!(matches!(settled, Err(StoreError::StateChanged)), "{settled:?}");
    nothing_left(&org, &source, &run, &SourceState::default()).await;
    let moved =
        SourceChange { source_id: source.clone(), dedupe: Some((0, "[0]".into())), db: Vec::new() };
    org.store
        .settle_effects(Effects { source: Some(moved), ..Effects::default() })
        .await
        .expect("settles");
    // Decided on the version before.
    let settled = org.store.settle(failed(&run, 1, everything(&org, &source, &run, 0))).await;
    assert!(matches!(settled, Err(StoreError::StateChanged)), "{settled:?}");
    nothing_left(&org, &source, &run, &SourceState { version: 1, dedupe: "[0]".into() }).await;
    // Read again and decided anew.
    org.store.settle(failed(&run, 1, everything(&org, &source, &run, 1))).await.expect("settles");
    assert_eq!(
        org.store.source_state(&source).await.expect("reads"),
        SourceState { version: 2, dedupe: "[1]".into() }
    );
}

pub async fn a_clash_leaves_nothing(database: &dyn Database) {
    let (org, source, run) = under_way(database).await;
    let effects = everything(&org, &source, &run, 0);
    // Twice the same id in one settlement, of an event and of a run.
    let mut events = effects.clone();
    events.events.push(effects.events[0].clone());
    let mut runs = effects.clone();
    runs.runs.push(effects.runs[0].clone());
    for clash in [events, runs] {
        let settled = org.store.settle(failed(&run, 1, clash)).await;
        assert!(matches!(settled, Err(StoreError::Taken("id"))), "{settled:?}");
        nothing_left(&org, &source, &run, &SourceState::default()).await;
    }
    org.store.settle(failed(&run, 1, effects)).await.expect("settles");
}

pub async fn hooks_leave_effects_without_a_run(database: &dyn Database) {
    let org = Org::first(database).await;
    let source = org.add_source("a").await.id;
    let hook = org.run(&Owner::Source(source.clone()), 0).id;
    let effects = everything(&org, &source, &hook, 0);
    org.store.settle_effects(effects.clone()).await.expect("settles");
    assert_eq!(org.events(source.as_str()).await, effects.events);
    assert_eq!(org.store.source_state(&source).await.expect("reads").version, 1);
    let logs = org
        .store
        .owner_logs(&org.id, source.as_str(), &LogFilter::default(), 10)
        .await
        .expect("reads");
    let logs: Vec<_> = logs.into_iter().map(|found| (found.run_id, found.line)).collect();
    assert_eq!(logs, effects.logs.into_iter().map(|line| (hook.clone(), line)).collect::<Vec<_>>());
    assert_eq!(
        (org.store.unfinished_runs().await.expect("counts"), org.mails().await.len()),
        (2, 1)
    );
    assert!(org.store.run(&org.id, &hook).await.expect("reads").is_none());
    org.store.settle_effects(Effects::default()).await.expect("nothing is something too");
}

pub async fn effects_on_a_state_that_moved_on_leave_nothing(database: &dyn Database) {
    let (org, source, run) = under_way(database).await;
    let settled = org.store.settle_effects(everything(&org, &source, &run, 3)).await;
    assert!(matches!(settled, Err(StoreError::StateChanged)), "{settled:?}");
    nothing_left(&org, &source, &run, &SourceState::default()).await;
}

pub async fn a_run_that_outlives_its_source_leaves_no_state(database: &dyn Database) {
    let (org, source, run) = under_way(database).await;
    let another = org.start(&Owner::Source(source.clone()), 1).await;
    let moved =
        SourceChange { source_id: source.clone(), dedupe: Some((0, "[0]".into())), db: Vec::new() };
    org.store
        .settle_effects(Effects { source: Some(moved), ..Effects::default() })
        .await
        .expect("settles");
    org.store.delete_source(&org.id, &source).await.expect("deletes");
    // One decided on what was there before the end, the other after it.
    let (mut before, mut after) =
        (everything(&org, &source, &run, 1), everything(&org, &source, &another, 0));
    after.events.clear();
    (before.notice, after.notice) = (None, None);
    for (run, effects) in [(&run, before), (&another, after)] {
        org.store.settle(failed(run, 1, effects)).await.expect("settles");
        assert_eq!(org.store.source_state(&source).await.expect("reads"), SourceState::default());
        assert!(org.store.source_db(&source).await.expect("reads").is_empty());
        // Its history is kept.
        assert_eq!(org.stored(run).await.status, RunStatus::Failed);
        assert_eq!(org.store.run_logs(run).await.expect("reads").len(), 2);
    }
    assert_eq!(org.events(source.as_str()).await.len(), 3);
}

pub async fn texts_of_any_characters_are_kept(database: &dyn Database) {
    let (org, source, run) = under_way(database).await;
    let text = "a \u{7}\u{1F600}\r\n\t\u{FFFE} z".repeat(1000);
    let mut effects = everything(&org, &source, &run, 0);
    effects.logs = vec![log(1, &text), log(1, ""), log(1, "cut \u{0} here")];
    // JSON of the author's own, which nobody but the author reads: not to be written anew.
    effects.events[0].payload = r#"{"z":1, "a":"\u0000","a":1e400}"#.into();
    effects.events[1].name = format!("{}ü", "long".repeat(1000));
    let (events, class) = (effects.events.clone(), "Long".repeat(1000));
    effects.notice = Some(org.notice(source.as_str(), &class, 1));
    org.store.settle(failed(&run, 1, effects)).await.expect("settles");
    let logs = org.store.run_logs(&run).await.expect("reads");
    assert_eq!(
        logs.iter().map(|line| line.text.as_str()).take(2).collect::<Vec<_>>(),
        [text.as_str(), ""]
    );
    // U+0000 itself need not be kept.
    assert!(
        logs[2].text.starts_with("cut ") && logs[2].text.ends_with(" here"),
        "{:?}",
        logs[2].text
    );
    assert_eq!(org.events(source.as_str()).await, events);
    let stream = org
        .store
        .list_events(
            &org.id,
            source.as_str(),
            EventFilter::of(Some(&events[1].name)),
            true,
            &super::sample::page(10),
        )
        .await
        .expect("lists");
    assert_eq!(stream.items.iter().map(|listed| &listed.event).collect::<Vec<_>>(), [&events[1]]);
    assert!(!org.notify(source.as_str(), &class, 2).await);
}
