//! Words of a run's texts, as the search index holds them, and of a search.
//!
//! A word is a sequence of letters and digits, folded: case, compatibility forms (full width,
//! ligatures) and composition (NFC) do not count. Scripts that write no spaces between words, or
//! add particles to them, have smaller words: a character of Chinese, Japanese or Korean, and two
//! letters that follow each other of Thai, Lao, Burmese or Khmer. Names of JSON fields are none:
//! only values.

use std::collections::BTreeSet;

use split::{Script, is_of_word, script_of, split, split_unfolded};

use crate::pause::without_codes;

mod split;

/// Bytes of a run's texts that are indexed: of its error, then its event, then its results.
pub const TEXT_BYTES_MAX: usize = 64 << 10;
/// Of these, what an error may have at most, and an error and an event together.
const ERROR_BYTES_MAX: usize = 16 << 10;
const EVENT_BYTES_MAX: usize = 40 << 10;
/// Words of a search, where a sequence of letters of a script without spaces is one.
const ASKED_MAX: usize = 16;
/// Words of a search as the index holds them.
const INDEX_WORDS_MAX: usize = 64;
/// Characters before a `*`.
const PREFIX_CHARS_MIN: usize = 3;

/// A word that a run must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedWord {
    /// Letters and digits, folded.
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
    #[error(
        "it has more than {ASKED_MAX} words, or {INDEX_WORDS_MAX} characters of a script without spaces"
    )]
    TooMany,
    /// A beginning of a word is too short.
    #[error("before a `*` stand at least {PREFIX_CHARS_MIN} letters or digits")]
    ShortPrefix,
}

/// The words of a search: of each group one must occur. `order*` stands for each word that begins
/// so. A group has a second word where an index that was made before words were folded holds
/// another.
pub fn asked(text: &str) -> Result<Vec<Vec<AskedWord>>, SearchError> {
    let (mut groups, mut written) = (Vec::new(), 0);
    for part in text.split_whitespace() {
        let words = part.split(|c| !is_of_word(c));
        let words: Vec<&str> = words.filter(|word| word.contains(char::is_alphanumeric)).collect();
        for (n, word) in (1..).zip(&words) {
            let known = groups.len();
            if known > INDEX_WORDS_MAX {
                return Err(SearchError::TooMany);
            }
            for group in asked_of(word, n == words.len() && part.ends_with('*'))? {
                if !groups.contains(&group) {
                    groups.push(group);
                }
            }
            written += usize::from(groups.len() > known);
        }
    }
    match groups.len() {
        0 => Err(SearchError::Empty),
        n if n > INDEX_WORDS_MAX || written > ASKED_MAX => Err(SearchError::TooMany),
        _ => Ok(groups),
    }
}

