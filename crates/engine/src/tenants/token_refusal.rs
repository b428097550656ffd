//! Refusals of token endpoints: HTTP status, code and words of an answer without a token, in the
//! forms that providers have: an error with the status 200 (GitHub, Slack), an object (Facebook), a
//! list (Fitbit, Strava), `errmsg` (WeChat), within `data` (TikTok).

use oauth2::http::StatusCode;
use serde_json::{Map, Value};

use crate::tenants::oauth::provider_secrets::ProviderSecrets;

/// Characters of a code, and of the words of a provider.
const CODE_CHARS_MAX: usize = 200;
const WORDS_CHARS_MAX: usize = 300;
/// Names of fields that an error shows of an answer without a token.
const NAMES_MAX: usize = 10;
/// Names of a code, beside `error` or within what it holds.
const CODES: [&str; 6] = ["errorType", "type", "code", "error_code", "errcode", "status"];
/// Names of words for people.
const WORDS: [&str; 6] = ["error_description", "message", "errmsg", "description", "detail", "msg"];
/// Codes by which a refresh token or its client is refused for good: RFC 6749 (5.2), GitHub, Slack,
/// HubSpot. In lower case.
const FINAL: [&str; 8] = [
    "invalid_grant",
    "unauthorized_client",
    "bad_refresh_token",
    "invalid_refresh_token",
    "refresh_token_expired",
    "token_expired",
    "token_revoked",
    "invalid_token",
];

/// An answer without a token. Its texts may repeat secrets: they are shown by
/// [`words`](Self::words) alone.
pub(crate) struct Refusal {
    status: StatusCode,
    kind: Option<String>,
    code: Option<String>,
    words: Option<String>,
}

impl std::fmt::Debug for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Refusal").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Refusal {
    /// Of an answer that is neither a JSON object nor a form. One with a success may hold tokens,
    /// and a page says nothing in its first words.
    pub(super) fn of_text(status: StatusCode, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let text = text.trim_start_matches('\u{feff}').trim();
        let is_shown = !status.is_success() && !text.is_empty() && !text.starts_with('<');
        Self { status, kind: None, code: None, words: is_shown.then(|| text.to_owned()) }
    }

    /// Of the fields of an answer.
    pub(super) fn of_fields(status: StatusCode, fields: &Map<String, Value>) -> Self {
        let inner = match (fields.get("error"), fields.get("errors")) {
            (Some(Value::Object(error)), _) => Some(error),
            (_, Some(Value::Array(errors))) => errors.first().and_then(Value::as_object),
            _ => None,
        };
        let data = fields.get("data").and_then(Value::as_object);
        let places = || [inner, Some(fields), data].into_iter().flatten();
        let code = fields.get("error").and_then(text_of);
        let code = code.or_else(|| places().find_map(|fields| first(fields, &CODES)));
        let words = places().find_map(|fields| first(fields, &WORDS));
        let words = words.filter(|words| code.as_ref() != Some(words));
        let words = match (&code, words) {
            // The names of fields are no secrets, as their values may be.
            (None, None) if !fields.is_empty() => Some(format!("its answer has {}", names(fields))),
            (_, words) => words,
        };
        Self { status, kind: None, code, words }
    }

    /// With the media type of the answer.
    pub(super) fn of_kind(self, kind: Option<&str>) -> Self {
        Self { kind: kind.map(str::to_owned), ..self }
    }

    /// Whether asking again with the same token is of no use.
    pub(crate) fn is_final(&self) -> bool {
        let code = self.code.as_ref().map(|code| code.to_ascii_lowercase());
        !self.status.is_server_error() && code.is_some_and(|code| FINAL.contains(&code.as_str()))
    }

    /// What a person reads, on one line, without the secrets of the request.
    pub(crate) fn words(&self, secrets: &ProviderSecrets) -> String {
        let short = |text: &String, chars_max| {
            let text = secrets.masked(text);
            let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            text.trim().chars().take(chars_max).collect::<String>()
        };
        let said = [
            self.code.as_ref().map(|code| short(code, CODE_CHARS_MAX)),
            self.words.as_ref().map(|words| short(words, WORDS_CHARS_MAX)),
        ];
        let said = said.into_iter().flatten().collect::<Vec<_>>().join(": ");
        let status = self.status.as_u16();
        match (said.as_str(), &self.kind) {
            ("", Some(kind)) => {
                format!("its answer has no token (HTTP {status}, {})", short(kind, CODE_CHARS_MAX))
            }
            ("", None) => format!("its answer has no token (HTTP {status})"),
            (said, _) => format!("{said} (HTTP {status})"),
        }
    }
}

