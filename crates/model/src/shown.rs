//! Values as errors show them: bounded, so that an answer never gives back all of a long request.

use serde_json::Value;

/// Characters of one value.
const VALUE_CHARS_MAX: usize = 80;
/// Characters between two backticks of a message whose parts were not bounded before.
const QUOTED_CHARS_MAX: usize = 400;
/// Bytes of a whole message: a stack or a code frame fits.
const MESSAGE_BYTES_MAX: usize = 16 << 10;
/// Bytes of a text among the details of an error.
const DETAIL_BYTES_MAX: usize = 4 << 10;

/// A value as an error shows it: its beginning, where it is long.
pub fn shown(text: &str) -> String {
    head(text, VALUE_CHARS_MAX)
}

fn head(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A message with each value in it, and the whole of it, bounded: values stand between backticks or
/// quotes, or are one long word.
pub fn bounded_message(message: String) -> String {
    if message.len() <= QUOTED_CHARS_MAX {
        return message;
    }
    let within = |text: String, mark: char| -> String {
        let parts = text.split(mark).enumerate();
        let parts: Vec<String> = parts
            .map(
                |(at, part)| {
                    if at % 2 == 1 { head(part, QUOTED_CHARS_MAX) } else { part.to_owned() }
                },
            )
            .collect();
        parts.join(&mark.to_string())
    };
    let message = within(within(message, '`'), '"');
    // With the marks around it.
    let words =
        message.split_inclusive(char::is_whitespace).map(|word| head(word, QUOTED_CHARS_MAX + 40));
    cut(words.collect(), MESSAGE_BYTES_MAX)
}

/// Details of an error with each text in them bounded.
pub fn bound_details(details: &mut Value) {
    match details {
        Value::String(text) if text.len() > QUOTED_CHARS_MAX => {
            *text = cut(bounded_message(std::mem::take(text)), DETAIL_BYTES_MAX)
        }
        Value::Array(items) => items.iter_mut().for_each(bound_details),
        Value::Object(fields) => fields.values_mut().for_each(bound_details),
        _ => {}
    }
}

fn cut(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push_str("… [cut]");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_values_are_shown_by_their_beginning() {
        assert_eq!(
            (shown("a"), shown(&"é".repeat(80)), shown(&"é".repeat(81))),
            ("a".into(), "é".repeat(80), format!("{}…", "é".repeat(80)))
        );
    }

    #[test]
    fn messages_and_details_are_bounded_in_each_part() {
        let long = "é".repeat(30_000);
        let of_values =
            bounded_message(format!("`{long}` is none of `a` and `{long}`; give another"));
        let value = format!("`{}…`", "é".repeat(QUOTED_CHARS_MAX));
        assert_eq!(of_values, format!("{value} is none of `a` and {value}; give another"));
        let whole = bounded_message(format!("{0}` and {0}", "é ".repeat(30_000)));
        assert!(whole.len() <= MESSAGE_BYTES_MAX + 20, "{}", whole.len());
        let quoted = bounded_message(format!(
            "`a` is not b: string \"{}\", expected `u8`, {long}",
            long.replace('é', "é ")
        ));
        assert!(
            quoted.starts_with("`a` is not b: string \"é é ")
                && quoted.contains("…\", expected `u8`, éé"),
            "{quoted}"
        );
        assert!(quoted.ends_with("é…") && quoted.chars().count() < 900, "{quoted}");
        let plain = format!("`a` is not b; allowed are {}", "some, other, ".repeat(100));
        assert_eq!(bounded_message(plain.clone()), plain);
        let mut details = json!({ "a": [long, { "b": long }], "n": 1, "short": "x" });
        bound_details(&mut details);
        assert!(details.to_string().len() < 10_000 && details["n"] == 1 && details["short"] == "x");
    }
}
