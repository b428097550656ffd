//! Sign-in by a provider of OpenID Connect: authorization code with PKCE, state and nonce; and
//! which person of this server the provider's user is.

mod id_token;
mod let_in;
mod provider;
mod ring_verifier;

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use millrace_model::Timestamp;
use millrace_model::people::{Role, normal_address};
use millrace_store::Identity;
use oauth2::{CsrfToken, PkceCodeChallenge, PkceCodeVerifier, Scope};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use self::provider::{Provider, ProviderError};
use crate::ctx::Ctx;
use crate::tenants::oauth::invalid_state;
use crate::tenants::people::{Client, People, SignedIn, check_email};
use crate::tenants::secrets::{Keyring, same, sha256_hex};
use crate::{EngineError, error_chain};

/// How long somebody has to sign in at the provider.
const PENDING_MS: i64 = 15 * 60 * 1000;
/// What sign-ins that were begun are sealed for.
const PENDING_OWNER: &str = "oidc sign-in";
/// Where the provider sends the browser back to: the page that began.
const REDIRECT: &str = "/login";
/// Bytes of what a browser brings.
const BROUGHT_BYTES_MAX: usize = 4 << 10;

/// A provider of OpenID Connect, and whom it may let in.
#[derive(Clone)]
pub struct OidcConfig {
    /// Its address, below which its configuration is found.
    pub issuer: String,
    /// The id under which this server is registered there.
    pub client_id: String,
    /// The secret of the registration; none: a public client.
    pub client_secret: Option<String>,
    /// Its name on the page.
    pub name: String,
    /// Domains of addresses that are let in, in lower case; none: all.
    pub email_domains: Vec<String>,
    /// The role of somebody who was not invited; none: only the invited are let in.
    pub role: Option<Role>,
}

impl OidcConfig {
    /// Whether an address of a provider is one that can be used: https, or on this machine.
    pub fn is_usable(address: &str) -> bool {
        provider::is_safe(address)
    }
}

impl std::fmt::Debug for OidcConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OidcConfig")
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

/// A sign-in that was begun.
#[derive(Clone, Debug)]
pub struct OidcBegun {
    /// The provider's page.
    pub url: String,
    /// For the cookie of the browser that began, sealed.
    pub pending: String,
    /// Seconds that it is good.
    pub max_age_secs: i64,
    /// Until when it is good.
    pub expires_at: Timestamp,
}

/// Kept by the browser that began, sealed: another browser cannot end the sign-in, and no server
/// has to remember it.
#[derive(Serialize, Deserialize)]
struct Pending {
    state: String,
    nonce: String,
    verifier: String,
    until: i64,
}

/// States of people who sign in that were shown with a code, by their hashes, until they would end
/// anyway. Each server has its own: that a code is good once as well is its provider's to see to.
#[derive(Default)]
struct UsedStates(Mutex<HashMap<String, i64>>);

impl UsedStates {
    /// Whether it was not used before; it is from now on.
    fn insert(&self, hash: String, until: i64, now: i64) -> bool {
        let mut used = self.0.lock();
        used.retain(|_, until| *until >= now);
        used.insert(hash, until).is_none()
    }
}

/// Sign-in by a provider of OpenID Connect, where the operator named one.
pub struct Oidc {
    ctx: Arc<Ctx>,
    keyring: Arc<Keyring>,
    people: Arc<People>,
    provider: Option<Provider>,
    used_states: UsedStates,
}

impl Oidc {
    pub(crate) fn new(
        ctx: Arc<Ctx>,
        keyring: Arc<Keyring>,
        people: Arc<People>,
    ) -> Result<Self, EngineError> {
        let provider = ctx.config.oidc.clone().map(Provider::new).transpose()?;
        Ok(Self { ctx, keyring, people, provider, used_states: UsedStates::default() })
    }

    /// The provider's name, where people can sign in by one.
    pub fn provider_name(&self) -> Option<&str> {
        self.provider.as_ref().map(|provider| provider.config.name.as_str())
    }

