//! Apps and connected accounts.

use millrace_model::account::{
    Account, App, AppDefinition, AuthType, Connection, ConnectionState, CustomField, OauthClient,
};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AccountId, AppId, ConnectionId};
use millrace_model::page::{Page, Room};

use super::Database;
use super::sample::{IDS, Org, same};
use crate::{CONNECTION_SHOWN_MS, Leftovers, StoreError};

fn app(org: &Org, slug: &str) -> App {
    App {
        id: AppId::generate(&IDS),
        org_id: Some(org.id.clone()),
        name_slug: slug.into(),
        definition: AppDefinition {
            name: "Acme".into(),
            auth_type: AuthType::Keys,
            description: None,
            img_src: None,
            custom_fields: vec![CustomField { name: "api_key".into(), ..CustomField::default() }],
            categories: vec!["things".into()],
            oauth: Some(OauthClient { client_id: "c".into(), ..OauthClient::default() }),
            open: true,
        },
        created_at: Timestamp(1),
        updated_at: Timestamp(2),
    }
}

fn account(org: &Org, app: &str, at: i64) -> Account {
    Account {
        id: AccountId::generate(&IDS),
        org_id: org.id.clone(),
        app: app.into(),
        name: "An account".into(),
        credentials: "sealed".into(),
        external_user_id: None,
        healthy: true,
        problem: None,
        expires_at: Some(Timestamp(9)),
        version: 1,
        created_at: Timestamp(at),
        updated_at: Timestamp(at),
    }
}

pub async fn an_app_is_registered_once_and_replaced(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "second").await;
    let first = app(&org, "acme");
    org.store.put_app(first.clone()).await.expect("stores");
    org.store.put_app(app(&other, "acme")).await.expect("another organization's is its own");
    let renamed = App {
        id: AppId::generate(&IDS),
        definition: AppDefinition { name: "Better".into(), ..first.definition.clone() },
        ..first.clone()
    };
    let id = renamed.id.clone();
    org.store.put_app(renamed.clone()).await.expect("replaces");
    // With its id, under which its client's secret is sealed.
    same(&org.store.app(&org.id, "acme").await.expect("reads"), &Some(renamed));
    let by_id = async |id: AppId| org.store.app_by_id(&org.id, &id).await.expect("reads");
    let named = by_id(id).await.map(|app| app.name_slug);
    assert_eq!(named.as_deref(), Some("acme"));
    assert!(by_id(AppId::generate(&IDS)).await.is_none());
    let none = Page { room: Room::new(|bytes| bytes == 0), ..Page::default() };
    let refused = org.store.list_apps(&org.id, &none).await;
    assert!(matches!(refused, Err(StoreError::NoMemory)), "{refused:?}");
    assert!(org.store.app(&org.id, "nothing").await.expect("reads").is_none());
    org.store.put_app(app(&org, "aardvark")).await.expect("stores");
    let slugs: Vec<_> = org
        .store
        .list_apps(&org.id, &Page::default())
        .await
        .expect("lists")
        .items
        .into_iter()
        .map(|app| app.name_slug)
        .collect();
    assert_eq!(slugs, ["aardvark", "acme"]);
}

pub async fn an_account_changes_one_version_at_a_time(database: &dyn Database) {
    let org = Org::first(database).await;
    let first = account(&org, "acme", 1);
    org.store.create_account(first.clone()).await.expect("stores");
    same(&org.store.account(&org.id, &first.id).await.expect("reads"), &Some(first.clone()));
    let second = Account {
        healthy: false,
        problem: Some("revoked".into()),
        expires_at: None,
        version: 2,
        ..first.clone()
    };
    org.store.update_account(second.clone()).await.expect("changes");
    assert!(matches!(
        org.store.update_account(Account { name: "late".into(), ..second.clone() }).await,
        Err(StoreError::StateChanged)
    ));
    same(&org.store.account(&org.id, &first.id).await.expect("reads"), &Some(second.clone()));
    let other = Org::another(&org.store, "second").await;
    assert!(org.store.account(&other.id, &first.id).await.expect("reads").is_none());
    assert!(matches!(
        org.store.update_account(Account { org_id: other.id.clone(), version: 3, ..second }).await,
        Err(StoreError::StateChanged)
    ));
    assert!(!org.store.delete_account(&other.id, &first.id).await.expect("answers"));
    assert!(org.store.delete_account(&org.id, &first.id).await.expect("answers"));
    assert!(!org.store.delete_account(&org.id, &first.id).await.expect("answers"));
}

