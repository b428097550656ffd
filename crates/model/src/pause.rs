//! Pauses of a workflow's run (reference 4): what is kept between two of its attempts.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Why a run is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PauseKind {
    /// `$.flow.delay`: goes on with the next step.
    Delay,
    /// `$.flow.suspend`: goes on with the next step when it is asked to; is cancelled otherwise.
    Suspend,
    /// `$.flow.rerun`: runs the same step again.
    Rerun,
    /// The step failed and the workflow retries: runs the same step again.
    Retry,
}

/// Why a run is paused, at which step, and when the pause ends by itself.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Paused {
    /// Why.
    pub kind: PauseKind,
    /// The step.
    pub namespace: String,
    /// When it ends by itself, epoch milliseconds; of `suspend`: when the run is cancelled.
    pub until_ms: i64,
}

/// What the next attempt needs to know. Stored as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PauseState {
    /// Why.
    pub kind: PauseKind,
    /// The step.
    pub namespace: String,
    /// For a step that runs again: `{runs, context}`, and the request that ended an earlier pause
    /// of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<RawValue>>,
    /// How often the step was retried after errors.
    #[serde(default)]
    pub retries: u32,
}

/// How the part of an address begins that ends a pause: `run_ID-ATTEMPT-CODE`.
const TOKEN_START: &[u8] = b"run_";

/// Finds the codes of addresses that end a pause, in a text that comes byte by byte. Such an
/// address works without a key, so a caller that may only read is shown none. It is known by its
/// form alone: code puts it into other addresses, any of its bytes percent-encoded, and into JSON.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodeFinder {
    place: Place,
    escape: Escape,
}

/// Where a text is in a percent-encoded byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    Percent,
    /// Behind its first digit.
    Digit(u8),
}

/// Where a text is, in terms of `run_ID-ATTEMPT-CODE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// So many bytes of the start were there.
    Start(usize),
    /// In the run's id, whether it has a byte yet, and so many bytes of another start are its last:
    /// `run_` may stand before the address too.
    Id(bool, usize),
    /// In the number of the attempt, and whether it has a digit yet.
    Attempt(bool),
    Code,
}

impl Default for Place {
    fn default() -> Self {
        Self::Start(0)
    }
}

impl CodeFinder {
    /// Whether the next byte of the text is of a code, or of a percent-encoded byte behind one.
    pub fn is_of_code(&mut self, byte: u8) -> bool {
        let digit = char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let in_code = self.place == Place::Code;
        match (self.escape, digit) {
            (_, _) if byte == b'%' => {
                self.escape = Escape::Percent;
                in_code
            }
            (Escape::Percent, Some(digit)) => {
                self.escape = Escape::Digit(digit);
                in_code
            }
            (Escape::Digit(high), Some(low)) => {
                self.escape = Escape::None;
                self.go_on(high << 4 | low);
                in_code
            }
            _ => {
                self.escape = Escape::None;
                self.go_on(byte)
            }
        }
    }

    /// Behind another byte; whether it is of a code.
    fn go_on(&mut self, byte: u8) -> bool {
        let is_of_token = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        self.place = match self.place {
            Place::Start(at) | Place::Id(_, at)
                if byte == TOKEN_START[at] && at + 1 == TOKEN_START.len() =>
            {
                Place::Id(false, 0)
            }
            Place::Start(at) if byte == TOKEN_START[at] => Place::Start(at + 1),
            Place::Id(_, at) if byte == TOKEN_START[at] => Place::Id(true, at + 1),
            Place::Id(..) if byte.is_ascii_alphanumeric() => {
                Place::Id(true, usize::from(byte == TOKEN_START[0]))
            }
            Place::Id(true, _) if byte == b'-' => Place::Attempt(false),
            Place::Attempt(_) if byte.is_ascii_digit() => Place::Attempt(true),
            Place::Attempt(true) if byte == b'-' => Place::Code,
            Place::Code if is_of_token => return true,
            _ => Place::Start(usize::from(byte == TOKEN_START[0])),
        };
        false
    }
}

/// A text without the codes of addresses that end a pause.
pub fn without_codes(text: &str) -> Cow<'_, str> {
    if !text.contains("run_") && !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut finder = CodeFinder::default();
    // A code is ASCII: what is left is as much text as before.
    text.chars()
        .filter(|c| {
            let mut bytes = [0; 4];
            !c.encode_utf8(&mut bytes).bytes().fold(false, |_, byte| finder.is_of_code(byte))
        })
        .collect::<String>()
        .into()
}

/// A text as a caller is shown it that may only read: with an `x` for each byte of a code.
pub fn masked(text: &str) -> String {
    let mut finder = CodeFinder::default();
    let shown = |c: char| {
        let mut bytes = [0; 4];
        let is_of_code = |byte| finder.is_of_code(byte);
        // A code is ASCII: another character has no byte of one.
        if c.encode_utf8(&mut bytes).bytes().any(is_of_code) { 'x' } else { c }
    };
    text.chars().map(shown).collect()
}

/// The text up to where a code stands, or would stand; none: it ends before.
pub fn before_code(text: &str) -> Option<&str> {
    let mut finder = CodeFinder::default();
    let at = text.bytes().position(|byte| {
        let is_behind_start = finder.place == Place::Code;
        finder.is_of_code(byte);
        is_behind_start
    })?;
    text.get(..at)
}

/// Whether a filter's text, whatever the case of its letters from a to z, is in what a caller that
/// may only read is shown of another: a filter that looked behind that would tell a code letter by
/// letter.
pub fn shows(text: &str, wanted: &str) -> bool {
    without_codes(text).to_ascii_lowercase().contains(&wanted.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_in_whatever_an_address_stands_in() {
        let check = |text: &str, expected: &str| assert_eq!(without_codes(text), expected);
        check(
            "https://x.test/resume/run_1aB-2-c0de_-Z9 then",
            "https://x.test/resume/run_1aB-2- then",
        );
        check(
            "u=https%3A%2F%2Fx%2Fcancel%2Frun_1-10-q-r&v=1",
            "u=https%3A%2F%2Fx%2Fcancel%2Frun_1-10-&v=1",
        );
        check(r"\/resume\/run_1-2-zz\nnext", r"\/resume\/run_1-2-\nnext");
        check("run%5F1%2D2%2Dc0%2dde%5f9&v=1", "run%5F1%2D2%2D&v=1");
        check("%72%75%6e%5F%31-%32%2D%63%30d then", "%72%75%6e%5F%31-%32%2D then");
        check("run_1-2-z%2Frun_3-4-z 100%run_5-6-z %2", "run_1-2-run_3-4- 100%run_5-6- %2");
        check("rrun_1-2-é rrun_1-2-z", "rrun_1-2-é rrun_1-2-");
        check("run_run_1-2-z run_rrun_1-2-z", "run_run_1-2- run_rrun_1-2-");
        assert!(shows("to run_1-2-c0de", "TO RUN_1-2") && !shows("to run_1-2-c0de", "c0"));
        assert_eq!(masked("é/run_1-2-c0%2Dé run_1-2-z"), "é/run_1-2-xxxxxé run_1-2-x");
        assert_eq!(before_code("a/run_1%2d2-c0"), Some("a/run_1%2d2-"));
        assert_eq!(before_code("run_1-2-~"), Some("run_1-2-"));
        assert_eq!((before_code("run_1-2-"), before_code("run_1-2")), (None, None));
        for whole in ["run_1", "run_-1-c", "run_1--c", "run_1-x-c", "runs_1-2-c", "run 1-2-c"] {
            check(whole, whole);
        }
    }
}
