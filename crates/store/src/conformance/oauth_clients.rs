//! OAuth clients and their tokens.

use millrace_model::ids::OauthClientId;
use millrace_model::tenant::{OauthClient, OauthToken, Scope, Scopes};

use super::Database;
use super::sample::{IDS, Org, at, page};

pub(super) fn client(org: &Org, ms: i64) -> OauthClient {
    OauthClient {
        id: OauthClientId::generate(&IDS),
        org_id: org.id.clone(),
        user_id: org.user.clone(),
        name: "ci ü".into(),
        secret_hash: IDS.base62(64),
        scopes: Scopes::of(vec![Scope::Read, Scope::Invoke]).expect("scopes"),
        created_at: at(ms),
    }
}

/// A token that ends at `ms`.
pub(super) fn token(client: &OauthClient, ms: i64) -> OauthToken {
    let scopes = Scopes::of(vec![Scope::Read]).expect("scopes");
    OauthToken {
        token_hash: IDS.base62(64),
        client_id: client.id.clone(),
        scopes,
        expires_at: at(ms),
        created_at: at(0),
    }
}

pub async fn a_client_comes_back_as_it_was_given(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (a, b) = (client(&org, 0), client(&org, 1));
    for client in [&a, &b] {
        org.store.create_oauth_client(client.clone()).await.expect("a client");
    }
    assert_eq!(org.store.oauth_client(&a.id).await.expect("reads"), Some(a.clone()));
    let listed = org.store.list_oauth_clients(&org.id, &page(10)).await.expect("lists");
    assert_eq!((listed.items.as_slice(), listed.total_count), (&[b, a.clone()][..], 2));
    assert!(
        org.store.list_oauth_clients(&other.id, &page(10)).await.expect("lists").items.is_empty()
    );
    assert!(!org.store.delete_oauth_client(&other.id, &a.id).await.expect("answers"));
    assert!(org.store.delete_oauth_client(&org.id, &a.id).await.expect("deletes"));
    assert_eq!(org.store.oauth_client(&a.id).await.expect("reads"), None);
}

pub async fn a_token_names_its_caller_until_its_client_goes(database: &dyn Database) {
    let org = Org::first(database).await;
    let (client, another) = (client(&org, 0), client(&org, 0));
    for client in [&client, &another] {
        org.store.create_oauth_client(client.clone()).await.expect("a client");
    }
    let (a, b) = (token(&client, 10), token(&client, 20));
    for token in [&a, &b] {
        org.store.put_oauth_token(token.clone()).await.expect("a token");
    }
    let caller = async |token: &OauthToken| {
        org.store.caller_by_token_hash(&token.token_hash).await.expect("reads")
    };
    let found = caller(&a).await.expect("a caller");
    assert_eq!(
        (&found.org_id, &found.user_id, found.key_id.as_str()),
        (&org.id, &org.user, client.id.as_str())
    );
    assert_eq!((found.scopes, found.ends_at), (a.scopes.clone(), Some(at(10))));
    assert!(!org.store.delete_oauth_token(&another.id, &a.token_hash).await.expect("answers"));
    assert!(org.store.delete_oauth_token(&client.id, &a.token_hash).await.expect("deletes"));
    assert_eq!((caller(&a).await, caller(&b).await.is_some()), (None, true));
    org.store.delete_oauth_client(&org.id, &client.id).await.expect("deletes");
    assert_eq!(caller(&b).await, None);
}
