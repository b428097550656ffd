//! Refusal of fields that nobody reads, within a value of a request: it names the field by its path
//! and lists those that are read.

use serde_json::json;

use crate::EngineError;

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

    /// The value at `path`, which serde cannot read.
    pub fn not_read(path: &str, error: &serde_json::Error) -> Self {
        let text = error.to_string();
        match unknown_in(&text) {
            Some((name, allowed)) => Self::unknown_field(path, name, &allowed),
            None => Self::invalid(path, format!("`{path}` is not of the expected form: {text}")),
        }
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
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;
    use crate::deploy::settings::Choice;

    fn details<T: DeserializeOwned>(value: Value) -> Value {
        match serde_json::from_value::<T>(value).map_err(|e| EngineError::not_read("a", &e)) {
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
        assert_eq!(details::<Retry>(json!({ "max": "x" }))[0], "invalid_field");
    }
}
