//! Secrets that a request to a provider carries, and their removal from texts that come back.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::form_urlencoded;

/// What stands in the place of a secret.
const HIDDEN: &str = "***";
/// Shorter texts are parts of words: they are not looked for.
const SECRET_BYTES_MIN: usize = 3;
/// Characters that `encodeURIComponent` and its kind encode.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Secrets of one request in the forms in which a provider may repeat them.
#[derive(Clone, Default)]
pub(crate) struct ProviderSecrets(Vec<String>);

impl ProviderSecrets {
    /// Those of a client: its secret, also within the `Authorization` header.
    pub(crate) fn of_client(id: &str, secret: &str) -> Self {
        let encoded =
            |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        Self::default()
            .and(secret)
            .and(&format!("{}:{}", encoded(id), encoded(secret)))
            .and(&format!("{id}:{secret}"))
    }

    /// These and another one.
    pub(crate) fn and(mut self, secret: &str) -> Self {
        if secret.len() >= SECRET_BYTES_MIN {
            self.0.extend(forms(secret));
            // What holds another one goes first, and whole.
            self.0.sort_by_key(|form| std::cmp::Reverse(form.len()));
            self.0.dedup();
        }
        self
    }

    /// The text without the secrets.
    pub(crate) fn masked(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| {
            if text.contains(secret.as_str()) {
                text.replace(secret.as_str(), HIDDEN)
            } else {
                text
            }
        })
    }
}

fn forms(secret: &str) -> Vec<String> {
    let form: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let percent = utf8_percent_encode(secret, ENCODED).to_string();
    let json = serde_json::Value::from(secret).to_string();
    let mut forms = vec![secret.to_owned(), json.trim_matches('"').to_owned()];
    forms.extend([&form, &percent].map(|text| lower_escapes(text)));
    forms.extend([form, percent]);
    forms.extend(
        [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].map(|engine| engine.encode(secret)),
    );
    forms.retain(|form| form.len() >= SECRET_BYTES_MIN);
    forms
}

/// `%2f` for `%2F`.
fn lower_escapes(text: &str) -> String {
    let mut digits = 0_u8;
    let lowered = text.chars().map(|c| {
        let is_digit = digits > 0;
        digits = if c == '%' { 2 } else { digits.saturating_sub(1) };
        if is_digit { c.to_ascii_lowercase() } else { c }
    });
    lowered.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_goes_in_every_form() {
        let secret = "s3 cr+et/ä\"=?>~";
        let secrets = ProviderSecrets::of_client("client id", secret).and("rt-1234").and("ab");
        let basic = "client+id:s3+cr%2Bet%2F%C3%A4%22%3D%3F%3E%7E";
        for text in [
            secret.to_owned(),
            "s3 cr+et/ä\\\"=?>~".into(),
            "s3+cr%2Bet%2F%C3%A4%22%3D%3F%3E%7E".into(),
            "s3+cr%2bet%2f%c3%a4%22%3d%3f%3e%7e".into(),
            "s3%20cr%2Bet%2F%C3%A4%22%3D%3F%3E~".into(),
            STANDARD.encode(secret),
            URL_SAFE_NO_PAD.encode(secret),
            basic.into(),
            STANDARD.encode(basic),
            STANDARD_NO_PAD.encode(format!("client id:{secret}")),
            format!("client id:{secret}"),
            "rt-1234".into(),
        ] {
            assert_eq!(secrets.masked(&format!("no {text}, ab")), "no ***, ab", "{text}");
        }
        assert_eq!(secrets.masked("rt-123 s3 client id"), "rt-123 s3 client id");
    }
}
