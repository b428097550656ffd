//! Records of `/connect/{project}` in the shape that the hosted platform's client library demands:
//! its deserializers reject a whole answer for one field of another type, and then hand it on
//! unread.

use millrace_engine::AccountView;
use millrace_model::account::{App, AuthType};
use serde_json::{Map, Value, json};

use crate::wire;

/// An app, with the fields that are never absent there.
pub(crate) fn app(a: &App) -> Value {
    let mut shown = wire::app(a);
    shown["img_src"] = json!(a.definition.img_src.as_deref().unwrap_or(""));
    // Nothing ranks apps here, and no app has named sets of scopes.
    shown["featured_weight"] = json!(0);
    shown["scope_profiles"] = json!([]);
    shown
}

/// An account. Its times are ISO 8601.
pub(crate) fn account(view: &AccountView) -> Value {
    let a = &view.account;
    let scopes = view
        .app
        .definition
        .oauth
        .iter()
        .filter(|_| view.app.definition.auth_type == AuthType::Oauth)
        .flat_map(|client| &client.scopes);
    let mut shown = json!({
        "id": a.id, "name": a.name, "external_id": a.external_user_id, "healthy": a.healthy, "dead": false, "app": app(&view.app),
        "authorized_scopes": scopes.collect::<Vec<_>>(), "error": a.problem, "expires_at": a.expires_at.map(|at| at.iso()),
        "created_at": a.created_at.iso(), "updated_at": a.updated_at.iso(),
    });
    if let Some(credentials) = &view.credentials {
        shown["credentials"] = json!(credentials);
    }
    shown
}

/// What a component says of its effects.
pub(crate) fn annotations(given: &Value) -> Value {
    let Value::Object(given) = given else { return Value::Null };
    let mut shown = given.clone();
    shown.retain(|name, value| match name.as_str() {
        "title" => value.is_string(),
        "destructiveHint" | "idempotentHint" | "openWorldHint" | "readOnlyHint" => {
            value.is_boolean()
        }
        _ => false,
    });
    Value::Object(shown)
}

/// Definitions of props, each of a type that such clients know.
pub(crate) fn props(definitions: &Value) -> Value {
    definitions.as_array().into_iter().flatten().filter_map(Value::as_object).map(prop).collect()
}

/// The types of props that such clients know; all others are `any` to them.
const TYPES: &[&str] = &[
    "$.airtable.baseId",
    "$.airtable.fieldId",
    "$.airtable.tableId",
    "$.airtable.viewId",
    "$.discord.channel",
    "$.discord.channel[]",
    "$.interface.apphook",
    "$.interface.http",
    "$.interface.timer",
    "$.service.db",
    "alert",
    "any",
    "app",
    "boolean",
    "data_store",
    "dir",
    "http_request",
    "integer",
    "integer[]",
    "object",
    "sql",
    "string",
    "string[]",
];

fn prop(definition: &Map<String, Value>) -> Value {
    let given = definition.get("type").and_then(Value::as_str).unwrap_or("");
    let kind = if TYPES.contains(&given) { given } else { "any" };
    let mut shown = definition.clone();
    shown.insert("type".into(), kind.into());
    if let Some(Value::Array(options)) =
        shown.get_mut("options").filter(|_| kind != "$.interface.timer")
    {
        options.iter_mut().for_each(option);
    }
    shown.retain(|field, value| value.is_null() || fits(kind, field, value));
    // Without these a definition of the type is none.
    let needed = match kind {
        "app" => Some("app"),
        "alert" => Some("content"),
        "$.interface.apphook" => Some("appProp"),
        _ if kind.starts_with("$.airtable") || kind.starts_with("$.discord") => Some("appProp"),
        _ => None,
    };
    if let Some(field) = needed
        && !shown.get(field).is_some_and(Value::is_string)
    {
        shown.insert(field.into(), "".into());
    }
    Value::Object(shown)
}

