//! Connection of an account at its provider: authorization code with PKCE, from the provider's page
//! to the stored tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use millrace_model::account::{App, Connection, ConnectionState};
use millrace_model::ids::{
    AccountId, ApiKeyId, ConnectionId, OauthClientId, OrgId, SessionId, UserId,
};
use millrace_model::tenant::{Caller, Scope, Scopes};
use oauth2::{
    AuthorizationCode, CsrfToken, PkceCodeChallenge, PkceCodeVerifier, Scope as ProviderScope,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::refresh::note_life;
use super::{failure, invalid_state, oauth_of, take_over};
use crate::EngineError;
use crate::checks::check_name;
use crate::tenants::accounts::{AccountView, Accounts, credential_error};
use crate::tenants::secrets::sha256_hex;
use crate::tenants::token_answers::BoundedClient;

/// How long somebody has to log in at the provider.
const STATE_MS: i64 = 15 * 60 * 1000;
/// What states are sealed for.
const STATE_OWNER: &str = "oauth state";
/// Values of fields travel, sealed, in the address of the provider's page, and servers take
/// addresses of 8 KiB: the most bytes of their JSON.
const FIELDS_BYTES_MAX: usize = 2048;

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
        if let Some(name) = &new.name {
            check_name(name)?;
        }
        let fields = self.checked_fields(caller, &app, &new).await?;
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
            fields,
            verifier: verifier.clone(),
            until: until.ms(),
        };
        let text = serde_json::to_string(&state)
            .map_err(|e| EngineError::internal("could not write a state", e))?;
        let sealed = self.keyring.seal(&self.ctx.ids, STATE_OWNER, &text)?;
        let (provider, _) = self.provider(&app, client)?;
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

    /// Values of the app's own fields for a connection, with defaults for a new account. One that
    /// is connected again has those that were given before.
    async fn checked_fields(
        &self,
        caller: &Caller,
        app: &App,
        new: &NewConnection,
    ) -> Result<Map<String, Value>, EngineError> {
        let (slug, definition) = (&app.name_slug, &app.definition);
        let fields = match &new.account {
            None => definition.check_fields(slug, &new.fields).map_err(|e| credential_error(&e))?,
            Some(id) => {
                let account = self.find(caller, id).await?;
                if account.app != *slug {
                    return Err(EngineError::invalid(
                        "account_id",
                        format!("`{id}` is an account of another app"),
                    ));
                }
                let mut fields = definition.fields_among(&self.open_credentials(&account)?);
                fields.extend(new.fields.clone());
                definition.check_fields(slug, &fields).map_err(|e| credential_error(&e))?;
                new.fields.clone()
            }
        };
        if serde_json::to_string(&fields).map_or(0, |text| text.len()) > FIELDS_BYTES_MAX {
            let message = format!(
                "`credentials` are longer than {FIELDS_BYTES_MAX} bytes in all, which the address of the provider's page does not hold; give long values that are optional with `PUT /v1/accounts/{{id}}` afterwards"
            );
            return Err(EngineError::invalid("credentials", message));
        }
        Ok(fields)
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
        let state: State = millrace_model::json::from_str(&text).map_err(|_| refused())?;
        if state.until < self.ctx.now().ms() {
            return Err(EngineError::Invalid {
                code: "state_expired",
                message: format!(
                    "connecting took longer than {} minutes, or the key that began it expired; begin again",
                    STATE_MS / 60_000
                ),
                details: serde_json::json!({ "field": "state" }),
            });
        }
        let (org, connection) = (state.org.clone(), state.connection.clone());
        if !self.ctx.store.answer_connection(&org, &connection, self.ctx.now()).await? {
            return Err(invalid_state(
                "this answer was used before, and each is valid once; begin again",
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
        // The answer names the account, also where the state of its connection is not stored.
        if let Err(error) = self.ctx.store.put_connection_state(&org, &connection, state).await {
            tracing::error!(connection.id = %connection, error = %error, "how a connection ended could not be stored");
        }
        ended
    }

    /// Makes the account of a code.
    async fn exchange(&self, state: State, code: &str) -> Result<AccountView, EngineError> {
        let ended = || {
            invalid_state(
                "the key with which this connection was begun is no longer valid; begin again with another",
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
        let refused = |message: String| EngineError::Invalid {
            code: "provider_refused",
            message,
            details: serde_json::json!({}),
        };
        let name = &app.definition.name;
        let (request, secrets) = self.provider(&app, client)?;
        let request = request
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .set_pkce_verifier(PkceCodeVerifier::new(state.verifier.clone()));
        let provider = self
            .provider_client(&client.token_url)
            .await
            .map_err(|why| refused(format!("{name} cannot be asked for a token: {why}")))?;
        let tokens = request.request_async(&BoundedClient(provider)).await.map_err(|error| {
            let why = failure(&error, &secrets.and(code).and(&state.verifier)).why;
            refused(format!("{name} did not give a token: {why}"))
        })?;
        // The provider took its time.
        if !self.may_still_connect(&state).await? {
            return Err(ended());
        }
        let mut credentials = state.fields;
        let life = take_over(&mut credentials, client, &tokens, self.ctx.now());
        match state.account {
            Some(id) => loop {
                let account = self.find(&caller, &id).await?;
                if let Some(account) = self.store_tokens(&account, &credentials, life).await? {
                    return Ok(AccountView {
                        account,
                        app,
                        credentials: None,
                        warnings: Vec::new(),
                    });
                }
            },
            None => {
                note_life(&mut credentials, life);
                let expires_at = life.map(|life| self.ctx.now().plus_ms(life));
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
}
