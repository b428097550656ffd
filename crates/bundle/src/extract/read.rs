//! Reader of component and app definitions from evaluated values, by the rules of the runtime's
//! `props.ts` and `describe.ts`.

use std::collections::{BTreeMap, BTreeSet};

use millrace_model::component::{Hook, Manifest, PropDef};
use serde_json::{Map, Number, Value as Json};

use super::eval::{Object, Value};
use super::{AppFacts, ComponentFacts, DefinitionRef};

/// Definitions may build on others, a few levels deep.
const DEFINITIONS_MAX: usize = 8;
const JSON_DEPTH_MAX: usize = 12;

pub(super) fn component(value: &Object) -> ComponentFacts {
    let mut facts = ComponentFacts::default();
    let (props, is_complete) = match value.get("props") {
        Value::Object(props) => {
            let defined = props_of(&props, &mut facts.definitions);
            let is_complete = !props.open && defined.len() == props.entries.len();
            (defined, is_complete)
        }
        Value::Undefined => (Vec::new(), true),
        _ => (Vec::new(), false),
    };
    facts.props_are_complete = is_complete;
    facts.manifest = Manifest {
        name: text(&value.get("name")),
        key: text(&value.get("key")),
        version: text(&value.get("version")),
        component_type: text(&value.get("type")),
        description: text(&value.get("description")),
        dedupe: text(&value.get("dedupe")),
        has_run: is_function(&value.get("run")),
        hooks: Hook::ALL
            .into_iter()
            .filter(|hook| is_function(&value.get("hooks").member(hook.name())))
            .collect(),
        unknown_hooks: functions(&value.get("hooks"))
            .into_iter()
            .filter(|name| Hook::named(name).is_none())
            .collect(),
        methods: functions(&value.get("methods")),
        has_additional_props: is_function(&value.get("additionalProps")),
        annotations: json(&value.get("annotations"), 0),
        sample_emit: json(&value.get("sampleEmit"), 0),
        props,
    };
    facts
}

pub(super) fn app(value: &Object) -> Option<AppFacts> {
    if value.get("type").text() != Some("app") {
        return None;
    }
    let slug = value.get("app").text()?.to_owned();
    let mut prop_definitions = Vec::new();
    if let Value::Object(definitions) = value.get("propDefinitions") {
        prop_definitions = props_of(&definitions, &mut BTreeMap::new());
    }
    Some(AppFacts {
        slug,
        name: text(&value.get("name")),
        description: text(&value.get("description")),
        prop_definitions,
        auth_keys: BTreeSet::new(),
    })
}

fn props_of(props: &Object, definitions: &mut BTreeMap<String, DefinitionRef>) -> Vec<PropDef> {
    props.entries.iter().filter_map(|(name, value)| prop(name, value, definitions)).collect()
}

/// None for what is no prop, or not known to be one.
fn prop(
    name: &str,
    value: &Value,
    definitions: &mut BTreeMap<String, DefinitionRef>,
) -> Option<PropDef> {
    let value = match value {
        Value::Text(kind) => {
            return Some(PropDef {
                name: name.to_owned(),
                prop_type: kind.to_string(),
                ..PropDef::default()
            });
        }
        Value::Object(value) => value,
        _ => return None,
    };
    if value.get("type").text() == Some("app") {
        let app = value.get("app").text().map(|slug| ("app".to_owned(), Json::from(slug)));
        return Some(PropDef {
            name: name.to_owned(),
            prop_type: "app".into(),
            rest: app.into_iter().collect(),
            ..PropDef::default()
        });
    }
    let mut definition = (**value).clone();
    let mut first = None;
    for _ in 0..DEFINITIONS_MAX {
        let Value::Array(reference) = definition.get("propDefinition") else { break };
        definition.entries.shift_remove("propDefinition");
        let (app, defined) = (
            reference.first().unwrap_or(&Value::Unknown),
            reference.get(1).unwrap_or(&Value::Unknown),
        );
        if let (Some(app), Some(name)) = (app.member("app").text(), defined.text()) {
            first.get_or_insert_with(|| DefinitionRef {
                app: app.to_owned(),
                name: name.to_owned(),
            });
        }
        let base = defined
            .text()
            .map_or(Value::Unknown, |name| app.member("propDefinitions").member(name));
        definition = merged(&base, definition);
    }
    definitions.extend(first.map(|reference| (name.to_owned(), reference)));
    Some(described(name, &definition))
}

