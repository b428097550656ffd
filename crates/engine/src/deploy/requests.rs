//! Triggers and steps as requests give them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Fields of a source's record, which a trigger shows.
pub(super) const SHOWN_OF_SOURCES: &[&str] = &[
    "user_id",
    "owner_id",
    "component_id",
    "deployment_id",
    "configured_props",
    "sealed_props",
    "configurable_props",
    "active",
    "inactive_reason",
    "created_at",
    "updated_at",
    "name",
    "name_slug",
    "calls_per_isolate",
    "concurrency",
    "made_from",
    "external_user_id",
    "interfaces",
];

/// A trigger in a request.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TriggerRequest {
    /// `http`, `timer` or `source`.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["http", "timer", "source"]))]
    pub kind: String,
    /// The source's id; of an endpoint or timer: the one to keep.
    pub id: Option<String>,
    /// A timer's `intervalSeconds` or `cron`, or an endpoint's `customResponse`.
    pub props: Map<String, Value>,
    /// The source's channel.
    pub event_name: Option<String>,
    /// What stands beside `props`, where records show it: it counts as if it stood there, so that
    /// what was read can be written back.
    #[serde(flatten)]
    pub beside: Map<String, Value>,
}

impl TriggerRequest {
    pub(super) fn settings(&self) -> Map<String, Value> {
        self.beside
            .iter()
            .chain(&self.props)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}

/// A step in a request.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StepRequest {
    /// Its name in `steps.<namespace>`.
    pub namespace: String,
    /// A published action.
    #[serde(alias = "key")]
    pub component_key: Option<String>,
    /// A saved action.
    pub component_id: Option<String>,
    /// Code of its own.
    pub code: Option<String>,
    /// Files that the code's relative imports reach.
    pub code_files: Option<BTreeMap<String, String>>,
    /// The code's path among them.
    pub code_entry: Option<String>,
    /// `javascript` or `typescript`; where it is not given, the code tells.
    #[schemars(extend("enum" = ["javascript", "typescript", null]))]
    pub language: Option<String>,
    /// Values by prop name; may hold `{{expressions}}`.
    pub props: Map<String, Value>,
    /// The id of the form that they were filled in with.
    #[serde(rename = "dynamic_props_id")]
    pub form: Option<String>,
    /// Step of the draft, or where it has none of that name, of the newest deployed version that
    /// has one, whose secrets are kept where `props` leaves them out: a client that read the record
    /// has none to write back.
    pub keep_secrets_of: Option<String>,
    /// Skipped when true.
    pub disabled: bool,
    /// What people say of it.
    pub note: Option<String>,
    /// What stands beside these where records show it, so that what was read can be written back.
    #[serde(flatten)]
    pub beside: Map<String, Value>,
}
