//! People who sign in.

use millrace_model::ids::{LinkId, OrgId, SessionId, UserId};
use millrace_model::people::{Link, LinkKind, Login, Role, Session};
use millrace_model::tenant::{ApiKey, OauthClient, Scope, Scopes, User};

use super::Database;
use super::oauth_clients::client;
use super::sample::{IDS, Org, at};
use crate::{Identity, StoreError, StoreResult, UsedLink};

fn link(org: &OrgId, kind: LinkKind, email: &str) -> Link {
    let id = LinkId::generate(&IDS);
    Link {
        token_hash: format!("hash of {id}"),
        id,
        kind,
        org_id: org.clone(),
        user_id: None,
        email: email.into(),
        role: Some(Role::Viewer),
        made_by: None,
        created_at: at(1),
        expires_at: at(100),
    }
}

fn login_as(user: &UserId, email: &str, password_hash: Option<&str>, n: i64) -> Login {
    Login {
        user_id: user.clone(),
        email: email.into(),
        password_hash: password_hash.map(str::to_owned),
        changed_at: at(n),
    }
}

fn session(org: &Org, n: i64) -> Session {
    let id = SessionId::generate(&IDS);
    Session {
        token_hash: format!("hash of {id}"),
        id,
        user_id: org.user.clone(),
        org_id: org.id.clone(),
        address: "10.0.0.1".into(),
        user_agent: "a browser\0".into(),
        created_at: at(n),
        used_at: at(n),
        expires_at: at(1_000),
    }
}

pub async fn a_link_is_used_once_and_makes_a_login(database: &dyn Database) {
    let org = Org::first(database).await;
    assert!(!org.store.has_logins().await.expect("reads"));
    let user = org.store.user(&org.user).await.expect("reads").expect("is there");
    let login = login_as(&user.id, "mara@x.test", Some("$argon2id$"), 2);
    let made = link(&org.id, LinkKind::Setup, "mara@x.test");
    org.store.put_link(made.clone(), None).await.expect("stores");
    assert_eq!(org.store.link(&made.token_hash).await.expect("reads"), Some(made.clone()));
    let used = UsedLink {
        link: Some(made.id.clone()),
        user: user.clone(),
        login: Some(login.clone()),
        joins: None,
        identity: None,
        ends_password: false,
        at: at(2),
    };
    org.store.use_link(used.clone()).await.expect("uses");
    assert!(matches!(org.store.use_link(used).await, Err(StoreError::NotFound)));
    assert_eq!(org.store.login("mara@x.test").await.expect("reads"), Some(login.clone()));
    assert_eq!(org.store.login_of(&user.id).await.expect("reads"), Some(login));
    assert!(org.store.has_logins().await.expect("reads"));
    // Another person has another address.
    let second = Org::another(&org.store, "second").await;
    let other = org.store.user(&second.user).await.expect("reads").expect("is there");
    let made = link(&second.id, LinkKind::Setup, "mara@x.test");
    org.store.put_link(made.clone(), None).await.expect("stores");
    let login = login_as(&other.id, "mara@x.test", None, 3);
    let used = UsedLink {
        link: Some(made.id),
        user: other,
        login: Some(login),
        joins: None,
        identity: None,
        ends_password: false,
        at: at(3),
    };
    assert!(matches!(org.store.use_link(used).await, Err(StoreError::Taken("email"))));
    assert!(org.store.link(&made.token_hash).await.expect("reads").is_some(), "nothing changed");
    // A later invitation is in the place of an earlier one.
    let (earlier, later) = (
        link(&org.id, LinkKind::Invitation, "jo@x.test"),
        link(&org.id, LinkKind::Invitation, "jo@x.test"),
    );
    for made in [&earlier, &later] {
        org.store.put_link(made.clone(), None).await.expect("stores");
    }
    assert_eq!(
        org.store.links(&org.id, LinkKind::Invitation).await.expect("reads"),
        [later.clone()]
    );
    assert!(
        !org.store.delete_link(&second.id, LinkKind::Invitation, &later.id).await.expect("answers")
    );
    assert!(
        org.store.delete_link(&org.id, LinkKind::Invitation, &later.id).await.expect("answers")
    );
}

