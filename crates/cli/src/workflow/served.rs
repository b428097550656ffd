//! Live version of a workflow, and its form as a folder.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::file::StepCode;
use super::own_sources::trigger_fingerprint;
use crate::client::{Client, Target, segment, value};
use crate::error::CliError;
use crate::files::tools::is_found_by_a_tool;
use crate::files::{schema, yaml};

/// The version of a workflow that is live.
pub(crate) struct Served {
    pub(crate) workflow: Value,
    pub(crate) deployment: Value,
    /// Names of data stores by id.
    stores: BTreeMap<String, String>,
}

impl Served {
    pub(crate) async fn fetch(client: &Client, target: &Target) -> Result<Self, CliError> {
        let workflow = value::take(&mut client.get(&target.path()).await?, "data");
        let Some(id) = workflow["deployment_id"].as_str() else {
            return Err(CliError::NotDeployed {
                name: workflow["name"].as_str().unwrap_or(&target.id).to_owned(),
            });
        };
        let deployment = value::take(
            &mut client.get(&format!("{}/deployments/{}", target.path(), segment(id))).await?,
            "data",
        );
        let mut stores = BTreeMap::new();
        if deployment["steps"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|s| props_of(s).values().any(|v| v.as_str().is_some_and(|t| t.starts_with("ds_"))))
        {
            for store in client.all("/data_stores").await? {
                stores.insert(
                    store["id"].as_str().unwrap_or("").to_owned(),
                    store["name"].as_str().unwrap_or("").to_owned(),
                );
            }
        }
        Ok(Self { workflow, deployment, stores })
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &Value> {
        self.deployment["steps"].as_array().into_iter().flatten()
    }

    pub(super) fn step(&self, namespace: &str) -> Option<&Value> {
        self.steps().find(|s| s["namespace"] == namespace)
    }

    /// The workflow as a folder: `workflow.yaml` and the files of its steps, by path.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut steps = Vec::new();
        for step in self.steps() {
            let namespace = step["namespace"].as_str().unwrap_or("");
            let mut shown = json!({ "namespace": namespace });
            match code_of(step) {
                Some(code) => {
                    // The same path in two steps may hold two texts: the later one goes to a place
                    // of its own.
                    let clash = code
                        .files
                        .iter()
                        .any(|(path, text)| files.get(path).is_some_and(|there| there != text));
                    let place = |path: &str| {
                        if clash {
                            format!("{}/{path}", place_of(namespace))
                        } else if code.files.len() == 1 && !path.contains('/') {
                            format!("steps/{path}")
                        } else {
                            path.to_owned()
                        }
                    };
                    shown["code_file"] = json!(place(&code.entry));
                    files.extend(code.files.iter().map(|(path, text)| (place(path), text.clone())));
                }
                None => shown["component_key"] = step["savedComponent"]["key"].clone(),
            }
            let mut props = props_of(step);
            self.name_stores(&mut props);
            if !props.is_empty() {
                shown["props"] = Value::Object(props);
            }
            if step["disabled"] == true {
                shown["disabled"] = json!(true);
            }
            if step["note"].is_string() {
                shown["note"] = step["note"].clone();
            }
            steps.push(shown);
        }
        let triggers: Vec<Value> = self.triggers().map(|t| served_trigger(t, None)).collect();
        let mut document =
            json!({ "name": self.workflow["name"], "triggers": triggers, "steps": steps });
        if self.workflow["note"].is_string() {
            document["note"] = self.workflow["note"].clone();
        }
        if self.workflow["tags"].as_array().is_some_and(|tags| !tags.is_empty()) {
            document["tags"] = self.workflow["tags"].clone();
        }
        let settings = settings_of(&self.deployment["settings"]);
        if !settings.is_empty() {
            document["settings"] = Value::Object(settings);
        }
        if self.workflow["active"] == false {
            document["active"] = json!(false);
        }
        files.insert("workflow.yaml".into(), yaml::write(&document));
        files
    }

