//! The shapes of answers as JSON Schema; `wire` makes what they describe. The tests hold every answer against them.

use serde_json::{Map, Value, json};

/// Fields of a record: name and type. A name that ends with `?` may be absent; `|null` says that the value may be null.
/// Types: `string`, `integer`, `number`, `boolean`, `object`, `any`, `#Name` for a schema of this file, `[type]` for a list.
type Fields = &'static [(&'static str, &'static str)];

const RECORDS: &[(&str, &str, Fields)] = &[
    ("Organization", "An organization, also called workspace", &[("id", "string"), ("name", "string"), ("orgname", "string"), ("email", "string")]),
    (
        "NewOrganization",
        "A new organization with its key",
        &[("id", "string"), ("name", "string"), ("orgname", "string"), ("email", "string"), ("api_key", "string")],
    ),
    ("User", "A user", &[("id", "string"), ("username", "string"), ("email", "string"), ("orgs", "[#Organization]")]),
    ("ApiKey", "A key's record", KEY),
    (
        "App",
        "An app",
        &[
            ("id", "string"),
            ("name_slug", "string"),
            ("name", "string"),
            ("auth_type", "string"),
            ("description", "string|null"),
            ("img_src", "string|null"),
            ("custom_fields_json", "string"),
            ("categories", "[string]"),
            ("oauth", "object|null"),
            ("created_at", "integer"),
            ("updated_at", "integer"),
        ],
    ),
    ("AccountApp", "The app of an account", &[("id", "string"), ("name_slug", "string"), ("name", "string")]),
    (
        "Account",
        "A connected account",
        &[
            ("id", "string"),
            ("name", "string"),
            ("app", "#AccountApp"),
            ("healthy", "boolean"),
            ("problem", "string|null"),
            ("expires_at?", "integer"),
            ("credentials?", "object"),
            ("created_at", "integer"),
            ("updated_at", "integer"),
        ],
    ),
    ("ConnectLink", "Where an account is connected", &[("connect_url", "string"), ("expires_at", "integer")]),
    (
        "Component",
        "A saved component",
        &[
            ("id", "string"),
            ("code", "string"),
            ("code_hash", "string"),
            ("name", "string|null"),
            ("key", "string|null"),
            ("version", "string|null"),
            ("description", "string|null"),
            ("type", "string"),
            ("files", "object|null"),
            ("configurable_props", "[object]"),
            ("apps", "[any]"),
            ("component_url", "string|null"),
            ("published", "boolean"),
            ("created_at", "integer"),
            ("updated_at", "integer"),
        ],
    ),
    (
        "RegistryComponent",
        "A component that a key names: a saved one, or one of a registry, which has an id from its first deploy on",
        &[
            ("id", "string|null"),
            ("code", "string"),
            ("code_hash", "string"),
            ("name", "string|null"),
            ("key", "string|null"),
            ("version", "string|null"),
            ("description", "string|null"),
            ("type", "string"),
            ("files?", "object|null"),
            ("configurable_props", "[object]"),
            ("apps", "[any]"),
            ("app?", "string"),
            ("path?", "string"),
            ("versions?", "[string]"),
            ("component_url?", "string|null"),
            ("published", "boolean"),
            ("created_at?", "integer"),
            ("updated_at?", "integer"),
        ],
    ),
    (
        "FoundComponent",
        "A component of a registry that fits",
        &[("key", "string"), ("name", "string"), ("description", "string"), ("version", "string"), ("type", "string"), ("app", "string")],
    ),
    (
        "Found",
        "What fits, best first: keys by type, and all components",
        &[("sources", "[string]"), ("actions", "[string]"), ("components", "[#FoundComponent]")],
    ),
    ("Registry", "A registry: a tree of components", REGISTRY),
    ("AppEvent", "An event of an app that was handed over", &[("sources", "[string]")]),
    ("MasterKey", "The master key of now", &[("master_key_id", "string")]),
    ("Unindexed", "A file of a registry that is no component, and why", &[("path", "string"), ("reason", "string")]),
    ("DeletedRegistry", "A registry that was deleted", &[("name", "string"), ("deleted", "boolean")]),
    ("Unpublished", "A key that was taken away", &[("key", "string"), ("published", "boolean")]),
    ("Options", "Options of a prop, or why there are none", &[("options", "[any]"), ("context", "any"), ("errors", "[string]")]),
    ("DynamicProps", "Props that depend on others, or why there are none", &[("dynamic_props", "object|null"), ("errors", "[string]")]),
    (
        "Source",
        "A source: a deployed component",
        &[
            ("id", "string"),
            ("user_id", "string"),
            ("owner_id", "string"),
            ("component_id", "string"),
            ("configured_props", "object"),
            ("active", "boolean"),
            ("inactive_reason", "string|null"),
            ("made_from", "object|null"),
            ("name", "string"),
            ("name_slug", "string"),
            ("created_at", "integer"),
            ("updated_at", "integer"),
        ],
    ),
    (
        "EventMetadata",
        "What is known of an event",
        &[
            ("emitter_id", "string"),
            ("emit_id", "string"),
            ("name", "string"),
            ("id?", "any"),
            ("summary?", "any"),
            ("ts?", "any"),
            ("delivery_ts?", "integer"),
            ("channel?", "string"),
        ],
    ),
    ("EventSummary", "An event", &[("id", "string"), ("indexed_at_ms", "integer"), ("event", "any"), ("metadata", "#EventMetadata")]),
    ("LogLine", "A line of a log", &[("ts", "integer"), ("level", "string"), ("text", "string"), ("run_id?", "string")]),
    ("Subscription", "A subscription", &[("id", "string"), ("emitter_id", "string"), ("listener_id", "string"), ("event_name", "string")]),
    ("Unsubscribed", "A subscription that was ended", &[("emitter_id", "string"), ("listener_id", "string"), ("event_name", "string"), ("deleted", "boolean")]),
    ("AutoSubscription", "An auto-subscription", &[("id", "string"), ("listener_id", "string"), ("event_name", "string"), ("created_at", "integer")]),
    ("Webhook", "A webhook", WEBHOOK),
    (
        "WebhookDelivery",
        "An event on its way to a webhook",
        &[
            ("id", "string"),
            ("webhook_id", "string"),
            ("status", "string"),
            ("attempts", "integer"),
            ("last_status", "integer|null"),
            ("last_error", "string|null"),
            ("next_attempt_at_ms", "integer|null"),
            ("body", "#EventSummary"),
            ("created_at", "integer"),
        ],
    ),
    ("Queued", "What is to be sent again", &[("queued", "integer")]),
    (
        "Workflow",
        "A workflow",
        &[
            ("id", "string"),
            ("org_id", "string"),
            ("project_id", "string"),
            ("name", "string"),
            ("name_slug", "string"),
            ("active", "boolean"),
            ("deployment_id", "string|null"),
            ("triggers", "[object]"),
            ("steps", "[object]"),
            ("settings", "object"),
            ("made_from", "object|null"),
            ("created_at", "integer"),
            ("updated_at", "integer"),
        ],
    ),
    (
        "Deployment",
        "A deployment: an immutable version of a workflow",
        &[
            ("id", "string"),
            ("workflow_id", "string"),
            ("version", "integer"),
            ("triggers?", "[object]"),
            ("steps", "[object]"),
            ("settings?", "object"),
            ("created_at", "integer"),
        ],
    ),
    (
        "Run",
        "A run of a workflow or source",
        &[
            ("id", "string"),
            ("workflow_id", "string|null"),
            ("source_id", "string|null"),
            ("deployment_id", "string|null"),
            ("status", "string"),
            ("kind", "string"),
            ("attempt", "integer"),
            ("trigger_id", "string"),
            ("event", "any"),
            ("context", "any"),
            ("steps", "[object]"),
            ("return_value", "any"),
            ("exit_reason", "string|null"),
            ("paused", "object|null"),
            ("duration_ms", "integer|null"),
            ("error", "object|null"),
            ("created_at", "integer"),
            ("created_at_ms", "integer"),
            ("started_at_ms", "integer|null"),
            ("finished_at_ms", "integer|null"),
            ("logs?", "[#LogLine]"),
            ("deliveries?", "[#Delivery]"),
        ],
    ),
    ("Domain", "A domain that stands for an endpoint", &[("id", "string"), ("endpoint_id", "string"), ("url", "string"), ("created_at", "integer")]),
    (
        "ErrorGroup",
        "Errors of one class, step and place in the code",
        &[
            ("id", "string"),
            ("workflow_id", "string|null"),
            ("source_id", "string|null"),
            ("code", "string"),
            ("step", "string"),
            ("frame", "string"),
            ("message", "string"),
            ("last_run_id", "string"),
            ("first_seen_ms", "integer"),
            ("last_seen_ms", "integer"),
            ("count", "integer"),
        ],
    ),
    ("Replay", "A replay of many runs", REPLAY),
    (
        "ReplayRunCounts",
        "What became of the runs that a replay made",
        &[("unfinished", "integer"), ("succeeded", "integer"), ("failed", "integer"), ("cancelled", "integer")],
    ),
    ("ReplayedRun", "A run that a replay made", &[("original_id", "string"), ("run_id", "string"), ("status", "string|null")]),
    (
        "Delivery",
        "What a run sent with `$.send`",
        &[
            ("id", "string"),
            ("kind", "string"),
            ("target", "string"),
            ("status", "string"),
            ("attempts", "integer"),
            ("response_status", "integer|null"),
            ("last_error", "string|null"),
            ("created_at_ms", "integer"),
            ("finished_at_ms", "integer|null"),
        ],
    ),
    (
        "DataStore",
        "A data store",
        &[("id", "string"), ("name", "string"), ("keys", "integer"), ("bytes", "integer"), ("created_at", "integer"), ("updated_at", "integer")],
    ),
    ("DataStoreKey", "A key of a data store", &[("key", "string")]),
    ("DataStoreRecord", "A key of a data store with its value", &[("key", "string"), ("value", "any"), ("expires_at_ms?", "integer|null")]),
    ("DeletedKey", "A key that was removed", &[("key", "string"), ("deleted", "boolean")]),
    (
        "Mail",
        "A mail of the outbox",
        &[
            ("id", "string"),
            ("recipient", "string"),
            ("subject", "string"),
            ("text", "string"),
            ("html", "string|null"),
            ("status", "string"),
            ("attempts", "integer"),
            ("last_error", "string|null"),
            ("created_at", "integer"),
        ],
    ),
    ("ActionRun", "What an action did: `os` are its log lines and what it threw", &[("exports", "object"), ("os", "[object]"), ("ret", "any")]),
    ("Emitted", "An event of a deployed trigger", &[("e", "any"), ("k", "string"), ("ts", "integer"), ("id", "string")]),
    ("OauthClient", "An OAuth client; its id is the `client_id` of requests", OAUTH_CLIENT),
    ("OauthToken", "A token, shown this once", &[("access_token", "string"), ("token_type", "string"), ("expires_in", "integer"), ("created_at", "integer")]),
    ("Nothing", "An empty answer", &[]),
    (
        "Retention",
        "How much history of a workflow or source is kept: what was set for it, and what holds where nothing was",
        &[("id", "string"), ("keep_days", "integer|null"), ("keep_count", "integer|null"), ("kept_days", "integer|null"), ("kept_count", "integer|null")],
    ),
    (
        "ExportLine",
        "A line of an export: `type` is `run`, `log`, `event`, and `end` for the last line, which counts the others",
        &[("type", "string"), ("data", "object")],
    ),
    (
        "AuditRecord",
        "Who changed what: the names of the fields that were given, never their values",
        &[
            ("id", "string"),
            ("user_id", "string"),
            ("key_id", "string"),
            ("action", "string"),
            ("target", "string|null"),
            ("fields", "[string]"),
            ("request_id", "string"),
            ("created_at", "integer"),
            ("created_at_ms", "integer"),
        ],
    ),
    ("Deleted", "What was deleted", &[("id", "string"), ("deleted", "boolean")]),
    ("Removed", "How many were deleted", &[("deleted", "integer")]),
    (
        "PageInfo",
        "Where a page stands in its list",
        &[("total_count", "integer"), ("count", "integer"), ("start_cursor", "string|null"), ("end_cursor", "string|null")],
    ),
    ("Error", "A refusal", &[("error", "string"), ("code", "string"), ("details", "object")]),
];

