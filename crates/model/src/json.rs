//! JSON text that code, a request or a host made, as a value to show or to go on with.
//!
//! JavaScript writes JSON that strict readers refuse: half of a surrogate pair, as
//! `"text".slice(0, n)` leaves it, and values that are nested deeper than readers go. Neither may
//! hide the rest of a record.
//!
//! All JSON is read by way of this module, which refuses [`RESERVED`] names.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value, json};

/// The name under which its readers hand on a number that is no 64-bit integer.
const NUMBER: &str = "$serde_json::private::Number";

use reserved::has_reserved_name;
pub use reserved::{RESERVED, check_names};

mod reserved;

/// How deep a value that code hands out may be nested (facts 4.11, "JSON Nested Property Limit
/// Exceeded").
pub const NESTED_MAX: usize = 256;

/// How deep an object of a host may be: it has values of [`NESTED_MAX`] levels, and gets fields
/// with what requests brought.
const OBJECT_NESTED_MAX: usize = NESTED_MAX + 32;

/// With what the platform puts around both: what was taken can always be read again.
const READ_NESTED_MAX: usize = NESTED_MAX + 64;

/// How many levels one reader reads.
const READER_NESTED_MAX: usize = 100;

/// Of a text that cannot be read, so much is shown, bytes.
const PREVIEW_BYTES: usize = 512;

/// Reads JSON text as a type, as `serde_json::from_str` does.
///
/// # Errors
///
/// What `serde_json` says of the text, and where it has a name of [`RESERVED`].
#[expect(clippy::disallowed_methods, reason = "this is what is used in its place")]
pub fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> serde_json::Result<T> {
    check_names(text.as_bytes())?;
    serde_json::from_str(text)
}

/// As [`from_str`], of bytes.
///
/// # Errors
///
/// As [`from_str`].
#[expect(clippy::disallowed_methods, reason = "this is what is used in its place")]
pub fn from_slice<'de, T: Deserialize<'de>>(text: &'de [u8]) -> serde_json::Result<T> {
    check_names(text)?;
    serde_json::from_slice(text)
}

/// Reads JSON text. Half of a surrogate pair becomes U+FFFD; values are nested up to 64 levels
/// deeper than [`NESTED_MAX`].
///
/// # Errors
///
/// What `serde_json` says of a text that is no JSON, or is nested deeper.
pub fn read(text: &str) -> serde_json::Result<Value> {
    read_to(READ_NESTED_MAX, text)
}

/// Reads JSON text that comes from outside, nested up to [`NESTED_MAX`] levels: there is room for
/// what is put around it.
///
/// # Errors
///
/// What `serde_json` says of a text that is no JSON, or is nested deeper.
pub fn read_given(text: &str) -> serde_json::Result<Value> {
    read_to(NESTED_MAX, text)
}

/// The levels that a body may have whose field holds such a value.
pub const BODY_NESTED_MAX: usize = OBJECT_NESTED_MAX;

/// Reads the value of a field of a body, beyond the levels that `serde_json` reads. The body has
/// [`BODY_NESTED_MAX`] levels at most, which the caller has made sure of by [`nested`], and no name
/// of [`RESERVED`] ([`check_names`]).
///
/// # Errors
///
/// What the reader says.
pub fn field_of_body<'de, A: MapAccess<'de>>(fields: &mut A) -> Result<Value, A::Error> {
    fields.next_value_seed(Nested(1))
}

/// Whether JSON text is of an object that fields can be added to: nested up to 32 levels deeper
/// than [`NESTED_MAX`], without names of [`RESERVED`].
pub fn is_object(text: &str) -> bool {
    text.starts_with('{')
        && nested(text.as_bytes()) <= OBJECT_NESTED_MAX
        && !has_reserved_name(text.as_bytes())
}

fn read_to(levels: usize, text: &str) -> serde_json::Result<Value> {
    from_str(text).or_else(|error| {
        if nested(text.as_bytes()) > levels || has_reserved_name(text.as_bytes()) {
            return Err(error);
        }
        part(&whole_characters(text), 0)
    })
}

/// Reads what is nested `depth` deep.
fn part(text: &str, depth: usize) -> serde_json::Result<Value> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = reader.deserialize_any(Nested(depth))?;
    reader.end().map(|()| value)
}

/// A value that is nested so deep. A reader of `serde_json` goes no deeper than 128 levels, so that
/// another goes on before.
#[derive(Clone, Copy)]
struct Nested(usize);

