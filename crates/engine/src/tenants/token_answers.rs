//! HTTP client of token endpoints: it bounds their answers, and brings tokens into the form of RFC
//! 6749 (5.1), which is the only one that the library reads. Many providers answer otherwise:
//! without `token_type` (Shopify, Instagram), with numbers as texts (Azure), or as a form (Bitly).

use std::pin::Pin;

use oauth2::http::StatusCode;
use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::answers::{self, AnswerError};
use crate::tenants::oauth::token_life::EPOCH_SECS_MIN;
use crate::tenants::token_refusal::Refusal;

/// The largest answer of a provider, bytes.
pub(crate) const ANSWER_BYTES_MAX: usize = 256 << 10;

/// Objects in which some providers put the tokens: TikTok's, those of users at Slack, and
/// Withings'.
const WITHIN: [&str; 3] = ["data", "authed_user", "body"];

/// Why a provider gave no token.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskFailed {
    #[error("the request cannot be made or sent")]
    Unsent(#[source] reqwest::Error),
    #[error("the answer is not HTTP")]
    NoAnswer(#[source] oauth2::http::Error),
    #[error(transparent)]
    Unread(#[from] AnswerError),
    #[error("the answer has no token")]
    Refused(Box<Refusal>),
}

/// The HTTP client of the OAuth client: what a provider answers has a bound.
pub(crate) struct BoundedClient(pub(crate) reqwest::Client);

impl<'c> AsyncHttpClient<'c> for BoundedClient {
    type Error = AskFailed;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, AskFailed>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let request = request.try_into().map_err(AskFailed::Unsent)?;
            let response = self
                .0
                .execute(request)
                .await
                .map_err(|error| AskFailed::Unsent(error.without_url()))?;
            let (status, headers) = (response.status(), response.headers().clone());
            let body = answers::whole(response, ANSWER_BYTES_MAX).await?;
            let tokens = standard(status, &body).map_err(|refusal| {
                let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok());
                AskFailed::Refused(Box::new(refusal.of_kind(kind)))
            })?;
            oauth2::http::Response::builder()
                .status(StatusCode::OK)
                .body(tokens)
                .map_err(AskFailed::NoAnswer)
        })
    }
}

/// Tokens as the standard has them.
fn standard(status: StatusCode, body: &[u8]) -> Result<Vec<u8>, Refusal> {
    let Some(mut fields) = fields(body) else { return Err(Refusal::of_text(status, body)) };
    if !has_token(&fields) {
        let inner = WITHIN.iter().find_map(|name| match fields.get(*name) {
            Some(Value::Object(inner)) if has_token(inner) => Some(inner.clone()),
            _ => None,
        });
        fields.extend(inner.unwrap_or_default());
    }
    if status.is_success() && has_token(&fields) {
        Ok(Value::Object(tokens(fields)).to_string().into_bytes())
    } else {
        Err(Refusal::of_fields(status, &fields))
    }
}

/// The fields of a JSON object, or of a form.
fn fields(body: &[u8]) -> Option<Map<String, Value>> {
    let text = std::str::from_utf8(body).ok()?.trim_start_matches('\u{feff}').trim();
    if text.starts_with('{') {
        return millrace_model::json::from_str(text).ok();
    }
    let is_form =
        text.split('&').any(|pair| pair.starts_with("access_token=") || pair.starts_with("error="));
    is_form.then(|| {
        form_urlencoded::parse(text.as_bytes())
            .map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())))
            .collect()
    })
}

fn has_token(fields: &Map<String, Value>) -> bool {
    text(fields, "access_token").is_some()
}

