//! Values of requests as types. What does not fit is named by its path within the request, with the
//! value that is there and what is allowed, and so is a field that nobody reads.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::{Path, Segment};

use crate::EngineError;

/// What is allowed where a type has whole numbers; their bounds are checked after reading.
const WHOLE_NUMBER: &str = "a whole number within bounds";

impl EngineError {
    /// A field of the value at `path` that nobody reads.
    pub fn unknown_field<S: AsRef<str>>(path: &str, name: &str, allowed: &[S]) -> Self {
        let shown = millrace_model::shown(name);
        let allowed: Vec<_> = allowed.iter().map(AsRef::as_ref).collect();
        let list = match allowed.as_slice() {
            [] => "none is".to_owned(),
            names => format!("allowed are {}", names.join(", ")),
        };
        Self::Invalid {
            code: "unknown_field",
            message: format!("`{shown}` is not a field of `{path}`; {list}"),
            details: json!({ "field": format!("{path}.{shown}"), "allowed": allowed }),
        }
    }
}

/// The value at `path` of a request as a type.
pub fn read_value<T: DeserializeOwned>(path: &str, value: &Value) -> Result<T, EngineError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (field, found) = place(path, value, error.path());
        refusal(field, found, &error.inner().to_string())
    })
}

/// The path within the request, and the value there; none: of a field that is not there.
fn place<'a>(path: &str, value: &'a Value, within: &Path) -> (String, Option<&'a Value>) {
    let mut field = path.to_owned();
    let mut found = Some(value);
    for segment in within {
        let part = match segment {
            Segment::Seq { index } => {
                found = found.and_then(|value| value.get(index));
                format!("[{index}]")
            }
            Segment::Map { key } | Segment::Enum { variant: key } => {
                found = found.and_then(|value| value.get(key));
                format!(".{}", millrace_model::shown(key))
            }
            Segment::Unknown => break,
        };
        field.push_str(&part);
    }
    (field, found)
}

/// The error of serde in our words: it has no more than a text.
fn refusal(field: String, found: Option<&Value>, text: &str) -> EngineError {
    if let Some((name, allowed)) = unknown_in(text) {
        // The path ends with the name of such a field.
        let end = format!(".{}", millrace_model::shown(name));
        return EngineError::unknown_field(
            field.strip_suffix(&end).unwrap_or(&field),
            name,
            &allowed,
        );
    }
    if let Some(name) = text.strip_prefix("missing field `").and_then(|rest| rest.split('`').next())
    {
        let field = format!("{field}.{name}");
        let message = format!("`{field}` is missing: `{name}` is required here");
        return EngineError::invalid(&field, message);
    }
    let expected = match text {
        // Of a fraction and of a number out of bounds, where the type is one of whole numbers.
        "invalid number" => Some(WHOLE_NUMBER.to_owned()),
        text => text.rsplit_once(", expected ").map(|(_, expected)| in_words(expected)),
    };
    let message = match (expected, found) {
        (Some(allowed), Some(found)) => {
            let found = millrace_model::shown(&found.to_string());
            format!("`{field}` is `{found}`, allowed is {allowed}")
        }
        (Some(allowed), None) => {
            format!("`{field}` is not of the expected form: allowed is {allowed}")
        }
        (None, _) => format!("`{field}` is not of the expected form: {text}"),
    };
    EngineError::invalid(&field, message)
}

/// What serde expects, in words of JSON.
fn in_words(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize" => {
            WHOLE_NUMBER.into()
        }
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a sequence" => "a list".into(),
        "a map" => "an object".into(),
        other if other.starts_with("struct ") => "an object".into(),
        other => other.into(),
    }
}

/// The field that serde does not know, and those that it does: its errors have no more than a text
/// (``unknown field `a`, expected `b` or `c` ``).
fn unknown_in(text: &str) -> Option<(&str, Vec<&str>)> {
    let named = text.strip_prefix("unknown field `")?;
    let (name, expected) = named
        .rsplit_once("`, expected ")
        .or_else(|| named.rsplit_once("`, there are no fields"))?;
    Some((name, expected.split('`').skip(1).step_by(2).collect()))
}