pub async fn accounts_are_listed_by_app(database: &dyn Database) {
    let org = Org::first(database).await;
    let accounts = [account(&org, "acme", 1), account(&org, "other", 2), account(&org, "acme", 3)];
    for account in &accounts {
        org.store.create_account(account.clone()).await.expect("stores");
    }
    let page = Page::default();
    let all = org.store.list_accounts(&org.id, None, None, &page).await.expect("lists");
    assert_eq!(
        (all.total_count, all.items.iter().map(|a| &a.id).collect::<Vec<_>>()),
        (3, vec![&accounts[2].id, &accounts[1].id, &accounts[0].id])
    );
    let acme = org
        .store
        .list_accounts(&org.id, Some("acme"), None, &Page { limit: 1, ..page.clone() })
        .await
        .expect("lists");
    assert_eq!((acme.total_count, &acme.items[0].id), (2, &accounts[2].id));
    let after = Page { after: Some(accounts[2].id.to_string()), ..page };
    assert_eq!(
        org.store.list_accounts(&org.id, Some("acme"), None, &after).await.expect("lists").items[0]
            .id,
        accounts[0].id
    );
    // Those of an external user, of one app and of all, and once one is given to nobody.
    let user = |of: &str| Some(of.to_owned());
    let carried = [("acme", "ann", 4), ("acme", "bob", 5), ("other", "ann", 6)]
        .map(|(app, of, at)| Account { external_user_id: user(of), ..account(&org, app, at) });
    for account in &carried {
        org.store.create_account(account.clone()).await.expect("stores");
        same(
            &org.store.account(&org.id, &account.id).await.expect("reads"),
            &Some(account.clone()),
        );
    }
    let of = async |user: &str, app: Option<&str>| {
        let listed = org
            .store
            .list_accounts(&org.id, app, Some(user), &Page::default())
            .await
            .expect("lists");
        (listed.total_count, listed.items.into_iter().map(|a| a.id).collect::<Vec<_>>())
    };
    assert_eq!(of("ann", None).await, (2, vec![carried[2].id.clone(), carried[0].id.clone()]));
    assert_eq!(of("ann", Some("acme")).await, (1, vec![carried[0].id.clone()]));
    assert_eq!(of("nobody", None).await, (0, vec![]));
    assert_eq!(of("", None).await, (0, vec![]));
    org.store
        .update_account(Account { external_user_id: None, version: 2, ..carried[2].clone() })
        .await
        .expect("changes");
    assert_eq!(of("ann", None).await, (1, vec![carried[0].id.clone()]));
}

pub async fn a_connection_is_answered_once_in_its_time(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "second").await;
    let begun = |ends: i64| Connection {
        id: ConnectionId::generate(&IDS),
        org_id: org.id.clone(),
        app: "acme".into(),
        external_user_id: Some("u-1".into()),
        state: ConnectionState::Waiting,
        created_at: Timestamp(1),
        expires_at: Timestamp(ends),
    };
    let (first, late) = (begun(100), begun(10));
    for connection in [&first, &late] {
        org.store.create_connection(connection.clone()).await.expect("stores");
    }
    let read = async |id: &ConnectionId| org.store.connection(&org.id, id).await.expect("reads");
    assert_eq!(read(&first.id).await, Some(first.clone()));
    assert_eq!(org.store.connection(&other.id, &first.id).await.expect("reads"), None);
    let answer = async |id: &ConnectionId| {
        org.store.answer_connection(&org.id, id, Timestamp(11)).await.expect("answers")
    };
    assert!(
        !org.store.answer_connection(&other.id, &first.id, Timestamp(11)).await.expect("answers")
    );
    assert_eq!(
        (answer(&first.id).await, answer(&first.id).await, answer(&late.id).await),
        (true, false, false)
    );
    assert_eq!(read(&first.id).await.map(|c| c.state), Some(ConnectionState::Answered));
    for state in [
        ConnectionState::Failed("why \"not\"".into()),
        ConnectionState::Connected(AccountId::generate(&IDS)),
    ] {
        org.store
            .put_connection_state(&other.id, &first.id, ConnectionState::Waiting)
            .await
            .expect("changes nothing");
        org.store.put_connection_state(&org.id, &first.id, state.clone()).await.expect("writes");
        assert_eq!(read(&first.id).await.map(|c| c.state), Some(state));
    }
    // Found for a day after its end.
    let day = CONNECTION_SHOWN_MS;
    for (now, is_left) in [(10 + day - 1, true), (10 + day, false)] {
        org.store
            .prune_leftovers(Leftovers {
                now: Timestamp(now),
                before: None,
                audit_before: None,
                limit: 10,
            })
            .await
            .expect("prunes");
        assert_eq!(read(&late.id).await.is_some(), is_left, "{now}");
    }
    assert!(read(&first.id).await.is_some());
}
