//! Tests of SQLite alone.

use std::sync::Arc;

use millrace_model::clock::Timestamp;
use millrace_model::ids::{IdSource, OrgId, RunId, WorkflowId};
use millrace_model::page::Page;
use millrace_model::run::{NewRun, RunKind, Start};
use millrace_model::source::Owner;
use millrace_store::conformance::{Database as _, settlement};
use millrace_store::{
    Claim, Effects, ExportFilter, Pruning, RunFilter, Runs as _, SHARED_EVENT_BYTES_MIN,
    Settlement, Store, StoreError,
};
use millrace_store_sqlite::{SqliteOptions, SqliteStore};
use rusqlite::Connection;
use tokio::task::JoinSet;

use crate::{Folder, refusal};

const NOW: Timestamp = Timestamp(1_767_225_600_000);

pub fn run(ids: &IdSource, org: &OrgId) -> NewRun {
    NewRun {
        id: RunId::at(ids, NOW),
        org_id: org.clone(),
        owner: Owner::Workflow(WorkflowId::generate(ids)),
        deployment_id: None,
        kind: RunKind::Live,
        trigger_id: String::new(),
        event: "{}".into(),
        context: "{}".into(),
        created_at: NOW,
        start: Start::Queued,
        result: None,
        replays: None,
    }
}

#[tokio::test]
async fn one_server_only() {
    assert!(Folder::new().open().await.single_node());
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_refused_and_stays_as_it_is() {
    let folder = Folder::new();
    folder.open().await.close().await;
    let file = Connection::open(folder.options().path).expect("opens");
    let known: i64 = file.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("reads");
    file.execute_batch("PRAGMA user_version = 999").expect("writes");
    let refused = refusal(&folder.options());
    assert!(
        matches!(refused, Some(StoreError::NewerSchema { found: 999, known: k }) if k == known),
        "{refused:?}"
    );
    assert_eq!(
        file.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).expect("reads"),
        999
    );
    file.execute_batch(&format!("PRAGMA user_version = {known}")).expect("writes");
    folder.open().await.ping().await.expect("answers");
}

/// On the way to a row, each row that a table in the order of its key passes is read to its end:
/// one of megabytes would cost its neighbours as much.
#[tokio::test]
async fn tables_in_the_order_of_their_key_have_small_rows_only() {
    let folder = Folder::new();
    folder.open().await.close().await;
    let file = Connection::open(folder.options().path).expect("opens");
    let mut tables = file.prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND wr ORDER BY name").expect("reads");
    let names: Vec<String> =
        tables.query_map([], |row| row.get(0)).and_then(Iterator::collect).expect("names");
    assert_eq!(
        names,
        [
            "app_hooks",
            "error_groups",
            "error_notices",
            "oauth_tokens",
            "replayed_runs",
            "retentions",
            "run_limits"
        ]
    );
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let folder = Folder::new();
    std::fs::write(
        folder.options().path,
        "not a database, but longer than the header of one is, so that it is looked at",
    )
    .expect("writes");
    assert!(matches!(refusal(&folder.options()), Some(StoreError::Damaged { .. })));
    assert!(matches!(
        refusal(&SqliteOptions::at(folder.options().path.join("no/folder"))),
        Some(StoreError::Database(_))
    ));
}

#[tokio::test]
async fn what_was_acknowledged_outlives_a_server_that_never_closed() {
    let folder = Folder::new();
    let (ids, store) = (IdSource::default(), folder.open().await);
    let org = OrgId::generate(&ids);
    let accepted = run(&ids, &org);
    store.accept(accepted.clone(), "node").await.expect("accepted");
    // As after a kill: another process reads the files as they are, while the first holds them open
    // still.
    let again = folder.open().await;
    assert!(again.run(&org, &accepted.id).await.expect("reads").is_some());
    drop(store);
}

#[tokio::test]
async fn acceptances_at_once_are_committed_in_groups() {
    let folder = Folder::new();
    let (ids, org) = (Arc::new(IdSource::default()), OrgId::generate(&IdSource::default()));
    let store: Arc<dyn Store> = folder.open().await;
    // While another holds the file, whatever is accepted waits in the queue.
    let holder = Connection::open(folder.options().path).expect("opens");
    holder.execute_batch("BEGIN IMMEDIATE").expect("locks");
    let twice = run(&ids, &org);
    let mut acceptances = JoinSet::new();
    for n in 0..1000 {
        // One of them is refused; those that are committed with it are not.
        let (store, new) = (store.clone(), if n < 2 { twice.clone() } else { run(&ids, &org) });
        acceptances.spawn(async move { store.accept(new, "node").await });
    }
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    holder.execute_batch("COMMIT").expect("lets go");
    let answers = acceptances.join_all().await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 999);
    assert!(
        answers
            .into_iter()
            .filter_map(Result::err)
            .all(|error| matches!(error, StoreError::Taken("id")))
    );
    assert_eq!(store.unfinished_runs().await.expect("counts"), 999);
    // A commit writes a frame of each page it changed: one by one, these would have written more
    // frames than acceptances.
    let wal =
        std::fs::metadata(folder.options().path.with_extension("db-wal")).expect("a log").len();
    assert!(wal / 4096 < 999, "{wal} bytes");
}

#[tokio::test]
async fn an_export_names_the_row_that_cannot_be_read() {
    let folder = Folder::new();
    let (ids, store) = (IdSource::default(), folder.open().await);
    let org = OrgId::generate(&ids);
    let accepted = run(&ids, &org);
    store.accept(accepted.clone(), "node").await.expect("accepted");
    Connection::open(folder.options().path)
        .expect("opens")
        .execute("UPDATE runs SET event = CAST(x'FF' AS TEXT)", [])
        .expect("writes");
    let (out, _pieces) = tokio::sync::mpsc::channel(8);
    let said = store.export(&org, ExportFilter::default(), out).await;
    let Err(StoreError::Corrupt { what }) = said else { panic!("{said:?}") };
    assert!(what.contains(accepted.id.as_str()) && what.contains("utf-8"), "{what}");
}

