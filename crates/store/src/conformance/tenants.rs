//! Organizations, users, keys.

use millrace_model::tenant::{ApiKey, Caller};

use super::Database;
use super::sample::{Org, ready, same, tenant};
use crate::StoreError;

pub async fn the_first_tenant_is_made_once(database: &dyn Database) {
    let store = database.open().await;
    let (first, second) = (tenant("first"), tenant("second"));
    assert!(store.bootstrap(first.clone()).await.expect("stores"));
    assert!(!store.bootstrap(second.clone()).await.expect("answers"));
    same(&store.organization(&first.organization.id).await.expect("reads"), &Some(first.organization));
    same(&store.user(&first.user.id).await.expect("reads"), &Some(first.user));
    assert!(store.organization(&second.organization.id).await.expect("reads").is_none());
    assert!(store.user(&second.user.id).await.expect("reads").is_none());
    assert!(store.caller_by_key_hash(&second.key.key_hash).await.expect("reads").is_none());
}

pub async fn servers_that_start_at_once_make_one_first_tenant(database: &dyn Database) {
    let store = database.open().await;
    ready(&*store).await;
    let (a, b, c) = tokio::join!(store.bootstrap(tenant("a")), store.bootstrap(tenant("b")), store.bootstrap(tenant("c")));
    let made = [a, b, c].into_iter().filter(|made| *made.as_ref().expect("answers")).count();
    assert_eq!(made, 1);
}

pub async fn another_organization_has_a_name_of_its_own(database: &dyn Database) {
    let first = Org::first(database).await;
    let taken = tenant("first");
    assert!(matches!(first.store.create_organization(taken.clone()).await, Err(StoreError::Taken("orgname"))));
    assert!(first.store.organization(&taken.organization.id).await.expect("reads").is_none());
    assert!(first.store.user(&taken.user.id).await.expect("reads").is_none());
    let second = Org::another(&first.store, "second").await;
    assert_eq!(first.store.organization(&second.id).await.expect("reads").map(|o| o.orgname).as_deref(), Some("second"));
}

pub async fn a_key_names_its_caller(database: &dyn Database) {
    let org = Org::first(database).await;
    let key = org.api_key();
    assert!(org.store.caller_by_key_hash(&key.key_hash).await.expect("reads").is_none());
    org.store.create_api_key(key.clone()).await.expect("stores");
    let caller = Caller { org_id: org.id.clone(), user_id: org.user.clone() };
    assert_eq!(org.store.caller_by_key_hash(&key.key_hash).await.expect("reads"), Some(caller));
    let again = ApiKey { key_hash: key.key_hash.clone(), ..org.api_key() };
    assert!(matches!(org.store.create_api_key(again).await, Err(StoreError::Taken("key_hash"))));
    let again = ApiKey { id: key.id, ..org.api_key() };
    assert!(matches!(org.store.create_api_key(again).await, Err(StoreError::Taken("id"))));
}