/// A prop's own fields win over those of what it builds on.
fn merged(base: &Value, own: Object) -> Object {
    match base {
        Value::Object(base) => {
            let mut merged = (**base).clone();
            if own.open {
                merged.entries.values_mut().for_each(|value| *value = Value::Unknown);
            }
            merged.open |= own.open;
            merged.entries.extend(own.entries);
            merged
        }
        Value::Undefined => own,
        _ => Object { open: true, ..own },
    }
}

fn described(name: &str, definition: &Object) -> PropDef {
    let prop_type = match definition.get("type") {
        Value::Text(kind) => kind.to_string(),
        // Left out rather than guessed.
        Value::Unknown => String::new(),
        _ => "string".into(),
    };
    let mut fields = Map::new();
    for (field, value) in &definition.entries {
        match (field.as_str(), value) {
            ("type" | "propDefinition" | "name", _) | ("default", Value::Function) => {}
            ("options", Value::Function) => {
                fields.insert("remoteOptions".into(), true.into());
            }
            _ => fields.extend(json(value, 0).map(|value| (field.clone(), value))),
        }
    }
    let mut own = Map::new();
    own.insert("name".into(), name.into());
    own.insert("type".into(), prop_type.clone().into());
    own.extend(fields);
    // A field of a kind that the rules do not read is a field all the same.
    serde_json::from_value(Json::Object(own.clone())).unwrap_or_else(|_| {
        for field in ["optional", "secret", "min", "max"] {
            own.remove(field);
        }
        serde_json::from_value(Json::Object(own)).unwrap_or_else(|_| PropDef {
            name: name.to_owned(),
            prop_type,
            ..PropDef::default()
        })
    })
}

fn is_function(value: &Value) -> bool {
    matches!(value, Value::Function)
}

fn functions(value: &Value) -> Vec<String> {
    match value {
        Value::Object(object) => object
            .entries
            .iter()
            .filter(|(_, value)| is_function(value))
            .map(|(name, _)| name.clone())
            .collect(),
        _ => Vec::new(),
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.to_string()),
        Value::Number(n) => Some(n.to_string()),
        _ => None,
    }
}

/// JSON of a value that is known to the last member; functions are left out, as the runtime leaves
/// them out.
fn json(value: &Value, depth: usize) -> Option<Json> {
    if depth > JSON_DEPTH_MAX {
        return None;
    }
    match value {
        Value::Unknown | Value::Undefined | Value::Function => None,
        Value::Null => Some(Json::Null),
        Value::Bool(b) => Some((*b).into()),
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
        Value::Number(n) if n.fract() == 0.0 && n.abs() < 1e15 => Some((*n as i64).into()),
        Value::Number(n) => Some(Number::from_f64(*n).map_or(Json::Null, Json::Number)),
        Value::Text(text) => Some(Json::from(&**text)),
        Value::Array(items) if items.iter().any(|item| matches!(item, Value::Unknown)) => None,
        Value::Array(items) => {
            Some(items.iter().map(|item| json(item, depth + 1).unwrap_or(Json::Null)).collect())
        }
        Value::Object(object)
            if object.open || object.entries.values().any(|v| matches!(v, Value::Unknown)) =>
        {
            None
        }
        Value::Object(object) => Some(
            object
                .entries
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), json(value, depth + 1)?)))
                .collect(),
        ),
    }
}
