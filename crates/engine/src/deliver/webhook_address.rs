//! Address of a webhook: stored and shown with `***` for its user and password, which are sealed
//! together with the secret that signs deliveries.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use millrace_model::webhook::Webhook;
use percent_encoding::percent_decode_str;
use url::Url;

use crate::EngineError;
use crate::tenants::secrets::Keyring;

/// Stands for user and password in a shown address. A URL parser leaves it as it is.
const MASK: &str = "***";
/// Separates the signing secret from user and password in the sealed text: neither has a space.
const SEPARATOR: char = ' ';

/// What is sealed of a webhook.
pub(crate) struct Sealed {
    /// Signs deliveries.
    pub(crate) secret: String,
    /// `user:password`, encoded as in an address.
    credentials: Option<String>,
}

impl Sealed {
    /// Of a new webhook, and its address without credentials.
    pub(crate) fn of(secret: String, url: &str) -> (Self, String) {
        let (shown, credentials) = split(url);
        (Self { secret, credentials }, shown)
    }

    pub(crate) fn open(keyring: &Keyring, webhook: &Webhook) -> Result<Self, EngineError> {
        Ok(Self::parse(&keyring.open(webhook.id.as_str(), &webhook.secret)?))
    }

    /// The text to seal; [`Sealed::parse`] reads it. Without credentials it is the secret.
    pub(crate) fn text(&self) -> String {
        match &self.credentials {
            Some(credentials) => format!("{}{SEPARATOR}{credentials}", self.secret),
            None => self.secret.clone(),
        }
    }

    fn parse(text: &str) -> Self {
        let (secret, credentials) = match text.split_once(SEPARATOR) {
            Some((secret, credentials)) => (secret, Some(credentials.to_owned())),
            None => (text, None),
        };
        Self { secret: secret.to_owned(), credentials }
    }

    /// Where deliveries go: the stored address with its credentials.
    pub(crate) fn address(&self, stored: &str) -> Option<Url> {
        let mut url = Url::parse(stored).ok()?;
        if let Some(credentials) = &self.credentials {
            let (user, password) = match credentials.split_once(':') {
                Some((user, password)) => (user, Some(password)),
                None => (credentials.as_str(), None),
            };
            url.set_username(user).and_then(|()| url.set_password(password)).ok()?;
        }
        Some(url)
    }

    /// A text of the receiver without the secret and the credentials: a service that echoes its
    /// requests answers with them.
    pub(crate) fn hide_in(&self, address: &Url, text: &str) -> String {
        let mut hidden = vec![self.secret.clone()];
        let (user, password) = (address.username(), address.password().unwrap_or_default());
        if has_credentials(address) {
            let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
            let pair = format!("{}:{}", decode(user), decode(password));
            // A user alone is a token.
            let secret = if password.is_empty() { user } else { password };
            hidden.extend([STANDARD.encode(pair), secret.to_owned(), decode(secret)]);
        }
        hidden.retain(|secret| !secret.is_empty());
        let masked = |text: String, secret: &String| text.replace(secret.as_str(), MASK);
        let text = hidden.iter().fold(text.to_owned(), masked);
        hidden.iter().fold(text, |text, secret| match start_at_end(&text, secret) {
            Some(at) => format!("{}{MASK}", &text[..at]),
            None => text,
        })
    }
}

/// Bytes of the shortest beginning of a secret that is hidden at the end of a text.
const START_MIN: usize = 8;

/// Position at which a text ends with the beginning of a secret: what was read may end within it.
fn start_at_end(text: &str, secret: &str) -> Option<usize> {
    let starts = secret.char_indices().rev().map(|(at, _)| &secret[..at]);
    starts
        .take_while(|start| start.len() >= START_MIN)
        .find(|start| text.ends_with(start))
        .map(|start| text.len() - start.len())
}

/// An address with `***` for its user and password. Webhooks of earlier versions have both stored
/// in the address.
pub fn shown_address(url: &str) -> String {
    split(url).0
}

/// Whether an address is one as a record shows it.
pub(crate) fn is_masked(url: &Url) -> bool {
    url.username() == MASK && url.password().is_none()
}

/// Whether an address names a user or a password.
pub(crate) fn has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

fn split(text: &str) -> (String, Option<String>) {
    let Ok(mut url) = Url::parse(text) else { return (text.to_owned(), None) };
    if is_masked(&url) || !has_credentials(&url) {
        return (text.to_owned(), None);
    }
    let credentials = match url.password() {
        Some(password) => format!("{}:{password}", url.username()),
        None => url.username().to_owned(),
    };
    // Fails only for addresses without a host, which no webhook has.
    let _ = url.set_password(None).and_then(|()| url.set_username(MASK));
    (url.into(), Some(credentials))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_sealed_apart_and_put_back() {
        for (given, shown) in [
            ("https://a.test/x?y=1", "https://a.test/x?y=1"),
            ("https://bob:p%20%3A%40s@a.test/in", "https://***@a.test/in"),
            ("https://token@a.test/in", "https://***@a.test/in"),
            ("https://:pass@a.test/in", "https://***@a.test/in"),
            ("https://b:c:d@a.test/in", "https://***@a.test/in"),
        ] {
            let given = Url::parse(given).expect("an address");
            let (sealed, stored) = Sealed::of("whsec_x".into(), given.as_str());
            assert_eq!(stored, shown);
            assert_eq!(shown_address(&stored), shown, "shown again");
            let opened = Sealed::parse(&sealed.text());
            assert_eq!(opened.secret, "whsec_x");
            assert_eq!(opened.address(&stored), Some(given));
        }
    }

    #[test]
    fn an_answer_that_echoes_its_request_shows_no_secret() {
        for (credentials, answer, shown) in [
            ("bob:p%40ss@", r#"{"a":"Basic Ym9iOnBAc3M="} bob"#, r#"{"a":"Basic ***"} bob"#),
            ("bob:p%40ss@", "whsec_x p@ss p%40ss", "*** *** ***"),
            ("tok3n@", "no tok3n dG9rM246", "no *** ***"),
            ("tok3n-of-bob@", "seen: tok3n-of-b", "seen: ***"),
            ("tok3n-of-bob@", "seen: tok3n-o", "seen: tok3n-o"),
            ("", "ok", "ok"),
        ] {
            let url = Url::parse(&format!("https://{credentials}a.test/in")).expect("an address");
            let sealed = Sealed { secret: "whsec_x".into(), credentials: None };
            assert_eq!(sealed.hide_in(&url, answer), shown);
        }
    }

    #[test]
    fn the_address_of_an_earlier_version_is_shown_without_credentials_and_used_with_them() {
        let stored = "https://bob:pass@a.test/in";
        assert_eq!(shown_address(stored), "https://***@a.test/in");
        let sealed = Sealed::parse("whsec_x");
        assert_eq!(sealed.address(stored).map(String::from).as_deref(), Some(stored));
    }
}