    /// A variable of this machine that the workflow, once it is a folder, would be filled in with.
    pub(crate) fn variable(&self) -> Option<String> {
        fn within(value: &Value) -> Option<&str> {
            match value {
                Value::Object(object) if object.len() == 1 && object.contains_key("$env") => {
                    Some(object["$env"].as_str().unwrap_or(""))
                }
                Value::Object(object) => object.values().find_map(within),
                Value::Array(items) => items.iter().find_map(within),
                _ => None,
            }
        }
        let props = self
            .steps()
            .find_map(|step| props_of(step).values().find_map(within).map(str::to_owned));
        props.or_else(|| within(&self.deployment).map(str::to_owned))
    }

    /// Steps with props whose values the server keeps to itself.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let secret = |step: &Value| {
            let namespace = step["namespace"].as_str().unwrap_or("").to_owned();
            let of_type = definitions(step)
                .iter()
                .filter(|def| def["secret"] == true)
                .map(|def| def["name"].as_str().unwrap_or("").to_owned());
            let within = props_of(step).into_iter().filter(|(_, value)| holds_hidden(value));
            of_type
                .chain(within.map(|(name, _)| name))
                .map(|name| format!("{namespace}.{name}"))
                .collect::<Vec<_>>()
        };
        self.steps().flat_map(secret).collect()
    }

    pub(super) fn triggers(&self) -> impl Iterator<Item = &Value> {
        self.deployment["triggers"].as_array().into_iter().flatten()
    }

    pub(super) fn name_stores(&self, props: &mut Map<String, Value>) {
        for value in props.values_mut() {
            if let Some(name) = value.as_str().and_then(|id| self.stores.get(id)) {
                *value = json!(name);
            }
        }
    }
}

/// What the file or folder of a step is called by its name, where the workflow does not say. A tool
/// looks for none of that name: a step may be called `test`.
fn place_of(namespace: &str) -> String {
    if is_found_by_a_tool(&format!("{namespace}/{namespace}.mjs")) {
        format!("step-{namespace}-code")
    } else {
        namespace.to_owned()
    }
}

/// The code of a step that is not an action of others.
pub(super) fn code_of(step: &Value) -> Option<StepCode> {
    let component = &step["savedComponent"];
    let code = component["code"].as_str().unwrap_or("").to_owned();
    if component["published"] == true {
        return None;
    }
    let Some(files) = component["files"].as_object() else {
        // Of an address or a registry only the entry is kept, and the latter has a key.
        let entry = format!("{}.mjs", place_of(step["namespace"].as_str().unwrap_or("step")));
        return component["key"]
            .is_null()
            .then(|| StepCode { files: BTreeMap::from([(entry.clone(), code)]), entry });
    };
    let entry = files["entry"].as_str().unwrap_or("").to_owned();
    let mut all: BTreeMap<String, String> =
        serde_json::from_value(files["others"].clone()).unwrap_or_default();
    all.insert(entry.clone(), code);
    Some(StepCode { entry, files: all })
}

