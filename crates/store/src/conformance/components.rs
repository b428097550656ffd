//! Artifacts and saved components.

use millrace_model::component::Artifact;

use super::Database;
use super::sample::{Org, artifact, page, ready, same};
use crate::StoreError;

pub async fn an_artifact_is_stored_once_and_never_changed(database: &dyn Database) {
    let store = database.open().await;
    let first = artifact();
    assert!(store.artifact(&first.id).await.expect("reads").is_none());
    store.put_artifact(first.clone()).await.expect("stores");
    store.put_artifact(Artifact { code: "other".into(), source_map: None, ..first.clone() }).await.expect("is no change");
    assert_eq!(store.artifact(&first.id).await.expect("reads"), Some(first));
}

pub async fn a_component_comes_back_as_it_was_given(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let component = org.add_component(Some("feed"), 0).await;
    same(&org.store.component(&org.id, &component.id).await.expect("reads"), &Some(component.clone()));
    assert!(org.store.component(&other.id, &component.id).await.expect("reads").is_none());
    assert!(matches!(org.store.create_component(component).await, Err(StoreError::Taken("id"))));
}

pub async fn publishing_moves_the_mark(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (old, theirs) = (org.add_component(Some("feed"), 0).await, other.add_component(Some("feed"), 0).await);
    // One that was deployed, not published, has no mark to take or give.
    org.add_component(None, 1).await;
    let new = org.add_component(Some("feed"), 2).await;
    same(&org.store.component_by_key(&org.id, "feed").await.expect("reads"), &Some(new.clone()));
    same(&org.store.component_by_key(&other.id, "feed").await.expect("reads"), &Some(theirs));
    assert!(org.store.component_by_key(&org.id, "nothing").await.expect("reads").is_none());
    assert_eq!(org.store.component(&org.id, &old.id).await.expect("reads").map(|c| c.published), Some(false));
}

pub async fn publishing_one_key_at_once_leaves_one_mark(database: &dyn Database) {
    let org = Org::first(database).await;
    ready(&*org.store).await;
    for (key, count) in ["a", "b", "c", "d", "e"].into_iter().zip(1..) {
        tokio::join!(org.add_component(Some(key), 0), org.add_component(Some(key), 1), org.add_component(Some(key), 2));
        assert_eq!(org.store.list_components(&org.id, &page(10)).await.expect("lists").total_count, count);
    }
}

pub async fn unpublishing_takes_the_mark(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let component = org.add_component(Some("feed"), 0).await;
    assert!(matches!(org.store.unpublish_component(&other.id, "feed").await, Err(StoreError::NotFound)));
    org.store.unpublish_component(&org.id, "feed").await.expect("unpublishes");
    assert!(org.store.component_by_key(&org.id, "feed").await.expect("reads").is_none());
    assert!(org.store.component(&org.id, &component.id).await.expect("reads").is_some_and(|c| !c.published));
    assert!(matches!(org.store.unpublish_component(&org.id, "feed").await, Err(StoreError::NotFound)));
    org.add_component(Some("feed"), 1).await;
    assert!(org.store.component_by_key(&org.id, "feed").await.expect("reads").is_some());
}

pub async fn published_components_are_listed(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    org.add_component(Some("a"), 0).await;
    let (b, a) = (org.add_component(Some("b"), 1).await, org.add_component(Some("a"), 2).await);
    org.add_component(None, 3).await;
    other.add_component(Some("c"), 4).await;
    let listing = org.store.list_components(&org.id, &page(10)).await.expect("lists");
    same(&listing.items, &[a, b]);
    assert_eq!(listing.total_count, 2);
}