const KEY: Fields = &[
    ("id", "string"),
    ("name", "string"),
    ("user_id", "string"),
    ("scopes", "[string]"),
    ("rate_per_minute", "integer|null"),
    ("expires_at", "integer|null"),
    ("old_key_until", "integer|null"),
    ("created_at", "integer"),
];

const OAUTH_CLIENT: Fields = &[("id", "string"), ("name", "string"), ("user_id", "string"), ("scopes", "[string]"), ("created_at", "integer")];

const REGISTRY: Fields = &[
    ("id", "string"),
    ("name", "string"),
    ("origin", "string"),
    ("revision", "string"),
    ("file_count", "integer"),
    ("component_count", "integer"),
    ("created_at", "integer"),
    ("updated_at", "integer"),
];

const REPLAY: Fields = &[
    ("id", "string"),
    ("workflow_id", "string|null"),
    ("source_id", "string|null"),
    ("status", "string"),
    ("selection", "object"),
    ("total", "integer|null"),
    ("replayed", "integer"),
    ("skipped", "integer"),
    ("note", "string|null"),
    ("created_at", "integer"),
    ("updated_at", "integer"),
];

const WEBHOOK: Fields = &[
    ("id", "string"),
    ("user_id", "string"),
    ("name", "string|null"),
    ("description", "string|null"),
    ("url", "string"),
    ("active", "boolean"),
    ("failures", "integer"),
    ("paused_until", "integer|null"),
    ("created_at", "integer"),
    ("updated_at", "integer"),
];