/// The first of the named texts or numbers that says something.
fn first(fields: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| text_of(fields.get(*name)?))
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn names(fields: &Map<String, Value>) -> String {
    let shown: Vec<String> =
        fields.keys().take(NAMES_MAX).map(|name| format!("`{name}`")).collect();
    format!("no `access_token`, but {}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, body: &str) -> Refusal {
        let status = StatusCode::from_u16(status).expect("one");
        match millrace_model::json::from_str(body) {
            Ok(Value::Object(fields)) => Refusal::of_fields(status, &fields),
            _ => Refusal::of_text(status, body.as_bytes()),
        }
    }

    #[test]
    fn a_refusal_has_the_status_and_the_words_whatever_its_form() {
        let none = ProviderSecrets::default();
        for (status, body, words) in [
            (200, r#"{"ok":false,"error":"invalid_code"}"#, "invalid_code (HTTP 200)"),
            (
                400,
                r#"{"error":"invalid_grant","error_description":"Expired.\nSorry"}"#,
                "invalid_grant: Expired. Sorry (HTTP 400)",
            ),
            (
                400,
                r#"{"error":{"message":"Expired","type":"OAuthException","code":190}}"#,
                "OAuthException: Expired (HTTP 400)",
            ),
            (401, r#"{"error":true,"message":"No such client"}"#, "No such client (HTTP 401)"),
            (
                400,
                r#"{"errors":[{"errorType":"invalid_grant","message":"Bad"}],"success":false}"#,
                "invalid_grant: Bad (HTTP 400)",
            ),
            (200, r#"{"errcode":40029,"errmsg":"invalid code"}"#, "40029: invalid code (HTTP 200)"),
            (
                200,
                r#"{"data":{"captcha":"","description":"Client key is wrong","error_code":10003}}"#,
                "10003: Client key is wrong (HTTP 200)",
            ),
            (
                400,
                r#"{"status":"BAD_REFRESH_TOKEN","message":"missing"}"#,
                "BAD_REFRESH_TOKEN: missing (HTTP 400)",
            ),
            (
                200,
                r#"{"accessToken":"s3cret","expiresIn":1}"#,
                "its answer has no `access_token`, but `accessToken`, `expiresIn` (HTTP 200)",
            ),
            (502, "<html>bad gateway", "its answer has no token (HTTP 502)"),
            (503, " try later\u{1b}[2J ", "try later [2J (HTTP 503)"),
            (200, "s3cret", "its answer has no token (HTTP 200)"),
            (204, "", "its answer has no token (HTTP 204)"),
            (429, "{}", "its answer has no token (HTTP 429)"),
        ] {
            assert_eq!(refusal(status, body).words(&none), words, "{body}");
        }
        let page = refusal(200, "<html>").of_kind(Some("text/html"));
        assert_eq!(page.words(&none), "its answer has no token (HTTP 200, text/html)");
    }

    #[test]
    fn a_secret_that_is_repeated_is_cut_out_before_the_text_is() {
        let secrets = ProviderSecrets::default().and("rt-secret");
        let body = format!(r#"{{"message":"{} rt-secret"}}"#, "x".repeat(WORDS_CHARS_MAX - 5));
        let words = refusal(400, &body).words(&secrets);
        assert!(words.ends_with(" *** (HTTP 400)") && !words.contains("rt-"), "{words}");
        assert_eq!(refusal(500, "no rt-secret!").words(&secrets), "no ***! (HTTP 500)");
    }

    #[test]
    fn a_refused_token_is_refused_for_good_and_a_failing_provider_is_not() {
        for (status, body, is_final) in [
            (400, r#"{"error":"invalid_grant"}"#, true),
            (200, r#"{"error":"token_revoked"}"#, true),
            (400, r#"{"status":"BAD_REFRESH_TOKEN"}"#, true),
            (400, r#"{"errors":[{"errorType":"invalid_grant"}]}"#, true),
            (500, r#"{"error":"invalid_grant"}"#, false),
            (401, r#"{"error":"invalid_client"}"#, false),
            (503, "later", false),
        ] {
            assert_eq!(refusal(status, body).is_final(), is_final, "{body}");
        }
    }
}