impl<'de> DeserializeSeed<'de> for Nested {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        if self.0.is_multiple_of(READER_NESTED_MAX) {
            return part(<&RawValue>::deserialize(reader)?.get(), self.0).map_err(Error::custom);
        }
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nested {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self(self.0 + 1))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            // The text has no such name.
            if name == NUMBER {
                let number: String = fields.next_value()?;
                return number.parse::<Number>().map(Value::Number).map_err(Error::custom);
            }
            let value = fields.next_value_seed(Self(self.0 + 1))?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

/// Reads JSON text to show it: of one that cannot be read, its size and how it begins.
pub fn shown(text: &str) -> Value {
    read(text).unwrap_or_else(|_| {
        let preview = &text[..text.floor_char_boundary(PREVIEW_BYTES)];
        json!({ "$unreadable": true, "$bytes": text.len(), "$preview": preview })
    })
}

/// The most arrays and objects of a JSON text that are open at once.
pub fn nested(text: &[u8]) -> usize {
    let (mut depth, mut most, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                most = most.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// The text with `\ufffd` in the place of each escape that is half of a surrogate pair.
fn whole_characters(text: &str) -> Cow<'_, str> {
    let mut mended = String::new();
    let (mut kept, mut at) = (0, 0);
    while let Some(found) = text[at..].find('\\') {
        let start = at + found;
        at = match (surrogate(text, start), surrogate(text, start + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => start + 12,
            (Some(_), _) => {
                mended.push_str(&text[kept..start]);
                mended.push_str("\\ufffd");
                kept = start + 6;
                kept
            }
            // Past what is escaped, a character of any length.
            (None, _) => start + 1 + text[start + 1..].chars().next().map_or(0, char::len_utf8),
        };
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    mended.push_str(&text[kept..]);
    Cow::Owned(mended)
}

/// The surrogate that is written as an escape there.
fn surrogate(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xD800..=0xDFFF).contains(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_surrogate_pair_is_a_replacement_character() {
        assert_eq!(
            read(r#"{"a":"x\ud83d","\udc00":[1]}"#).unwrap(),
            json!({ "a": "x\u{fffd}", "\u{fffd}": [1] })
        );
        assert_eq!(
            read(r#"["\ud83d\ude00", "\ud83d\ud83d\ude00", "\\ud83d", "\\\ud83d", "é\"\ud83d"]"#)
                .unwrap(),
            json!(["😀", "\u{fffd}😀", "\\ud83d", "\\\u{fffd}", "é\"\u{fffd}"])
        );
        assert!(read(r#""\ud83"#).is_err());
        assert!(read("{\"a\":\"\\").is_err());
        assert!(read("[1] 2").is_err());
    }

    #[test]
    fn values_are_read_as_deep_as_code_may_nest_them() {
        let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(read(&deep(NESTED_MAX)).unwrap().to_string(), deep(NESTED_MAX));
        assert!(read(&deep(READ_NESTED_MAX)).is_ok());
        assert!(read(&deep(READ_NESTED_MAX + 1)).is_err());
        // What is taken is read with what is put around it.
        assert!(
            read_given(&deep(NESTED_MAX)).is_ok() && read_given(&deep(NESTED_MAX + 1)).is_err()
        );
        let object = |levels: usize| format!("{{\"a\":{}}}", deep(levels - 1));
        assert!(
            is_object("{}")
                && is_object(&object(NESTED_MAX + 1))
                && is_object(&object(OBJECT_NESTED_MAX))
        );
        assert!(
            !is_object(&object(OBJECT_NESTED_MAX + 1)) && !is_object("[{}]") && !is_object("5")
        );
        // Brackets in a text open nothing.
        assert!(read(&format!("[\"{}\\\"[\\ud800\"]", "[".repeat(9_999))).is_ok());
    }

    #[test]
    fn numbers_are_numbers_in_whatever_text() {
        let numbers = "[12.99,-0,1e3,-1.5e-7,123456789012345678901234567890,9007199254740993]";
        let expected = from_str::<Value>(numbers).unwrap().to_string();
        let halves = format!(r#"["\ud83d",{numbers}]"#);
        assert_eq!(read(&halves).unwrap()[1].to_string(), expected);
        let deep = format!("{}{numbers}{}", "[".repeat(200), "]".repeat(200));
        assert!(read(&deep).unwrap().to_string().contains(&expected));
    }

    #[test]
    fn names_that_the_reader_keeps_to_itself_are_refused_however_they_are_written() {
        let name = |escape: fn(usize, char) -> bool| -> String {
            let letters = format!("{RESERVED}RawValue");
            let one = |(at, letter): (usize, char)| match escape(at, letter) {
                true => format!("\\u{:04x}", u32::from(letter)),
                false => letter.to_string(),
            };
            letters.chars().enumerate().map(one).collect()
        };
        let names = [
            name(|_, _| false),
            name(|_, _| true),
            name(|at, _| at == 0),
            name(|_, letter| letter == ':'),
            name(|_, letter| letter.is_alphabetic()),
            name(|_, _| false).replace("RawValue", "Number"),
        ];
        for name in names {
            for text in [
                format!(r#"{{"{name}":"1"}}"#),
                format!("[[{{\"a\\\"\": 1, \"{name}\"\n : \"[]\"}}]]"),
                format!(r#"{{"a":{{"b":"\ud83d","{name}":"1"}}}}"#),
            ] {
                assert!(from_str::<Value>(&text).is_err(), "{text}");
                assert!(from_slice::<Value>(text.as_bytes()).is_err(), "{text}");
                assert!(read(&text).is_err() && read_given(&text).is_err(), "{text}");
                assert!(!is_object(&text), "{text}");
            }
            // Not as the name of a field.
            let text = format!(r#"{{"a":"{name}","b":["{name}"],"x{name}":"\"{name}\":1"}}"#);
            assert!(read(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_shown_as_it_begins() {
        let deep = "[".repeat(100_000);
        assert_eq!(
            shown(&deep),
            json!({ "$unreadable": true, "$bytes": 100_000, "$preview": &deep[..512] })
        );
        assert_eq!(shown("[1]"), json!([1]));
    }
}
