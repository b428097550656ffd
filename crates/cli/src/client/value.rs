//! Changes to values of a server that may have any form: indexing with `[…]` for writing panics
//! where a value is no object.

use serde_json::Value;

/// Takes a field out of an object; null where there is none.
pub(crate) fn take(value: &mut Value, field: &str) -> Value {
    value.get_mut(field).map(Value::take).unwrap_or_default()
}

/// Sets a field of an object; what is no object stays as it is.
pub(crate) fn set(value: &mut Value, field: &str, to: impl Into<Value>) {
    if let Some(object) = value.as_object_mut() {
        object.insert(field.to_owned(), to.into());
    }
}
