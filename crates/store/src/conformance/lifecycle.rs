//! Opening and closing.

use millrace_model::run::RunStatus;
use millrace_model::source::Owner;

use super::Database;
use super::sample::{NODE, Org, settlement};
use crate::StoreError;

pub async fn a_store_that_is_open_answers(database: &dyn Database) {
    let store = database.open().await;
    store.ping().await.expect("answers");
}

pub async fn a_closed_store_says_so(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Workflow(org.add_workflow("a").await.id);
    org.store.close().await;
    assert!(matches!(org.store.ping().await, Err(StoreError::Closed)));
    assert!(matches!(org.store.accept(org.run(&owner, 0), NODE).await, Err(StoreError::Closed)));
    assert!(matches!(org.store.requeue_running(None).await, Err(StoreError::Closed)));
    assert!(matches!(org.store.organization(&org.id).await, Err(StoreError::Closed)));
    // Closing what is closed is no fault.
    org.store.close().await;
}

pub async fn what_was_acknowledged_is_there_after_reopening(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::Source(org.add_source("a").await.id);
    let (settled, queued, running) =
        (org.start(&owner, 0).await, org.accept(&owner, 1).await, org.start(&owner, 2).await);
    org.store.settle(settlement(&settled, 1, 3)).await.expect("settles");
    org.store.close().await;
    let org = Org { store: database.open().await, ..org };
    for (run, status) in [
        (&settled, RunStatus::Succeeded),
        (&queued, RunStatus::Queued),
        (&running, RunStatus::Running),
    ] {
        assert_eq!(org.stored(run).await.status, status);
    }
    assert_eq!(
        org.store.interfaces(owner.as_str()).await.expect("reads"),
        crate::Interfaces::default()
    );
    assert_eq!(org.store.unfinished_runs().await.expect("counts"), 2);
    org.store.settle(settlement(&running, 1, 4)).await.expect("settles");
}
