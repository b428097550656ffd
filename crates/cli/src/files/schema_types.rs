//! Types of the schemas of project files, and how messages name them.

use serde_json::Value;

/// Whether it takes a number, or `false` for what is so by default.
pub(super) fn takes_number_or_false(schema: &Value) -> bool {
    let is = |at: usize, kind: &str| schema["type"][at] == kind;
    is(0, "integer") && is(1, "boolean")
}

pub(super) fn fits_type(wanted: &Value, value: &Value) -> bool {
    let fits = |wanted: &Value| match wanted.as_str() {
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        _ => false,
    };
    match wanted {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(fits),
        kind => fits(kind),
    }
}

/// Which numbers are allowed.
pub(super) fn range(schema: &Value) -> Option<String> {
    match (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
        (Some(min), Some(max)) => Some(format!("{min} to {max}")),
        (Some(min), None) => Some(format!("{min} and more")),
        (None, max) => max.map(|max| format!("up to {max}")),
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

pub(super) fn kinds(wanted: &Value) -> String {
    let word = |kind: &Value| match kind.as_str() {
        Some("integer") => "a whole number",
        Some("string") => "a text",
        Some("boolean") => "true or false",
        Some("object") => "an object",
        _ => "a list",
    };
    match wanted {
        Value::Array(kinds) => kinds.iter().map(word).collect::<Vec<_>>().join(" or "),
        kind => word(kind).to_owned(),
    }
}
