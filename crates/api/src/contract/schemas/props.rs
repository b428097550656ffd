//! Shapes of the definitions of props (spec 2.7), which components write: known by their types, and
//! kept as they are where they are not.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::contract::shape::reference;

/// Fields of a definition, each of which may be absent: name and type. Types: `string`, `number`,
/// `boolean`, `=a,b` for one of these words, `json` for any JSON, `object` for an object of it,
/// `options` and `strings` for lists.
type Fields = &'static [(&'static str, &'static str)];

/// Fields that a prop of any type may have.
const OF_EACH_PROP: Fields = &[
    ("label", "string"),
    ("description", "string"),
    ("optional", "boolean"),
    ("hidden", "boolean"),
    ("disabled", "boolean"),
    ("readOnly", "boolean"),
    ("reloadProps", "boolean"),
    ("remoteOptions", "boolean"),
    ("useQuery", "boolean"),
    ("dependsOn", "strings"),
    ("withLabel", "boolean"),
    ("options", "options"),
];

/// Props by their types: the schema's name, what it is, the types, and the fields of these alone.
const PROPS: &[(&str, &str, &str, Fields)] = &[
    (
        "StringProp",
        "A text, or a list of texts",
        "=string,string[]",
        &[("secret", "boolean"), ("default", "json"), ("static", "json"), ("format", "string")],
    ),
    (
        "IntegerProp",
        "A whole number, or a list of them",
        "=integer,integer[]",
        &[("min", "number"), ("max", "number"), ("default", "json"), ("static", "json")],
    ),
    ("BooleanProp", "Yes or no", "=boolean,boolean[]", &[("default", "json"), ("static", "json")]),
    (
        "ObjectProp",
        "An object, or a list of objects",
        "=object,object[]",
        &[("default", "json"), ("static", "json")],
    ),
    (
        "AppProp",
        "A connected account of an app, or a list of them",
        "=app,app[]",
        &[("app", "string")],
    ),
    (
        "AlertProp",
        "Text of the form, without a value",
        "=alert",
        &[("alertType", "=info,neutral,warning,error"), ("content", "string")],
    ),
    (
        "HttpRequestProp",
        "A request that the component makes",
        "=http_request",
        &[("default", "object")],
    ),
    ("SqlProp", "A query", "=sql", &[("auth", "object"), ("default", "json")]),
    ("DataStoreProp", "A data store", "=data_store,datastore", &[]),
    (
        "DirProp",
        "A file store",
        "=dir",
        &[("accessMode", "=read,write,read-write"), ("sync", "boolean")],
    ),
    (
        "HttpInterfaceProp",
        "An endpoint that the server makes",
        "=$.interface.http",
        &[("customResponse", "boolean")],
    ),
    (
        "TimerInterfaceProp",
        "A timer",
        "=$.interface.timer",
        &[("default", "object"), ("static", "object")],
    ),
    ("DbProp", "What a source remembers between its runs", "=$.service.db", &[]),
    (
        "AppHookProp",
        "Events of an app",
        "=$.interface.apphook",
        &[("appProp", "string"), ("eventNames", "strings"), ("remote", "boolean")],
    ),
];

/// The definition of a prop, as its shape.
pub(crate) enum PropOut {}

impl JsonSchema for PropOut {
    fn schema_name() -> Cow<'static, str> {
        "Prop".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = PROPS.iter().map(|(name, ..)| *name).chain(["OtherProp"]);
        let about = "A prop of a component (spec 2.7)";
        let any_of: Vec<Value> = names.map(reference).collect();
        schemars::json_schema!({ "description": about, "anyOf": any_of })
    }
}

/// The shapes that [`PropOut`] is one of, by name.
pub(crate) fn all() -> impl Iterator<Item = (String, Value)> {
    let other = "A prop of another type, or whose definition has fields of other types: kept as its author wrote it";
    let known = PROPS.iter().map(|(name, about, types, own)| {
        let fields = OF_EACH_PROP.iter().chain(*own);
        ((*name).to_owned(), prop(about, schema(types), fields))
    });
    known.chain([("OtherProp".to_owned(), prop(other, schema("string"), [].iter()))])
}

/// A prop's definition may have further fields.
fn prop(
    about: &str,
    types: Value,
    fields: impl Iterator<Item = &'static (&'static str, &'static str)>,
) -> Value {
    let mut properties = Map::new();
    properties.insert("name".into(), schema("string"));
    properties.insert("type".into(), types);
    properties.extend(fields.map(|(name, kind)| ((*name).to_owned(), schema(kind))));
    json!({
        "type": "object", "description": about, "properties": properties,
        "required": ["name", "type"], "additionalProperties": reference("Json"),
    })
}

fn schema(kind: &str) -> Value {
    match kind {
        "json" => reference("Json"),
        "object" => reference("JsonObject"),
        // Each is a value, or an object with its label beside it.
        "options" => {
            let kinds = ["string", "number", "boolean"].map(|kind| json!({ "type": kind }));
            let any_of = [kinds.as_slice(), &[reference("JsonObject")]].concat();
            json!({ "type": "array", "items": { "anyOf": any_of } })
        }
        "strings" => json!({ "type": "array", "items": { "type": "string" } }),
        _ => match kind.strip_prefix('=') {
            Some(words) => {
                json!({ "type": "string", "enum": words.split(',').collect::<Vec<_>>() })
            }
            None => json!({ "type": kind }),
        },
    }
}
