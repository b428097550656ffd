//! The only door to the terminal: data on standard output, notes on standard error.

use std::io::{ErrorKind, Write as _};

use serde_json::{Map, Value};

use crate::error::CliError;

/// Prints data.
pub(crate) fn data(text: &str) -> Result<(), CliError> {
    writeln!(std::io::stdout().lock(), "{text}").map_err(|e| match e.kind() {
        ErrorKind::BrokenPipe => CliError::OutputClosed,
        _ => CliError::Output(e),
    })
}

/// Prints what a person reads beside the data.
pub(crate) fn note(text: &str) {
    // Nobody is left to be told that standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

pub(crate) fn error(error: &CliError) {
    note(&format!("error: {error}"));
    if let Some(hint) = error.hint() {
        note(&format!("hint: {hint}"));
    }
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
    pub(crate) fn shaped(self, answer: &Value, shape: impl FnOnce(Value) -> Value) -> Result<(), CliError> {
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
        data(&table(columns, rows))?;
        let total = answer["page_info"]["total_count"].as_u64().unwrap_or(0);
        if total > rows.len() as u64 {
            note(&format!("{} of {total}", rows.len()));
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
            other => lines.push(format!("{pad}{name}: {}", plain(other))),
        }
    }
}

/// Columns, as wide as their longest value. `a.b` is a field of a field.
fn table(columns: &[(&str, &str)], rows: &[Value]) -> String {
    let cell = |row: &Value, field: &str| {
        let found = field.split('.').fold(row, |value, part| &value[part]);
        plain(found).lines().next().unwrap_or("").to_owned()
    };
    let mut lines: Vec<Vec<String>> = vec![columns.iter().map(|(title, _)| (*title).to_owned()).collect()];
    lines.extend(rows.iter().map(|row| columns.iter().map(|(_, field)| cell(row, field)).collect()));
    let width = |i: usize| lines.iter().map(|l| l[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let padded = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths).map(|(text, width)| format!("{text:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(padded).collect::<Vec<_>>().join("\n")
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
    use serde_json::json;

    #[test]
    fn tables_line_up() {
        let rows = [json!({ "id": "dc_1", "error": { "code": "A" } }), json!({ "id": "dc_22", "error": null })];
        assert_eq!(super::table(&[("ID", "id"), ("ERROR", "error.code")], &rows), "ID     ERROR\ndc_1   A\ndc_22");
    }

    #[test]
    fn records_nest() {
        let value = json!({ "id": "p_1", "none": null, "settings": { "a": 1 }, "steps": [{ "n": "x", "m": { "k": true } }, { "n": "y" }], "tags": ["a"], "stack": "E\n at f" });
        let expected = "id: p_1\nsettings:\n  a: 1\nsteps:\n  - n: x\n    m:\n      k: true\n  - n: y\ntags: [\"a\"]\nstack:\n  E\n   at f";
        assert_eq!(super::record(&value), expected);
    }
}
