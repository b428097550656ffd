//! OAuth clients: programs that get short-lived tokens for their id and secret
//! (`client_credentials`).

use std::sync::Arc;

use millrace_model::Timestamp;
use millrace_model::ids::OauthClientId;
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::{Caller, OauthClient, OauthToken, Scopes};

use crate::EngineError;
use crate::ctx::Ctx;
use crate::tenants::keys::{KEY_CHARS, Keys, key_name};
use crate::tenants::secrets::{same, sha256_hex};
use crate::tenants::wrong_keys::Asker;

/// What every token begins with; keys begin with `mr_`.
pub(crate) const TOKEN_PREFIX: &str = "mrt_";
/// How long a token is taken.
const TOKEN_SECS: i64 = 3600;
/// Clients of one organization.
const CLIENTS_MAX: u64 = 1_000;

/// A token that was given out.
#[derive(Clone, Debug)]
pub struct IssuedToken {
    /// The token, shown this once.
    pub token: String,
    /// Seconds until it ends.
    pub expires_in: i64,
    /// When it was given out.
    pub created_at: Timestamp,
}

/// The OAuth clients of all organizations.
pub struct OauthClients {
    ctx: Arc<Ctx>,
    keys: Arc<Keys>,
}

impl OauthClients {
    pub(crate) const fn new(ctx: Arc<Ctx>, keys: Arc<Keys>) -> Self {
        Self { ctx, keys }
    }

    /// Makes a client of the caller's organization; its secret is shown this once.
    pub async fn create(
        &self,
        caller: &Caller,
        name: &str,
        scopes: Scopes,
    ) -> Result<(OauthClient, String), EngineError> {
        let name = key_name(name)?;
        if self
            .ctx
            .store
            .list_oauth_clients(&caller.org_id, &Page { limit: 1, ..Page::default() })
            .await?
            .total_count
            >= CLIENTS_MAX
        {
            let message = format!(
                "the organization has {CLIENTS_MAX} OAuth clients, the most it may have; delete some first"
            );
            return Err(EngineError::Conflict { code: "too_many_clients", message });
        }
        let secret = format!("mrs_{}", self.ctx.ids.base62(40));
        let client = OauthClient {
            id: OauthClientId::generate(&self.ctx.ids),
            org_id: caller.org_id.clone(),
            user_id: caller.user_id.clone(),
            name,
            secret_hash: sha256_hex(secret.as_bytes()),
            scopes,
            created_at: self.ctx.now(),
        };
        self.ctx.store.create_oauth_client(client.clone()).await?;
        Ok((client, secret))
    }

    /// The organization's clients, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        page: &Page,
    ) -> Result<Listing<OauthClient>, EngineError> {
        Ok(self.ctx.store.list_oauth_clients(&caller.org_id, page).await?)
    }

    /// A client's record.
    pub async fn get(
        &self,
        caller: &Caller,
        id: &OauthClientId,
    ) -> Result<OauthClient, EngineError> {
        let client =
            self.ctx.store.oauth_client(id).await?.filter(|client| client.org_id == caller.org_id);
        client.ok_or_else(|| EngineError::not_found("OAuth client", id))
    }

    /// Ends a client and its tokens.
    pub async fn delete(&self, caller: &Caller, id: &OauthClientId) -> Result<(), EngineError> {
        let there = self.ctx.store.delete_oauth_client(&caller.org_id, id).await?;
        self.ctx.cache.forget_callers();
        if there { Ok(()) } else { Err(EngineError::not_found("OAuth client", id)) }
    }

    /// Gives a client a token, for all that it may do or for less. `WrongClient` where id and
    /// secret do not belong together, `WrongKeys` where too many that do not came from there.
    pub async fn issue_token(
        &self,
        id: &str,
        secret: &str,
        scopes: Option<Scopes>,
        from: Option<&Asker>,
    ) -> Result<IssuedToken, EngineError> {
        let client = self.check_client(id, secret, from).await?;
        let now = self.ctx.now();
        let scopes = scopes.unwrap_or_else(|| client.scopes.clone());
        if let Some(scope) = scopes.iter().find(|scope| !client.scopes.allow(*scope)) {
            return Err(EngineError::invalid(
                "scope",
                format!("`{scope}` is more than this client may do, which is `{}`", client.scopes),
            ));
        }
        let text = format!("{TOKEN_PREFIX}{}", self.ctx.ids.base62(KEY_CHARS));
        let token = OauthToken {
            token_hash: sha256_hex(text.as_bytes()),
            client_id: client.id.clone(),
            scopes,
            expires_at: now.plus_ms(TOKEN_SECS * 1000),
            created_at: now,
        };
        // Tokens that are asked for count as requests do: nobody fills the table with them.
        self.keys.count_request(&token.clone().caller(client))?;
        self.ctx.store.put_oauth_token(token).await?;
        Ok(IssuedToken { token: text, expires_in: TOKEN_SECS, created_at: now })
    }

    /// Ends a token of a client; one that is not there, or another's, is no error (RFC 7009).
    pub async fn revoke_token(
        &self,
        id: &str,
        secret: &str,
        token: &str,
        from: Option<&Asker>,
    ) -> Result<(), EngineError> {
        let client = self.check_client(id, secret, from).await?;
        self.ctx.store.delete_oauth_token(&client.id, &sha256_hex(token.as_bytes())).await?;
        self.ctx.cache.forget_callers();
        Ok(())
    }

    async fn check_client(
        &self,
        id: &str,
        secret: &str,
        from: Option<&Asker>,
    ) -> Result<OauthClient, EngineError> {
        let (hash, now) = (sha256_hex(secret.as_bytes()), self.ctx.now());
        // Of both, so that a client's secret is not taken for good with another's id.
        let shown = sha256_hex(format!("{id}\n{hash}").as_bytes());
        if let Some(wait) = from.and_then(|from| self.keys.wrong_keys.wait(from, &shown, now)) {
            return Err(EngineError::WrongKeys { wait });
        }
        let client = match id.parse() {
            Ok(id) => self.ctx.store.oauth_client(&id).await?,
            Err(_) => None,
        };
        match client.filter(|client| same(client.secret_hash.as_bytes(), hash.as_bytes())) {
            Some(client) => {
                self.keys.wrong_keys.was_good(&shown);
                Ok(client)
            }
            None => {
                if let Some(from) = from {
                    self.keys.wrong_keys.count(from, now);
                }
                Err(EngineError::WrongClient)
            }
        }
    }
}
