//! The shapes of answers as JSON Schema; `wire` makes what they describe. The tests hold every
//! answer against them.

mod components;
mod history;
mod parts;
mod records;

use serde_json::{Map, Value, json};

use super::codes;
use components::{COMPONENTS, REGISTRY};
use history::HISTORY;
use parts::PARTS;
use records::{KEY, OAUTH_CLIENT, RECORDS, REPLAY, WEBHOOK};

/// Fields of a record: name and type. A name that ends with `?` may be absent; `|null` says that
/// the value may be null. Types: `string`, `integer`, `number`, `boolean`, `=a,b` for one of these
/// words, `code` for the code of a refusal, `#Name` for another schema (`#Json` is any JSON),
/// `[type]` for a list, `{type}` for an object whose names are free.
type Fields = &'static [(&'static str, &'static str)];

/// All schemas by name.
pub(crate) fn all() -> Map<String, Value> {
    let with = |fields: Fields, name: &'static str| {
        fields.iter().copied().chain([(name, "string")]).collect::<Vec<_>>()
    };
    let more = [
        ("type", "string"),
        ("component_key", "string|null"),
        ("configurable_props", "[#Prop]"),
        ("endpoint_url?", "string"),
        ("webhook_signing_key?", "string"),
    ];
    let deployed: Vec<_> = all_of("Source").iter().copied().chain(more).collect();
    let deployed = [(
        "DeployedTrigger".to_owned(),
        record("A deployed trigger; what signs its deliveries is shown this once", &deployed),
    )];
    let app: Vec<_> =
        all_of("App").iter().copied().filter(|(name, _)| *name != "img_src").collect();
    let app: Vec<_> = app
        .into_iter()
        .chain([
            ("img_src", "string"),
            ("featured_weight", "number"),
            ("scope_profiles", "[#JsonObject]"),
        ])
        .collect();
    let app = [(
        "ConnectApp".to_owned(),
        record("An app as the hosted platform's clients read it", &app),
    )];
    let shown_once = [
        ("NewApiKey", "A new key, shown this once", with(KEY, "key")),
        ("NewWebhook", "A new webhook with its secret", with(WEBHOOK, "secret")),
        (
            "NewOauthClient",
            "A new OAuth client with its secret, shown this once",
            with(OAUTH_CLIENT, "client_secret"),
        ),
    ];
    let replayed: Vec<_> = REPLAY.iter().copied().chain([("runs", "#RunsByState")]).collect();
    let replayed = [(
        "ReplayWithRuns".to_owned(),
        record("A replay of many runs, with what became of them", &replayed),
    )];
    let group: Vec<_> = all_of("ErrorGroup")
        .iter()
        .copied()
        .chain([("history", "[#ErrorGroupChange]"), ("versions", "[#ErrorVersion]")])
        .collect();
    let group = [(
        "ErrorGroupRecord".to_owned(),
        record(
            "A group of errors with the history of its state, and the deployments that it was seen in",
            &group,
        ),
    )];
    let uploaded: Vec<_> = REGISTRY
        .iter()
        .copied()
        .chain([
            ("read_count", "integer"),
            ("unindexed_count", "integer"),
            ("unindexed", "[#Unindexed]"),
        ])
        .collect();
    let uploaded = [(
        "NewRegistry".to_owned(),
        record(
            "A registry with what of its tree is no component, the first hundred named",
            &uploaded,
        ),
    )];
    let records = RECORDS
        .iter()
        .chain(COMPONENTS)
        .chain(HISTORY)
        .chain(PARTS)
        .map(|(name, about, fields)| ((*name).to_owned(), record(about, fields)));
    let mut all: Map<String, Value> = records
        .chain(uploaded)
        .chain(deployed)
        .chain(app)
        .chain(replayed)
        .chain(group)
        .chain(parts::unions())
        .chain(
            shown_once
                .iter()
                .map(|(name, about, fields)| ((*name).to_owned(), record(about, fields))),
        )
        .collect();
    let examples: Map<String, Value> =
        serde_json::from_str(include_str!("examples.json")).unwrap_or_default();
    for (name, example) in examples {
        all[&name]["examples"] = json!([example]);
    }
    all
}

/// The fields of a record of the list.
fn all_of(name: &str) -> Fields {
    RECORDS
        .iter()
        .chain(COMPONENTS)
        .chain(HISTORY)
        .chain(PARTS)
        .find(|(record, _, _)| *record == name)
        .map_or(&[], |(_, _, fields)| fields)
}

fn record(about: &str, fields: &[(&str, &str)]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|(name, kind)| (name.trim_end_matches('?').to_owned(), schema(kind)))
        .collect();
    let required: Vec<&str> =
        fields.iter().map(|(name, _)| *name).filter(|name| !name.ends_with('?')).collect();
    json!({ "type": "object", "description": about, "properties": properties, "required": required, "additionalProperties": false })
}

fn schema(kind: &str) -> Value {
    if let Some(list) = kind.strip_prefix('[') {
        return match list.strip_suffix("]|null") {
            Some(item) => json!({ "type": ["array", "null"], "items": schema(item) }),
            None => {
                json!({ "type": "array", "items": schema(list.strip_suffix(']').unwrap_or(list)) })
            }
        };
    }
    if let Some(value) = kind.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        return json!({ "type": "object", "additionalProperties": schema(value) });
    }
    if let Some(name) = kind.strip_prefix('#') {
        return match name.strip_suffix("|null") {
            Some(name) => json!({ "anyOf": [reference(name), { "type": "null" }] }),
            None => reference(name),
        };
    }
    if let Some(words) = kind.strip_prefix('=') {
        return match words.strip_suffix("|null") {
            Some(words) => {
                json!({ "type": ["string", "null"], "enum": words.split(',').map(Some).chain([None]).collect::<Vec<_>>() })
            }
            None => json!({ "type": "string", "enum": words.split(',').collect::<Vec<_>>() }),
        };
    }
    match kind.split_once('|') {
        Some((kind, or)) => json!({ "type": [kind, or] }),
        None if kind == "code" => json!({ "type": "string", "enum": codes::CODES }),
        None => json!({ "type": kind }),
    }
}

pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}