/// The groups of one word as written; `is_cut`: it is the beginning of a word.
fn asked_of(written: &str, is_cut: bool) -> Result<Vec<Vec<AskedWord>>, SearchError> {
    let mut now = Vec::new();
    split(written, &mut |text| now.push(AskedWord { text, is_prefix: false }));
    let mut before = Vec::new();
    split_unfolded(written, &mut |text| before.push(AskedWord { text, is_prefix: false }));
    if is_cut && let (Some(last), Some(last_before)) = (now.last_mut(), before.last_mut()) {
        // Of a script without spaces any word begins so.
        last.is_prefix = !last.text.chars().any(|c| script_of(c) != Script::Spaced);
        if last.is_prefix && last.text.chars().count() < PREFIX_CHARS_MIN {
            return Err(SearchError::ShortPrefix);
        }
        last_before.is_prefix = last_before.text.chars().count() >= PREFIX_CHARS_MIN;
    }
    if now == before || before.is_empty() {
        return Ok(now.into_iter().map(|word| vec![word]).collect());
    }
    if now.len() * before.len() > INDEX_WORDS_MAX {
        return Err(SearchError::TooMany);
    }
    // (a AND b) OR c, as a AND of ORs.
    let pairs = now.iter().flat_map(|now| before.iter().map(move |before| (now, before)));
    let group = |(now, before): (&AskedWord, &AskedWord)| {
        if now == before { vec![now.clone()] } else { vec![now.clone(), before.clone()] }
    };
    Ok(pairs.map(group).collect())
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
                json.get(begin..at).and_then(|quoted| crate::json::from_str::<String>(quoted).ok())
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

#[cfg(test)]
mod tests {
    use super::split::WORD_CHARS_MAX;
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
        assert_eq!(asked(&long).expect("a word")[0][0].text, "y".repeat(WORD_CHARS_MAX));
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
        let word = |text: &str, is_prefix| vec![AskedWord { text: text.into(), is_prefix }];
        assert_eq!(
            asked("ORD-1182 \"failed\" cust*"),
            Ok(vec![
                word("ord", false),
                word("1182", false),
                word("failed", false),
                word("cust", true)
            ])
        );
        assert_eq!(asked(&"again ".repeat(17)), Ok(vec![word("again", false)]));
        assert_eq!(asked(" -- "), Err(SearchError::Empty));
        assert_eq!(asked("ab*"), Err(SearchError::ShortPrefix));
        assert_eq!(
            asked(&(0..17).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")),
            Err(SearchError::TooMany)
        );
    }

    /// Whether a search finds a run whose event has this text.
    fn finds(search: &str, text: &str) -> bool {
        let words = words(&format!("[\"{text}\"]"));
        let has = |asked: &AskedWord| {
            words.iter().any(|word| {
                *word == asked.text || (asked.is_prefix && word.starts_with(&asked.text))
            })
        };
        asked(search).expect(search).iter().all(|group| group.iter().any(has))
    }

    #[test]
    fn case_composition_and_form_of_a_word_do_not_count() {
        for same in [
            &["ΟΔΟΣ", "οδος", "οδοσ"][..],
            &["Größe", "GRÖSSE", "größe", "Gro\u{308}ße"],
            &["café", "cafe\u{301}", "CAFÉ"],
            &["İstanbul", "istanbul", "ISTANBUL", "ıstanbul", "i\u{307}stanbul"],
            &["ﾃﾞｰﾀ", "データ", "テ\u{3099}ータ"],
            &["ＡＢＣ１２", "abc12"],
            &["ﬁnale", "Finale"],
            &["서울", "\u{1109}\u{1165}\u{110b}\u{116e}\u{11af}"],
            &["inter\u{ad}na\u{200b}tional", "international", "INTERNATIONAL"],
            &["x\u{302}y", "xy"],
        ] {
            for search in same {
                for text in same {
                    assert!(finds(search, text), "{search} in {text}");
                }
            }
        }
        for (search, text) in [("Foo", "Foo™"), ("20", "20℃"), ("5", "5㎏"), ("größe", "größe-xl")]
        {
            assert!(finds(search, text), "{search} in {text}");
        }
        assert!(!finds("große", "größe") && !finds("cafe", "café"));
    }

    #[test]
    fn a_word_of_a_script_without_spaces_is_found_within_a_phrase() {
        for (search, text) in [
            ("서울", "서울에서"),
            ("서울*", "저는 서울에서 왔어요"),
            ("บ้าน", "ไปบ้านใหม่"),
            ("ใหม่*", "ไปบ้านใหม่"),
            ("ບ້ານ", "ໄປບ້ານໃໝ່"),
            ("ផ្ទះ", "ទៅផ្ទះថ្មី"),
            ("အိမ်", "ငါ့အိမ်မှာ"),
            ("注文", "新しい注文です"),
            ("12", "หมายเลข12ครับ"),
            ("ณ", "ณ กรุงเทพ"),
        ] {
            assert!(finds(search, text), "{search} in {text}");
        }
        for (search, text) in [("부산", "서울에서"), ("นาบ", "ไปบ้านใหม่"), ("12", "หมาย123")]
        {
            assert!(!finds(search, text), "{search} in {text}");
        }
    }

    #[test]
    fn what_was_indexed_before_words_were_folded_is_found() {
        for text in ["Größe", "οδός", "서울에서", "บ้านใหม่", "cafe\u{301}s", "ﾃﾞｰﾀ", "ＡＢＣ", "x²"]
        {
            let mut before = Vec::new();
            split_unfolded(text, &mut |word| before.push(word));
            let groups = asked(text).expect(text);
            let has = |group: &Vec<AskedWord>| group.iter().any(|word| before.contains(&word.text));
            assert!(groups.iter().all(has), "{text}: {groups:?}");
        }
        // One word is written, and each letter with the next is searched for.
        assert!(asked(&"กขคงจฉชซ".repeat(5)).is_ok());
        assert_eq!(asked(&"ß\u{302}".repeat(65)), Err(SearchError::TooMany));
    }
}
