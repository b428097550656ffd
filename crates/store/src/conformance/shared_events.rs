//! Large events that several runs have.

use std::sync::Arc;

use millrace_model::ids::RunId;
use millrace_model::run::{NewRun, RunStatus};
use millrace_model::source::Owner;
use tokio::sync::mpsc;

use super::Database;
use super::sample::{NODE, Org, page, settlement};
use crate::{Effects, ExportFilter, Exported, RunFilter, SHARED_EVENT_BYTES_MIN, Settlement};

/// Two listeners' runs of one large event, one run of another large event, and one of a small one.
async fn passed_on(org: &Org) -> (Arc<str>, Vec<NewRun>) {
    let source = Owner::Source(org.add_source("a").await.id);
    let event: Arc<str> = format!("\"both{}\"", "e".repeat(SHARED_EVENT_BYTES_MIN)).into();
    let other: Arc<str> = format!("\"one{}\"", "o".repeat(SHARED_EVENT_BYTES_MIN)).into();
    let mut runs = Vec::new();
    for (slug, event) in [("b", &event), ("c", &event), ("d", &other), ("e", &"{}".into())] {
        let listener = Owner::Workflow(org.add_workflow(slug).await.id);
        runs.push(NewRun { event: event.clone(), ..org.run(&listener, 2) });
    }
    let emitting = org.start(&source, 0).await;
    let effects = Effects { runs: runs.clone(), ..Effects::default() };
    let settled = Settlement { effects, ..settlement(&emitting, 1, 1) };
    org.store.settle(settled).await.expect("settles");
    (event, runs)
}

/// Each run's id and event.
fn of(runs: &[NewRun]) -> Vec<(RunId, String)> {
    let mut all: Vec<_> = runs.iter().map(|r| (r.id.clone(), r.event.to_string())).collect();
    all.sort();
    all
}

fn sorted(mut all: Vec<(RunId, String)>) -> Vec<(RunId, String)> {
    all.sort();
    all
}

pub async fn a_large_event_of_several_runs_is_read_whole_with_each(database: &dyn Database) {
    let org = Org::first(database).await;
    let (event, runs) = passed_on(&org).await;
    let claimed = org.claim(NODE, 10, 10).await;
    let claimed = claimed.into_iter().map(|r| (r.id, r.event.to_string())).collect();
    assert_eq!(sorted(claimed), of(&runs));
    for run in &runs {
        assert_eq!(*org.stored(&run.id).await.event, *run.event);
        let bytes = org.store.run_bytes(&org.id, &run.id).await.expect("reads").expect("is there");
        assert!(bytes >= run.event.len() as u64, "{bytes}");
        let filter = RunFilter { owner: Some(run.owner.as_str().into()), ..RunFilter::default() };
        for (whole, shown) in [(true, &*run.event), (false, "")] {
            let listed = org.store.list_runs(&org.id, &filter, whole, &page(10)).await;
            let items = listed.expect("lists").items;
            assert_eq!(items.iter().map(|listed| &*listed.run.event).collect::<Vec<_>>(), [shown]);
        }
    }
    let (out, mut taken) = mpsc::channel(100);
    org.store.export(&org.id, ExportFilter::default(), out).await.expect("exports");
    let mut exported = Vec::new();
    while let Some(piece) = taken.recv().await {
        if let Exported::Run(run) = piece
            && *run.event == *event
        {
            exported.push(run.id);
        }
    }
    let mut having = [runs[0].id.clone(), runs[1].id.clone()];
    exported.sort();
    having.sort();
    assert_eq!(exported, having);
}

pub async fn a_run_that_keeps_nothing_leaves_a_shared_event_to_the_others(database: &dyn Database) {
    let org = Org::first(database).await;
    let (event, runs) = passed_on(&org).await;
    org.claim(NODE, 10, 10).await;
    let forgotten = Settlement { forget: Some("{}".into()), ..settlement(&runs[0].id, 1, 20) };
    org.store.settle(forgotten).await.expect("settles");
    let first = org.stored(&runs[0].id).await;
    assert_eq!((first.status, &*first.event), (RunStatus::Succeeded, "{}"));
    assert_eq!(*org.stored(&runs[1].id).await.event, *event);
}
