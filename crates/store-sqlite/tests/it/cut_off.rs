//! Files that lost their end: the missing part is reported, and never read as zeros.

use millrace_model::ids::{IdSource, OrgId};
use millrace_store::conformance::Database as _;
use millrace_store::{ExportFilter, StoreError};
use millrace_store_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::Folder;
use crate::damage::{PAGE, count, cut, length, refused, start_the_system, with_a_value};
use crate::own::run;

/// SQLite reads zeros for what is missing, as long as the log says how long the file should be.
#[tokio::test]
async fn a_file_that_was_cut_beside_its_log_is_found() {
    let (living, left) = (Folder::new(), Folder::new());
    with_a_value(&living, 100_000).await;
    let (ids, store) = (IdSource::default(), living.open().await);
    let org = OrgId::generate(&ids);
    let accepted = run(&ids, &org);
    store.accept(accepted.clone(), "node").await.expect("accepts");
    let path = left.options().path;
    let leave = || {
        for extension in ["db", "db-wal", "db-shm", "db-open"] {
            let [from, to] =
                [&living, &left].map(|folder| folder.options().path.with_extension(extension));
            std::fs::copy(from, to).expect("copies");
        }
        length(&path)
    };
    for (pages, without_index) in [(1, false), (1, true), (3, false), (20, true)] {
        let bytes = leave();
        if without_index {
            start_the_system(&left);
        }
        cut(&path, bytes - pages * PAGE);
        refused(&left, "it was cut off");
        let examined = millrace_store_sqlite::examine(&path).expect("is examined");
        assert!(examined.damage.is_some_and(|said| said.contains("it was cut off")));
        let copied = SqliteStore::backup(&path, &path.with_extension("copy"));
        assert!(
            matches!(&copied, Err(StoreError::Damaged { what }) if what.contains("it was cut off")),
            "{copied:?}"
        );
    }
    leave();
    let examined = millrace_store_sqlite::examine(&path).expect("is examined");
    assert!(examined.damage.is_none(), "{examined:?}");
    assert_eq!(count(&left, &org, &[accepted.id]).await, 1);
}

#[tokio::test]
async fn a_file_that_is_cut_while_the_server_runs_is_not_read_as_zeros() {
    for with_checksums in [true, false] {
        let folder = Folder::new();
        let path = folder.options().path;
        if !with_checksums {
            Connection::open(&path)
                .expect("opens")
                .execute_batch("CREATE TABLE other (one)")
                .expect("makes it");
        }
        let (org, at) = with_a_value(&folder, 100_000).await;
        let (ids, store) = (IdSource::default(), folder.open().await);
        // Since then the log says how long the file is.
        store.accept(run(&ids, &org), "node").await.expect("accepts");
        cut(&path, at / PAGE * PAGE);
        let (out, _pieces) = tokio::sync::mpsc::channel(8);
        let said = store.export(&org, ExportFilter::default(), out).await;
        assert!(
            matches!(&said, Err(StoreError::Damaged { what }) if what.contains("is missing: the file was cut off")),
            "{said:?}"
        );
        // Nor is that copied.
        let copied = SqliteStore::backup(&path, &path.with_extension("copy"));
        assert!(matches!(&copied, Err(StoreError::Damaged { .. })), "{copied:?}");
    }
}
