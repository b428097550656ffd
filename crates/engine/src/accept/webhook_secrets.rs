//! Secrets of endpoints that verify signatures, as they are pasted: what of a text is the secret,
//! the keys that it means, and whether it can be one.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use crate::deliver::webhooks::SECRET_PREFIX;

/// Bytes of a key at least, by Standard Webhooks ("between 24 bytes and 64 bytes").
const KEY_BYTES_MIN: usize = 24;

/// Base64 as secrets are pasted: with or without padding.
const PASTED: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);
/// What some senders write before a secret: the version of the signatures that it makes.
const VERSION_PREFIX: &str = "v1,";
/// Keys of signatures of version `v1a`, which are made with Ed25519.
const ASYMMETRIC_PREFIXES: [&str; 2] = ["whsk_", "whpk_"];

/// Quotes that stand around what is copied out of code, a file or a message.
const QUOTES: [(char, char); 7] = [
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('\u{201c}', '\u{201d}'),
    ('\u{2018}', '\u{2019}'),
    ('\u{ab}', '\u{bb}'),
    ('<', '>'),
];

/// Refuses a secret that no delivery could be verified with.
pub(super) fn check_secret(secret: &str, in_hex: bool) -> Result<(), &'static str> {
    if secret.contains(|c: char| ('\u{ff01}'..='\u{ff5e}').contains(&c)) {
        return Err("has full-width characters (`ｗ` for `w`); paste it as its sender shows it");
    }
    if in_hex {
        return if unwrapped(secret) == secret {
            Ok(())
        } else {
            Err("begins or ends with white space or quotes; paste it without")
        };
    }
    if webhook_keys(secret)?.iter().all(|key| key.len() < KEY_BYTES_MIN) {
        return Err(
            "is shorter than 24 bytes, the least that Standard Webhooks allow: a part of a secret, or a placeholder such as `whsec_YOUR_SECRET_HERE`; paste the whole secret",
        );
    }
    Ok(())
}

/// A text without what is copied with it: white space, characters that nobody sees, and quotes.
pub(super) fn unwrapped(text: &str) -> &str {
    let is_unseen = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{ad}')
    };
    let text = text.trim_matches(is_unseen);
    let inner = QUOTES
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close))
        .filter(|inner| !inner.is_empty());
    inner.map_or(text, unwrapped)
}

/// What stands behind the name of a variable: `SECRET=whsec_…` of a file of settings.
fn value_of(text: &str) -> Option<&str> {
    let (name, value) = text.trim_end_matches(';').split_once('=')?;
    let name = name.trim().rsplit(' ').next()?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let value = unwrapped(value);
    (is_name && value.strip_prefix(VERSION_PREFIX).unwrap_or(value).starts_with(SECRET_PREFIX))
        .then_some(value)
}

