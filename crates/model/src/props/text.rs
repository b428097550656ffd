//! Numbers given for props of text.

use serde_json::Value;

use crate::component::PropDef;
use crate::prop_type::PropType;

/// Whether a prop takes any text: one of options keeps the value of the option, of whatever type.
pub(super) fn is_free(def: &PropDef) -> bool {
    matches!(PropType::parse(&def.prop_type), (PropType::Text, _))
        && !["options", "remoteOptions"].iter().any(|field| def.rest.contains_key(*field))
}

/// Code of a prop of text gets text, also where a command line sent a postcode as a number.
pub(super) fn of_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::String(number.to_string()),
        Value::Array(items) => items.into_iter().map(of_numbers).collect(),
        other => other,
    }
}
