//! Rule by which the name of a header, parameter or form field says that its value is a credential.
//!
//! The runtime has the same rule (`runtime/src/credential_names.ts`); the tests of both read
//! `runtime/test/credential_names.json`.

/// Words that make a name one of a credential wherever they stand in it.
const ANYWHERE: [&str; 17] = [
    "assertion",
    "auth",
    "authentication",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "hmac",
    "jwt",
    "otp",
    "passcode",
    "passphrase",
    "secret",
    "session",
    "signature",
    "wsse",
];

/// Words that do so at the end of a name: `x-api-key`, and not `x-api-key-id`.
const LAST: [&str; 13] = [
    "accesskey",
    "apikey",
    "appkey",
    "authkey",
    "key",
    "licensekey",
    "pass",
    "pin",
    "privatekey",
    "pwd",
    "secretkey",
    "sig",
    "subscriptionkey",
];

/// Ends of words that do so wherever the word stands: `csrftoken`.
const ENDS: [&str; 7] = ["cookie", "passwd", "password", "secret", "sessid", "sessionid", "token"];

/// Words directly before one of the above with which it names no credential:
/// `x-idempotency-key`, `page_token`.
const HARMLESS_BEFORE: [&str; 27] = [
    "allow",
    "cache",
    "continuation",
    "cursor",
    "dedup",
    "deduplication",
    "foreign",
    "idempotency",
    "idempotent",
    "issue",
    "lock",
    "next",
    "object",
    "ordering",
    "page",
    "pagination",
    "partition",
    "primary",
    "project",
    "public",
    "publishable",
    "routing",
    "row",
    "socket",
    "sort",
    "surrogate",
    "websocket",
];

/// Last words of names that describe a credential and hold none: `x-auth-email`, `token_type`.
const DESCRIBES: [&str; 32] = [
    "alg",
    "algorithm",
    "count",
    "date",
    "email",
    "enabled",
    "endpoint",
    "expiration",
    "expires",
    "expiry",
    "format",
    "headers",
    "host",
    "in",
    "input",
    "length",
    "limit",
    "method",
    "mode",
    "name",
    "provider",
    "remaining",
    "required",
    "scope",
    "scopes",
    "status",
    "timestamp",
    "ttl",
    "type",
    "user",
    "username",
    "version",
];

/// Whether the name is that of a credential, by its words: parts between signs and before capitals,
/// in any case, without digits at their ends.
#[must_use]
pub fn is_credential_name(name: &str) -> bool {
    let words = words(name);
    let Some(last) = words.last() else { return false };
    if DESCRIBES.contains(&last.as_str()) || is_id(&words) {
        return false;
    }
    words.iter().enumerate().any(|(at, word)| {
        let is_named = ANYWHERE.contains(&word.as_str())
            || (at + 1 == words.len() && LAST.contains(&word.as_str()))
            || ENDS.iter().any(|end| word.ends_with(end));
        is_named && (at == 0 || !HARMLESS_BEFORE.contains(&words[at - 1].as_str()))
    })
}

/// Whether the name is that of an id; ids of sessions and secrets are credentials themselves.
fn is_id(words: &[String]) -> bool {
    match words {
        [.., before, id] => id == "id" && before != "session" && before != "secret",
        _ => false,
    }
}

fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for char in name.chars() {
        let begins = char.is_ascii_uppercase() && !before.is_ascii_uppercase();
        if begins || !char.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if let (true, Some(word)) = (char.is_ascii_alphanumeric(), words.last_mut()) {
            word.push(char.to_ascii_lowercase());
        }
        before = char;
    }
    for word in &mut words {
        let letters = word.trim_end_matches(|char: char| char.is_ascii_digit()).len();
        word.truncate(letters);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn names_of_credentials_are_told_from_others() {
        let table = include_str!("../../../runtime/test/credential_names.json");
        let table: HashMap<&str, Vec<&str>> = crate::json::from_str(table).expect("a table");
        for (list, expected) in [("credentials", true), ("others", false)] {
            assert!(table[list].len() >= 30);
            for name in &table[list] {
                assert_eq!(is_credential_name(name), expected, "{name}");
            }
        }
    }
}
