//! History as it is at one moment.

use millrace_model::source::Owner;
use tokio::sync::mpsc;

use super::Database;
use super::sample::{Org, at, log, settlement};
use crate::{Effects, ExportFilter, Exported, Settlement};

async fn settled(org: &Org, owner: &Owner, ms: i64) {
    let id = org.start(owner, ms).await;
    let logs = vec![log(ms, &format!("line of {ms}"))];
    let events = vec![org.event(owner.as_str(), "", ms, 0)];
    let effects = Effects {
        events,
        logs,
        log_owner: Some((org.id.clone(), owner.as_str().to_owned(), id.clone())),
        ..Effects::default()
    };
    org.store.settle(Settlement { effects, ..settlement(&id, 1, ms + 1) }).await.expect("settles");
}

/// What a piece is, and of when.
fn shown(piece: Exported) -> (&'static str, i64, String) {
    let since = |time: millrace_model::Timestamp| time.ms() - at(0).ms();
    match piece {
        Exported::Run(run) => ("run", since(run.created_at), run.owner.as_str().to_owned()),
        Exported::Log { owner, line, .. } => ("log", since(line.at), owner),
        Exported::Event(event) => ("event", event.id.ms - at(0).ms(), event.emitter_id),
    }
}

async fn exported(org: &Org, filter: ExportFilter) -> Vec<(&'static str, i64, String)> {
    let (out, mut taken) = mpsc::channel(2);
    let mut pieces = Vec::new();
    let (done, ()) = tokio::join!(org.store.export(&org.id, filter, out), async {
        while let Some(piece) = taken.recv().await {
            pieces.push(shown(piece));
        }
    });
    done.expect("exports");
    pieces
}

pub async fn history_is_handed_over_owner_by_owner(database: &dyn Database) {
    let org = Org::first(database).await;
    let (a, b) = (
        Owner::Source(org.add_source("a").await.id),
        Owner::Workflow(org.add_workflow("b").await.id),
    );
    for ms in 0..3 {
        settled(&org, &b, ms).await;
        settled(&org, &a, ms).await;
    }
    let kinds = ["run", "log", "event"];
    let expected: Vec<_> = [&a, &b]
        .into_iter()
        .flat_map(|o| {
            kinds
                .into_iter()
                .flat_map(move |kind| (0..3).map(move |ms| (kind, ms, o.as_str().to_owned())))
        })
        .collect();
    assert_eq!(exported(&org, ExportFilter::default()).await, expected);
}

pub async fn an_export_is_of_its_organization_owner_and_time(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (a, b) =
        (Owner::Source(org.add_source("a").await.id), Owner::Source(org.add_source("b").await.id));
    for ms in 0..4 {
        settled(&org, &a, ms).await;
        settled(&org, &b, ms).await;
    }
    let filter =
        ExportFilter { owner: Some(a.as_str().to_owned()), from: Some(at(1)), to: Some(at(3)) };
    let found = exported(&org, filter.clone()).await;
    assert_eq!(
        found.iter().map(|(kind, ms, _)| (*kind, *ms)).collect::<Vec<_>>(),
        [("run", 1), ("run", 2), ("log", 1), ("log", 2), ("event", 1), ("event", 2)]
    );
    assert!(found.iter().all(|(_, _, owner)| owner == a.as_str()));
    assert!(exported(&other, filter).await.is_empty());
    assert!(exported(&other, ExportFilter::default()).await.is_empty());
}

pub async fn an_export_is_of_one_moment(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    for ms in 0..200 {
        settled(&org, &owner, ms).await;
    }
    let (out, mut taken) = mpsc::channel(1);
    let (done, count) =
        tokio::join!(org.store.export(&org.id, ExportFilter::default(), out), async {
            let mut count = usize::from(taken.recv().await.is_some());
            // What comes now came too late, and what goes now was there.
            settled(&org, &owner, 1000).await;
            org.prune(at(500), 1000).await;
            while taken.recv().await.is_some() {
                count += 1;
            }
            count
        });
    done.expect("exports");
    assert_eq!(count, 600);
    assert_eq!(exported(&org, ExportFilter::default()).await.len(), 3);
}

pub async fn an_export_that_nobody_takes_ends(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    for ms in 0..5 {
        settled(&org, &owner, ms).await;
    }
    let (out, mut taken) = mpsc::channel(1);
    let (done, ()) = tokio::join!(org.store.export(&org.id, ExportFilter::default(), out), async {
        taken.recv().await.expect("a piece");
        drop(taken);
    });
    done.expect("ends");
}
