//! Organizations, users, keys.

use millrace_model::ids::OrgId;
use millrace_model::tenant::{ApiKey, Caller, Organization, Scope, Scopes};

use super::Database;
use super::sample::{IDS, Org, at, page, ready, same, tenant};
use crate::StoreError;

pub async fn the_first_tenant_is_made_once(database: &dyn Database) {
    let store = database.open().await;
    let (first, second) = (tenant("first"), tenant("second"));
    assert!(store.bootstrap(first.clone()).await.expect("stores"));
    assert!(!store.bootstrap(second.clone()).await.expect("answers"));
    same(
        &store.organization(&first.organization.id).await.expect("reads"),
        &Some(first.organization),
    );
    same(&store.user(&first.user.id).await.expect("reads"), &Some(first.user));
    assert!(store.organization(&second.organization.id).await.expect("reads").is_none());
    assert!(store.user(&second.user.id).await.expect("reads").is_none());
    assert!(store.caller_by_key_hash(&second.key.key_hash).await.expect("reads").is_none());
}

pub async fn servers_that_start_at_once_make_one_first_tenant(database: &dyn Database) {
    let store = database.open().await;
    ready(&*store).await;
    let (a, b, c) = tokio::join!(
        store.bootstrap(tenant("a")),
        store.bootstrap(tenant("b")),
        store.bootstrap(tenant("c"))
    );
    let made = [a, b, c].into_iter().filter(|made| *made.as_ref().expect("answers")).count();
    assert_eq!(made, 1);
}

pub async fn another_organization_has_a_name_of_its_own(database: &dyn Database) {
    let first = Org::first(database).await;
    let taken = tenant("first");
    assert!(matches!(
        first.store.create_organization(taken.clone()).await,
        Err(StoreError::Taken("orgname"))
    ));
    assert!(first.store.organization(&taken.organization.id).await.expect("reads").is_none());
    assert!(first.store.user(&taken.user.id).await.expect("reads").is_none());
    let second = Org::another(&first.store, "second").await;
    assert_eq!(
        first.store.organization(&second.id).await.expect("reads").map(|o| o.orgname).as_deref(),
        Some("second")
    );
}

pub async fn an_organization_gets_other_recipients(database: &dyn Database) {
    let first = Org::first(database).await;
    let second = Org::another(&first.store, "second").await;
    let mut changed = first.store.organization(&first.id).await.expect("reads").expect("is there");
    changed.name = "Renamed".into();
    changed.error_recipients = vec!["a@example.test".into(), "B <b@example.test>".into()];
    first.store.update_organization(changed.clone()).await.expect("changes");
    same(&first.store.organization(&first.id).await.expect("reads"), &Some(changed));
    let other = first.store.organization(&second.id).await.expect("reads").expect("is there");
    assert!(other.error_recipients.is_empty() && other.name != "Renamed");
    let gone = Organization { id: OrgId::generate(&IDS), ..other };
    assert!(matches!(first.store.update_organization(gone).await, Err(StoreError::NotFound)));
}

pub async fn a_key_names_its_caller(database: &dyn Database) {
    let org = Org::first(database).await;
    let key = org.api_key();
    assert!(org.store.caller_by_key_hash(&key.key_hash).await.expect("reads").is_none());
    org.store.create_api_key(key.clone()).await.expect("stores");
    let caller = Caller {
        org_id: org.id.clone(),
        user_id: org.user.clone(),
        key_id: key.id.clone(),
        scopes: Scopes::full(),
        rate_per_minute: None,
        ends_at: None,
        session: None,
        external_user_id: None,
    };
    assert_eq!(org.store.caller_by_key_hash(&key.key_hash).await.expect("reads"), Some(caller));
    let again = ApiKey { key_hash: key.key_hash.clone(), ..org.api_key() };
    assert!(matches!(org.store.create_api_key(again).await, Err(StoreError::Taken("key_hash"))));
    let again = ApiKey { id: key.id, ..org.api_key() };
    assert!(matches!(org.store.create_api_key(again).await, Err(StoreError::Taken("id"))));
}

pub async fn keys_are_listed_changed_and_removed_in_their_organization(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let bound = ApiKey {
        scopes: Scopes::of(vec![Scope::Invoke, Scope::Read]).expect("scopes"),
        rate_per_minute: Some(7),
        expires_at: Some(at(50)),
        created_at: at(1),
        ..org.api_key()
    };
    org.store.create_api_key(bound.clone()).await.expect("stores");
    assert_eq!(org.store.api_key(&org.id, &bound.id).await.expect("reads"), Some(bound.clone()));
    assert!(org.store.api_key(&other.id, &bound.id).await.expect("reads").is_none());
    let listed = org.store.list_api_keys(&org.id, &page(10)).await.expect("lists");
    assert_eq!(
        (listed.total_count, &listed.items[0], listed.items[1].name.as_str()),
        (2, &bound, "first")
    );
    assert_eq!(
        other.store.list_api_keys(&other.id, &page(10)).await.expect("lists").total_count,
        1
    );
    let renamed = ApiKey {
        name: "renamed".into(),
        scopes: Scopes::full(),
        rate_per_minute: None,
        expires_at: None,
        ..bound.clone()
    };
    let theirs = ApiKey { org_id: other.id.clone(), ..renamed.clone() };
    assert!(matches!(org.store.update_api_key(theirs).await, Err(StoreError::NotFound)));
    org.store.update_api_key(renamed.clone()).await.expect("changes");
    assert_eq!(org.store.api_key(&org.id, &bound.id).await.expect("reads"), Some(renamed));
    assert!(!org.store.delete_api_key(&other.id, &bound.id).await.expect("answers"));
    assert!(org.store.delete_api_key(&org.id, &bound.id).await.expect("removes"));
    assert!(!org.store.delete_api_key(&org.id, &bound.id).await.expect("answers"));
    assert!(org.store.caller_by_key_hash(&bound.key_hash).await.expect("reads").is_none());
}

pub async fn a_key_before_its_rotation_names_the_caller_until_it_ends(database: &dyn Database) {
    let org = Org::first(database).await;
    let first = org.api_key();
    org.store.create_api_key(first.clone()).await.expect("stores");
    let second = ApiKey {
        key_hash: org.api_key().key_hash,
        old: Some((first.key_hash.clone(), at(10))),
        ..first.clone()
    };
    org.store.update_api_key(second.clone()).await.expect("rotates");
    let ends = async |hash: &str| {
        org.store
            .caller_by_key_hash(hash)
            .await
            .expect("reads")
            .map(|caller| (caller.key_id, caller.ends_at))
    };
    assert_eq!(ends(&second.key_hash).await, Some((first.id.clone(), None)));
    assert_eq!(ends(&first.key_hash).await, Some((first.id.clone(), Some(at(10)))));
    // The end of the key itself counts where it comes first.
    org.store
        .update_api_key(ApiKey { expires_at: Some(at(5)), ..second.clone() })
        .await
        .expect("changes");
    assert_eq!(ends(&first.key_hash).await, Some((first.id.clone(), Some(at(5)))));
    let third = ApiKey { key_hash: org.api_key().key_hash, old: None, ..second };
    org.store.update_api_key(third).await.expect("rotates");
    assert_eq!(ends(&first.key_hash).await, None);
}