pub async fn mail_of_an_organization_follows_the_owner_whom_it_was_made_with(
    database: &dyn Database,
) {
    let org = Org::first(database).await;
    let user = org.store.user(&org.user).await.expect("reads").expect("is there");
    let made_with = org.store.organization(&org.id).await.expect("reads").expect("is there").email;
    // The first of them is another address than the organization's, which stays until its owner had
    // that one.
    for (email, then) in [
        ("elsewhere@x.test", made_with.as_str()),
        (made_with.as_str(), made_with.as_str()),
        ("mara@x.test", "mara@x.test"),
    ] {
        let named = User { email: email.into(), ..user.clone() };
        org.store
            .use_link(UsedLink {
                link: None,
                user: named,
                login: None,
                joins: None,
                identity: None,
                ends_password: false,
                at: at(2),
            })
            .await
            .expect("stores");
        assert_eq!(
            org.store.organization(&org.id).await.expect("reads").expect("is there").email,
            then,
            "{email}"
        );
    }
}

pub async fn a_provider_lets_a_person_in_without_a_link_and_is_told_from_others(
    database: &dyn Database,
) {
    let org = Org::first(database).await;
    let user = org.store.user(&org.user).await.expect("reads").expect("is there");
    let identity =
        |subject: &str| Identity { issuer: "https://id.test".into(), subject: subject.into() };
    let login = login_as(&user.id, "mara@x.test", None, 2);
    let used = UsedLink {
        link: None,
        user: user.clone(),
        login: Some(login),
        joins: None,
        identity: Some(identity("s-1")),
        ends_password: false,
        at: at(2),
    };
    for _ in 0..2 {
        org.store.use_link(used.clone()).await.expect("nothing is used up");
    }
    assert_eq!(
        org.store.user_of_identity(&identity("s-1")).await.expect("reads"),
        Some(user.id.clone())
    );
    assert_eq!(org.store.user_of_identity(&identity("s-2")).await.expect("reads"), None);
    assert_eq!(
        org.store.subject_of("https://id.test", &user.id).await.expect("reads").as_deref(),
        Some("s-1")
    );
    assert_eq!(org.store.subject_of("https://other.test", &user.id).await.expect("reads"), None);
    // Invitations of all organizations, and no other links.
    let second = Org::another(&org.store, "second").await;
    let (first, other) = (
        link(&org.id, LinkKind::Invitation, "jo@x.test"),
        link(&second.id, LinkKind::Invitation, "jo@x.test"),
    );
    for made in [
        &first,
        &other,
        &link(&org.id, LinkKind::Setup, "jo@x.test"),
        &link(&org.id, LinkKind::Invitation, "mo@x.test"),
    ] {
        org.store.put_link(made.clone(), None).await.expect("stores");
    }
    let mut found: Vec<_> = org
        .store
        .invitations_for("jo@x.test")
        .await
        .expect("reads")
        .into_iter()
        .map(|link| link.id)
        .collect();
    found.sort();
    let mut made = vec![first.id, other.id];
    made.sort();
    assert_eq!(found, made);
}

