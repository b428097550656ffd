//! Names of fields that `serde_json` reserves, where a dependency turns that on. It reads an object
//! with one of them as a number, or reads its text as JSON with a new count of levels. Text with
//! such a name comes from outside, and is refused before it is read.

use memchr::memmem;
use serde::de::Error as _;

/// What they begin with.
pub const RESERVED: &str = "$serde_json::private::";

/// Refuses JSON text in which a field of an object has a name of [`RESERVED`].
///
/// # Errors
///
/// Where there is one.
pub fn check_names(text: &[u8]) -> serde_json::Result<()> {
    if has_reserved_name(text) {
        return Err(serde_json::Error::custom(format!(
            "the name of a field begins with `{RESERVED}`"
        )));
    }
    Ok(())
}

/// Whether a field of an object in the text has a name of [`RESERVED`], however it is written.
pub(super) fn has_reserved_name(text: &[u8]) -> bool {
    // Without an escape the whole of it is there, and nearly no text has it.
    if memmem::find(text, RESERVED.as_bytes()).is_none() && memmem::find(text, b"\\u").is_none() {
        return false;
    }
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
        let (is_reserved, end) = reserved_string(text, at + found + 1);
        at = end;
        let next = text.get(at..).and_then(|rest| rest.trim_ascii_start().first());
        if is_reserved && next == Some(&b':') {
            return true;
        }
    }
    false
}

/// Whether the string that begins there begins with [`RESERVED`], and where it ends.
fn reserved_string(text: &[u8], begin: usize) -> (bool, usize) {
    let (mut at, mut left) = (begin, Some(RESERVED.as_bytes()));
    loop {
        let (character, next) = match text.get(at..).unwrap_or_default() {
            [] | [b'"', ..] => return (left.is_some_and(<[u8]>::is_empty), at + 1),
            [b'\\', b'u', digits @ ..] => (escaped(digits), at + 6),
            [b'\\', ..] => (None, at + 2),
            [byte, ..] => (Some(*byte), at + 1),
        };
        at = next;
        left = match left {
            None | Some([]) => left,
            Some([wanted, rest @ ..]) => (character == Some(*wanted)).then_some(rest),
        };
    }
}

/// The character of ASCII that four digits stand for.
fn escaped(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits.get(..4)?).ok()?;
    u8::from_str_radix(digits, 16).ok()
}
