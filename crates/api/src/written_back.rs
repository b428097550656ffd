//! Extractor for the read-only fields of a record that an update carries. A client may read a
//! record, change one field and write all of it back; an update that changes a read-only field is
//! refused.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde_json::Value;

use crate::App;
use crate::contract::known::Known;
use crate::error::ApiError;
use crate::extract::Params;

/// Fields that the server changes between a read and the update, and fields that were shown once:
/// they are not compared.
const MOVED: &[&str] = &[
    // With each update and deploy.
    "updated_at",
    "revision",
    "draft",
    "deployment_id",
    "inactive_reason",
    "state_changed_at_ms",
    "history",
    // With runs and what they write.
    "stats",
    "last_event",
    "last_error",
    "keys",
    "bytes",
    "count",
    "days",
    "last_seen_ms",
    "last_run_id",
    "message",
    "versions",
    // With tokens, and looks at an account or a registry.
    "expires_at",
    "healthy",
    "problem",
    "component_count",
    "file_count",
    "read_count",
    "unindexed",
    "unindexed_count",
    "failed_update",
    // Shown once.
    "webhook_signing_key",
    "warnings",
];

/// Fields of items that are those of what they stand in, or that others change: an earlier version
/// is written back, too.
const MOVED_WITHIN: &[&str] =
    &["id", "active", "created_at", "deployment_id", "sealed_props", "warnings"];

/// The route's own names, against which an update is held.
pub(crate) struct WrittenBack(Option<Arc<Known>>);

impl FromRequestParts<App> for WrittenBack {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Self::Rejection> {
        Ok(Self(parts.extensions.get::<Arc<Known>>().cloned()))
    }
}

impl WrittenBack {
    /// Refuses a read-only field whose value is another than `record` shows. The record is only
    /// read where such a field is given.
    pub(crate) async fn check(
        &self,
        params: &Params,
        record: impl Future<Output = Result<Value, ApiError>>,
    ) -> Result<(), ApiError> {
        let Some(known) = &self.0 else { return Ok(()) };
        let given: Vec<_> = params
            .0
            .iter()
            .filter(|(name, _)| known.shows_only(name) && !MOVED.contains(&name.as_str()))
            .collect();
        if given.is_empty() {
            return Ok(());
        }
        let record = record.await?;
        match given
            .into_iter()
            .find(|(name, value)| !is_same(record.get(*name).unwrap_or(&Value::Null), value))
        {
            Some((name, value)) => Err(refused(name, &record[name], value, known.names())),
            None => Ok(()),
        }
    }

    /// Refuses what a value that the server makes is given otherwise than it is shown.
    pub(crate) fn check_made(field: &str, given: &Value, shown: &Value) -> Result<(), ApiError> {
        let differs = |(name, value): &(&String, &Value)| {
            shown.get(name.as_str()).is_some_and(|own| !is_same(own, value))
        };
        match given.as_object().and_then(|given| given.iter().find(differs)) {
            Some((name, value)) => {
                Err(refused(&format!("{field}.{name}"), &shown[name], value, &[]))
            }
            None => Ok(()),
        }
    }

    /// Refuses the read-only fields of values that are set as a whole: items of a list, each held
    /// against the item that `shown` finds for it.
    pub(crate) fn check_items<'a>(
        field: &str,
        given: Option<&Value>,
        settable: &[&str],
        shown: impl Fn(&Value) -> Option<&'a Value>,
    ) -> Result<(), ApiError> {
        for (index, item) in given.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let (Some(shown), Value::Object(given)) = (shown(item), item) else { continue };
            let held = |name: &str| {
                !settable.contains(&name) && !MOVED_WITHIN.contains(&name) && !MOVED.contains(&name)
            };
            for (name, value) in given.iter().filter(|(name, _)| held(name)) {
                let names_another =
                    |own: &&Value| name == "savedComponent" && own["id"] != value["id"];
                if let Some(own) =
                    shown.get(name).filter(|own| !is_same(own, value) && !names_another(own))
                {
                    return Err(refused(&format!("{field}[{index}].{name}"), own, value, settable));
                }
            }
        }
        Ok(())
    }
}

/// The refusal of a read-only field, which names the innermost one that differs.
fn refused(name: &str, shown: &Value, given: &Value, settable: &[&str]) -> ApiError {
    let inner = match (shown, given) {
        (Value::Object(own), Value::Object(other))
            if own.len() == other.len() && own.keys().all(|key| other.contains_key(key)) =>
        {
            own.iter()
                .find(|(key, value)| !is_same(value, &other[*key]))
                .map(|(key, value)| (format!("{name}.{key}"), value, &other[key]))
        }
        (Value::Array(own), Value::Array(other)) if own.len() == other.len() => own
            .iter()
            .zip(other)
            .enumerate()
            .find(|(_, (own, other))| !is_same(own, other))
            .map(|(at, (own, other))| (format!("{name}[{at}]"), own, other)),
        _ => None,
    };
    match inner {
        Some((name, shown, given)) => refused(&name, shown, given, settable),
        None => ApiError::read_only_field(name, given, shown, settable),
    }
}

/// Whether a value is the one that was shown: numbers by their worth, and what stands in a query as
/// its text.
fn is_same(shown: &Value, given: &Value) -> bool {
    match (shown, given) {
        (Value::Number(a), Value::Number(b)) => a == b || (a.as_f64() == b.as_f64()),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_same(a, b)))
        }
        (Value::Number(_) | Value::Bool(_), Value::String(text)) => {
            millrace_model::json::from_str::<Value>(text).is_ok_and(|given| given == *shown)
        }
        (Value::Null, Value::String(text)) => text.is_empty(),
        _ => shown == given,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_same;

    #[test]
    fn a_value_is_the_same_however_its_client_writes_numbers_and_whatever_the_order_of_keys() {
        for (shown, given) in [
            (json!(1), json!(1.0)),
            (json!({ "a": [1, null], "b": "x" }), json!({ "b": "x", "a": [1.0, null] })),
            (json!(5), json!("5")),
            (json!(true), json!("true")),
            (json!(null), json!("")),
        ] {
            assert!(is_same(&shown, &given), "{shown} {given}");
        }
        for (shown, given) in [
            (json!(1), json!(2)),
            (json!("1"), json!(1)),
            (json!({ "a": 1 }), json!({ "a": 1, "b": null })),
            (json!([1]), json!([])),
            (json!(false), json!(null)),
        ] {
            assert!(!is_same(&shown, &given), "{shown} {given}");
        }
    }
}
