//! Files that are not whole are refused and stay as they are; what a crash leaves is not taken for
//! that.

use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use millrace_model::clock::Timestamp;
use millrace_model::ids::{IdSource, OrgId, RunId};
use millrace_model::run::NewRun;
use millrace_store::conformance::Database as _;
use millrace_store::{ExportFilter, Store, StoreError};
use millrace_store_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::own::run;
use crate::{Folder, refusal};

pub const PAGE: u64 = 4096;
const FRAME: u64 = 24 + PAGE;

fn log(folder: &Folder) -> PathBuf {
    folder.options().path.with_extension("db-wal")
}

/// Files of a server that was killed after so many acceptances, each a commit: the log holds them
/// all.
async fn killed(commits: usize) -> (Folder, Folder, OrgId, Vec<RunId>) {
    killed_with(commits, &["db", "db-wal"]).await
}

/// As a server leaves them that was killed on this system: with all that lies beside the database.
async fn killed_here(commits: usize) -> (Folder, Folder, OrgId, Vec<RunId>) {
    killed_with(commits, &["db", "db-wal", "db-shm", "db-open"]).await
}

async fn killed_with(commits: usize, extensions: &[&str]) -> (Folder, Folder, OrgId, Vec<RunId>) {
    let (living, left) = (Folder::new(), Folder::new());
    let (ids, store) = (IdSource::default(), living.open().await);
    let org = OrgId::generate(&ids);
    let mut accepted = Vec::new();
    for _ in 0..commits {
        let new = run(&ids, &org);
        accepted.push(new.id.clone());
        store.accept(new, "node").await.expect("accepts");
    }
    for extension in extensions {
        let [from, to] =
            [&living, &left].map(|folder| folder.options().path.with_extension(extension));
        std::fs::copy(from, to).expect("copies");
    }
    (living, left, org, accepted)
}

/// Fills a database with some pages of each kind, and closes it.
async fn fill(folder: &Folder) -> Arc<dyn Store> {
    let (ids, store) = (IdSource::default(), folder.open().await);
    let org = OrgId::generate(&ids);
    for _ in 0..200 {
        store.accept(run(&ids, &org), "node").await.expect("accepts");
    }
    store.close().await;
    store
}

fn overwrite(path: &PathBuf, at: u64, bytes: &[u8]) {
    std::fs::File::options()
        .write(true)
        .open(path)
        .expect("opens")
        .write_all_at(bytes, at)
        .expect("writes");
}

pub fn cut(path: &PathBuf, bytes: u64) {
    std::fs::File::options().write(true).open(path).expect("opens").set_len(bytes).expect("cuts");
}

pub fn length(path: &PathBuf) -> u64 {
    std::fs::metadata(path).expect("is there").len()
}

/// Asserts that it is refused with this said, and that not a byte was changed.
pub fn refused(folder: &Folder, says: &str) {
    let read = || [folder.options().path, log(folder)].map(|path| std::fs::read(path).ok());
    let before = read();
    match refusal(&folder.options()) {
        Some(StoreError::Damaged { what }) => assert!(what.contains(says), "{what}"),
        other => panic!("{other:?} where it should say {says}"),
    }
    assert!(before == read(), "it was written to");
}

pub async fn count(folder: &Folder, org: &OrgId, runs: &[RunId]) -> usize {
    let store = folder.open().await;
    let mut there = 0;
    for id in runs {
        there += usize::from(store.run(org, id).await.expect("reads").is_some());
    }
    store.close().await;
    there
}

#[tokio::test]
async fn a_log_as_a_kill_leaves_it_is_read_to_its_end() {
    let (_living, left, org, accepted) = killed(20).await;
    assert_eq!(count(&left, &org, &accepted).await, 20);
}

#[tokio::test]
async fn a_torn_end_of_the_log_loses_what_it_held_only() {
    let (_living, left, org, accepted) = killed(20).await;
    let path = log(&left);
    cut(&path, length(&path) - 100);
    assert_eq!(count(&left, &org, &accepted).await, 19);
}