#[cfg(test)]
mod tests {
    use millrace_model::limits::{Retry, Throttle};
    use millrace_model::made_from::MadeFrom;

    use super::*;
    use crate::deploy::requests::StepRequest;
    use crate::deploy::settings::{Choice, SettingsRequest};

    fn details<T: DeserializeOwned>(value: Value) -> Value {
        match read_value::<T>("a", &value) {
            Err(EngineError::Invalid { code, details, .. }) => json!([code, details]),
            _ => Value::Null,
        }
    }

    #[test]
    fn an_unknown_field_is_named_with_those_that_are_read() {
        let of = |field: &str, allowed: &[&str]| json!(["unknown_field", { "field": field, "allowed": allowed }]);
        assert_eq!(
            details::<MadeFrom>(json!({ "project": "p", "path": "q", "zz": 1 })),
            of("a.zz", &["project", "path", "fingerprints"])
        );
        assert_eq!(details::<Throttle>(json!({ "zz": 1 })), of("a.zz", &["runs", "interval_ms"]));
        assert_eq!(details::<Choice<Retry>>(json!({ "zz": 1 })), of("a.zz", &["max", "first_ms"]));
        let name = "`, expected `x";
        assert_eq!(
            details::<Retry>(json!({ name: 1 })),
            of(&format!("a.{name}"), &["max", "first_ms"])
        );
        let within = json!({ "throttle": { "zz": 1 } });
        assert_eq!(
            details::<SettingsRequest>(within),
            of("a.throttle.zz", &["runs", "interval_ms"])
        );
    }

    #[test]
    fn a_value_that_does_not_fit_is_named_by_its_path_with_what_is_allowed() {
        let refused = |value: Value| match read_value::<SettingsRequest>("settings", &value) {
            Err(EngineError::Invalid { code, message, details }) => {
                assert_eq!(code, "invalid_field");
                (details["field"].as_str().unwrap_or_default().to_owned(), message)
            }
            other => panic!("{value}: {other:?}"),
        };
        for (given, field, message) in [
            (
                json!({ "memory_mb": "x" }),
                "settings.memory_mb",
                "`settings.memory_mb` is `\"x\"`, allowed is a whole number within bounds",
            ),
            (
                json!({ "memory_mb": -1 }),
                "settings.memory_mb",
                "`settings.memory_mb` is `-1`, allowed is a whole number within bounds",
            ),
            (
                json!({ "throttle": [] }),
                "settings.throttle",
                "`settings.throttle` is `[]`, allowed is an object",
            ),
            (
                json!({ "throttle": { "runs": 1.5, "interval_ms": 1 } }),
                "settings.throttle.runs",
                "`settings.throttle.runs` is `1.5`, allowed is a whole number within bounds",
            ),
            (
                json!({ "throttle": { "runs": 1 } }),
                "settings.throttle.interval_ms",
                "`settings.throttle.interval_ms` is missing: `interval_ms` is required here",
            ),
            (
                json!({ "error_recipients": ["a", 5] }),
                "settings.error_recipients[1]",
                "`settings.error_recipients[1]` is `5`, allowed is a string",
            ),
            (
                json!({ "keep_data": ", expected u32" }),
                "settings.keep_data",
                "`settings.keep_data` is `\", expected u32\"`, allowed is true or false",
            ),
        ] {
            assert_eq!(refused(given), (field.to_owned(), message.to_owned()));
        }
        let fits = json!({ "memory_mb": false, "auto_retry": true, "throttle": { "runs": 1, "interval_ms": 2 }, "queue_max": null });
        assert!(read_value::<SettingsRequest>("settings", &fits).is_ok());
    }

    #[test]
    fn what_steps_and_triggers_hold_is_named_too() {
        let steps = json!([{ "namespace": "a" }, { "namespace": 5 }]);
        match read_value::<Vec<StepRequest>>("steps", &steps) {
            Err(EngineError::Invalid { message, .. }) => {
                assert_eq!(message, "`steps[1].namespace` is `5`, allowed is a string");
            }
            other => panic!("{other:?}"),
        }
    }
}
