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
    let emitter = source(&database, &ids).await;
    let subscription = Subscription {
        id: SubscriptionId::generate(&ids),
        org_id: OrgId::generate(&ids),
        emitter_id: emitter.to_string(),
        listener_id: "p_b".into(),
        event_name: String::new(),
        from_trigger: false,
        created_at: NOW,
    };
    let other = database.client().await;
    let deletion = format!("BEGIN; DELETE FROM sources WHERE id = '{emitter}'");
    other.batch_execute(&deletion).await.expect("deletes");
    let mut subscribes = tokio::spawn({
        let (store, subscription) = (store.clone(), subscription.clone());
        async move { store.subscribe(subscription).await }
    });
    let early = tokio::time::timeout(Duration::from_millis(300), &mut subscribes).await;
    assert!(early.is_err(), "the emitter looks as if it were there: {early:?}");
    other.batch_execute("COMMIT").await.expect("commits");
    let stored = subscribes.await.expect("ends").expect("subscribes");
    assert_eq!(stored, subscription);
}
