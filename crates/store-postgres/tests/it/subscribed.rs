//! A subscription that is made while its emitter is being deleted.

use std::time::Duration;

use millrace_model::ids::{IdSource, OrgId, SubscriptionId};
use millrace_model::subscription::Subscription;
use millrace_store::conformance::Database as _;

use crate::fresh;
use crate::own::{NOW, source};

#[tokio::test]
async fn a_subscription_waits_for_a_deletion_of_its_emitter_that_is_under_way() {
    let Some(database) = fresh().await else { return };
    let (ids, store) = (IdSource::default(), database.open().await);
    let (emitter, org) = (source(&database, &ids).await, OrgId::generate(&ids));
    let other = database.client().await;
    let organization = format!(
        "INSERT INTO organizations VALUES ('{org}', '{org}', '{org}', '{org}', '{org}', 0)"
    );
    other.batch_execute(&organization).await.expect("an organization");
    let subscription = Subscription {
        id: SubscriptionId::generate(&ids),
        org_id: org,
        emitter_id: emitter.to_string(),
        listener_id: "p_b".into(),
        event_name: String::new(),
        from_trigger: false,
        created_at: NOW,
    };
    let deletion = format!("BEGIN; DELETE FROM sources WHERE id = '{emitter}'");
    other.batch_execute(&deletion).await.expect("deletes");
    let subscribes = tokio::spawn({
        let (store, subscription) = (store.clone(), subscription.clone());
        async move { store.subscribe(subscription).await }
    });
    let waits = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while other.query(waits, &[]).await.expect("reads").is_empty() {
        assert!(!subscribes.is_finished(), "the emitter looks as if it were there");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    other.batch_execute("COMMIT").await.expect("commits");
    let stored = subscribes.await.expect("ends").expect("subscribes");
    assert_eq!(stored, subscription);
}
