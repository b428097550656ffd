//! Records of `/connect/{project}` in the shape that the hosted platform's client library demands:
//! its deserializers reject a whole answer for one field of another type, and then hand it on
//! unread.

use millrace_engine::{AccountView, SourceView, shown_address};
use millrace_model::account::{App, AuthType};
use millrace_model::clock::Timestamp;
use millrace_model::component::{ComponentType, SavedComponent};
use millrace_model::event::Event;
use millrace_model::ids::{AccountId, AppId, WebhookId};
use millrace_model::json::shown;
use millrace_model::webhook::Webhook;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::ApiConfig;
use crate::contract::schemas::props::PropOut;
use crate::contract::shape::record;
use crate::v1::apps::AppOauthOut;
use crate::v1::source_records::SourceRecordOut;

record! {
    /// An app as the hosted platform's clients read it
    ConnectAppOut<'a>(a: &'a App) with {
        let d = &a.definition;
    } {
        id: &'a AppId = &a.id,
        name_slug: &'a str = &a.name_slug,
        name: &'a str = &d.name,
        auth_type: AuthType = d.auth_type,
        description: Option<&'a str> = d.description.as_deref(),
        img_src: &'a str = d.img_src.as_deref().unwrap_or(""),
        custom_fields_json: String = json!(d.custom_fields).to_string(),
        categories: &'a [String] = &d.categories,
        oauth: Option<AppOauthOut<'a>> = d.oauth.as_ref().map(AppOauthOut::new),
        // Nothing ranks apps here, and no app has named sets of scopes.
        #[schemars(with = "f64")]
        featured_weight: u32 = 0,
        scope_profiles: Vec<Map<String, Value>> = Vec::new(),
        created_at: i64 = a.created_at.secs(),
        updated_at: i64 = a.updated_at.secs(),
    }
}

record! {
    /// A connected account as the hosted platform's clients read it; times are ISO 8601
    ConnectAccountOut<'a>(view: &'a AccountView) with {
        let a = &view.account;
        let oauth = view.app.definition.oauth.iter();
        let is_oauth = view.app.definition.auth_type == AuthType::Oauth;
    } {
        id: &'a AccountId = &a.id,
        name: &'a str = &a.name,
        external_id: Option<&'a str> = a.external_user_id.as_deref(),
        healthy: bool = a.healthy,
        dead: bool = false,
        app: ConnectAppOut<'a> = ConnectAppOut::new(&view.app),
        authorized_scopes: Vec<&'a String> =
            oauth.filter(|_| is_oauth).flat_map(|client| &client.scopes).collect(),
        error: Option<&'a str> = a.problem.as_deref(),
        expires_at: Option<String> = a.expires_at.map(Timestamp::iso),
        #[serde(skip_serializing_if = "Option::is_none")]
        credentials: Option<&'a Map<String, Value>> = view.credentials.as_ref(),
        created_at: String = a.created_at.iso(),
        updated_at: String = a.updated_at.iso(),
    }
}

/// What a component says of its effects
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape of what components say as JSON")]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnnotationsOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destructive_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotent_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_world_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only_hint: Option<bool>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

record! {
    /// A component that a key names
    ConnectComponentOut<'a>(c: &'a Value) with {
        let text = |name: &str| c[name].as_str().unwrap_or("");
    } {
        key: &'a str = text("key"),
        name: &'a str = text("name"),
        version: &'a str = text("version"),
        description: Option<&'a str> = c["description"].as_str(),
        #[schemars(with = "ComponentType")]
        component_type: &'a str = text("type"),
        #[schemars(with = "Vec<PropOut>")]
        configurable_props: Value = props(&c["configurable_props"]),
        #[schemars(with = "Option<AnnotationsOut>")]
        annotations: Option<Map<String, Value>> = annotations(&c["annotations"]),
        stash: () = (),
    }
}

record! {
    /// A deployed trigger; what signs its deliveries is shown this once
    DeployedTriggerOut<'a>(
        view: &'a SourceView,
        component: &'a SavedComponent,
        config: &'a ApiConfig,
        key: Option<&'a str>,
    ) {
        #[serde(flatten)]
        record: SourceRecordOut<'a> = SourceRecordOut::new(view),
        // Such clients tell what emits by it.
        r#type: &'static str = "DeployedComponent",
        component_key: Option<&'a str> = component.manifest.key.as_deref(),
        #[schemars(with = "Vec<PropOut>")]
        configurable_props: Value = props(&json!(component.manifest.props)),
        #[serde(skip_serializing_if = "Option::is_none")]
        endpoint_url: Option<String> =
            view.interfaces.http.first().map(|http| config.endpoint_url(&http.key)),
        #[serde(skip_serializing_if = "Option::is_none")]
        webhook_signing_key: Option<&'a str> = key,
    }
}

record! {
    /// The workflows that run on a deployed trigger
    TriggerWorkflowsOut(ids: Vec<String>) {
        workflow_ids: Vec<String> = ids,
    }
}

record! {
    /// A webhook of a deployed trigger
    TriggerWebhookOut(webhook: &Webhook, key: Option<&String>) {
        id: WebhookId = webhook.id.clone(),
        url: String = shown_address(&webhook.url),
        signing_key_set: bool = true,
        #[serde(skip_serializing_if = "Option::is_none")]
        signing_key: Option<String> = key.cloned(),
    }
}

record! {
    /// The webhooks of a deployed trigger
    TriggerWebhooksOut(webhooks: Vec<TriggerWebhookOut>) {
        webhook_urls: Vec<String> = webhooks.iter().map(|w| w.url.clone()).collect(),
        webhooks: Vec<TriggerWebhookOut> = webhooks,
    }
}

record! {
    /// An event of a deployed trigger
    EmittedOut(event: &Event) {
        e: Value = shown(&event.payload),
        k: &'static str = "emit",
        ts: i64 = event.id.ms,
        id: String = event.id.to_string(),
    }
}

/// What a component says of its effects, as its author wrote it, but for hints of another type
/// than they have: a client may rely on that.
pub(crate) fn hints(given: &Value) -> Option<Map<String, Value>> {
    let mut shown = given.as_object()?.clone();
    shown.retain(|name, value| match name.as_str() {
        "title" => value.is_string(),
        name if HINTS.contains(&name) => value.is_boolean(),
        _ => true,
    });
    Some(shown)
}

const HINTS: [&str; 4] = ["destructiveHint", "idempotentHint", "openWorldHint", "readOnlyHint"];

/// The same without what such clients do not know.
fn annotations(given: &Value) -> Option<Map<String, Value>> {
    let mut shown = hints(given)?;
    shown.retain(|name, _| name == "title" || HINTS.contains(&name.as_str()));
    Some(shown)
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
