//! Tenants tested alone: with a database of their own and a clock that the test moves.

use std::sync::Arc;
use std::time::Duration;

use millrace_model::ids::DataKeyId;
use millrace_model::people::Login;
use millrace_model::tenant::{ApiKey, Caller, Scopes};

use super::keys::{Keys, NewApiKey};
use super::links::LinkAnswer;
use super::organizations::{NewOrganization, Organizations};
use super::people::{Client, People};
use super::secrets::Keyring;
use crate::test_ctx::TestCtx;
use crate::{EngineConfig, EngineError};

struct Server {
    test: TestCtx,
    keys: Arc<Keys>,
    organizations: Organizations,
    /// Of the organization that was made first.
    caller: Caller,
}

async fn server() -> Server {
    let test = TestCtx::new(EngineConfig::default());
    let ring = Keyring::new(vec![(DataKeyId::from_row("dk_1".into()), [7; 32])]);
    let keys = Arc::new(Keys::new(test.ctx.clone(), Arc::new(ring)));
    let organizations = Organizations::new(test.ctx.clone());
    let mut shown = String::new();
    organizations
        .bootstrap::<EngineError>("owner@a.test", |first| {
            shown.clone_from(&first.api_key);
            Ok(())
        })
        .await
        .expect("makes the first organization");
    let caller = keys.authenticate(&shown, None).await.expect("the first key is taken");
    Server { test, keys, organizations, caller }
}

impl Server {
    async fn key(&self, ends_in_ms: Option<i64>) -> (ApiKey, String) {
        let new = NewApiKey {
            name: "a key".into(),
            scopes: Scopes::full(),
            rate_per_minute: None,
            expires_at: ends_in_ms.map(|ms| self.test.ctx.now().plus_ms(ms)),
        };
        self.keys.create(&self.caller, new).await.expect("makes a key")
    }

    async fn is_taken(&self, key: &str) -> bool {
        match self.keys.authenticate(key, None).await {
            Ok(_) => true,
            Err(EngineError::Unauthorized) => false,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_key_ends_at_its_time() {
    let server = server().await;
    let (_, text) = server.key(Some(60_000)).await;
    let (_, lasting) = server.key(None).await;
    server.test.clock.advance_ms(59_999);
    assert!(server.is_taken(&text).await);
    server.test.clock.advance_ms(1);
    assert!(!server.is_taken(&text).await && server.is_taken(&lasting).await);
}

#[tokio::test]
async fn a_key_watch_notices_a_revocation_at_once() {
    let server = server().await;
    let ((key, text), (_, other)) = (server.key(None).await, server.key(None).await);
    let watch = async |key: &str| {
        let caller = server.keys.authenticate(key, None).await.expect("it is taken");
        server.keys.watch(key, &caller.org_id, &caller.scopes)
    };
    let (mut watch, mut other) = (watch(&text).await, watch(&other).await);
    assert!(watch.is_valid().await && other.is_valid().await);
    server.keys.revoke(&server.caller, &key.id).await.expect("revokes it");
    assert!(!watch.is_valid().await && other.is_valid().await);
}

#[tokio::test]
async fn a_rotated_key_goes_on_for_its_grace_only() {
    let server = server().await;
    let (key, before) = server.key(None).await;
    let grace = Duration::from_secs(10);
    let (_, after) = server.keys.rotate(&server.caller, &key.id, grace).await.expect("rotates it");
    assert!(server.is_taken(&before).await && server.is_taken(&after).await);
    server.test.clock.advance_ms(10_000);
    assert!(!server.is_taken(&before).await && server.is_taken(&after).await);
}

#[tokio::test]
async fn what_concerns_the_server_is_for_the_first_organization() {
    let server = server().await;
    let new = NewOrganization { name: "Second".into(), email: "owner@b.test".into() };
    let (_, key) = server.organizations.create(&server.caller, new).await.expect("makes another");
    let second = server.keys.authenticate(&key, None).await.expect("its key is taken");
    assert!(server.organizations.check_first(&server.caller, "no").await.is_ok());
    assert!(matches!(
        server.organizations.check_first(&second, "no").await,
        Err(EngineError::Forbidden("no"))
    ));
}

/// The answer to a password takes one use of argon2, with and without a login: its duration tells
/// neither from the other.
#[tokio::test]
async fn as_much_is_hashed_for_an_address_that_has_no_login_as_for_one_that_has() {
    let Server { test, .. } = server().await;
    let ring = Keyring::new(vec![(DataKeyId::from_row("dk_1".into()), [7; 32])]);
    let people = People::new(test.ctx.clone(), Arc::new(ring));
    let client = Client::default();
    let visit = people.first_visit().await.expect("makes a link").expect("nobody signs in yet");
    let answer = LinkAnswer { password: "a long password".into(), ..LinkAnswer::default() };
    let (_, token) = visit.url.rsplit_once('/').expect("a token");
    people.use_link(token, answer, &client).await.expect("makes a login");
    let login = test.ctx.store.login("owner@a.test").await.expect("reads").expect("a login");
    let spent = async |email: &str, password: &str| {
        let before = people.passwords.hashes();
        let signed_in = people.sign_in(email, password, &client).await;
        (people.passwords.hashes() - before, signed_in.is_ok())
    };
    assert_eq!(spent("owner@a.test", "a long password").await, (1, true));
    assert_eq!(spent("owner@a.test", "another password").await, (1, false));
    assert_eq!(spent("nobody@a.test", "a long password").await, (1, false));
    for password in ["", &"x".repeat(10_000)] {
        assert_eq!(spent("owner@a.test", password).await, (1, false));
        assert_eq!(spent("nobody@a.test", password).await, (1, false));
    }
    // One who signs in with a provider alone has a login without a password.
    let was = login.password_hash.clone();
    let without = Login { password_hash: None, ..login };
    test.ctx.store.update_login(was.as_deref(), without, None).await.expect("writes");
    assert_eq!(spent("owner@a.test", "a long password").await, (1, false));
}
