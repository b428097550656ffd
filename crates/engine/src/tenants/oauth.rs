//! OAuth 2: the authorization code flow with PKCE by the operator's own client, refreshing,
//! revoking.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use millrace_model::Timestamp;
use millrace_model::account::{Account, App, AuthType, Connection, ConnectionState, OauthClient};
use millrace_model::ids::{
    AccountId, ApiKeyId, ConnectionId, OauthClientId, OrgId, SessionId, UserId,
};
use millrace_model::tenant::{Caller, Scope, Scopes};
use millrace_store::StoreError;
use oauth2::basic::{
    BasicErrorResponse, BasicErrorResponseType, BasicRevocationErrorResponse,
    BasicTokenIntrospectionResponse, BasicTokenType,
};
use oauth2::{
    AuthUrl, AuthorizationCode, Client, ClientId, ClientSecret, CsrfToken, EndpointNotSet,
    EndpointSet, ExtraTokenFields, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken,
    RequestTokenError, Scope as ProviderScope, StandardRevocableToken, StandardTokenResponse,
    TokenResponse as _, TokenUrl,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::EngineError;
use crate::answers::AnswerError;
use crate::reach::Unreachable;
use crate::tenants::accounts::{AccountView, Accounts};
use crate::tenants::secrets::sha256_hex;
use crate::tenants::token_answers::{AskFailed, BoundedClient};

/// How long somebody has to log in at the provider.
const STATE_MS: i64 = 15 * 60 * 1000;
/// A token that ends so soon is refreshed before it is used.
const AHEAD_MS: i64 = 5 * 60 * 1000;
/// How long after a provider gave no token it is not asked again.
const AGAIN_MS: i64 = 10 * 1000;
/// How long the provider may take to answer.
const TIMEOUT: Duration = Duration::from_secs(20);
/// For how long a server that began to refresh a token is waited for.
const REFRESH_MAX: Duration = Duration::from_secs(30);
/// How often it is looked whether another server has refreshed a token.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What states are sealed for.
const STATE_OWNER: &str = "oauth state";

/// Whatever else the provider says beside the tokens.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Extra(pub(crate) Map<String, Value>);

impl ExtraTokenFields for Extra {}

pub(crate) type Tokens = StandardTokenResponse<Extra, BasicTokenType>;
pub(crate) type Provider = Client<
    BasicErrorResponse,
    Tokens,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointSet,
>;

/// A connection that was begun.
#[derive(Clone, Debug)]
pub struct ConnectLink {
    /// What was begun; waits until `expires_at`.
    pub connection: Connection,
    /// The provider's page.
    pub url: String,
}

/// What comes back with the user, sealed: nobody else can make one.
#[derive(Serialize, Deserialize)]
struct State {
    connection: ConnectionId,
    org: OrgId,
    user: UserId,
    /// Of the key, or the OAuth client, that began it.
    key: ApiKeyId,
    /// The hash of the key or token that was shown.
    hash: String,
    app: String,
    /// An account that is connected again.
    account: Option<AccountId>,
    name: Option<String>,
    /// The external user for whom it was begun.
    #[serde(default)]
    external_user: Option<String>,
    /// Values of the app's other fields.
    fields: Map<String, Value>,
    verifier: String,
    until: i64,
}

/// An account to be connected at its provider.
#[derive(Clone, Debug)]
pub struct NewConnection {
    /// The app's slug or id.
    pub app: String,
    /// Shown name; the app's where none.
    pub name: Option<String>,
    /// An account that is connected again.
    pub account: Option<AccountId>,
    /// Values of the app's other fields.
    pub fields: Map<String, Value>,
}

impl Accounts {
    /// Begins to connect an account: gives the provider's page. `key`: the key or token that the
    /// caller has shown, with which the connection ends.
    pub async fn connect(
        &self,
        caller: &Caller,
        key: &str,
        new: NewConnection,
    ) -> Result<ConnectLink, EngineError> {
        let app = self.apps.get(caller, &new.app).await?;
        let client = oauth_of(&app)?;
        if let Some(account) = &new.account
            && self.get(caller, account, false).await?.account.app != app.name_slug
        {
            return Err(EngineError::invalid(
                "account_id",
                format!("`{account}` is an account of another app"),
            ));
        }
        let verifier = self.ctx.ids.base62(64);
        let longest = self.ctx.now().plus_ms(STATE_MS);
        let until = caller.ends_at.map_or(longest, |end| end.min(longest));
        let connection = Connection {
            id: ConnectionId::generate(&self.ctx.ids),
            org_id: caller.org_id.clone(),
            app: app.name_slug.clone(),
            external_user_id: caller.external_user_id.clone(),
            state: ConnectionState::Waiting,
            created_at: self.ctx.now(),
            expires_at: until,
        };
        let state = State {
            connection: connection.id.clone(),
            org: caller.org_id.clone(),
            user: caller.user_id.clone(),
            key: caller.key_id.clone(),
            hash: sha256_hex(key.as_bytes()),
            app: app.name_slug.clone(),
            account: new.account,
            name: new.name,
            external_user: caller.external_user_id.clone(),
            fields: new.fields,
            verifier: verifier.clone(),
            until: until.ms(),
        };
        let text = serde_json::to_string(&state)
            .map_err(|e| EngineError::internal("could not write a state", e))?;
        let sealed = self.keyring.seal(&self.ctx.ids, STATE_OWNER, &text)?;
        let provider = self.provider(&app, client)?;
        let challenge =
            PkceCodeChallenge::from_code_verifier_sha256(&PkceCodeVerifier::new(verifier));
        let mut request = provider
            .authorize_url(|| CsrfToken::new(URL_SAFE_NO_PAD.encode(&sealed)))
            .set_pkce_challenge(challenge)
            .add_scopes(client.scopes.iter().cloned().map(ProviderScope::new));
        for (name, value) in &client.authorize_params {
            request = request.add_extra_param(name, value);
        }
        self.ctx.store.create_connection(connection.clone()).await?;
        Ok(ConnectLink { connection, url: request.url().0.to_string() })
    }

    /// A connection that was begun for the caller's organization, as far as it is.
    pub async fn connection(
        &self,
        caller: &Caller,
        id: &ConnectionId,
    ) -> Result<Connection, EngineError> {
        let found = self
            .ctx
            .store
            .connection(&caller.org_id, id)
            .await?
            .filter(|connection| caller.may_use(connection.external_user_id.as_deref()));
        let mut connection = found.ok_or_else(|| EngineError::not_found("connection", id))?;
        if connection.expires_at < self.ctx.now() {
            let problem = match connection.state {
                ConnectionState::Waiting => {
                    "nobody came back from the provider in time; begin again"
                }
                ConnectionState::Answered => {
                    "the server ended while it asked for the token; look whether the account is there, or begin again"
                }
                ConnectionState::Connected(_) | ConnectionState::Failed(_) => {
                    return Ok(connection);
                }
            };
            connection.state = ConnectionState::Failed(problem.into());
        }
        Ok(connection)
    }

    /// Ends connecting an account: the user came back from the provider, with a code or with the
    /// provider's reason for giving none.
    pub async fn finish_connecting(
        &self,
        state: &str,
        answer: Result<&str, String>,
    ) -> Result<AccountView, EngineError> {
        let refused = || {
            invalid_state(
                "this answer does not belong to a connection that was begun here; begin again",
            )
        };
        let sealed = URL_SAFE_NO_PAD
            .decode(state)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(refused)?;
        let text = self.keyring.open(STATE_OWNER, &sealed).map_err(|_| refused())?;
        let state: State = serde_json::from_str(&text).map_err(|_| refused())?;
        if state.until < self.ctx.now().ms() {
            return Err(EngineError::Invalid {
                code: "state_expired",
                message: format!(
                    "connecting took longer than {} minutes, or than the key was good that began it; begin again",
                    STATE_MS / 60_000
                ),
                details: serde_json::json!({ "field": "state" }),
            });
        }
        let (org, connection) = (state.org.clone(), state.connection.clone());
        if !self.ctx.store.answer_connection(&org, &connection, self.ctx.now()).await? {
            return Err(invalid_state(
                "this answer came before, and each is good once; begin again",
            ));
        }
        let ended = match answer {
            Ok(code) => self.exchange(state, code).await,
            Err(reason) => Err(EngineError::Invalid {
                code: "provider_refused",
                message: reason,
                details: serde_json::json!({}),
            }),
        };
        let state = match &ended {
            Ok(view) => ConnectionState::Connected(view.account.id.clone()),
            Err(EngineError::Invalid { message, .. }) => ConnectionState::Failed(message.clone()),
            Err(_) => ConnectionState::Failed("the server could not end it; begin again".into()),
        };
        // The account is there or not, whatever is known of it: who came back is told that.
        if let Err(error) = self.ctx.store.put_connection_state(&org, &connection, state).await {
            tracing::error!(connection.id = %connection, error = %error, "how a connection ended could not be stored");
        }
        ended
    }

    /// Makes the account of a code.
    async fn exchange(&self, state: State, code: &str) -> Result<AccountView, EngineError> {
        let ended = || {
            invalid_state(
                "the key with which this connection was begun is not taken any more; begin again with another",
            )
        };
        // Whoever began could do everything, as connecting needs; the key may have been revoked
        // since, and its holder be gone.
        if !self.may_still_connect(&state).await? {
            return Err(ended());
        }
        let (org_id, user_id, key_id) = (state.org.clone(), state.user.clone(), state.key.clone());
        let external_user_id = state.external_user.clone();
        let caller = Caller {
            org_id,
            user_id,
            key_id,
            scopes: Scopes::full(),
            rate_per_minute: None,
            ends_at: None,
            session: None,
            external_user_id,
        };
        let app = self.apps.get(&caller, &state.app).await?;
        let client = oauth_of(&app)?;
        let request = self.provider(&app, client)?;
        let request = request
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .set_pkce_verifier(PkceCodeVerifier::new(state.verifier.clone()));
        let provider =
            self.provider_client(&client.token_url).await.map_err(|why| EngineError::Invalid {
                code: "provider_refused",
                message: format!("{} cannot be asked for a token: {why}", app.definition.name),
                details: serde_json::json!({}),
            })?;
        let tokens = request.request_async(&BoundedClient(provider)).await.map_err(|e| {
            EngineError::Invalid {
                code: "provider_refused",
                message: format!("{} did not give a token: {}", app.definition.name, reason(&e).0),
                details: serde_json::json!({}),
            }
        })?;
        // The provider took its time.
        if !self.may_still_connect(&state).await? {
            return Err(ended());
        }
        let mut credentials = state.fields;
        take_over(&mut credentials, client, &tokens);
        let expires_at = self.end_of(&tokens);
        match state.account {
            Some(id) => {
                let account = self.get(&caller, &id, false).await?.account;
                let mut kept = self.open_credentials(&account)?;
                kept.extend(credentials);
                let account = self.store_credentials(account, &kept, expires_at).await?;
                Ok(AccountView { account, app, credentials: None, warnings: Vec::new() })
            }
            None => {
                self.insert(&caller, app, state.name.as_deref(), &credentials, expires_at).await
            }
        }
    }

    /// Whether the key or token that began a connection is taken still. The database is asked: what
    /// is stored then stays, whatever a cache forgets later.
    async fn may_still_connect(&self, state: &State) -> Result<bool, EngineError> {
        // Who shows a token has the id of its client.
        let key = state.key.as_str();
        let found = if key.parse::<OauthClientId>().is_ok() {
            self.ctx.store.caller_by_token_hash(&state.hash).await?
        } else if key.parse::<SessionId>().is_ok() {
            self.ctx.store.caller_by_session_hash(&state.hash).await?.map(|(caller, _)| caller)
        } else {
            self.ctx.store.caller_by_key_hash(&state.hash).await?
        };
        let now = self.ctx.now();
        Ok(found.is_some_and(|caller| {
            caller.org_id == state.org
                && caller.ends_at.is_none_or(|end| end > now)
                && caller.scopes.allow(Scope::Full)
        }))
    }

    /// The account with a token that is good for some minutes: refreshed where it ends soon, by one
    /// at a time.
    pub(crate) async fn fresh(&self, account: Account) -> Result<Account, EngineError> {
        if self.wants_token(&account) { self.refreshed(account, false).await } else { Ok(account) }
    }

    /// An account after its provider was asked for a token now, where it gave one to refresh it
    /// with.
    pub async fn check(&self, caller: &Caller, id: &AccountId) -> Result<AccountView, EngineError> {
        let found = self
            .ctx
            .store
            .account(&caller.org_id, id)
            .await?
            .filter(|account| caller.may_use(account.external_user_id.as_deref()));
        let account = found.ok_or_else(|| EngineError::not_found("account", id))?;
        let account = self.refreshed(account, true).await?;
        self.show(caller, account, false).await
    }

    /// Refreshes the token, one at a time: where another did meanwhile, only if it is `asked` for
    /// all the same.
    async fn refreshed(&self, account: Account, asked: bool) -> Result<Account, EngineError> {
        let _turn = self.ctx.changes.turn(account.id.as_str()).await;
        // Another may have refreshed it meanwhile.
        let current =
            self.ctx.store.account(&account.org_id, &account.id).await?.unwrap_or(account);
        if asked || self.wants_token(&current) {
            self.refresh_once(current).await
        } else {
            Ok(current)
        }
    }

    /// Whether the provider is to be asked for a token: this one ends soon, and it was not asked in
    /// vain just now.
    fn wants_token(&self, account: &Account) -> bool {
        let now = self.ctx.now().ms();
        account.expires_at.is_some_and(|at| at.ms() <= now + AHEAD_MS)
            && (account.healthy || account.updated_at.plus_ms(AGAIN_MS).ms() <= now)
    }

    /// Refreshes the token, or waits for another server that does.
    async fn refresh_once(&self, mut account: Account) -> Result<Account, EngineError> {
        let began = Instant::now();
        loop {
            let (now, version) = (self.ctx.now(), account.version);
            let until = now.plus_ms(i64::try_from(REFRESH_MAX.as_millis()).unwrap_or(i64::MAX));
            if self.ctx.store.claim_refresh(&account.id, version, now, until).await? {
                let id = account.id.clone();
                let done = self.refresh(account).await;
                if done.as_ref().map_or(true, |account| account.version == version) {
                    self.ctx.store.release_refresh(&id, version).await?;
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
            if current.version != version {
                return Ok(current);
            }
            account = current;
        }
    }

    async fn refresh(&self, account: Account) -> Result<Account, EngineError> {
        let Some(app) = self.apps.find(&account.org_id, &account.app).await? else {
            return Ok(account);
        };
        let mut credentials = self.open_credentials(&account)?;
        let (Some(client), Some(token)) =
            (&app.definition.oauth, credentials.get("oauth_refresh_token").and_then(Value::as_str))
        else {
            return if account.expires_at.is_some_and(|at| at <= self.ctx.now()) {
                self.unhealthy(
                    account,
                    "its token ended, and the provider gave none to refresh it".into(),
                    None,
                )
                .await
            } else {
                Ok(account)
            };
        };
        let provider = self.provider(&app, client)?;
        let token = RefreshToken::new(token.to_owned());
        let http = match self.provider_client(&client.token_url).await {
            Ok(http) => http,
            Err(why) => return self.not_refreshed(account, &app, &why.to_string()).await,
        };
        match provider.exchange_refresh_token(&token).request_async(&BoundedClient(http)).await {
            Ok(tokens) => {
                take_over(&mut credentials, client, &tokens);
                let expires_at = self.end_of(&tokens);
                self.store_credentials(account, &credentials, expires_at).await
            }
            Err(error) => match reason(&error) {
                (why, true) => {
                    self.unhealthy(
                        account,
                        format!("{} refused to refresh its token: {why}", app.definition.name),
                        None,
                    )
                    .await
                }
                (why, false) => self.not_refreshed(account, &app, &why).await,
            },
        }
    }

    /// The provider gave no token for now. It may be back, or opened, before this one ends; the
    /// account of one that ended does not work until then.
    async fn not_refreshed(
        &self,
        account: Account,
        app: &App,
        why: &str,
    ) -> Result<Account, EngineError> {
        if account.expires_at.is_some_and(|at| at > self.ctx.now()) {
            tracing::warn!(account.id = %account.id, why, "a token could not be refreshed; it is tried again");
            return Ok(account);
        }
        let until = account.expires_at;
        self.unhealthy(
            account,
            format!("its token ended, and {} gave no other: {why}", app.definition.name),
            until,
        )
        .await
    }

    /// An account that has an end still, `expires_at`, is asked for again; without one only who
    /// connects it again mends it.
    async fn unhealthy(
        &self,
        account: Account,
        problem: String,
        expires_at: Option<Timestamp>,
    ) -> Result<Account, EngineError> {
        tracing::warn!(account.id = %account.id, problem, "an account does not work any more");
        let changed = Account {
            healthy: false,
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

    async fn store_credentials(
        &self,
        account: Account,
        credentials: &Map<String, Value>,
        expires_at: Option<Timestamp>,
    ) -> Result<Account, EngineError> {
        let changed = Account {
            credentials: self.seal_credentials(&account.id, credentials)?,
            healthy: true,
            problem: None,
            expires_at,
            version: account.version + 1,
            updated_at: self.ctx.now(),
            ..account
        };
        match self.ctx.store.update_account(changed.clone()).await {
            Err(StoreError::StateChanged) => {
                let current = self.ctx.store.account(&changed.org_id, &changed.id).await?;
                current.ok_or_else(|| EngineError::not_found("account", &changed.id))
            }
            done => Ok(done.map(|()| changed)?),
        }
    }

    /// Tells the provider that a token is not needed any more. What it answers changes nothing
    /// here.
    pub(super) fn revoke_later(self: &Arc<Self>, app: &App, credentials: &Map<String, Value>) {
        let Some(url) = app.definition.oauth.as_ref().and_then(|client| client.revoke_url.clone())
        else {
            return;
        };
        let token = ["oauth_refresh_token", "oauth_access_token"]
            .into_iter()
            .find_map(|name| credentials.get(name)?.as_str());
        let Some(token) = token else { return };
        let (accounts, token, slug) = (self.clone(), token.to_owned(), app.name_slug.clone());
        self.ctx.tasks.spawn(async move {
            let http = match accounts.provider_client(&url).await {
                Ok(http) => http,
                Err(why) => {
                    tracing::info!(app = slug, %why, "the provider could not be told that a token is not needed any more");
                    return;
                }
            };
            let sent = http.post(url).form(&[("token", token)]).send().await.and_then(reqwest::Response::error_for_status);
            if let Err(error) = sent {
                tracing::info!(app = slug, error = %error.without_url(), "the provider did not take a token back");
            }
        });
    }

    /// A client for an address that an app names, under the rules by which hosts connect.
    async fn provider_client(&self, address: &str) -> Result<reqwest::Client, Unreachable> {
        let url = url::Url::parse(address).map_err(|_| Unreachable::NoHost)?;
        self.providers.client(&url).await
    }

    fn provider(&self, app: &App, client: &OauthClient) -> Result<Provider, EngineError> {
        let secret = self.keyring.open(app.id.as_str(), &client.client_secret)?;
        let bad = |e: url::ParseError| EngineError::damaged("an app's OAuth address", e);
        Ok(Client::new(ClientId::new(client.client_id.clone()))
            .set_client_secret(ClientSecret::new(secret))
            .set_auth_uri(AuthUrl::new(client.authorize_url.clone()).map_err(bad)?)
            .set_token_uri(TokenUrl::new(client.token_url.clone()).map_err(bad)?)
            .set_redirect_uri(
                RedirectUrl::new(format!("{}/oauth/callback", self.ctx.config.base_url))
                    .map_err(bad)?,
            )
            .set_auth_type(if client.secret_in_body {
                oauth2::AuthType::RequestBody
            } else {
                oauth2::AuthType::BasicAuth
            }))
    }

    fn end_of(&self, tokens: &Tokens) -> Option<Timestamp> {
        tokens.expires_in().map(|span| {
            self.ctx.now().plus_ms(i64::try_from(span.as_millis()).unwrap_or(i64::MAX / 2))
        })
    }
}

/// What clients for providers have in common. They are not followed elsewhere: a redirect would
/// carry the secret along.
pub(crate) fn common() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .timeout(TIMEOUT)
        .user_agent(concat!("millrace/", env!("CARGO_PKG_VERSION")))
}

pub(crate) fn invalid_state(message: &str) -> EngineError {
    EngineError::Invalid {
        code: "invalid_state",
        message: message.into(),
        details: serde_json::json!({ "field": "state" }),
    }
}

fn oauth_of(app: &App) -> Result<&OauthClient, EngineError> {
    match &app.definition.oauth {
        Some(client) => Ok(client),
        None if app.definition.auth_type == AuthType::Oauth => Err(EngineError::Invalid {
            code: "no_oauth_client",
            message: format!(
                "{} has no OAuth client yet; register one at the provider and give it with `PUT /v1/apps/{}`",
                app.definition.name, app.name_slug
            ),
            details: serde_json::json!({ "field": "app" }),
        }),
        None => Err(EngineError::invalid(
            "app",
            format!(
                "accounts of {} are connected by their fields, not by OAuth: `POST /v1/accounts`",
                app.name_slug
            ),
        )),
    }
}

/// The keys of `$auth` that tokens give (reference 3). A provider that rotates no refresh token
/// leaves the old one in force.
fn take_over(credentials: &mut Map<String, Value>, client: &OauthClient, tokens: &Tokens) {
    credentials.insert("oauth_access_token".into(), tokens.access_token().secret().clone().into());
    credentials.insert("oauth_client_id".into(), client.client_id.clone().into());
    if let Some(token) = tokens.refresh_token() {
        credentials.insert("oauth_refresh_token".into(), token.secret().clone().into());
    }
    let extra = &tokens.extra_fields().0;
    let subject = || {
        // From the provider itself, over its own connection: there is nothing to verify.
        let claims =
            URL_SAFE_NO_PAD.decode(extra.get("id_token")?.as_str()?.split('.').nth(1)?).ok()?;
        serde_json::from_slice::<Value>(&claims).ok()?.get("sub").cloned()
    };
    let uid = client.uid_field.as_deref().and_then(|path| {
        path.split('.').try_fold(&Value::Object(extra.clone()), |v, part| v.get(part)).cloned()
    });
    if let Some(uid) = uid.or_else(subject) {
        credentials.insert("oauth_uid".into(), uid);
    }
}

/// What a provider's refusal says, and whether asking again is of no use. A token or secret is
/// never part of it.
pub(crate) fn reason(error: &RequestTokenError<AskFailed, BasicErrorResponse>) -> (String, bool) {
    match error {
        RequestTokenError::ServerResponse(said) => {
            let for_good = matches!(
                said.error(),
                BasicErrorResponseType::InvalidGrant | BasicErrorResponseType::UnauthorizedClient
            );
            (said.error().as_ref().to_owned(), for_good)
        }
        RequestTokenError::Request(AskFailed::Unread(AnswerError::TooLarge(error))) => {
            (error.to_string(), false)
        }
        RequestTokenError::Request(_) => ("it could not be reached".into(), false),
        RequestTokenError::Parse(..) => ("its answer is not of the expected form".into(), false),
        RequestTokenError::Other(_) => ("its answer is not of the expected form".into(), false),
    }
}