/// A text that says something.
fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// Fields that the standard has, in its types; all others as they are.
fn tokens(mut fields: Map<String, Value>) -> Map<String, Value> {
    if text(&fields, "token_type").is_none() {
        fields.insert("token_type".into(), "bearer".into());
    }
    if text(&fields, "refresh_token").is_none() {
        fields.remove("refresh_token");
    }
    let ends_in = fields
        .remove("expires_in")
        .filter(|given| !given.is_null())
        .or_else(|| fields.get("expires").cloned().filter(is_duration))
        .and_then(|given| seconds(&given))
        // A token that cannot be refreshed and ends as it is given has no end (Mailchimp).
        .filter(|seconds| *seconds > 0 || fields.contains_key("refresh_token"));
    if let Some(seconds) = ends_in {
        fields.insert("expires_in".into(), seconds.into());
    }
    let scopes = match fields.remove("scope") {
        Some(Value::String(scopes)) => Some(scopes),
        Some(Value::Array(scopes)) => {
            Some(scopes.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    };
    if let Some(scopes) = scopes {
        fields.insert("scope".into(), scopes.into());
    }
    fields
}

/// Whether a number of seconds is a duration, and no point in time.
fn is_duration(given: &Value) -> bool {
    seconds(given).is_some_and(|seconds| (seconds as f64) < EPOCH_SECS_MIN)
}

/// Whole seconds, also where they are a text or have a fraction.
fn seconds(given: &Value) -> Option<u64> {
    let number = match given {
        Value::String(text) => text.trim().parse::<f64>().ok()?,
        given => given.as_f64()?,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast of a float stops at the bounds of the integer"
    )]
    let seconds = number as u64;
    number.is_finite().then_some(seconds)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(status: u16, body: &str) -> Option<Value> {
        let status = StatusCode::from_u16(status).expect("one");
        let tokens = standard(status, body.as_bytes()).ok()?;
        Some(millrace_model::json::from_slice(&tokens).expect("JSON"))
    }

    #[test]
    fn tokens_are_read_however_they_are_written() {
        for (body, expected) in [
            (r#"{"access_token":"t"}"#, json!({ "access_token": "t", "token_type": "bearer" })),
            (
                r#"{"access_token":"t","token_type":"Bot","expires_in":"3599","scope":["a","b"],"x":{"y":1}}"#,
                json!({ "access_token": "t", "token_type": "Bot", "expires_in": 3599, "scope": "a b", "x": { "y": 1 } }),
            ),
            (
                "\u{feff}{\"access_token\":\"t\",\"token_type\":null,\"expires_in\":3600.5,\"scope\":null,\"refresh_token\":\"\"}",
                json!({ "access_token": "t", "token_type": "bearer", "expires_in": 3600 }),
            ),
            (
                r#"{"access_token":"t","expires_in":0,"refresh_token":null}"#,
                json!({ "access_token": "t", "token_type": "bearer" }),
            ),
            (
                r#"{"access_token":"t","expires_in":0,"refresh_token":"r"}"#,
                json!({ "access_token": "t", "token_type": "bearer", "expires_in": 0, "refresh_token": "r" }),
            ),
            (
                r#"{"access_token":"t","expires_in":-5,"refresh_token":"r"}"#,
                json!({ "access_token": "t", "token_type": "bearer", "expires_in": 0, "refresh_token": "r" }),
            ),
            (
                r#"{"access_token":"t","expires_in":"never"}"#,
                json!({ "access_token": "t", "token_type": "bearer" }),
            ),
            (
                "access_token=a%20b&expires=5183999",
                json!({ "access_token": "a b", "token_type": "bearer", "expires": "5183999", "expires_in": 5_183_999 }),
            ),
            (
                r#"{"access_token":"t","expires":1795348800}"#,
                json!({ "access_token": "t", "token_type": "bearer", "expires": 1_795_348_800 }),
            ),
        ] {
            assert_eq!(read(200, body), Some(expected.clone()), "{body}");
            assert_eq!((read(201, body), read(400, body)), (Some(expected), None), "{body}");
        }
        let within = read(200, r#"{"ok":true,"authed_user":{"id":"U1","access_token":"t"}}"#);
        let within = within.expect("tokens");
        assert_eq!((&within["access_token"], &within["id"]), (&json!("t"), &json!("U1")));
    }
}
