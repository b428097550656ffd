//! Apps and connected accounts.

use millrace_model::account::{Account, App, AppDefinition, AuthType, CustomField, OauthClient};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AccountId, AppId};
use millrace_model::page::Page;

use super::Database;
use super::sample::{IDS, Org, same};
use crate::StoreError;

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
    let renamed = App { id: AppId::generate(&IDS), definition: AppDefinition { name: "Better".into(), ..first.definition.clone() }, ..first.clone() };
    org.store.put_app(renamed.clone()).await.expect("replaces");
    same(&org.store.app(&org.id, "acme").await.expect("reads"), &Some(App { id: first.id, ..renamed }));
    assert!(org.store.app(&org.id, "nothing").await.expect("reads").is_none());
    org.store.put_app(app(&org, "aardvark")).await.expect("stores");
    let slugs: Vec<_> = org.store.list_apps(&org.id).await.expect("lists").into_iter().map(|app| app.name_slug).collect();
    assert_eq!(slugs, ["aardvark", "acme"]);
}

pub async fn an_account_changes_one_version_at_a_time(database: &dyn Database) {
    let org = Org::first(database).await;
    let first = account(&org, "acme", 1);
    org.store.create_account(first.clone()).await.expect("stores");
    same(&org.store.account(&org.id, &first.id).await.expect("reads"), &Some(first.clone()));
    let second = Account { healthy: false, problem: Some("revoked".into()), expires_at: None, version: 2, ..first.clone() };
    org.store.update_account(second.clone()).await.expect("changes");
    assert!(matches!(org.store.update_account(Account { name: "late".into(), ..second.clone() }).await, Err(StoreError::StateChanged)));
    same(&org.store.account(&org.id, &first.id).await.expect("reads"), &Some(second.clone()));
    let other = Org::another(&org.store, "second").await;
    assert!(org.store.account(&other.id, &first.id).await.expect("reads").is_none());
    assert!(matches!(org.store.update_account(Account { org_id: other.id.clone(), version: 3, ..second }).await, Err(StoreError::StateChanged)));
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
    assert_eq!((all.total_count, all.items.iter().map(|a| &a.id).collect::<Vec<_>>()), (3, vec![&accounts[2].id, &accounts[1].id, &accounts[0].id]));
    let acme = org.store.list_accounts(&org.id, Some("acme"), None, &Page { limit: 1, ..page.clone() }).await.expect("lists");
    assert_eq!((acme.total_count, &acme.items[0].id), (2, &accounts[2].id));
    let after = Page { after: Some(accounts[2].id.to_string()), ..page };
    assert_eq!(org.store.list_accounts(&org.id, Some("acme"), None, &after).await.expect("lists").items[0].id, accounts[0].id);
    // Those of an external user, of one app and of all, and once one is given to nobody.
    let user = |of: &str| Some(of.to_owned());
    let carried =
        [("acme", "ann", 4), ("acme", "bob", 5), ("other", "ann", 6)].map(|(app, of, at)| Account { external_user_id: user(of), ..account(&org, app, at) });
    for account in &carried {
        org.store.create_account(account.clone()).await.expect("stores");
        same(&org.store.account(&org.id, &account.id).await.expect("reads"), &Some(account.clone()));
    }
    let of = async |user: &str, app: Option<&str>| {
        let listed = org.store.list_accounts(&org.id, app, Some(user), &Page::default()).await.expect("lists");
        (listed.total_count, listed.items.into_iter().map(|a| a.id).collect::<Vec<_>>())
    };
    assert_eq!(of("ann", None).await, (2, vec![carried[2].id.clone(), carried[0].id.clone()]));
    assert_eq!(of("ann", Some("acme")).await, (1, vec![carried[0].id.clone()]));
    assert_eq!(of("nobody", None).await, (0, vec![]));
    assert_eq!(of("", None).await, (0, vec![]));
    org.store.update_account(Account { external_user_id: None, version: 2, ..carried[2].clone() }).await.expect("changes");
    assert_eq!(of("ann", None).await, (1, vec![carried[0].id.clone()]));
}
