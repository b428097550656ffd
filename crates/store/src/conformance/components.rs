//! Artifacts and saved components.

use millrace_model::component::{Artifact, Responds, SavedComponent};
use millrace_model::ids::ComponentId;

use super::Database;
use super::sample::{IDS, Org, artifact, at, page, ready, same};
use crate::StoreError;

pub async fn an_artifact_is_stored_once_and_never_changed(database: &dyn Database) {
    let store = database.open().await;
    let first = artifact();
    assert!(store.artifact(&first.id).await.expect("reads").is_none());
    store.put_artifact(first.clone()).await.expect("stores");
    store
        .put_artifact(Artifact { code: "other".into(), source_map: None, ..first.clone() })
        .await
        .expect("is no change");
    assert_eq!(store.artifact(&first.id).await.expect("reads"), Some(first.clone()));
    // What is known of its code may be more than it was.
    for responds in [Responds::Perhaps, Responds::Never, Responds::Surely] {
        let known = Artifact { responds, ..first.clone() };
        store
            .put_artifact(Artifact { code: "other".into(), ..known.clone() })
            .await
            .expect("stores");
        assert_eq!(store.artifact(&first.id).await.expect("reads"), Some(known));
    }
}

pub async fn a_component_comes_back_as_it_was_given(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let component = org.add_component(Some("feed"), 0).await;
    same(
        &org.store.component(&org.id, &component.id).await.expect("reads"),
        &Some(component.clone()),
    );
    assert!(org.store.component(&other.id, &component.id).await.expect("reads").is_none());
    assert!(matches!(org.store.create_component(component).await, Err(StoreError::Taken("id"))));
}

pub async fn publishing_moves_the_mark(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (old, theirs) =
        (org.add_component(Some("feed"), 0).await, other.add_component(Some("feed"), 0).await);
    // One that was deployed, not published, has no mark to take or give.
    org.add_component(None, 1).await;
    let new = org.add_component(Some("feed"), 2).await;
    same(
        &org.store.component_by_key(&org.id, "feed", None).await.expect("reads"),
        &Some(new.clone()),
    );
    same(&org.store.component_by_key(&other.id, "feed", None).await.expect("reads"), &Some(theirs));
    assert!(org.store.component_by_key(&org.id, "nothing", None).await.expect("reads").is_none());
    assert_eq!(
        org.store.component(&org.id, &old.id).await.expect("reads").map(|c| c.published),
        Some(false)
    );
}

pub async fn publishing_one_key_at_once_leaves_one_mark(database: &dyn Database) {
    let org = Org::first(database).await;
    ready(&*org.store).await;
    for (key, count) in ["a", "b", "c", "d", "e"].into_iter().zip(1..) {
        tokio::join!(
            org.add_component(Some(key), 0),
            org.add_component(Some(key), 1),
            org.add_component(Some(key), 2)
        );
        assert_eq!(
            org.store.list_components(&org.id, &page(10)).await.expect("lists").total_count,
            count
        );
    }
}

pub async fn unpublishing_takes_the_mark(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let component = org.add_component(Some("feed"), 0).await;
    assert!(matches!(
        org.store.unpublish_component(&other.id, "feed").await,
        Err(StoreError::NotFound)
    ));
    org.store.unpublish_component(&org.id, "feed").await.expect("unpublishes");
    assert!(org.store.component_by_key(&org.id, "feed", None).await.expect("reads").is_none());
    assert!(
        org.store
            .component(&org.id, &component.id)
            .await
            .expect("reads")
            .is_some_and(|c| !c.published)
    );
    assert!(matches!(
        org.store.unpublish_component(&org.id, "feed").await,
        Err(StoreError::NotFound)
    ));
    org.add_component(Some("feed"), 1).await;
    assert!(org.store.component_by_key(&org.id, "feed", None).await.expect("reads").is_some());
}

