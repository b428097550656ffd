//! Refresh of access tokens: one request at a time for an account, in the background while the
//! token has not ended.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millrace_model::Timestamp;
use millrace_model::account::{Account, App, OauthClient};
use millrace_model::ids::AccountId;
use millrace_model::tenant::Caller;
use millrace_store::StoreError;
use oauth2::RefreshToken;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::{oneshot, watch};

use super::{Failure, failure, take_over, token_life};
use crate::EngineError;
use crate::tenants::accounts::{AccountView, Accounts};
use crate::tenants::token_answers::BoundedClient;

/// How long after a provider gave no token it is not asked again.
const AGAIN_MS: i64 = 10 * 1000;
/// How long a run with a good token waits for a refresh, from the refresh's beginning.
const MOMENT: Duration = Duration::from_secs(1);
/// For how long a server that began to refresh a token is waited for.
const REFRESH_MAX: Duration = Duration::from_secs(30);
/// How often it is looked whether another server has refreshed a token.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How often, and how long apart, a new token is stored again after a failure of the database: the
/// provider may take the one before no more.
const STORE_TRIES: u32 = 10;
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// The key of `$auth` with which tokens are refreshed.
pub(in crate::tenants) const REFRESH_TOKEN: &str = "oauth_refresh_token";

/// Refreshes that this server makes in the background, by account.
#[derive(Default)]
pub(in crate::tenants) struct Refreshes(Mutex<HashMap<AccountId, Running>>);

/// A refresh in the background; `done` is closed when it ends.
#[derive(Clone)]
struct Running {
    began: Instant,
    done: watch::Receiver<()>,
}

/// Whether an account needs another token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// Its token is good, there is nothing to refresh it with before it ends, or its provider was
    /// asked in vain just now.
    Nothing,
    /// Its token is good, and ends soon.
    Soon,
    /// Its token ended.
    Now,
}

impl Accounts {
    /// The account with a token that is good. One that ends soon is refreshed in the background,
    /// and used all the same where the refresh takes longer than a moment; one that ended is waited
    /// for.
    pub(crate) async fn fresh(self: &Arc<Self>, account: Account) -> Result<Account, EngineError> {
        match self.need(&account) {
            Need::Nothing => Ok(account),
            Need::Now => self.refreshed_in_own_task(account).await,
            Need::Soon => {
                let Running { began, mut done } = self.refresh_in_background(&account);
                let rest = MOMENT.saturating_sub(began.elapsed());
                if tokio::time::timeout(rest, done.changed()).await.is_err() {
                    return Ok(account);
                }
                let current = self.ctx.store.account(&account.org_id, &account.id).await?;
                Ok(current.unwrap_or(account))
            }
        }
    }

    /// An account after its provider was asked for a token now, where it gave one to refresh it
    /// with.
    pub async fn check(
        self: &Arc<Self>,
        caller: &Caller,
        id: &AccountId,
    ) -> Result<AccountView, EngineError> {
        let account = self.find(caller, id).await?;
        let account = self.refreshed(account, true).await?;
        self.show(caller, account, false).await
    }

    /// The refresh of the account's token that runs, or one that begins.
    fn refresh_in_background(self: &Arc<Self>, account: &Account) -> Running {
        let mut running = self.refreshes.0.lock();
        if let Some(running) = running.get(&account.id) {
            return running.clone();
        }
        let (ends, done) = watch::channel(());
        let begun = Running { began: Instant::now(), done };
        running.insert(account.id.clone(), begun.clone());
        // The end of the task takes this lock, and a runtime that shuts down ends it at once.
        drop(running);
        let end = EndOfRefresh { accounts: self.clone(), id: account.id.clone(), _ends: ends };
        let account = account.clone();
        self.ctx.tasks.spawn(async move {
            if let Err(error) = end.accounts.refreshed(account, false).await {
                tracing::error!(account.id = %end.id, error = %error, "a token could not be refreshed");
            }
        });
        begun
    }

    /// Refreshes the token in a task of its own: a client that disconnects drops its request, and
    /// the provider may have replaced the refresh token by then.
    async fn refreshed_in_own_task(
        self: &Arc<Self>,
        account: Account,
    ) -> Result<Account, EngineError> {
        let (accounts, (answer, refreshed)) = (self.clone(), oneshot::channel());
        self.ctx.tasks.spawn(async move {
            // Nobody may wait for it any more.
            let _ = answer.send(accounts.refreshed(account, false).await);
        });
        refreshed.await.map_err(|e| EngineError::internal("a refresh of a token ended early", e))?
    }

