//! Errors of fields of a request; `details.field` names the field by its path in the request.

use axum::http::StatusCode;
use millrace_engine::EngineError;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::extract::short;

impl ApiError {
    /// A field that is wrong.
    pub(crate) fn field(field: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_field", message)
            .with(json!({ "field": field }))
    }

    /// A required field that is absent. `about`: its description, which begins with a capital
    /// letter as a cell of a table; the sentence goes on with it.
    pub(crate) fn missing(field: &str, about: &str) -> Self {
        let mut letters = about.chars();
        let about = match (letters.next(), letters.next()) {
            (Some(first), second) if !second.is_some_and(char::is_uppercase) => {
                format!("{}{}", first.to_lowercase(), &about[first.len_utf8()..])
            }
            _ => about.to_owned(),
        };
        EngineError::missing(field, format!("`{field}` is missing: {about}")).into()
    }

    /// The same error of a field within the field `outer`.
    pub(crate) fn within(mut self, outer: &str) -> Self {
        if let Some(field) = self.details["field"].as_str() {
            let path = format!("{outer}.{field}");
            self.message = self.message.replacen(&format!("`{field}`"), &format!("`{path}`"), 1);
            self.details["field"] = path.into();
        }
        self
    }

    /// A field that nobody reads.
    pub(crate) fn unknown_field(name: &str, of: &str, allowed: &[&str]) -> Self {
        let shown = millrace_model::shown(name);
        let list = match allowed {
            [] => "none is".to_owned(),
            names => format!("allowed are {}", names.join(", ")),
        };
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "unknown_field",
            format!("`{shown}` is not a field of {of}; {list}"),
        )
        .with(json!({ "field": shown, "allowed": allowed }))
    }

    /// A field of a record that an update cannot set, with another value than it has.
    pub(crate) fn read_only_field(
        name: &str,
        given: &Value,
        now: &Value,
        allowed: &[&str],
    ) -> Self {
        let message = format!(
            "`{name}` is {}, but it cannot be set: it is {}; leave it out, or write it back as it is; what can be set is {}",
            short(given),
            short(now),
            allowed.join(", ")
        );
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "read_only_field", message)
            .with(json!({ "field": name, "value": now, "allowed": allowed }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_field_is_described_within_its_sentence() {
        let check = |about: &str, said: &str| {
            let error = ApiError::missing("name", about);
            assert_eq!(error.message, format!("`name` is missing: {said}"));
            assert_eq!(*error.details, json!({ "field": "name" }));
        };
        check("What it is for", "what it is for");
        check("The domain, such as `a.test`", "the domain, such as `a.test`");
        check("OAuth client", "OAuth client");
        check("`a` or `b`", "`a` or `b`");
        check("É", "é");
    }

    #[test]
    fn a_field_within_another_is_named_by_its_path() {
        let error = ApiError::field("status", "`status` is `x`; allowed is `y`").within("filter");
        assert_eq!(*error.details, json!({ "field": "filter.status" }));
        assert_eq!(error.message, "`filter.status` is `x`; allowed is `y`");
    }
}