/// Nor do they get into the database as if they were right, and the next start is not told that all
/// is well.
#[tokio::test]
async fn bytes_that_change_in_a_log_that_is_in_use_are_found() {
    let (folder, ids) = (Folder::new(), IdSource::default());
    let (store, org) = (folder.open().await, OrgId::generate(&ids));
    let mut accepted = Vec::new();
    for _ in 0..20 {
        let new = run(&ids, &org);
        accepted.push(new.id.clone());
        store.accept(new, "node").await.expect("accepts");
    }
    let frames = (length(&log(&folder)) - 32) / FRAME;
    for frame in 0..frames {
        overwrite(&log(&folder), 32 + frame * FRAME + 24 + PAGE - 100, &[0xAA; 16]);
    }
    let read = store.run(&org, &accepted[3]).await;
    assert!(
        matches!(&read, Err(StoreError::Damaged { what }) if what.contains("of the write-ahead log is not as it was written")),
        "{read:?}"
    );
    store.close().await;
    drop(store);
    refused(&folder, "cannot be read at frame 1");
}

/// A copy without what the log cannot tell any more would be taken for the last good one.
#[tokio::test]
async fn a_damaged_log_is_neither_copied_nor_called_whole() {
    let (_living, left, _, _) = killed_here(20).await;
    let (path, copies) = (left.options().path, Folder::new());
    let look = |at: u64, byte: u8| {
        overwrite(&log(&left), at, &[byte; 16]);
        let examined = millrace_store_sqlite::examine(&path).expect("looks");
        (
            SqliteStore::backup(&path, &copies.options().path.with_extension(byte.to_string())),
            examined.damage,
        )
    };
    let within = 32 + 9 * FRAME + 2000;
    let mut was = [0; 16];
    std::fs::File::open(log(&left))
        .and_then(|file| file.read_exact_at(&mut was, within))
        .expect("reads");
    let (copied, damage) = look(within, 0xAA);
    assert!(
        matches!(&copied, Err(StoreError::Damaged { what }) if what.contains("cannot be read at frame 10")),
        "{copied:?}"
    );
    assert!(
        damage.as_ref().is_some_and(|what| what.contains("cannot be read at frame 10")),
        "{damage:?}"
    );
    overwrite(&log(&left), within, &was);
    let copied = SqliteStore::backup(&path, &copies.options().path.with_extension("whole"));
    assert!(
        copied.is_ok() && millrace_store_sqlite::examine(&path).expect("looks").damage.is_none(),
        "{copied:?}"
    );
    std::fs::write(&path, "").expect("empties");
    let copied = SqliteStore::backup(&path, &copies.options().path.with_extension("empty"));
    assert!(matches!(&copied, Err(StoreError::Damaged { .. })), "{copied:?}");
}

#[tokio::test]
async fn bytes_overwritten_within_the_log_are_found() {
    for (at, what) in [
        (100, "the page of the first frame"),
        (32 + 5 * FRAME, "the head of a frame"),
        (32 + 9 * FRAME + 2000, "a page within"),
    ] {
        let (_living, left, _, _) = killed(20).await;
        let frames = (length(&log(&left)) - 32) / FRAME;
        assert!(frames > 20, "{frames}");
        overwrite(&log(&left), at, &[0xAA; 16]);
        eprintln!("{what}");
        refused(&left, "commits follow");
    }
}

#[tokio::test]
async fn a_log_without_its_head_is_found() {
    let (_living, left, _, _) = killed(5).await;
    overwrite(&log(&left), 0, &[0; 32]);
    refused(&left, "does not begin as one does");
    // Never written to disk, only made: nothing was acknowledged from it.
    let path = log(&left);
    let bytes = length(&path);
    std::fs::write(&path, vec![0; usize::try_from(bytes).expect("small")]).expect("writes");
    assert!(refusal(&left.options()).is_none());
}

#[tokio::test]
async fn a_damaged_file_is_found() {
    let folder = Folder::new();
    let store = fill(&folder).await;
    let path = folder.options().path;
    let whole = std::fs::read(&path).expect("reads");
    assert!(!log(&folder).exists() || length(&log(&folder)) == 0);

    cut(&path, whole.len() as u64 / 2);
    refused(&folder, "it was cut off");
    cut(&path, 50);
    refused(&folder, "shorter than the head");
    std::fs::write(&path, &whole).expect("writes");
    overwrite(&path, 0, b"not a database..");
    refused(&folder, "does not begin as a database does");
    // Half of the pages, each with its own head destroyed.
    std::fs::write(&path, &whole).expect("writes");
    for page in (2..whole.len() as u64 / PAGE).step_by(2) {
        overwrite(&path, page * PAGE, &[0xFF; 64]);
    }
    refused(&folder, "");
    std::fs::write(&path, &whole).expect("writes");
    assert!(refusal(&folder.options()).is_none());
    assert!(
        store
            .claim(millrace_store::Claim {
                node: "n",
                now: Timestamp(0),
                lease_until: Timestamp(1),
                limit: 1,
                after: "",
                passed_over: &[]
            })
            .await
            .is_err(),
        "it was closed"
    );
}