    /// Refreshes the token, one at a time: what another obtained meanwhile is taken. Without a
    /// need only where it is `asked` for.
    async fn refreshed(&self, account: Account, asked: bool) -> Result<Account, EngineError> {
        let _turn = self.ctx.changes.turn(account.id.as_str()).await;
        let Some(current) = self.ctx.store.account(&account.org_id, &account.id).await? else {
            return Ok(account);
        };
        let is_another = current.expires_at != account.expires_at
            || (asked && current.version != account.version);
        if is_another || (!asked && self.need(&current) == Need::Nothing) {
            return Ok(current);
        }
        self.refresh_once(current).await
    }

    /// Whether the account needs another token. A provider that gave none just now is not asked.
    fn need(&self, account: &Account) -> Need {
        let now = self.ctx.now();
        if !token_life::may_end_soon(account, now) {
            return Need::Nothing;
        }
        let Some(end) = account.expires_at else { return Need::Nothing };
        let failed = account.problem.is_some() || !account.healthy;
        let is_good = end > now;
        if failed && account.updated_at.plus_ms(AGAIN_MS) > now && (is_good || !account.healthy) {
            return Need::Nothing;
        }
        if !is_good {
            return Need::Now;
        }
        // What cannot be opened fails where it is used.
        let values = self.open_sealed(account).unwrap_or_default();
        if !values.contains_key(REFRESH_TOKEN) {
            return Need::Nothing;
        }
        let ahead = token_life::ahead_ms(account, life_of(&values));
        if end <= now.plus_ms(ahead) { Need::Soon } else { Need::Nothing }
    }

    /// Refreshes the token, or waits for another server that does. A change that leaves the need
    /// as it was, such as another name, ends neither.
    async fn refresh_once(&self, mut account: Account) -> Result<Account, EngineError> {
        let began = Instant::now();
        let need = self.need(&account);
        loop {
            let (now, version) = (self.ctx.now(), account.version);
            let until = now.plus_ms(i64::try_from(REFRESH_MAX.as_millis()).unwrap_or(i64::MAX));
            if self.ctx.store.claim_refresh(&account.id, version, now, until).await? {
                let id = account.id.clone();
                let done = self.refresh(account).await;
                // A claim that stays ends by itself; the token is good all the same.
                if let Err(error) = self.ctx.store.release_refresh(&id, until).await {
                    tracing::warn!(account.id = %id, %error, "the claim of a refresh stays for now");
                }
                return done;
            }
            if began.elapsed() > REFRESH_MAX {
                return Ok(account);
            }
            tokio::time::sleep(LOOK_EVERY).await;
            let Some(current) = self.ctx.store.account(&account.org_id, &account.id).await? else {
                return Ok(account);
            };
            let is_another = current.expires_at != account.expires_at;
            if current.version != version && (is_another || self.need(&current) != need) {
                return Ok(current);
            }
            account = current;
        }
    }

    async fn refresh(&self, account: Account) -> Result<Account, EngineError> {
        let Some(app) = self.apps.find(&account.org_id, &account.app).await? else {
            return Ok(account);
        };
        let credentials = self.open_sealed(&account)?;
        let token = credentials.get(REFRESH_TOKEN).and_then(Value::as_str);
        let (Some(client), Some(token)) = (&app.definition.oauth, token.map(str::to_owned)) else {
            return if account.expires_at.is_some_and(|at| at <= self.ctx.now()) {
                let problem = "its token ended, and the provider gave none to refresh it";
                self.with_problem(account, problem.into(), (false, None)).await
            } else {
                Ok(account)
            };
        };
        match self.refreshed_tokens(&app, client, &credentials, &token).await? {
            Ok(tokens) => {
                let before = life_of(&credentials).or_else(|| life_of_record(&account));
                let mut values = Map::new();
                let life = take_over(&mut values, client, &tokens, self.ctx.now());
                // A provider that names no end again keeps to the one it named before.
                self.store_refreshed(account, &token, &values, life.or(before)).await
            }
            Err(Failure { why, is_final: true }) => {
                let problem =
                    format!("{} refused to refresh its token: {why}", app.definition.name);
                self.with_problem(account, problem, (false, None)).await
            }
            Err(Failure { why, is_final: false }) => self.not_refreshed(account, &app, &why).await,
        }
    }

    /// The provider's answer to a refresh token.
    async fn refreshed_tokens(
        &self,
        app: &App,
        client: &OauthClient,
        credentials: &Map<String, Value>,
        token: &str,
    ) -> Result<Result<super::Tokens, Failure>, EngineError> {
        let (provider, secrets) = self.provider(app, client)?;
        let access_token = credentials.get("oauth_access_token").and_then(Value::as_str);
        let secrets = secrets.and(token).and(access_token.unwrap_or_default());
        let http = match self.provider_client(&client.token_url).await {
            Ok(http) => http,
            Err(why) => return Ok(Err(Failure { why: why.to_string(), is_final: false })),
        };
        let token = RefreshToken::new(token.to_owned());
        let answer =
            provider.exchange_refresh_token(&token).request_async(&BoundedClient(http)).await;
        Ok(answer.map_err(|error| failure(&error, &secrets)))
    }