pub async fn a_session_names_its_caller_with_the_role_of_now(database: &dyn Database) {
    let org = Org::first(database).await;
    let (first, second, third) = (session(&org, 1), session(&org, 2), session(&org, 3));
    for made in [&first, &second, &third] {
        org.store.create_session(made.clone(), 2, None).await.expect("stores");
    }
    let ids = async || {
        org.store
            .sessions(&org.user)
            .await
            .expect("reads")
            .into_iter()
            .map(|s| s.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(ids().await, [third.id.clone(), second.id.clone()], "the oldest is gone");
    let caller =
        async |s: &Session| org.store.caller_by_session_hash(&s.token_hash).await.expect("reads");
    let (found, used_at) = caller(&second).await.expect("a caller");
    assert_eq!(
        (&found.org_id, found.session.as_ref(), found.scopes.clone(), used_at),
        (&org.id, Some(&second.id), Role::Owner.scopes(), at(2))
    );
    org.store.use_session(&second.id, at(9)).await.expect("writes");
    assert_eq!(caller(&second).await.map(|(_, used_at)| used_at), Some(at(9)));
    // Of an organization that the person does not belong to it sees nothing.
    let other = Org::another(&org.store, "second").await;
    assert!(!org.store.switch_session(&second.id, &other.id).await.expect("answers"));
    assert!(!org.store.end_session(&other.user, &second.id).await.expect("answers"));
    assert!(org.store.end_session(&org.user, &second.id).await.expect("answers"));
    assert!(caller(&second).await.is_none() && caller(&third).await.is_some());
}

pub async fn an_owner_who_can_sign_in_stays(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = org.store.user(&org.user).await.expect("reads").expect("is there");
    let other = Org::another(&org.store, "second").await;
    let user = org.store.user(&other.user).await.expect("reads").expect("is there");
    for (user, email) in [(owner, "a@x.test"), (user, "b@x.test")] {
        let made = link(&org.id, LinkKind::Invitation, email);
        org.store.put_link(made.clone(), None).await.expect("stores");
        let login = login_as(&user.id, email, None, 1);
        let used = UsedLink {
            link: Some(made.id),
            user,
            login: Some(login),
            joins: Some((org.id.clone(), Role::Viewer)),
            identity: None,
            ends_password: false,
            at: at(5),
        };
        org.store.use_link(used).await.expect("uses");
    }
    let roles = async || {
        org.store
            .members(&org.id)
            .await
            .expect("reads")
            .into_iter()
            .map(|m| (m.role, m.signs_in))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        roles().await,
        [(Role::Owner, true), (Role::Viewer, true)],
        "who was a member keeps the role"
    );
    let of_other = org.store.memberships(&other.user).await.expect("reads");
    assert_eq!(of_other.iter().map(|(o, role)| (o.id.clone(), *role)).collect::<Vec<_>>().len(), 2);
    assert!(!org.store.set_role(&org.id, &org.user, Role::Member).await.expect("answers"));
    assert!(!org.store.remove_member(&org.id, &org.user).await.expect("answers"));
    assert!(org.store.set_role(&org.id, &other.user, Role::Owner).await.expect("answers"));
    assert!(org.store.remove_member(&org.id, &org.user).await.expect("answers"));
    assert_eq!(roles().await, [(Role::Owner, true)]);
    assert!(matches!(org.store.remove_member(&org.id, &org.user).await, Err(StoreError::NotFound)));
    assert!(matches!(
        org.store.set_role(&org.id, &org.user, Role::Owner).await,
        Err(StoreError::NotFound)
    ));
}

pub async fn a_right_is_within_the_role_that_its_maker_has_now(database: &dyn Database) {
    let org = Org::first(database).await;
    let maker = Org::another(&org.store, "second").await.user;
    let rights = async || {
        let key = ApiKey { user_id: maker.clone(), ..org.api_key() };
        let (user_id, scopes) = (maker.clone(), Scopes::full());
        let client = OauthClient { user_id, scopes, ..client(&org, 0) };
        let of = link(&org.id, LinkKind::Invitation, "jo@x.test");
        let link = Link { made_by: Some(maker.clone()), ..of };
        [
            org.store.create_api_key(key).await,
            org.store.create_oauth_client(client).await,
            org.store.put_link(link, Some(&org.id)).await,
        ]
    };
    let refused = |made: &StoreResult<()>| matches!(made, Err(StoreError::NotAllowed));
    assert!(rights().await.iter().all(refused), "no member");
    let made = link(&org.id, LinkKind::Invitation, "second@x.test");
    org.store.put_link(made.clone(), None).await.expect("stores");
    let user = org.store.user(&maker).await.expect("reads").expect("is there");
    let joins = Some((org.id.clone(), Role::Owner));
    let link = Some(made.id);
    let used = UsedLink {
        link,
        user,
        login: None,
        joins,
        identity: None,
        ends_password: false,
        at: at(5),
    };
    org.store.use_link(used).await.expect("uses");
    assert!(rights().await.iter().all(Result::is_ok), "an owner");
    assert!(org.store.set_role(&org.id, &maker, Role::Member).await.expect("answers"));
    let made = rights().await;
    assert!(made.iter().all(refused), "an owner no more: {made:?}");
    let scopes = Scopes::one(Scope::Deploy);
    let less = ApiKey { user_id: maker.clone(), scopes, ..org.api_key() };
    org.store.create_api_key(less).await.expect("what a member may do");
    assert!(org.store.remove_member(&org.id, &maker).await.expect("answers"));
    assert!(rights().await.iter().all(refused), "a member no more");
}

pub async fn a_session_begins_with_the_password_of_now(database: &dyn Database) {
    let org = Org::first(database).await;
    let user = org.store.user(&org.user).await.expect("reads").expect("is there");
    let login = |hash: &str| login_as(&user.id, "mara@x.test", Some(hash), 2);
    let used = UsedLink {
        link: None,
        user: user.clone(),
        login: Some(login("old")),
        joins: None,
        identity: None,
        ends_password: false,
        at: at(5),
    };
    org.store.use_link(used).await.expect("a login");
    let begin = async |shown| org.store.create_session(session(&org, 1), 9, shown).await;
    begin(Some("old")).await.expect("the password of now");
    org.store.update_login(Some("old"), login("new"), None).await.expect("changes");
    assert!(matches!(begin(Some("old")).await, Err(StoreError::NotAllowed)));
    let late = org.store.update_login(Some("old"), login("theirs"), None).await;
    assert!(matches!(late, Err(StoreError::NotAllowed)));
    assert!(org.store.sessions(&org.user).await.expect("reads").is_empty());
    begin(Some("new")).await.expect("the other one");
    begin(None).await.expect("no password");
}

/// Who makes a link may use it: what it can do ends before the password opens more.
pub async fn what_sets_a_password_ends_where_its_person_joins_another_organization(
    database: &dyn Database,
) {
    let org = Org::first(database).await;
    let second = Org::another(&org.store, "second").await;
    let user = org.store.user(&org.user).await.expect("reads").expect("is there");
    let login = login_as(&user.id, "mara@x.test", Some("theirs"), 2);
    let reset = async || {
        let of = link(&org.id, LinkKind::Reset, "mara@x.test");
        let link = Link { user_id: Some(user.id.clone()), ..of };
        org.store.put_link(link.clone(), None).await.expect("stores");
        link.token_hash
    };
    let used = |login, joins, ends_password| UsedLink {
        link: None,
        user: user.clone(),
        login,
        joins,
        identity: None,
        ends_password,
        at: at(3),
    };
    org.store.use_link(used(Some(login), None, false)).await.expect("a login");
    org.store.create_session(session(&org, 1), 9, Some("theirs")).await.expect("begins");
    let made = reset().await;
    let joins = Some((second.id.clone(), Role::Owner));
    org.store.use_link(used(None, joins, false)).await.expect("joins");
    assert!(org.store.link(&made).await.expect("reads").is_none(), "the link ended");
    assert_eq!(org.store.sessions(&user.id).await.expect("reads").len(), 1, "sessions go on");
    let made = reset().await;
    org.store.use_link(used(None, None, true)).await.expect("signs in by a provider");
    let left = org.store.login_of(&user.id).await.expect("reads").expect("the login stays");
    assert_eq!((left.password_hash, left.changed_at), (None, at(3)));
    assert!(org.store.sessions(&user.id).await.expect("reads").is_empty());
    assert!(org.store.link(&made).await.expect("reads").is_none());
    let late = org.store.create_session(session(&org, 1), 9, Some("theirs")).await;
    assert!(matches!(late, Err(StoreError::NotAllowed)));
}
