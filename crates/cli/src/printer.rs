//! The only door to the terminal: data on standard output, the rest on standard error.

use serde_json::Value;

/// Prints data.
#[expect(clippy::print_stdout, reason = "the printer is the only door to the terminal")]
pub(crate) fn data(text: &str) {
    println!("{text}");
}

/// Prints what a person reads beside the data.
#[expect(clippy::print_stderr, reason = "the printer is the only door to the terminal")]
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

pub(crate) fn error(text: &str, hint: Option<&str>) {
    note(&format!("error: {text}"));
    if let Some(hint) = hint {
        note(&format!("hint: {hint}"));
    }
}

/// Lines of `field: value`, nested objects as JSON.
pub(crate) fn record(value: &Value) -> String {
    let Some(object) = value.as_object() else { return value.to_string() };
    let shown = object.iter().filter(|(_, v)| !v.is_null()).map(|(name, value)| format!("{name}: {}", plain(value)));
    shown.collect::<Vec<_>>().join("\n")
}

/// Columns, as wide as their longest value.
pub(crate) fn table(columns: &[(&str, &str)], rows: &[Value]) -> String {
    let mut lines: Vec<Vec<String>> = vec![columns.iter().map(|(title, _)| (*title).to_owned()).collect()];
    lines.extend(rows.iter().map(|row| columns.iter().map(|(_, field)| plain(&row[*field])).collect()));
    let widths: Vec<usize> = (0..columns.len()).map(|i| lines.iter().map(|l| l[i].chars().count()).max().unwrap_or(0)).collect();
    let pad = |line: &Vec<String>| line.iter().zip(&widths).map(|(text, width)| format!("{text:width$}")).collect::<Vec<_>>().join("  ").trim_end().to_owned();
    lines.iter().map(pad).collect::<Vec<_>>().join("\n")
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
        let rows = [json!({ "id": "dc_1", "name": "a" }), json!({ "id": "dc_22", "name": "b", "active": true })];
        assert_eq!(super::table(&[("ID", "id"), ("NAME", "name")], &rows), "ID     NAME\ndc_1   a\ndc_22  b");
    }
}