pub(super) fn definitions(step: &Value) -> &[Value] {
    step["savedComponent"]["configurableProps"].as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn props_of(step: &Value) -> Map<String, Value> {
    step["configured_props_json"]
        .as_str()
        .and_then(|text| millrace_model::json::from_str(text).ok())
        .unwrap_or_default()
}

/// Settings that are not as their defaults say.
pub(super) fn settings_of(settings: &Value) -> Map<String, Value> {
    let defaults = schema::setting_defaults();
    let full_retry = json!(millrace_model::limits::Retry::default());
    let mut kept = Map::new();
    // In the order of the schema.
    for (name, default) in &defaults {
        match &settings[name] {
            Value::Null => {}
            value if value == default => {}
            value if name == "auto_retry" && *value == full_retry => {
                kept.insert(name.clone(), json!(true));
            }
            value => {
                kept.insert(name.clone(), value.clone());
            }
        }
    }
    kept
}

/// A trigger as a file has it; `local`: the file's own, for what the server does not tell in the
/// same words.
pub(super) fn served_trigger(trigger: &Value, local: Option<&Value>) -> Value {
    match trigger["type"].as_str() {
        Some("http") => {
            let says_it =
                local.is_some_and(|l| l["type"] == "http" && l["props"]["customResponse"] == true);
            http_trigger(says_it && trigger["custom_response"] == true, &trigger["auth"])
        }
        Some("timer") if trigger["cron"].is_string() => {
            let mut props = json!({ "cron": trigger["cron"] });
            if trigger["timezone"] != "UTC" {
                props["timezone"] = trigger["timezone"].clone();
            }
            json!({ "type": "timer", "props": props })
        }
        Some("timer") => {
            json!({ "type": "timer", "props": { "intervalSeconds": trigger["interval_seconds"] } })
        }
        _ => {
            let made_as = trigger["made_from"]["fingerprints"]["source"].as_str();
            if let Some(local) = local.filter(|l| {
                l["key"].is_string() && made_as == Some(trigger_fingerprint(l).as_str())
            }) {
                return local.clone();
            }
            let names = [&trigger["id"], &trigger["name"], &trigger["name_slug"]];
            if let Some(local) = local.filter(|l| {
                [&l["source"], &l["id"]]
                    .iter()
                    .any(|given| given.is_string() && names.contains(given))
            }) {
                let mut shown = local.clone();
                shown["event_name"] = trigger["event_name"].clone();
                return without_empty_channel(shown);
            }
            let name = if trigger["name_slug"].is_string() {
                &trigger["name_slug"]
            } else {
                &trigger["id"]
            };
            without_empty_channel(
                json!({ "type": "source", "source": name, "event_name": trigger["event_name"] }),
            )
        }
    }
}

/// An endpoint; of who may call it without the secret, which the server shows to nobody.
pub(super) fn http_trigger(custom_response: bool, auth: &Value) -> Value {
    let mut props = Map::new();
    if custom_response {
        props.insert("customResponse".into(), json!(true));
    }
    if let Some(kind) = auth["type"].as_str().filter(|kind| *kind != "none") {
        let mut shown = json!({ "type": kind });
        if let Some(header) = auth["header"].as_str() {
            shown["header"] = json!(header.to_ascii_lowercase());
        }
        props.insert("auth".into(), shown);
    }
    if props.is_empty() {
        json!({ "type": "http" })
    } else {
        json!({ "type": "http", "props": props })
    }
}

pub(super) fn without_empty_channel(mut trigger: Value) -> Value {
    if let Some(fields) = trigger
        .as_object_mut()
        .filter(|t| t.get("event_name").is_none_or(|name| name == "" || name.is_null()))
    {
        fields.shift_remove("event_name");
    }
    trigger
}

/// What a record shows in the place of a value that the server keeps to itself.
pub(super) fn is_hidden(value: &Value) -> bool {
    *value == json!({ "$secret": true })
}

fn holds_hidden(value: &Value) -> bool {
    match value {
        _ if is_hidden(value) => true,
        Value::Object(fields) => fields.values().any(holds_hidden),
        Value::Array(items) => items.iter().any(holds_hidden),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_a_step_that_is_called_like_a_test_gets_another_name() {
        for (namespace, entry) in [
            ("fetch", "fetch.mjs"),
            ("test", "step-test-code.mjs"),
            ("send_test", "step-send_test-code.mjs"),
            ("gulpfile", "step-gulpfile-code.mjs"),
        ] {
            let step = json!({ "namespace": namespace, "savedComponent": { "code": "1" } });
            assert_eq!(code_of(&step).expect("code").entry, entry);
            assert!(!is_found_by_a_tool(&format!("steps/{entry}")), "{entry}");
        }
    }

    #[test]
    fn settings_tell_only_what_is_not_usual() {
        let served = json!({ "timeout_ms": null, "memory_mb": 512, "error_notification": true, "auto_retry": { "max": 8, "first_ms": 141_000 } });
        assert_eq!(json!(settings_of(&served)), json!({ "memory_mb": 512, "auto_retry": true }));
    }
}
