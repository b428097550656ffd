//! OAuth 2 client of the accounts: connection at a provider, refresh and revocation of tokens, by
//! the client that the operator registered.

pub(crate) mod connect;
pub(crate) mod provider_secrets;
pub(super) mod refresh;
mod revoke;
#[cfg(test)]
mod tests;
pub(super) mod token_life;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use millrace_model::Timestamp;
use millrace_model::account::{App, AuthType, OauthClient};
use oauth2::basic::{
    BasicErrorResponse, BasicRevocationErrorResponse, BasicTokenIntrospectionResponse,
    BasicTokenType,
};
use oauth2::{
    AuthUrl, Client, ClientId, ClientSecret, EndpointNotSet, EndpointSet, ExtraTokenFields,
    RedirectUrl, RequestTokenError, StandardRevocableToken, StandardTokenResponse,
    TokenResponse as _, TokenUrl,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::provider_secrets::ProviderSecrets;
use crate::EngineError;
use crate::answers::AnswerError;
use crate::reach::Unreachable;
use crate::tenants::accounts::Accounts;
use crate::tenants::token_answers::AskFailed;

/// How long the provider may take to answer.
const TIMEOUT: Duration = Duration::from_secs(20);

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

/// Why a provider gave no token, in words without secrets, and whether asking again is of no use.
pub(crate) struct Failure {
    pub(crate) why: String,
    pub(crate) is_final: bool,
}

impl Accounts {
    /// A client for an address that an app names, under the rules by which hosts connect.
    async fn provider_client(&self, address: &str) -> Result<reqwest::Client, Unreachable> {
        let url = url::Url::parse(address).map_err(|_| Unreachable::NoHost)?;
        self.providers.client(&url).await
    }

    /// The client of OAuth that the operator registered, and its secrets.
    fn provider(
        &self,
        app: &App,
        client: &OauthClient,
    ) -> Result<(Provider, ProviderSecrets), EngineError> {
        let secret = self.keyring.open(app.id.as_str(), &client.client_secret)?;
        let secrets = ProviderSecrets::of_client(&client.client_id, &secret);
        let bad = |e: url::ParseError| EngineError::damaged("an app's OAuth address", e);
        let provider = Client::new(ClientId::new(client.client_id.clone()))
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
            });
        Ok((provider, secrets))
    }
}

/// Settings of the HTTP clients for providers. Redirects are not followed: they would carry the
/// secret along.
pub(crate) fn common() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .timeout(TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
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
/// leaves the old one in force. Gives the lifetime of the token, milliseconds, where it has one.
fn take_over(
    credentials: &mut Map<String, Value>,
    client: &OauthClient,
    tokens: &Tokens,
    now: Timestamp,
) -> Option<i64> {
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
        millrace_model::json::from_slice::<Value>(&claims).ok()?.get("sub").cloned()
    };
    let uid = client.uid_field.as_deref().and_then(|path| {
        path.split('.').try_fold(&Value::Object(extra.clone()), |v, part| v.get(part)).cloned()
    });
    if let Some(uid) = uid.or_else(subject) {
        credentials.insert("oauth_uid".into(), uid);
    }
    token_life::life_ms(tokens.expires_in(), extra, now)
}

/// Why a request for a token failed.
pub(crate) fn failure(
    error: &RequestTokenError<AskFailed, BasicErrorResponse>,
    secrets: &ProviderSecrets,
) -> Failure {
    let (why, is_final) = match error {
        RequestTokenError::Request(AskFailed::Refused(refusal)) => {
            (refusal.words(secrets), refusal.is_final())
        }
        RequestTokenError::Request(AskFailed::Unread(AnswerError::TooLarge(error))) => {
            (error.to_string(), false)
        }
        RequestTokenError::Request(AskFailed::Unsent(error)) if error.is_timeout() => {
            (format!("it did not answer within {} seconds", TIMEOUT.as_secs()), false)
        }
        RequestTokenError::Request(_) => ("it could not be reached".into(), false),
        RequestTokenError::ServerResponse(_)
        | RequestTokenError::Parse(..)
        | RequestTokenError::Other(_) => ("its answer is not of the expected form".into(), false),
    };
    Failure { why, is_final }
}