/// The log holds what the file may yet be saved with.
#[tokio::test]
async fn a_damaged_file_is_left_with_its_log_and_not_taken_for_a_backup() {
    let (living, left) = (Folder::new(), Folder::new());
    fill(&living).await;
    let (ids, store) = (IdSource::default(), living.open().await);
    let org = OrgId::generate(&ids);
    store.accept(run(&ids, &org), "node").await.expect("accepts");
    let path = left.options().path;
    for (from, to) in [(living.options().path, path.clone()), (log(&living), log(&left))] {
        std::fs::copy(from, to).expect("copies");
    }
    assert!(length(&log(&left)) > 0);
    for page in (2..length(&path) / PAGE).step_by(2) {
        overwrite(&path, page * PAGE, &[0xFF; 64]);
    }
    refused(&left, "");
    let read = || [path.clone(), log(&left)].map(|path| std::fs::read(path).expect("reads"));
    let before = read();
    let copy = path.with_extension("copy");
    let copied = SqliteStore::backup(&path, &copy);
    assert!(matches!(copied, Err(StoreError::Damaged { .. })) && !copy.exists(), "{copied:?}");
    assert!(before == read(), "it was written to");
}

fn mark(folder: &Folder) -> PathBuf {
    folder.options().path.with_extension("db-open")
}

#[tokio::test]
async fn a_log_that_is_gone_is_missed() {
    for cut_to in [None, Some(0), Some(20)] {
        let (_living, left, org, accepted) = killed_here(5).await;
        match cut_to {
            None => std::fs::remove_file(log(&left)).expect("is there"),
            Some(bytes) => cut(&log(&left), bytes),
        }
        refused(&left, "is missing or has no head");
        // After a start of the system too; and no copy of that is taken for a backup.
        std::fs::write(mark(&left), "another start").expect("writes");
        refused(&left, "is missing or has no head");
        let copied =
            SqliteStore::backup(&left.options().path, &left.options().path.with_extension("copy"));
        assert!(matches!(copied, Err(StoreError::Damaged { .. })), "{copied:?}");
        let examined = millrace_store_sqlite::examine(&left.options().path).expect("is examined");
        assert!(examined.damage.is_some_and(|said| said.contains("is missing")));
        // As the error says.
        std::fs::remove_file(mark(&left)).expect("is there");
        assert!(count(&left, &org, &accepted).await < accepted.len());
    }
}

#[tokio::test]
async fn a_log_that_was_cut_is_missed_while_the_system_runs() {
    let (_living, left, org, accepted) = killed_here(20).await;
    let (path, bytes) = (log(&left), length(&log(&left)));
    let whole = std::fs::read(&path).expect("reads");
    for (to, says) in
        [(bytes - FRAME, "was cut off"), (bytes / 2, "was cut off"), (32, "was cut off")]
    {
        cut(&path, to);
        refused(&left, says);
        std::fs::write(&path, &whole).expect("writes");
    }
    let (_other, strange, _, _) = killed(3).await;
    std::fs::copy(log(&strange), &path).expect("copies");
    refused(&left, "another one than the server left");
    std::fs::write(&path, &whole).expect("writes");
    assert_eq!(count(&left, &org, &accepted).await, 20);
}

/// As the files are after a start of the system: SQLite's index of the log is gone, or of no use.
pub fn start_the_system(folder: &Folder) {
    let said = std::fs::read_to_string(mark(folder)).expect("a mark");
    let (_, rest) = said.split_once('\n').expect("two lines");
    std::fs::write(mark(folder), format!("00000000-0000-4000-8000-000000000000\n{rest}"))
        .expect("writes");
    std::fs::remove_file(folder.options().path.with_extension("db-shm")).expect("is there");
}

