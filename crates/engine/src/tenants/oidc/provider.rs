//! Requests to the provider of OpenID Connect: discovery, tokens, keys, user information. The
//! operator named the provider; its answers are bounded.

use std::sync::Arc;

use jsonwebtoken::jwk::Jwk;
use millrace_model::Timestamp;
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, PkceCodeVerifier, RedirectUrl,
    TokenResponse as _, TokenUrl,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::{Host, Url};

use super::OidcConfig;
use super::id_token::{self, Claims, Expected, IdTokenError, Person};
use crate::answers::{self, AnswerError};
use crate::tenants::oauth;
use crate::tenants::oauth::provider_secrets::ProviderSecrets;
use crate::tenants::token_answers::{ANSWER_BYTES_MAX, BoundedClient};
use crate::{EngineError, error_chain};

/// How long what the provider says of itself is used, and how long after a failure it is not asked
/// again.
const KNOWN_MS: i64 = 10 * 60 * 1000;
const AGAIN_MS: i64 = 5 * 1000;

/// Why the provider signs nobody in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProviderError {
    #[error("{what} cannot be asked for")]
    Unanswered {
        what: &'static str,
        #[source]
        source: reqwest::Error,
    },
    #[error("{what} was answered with the status {status}")]
    Status { what: &'static str, status: u16 },
    #[error("{what} cannot be read")]
    Unread {
        what: &'static str,
        #[source]
        source: AnswerError,
    },
    #[error("{what} is not what OpenID Connect has there")]
    Malformed {
        what: &'static str,
        #[source]
        source: serde_json::Error,
    },
    #[error("the provider calls itself `{0}`, and oidc_issuer is another")]
    OtherIssuer(String),
    #[error("its `{0}` is not an address of https")]
    Address(&'static str),
    #[error("it gave no token: {0}")]
    NoToken(String),
    #[error("it gave no ID token")]
    NoIdToken,
    #[error("its ID token is not accepted")]
    IdToken(#[from] IdTokenError),
    #[error("its information about the user is about another one")]
    OtherSubject,
    #[error("{0}")]
    Before(String),
}

/// What a provider says of itself (OpenID Connect Discovery 1.0).
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    userinfo_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Keys {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct UserInfo {
    sub: String,
    #[serde(flatten)]
    person: Person,
}

/// What was found last, and when.
type Known = (Timestamp, Result<Arc<Metadata>, String>);

/// The provider by which people sign in.
pub(crate) struct Provider {
    pub(crate) config: OidcConfig,
    http: reqwest::Client,
    known: tokio::sync::Mutex<Option<Known>>,
}

impl Provider {
    pub(crate) fn new(config: OidcConfig) -> Result<Self, EngineError> {
        let http = oauth::common().build().map_err(|e| {
            EngineError::internal("could not make a client for the provider of OpenID Connect", e)
        })?;
        Ok(Self { config, http, known: tokio::sync::Mutex::default() })
    }

    /// What the provider says of itself; asked for by one at a time, and not again at once.
    pub(crate) async fn metadata(&self, now: Timestamp) -> Result<Arc<Metadata>, ProviderError> {
        let mut known = self.known.lock().await;
        if let Some((at, found)) = &*known {
            let for_ms = if found.is_ok() { KNOWN_MS } else { AGAIN_MS };
            if (0..for_ms).contains(&(now.ms() - at.ms())) {
                return found.clone().map_err(ProviderError::Before);
            }
        }
        let found = self.discover().await.map(Arc::new);
        *known = Some((now, found.as_ref().map(Arc::clone).map_err(|error| error_chain(error))));
        found
    }

    async fn discover(&self) -> Result<Metadata, ProviderError> {
        let issuer = self.config.issuer.trim_end_matches('/');
        let found: Metadata = self
            .json(
                "the configuration of the provider",
                &format!("{issuer}/.well-known/openid-configuration"),
                None,
            )
            .await?;
        if found.issuer.trim_end_matches('/') != issuer {
            return Err(ProviderError::OtherIssuer(found.issuer.chars().take(200).collect()));
        }
        let named = [
            ("authorization_endpoint", Some(&found.authorization_endpoint)),
            ("token_endpoint", Some(&found.token_endpoint)),
            ("jwks_uri", Some(&found.jwks_uri)),
            ("userinfo_endpoint", found.userinfo_endpoint.as_ref()),
        ];
        let unsafe_one = named
            .into_iter()
            .find(|(_, address)| address.is_some_and(|address| !is_safe(address)))
            .map(|(name, _)| name);
        match unsafe_one {
            Some(name) => Err(ProviderError::Address(name)),
            None => Ok(found),
        }
    }

    /// The client of OAuth by which a code is asked for and exchanged.
    pub(crate) fn client(
        &self,
        metadata: &Metadata,
        redirect: &str,
    ) -> Result<oauth::Provider, ProviderError> {
        let bad = |name: &'static str| move |_: url::ParseError| ProviderError::Address(name);
        let basic = metadata
            .token_endpoint_auth_methods_supported
            .as_ref()
            .is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"));
        let client = oauth2::Client::new(ClientId::new(self.config.client_id.clone()))
            .set_auth_uri(
                AuthUrl::new(metadata.authorization_endpoint.clone())
                    .map_err(bad("authorization_endpoint"))?,
            )
            .set_token_uri(
                TokenUrl::new(metadata.token_endpoint.clone()).map_err(bad("token_endpoint"))?,
            )
            .set_redirect_uri(RedirectUrl::new(redirect.to_owned()).map_err(bad("redirect_uri"))?)
            .set_auth_type(if basic { AuthType::BasicAuth } else { AuthType::RequestBody });
        Ok(match &self.config.client_secret {
            Some(secret) => client.set_client_secret(ClientSecret::new(secret.clone())),
            None => client,
        })
    }

    /// Exchanges a code for a verified ID token; the address of e-mail is asked for where the token
    /// has none.
    pub(crate) async fn claims(
        &self,
        metadata: &Metadata,
        redirect: &str,
        code: &str,
        verifier: String,
        (nonce, now): (&str, Timestamp),
    ) -> Result<Claims, ProviderError> {
        let request = self.client(metadata, redirect)?;
        let secret = self.config.client_secret.as_deref().unwrap_or_default();
        let secrets =
            ProviderSecrets::of_client(&self.config.client_id, secret).and(code).and(&verifier);
        let request = request
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .set_pkce_verifier(PkceCodeVerifier::new(verifier));
        let tokens = request
            .request_async(&BoundedClient(self.http.clone()))
            .await
            .map_err(|e| ProviderError::NoToken(oauth::failure(&e, &secrets).why))?;
        let token = tokens
            .extra_fields()
            .0
            .get("id_token")
            .and_then(Value::as_str)
            .ok_or(ProviderError::NoIdToken)?;
        let keys: Keys = self.json("the list of its keys", &metadata.jwks_uri, None).await?;
        // A key of a kind that is not known is not one for this token.
        let keys: Vec<Jwk> =
            keys.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok()).collect();
        let expected =
            Expected { issuer: &metadata.issuer, client_id: &self.config.client_id, nonce, now };
        let mut claims = id_token::verify(token, &keys, &expected)?;
        if claims.person.email.is_none()
            && let Some(address) = &metadata.userinfo_endpoint
        {
            let more: UserInfo = self
                .json(
                    "its information about the user",
                    address,
                    Some(tokens.access_token().secret()),
                )
                .await?;
            if more.sub != claims.sub {
                return Err(ProviderError::OtherSubject);
            }
            claims.person = more.person;
        }
        Ok(claims)
    }

    async fn json<T: DeserializeOwned>(
        &self,
        what: &'static str,
        address: &str,
        token: Option<&str>,
    ) -> Result<T, ProviderError> {
        let mut request = self.http.get(address).header("accept", "application/json");
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request
            .send()
            .await
            .map_err(|error| ProviderError::Unanswered { what, source: error.without_url() })?;
        if !response.status().is_success() {
            return Err(ProviderError::Status { what, status: response.status().as_u16() });
        }
        let body = answers::whole(response, ANSWER_BYTES_MAX)
            .await
            .map_err(|source| ProviderError::Unread { what, source })?;
        millrace_model::json::from_slice(&body)
            .map_err(|source| ProviderError::Malformed { what, source })
    }
}

/// Whether nobody between the two can read or change what is said: https, or this machine.
pub(crate) fn is_safe(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    match url.scheme() {
        "https" => url.host().is_some(),
        "http" => is_here,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_asked_by_https_or_on_this_machine() {
        for address in
            ["https://id.test", "http://localhost:1/x", "http://127.0.0.1:8080", "http://[::1]/"]
        {
            assert!(is_safe(address), "{address}");
        }
        for address in [
            "http://id.test",
            "http://10.0.0.1",
            "http://localhost.evil.test",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "id.test",
            "",
        ] {
            assert!(!is_safe(address), "{address}");
        }
    }
}
