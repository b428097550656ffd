//! Words of a run's texts, as the search index holds them, and of a search.
//!
//! A word is a sequence of letters and digits in lower case; a character of Chinese or Japanese is
//! a word. Names of JSON fields are none: only values.

use std::collections::BTreeSet;

use crate::pause::without_codes;

/// Bytes of a run's texts that are indexed: of its error, then its event, then its results.
pub const TEXT_BYTES_MAX: usize = 64 << 10;
/// Of these, what an error may have at most, and an error and an event together.
const ERROR_BYTES_MAX: usize = 16 << 10;
const EVENT_BYTES_MAX: usize = 40 << 10;
/// Characters of a word that are told apart.
const WORD_CHARS_MAX: usize = 64;
/// Words of a search.
const ASKED_MAX: usize = 16;
/// Characters before a `*`.
const PREFIX_CHARS_MIN: usize = 3;

/// A word that a run must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedWord {
    /// Letters and digits, in lower case.
    pub text: String,
    /// Whether words count that begin with it.
    pub is_prefix: bool,
}

/// A search that cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// It has no word.
    #[error("it has no letters or digits to search for")]
    Empty,
    /// It has more words than allowed.
    #[error("it has more than {ASKED_MAX} words")]
    TooMany,
    /// A beginning of a word is too short.
    #[error("before a `*` stand at least {PREFIX_CHARS_MIN} letters or digits")]
    ShortPrefix,
}

/// The words of a search; all of them must occur. `order*` stands for each word that begins so.
pub fn asked(text: &str) -> Result<Vec<AskedWord>, SearchError> {
    let mut words: Vec<AskedWord> = Vec::new();
    for part in text.split_whitespace() {
        let mut found = Vec::new();
        split(part, &mut |word| found.push(word));
        let last = found.len().saturating_sub(1);
        for (n, text) in found.into_iter().enumerate() {
            let is_prefix = n == last && part.ends_with('*');
            if is_prefix && text.chars().count() < PREFIX_CHARS_MIN {
                return Err(SearchError::ShortPrefix);
            }
            let word = AskedWord { text, is_prefix };
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    match words.len() {
        0 => Err(SearchError::Empty),
        n if n > ASKED_MAX => Err(SearchError::TooMany),
        _ => Ok(words),
    }
}

/// The words of a run, each once: of the JSON texts of its error, its event and its result, which
/// may be cut.
pub fn words_of_run(error: Option<&str>, event: &str, result: Option<&str>) -> BTreeSet<String> {
    let (mut words, mut taken) = (BTreeSet::new(), 0);
    for (text, bytes_max) in
        [(error, ERROR_BYTES_MAX), (Some(event), EVENT_BYTES_MAX), (result, TEXT_BYTES_MAX)]
    {
        values(text.unwrap_or(""), |value| {
            let left = bytes_max.saturating_sub(taken);
            let value = &value[..value.floor_char_boundary(left)];
            taken += value.len();
            split(&without_codes(value), &mut |word| {
                words.insert(word);
            });
            left > 0
        });
    }
    words
}

/// Hands over each string and number of a JSON text that is no name of a field, until `take` has
/// enough.
fn values(json: &str, mut take: impl FnMut(&str) -> bool) {
    let bytes = json.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let begin = at;
        if bytes[at] == b'"' {
            at += 1;
            while at < bytes.len() && bytes[at] != b'"' {
                at += 1 + usize::from(bytes[at] == b'\\');
            }
            let end = at.min(bytes.len());
            at = (at + 1).min(bytes.len());
            let is_name =
                bytes[at..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
            let Some(raw) = json.get(begin + 1..end) else { continue };
            let decoded = if raw.contains('\\') {
                json.get(begin..at).and_then(|quoted| serde_json::from_str::<String>(quoted).ok())
            } else {
                None
            };
            if !is_name && !take(decoded.as_deref().unwrap_or(raw)) {
                return;
            }
        } else if bytes[at].is_ascii_digit() {
            at += bytes[at..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
                .count();
            if !take(&json[begin..at]) {
                return;
            }
        } else {
            at += 1;
        }
    }
}

fn split(text: &str, take: &mut impl FnMut(String)) {
    let (mut word, mut chars) = (String::new(), 0);
    let mut end = |word: &mut String| {
        if !word.is_empty() {
            take(std::mem::take(word));
        }
    };
    for c in text.chars() {
        let is_alone = matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
        if is_alone || !c.is_alphanumeric() {
            end(&mut word);
            chars = 0;
        }
        if is_alone {
            word.push(c);
            end(&mut word);
        } else if c.is_alphanumeric() {
            chars += 1;
            if chars <= WORD_CHARS_MAX {
                word.extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
            }
        }
    }
    end(&mut word);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(event: &str) -> Vec<String> {
        words_of_run(None, event, None).into_iter().collect()
    }

    #[test]
    fn values_are_split_at_what_is_no_letter_or_digit() {
        assert_eq!(
            words(
                r#"{"name":"Ünal, ORD-1182","total" : 12.50,"tags":["a b",true,null,{"k":"x@y.test"}]}"#
            ),
            ["1182", "12", "50", "a", "b", "ord", "test", "x", "y", "ünal"]
        );
        assert_eq!(words(r#"{"a":"line\nnext\u0041 \"q\" \ud83d\ude00"}"#), ["line", "nexta", "q"]);
        assert_eq!(words(r#"{"a":"注文 ok"}"#), ["ok", "文", "注"]);
    }

    #[test]
    fn a_text_that_was_cut_gives_the_words_before() {
        for text in
            [r#"{"a":"one","b":"tw"#, r#"{"a":"one","b":"tw\"#, r#"{"a":"one","b"#, "", "\"", "\\"]
        {
            let found = words(text);
            assert!(text.len() < 5 || found.contains(&"one".to_owned()), "{text}: {found:?}");
        }
    }

    #[test]
    fn an_error_comes_first_and_a_large_event_leaves_room_for_results() {
        let large = format!("{{\"a\":\"{}\"}}", "x ".repeat(TEXT_BYTES_MAX));
        let found = words_of_run(
            Some(r#"{"message":"broken"}"#),
            &large,
            Some(r#"{"steps":[{"exports":{"a":"result"}}]}"#),
        );
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["broken", "result", "x"]);
        let long = "y".repeat(1_000);
        assert_eq!(words(&format!("[\"{long}\"]")), ["y".repeat(WORD_CHARS_MAX)]);
        assert_eq!(asked(&long).expect("a word")[0].text, "y".repeat(WORD_CHARS_MAX));
    }

    #[test]
    fn addresses_that_end_a_pause_are_not_found_by_their_code() {
        let text =
            r#"{"a":"see https://x.test/resume/run_1-2-c0de_Z9 or \/cancel\/run_1-2-zz, then"}"#;
        let expected =
            ["1", "2", "cancel", "https", "or", "resume", "run", "see", "test", "then", "x"];
        assert_eq!(words(text), expected);
    }

    #[test]
    fn a_search_has_words_and_beginnings() {
        let word = |text: &str, is_prefix| AskedWord { text: text.into(), is_prefix };
        assert_eq!(
            asked("ORD-1182 \"failed\" cust*"),
            Ok(vec![
                word("ord", false),
                word("1182", false),
                word("failed", false),
                word("cust", true)
            ])
        );
        assert_eq!(asked(" -- "), Err(SearchError::Empty));
        assert_eq!(asked("ab*"), Err(SearchError::ShortPrefix));
        assert_eq!(
            asked(&(0..17).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")),
            Err(SearchError::TooMany)
        );
    }
}