pub async fn a_saved_component_has_its_key_until_that_is_taken_away(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let published = org.add_component(Some("feed"), 0).await;
    let saved = SavedComponent {
        id: ComponentId::generate(&IDS),
        published: false,
        created_at: at(1),
        ..published.clone()
    };
    org.store.create_component(saved.clone()).await.expect("saves");
    let newest = |org: &Org, version: Option<&'static str>| {
        let (store, id) = (org.store.clone(), org.id.clone());
        async move {
            store.newest_component_of_key(&id, "feed", version).await.expect("reads").map(|c| c.id)
        }
    };
    assert_eq!(newest(&org, None).await, Some(saved.id.clone()));
    assert_eq!((newest(&org, Some("9.9.9")).await, newest(&other, None).await), (None, None));
    org.store.unpublish_component(&org.id, "feed").await.expect("unpublishes");
    assert_eq!(newest(&org, None).await, None);
    // The components themselves stay, and say what their code says.
    same(&org.store.component(&org.id, &saved.id).await.expect("reads"), &Some(saved));
}

pub async fn a_page_and_its_count_are_of_one_moment(database: &dyn Database) {
    let org = Org::first(database).await;
    let adds = async {
        for n in 0..60 {
            org.add_component(Some(&format!("key-{n}")), n).await;
        }
    };
    let (mut adds, first) = (std::pin::pin!(adds), page(100));
    loop {
        // While components are added, the list is read as often as may be.
        let listed = tokio::select! {
            biased;
            listed = org.store.list_components(&org.id, &first) => listed.expect("lists"),
            () = &mut adds => break,
        };
        assert_eq!(listed.items.len() as u64, listed.total_count);
    }
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

pub async fn the_same_code_is_found_by_its_hash(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (old, new) = (org.add_component(None, 0).await, org.add_component(None, 5).await);
    let same = millrace_model::component::SavedComponent {
        code_hash: old.code_hash.clone(),
        ..org.component(None, &super::sample::artifact(), 9)
    };
    let same =
        millrace_model::component::SavedComponent { artifact_id: new.artifact_id.clone(), ..same };
    org.store.create_component(same.clone()).await.expect("stores");
    let found = |org: &Org, artifact: Option<&str>| {
        let (store, org, hash, artifact) =
            (org.store.clone(), org.id.clone(), old.code_hash.clone(), artifact.map(str::to_owned));
        async move {
            store
                .component_by_hash(&org, &hash, artifact.as_deref())
                .await
                .expect("reads")
                .map(|c| c.id)
        }
    };
    assert_eq!(found(&org, None).await, Some(same.id));
    assert_eq!(found(&org, Some(&old.artifact_id)).await, Some(old.id.clone()));
    assert_eq!((found(&org, Some("none")).await, found(&other, None).await), (None, None));
}

pub async fn earlier_published_versions_stay_addressable(database: &dyn Database) {
    let org = Org::first(database).await;
    for (ms, version) in [(1, "0.0.1"), (2, "0.0.2"), (3, "0.0.2")] {
        let artifact = super::sample::artifact();
        org.store.put_artifact(artifact.clone()).await.expect("stores");
        let mut component = org.component(Some("acme-do"), &artifact, ms);
        component.manifest.version = Some(version.into());
        // Postgres reads no JSON that holds U+0000, which a manifest may.
        component.manifest.description = Some("a\u{0}b \\u0000".into());
        org.store.create_component(component).await.expect("publishes");
    }
    let found = |version: Option<&'static str>| {
        let (store, org) = (org.store.clone(), org.id.clone());
        async move {
            store
                .component_by_key(&org, "acme-do", version)
                .await
                .expect("reads")
                .map(|c| (c.manifest.version.unwrap_or_default(), c.created_at))
        }
    };
    assert_eq!(found(None).await, Some(("0.0.2".into(), super::sample::at(3))));
    assert_eq!(found(Some("0.0.2")).await, Some(("0.0.2".into(), super::sample::at(3))));
    assert_eq!(found(Some("0.0.1")).await, Some(("0.0.1".into(), super::sample::at(1))));
    assert_eq!(found(Some("9")).await, None);
    let newest =
        org.store.newest_component_of_key(&org.id, "acme-do", Some("0.0.1")).await.expect("reads");
    assert_eq!(newest.and_then(|c| c.manifest.description).as_deref(), Some("a\u{0}b \\u0000"));
    org.store.unpublish_component(&org.id, "acme-do").await.expect("unpublishes");
    assert_eq!((found(None).await, found(Some("0.0.1")).await), (None, None));
}
