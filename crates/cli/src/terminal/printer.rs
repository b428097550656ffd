//! Output of the command line, all of which passes here: data on standard output, notes on standard
//! error.

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use console::Style;
use indicatif::{ProgressBar, ProgressStyle};
use millrace_model::Timestamp;
use serde_json::{Map, Value, json};

use crate::error::CliError;
use crate::terminal::line::{Line, escaped};

/// Prints data.
pub(crate) fn data(text: impl Into<Line>) -> Result<(), CliError> {
    writeln!(std::io::stdout().lock(), "{}", text.into().as_str()).map_err(|e| match e.kind() {
        ErrorKind::BrokenPipe => CliError::OutputClosed,
        _ => CliError::Output(e),
    })
}

/// Prints what a person reads beside the data.
pub(crate) fn note(text: impl Into<Line>) {
    // Nobody is left to be told that standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "{}", text.into().as_str());
}

/// Tells an error; with `as_json` as a line that programs read.
pub(crate) fn error(error: &CliError, as_json: bool) {
    if as_json {
        return note(
            &json!({ "error": error.to_string(), "code": error.code(), "hint": error.hint() })
                .to_string(),
        );
    }
    note(stderr(Style::new().red().bold(), "error:").and(&format!(" {error}")));
    if let Some(hint) = error.hint() {
        note(stderr(Style::new().cyan(), "hint:").and(&format!(" {hint}")));
    }
}

/// What goes well, for standard error. Colours are for terminals that want them (`NO_COLOR`).
pub(crate) fn green(text: &str) -> Line {
    stderr(Style::new().green(), text)
}

/// What does not.
pub(crate) fn red(text: &str) -> Line {
    stderr(Style::new().red(), text)
}

/// What changes.
pub(crate) fn yellow(text: &str) -> Line {
    stderr(Style::new().yellow(), text)
}

fn stderr(style: Style, text: &str) -> Line {
    Line::painted(&style.for_stderr(), text)
}

/// Prints a unified difference.
pub(crate) fn diff(text: &str) -> Result<(), CliError> {
    let coloured = |line: &str| {
        let style = match line.as_bytes() {
            [b'+', ..] => Style::new().green(),
            [b'-', ..] => Style::new().red(),
            [b'@', ..] => Style::new().cyan(),
            _ => Style::new(),
        };
        Line::painted(&style, line)
    };
    let lines = text.lines().map(coloured).reduce(|all, line| all.and("\n").and(line));
    data(lines.unwrap_or_default())
}

