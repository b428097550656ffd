//! HTTP client of token endpoints: it bounds their answers, and brings them into the form of RFC
//! 6749 (5.1, 5.2), which is the only one that the library reads. Many providers answer otherwise:
//! without `token_type` (Shopify, Instagram), with numbers as texts (Azure), as a form (Bitly),
//! with an error and the status 200 (GitHub, Slack, Zoho), or with an error that is an object
//! (Facebook).

use std::pin::Pin;

use oauth2::http::StatusCode;
use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use crate::answers::{self, AnswerError};

/// The largest answer of a provider, bytes.
pub(crate) const ANSWER_BYTES_MAX: usize = 256 << 10;

/// Characters of an error's code.
const CODE_CHARS_MAX: usize = 200;
/// Objects in which some providers put the tokens: TikTok's, and those of users at Slack.
const WITHIN: [&str; 2] = ["data", "authed_user"];
/// Names of an error's code, within the object that an error may be, or beside a flag.
const CODES: [&str; 6] = ["type", "code", "error_code", "status", "error_description", "message"];

/// Why a provider gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskFailed {
    #[error("the request cannot be made or sent")]
    Unsent(#[source] reqwest::Error),
    #[error("the answer is not HTTP")]
    NoAnswer(#[source] oauth2::http::Error),
    #[error(transparent)]
    Unread(#[from] AnswerError),
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
            let answer = match standard(status, &body) {
                Some((status, body)) => oauth2::http::Response::builder().status(status).body(body),
                None => {
                    let mut answer = oauth2::http::Response::builder().status(status);
                    for (name, value) in &headers {
                        answer = answer.header(name, value);
                    }
                    answer.body(body)
                }
            };
            answer.map_err(AskFailed::NoAnswer)
        })
    }
}

/// The answer as the standard has it; None where it is no object of fields, and goes on as it came.
fn standard(status: StatusCode, body: &[u8]) -> Option<(StatusCode, Vec<u8>)> {
    let mut fields = fields(body)?;
    if !has_token(&fields) {
        let inner = WITHIN.iter().find_map(|name| match fields.get(*name) {
            Some(Value::Object(inner)) if has_token(inner) => Some(inner.clone()),
            _ => None,
        });
        fields.extend(inner.unwrap_or_default());
    }
    let is_taken = status.is_success() && has_token(&fields);
    let (status, answer) = if is_taken {
        (StatusCode::OK, Value::Object(tokens(fields)))
    } else {
        let code = code(&fields)?;
        let status = if status.is_success() { StatusCode::BAD_REQUEST } else { status };
        (status, json!({ "error": code }))
    };
    Some((status, answer.to_string().into_bytes()))
}

/// The fields of a JSON object, or of a form.
fn fields(body: &[u8]) -> Option<Map<String, Value>> {
    let text = std::str::from_utf8(body).ok()?.trim_start_matches('\u{feff}').trim();
    if text.starts_with('{') {
        return serde_json::from_str(text).ok();
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
        .or_else(|| fields.get("expires").cloned())
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

/// The code of an error, bounded; None where none is said.
fn code(fields: &Map<String, Value>) -> Option<String> {
    let within = |fields: &Map<String, Value>| {
        CODES.iter().find_map(|name| match fields.get(*name)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    };
    let code = match fields.get("error")? {
        Value::String(text) if !text.is_empty() => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Object(error) => within(error)?,
        Value::Bool(true) => within(fields)?,
        _ => return None,
    };
    Some(code.chars().filter(|c| !c.is_control()).take(CODE_CHARS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, body: &str) -> Option<(u16, Value)> {
        let (status, body) = standard(StatusCode::from_u16(status).expect("one"), body.as_bytes())?;
        Some((status.as_u16(), serde_json::from_slice(&body).expect("JSON")))
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
        ] {
            assert_eq!(read(200, body), Some((200, expected.clone())), "{body}");
            assert_eq!(read(201, body), Some((200, expected)), "{body}");
        }
        let within = read(200, r#"{"ok":true,"authed_user":{"id":"U1","access_token":"t"}}"#);
        let (_, within) = within.expect("tokens");
        assert_eq!((&within["access_token"], &within["id"]), (&json!("t"), &json!("U1")));
    }

    #[test]
    fn errors_are_read_whatever_their_status_and_form() {
        for (status, body, expected, code) in [
            (200, r#"{"ok":false,"error":"invalid_code"}"#, 400, "invalid_code"),
            (
                200,
                r#"{"error":"bad_verification_code","access_token":""}"#,
                400,
                "bad_verification_code",
            ),
            (200, "error=bad_verification_code&error_description=x", 400, "bad_verification_code"),
            (
                400,
                r#"{"error":{"message":"m","type":"OAuthException","code":190}}"#,
                400,
                "OAuthException",
            ),
            (401, r#"{"error":true,"message":"No such client"}"#, 401, "No such client"),
            (400, r#"{"error":"invalid_grant","error_description":"x"}"#, 400, "invalid_grant"),
            (400, r#"{"error":"invalid_grant","access_token":"t"}"#, 400, "invalid_grant"),
        ] {
            assert_eq!(read(status, body), Some((expected, json!({ "error": code }))), "{body}");
        }
        let long = format!(r#"{{"error":"{}\u001b[2J"}}"#, "x".repeat(500));
        assert_eq!(read(400, &long).expect("an error").1["error"], "x".repeat(CODE_CHARS_MAX));
        for body in ["", "<html>", "[]", "{", "null", r#"{"message":"no"}"#, r#"{"error":null}"#] {
            assert_eq!((read(200, body), read(500, body)), (None, None), "{body}");
        }
    }
}
