//! Numbers given for props of text.

use serde_json::Value;

use crate::component::PropDef;
use crate::prop_type::PropType;

/// Code of a prop of text gets text, also where a command line sent a postcode as a number. A prop
/// of options keeps the value of the option, of whatever type.
pub(super) fn of_numbers(def: &PropDef, value: Value) -> Value {
    if ["options", "remoteOptions"].iter().any(|field| def.rest.contains_key(*field)) {
        return value;
    }
    match (PropType::parse(&def.prop_type), value) {
        ((PropType::Text, false), value) => of_number(value),
        ((PropType::Text, true), Value::Array(items)) => items.into_iter().map(of_number).collect(),
        (_, value) => value,
    }
}

fn of_number(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::String(number.to_string()),
        other => other,
    }
}
