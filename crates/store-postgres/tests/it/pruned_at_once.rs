//! An event that several runs have, and servers that prune at the same time.

use std::sync::Arc;

use millrace_model::ids::IdSource;
use millrace_model::run::{NewRun, Start};
use millrace_store::conformance::{Database as _, settlement};
use millrace_store::{Effects, Pruning, SHARED_EVENT_BYTES_MIN, Settlement};

use crate::cluster::Database;
use crate::fresh;
use crate::own::{NOW, claim, run};

async fn shared_events(database: &Database) -> i64 {
    let counted =
        database.client().await.query_one("SELECT count(*) FROM shared_events", &[]).await;
    counted.expect("counts").get(0)
}

/// Owners' runs are pruned at the same time, by transactions that do not see each other's.
#[tokio::test]
async fn a_shared_event_is_stored_once_and_goes_with_its_last_run() {
    let Some(database) = fresh().await else { return };
    let (ids, store) = (IdSource::default(), database.open().await);
    let pruned = |run: &NewRun| Pruning {
        owner: run.owner.as_str().into(),
        before: Some(NOW.plus_ms(100)),
        keep_count: None,
        limit: 10,
    };
    let emitting = NewRun { start: Start::Claimed { lease_until: NOW }, ..run(&ids, 0) };
    let event: Arc<str> = "e".repeat(SHARED_EVENT_BYTES_MIN).into();
    let runs: Vec<NewRun> =
        (1..9).map(|ms| NewRun { event: event.clone(), ..run(&ids, ms) }).collect();
    store.accept(emitting.clone(), "node").await.expect("accepted");
    let effects = Effects { runs: runs.clone(), ..Effects::default() };
    store.settle(Settlement { effects, ..settlement(&emitting.id, 1, 0) }).await.expect("settles");
    assert_eq!(claim(&*store, "node", 10).await.len(), runs.len());
    for run in &runs[1..] {
        store.settle(settlement(&run.id, 1, 0)).await.expect("settles");
    }
    assert_eq!(shared_events(&database).await, 1);
    let mut all = tokio::task::JoinSet::new();
    for run in &runs[1..] {
        let (store, pruned) = (store.clone(), pruned(run));
        all.spawn(async move { store.prune(pruned).await });
    }
    for gone in all.join_all().await {
        assert_eq!(gone.expect("prunes"), 1);
    }
    assert_eq!(shared_events(&database).await, 1);
    store
        .settle(Settlement { forget: Some("{}".into()), ..settlement(&runs[0].id, 1, 0) })
        .await
        .expect("settles");
    assert_eq!(shared_events(&database).await, 0);
}