#[tokio::test]
async fn a_log_that_was_cut_is_missed_after_a_start_of_the_system_too() {
    let (_living, left, org, accepted) = killed_here(20).await;
    let (path, bytes) = (log(&left), length(&log(&left)));
    let whole = std::fs::read(&path).expect("reads");
    start_the_system(&left);
    for to in [bytes - 1, bytes - FRAME, bytes / 2, 32] {
        cut(&path, to);
        refused(&left, "commits that were acknowledged are missing");
        std::fs::write(&path, &whole).expect("writes");
    }
    // The last commit, behind which no other tells.
    overwrite(&path, bytes - 100, &[0xAA; 8]);
    refused(&left, "were written and acknowledged");
    let (_other, strange, _, _) = killed(3).await;
    std::fs::copy(log(&strange), &path).expect("copies");
    refused(&left, "another one than the server left");
    // What is longer than the mark says was written since.
    std::fs::write(&path, &whole).expect("writes");
    assert_eq!(count(&left, &org, &accepted).await, 20);
}

#[tokio::test]
async fn a_log_that_began_anew_since_its_mark_is_whole() {
    let (living, left) = (Folder::new(), Folder::new());
    let (ids, store) = (IdSource::default(), living.open().await);
    let org = OrgId::generate(&ids);
    let salts = || std::fs::read(log(&living)).expect("reads")[16..24].to_vec();
    let mut accepted = Vec::new();
    let mut accept = async || {
        let new = run(&ids, &org);
        accepted.push(new.id.clone());
        store.accept(new, "node").await.expect("accepts");
    };
    accept().await;
    // A power cut may leave a mark that is behind the log.
    std::fs::copy(mark(&living), mark(&left)).expect("copies");
    let first = salts();
    while salts() == first {
        accept().await;
    }
    for extension in ["db", "db-wal", "db-shm"] {
        let [from, to] =
            [&living, &left].map(|folder| folder.options().path.with_extension(extension));
        std::fs::copy(from, to).expect("copies");
    }
    start_the_system(&left);
    assert_eq!(count(&left, &org, &accepted).await, accepted.len());
}

/// A database in which one value stands that no index has, between so many bytes and as many, and
/// where it stands.
pub async fn with_a_value(folder: &Folder, between: usize) -> (OrgId, u64) {
    let (ids, store) = (IdSource::default(), folder.open().await);
    let org = OrgId::generate(&ids);
    let event: Arc<str> =
        format!(r#"{{"rest":"{0}","amount":"precious","more":"{0}"}}"#, "x".repeat(between)).into();
    store.accept(NewRun { event, ..run(&ids, &org) }, "node").await.expect("accepts");
    store.close().await;
    let whole = std::fs::read(folder.options().path).expect("reads");
    let at = whole.windows(8).position(|bytes| bytes == b"precious").expect("the value");
    (org, at as u64)
}

/// Of a large value, parts are in pages of their own.
const BETWEEN: [usize; 2] = [300, 20_000];

#[tokio::test]
async fn a_value_that_was_overwritten_is_found() {
    for between in BETWEEN {
        let folder = Folder::new();
        let (_, at) = with_a_value(&folder, between).await;
        let path = folder.options().path;
        overwrite(&path, at, b"previous");
        let says = format!("page {} is not as it was written", at / PAGE + 1);
        refused(&folder, &says);
        let copied = SqliteStore::backup(&path, &path.with_extension("copy"));
        assert!(
            matches!(&copied, Err(StoreError::Damaged { what }) if what.contains(&says)),
            "{copied:?}"
        );
        let examined = millrace_store_sqlite::examine(&path).expect("is examined");
        assert!(examined.damage.is_some_and(|said| said.contains(&says)));
        let checked = SqliteStore::check(&path);
        assert!(
            matches!(&checked, Err(StoreError::Corrupt { what }) if what.contains(&says)),
            "{checked:?}"
        );
        overwrite(&path, at, b"precious");
        assert!(refusal(&folder.options()).is_none());
    }
}

#[tokio::test]
async fn a_value_that_is_overwritten_while_the_server_runs_is_not_read() {
    for between in BETWEEN {
        let folder = Folder::new();
        let (org, at) = with_a_value(&folder, between).await;
        let store = folder.open().await;
        overwrite(&folder.options().path, at, b"previous");
        // On a connection of its own, which has read nothing before.
        let (out, _pieces) = tokio::sync::mpsc::channel(8);
        let said = store.export(&org, ExportFilter::default(), out).await;
        assert!(
            matches!(&said, Err(StoreError::Damaged { what }) if what.contains("is not as it was written")),
            "{said:?}"
        );
    }
}

/// An index that does not fit its table, with as many rows, in pages that are as they were written.
#[tokio::test]
async fn what_a_start_refuses_is_neither_copied_nor_called_whole() {
    let folder = Folder::new();
    fill(&folder).await;
    let path = folder.options().path;
    let edit = |sql: &str| {
        // With checksums of its pages.
        let file = Connection::open_with_flags_and_vfs(
            &path,
            rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE,
            c"millrace",
        )
        .expect("opens");
        file.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)
            .expect("lets it");
        file.execute_batch(&format!(
            "PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON; {sql}"
        ))
        .expect("edits");
    };
    let index = "type = 'index' AND tbl_name = 'runs' AND sql IS NOT NULL";
    edit(&format!(
        "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE {index}; DELETE FROM sqlite_schema WHERE {index}"
    ));
    edit("UPDATE runs SET owner_id = upper(owner_id)");
    edit("INSERT INTO sqlite_schema SELECT * FROM kept; DROP TABLE kept");
    refused(&folder, "index");
    let examined = millrace_store_sqlite::examine(&path).expect("is examined");
    assert!(examined.damage.is_some_and(|said| said.contains("index")));
    let copied = SqliteStore::backup(&path, &path.with_extension("copy"));
    assert!(matches!(&copied, Err(StoreError::Damaged { .. })), "{copied:?}");
}