/// The keys that a secret of Standard Webhooks may mean: base64 after `whsec_` or `v1,whsec_`.
/// Another text is the key itself, or base64 of it: the libraries of Standard Webhooks read it so.
/// One that holds such a secret and something else beside it is neither.
pub(super) fn webhook_keys(secret: &str) -> Result<Vec<Vec<u8>>, &'static str> {
    const UNCLEAR: &str =
        "cannot be decoded: what follows `whsec_` must be base64; paste one whole secret";
    let text = unwrapped(secret);
    let text = if text.starts_with(SECRET_PREFIX) { text } else { value_of(text).unwrap_or(text) };
    let bare = text.strip_prefix(VERSION_PREFIX).unwrap_or(text);
    let decoded = |text: &str| {
        PASTED.decode(text.replace('-', "+").replace('_', "/")).ok().filter(|key| !key.is_empty())
    };
    if let Some(encoded) = bare.strip_prefix(SECRET_PREFIX) {
        return decoded(encoded).map(|key| vec![key]).ok_or(UNCLEAR);
    }
    if ASYMMETRIC_PREFIXES.iter().any(|prefix| bare.contains(prefix)) {
        return Err(
            "is a key of Ed25519 signatures (`v1a`), which are not verified here; allowed is a symmetric secret, `whsec_…`",
        );
    }
    if bare != text {
        return Err("has no `whsec_` after `v1,`; paste the whole secret, `whsec_…`");
    }
    if text.is_empty() {
        return Err("is white space");
    }
    if text.to_ascii_lowercase().contains(SECRET_PREFIX.trim_end_matches('_')) {
        return Err(UNCLEAR);
    }
    Ok([Some(text.as_bytes().to_vec()), decoded(text)].into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_as_it_is_pasted() {
        // The example of the specification's reference libraries.
        let key = webhook_keys("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        for same in [
            " v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n",
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ] {
            assert_eq!(webhook_keys(same), Ok(key.clone()), "{same}");
        }
        assert_eq!(webhook_keys("whsec_-_8"), webhook_keys("v1,whsec_+/8="));
        assert_eq!(webhook_keys("a key"), Ok(vec![b"a key".to_vec()]));
        assert_eq!(webhook_keys("YSBrZXk="), Ok(vec![b"YSBrZXk=".to_vec(), b"a key".to_vec()]));
        // As it stands where it is copied from.
        for pasted in [
            "\"whsec_AAAA\"",
            "'whsec_AAAA'",
            "`v1,whsec_AAAA`",
            "\u{201c}whsec_AAAA\u{201d}",
            "\u{feff}whsec_AAAA\u{200b}",
            " \"whsec_AAAA\"\r\n",
        ] {
            assert_eq!(webhook_keys(pasted), Ok(vec![vec![0; 3]]), "{pasted}");
        }
        for line in [
            "SECRET=whsec_AAAA",
            "export WEBHOOK_SECRET='whsec_AAAA'",
            "const secret = \"v1,whsec_AAAA\";",
        ] {
            assert_eq!(webhook_keys(line), Ok(vec![vec![0; 3]]), "{line}");
        }
        assert_eq!(webhook_keys("\"a key\""), Ok(vec![b"a key".to_vec()]));
        for wrong in [
            "WHSEC_AAAA",
            "Bearer whsec_AAAA",
            "whsecc_AAAA",
            "{\"secret\":\"whsec_AAAA\"}",
            "whsec_AAAA, whsec_AAAA",
            "v1a,whpk_AAAA",
            "KEY=whsk_AAAA",
            "\"\u{200b}\"",
        ] {
            assert!(webhook_keys(wrong).is_err(), "{wrong}");
        }
        for quoted in ["\"abc\"", "'abc'", " abc", "abc\n", "\u{200b}abc"] {
            assert!(check_secret(quoted, true).is_err(), "{quoted}");
        }
        assert!(check_secret("a\"b", true).is_ok());
        for wrong in [
            "whsec_",
            "whsec_a b",
            "v1,whsec_AAAA|v1,whsec_AAAA",
            "v1,AAAA",
            "v1,",
            "whsk_AAAA",
            " ",
            "whsec_é",
        ] {
            assert!(webhook_keys(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_a_secret_is_refused() {
        for (wrong, why) in [
            ("whsec_YOUR_SECRET_HERE", "24 bytes"),
            ("whsec_YQ==", "24 bytes"),
            ("<your signing secret>", "24 bytes"),
            ("YQ==", "24 bytes"),
            ("ｗｈｓｅｃ_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "full-width"),
        ] {
            let said = check_secret(wrong, false).expect_err(wrong);
            assert!(said.contains(why), "{wrong}: {said}");
        }
        assert!(check_secret("ｓecret", true).is_err());
        for right in [
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "a key of thirty-two bytes, mostly",
        ] {
            assert_eq!(check_secret(right, false), Ok(()), "{right}");
        }
        // Headers of other senders are signed with keys of any length.
        assert_eq!(check_secret("short", true), Ok(()));
    }
}
