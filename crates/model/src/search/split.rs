//! Splitting of a text into the words of the search index.

use std::mem::take;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// Characters of a word that count.
pub(super) const WORD_CHARS_MAX: usize = 64;

/// How a script separates words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// By spaces.
    Spaced,
    /// Not, or particles follow them; its characters are many, and each is a word.
    Characters,
    /// Not, and its letters are few: two that follow each other are a word.
    Letters,
}

pub(super) fn script_of(c: char) -> Script {
    match c {
        // Hangul and its parts, kana, Han.
        '\u{1100}'..='\u{11ff}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{3130}'..='\u{318f}'
        | '\u{3400}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => Script::Characters,
        // Thai, Lao; Burmese, Khmer, and what was added to Burmese.
        '\u{0e01}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{a9e0}'..='\u{a9ff}'
        | '\u{aa60}'..='\u{aa7f}' => Script::Letters,
        _ => Script::Spaced,
    }
}

/// Whether a character neither ends a word nor is a letter of it: accents that do not compose,
/// where a line may be broken, marks of the direction of writing.
fn is_skipped(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}' | '\u{feff}')
        || (is_combining_mark(c) && !c.is_alphanumeric())
}

pub(super) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || is_skipped(c)
}

/// Upper case, then lower case is the folding of Unicode (`ß` is `ss`, `ς` is `σ`), and makes the
/// letters `i` of Turkish one.
fn fold(c: char, folded: &mut String) {
    folded.extend(c.to_uppercase().flat_map(char::to_lowercase));
}

fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_alphanumeric() {
            decompose_compatible(c, |part| fold(part, &mut folded));
        } else {
            // `™` is no letter, and does not become two.
            folded.push(c);
        }
    }
    folded.nfc().collect()
}

pub(super) fn split(text: &str, take_word: &mut impl FnMut(String)) {
    let (mut word, mut chars, mut script) = (String::new(), 0, Script::Spaced);
    for c in folded(text).chars() {
        if is_skipped(c) {
            continue;
        }
        let script_before = std::mem::replace(&mut script, script_of(c));
        if !c.is_alphanumeric() || script != script_before {
            end(&mut word, chars, script_before, take_word);
            chars = 0;
        }
        if !c.is_alphanumeric() {
            continue;
        }
        chars += 1;
        match script {
            Script::Spaced if chars > WORD_CHARS_MAX => {}
            Script::Spaced => word.push(c),
            Script::Characters => take_word(c.to_string()),
            Script::Letters => {
                if let Some(before) = word.pop() {
                    take_word([before, c].iter().collect());
                }
                word.push(c);
            }
        }
    }
    end(&mut word, chars, script, take_word);
}

/// Takes the word that was begun. The last letter of several is in a pair already.
fn end(word: &mut String, chars: usize, script: Script, take_word: &mut impl FnMut(String)) {
    let word = take(word);
    if !word.is_empty() && (script == Script::Spaced || chars == 1) {
        take_word(word);
    }
}

/// As texts were split before they were folded: what was indexed then is found by these words.
pub(super) fn split_unfolded(text: &str, take_word: &mut impl FnMut(String)) {
    let (mut word, mut chars) = (String::new(), 0);
    for c in text.chars() {
        let is_alone = matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
        if (is_alone || !c.is_alphanumeric()) && !word.is_empty() {
            take_word(take(&mut word));
        }
        if is_alone {
            take_word(c.to_string());
        }
        if is_alone || !c.is_alphanumeric() {
            chars = 0;
        } else {
            chars += 1;
            if chars <= WORD_CHARS_MAX {
                word.extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
            }
        }
    }
    if !word.is_empty() {
        take_word(word);
    }
}