fn shared_events(folder: &Folder) -> i64 {
    Connection::open(folder.options().path)
        .expect("opens")
        .query_row("SELECT count(*) FROM shared_events", [], |row| row.get(0))
        .expect("counts")
}

#[tokio::test]
async fn a_shared_event_is_stored_once_and_goes_with_its_last_run() {
    let folder = Folder::new();
    let (ids, store) = (IdSource::default(), folder.open().await);
    let org = OrgId::generate(&ids);
    let emitting = NewRun { start: Start::Claimed { lease_until: NOW }, ..run(&ids, &org) };
    let event: Arc<str> = "e".repeat(SHARED_EVENT_BYTES_MIN).into();
    let runs: Vec<NewRun> =
        (0..3).map(|_| NewRun { event: event.clone(), ..run(&ids, &org) }).collect();
    store.accept(emitting.clone(), "node").await.expect("accepted");
    let effects = Effects { runs: runs.clone(), ..Effects::default() };
    store.settle(Settlement { effects, ..settlement(&emitting.id, 1, 0) }).await.expect("settles");
    assert_eq!(shared_events(&folder), 1);
    let claim = Claim {
        node: "node",
        now: NOW,
        lease_until: NOW.plus_ms(100),
        limit: 10,
        after: "",
        passed_over: &[],
    };
    assert_eq!(store.claim(claim).await.expect("claims").len(), 3);
    for (n, run) in runs.iter().enumerate() {
        assert_eq!(shared_events(&folder), 1, "{n}");
        let forget = (n == 1).then(|| "{}".to_owned());
        store.settle(Settlement { forget, ..settlement(&run.id, 1, 0) }).await.expect("settles");
        let pruned = Pruning {
            owner: run.owner.as_str().into(),
            before: Some(NOW.plus_ms(1)),
            keep_count: None,
            limit: 10,
        };
        assert_eq!(store.prune(pruned).await.expect("prunes"), 1);
    }
    assert_eq!(shared_events(&folder), 0);
}

/// Their reads go on, and others have to wait for them: they are not to find a reader that is not
/// there.
#[tokio::test]
async fn who_goes_away_in_the_middle_of_a_read_leaves_the_readers_to_others() {
    let folder = Folder::new();
    let (ids, org) = (IdSource::default(), OrgId::generate(&IdSource::default()));
    let store: Arc<dyn Store> = folder.open().await;
    let new = NewRun { event: format!("\"{}\"", "x".repeat(4 << 20)).into(), ..run(&ids, &org) };
    let (id, owner) = (new.id.clone(), new.owner.as_str().to_owned());
    store.accept(new, "node").await.expect("accepted");
    let (filter, page) = (
        RunFilter { owner: Some(owner), ..RunFilter::default() },
        Page { limit: 1, ..Page::default() },
    );
    for _ in 0..50 {
        let leaver = tokio::spawn({
            let (store, org, id, filter, page) =
                (store.clone(), org.clone(), id.clone(), filter.clone(), page.clone());
            async move {
                tokio::join!(store.run(&org, &id), store.list_runs(&org, &filter, true, &page))
            }
        });
        tokio::task::yield_now().await;
        leaver.abort();
        let read = tokio::join!(
            store.run(&org, &id),
            store.run(&org, &id),
            store.list_runs(&org, &filter, true, &page),
            store.run_logs(&id)
        );
        assert!(read.0.is_ok() && read.1.is_ok() && read.2.is_ok() && read.3.is_ok(), "{read:?}");
    }
}

#[tokio::test]
async fn a_full_queue_refuses_and_what_it_took_is_written() {
    let folder = Folder::new();
    folder.open().await.close().await;
    let (ids, org) = (IdSource::default(), OrgId::generate(&IdSource::default()));
    let store = Arc::new(
        SqliteStore::open(&SqliteOptions { write_queue: 4, ..folder.options() }).expect("opens"),
    );
    let holder = Connection::open(folder.options().path).expect("opens");
    holder.execute_batch("BEGIN IMMEDIATE").expect("locks");
    let mut acceptances = JoinSet::new();
    for _ in 0..20 {
        let (store, new) = (store.clone(), run(&ids, &org));
        acceptances.spawn(async move { store.accept(new, "node").await });
    }
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    holder.execute_batch("COMMIT").expect("lets go");
    let (taken, refused): (Vec<_>, Vec<_>) =
        acceptances.join_all().await.into_iter().partition(Result::is_ok);
    assert!(taken.len() >= 4 && !refused.is_empty(), "{} taken", taken.len());
    assert!(refused.into_iter().all(|answer| matches!(answer, Err(StoreError::Overloaded))));
    assert_eq!(store.unfinished_runs().await.expect("counts"), taken.len() as u64);
}

#[tokio::test]
async fn closing_writes_what_waits() {
    let folder = Folder::new();
    let (ids, org) = (IdSource::default(), OrgId::generate(&IdSource::default()));
    let store = folder.open().await;
    let mut acceptances = JoinSet::new();
    for _ in 0..50 {
        let (store, new) = (store.clone(), run(&ids, &org));
        acceptances.spawn(async move { store.accept(new, "node").await });
    }
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    store.close().await;
    assert!(acceptances.join_all().await.into_iter().all(|answer| answer.is_ok()));
    assert_eq!(folder.open().await.unfinished_runs().await.expect("counts"), 50);
}