#[tokio::test]
async fn a_page_in_the_place_of_another_is_found() {
    let folder = Folder::new();
    fill(&folder).await;
    let path = folder.options().path;
    let whole = std::fs::read(&path).expect("reads");
    let page = |number: u64| &whole[usize::try_from(number * PAGE).expect("small")..][..4096];
    overwrite(&path, 5 * PAGE, page(6));
    refused(&folder, "page 6 is not as it was written");
    overwrite(&path, 5 * PAGE, &[0; 4096]);
    refused(&folder, "page 6 is not as it was written");
}

/// Made by something else, as by `sqlite3` from what could be saved.
#[tokio::test]
async fn a_database_without_checksums_is_used_and_its_copy_has_them() {
    let folder = Folder::new();
    let (path, copy) = (folder.options().path, Folder::new());
    Connection::open(&path)
        .expect("opens")
        .execute_batch("CREATE TABLE other (one)")
        .expect("makes it");
    let (_, at) = with_a_value(&folder, 300).await;
    let engine = |folder: &Folder| {
        millrace_store_sqlite::examine(&folder.options().path).expect("is examined").engine
    };
    assert!(engine(&folder).contains("without checksums"));
    SqliteStore::backup(&path, &copy.options().path).expect("copies");
    assert!(!engine(&copy).contains("without checksums"));
    SqliteStore::check(&copy.options().path).expect("is whole");
    overwrite(&path, at, b"previous");
    assert!(refusal(&folder.options()).is_none(), "nothing can tell");
    let whole = std::fs::read(copy.options().path).expect("reads");
    let at = whole.windows(8).position(|bytes| bytes == b"precious").expect("the value");
    overwrite(&copy.options().path, at as u64, b"previous");
    refused(&copy, "is not as it was written");
}

#[tokio::test]
async fn a_database_that_was_closed_is_in_no_use() {
    let folder = Folder::new();
    let (ids, store) = (IdSource::default(), folder.open().await);
    let org = OrgId::generate(&ids);
    let accepted = run(&ids, &org);
    store.accept(accepted.clone(), "node").await.expect("accepts");
    assert!(mark(&folder).exists());
    store.close().await;
    assert!(!mark(&folder).exists());
    // What was merged needs no log.
    let _ = std::fs::remove_file(log(&folder));
    assert_eq!(count(&folder, &org, &[accepted.id]).await, 1);
}

#[tokio::test]
async fn a_log_that_is_removed_meanwhile_ends_the_writes() {
    let folder = Folder::new();
    let (ids, store) = (IdSource::default(), folder.open().await);
    let org = OrgId::generate(&ids);
    let accepted = run(&ids, &org);
    store.accept(accepted.clone(), "node").await.expect("accepts");
    std::fs::remove_file(log(&folder)).expect("is there");
    let refused = store.accept(run(&ids, &org), "node").await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    // It still has what it acknowledged, and leaves it in the file.
    store.close().await;
    assert_eq!(count(&folder, &org, &[accepted.id]).await, 1);
}

#[tokio::test]
async fn a_log_without_its_database_is_found() {
    let (_living, left, _, _) = killed(5).await;
    cut(&left.options().path, 0);
    refused(&left, "missing or empty");
}