    /// Begins a sign-in: gives the provider's page, and what the browser keeps until it comes back.
    pub async fn begin(&self) -> Result<OidcBegun, EngineError> {
        let provider = self.provider()?;
        let (ids, now) = (&self.ctx.ids, self.ctx.now());
        let metadata = provider.metadata(now).await.map_err(|error| refused(provider, &error))?;
        let until = now.plus_ms(PENDING_MS);
        let pending = Pending {
            state: ids.base62(40),
            nonce: ids.base62(40),
            verifier: ids.base62(64),
            until: until.ms(),
        };
        let text = serde_json::to_string(&pending)
            .map_err(|e| EngineError::internal("could not write a sign-in", e))?;
        let sealed = URL_SAFE_NO_PAD.encode(self.keyring.seal(ids, PENDING_OWNER, &text)?);
        let client = provider
            .client(&metadata, &self.redirect())
            .map_err(|error| refused(provider, &error))?;
        let (url, _) = client
            .authorize_url(|| CsrfToken::new(pending.state))
            .add_scopes(["openid", "email", "profile"].map(|scope| Scope::new(scope.into())))
            .add_extra_param("nonce", pending.nonce)
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(
                &PkceCodeVerifier::new(pending.verifier),
            ))
            .url();
        Ok(OidcBegun {
            url: url.into(),
            pending: sealed,
            max_age_secs: PENDING_MS / 1000,
            expires_at: until,
        })
    }

    /// Ends a sign-in: the browser that began came back with a code. Each answer is good once.
    pub async fn finish(
        &self,
        pending: Option<&str>,
        state: &str,
        code: &str,
        client: &Client,
    ) -> Result<SignedIn, EngineError> {
        let provider = self.provider()?;
        let now = self.ctx.now();
        self.people.passwords.count_answer(client.asker.as_ref(), now)?;
        let pending = self.pending(pending, state, now)?;
        if code.is_empty() || code.len() > BROUGHT_BYTES_MAX {
            return Err(EngineError::invalid(
                "code",
                "`code` is what the provider sent the browser back with, up to 4096 characters",
            ));
        }
        let metadata = provider.metadata(now).await.map_err(|error| refused(provider, &error))?;
        if !self.used_states.insert(sha256_hex(pending.state.as_bytes()), pending.until, now.ms()) {
            return Err(invalid_state(
                "this answer was used before, and each is valid once; sign in again",
            ));
        }
        let claims = provider
            .claims(&metadata, &self.redirect(), code, pending.verifier, (&pending.nonce, now))
            .await;
        let claims = claims.map_err(|error| refused(provider, &error))?;
        let identity = Identity { issuer: metadata.issuer.clone(), subject: claims.sub };
        let name = &provider.config.name;
        let email = normal_address(claims.person.email.as_deref().unwrap_or_default());
        if !claims.person.is_verified() || check_email(&email).is_err() {
            let message = format!(
                "{name} gives no address of e-mail that it has verified; verify yours there, and sign in again"
            );
            return Err(EngineError::SignInRefused { code: "email_not_verified", message });
        }
        let domain = email.rsplit('@').next().unwrap_or_default();
        let domains = &provider.config.email_domains;
        if !domains.is_empty() && !domains.iter().any(|allowed| allowed == domain) {
            let message = format!(
                "addresses of `{domain}` do not sign in here by {name}; sign in with an address of {}",
                domains.join(" or ")
            );
            return Err(EngineError::SignInRefused { code: "email_domain_not_allowed", message });
        }
        let (user, org) =
            self.let_in(provider, identity, &email, claims.person.name.as_deref()).await?;
        let signed_in = self.people.begin_session(&user, org.as_ref(), None, client).await?;
        self.people.passwords.answer_was_right(client.asker.as_ref());
        Ok(signed_in)
    }

    /// The sign-in that this browser began, if the state is its own.
    fn pending(
        &self,
        sealed: Option<&str>,
        state: &str,
        now: Timestamp,
    ) -> Result<Pending, EngineError> {
        let foreign = || {
            invalid_state(
                "this answer does not belong to a sign-in that this browser began last; sign in again",
            )
        };
        let sealed =
            sealed.filter(|sealed| sealed.len() <= BROUGHT_BYTES_MAX).ok_or_else(foreign)?;
        let sealed = URL_SAFE_NO_PAD
            .decode(sealed)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(foreign)?;
        let text = self.keyring.open(PENDING_OWNER, &sealed).map_err(|_| foreign())?;
        let pending: Pending = millrace_model::json::from_str(&text).map_err(|_| foreign())?;
        if !same(pending.state.as_bytes(), state.as_bytes()) {
            return Err(foreign());
        }
        if pending.until < now.ms() {
            return Err(EngineError::Invalid {
                code: "state_expired",
                message: format!(
                    "signing in took longer than {} minutes; sign in again",
                    PENDING_MS / 60_000
                ),
                details: serde_json::json!({ "field": "state" }),
            });
        }
        Ok(pending)
    }

    fn provider(&self) -> Result<&Provider, EngineError> {
        self.provider.as_ref().ok_or(EngineError::Conflict {
            code: "no_provider",
            message: "people sign in to this server by password; the operator sets another provider with --oidc-issuer".into(),
        })
    }

    fn redirect(&self) -> String {
        format!("{}{REDIRECT}", self.ctx.config.base_url)
    }
}

/// The operator finds the cause in the log as well: who signs in can do nothing about it.
fn refused(provider: &Provider, error: &ProviderError) -> EngineError {
    let why = error_chain(error);
    tracing::warn!(
        provider = provider.config.issuer,
        why,
        "the provider of OpenID Connect did not sign somebody in"
    );
    EngineError::Invalid {
        code: "provider_refused",
        message: format!("{} did not sign you in: {why}", provider.config.name),
        details: serde_json::json!({ "field": "code" }),
    }
}