/// Whether a field of a definition has the type that it has there.
fn fits(kind: &str, field: &str, value: &Value) -> bool {
    let list_of =
        |item: fn(&Value) -> bool| value.as_array().is_some_and(|items| items.iter().all(item));
    match (kind, field) {
        (_, "label" | "description") => value.is_string(),
        (
            _,
            "optional" | "disabled" | "readOnly" | "hidden" | "remoteOptions" | "useQuery"
            | "reloadProps" | "withLabel",
        ) => value.is_boolean(),
        ("string" | "string[]", "secret")
        | ("dir", "sync")
        | ("$.interface.http", "customResponse")
        | ("$.interface.apphook", "remote") => value.is_boolean(),
        ("integer" | "integer[]", "min" | "max") | ("integer", "default") => value.is_number(),
        ("string" | "string[]", "format") => value == "file-ref",
        ("dir", "accessMode") => matches!(value.as_str(), Some("read" | "write" | "read-write")),
        ("alert", "alertType") => {
            matches!(value.as_str(), Some("info" | "neutral" | "warning" | "error"))
        }
        ("boolean", "default") => value.is_boolean(),
        ("string", "default") => value.is_string(),
        ("integer[]", "default") => list_of(Value::is_number),
        ("string[]", "default") | ("$.interface.apphook", "eventNames") => {
            list_of(Value::is_string)
        }
        ("object", "default") => value.is_object(),
        ("sql", "default") => {
            value["value"].is_string()
                && value["query"].is_string()
                && value["usePreparedStatements"].is_boolean()
                && value["params"]
                    .as_array()
                    .is_some_and(|params| params.iter().all(Value::is_string))
        }
        ("sql", "auth") => {
            value.is_object() && (value["app"].is_null() || value["app"].is_string())
        }
        ("http_request", "default") => is_request(value),
        ("$.interface.timer", "static" | "default") => is_schedule(value),
        ("$.interface.timer", "options") => list_of(is_schedule),
        ("$.interface.apphook", "static") | (_, "options") => value.is_array(),
        _ => true,
    }
}

fn is_schedule(value: &Value) -> bool {
    value["intervalSeconds"].is_number() || value["cron"].is_string()
}

fn is_request(value: &Value) -> bool {
    let text = |value: &Value| value.is_null() || value.is_string();
    let texts = |value: &Value, names: &[&str]| {
        (value.is_null() || value.is_object()) && names.iter().all(|name| text(&value[*name]))
    };
    let fields = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => {
            items.iter().all(|item| item["name"].is_string() && item["value"].is_string())
        }
        _ => false,
    };
    value.is_object()
        && texts(value, &["tab", "method", "url"])
        && texts(&value["auth"], &["type", "username", "password", "token"])
        && texts(&value["body"], &["type", "contentType", "mode", "raw"])
        && [&value["headers"], &value["params"], &value["body"]["fields"]].into_iter().all(fields)
}

/// An option: a text, number or boolean, or one with a label, which is a text.
pub(crate) fn option(option: &mut Value) {
    let of = if option.get("__lv").is_some() { &mut option["__lv"] } else { option };
    if let Value::Object(fields) = of
        && !fields.get("label").is_some_and(Value::is_string)
    {
        let named = fields
            .get("label")
            .filter(|label| !label.is_null())
            .or_else(|| fields.get("value"))
            .cloned()
            .unwrap_or_default();
        let label = named.as_str().map_or_else(|| named.to_string(), str::to_owned);
        fields.insert("label".into(), label.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::props;

    #[test]
    fn a_field_of_another_type_is_left_out_and_the_rest_stays() {
        let given = json!([
            { "name": "a", "type": "string", "label": 5, "default": 7, "optional": "yes", "options": ["x", { "value": 1 }, { "label": "L", "value": "l" }] },
            { "name": "b", "type": "object[]", "default": [1], "hidden": true },
            { "name": "c", "type": "$.interface.timer", "default": { "intervalSeconds": 60 }, "static": "hourly" },
            { "name": "d", "type": "app" },
            { "name": "e", "type": "integer", "min": 1.0, "max": "many", "default": null },
        ]);
        let expected = json!([
            { "name": "a", "type": "string", "options": ["x", { "value": 1, "label": "1" }, { "label": "L", "value": "l" }] },
            { "name": "b", "type": "any", "default": [1], "hidden": true },
            { "name": "c", "type": "$.interface.timer", "default": { "intervalSeconds": 60 } },
            { "name": "d", "type": "app", "app": "" },
            { "name": "e", "type": "integer", "min": 1.0, "default": null },
        ]);
        assert_eq!(props(&given), expected);
    }
}