/// All schemas by name.
pub(crate) fn all() -> Map<String, Value> {
    let with = |fields: Fields, name: &'static str| fields.iter().copied().chain([(name, "string")]).collect::<Vec<_>>();
    let deployed: Vec<_> = all_of("Source").iter().copied().chain([("webhook_signing_key?", "string")]).collect();
    let deployed = [("DeployedTrigger".to_owned(), record("A deployed trigger; what signs its deliveries is shown this once", &deployed))];
    let shown_once = [
        ("NewApiKey", "A new key, shown this once", with(KEY, "key")),
        ("NewWebhook", "A new webhook with its secret", with(WEBHOOK, "secret")),
        ("NewOauthClient", "A new OAuth client with its secret, shown this once", with(OAUTH_CLIENT, "client_secret")),
    ];
    let replayed: Vec<_> = REPLAY.iter().copied().chain([("runs", "#ReplayRunCounts")]).collect();
    let replayed = [("ReplayWithRuns".to_owned(), record("A replay of many runs, with what became of them", &replayed))];
    let uploaded: Vec<_> = REGISTRY.iter().copied().chain([("unindexed_count", "integer"), ("unindexed", "[#Unindexed]")]).collect();
    let uploaded = [("NewRegistry".to_owned(), record("A registry with what of its tree is no component, the first hundred named", &uploaded))];
    let records = RECORDS.iter().map(|(name, about, fields)| ((*name).to_owned(), record(about, fields)));
    records
        .chain(uploaded)
        .chain(deployed)
        .chain(replayed)
        .chain(shown_once.iter().map(|(name, about, fields)| ((*name).to_owned(), record(about, fields))))
        .collect()
}

/// The fields of a record of the list.
fn all_of(name: &str) -> Fields {
    RECORDS.iter().find(|(record, _, _)| *record == name).map_or(&[], |(_, _, fields)| fields)
}

fn record(about: &str, fields: &[(&str, &str)]) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|(name, kind)| (name.trim_end_matches('?').to_owned(), schema(kind))).collect();
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).filter(|name| !name.ends_with('?')).collect();
    json!({ "type": "object", "description": about, "properties": properties, "required": required, "additionalProperties": false })
}

fn schema(kind: &str) -> Value {
    if let Some(item) = kind.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return json!({ "type": "array", "items": schema(item) });
    }
    if let Some(name) = kind.strip_prefix('#') {
        return reference(name);
    }
    match kind.split_once('|') {
        Some((kind, or)) => json!({ "type": [kind, or] }),
        None if kind == "any" => json!({}),
        None => json!({ "type": kind }),
    }
}

pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}
