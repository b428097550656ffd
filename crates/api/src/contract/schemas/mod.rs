//! The shapes of all answers as JSON Schema, by name. The tests hold every answer against them.

pub(crate) mod props;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::shape::{self, reference};
use super::table;
use crate::contract::routes::Route;

/// All schemas by name: those of the routes' types, of props, and of any JSON; with examples.
pub(crate) fn all() -> Map<String, Value> {
    let mut all = shape::schemas(table::v1().iter().flat_map(Route::shapes));
    all.extend(props::all());
    all.insert(
        "JsonObject".into(),
        json!({ "type": "object", "description": "An object of any JSON", "additionalProperties": reference("Json") }),
    );
    let examples: Map<String, Value> =
        serde_json::from_str(include_str!("examples.json")).unwrap_or_default();
    for (name, example) in examples {
        all[&name]["examples"] = json!([example]);
    }
    all
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