    /// The provider gave no token for now, and is asked again. An account works until its token
    /// ends.
    async fn not_refreshed(
        &self,
        account: Account,
        app: &App,
        why: &str,
    ) -> Result<Account, EngineError> {
        let (name, end) = (&app.definition.name, account.expires_at);
        let (healthy, problem) = match end {
            Some(end) if end <= self.ctx.now() => {
                (false, format!("its token ended, and {name} gave no other: {why}"))
            }
            Some(end) => {
                let end = end.iso();
                (true, format!("{name} did not refresh its token, good until {end}: {why}"))
            }
            None => (account.healthy, format!("{name} did not refresh its token: {why}")),
        };
        self.with_problem(account, problem, (healthy, end)).await
    }

    /// Records why no token came. An account that has an end still, `expires_at`, is asked for
    /// again; without one only who connects it again mends it.
    async fn with_problem(
        &self,
        account: Account,
        problem: String,
        (healthy, expires_at): (bool, Option<Timestamp>),
    ) -> Result<Account, EngineError> {
        tracing::warn!(account.id = %account.id, healthy, problem, "the token of an account was not refreshed");
        let changed = Account {
            healthy,
            problem: Some(problem),
            expires_at,
            version: account.version + 1,
            updated_at: self.ctx.now(),
            ..account
        };
        match self.ctx.store.update_account(changed.clone()).await {
            // Whoever changed it meanwhile knows better.
            Err(StoreError::StateChanged) => {
                Ok(self.ctx.store.account(&changed.org_id, &changed.id).await?.unwrap_or(changed))
            }
            done => Ok(done.map(|()| changed)?),
        }
    }

    /// Stores the tokens that a refresh token gave. Names and fields that others changed meanwhile
    /// stay; where another token was stored, as by a new connection, these are not needed.
    async fn store_refreshed(
        &self,
        mut account: Account,
        refresh_token: &str,
        tokens: &Map<String, Value>,
        life: Option<i64>,
    ) -> Result<Account, EngineError> {
        let mut tries = 0;
        loop {
            match self.store_tokens(&account, tokens, life).await {
                Ok(Some(stored)) => return Ok(stored),
                Ok(None) => {}
                Err(error) if tries < STORE_TRIES => {
                    tries += 1;
                    tracing::warn!(account.id = %account.id, %error, "the new token of an account could not be stored; trying again");
                    tokio::time::sleep(STORE_PAUSE).await;
                    continue;
                }
                Err(error) => return Err(error),
            }
            let current = self.ctx.store.account(&account.org_id, &account.id).await?;
            account = current.ok_or_else(|| EngineError::not_found("account", &account.id))?;
            if self.open_sealed(&account)?.get(REFRESH_TOKEN) != Some(&refresh_token.into()) {
                return Ok(account);
            }
        }
    }

    /// Stores values with a token that lives for `life` milliseconds beside those that the account
    /// has. None: the account was changed meanwhile.
    pub(super) async fn store_tokens(
        &self,
        account: &Account,
        values: &Map<String, Value>,
        life: Option<i64>,
    ) -> Result<Option<Account>, EngineError> {
        let now = self.ctx.now();
        let mut credentials = self.open_sealed(account)?;
        credentials.extend(values.clone());
        note_life(&mut credentials, life);
        let changed = Account {
            credentials: self.seal_credentials(&account.id, &credentials)?,
            healthy: true,
            problem: None,
            expires_at: life.map(|life| now.plus_ms(life)),
            version: account.version + 1,
            updated_at: now,
            ..account.clone()
        };
        match self.ctx.store.update_account(changed.clone()).await {
            Err(StoreError::StateChanged) => Ok(None),
            done => Ok(done.map(|()| Some(changed))?),
        }
    }
}

/// Ends a refresh in the background, also where its task is dropped.
struct EndOfRefresh {
    accounts: Arc<Accounts>,
    id: AccountId,
    _ends: watch::Sender<()>,
}

impl Drop for EndOfRefresh {
    fn drop(&mut self) {
        self.accounts.refreshes.0.lock().remove(&self.id);
    }
}

/// Keeps a token's lifetime beside the values of its account.
pub(super) fn note_life(credentials: &mut Map<String, Value>, life: Option<i64>) {
    match life {
        Some(life) => credentials.insert(token_life::LIFE.into(), life.into()),
        None => credentials.remove(token_life::LIFE),
    };
}

fn life_of(credentials: &Map<String, Value>) -> Option<i64> {
    credentials.get(token_life::LIFE)?.as_i64()
}

/// The lifetime of a token that an older version stored.
fn life_of_record(account: &Account) -> Option<i64> {
    let life = account.expires_at?.since(account.updated_at);
    (life > 0).then_some(life)
}
