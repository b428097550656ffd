//! Keys, tokens and secrets of this server in the headers of a request to an endpoint: a client
//! sends them there by mistake, and neither code nor history gets them.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::tenants::keys::KEY_CHARS;

/// Base64 as clients write it, with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Headers in which clients send credentials.
const HEADERS: [&str; 5] =
    ["authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"];
/// What API keys, tokens, sessions and secrets of OAuth clients begin with.
const PREFIXES: [&str; 4] = ["mr_", "mrt_", "mru_", "mrs_"];
/// What stands in their place.
const HIDDEN: &str = "***";

/// Hides what has the form of such a secret, whether or not it is valid.
pub(crate) fn hide(headers: &mut [(String, String)]) {
    for (_, value) in headers.iter_mut().filter(|(name, _)| HEADERS.contains(&name.as_str())) {
        if value.contains("mr") {
            *value = hidden(value);
        }
        if is_basic_with_secret(value) {
            *value = format!("Basic {HIDDEN}");
        }
    }
}

/// Whether the user or the password of `Basic` credentials is such a secret.
fn is_basic_with_secret(value: &str) -> bool {
    let Some((scheme, given)) = value.trim_start().split_once(char::is_whitespace) else {
        return false;
    };
    if !scheme.eq_ignore_ascii_case("basic") {
        return false;
    }
    let Ok(decoded) = BASE64.decode(given.trim()) else { return false };
    let text = String::from_utf8_lossy(&decoded);
    hidden(&text) != text
}

fn hidden(value: &str) -> String {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let shown = |word: &str| if is_secret(word) { HIDDEN.to_owned() } else { word.to_owned() };
    let (mut text, mut word) = (String::with_capacity(value.len()), String::new());
    for c in value.chars() {
        if is_of_word(c) {
            word.push(c);
        } else {
            text.push_str(&shown(&std::mem::take(&mut word)));
            text.push(c);
        }
    }
    text + &shown(&word)
}

fn is_secret(word: &str) -> bool {
    PREFIXES.iter().filter_map(|prefix| word.strip_prefix(prefix)).any(|tail| {
        tail.len() == KEY_CHARS && tail.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_this_server_are_hidden_and_others_stay() {
        let tail = "aB3".repeat(14)[..KEY_CHARS].to_owned();
        let basic = |text: &str| format!("Basic {}", BASE64.encode(text));
        for (name, given, expected) in [
            ("authorization", format!("Bearer mr_{tail}"), "Bearer ***"),
            ("authorization", format!("mrt_{tail}"), "***"),
            ("x-api-key", format!("mrs_{tail}"), "***"),
            (
                "cookie",
                format!("a=1; millrace_session=mru_{tail}; b=2"),
                "a=1; millrace_session=***; b=2",
            ),
            ("cookie", "ä=mr_1; x=mr_".to_owned(), "ä=mr_1; x=mr_"),
            ("authorization", "Bearer mr_short".to_owned(), "Bearer mr_short"),
            ("authorization", "Basic dTpw".to_owned(), "Basic dTpw"),
            ("authorization", basic(&format!("mr_{tail}:")), "Basic ***"),
            ("authorization", basic(&format!("user:mrt_{tail}")), "Basic ***"),
            ("proxy-authorization", basic(&format!("ü:mru_{tail}")), "Basic ***"),
            (
                "authorization",
                format!(" basic\t {} ", BASE64.encode(format!("mr_{tail}")).trim_end_matches('=')),
                "Basic ***",
            ),
            ("authorization", basic("user:mr_short"), "Basic dXNlcjptcl9zaG9ydA=="),
            ("authorization", "Basic %%%".to_owned(), "Basic %%%"),
            ("authorization", "Basic".to_owned(), "Basic"),
        ] {
            let mut headers = [(name.to_owned(), given)];
            hide(&mut headers);
            assert_eq!(headers[0].1, expected);
        }
        let longer = format!("Bearer mr_{tail}x");
        for (name, value) in [("authorization", &longer), ("x-other", &format!("mr_{tail}"))] {
            let mut headers = [(name.to_owned(), value.clone())];
            hide(&mut headers);
            assert_eq!(&headers[0].1, value);
        }
    }
}