/// Characters of a table's cell that are shown. The whole value is in the record and in `--json`;
/// the width of a column has a limit in `format!` as well.
const CELL_CHARS_MAX: usize = 200;
/// How long something may take before it is said that it goes on.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says on a terminal that something goes on, once it has taken a second.
pub(crate) struct Progress {
    what: &'static str,
    since: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, since: Instant::now(), bar: None }
    }

    /// Called now and then.
    pub(crate) fn look(&mut self) {
        if self.bar.is_none() && self.since.elapsed() >= PATIENCE && std::io::stderr().is_terminal()
        {
            let bar = ProgressBar::new_spinner().with_message(self.what);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(100));
            self.bar = Some(bar);
        }
    }

    /// Prints beside it.
    pub(crate) fn note(&self, text: impl Into<Line>) {
        match &self.bar {
            Some(bar) => bar.suspend(|| note(text)),
            None => note(text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Waits for something, and says so on a terminal where it takes long.
pub(crate) async fn waiting<T>(what: &'static str, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
        return done;
    }
    let mut progress = Progress { what, since: Instant::now() - PATIENCE, bar: None };
    progress.look();
    work.await
}

/// How answers are shown.
#[derive(Clone, Copy)]
pub(crate) struct Show {
    pub(crate) json: bool,
}

impl Show {
    /// A record.
    pub(crate) fn record(self, answer: &Value) -> Result<(), CliError> {
        self.shaped(answer, |data| data)
    }

    /// A record, made shorter for people.
    pub(crate) fn shaped(
        self,
        answer: &Value,
        shape: impl FnOnce(Value) -> Value,
    ) -> Result<(), CliError> {
        if self.json {
            return data(&answer["data"].to_string());
        }
        data(&record(&shape(answer["data"].clone())))
    }

    /// A list as a table; what there is more than shown is told.
    pub(crate) fn table(self, answer: &Value, columns: &[(&str, &str)]) -> Result<(), CliError> {
        let rows = answer["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        if self.json {
            return data(&answer["data"].to_string());
        }
        if rows.is_empty() {
            note("there are none");
            return Ok(());
        }
        let text = table(columns, rows);
        let (head, body) = text.split_once('\n').unwrap_or((&text, ""));
        data(Line::painted(&Style::new().bold(), head).and(&format!("\n{body}")))?;
        let total = answer["page_info"]["total_count"].as_u64().unwrap_or(0);
        if total > rows.len() as u64 {
            note(&format!("{} of {total}; -n shows more", rows.len()));
        }
        Ok(())
    }
}

/// Lines of `field: value`; what is nested stands below its field, indented.
pub(crate) fn record(value: &Value) -> String {
    let mut lines = Vec::new();
    match value {
        Value::Object(object) => fields(object, 0, &mut lines),
        other => lines.push(plain(other)),
    }
    lines.join("\n")
}

fn fields(object: &Map<String, Value>, depth: usize, lines: &mut Vec<String>) {
    let pad = "  ".repeat(depth);
    for (name, value) in object.iter().filter(|(_, v)| !v.is_null()) {
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                lines.push(format!("{pad}{name}:"));
                fields(inner, depth + 1, lines);
            }
            Value::Array(items) if items.iter().any(|i| i.is_object() || i.is_array()) => {
                lines.push(format!("{pad}{name}:"));
                for item in items {
                    let first = lines.len();
                    match item {
                        Value::Object(inner) => fields(inner, depth + 2, lines),
                        other => lines.push(format!("{pad}    {}", plain(other))),
                    }
                    if let Some(line) = lines.get_mut(first) {
                        line.replace_range(pad.len() + 2..pad.len() + 3, "-");
                    }
                }
            }
            Value::String(text) if text.contains('\n') => {
                lines.push(format!("{pad}{name}:"));
                lines.extend(text.trim_end().lines().map(|line| format!("{pad}  {line}")));
            }
            other => lines.push(format!("{pad}{name}: {}", shown(name, other))),
        }
    }
}

