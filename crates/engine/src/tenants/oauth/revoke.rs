//! Revocation of a deleted account's token at its provider (RFC 7009).

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use millrace_model::account::{App, OauthClient};
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::tenants::accounts::Accounts;

/// Tokens that are revoked, each with the hint that names its kind. One is enough: a provider ends
/// the access tokens of a refresh token with it.
const TOKENS: [(&str, &str); 2] =
    [("oauth_refresh_token", "refresh_token"), ("oauth_access_token", "access_token")];

impl Accounts {
    /// Revokes the token of a deleted account, authenticated as at the token endpoint. The
    /// provider's answer changes nothing here.
    pub(in crate::tenants) fn revoke_later(
        self: &Arc<Self>,
        app: &App,
        credentials: &Map<String, Value>,
    ) {
        let Some(client) = &app.definition.oauth else { return };
        let Some(url) = client.revoke_url.clone() else { return };
        let token = TOKENS
            .into_iter()
            .find_map(|(name, hint)| Some((credentials.get(name)?.as_str()?.to_owned(), hint)));
        let Some((token, hint)) = token else { return };
        let secret = match self.keyring.open(app.id.as_str(), &client.client_secret) {
            Ok(secret) => secret,
            Err(error) => {
                tracing::warn!(app = app.name_slug, error = %error, "a token was not revoked: the client's secret cannot be read");
                return;
            }
        };
        let (authorization, form) = request(client, &secret, &token, hint);
        let (accounts, slug) = (self.clone(), app.name_slug.clone());
        self.ctx.tasks.spawn(async move {
            let http = match accounts.provider_client(&url).await {
                Ok(http) => http,
                Err(why) => {
                    tracing::info!(app = slug, %why, "a token was not revoked: its provider cannot be reached");
                    return;
                }
            };
            let mut request = http.post(url).form(&form);
            if let Some(authorization) = authorization {
                request = request.header("authorization", authorization);
            }
            let sent = request.send().await.and_then(reqwest::Response::error_for_status);
            if let Err(error) = sent {
                tracing::info!(app = slug, error = %error.without_url(), "a token was not revoked: its provider refused");
            }
        });
    }
}

/// The `Authorization` header and the body of a revocation (RFC 6749, 2.3.1; RFC 7009, 2.1).
fn request(
    client: &OauthClient,
    secret: &str,
    token: &str,
    hint: &str,
) -> (Option<String>, Vec<(&'static str, String)>) {
    let mut form = vec![("token", token.to_owned()), ("token_type_hint", hint.to_owned())];
    if client.secret_in_body {
        form.extend([
            ("client_id", client.client_id.clone()),
            ("client_secret", secret.to_owned()),
        ]);
        return (None, form);
    }
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(&client.client_id), encoded(secret));
    (Some(format!("Basic {}", STANDARD.encode(pair))), form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revocation_authenticates_as_the_client_does_at_the_token_endpoint() {
        let mut client = OauthClient { client_id: "c d".into(), ..OauthClient::default() };
        let (authorization, form) = request(&client, "s:&", "rt", "refresh_token");
        assert_eq!(authorization, Some(format!("Basic {}", STANDARD.encode("c+d:s%3A%26"))));
        let token = [("token", "rt".to_owned()), ("token_type_hint", "refresh_token".to_owned())];
        assert_eq!(form, token);
        client.secret_in_body = true;
        let (authorization, form) = request(&client, "s:&", "rt", "refresh_token");
        assert_eq!(authorization, None);
        assert_eq!(form[..2], token);
        assert_eq!(
            form[2..],
            [("client_id", "c d".to_owned()), ("client_secret", "s:&".to_owned())]
        );
    }
}
