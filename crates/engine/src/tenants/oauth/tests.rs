//! Refresh of tokens tested alone: with a provider that the test holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use millrace_model::account::{Account, AppDefinition, AuthType, OauthClient};
use millrace_model::egress::{Policy, Shared};
use millrace_model::ids::DataKeyId;
use millrace_model::tenant::Caller;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::reach::Reach;
use crate::tenants::accounts::{Accounts, UpdateAccount};
use crate::tenants::apps::{Apps, NewApp};
use crate::tenants::keys::Keys;
use crate::tenants::oauth::{self, token_life};
use crate::tenants::organizations::Organizations;
use crate::tenants::secrets::Keyring;
use crate::test_ctx::TestCtx;
use crate::{EngineConfig, EngineError};

/// A token endpoint: its answers, which it holds back while there is none.
#[derive(Clone, Default)]
struct Provider {
    answer: Arc<Mutex<Option<(u16, Value)>>>,
    asked: Arc<AtomicUsize>,
}

impl Provider {
    async fn start(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let provider = self.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let provider = provider.clone();
                tokio::spawn(async move {
                    let mut request = [0; 4096];
                    let _ = stream.read(&mut request).await;
                    provider.asked.fetch_add(1, Ordering::SeqCst);
                    loop {
                        let answer = provider.answer.lock().clone();
                        if let Some((status, body)) = answer {
                            let body = body.to_string();
                            let head = format!(
                                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                                body.len()
                            );
                            return stream.write_all((head + &body).as_bytes()).await;
                        }
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                });
            }
        });
        url
    }

    fn says(&self, status: u16, body: Value) {
        *self.answer.lock() = Some((status, body));
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

struct Fixture {
    test: TestCtx,
    accounts: Arc<Accounts>,
    provider: Provider,
    caller: Caller,
    account: Account,
}

/// An account whose token lives for so many milliseconds.
async fn fixture(life: i64) -> Fixture {
    let test = TestCtx::new(EngineConfig::default());
    let ring = Arc::new(Keyring::new(vec![(DataKeyId::from_row("dk_1".into()), [7; 32])]));
    let mut key = String::new();
    let organizations = Organizations::new(test.ctx.clone());
    let made = organizations.bootstrap::<EngineError>("o@a.test", |first| {
        key.clone_from(&first.api_key);
        Ok(())
    });
    made.await.expect("makes the first organization");
    let keys = Keys::new(test.ctx.clone(), ring.clone());
    let caller = keys.authenticate(&key, None).await.expect("its key is taken");
    let provider = Provider::default();
    let url = provider.start().await;
    let apps = Arc::new(Apps::new(test.ctx.clone(), ring.clone()));
    let client = OauthClient {
        authorize_url: url.clone(),
        token_url: url,
        client_id: "client".into(),
        client_secret: "s3cret".into(),
        ..OauthClient::default()
    };
    let definition = AppDefinition {
        name: "Acme".into(),
        auth_type: AuthType::Oauth,
        description: None,
        img_src: None,
        custom_fields: Vec::new(),
        categories: Vec::new(),
        oauth: Some(client),
        open: false,
    };
    let app = apps.put(&caller, NewApp { name_slug: "acme".into(), definition }).await;
    let allow = vec!["127.0.0.1".parse().expect("an address")];
    let egress = Shared::from(Policy { allow, ..Policy::default() });
    let reach = Arc::new(Reach::new(egress, oauth::common));
    let accounts = Arc::new(Accounts::new(test.ctx.clone(), ring, apps, reach));
    let mut values = tokens("at1", "rt1");
    values.insert(token_life::LIFE.into(), life.into());
    let end = Some(test.ctx.now().plus_ms(life));
    let app = app.expect("registers it");
    let account =
        accounts.insert(&caller, app, None, &values, end).await.expect("is there").account;
    Fixture { test, accounts, provider, caller, account }
}

fn tokens(access: &str, refresh: &str) -> Map<String, Value> {
    let values = json!({ "oauth_access_token": access, "oauth_refresh_token": refresh });
    values.as_object().expect("an object").clone()
}

impl Fixture {
    async fn stored(&self) -> Account {
        let stored = self.test.ctx.store.account(&self.account.org_id, &self.account.id).await;
        stored.expect("reads").expect("is there")
    }

    /// The token that a run gets; None: it fails.
    async fn run(&self) -> Option<String> {
        let account = self.accounts.fresh(self.stored().await).await.expect("answers");
        let values = self.accounts.open_credentials(&account).expect("opens");
        assert!(!values.contains_key(token_life::LIFE));
        account.healthy.then(|| values["oauth_access_token"].as_str().expect("a text").to_owned())
    }

    async fn until_refreshed(&self, version: i64) {
        while self.stored().await.version < version {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn runs_go_on_with_a_good_token_while_their_provider_hangs() {
    let fixture = fixture(300_000).await;
    let good = || Some("at1".to_owned());
    fixture.test.clock.advance_ms(239_999);
    assert_eq!((fixture.run().await, fixture.provider.asked()), (good(), 0));
    fixture.test.clock.advance_ms(1);
    let began = Instant::now();
    assert_eq!(tokio::join!(fixture.run(), fixture.run()), (good(), good()));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(fixture.run().await, good());
    assert_eq!(fixture.provider.asked(), 1);
    // What it answers later is taken by the next run.
    let body = json!({ "access_token": "at2", "refresh_token": "rt2", "expires_in": 300 });
    fixture.provider.says(200, body);
    fixture.until_refreshed(2).await;
    assert_eq!((fixture.run().await, fixture.provider.asked()), (Some("at2".into()), 1));
}

#[tokio::test]
async fn a_provider_that_failed_is_left_alone_for_ten_seconds() {
    let fixture = fixture(300_000).await;
    fixture.provider.says(503, json!({ "message": "no rt1 of client:s3cret" }));
    fixture.test.clock.advance_ms(250_000);
    assert_eq!(fixture.run().await.as_deref(), Some("at1"));
    fixture.until_refreshed(2).await;
    let stored = fixture.stored().await;
    let problem = stored.problem.unwrap_or_default();
    assert!(stored.healthy && problem.ends_with(": no *** of *** (HTTP 503)"), "{problem}");
    fixture.test.clock.advance_ms(9_999);
    assert_eq!((fixture.run().await.as_deref(), fixture.provider.asked()), (Some("at1"), 1));
    fixture.test.clock.advance_ms(40_001);
    // It ended: each run waits for an answer, but not for a second one.
    assert_eq!(tokio::join!(fixture.run(), fixture.run()), (None, None));
    assert_eq!(fixture.provider.asked(), 2);
    fixture.provider.says(200, json!({ "access_token": "at2" }));
    fixture.test.clock.advance_ms(10_000);
    assert_eq!(fixture.run().await.as_deref(), Some("at2"));
    let stored = fixture.stored().await;
    let life = stored.expires_at.map(|end| end.since(fixture.test.ctx.now()));
    assert_eq!((stored.problem, life), (None, Some(300_000)));
}

#[tokio::test]
async fn whoever_waits_for_a_token_takes_the_one_that_comes() {
    let fixture = fixture(0).await;
    let body = json!({ "access_token": "at2", "refresh_token": "rt2", "expires_in": 0 });
    let seen = async {
        let account = fixture.stored().await;
        fixture.test.clock.advance_ms(1);
        let fresh = || fixture.accounts.fresh(account.clone());
        let (a, b, c) = tokio::join!(fresh(), fresh(), fresh());
        [a, b, c].map(|account| account.expect("answers").version)
    };
    fixture.provider.says(200, body);
    assert_eq!((seen.await, fixture.provider.asked()), ([2, 2, 2], 1));
}

#[tokio::test]
async fn tokens_are_kept_that_come_while_their_account_changes() {
    let fixture = fixture(0).await;
    let rename = async {
        while fixture.provider.asked() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let update = UpdateAccount { name: Some("Other".into()), ..UpdateAccount::default() };
        fixture
            .accounts
            .update(&fixture.caller, &fixture.account.id, update)
            .await
            .expect("renames");
        let body = json!({ "access_token": "at2", "refresh_token": "rt2", "expires_in": 60 });
        fixture.provider.says(200, body);
    };
    let (token, ()) = tokio::join!(fixture.run(), rename);
    assert_eq!((token.as_deref(), fixture.stored().await.name.as_str()), (Some("at2"), "Other"));
}

#[tokio::test]
async fn tokens_are_stored_also_where_the_request_that_needed_them_was_dropped() {
    let fixture = fixture(0).await;
    let account = fixture.stored().await;
    let waits = tokio::time::timeout(Duration::from_millis(50), fixture.accounts.fresh(account));
    assert!(waits.await.is_err());
    let body = json!({ "access_token": "at2", "refresh_token": "rt2", "expires_in": 60 });
    fixture.provider.says(200, body);
    fixture.until_refreshed(2).await;
    assert_eq!((fixture.run().await, fixture.provider.asked()), (Some("at2".into()), 1));
}

#[tokio::test]
async fn a_token_without_a_refresh_token_is_used_until_it_ends() {
    let fixture = fixture(300_000).await;
    let mut values = tokens("at1", "rt1");
    values.remove("oauth_refresh_token");
    values.insert(token_life::LIFE.into(), json!(300_000));
    let account = fixture.stored().await;
    let changed = Account {
        credentials: fixture.accounts.seal_credentials(&account.id, &values).expect("seals"),
        version: 2,
        ..account
    };
    fixture.test.ctx.store.update_account(changed).await.expect("stores");
    fixture.test.clock.advance_ms(299_999);
    assert_eq!(fixture.run().await.as_deref(), Some("at1"));
    fixture.test.clock.advance_ms(1);
    assert_eq!((fixture.run().await, fixture.provider.asked()), (None, 0));
}

#[tokio::test]
async fn a_token_of_ones_own_is_not_replaced_by_a_refresh() {
    let fixture = fixture(300_000).await;
    let (accounts, id) = (&fixture.accounts, &fixture.account.id);
    let own = json!({ "oauth_access_token": "own" });
    let update =
        UpdateAccount { credentials: own.as_object().cloned(), ..UpdateAccount::default() };
    accounts.update(&fixture.caller, id, update).await.expect("changes it");
    accounts.check(&fixture.caller, id).await.expect("checks it");
    assert_eq!((fixture.run().await.as_deref(), fixture.provider.asked()), (Some("own"), 0));
}
