//! Shapes of records: JSON Schemas (2020-12, as OpenAPI 3.1 has them) derived from the types that
//! are serialized.

use std::borrow::Cow;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A record with its shape in one place: `field: type = value`; `with` binds what several values
/// use. Makes the struct, its schema, `new`, which takes what the values are made of, and `show`,
/// which makes its JSON of the same. The comments become descriptions; the schema is named as the
/// struct without `Out`.
macro_rules! record {
    ($(#[$about:meta])* $name:ident $(<$life:lifetime>)? ($($arg:ident: $of:ty),* $(,)?)
    $(with { $($before:tt)* })? {
        $($(#[$meta:meta])* $field:ident: $ty:ty = $value:expr,)*
    }) => {
        #[derive(serde::Serialize, schemars::JsonSchema)]
        $(#[$about])*
        pub(crate) struct $name $(<$life>)? {
            $($(#[$meta])* $field: $ty,)*
        }

        impl $(<$life>)? $name $(<$life>)? {
            pub(crate) fn new($($arg: $of),*) -> Self {
                $($($before)*)?
                Self { $($field: $value,)* }
            }

            #[allow(dead_code, reason = "some are only parts of others")]
            pub(crate) fn show($($arg: $of),*) -> serde_json::Value {
                serde_json::json!(Self::new($($arg),*))
            }
        }
    };
}
pub(crate) use record;

/// The shape of a record: its name, and what makes its schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    name: fn() -> Cow<'static, str>,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

/// The shape of a type.
pub(crate) const fn of<T: JsonSchema>() -> Shape {
    Shape { name: T::schema_name, schema: SchemaGenerator::subschema_for::<T> }
}

impl Shape {
    pub(crate) fn name(self) -> String {
        name_of(&(self.name)()).to_owned()
    }

    /// The schema of a value in a request; a reference, where the type has a name.
    pub(crate) fn given(self) -> Value {
        let mut generator = Side::Given.generator();
        Side::Given.normalized((self.schema)(&mut generator).to_value())
    }
}

/// Types are named `…Out`, schemas as people say.
fn name_of(name: &str) -> &str {
    name.strip_suffix("Out").unwrap_or(name)
}

/// Who has values of a shape.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Requests: what may be absent may be null as well.
    Given,
    /// Answers.
    Shown,
}

impl Side {
    fn generator(self) -> SchemaGenerator {
        let settings = SchemaSettings::draft2020_12()
            .with(|settings| settings.definitions_path = "/components/schemas".into());
        match self {
            Self::Given => settings.for_deserialize(),
            Self::Shown => settings.for_serialize(),
        }
        .into_generator()
    }

    fn normalized(self, mut schema: Value) -> Value {
        if self == Self::Given {
            keep_nulls(&mut schema);
        }
        normalize(&mut schema);
        schema
    }

    /// The schemas of these shapes and of all that they hold, by name.
    pub(crate) fn schemas(self, shapes: impl Iterator<Item = Shape>) -> Map<String, Value> {
        let mut generator = self.generator();
        for shape in shapes {
            (shape.schema)(&mut generator);
        }
        generator
            .take_definitions(false)
            .into_iter()
            .map(|(name, schema)| (name_of(&name).to_owned(), self.normalized(schema)))
            .collect()
    }
}

/// A value that may be null where it is there at all: the field of it may be absent.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct OrNull<T>(pub(crate) Option<T>);

/// Marks the schema of [`OrNull`] until the record that holds it is known.
const OR_NULL: &str = "x-or-null";

impl<T: JsonSchema> JsonSchema for OrNull<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("OrNull_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = generator.subschema_for::<Option<T>>();
        schema.insert(OR_NULL.into(), true.into());
        schema
    }
}

/// Keeps the nulls of a record that stands in another one, where all of its fields may be absent.
pub(crate) fn keep_null(schema: &mut Schema) {
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        for field in fields.values_mut().filter_map(Value::as_object_mut) {
            field.insert(OR_NULL.into(), true.into());
        }
    }
}

/// The same of a value of a schema, and of all that it holds.
fn keep_nulls(schema: &mut Value) {
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        for field in fields.values_mut().filter(|field| field.is_object()) {
            keep_nulls(field);
            field[OR_NULL] = true.into();
        }
    }
    for part in ["anyOf", "oneOf"] {
        if let Some(Value::Array(schemas)) = schema.get_mut(part) {
            schemas.iter_mut().for_each(keep_nulls);
        }
    }
}

/// Brings a derived schema into the form of the document: any JSON and free objects are `Json` and
/// `JsonObject`, words are one `enum`, records take no other fields, and what may be absent is not
/// null.
fn normalize(schema: &mut Value) {
    // `{}` is written by hand, where a reference would be one to itself.
    if says_nothing(schema) && *schema != json!({}) {
        let about = schema.get("description").cloned();
        *schema = reference("Json");
        if let Some(about) = about {
            schema["description"] = about;
        }
    }
    let Some(object) = schema.as_object_mut() else { return };
    if object.get("additionalProperties") == Some(&json!(true))
        && !object.contains_key("properties")
    {
        let may_be_null = object["type"].is_array();
        *schema = reference("JsonObject");
        if may_be_null {
            *schema = json!({ "anyOf": [schema, { "type": "null" }] });
        }
        return;
    }
    for bound in ["format", "minimum", "maximum", "title", "default", OR_NULL] {
        object.shift_remove(bound);
    }
    if let Some(word) = object.shift_remove("const") {
        object.insert("enum".into(), json!([word]));
    }
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if let Some(Value::String(to)) = object.get_mut("$ref") {
        *to = name_of(to).to_owned();
    }
    if object.get("type") == Some(&json!("object")) && !object.contains_key("additionalProperties")
    {
        object.entry("properties").or_insert(json!({}));
    }
    let required = object.get("required").cloned().unwrap_or(json!([]));
    if let Some(Value::Object(fields)) = object.get_mut("properties") {
        for (name, field) in fields.iter_mut() {
            let may_be_null = field.get(OR_NULL).is_some();
            let is_there = required.as_array().is_some_and(|names| names.iter().any(|n| n == name));
            normalize(field);
            if !is_there && !may_be_null {
                without_null(field);
            }
        }
        if !object.contains_key("additionalProperties") {
            object.insert("additionalProperties".into(), json!(false));
        }
    }
    for part in ["items", "additionalProperties"] {
        if let Some(part) = object.get_mut(part) {
            normalize(part);
        }
    }
    for part in ["anyOf", "oneOf"] {
        if let Some(Value::Array(schemas)) = object.get_mut(part) {
            schemas.iter_mut().for_each(normalize);
        }
    }
    words(object);
}

/// Whether every value fits a schema: it describes one, and names no type of it.
pub(crate) fn says_nothing(schema: &Value) -> bool {
    let says_type = |object: &Map<String, Value>| {
        ["$ref", "type", "enum", "const", "anyOf", "oneOf", "allOf", "properties"]
            .iter()
            .any(|word| object.contains_key(*word))
    };
    schema == &json!(true) || schema.as_object().is_some_and(|object| !says_type(object))
}

/// An enum without data has a schema for each of its words.
fn words(object: &mut Map<String, Value>) {
    let Some(Value::Array(schemas)) = object.shift_remove("oneOf") else { return };
    let all: Option<Vec<Value>> = schemas.iter().map(|s| s["enum"].get(0).cloned()).collect();
    match all {
        Some(all) => {
            object.insert("type".into(), json!("string"));
            object.insert("enum".into(), all.into());
        }
        None => _ = object.insert("anyOf".into(), schemas.into()),
    }
}

fn without_null(schema: &mut Value) {
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &kinds[..] {
            schema["type"] = kind.clone();
        }
    }
    if let Some(Value::Array(schemas)) = schema.get_mut("anyOf") {
        schemas.retain(|schema| schema["type"] != "null");
        if let [one] = &schemas[..] {
            *schema = one.clone();
        }
    }
}

pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}
