//! Order of starts, whatever locks others hold on the rows of runs.

use millrace_model::ids::{IdSource, RunId};
use millrace_model::run::NewRun;
use millrace_store::conformance::Database as _;

use crate::fresh;
use crate::own::{claim, run};

/// A row of the search index refers to its run; and a run that is being cancelled is no reason to
/// start the next one before it is known whether it is.
#[tokio::test]
async fn no_lock_of_the_oldest_run_lets_one_overtake_it_where_the_order_is_promised() {
    let Some(database) = fresh().await else { return };
    let (ids, store) = (IdSource::default(), database.open().await);
    let mut other = database.client().await;
    let held = async |other: &mut tokio_postgres::Client, id: &RunId, lock: &str| {
        let locking = other.transaction().await.expect("begins");
        let sql = format!("SELECT 1 FROM runs WHERE id = $1 {lock}");
        locking.execute(&sql, &[&id.as_str()]).await.expect("locks");
        let claimed = claim(&*store, "a", 10).await;
        locking.rollback().await.expect("releases");
        claimed
    };
    for limits in [r#"{"concurrency":1,"in_order":true}"#, r#"{"concurrency":1}"#] {
        let first = run(&ids, 0);
        let second = NewRun { owner: first.owner.clone(), ..run(&ids, 1) };
        let sql = "INSERT INTO run_limits (owner_id, limits, window_at, window_runs) VALUES ($1, $2, 0, 0)";
        let client = database.client().await;
        client.execute(sql, &[&first.owner.as_str(), &limits]).await.expect("limits");
        for new in [&first, &second] {
            store.accept(new.clone(), "a").await.expect("accepted");
        }
        assert!(held(&mut other, &first.id, "FOR UPDATE").await.is_empty(), "{limits}");
        assert_eq!(held(&mut other, &first.id, "FOR KEY SHARE").await, [first.id], "{limits}");
    }
    // Without limits too the oldest comes first.
    let first = run(&ids, 2);
    let second = NewRun { owner: first.owner.clone(), ..run(&ids, 3) };
    for new in [&first, &second] {
        store.accept(new.clone(), "a").await.expect("accepted");
    }
    let claimed = held(&mut other, &first.id, "FOR KEY SHARE").await;
    assert_eq!(claimed, [first.id, second.id]);
}
