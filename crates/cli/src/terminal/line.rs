//! Text that is safe on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

use console::Style;

/// Text of which only our own colours steer the terminal. What components and callers wrote could
/// set its title, write to its clipboard, or make one text look like another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(String);

impl Line {
    pub(crate) fn painted(style: &Style, text: &str) -> Self {
        Self(style.apply_to(escaped(text)).to_string())
    }

    /// With more behind it.
    #[must_use]
    pub(crate) fn and(mut self, more: impl Into<Self>) -> Self {
        self.0.push_str(&more.into().0);
        self
    }

    pub(crate) fn without_colours(&self) -> Self {
        Self(console::strip_ansi_codes(&self.0).into_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Self(escaped(text).into_owned())
    }
}

impl From<&String> for Line {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&Self> for Line {
    fn from(line: &Self) -> Self {
        line.clone()
    }
}

/// Shows what steers a terminal as JSON writes it (`\u001b`), so that JSON stays JSON: there such
/// characters stand in texts only.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_steering) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_steering(c) {
            // Writing to a text does not fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Controls (C0, DEL, C1) beside the tab and the end of a line, and those of writing direction
/// (Unicode Standard Annex 9).
fn is_steering(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown() {
        assert_eq!(
            escaped("\u{1b}]52;c;AA\u{7}\u{1b}[2J\u{1b}[31mé"),
            "\\u001b]52;c;AA\\u0007\\u001b[2J\\u001b[31mé"
        );
        assert_eq!(
            escaped("a\rb\u{8}\u{7f}\u{9b}31m\u{61c}\u{200f}\u{202e}\u{2066}\u{2069}"),
            "a\\u000db\\u0008\\u007f\\u009b31m\\u061c\\u200f\\u202e\\u2066\\u2069"
        );
        let plain = "two\n\tlines, 日本 and 👩\u{200d}🔧";
        assert_eq!(escaped(plain), plain);
    }

    #[test]
    fn json_stays_json() {
        let value = json!({ "\u{9b}k": ["\u{202e}\u{7f}\\\u{9b}", "\\u009b"] });
        let shown = escaped(&value.to_string()).into_owned();
        assert!(shown.chars().all(|c| c.is_ascii_graphic()), "{shown}");
        assert_eq!(millrace_model::json::from_str::<Value>(&shown).expect("is JSON"), value);
    }

    #[test]
    fn only_our_own_colours_are_colours() {
        let line = Line::painted(&Style::new().red().force_styling(true), "\u{1b}[2Jfailed")
            .and(": \u{1b}[32mgood");
        assert_eq!(line.as_str(), "\u{1b}[31m\\u001b[2Jfailed\u{1b}[0m: \\u001b[32mgood");
        assert_eq!(line.without_colours().as_str(), "\\u001b[2Jfailed: \\u001b[32mgood");
    }
}