/// Columns, as wide as their longest value. `a.b` is a field of a field.
fn table(columns: &[(&str, &str)], rows: &[Value]) -> String {
    let cell = |row: &Value, field: &str| {
        let found = field.split('.').fold(row, |value, part| &value[part]);
        let name = field.rsplit('.').next().unwrap_or(field);
        let words = found
            .as_array()
            .and_then(|all| all.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        let text = words.map_or_else(|| shown(name, found), |words| words.join(", "));
        cut(&escaped(text.lines().next().unwrap_or_default()))
    };
    let mut lines: Vec<Vec<String>> =
        vec![columns.iter().map(|(title, _)| (*title).to_owned()).collect()];
    lines
        .extend(rows.iter().map(|row| columns.iter().map(|(_, field)| cell(row, field)).collect()));
    let width = |i: usize| lines.iter().map(|l| l[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let padded = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths).map(|(text, width)| format!("{text:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(padded).collect::<Vec<_>>().join("\n")
}

/// A text of a cell, with an ellipsis where it is longer than a cell may be.
fn cut(text: &str) -> String {
    match text.char_indices().nth(CELL_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A value as people read it: a time is told by its name, and shown as one.
fn shown(name: &str, value: &Value) -> String {
    match value.as_i64() {
        Some(secs) if name.ends_with("_at") || name.ends_with("_until") => {
            Timestamp(secs.saturating_mul(1000)).iso()
        }
        Some(ms)
            if name.ends_with("_at_ms")
                || name.ends_with("_seen_ms")
                || matches!(name, "at_ms" | "until_ms") =>
        {
            Timestamp(ms).iso()
        }
        _ => plain(value),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{CELL_CHARS_MAX, Line};

    #[test]
    fn tables_line_up() {
        let rows = [
            json!({ "id": "dc_1", "error": { "code": "A" } }),
            json!({ "id": "dc_22", "error": null }),
        ];
        assert_eq!(
            super::table(&[("ID", "id"), ("ERROR", "error.code")], &rows),
            "ID     ERROR\ndc_1   A\ndc_22"
        );
    }

    #[test]
    fn times_are_shown_as_times() {
        let rows = [
            json!({ "id": "key_1", "created_at": 1_795_281_222, "expires_at": null, "duration_ms": 7 }),
        ];
        let columns = [
            ("ID", "id"),
            ("CREATED", "created_at"),
            ("EXPIRES", "expires_at"),
            ("MS", "duration_ms"),
        ];
        assert_eq!(
            super::table(&columns, &rows),
            "ID     CREATED                   EXPIRES  MS\nkey_1  2026-11-21T17:13:42.000Z           7"
        );
        assert_eq!(
            super::record(&json!({ "at_ms": 0, "paused": { "until_ms": 1_795_281_222_500_i64 } })),
            "at_ms: 1970-01-01T00:00:00.000Z\npaused:\n  until_ms: 2026-11-21T17:13:42.500Z"
        );
    }

    #[test]
    fn records_nest() {
        let value = json!({ "id": "p_1", "none": null, "settings": { "a": 1 }, "steps": [{ "n": "x", "m": { "k": true } }, { "n": "y" }], "tags": ["a"], "stack": "E\n at f" });
        let expected = "id: p_1\nsettings:\n  a: 1\nsteps:\n  - n: x\n    m:\n      k: true\n  - n: y\ntags: [\"a\"]\nstack:\n  E\n   at f";
        assert_eq!(super::record(&value), expected);
    }

    /// JSON as a server might send it: deep, long, and of characters that steer a terminal.
    fn anything() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            any::<String>(),
            proptest::collection::vec(
                prop_oneof![
                    Just('\0'),
                    Just('\n'),
                    Just('\r'),
                    Just('\u{1b}'),
                    Just('ä'),
                    Just('👩')
                ],
                0..40
            )
            .prop_map(String::from_iter),
            (0..3_usize, prop_oneof![Just('\0'), Just('x'), Just('日')])
                .prop_map(|(times, c)| c.to_string().repeat(times * 70_000)),
        ];
        let name = prop_oneof![
            any::<String>(),
            proptest::sample::select(vec![
                "created_at",
                "until_ms",
                "error",
                "code",
                "message",
                "data",
                "id",
                "steps",
                "exports",
                "status",
                "page_info",
                "total_count"
            ])
            .prop_map(str::to_owned),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text.prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((name.clone(), inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Whatever a server sends, it is printed, within bounds in a table, and nothing of it
        /// steers the terminal.
        #[test]
        fn no_value_of_a_server_is_too_much_for_the_printers(value in anything(), fields in proptest::collection::vec("[a-z_.$]{0,12}", 1..4)) {
            let record = Line::from(&super::record(&value));
            let steers = record.as_str().contains(['\0', '\u{1b}', '\r']);
            prop_assert!(!steers);
            let rows = match &value {
                Value::Array(items) => items.clone(),
                other => vec![other.clone(), json!({ "error": { "code": other, "message": other }, "created_at": other })],
            };
            let mut columns: Vec<_> = fields.iter().map(|field| (field.as_str(), field.as_str())).collect();
            columns.extend([("ERROR", "error.code"), ("MESSAGE", "error.message"), ("CREATED", "created_at")]);
            let table = super::table(&columns, &rows);
            prop_assert!(table.lines().all(|line| line.chars().count() <= columns.len() * (CELL_CHARS_MAX + 3)));
        }
    }
}
