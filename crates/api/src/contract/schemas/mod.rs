//! The shapes of all answers as JSON Schema, by name. The tests hold every answer against them.

pub(crate) mod props;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::shape::{Side, reference};
use super::table;
use crate::contract::routes::Route;

/// All schemas by name: those of the routes' types, of props, and of any JSON; with examples.
pub(crate) fn all() -> Map<String, Value> {
    let routes = table::v1();
    let mut all = Side::Shown.schemas(routes.iter().flat_map(Route::shapes));
    for (name, schema) in Side::Given.schemas(routes.iter().flat_map(Route::given)) {
        // A type that both have is the same on either side: a test holds it.
        all.entry(name).or_insert(schema);
    }
    all.extend(props::all());
    all.insert(
        "JsonObject".into(),
        json!({ "type": "object", "description": "An object of any JSON", "additionalProperties": reference("Json") }),
    );
    let examples: Map<String, Value> =
        millrace_model::json::from_str(include_str!("examples.json")).unwrap_or_default();
    for (name, example) in examples {
        all[&name]["examples"] = json!([example]);
    }
    all
}

/// Names of the fields that a record of a schema may have, whichever of its forms it has.
pub(crate) fn field_names(schema: &Value, all: &Map<String, Value>, names: &mut Vec<String>) {
    if let Some(named) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return field_names(&all[named], all, names);
    }
    for name in schema["properties"].as_object().into_iter().flat_map(Map::keys) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    for forms in ["oneOf", "anyOf", "allOf"] {
        for form in schema[forms].as_array().into_iter().flatten() {
            field_names(form, all, names);
        }
    }
}

/// Any JSON, as its shape.
pub(crate) enum JsonOut {}

impl JsonSchema for JsonOut {
    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut kinds: Vec<Value> =
            ["null", "boolean", "number", "string"].map(|kind| json!({ "type": kind })).to_vec();
        // Items of a list within are any JSON too: a list of itself has no type in TypeScript.
        kinds.extend([json!({ "type": "array", "items": {} }), reference("JsonObject")]);
        let about = "Any JSON: what people, components and other services give";
        schemars::json_schema!({ "description": about, "anyOf": kinds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_requests_and_answers_have_is_the_same_in_both() {
        let routes = table::v1();
        let shown = Side::Shown.schemas(routes.iter().flat_map(Route::shapes));
        let given = Side::Given.schemas(routes.iter().flat_map(Route::given));
        let both: Vec<_> = given.keys().filter(|name| shown.contains_key(*name)).collect();
        assert!(both.len() > 5, "{both:?}");
        // A request may leave out what a record always has.
        let fields = |schema: &Value| {
            let mut schema = schema.clone();
            schema["required"].take();
            schema
        };
        for name in both {
            assert_eq!(fields(&given[name]), fields(&shown[name]), "{name}");
        }
    }
}
