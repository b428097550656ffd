//! Differences between a workflow's folder and its live version.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use millrace_model::schedule::zone_name;
use serde_json::{Map, Value, json};
use similar::TextDiff;

use super::file::{StepCode, WorkflowFile, fill_in};
use super::served::{
    Served, code_of, definitions, http_trigger, is_hidden, props_of, served_trigger, settings_of,
    without_empty_channel,
};
use crate::files::yaml;

/// A file that is not the same.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) file: String,
    /// What is live.
    pub(crate) before: String,
    /// What the folder has.
    pub(crate) after: String,
}

impl Difference {
    /// Lines with `-` and `+`, and some around them.
    pub(crate) fn unified(&self) -> String {
        let diff = TextDiff::from_lines(&self.before, &self.after);
        diff.unified_diff()
            .context_radius(3)
            .header(&format!("deployed/{}", self.file), &format!("folder/{}", self.file))
            .to_string()
    }
}

/// What the folder says otherwise than what is live, file by file.
pub(crate) fn differences(file: &WorkflowFile, served: &Served) -> Vec<Difference> {
    let mut found = Vec::new();
    let (before, after) = (served_document(file, served), local_document(file, served));
    if before != after {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.push(Difference {
            file: name,
            before: yaml::write(&before),
            after: yaml::write(&after),
        });
    }
    for step in file.list("steps") {
        let namespace = step["namespace"].as_str().unwrap_or("");
        if let Some(local) = file.code.get(namespace) {
            let code = served.step(namespace).and_then(code_of);
            compare_code(local, code.as_ref(), &mut found);
        }
    }
    for step in served.steps() {
        let namespace = step["namespace"].as_str().unwrap_or("");
        if let (Some(code), false) = (code_of(step), file.code.contains_key(namespace)) {
            found.extend(code.files.into_iter().map(|(path, before)| Difference {
                file: path,
                before,
                after: String::new(),
            }));
        }
    }
    // Steps may share a file.
    let mut names = Vec::new();
    found.retain(|difference: &Difference| {
        let is_new = !names.contains(&difference.file);
        names.push(difference.file.clone());
        is_new
    });
    found
}

/// Files are matched by where they are from the entry: the root that they have in common may be
/// another.
fn compare_code(local: &StepCode, served: Option<&StepCode>, found: &mut Vec<Difference>) {
    let from_entry = |code: &StepCode| -> BTreeMap<PathBuf, String> {
        code.files.iter().map(|(path, text)| (relative(&code.entry, path), text.clone())).collect()
    };
    let (now, before) = (from_entry(local), served.map(from_entry).unwrap_or_default());
    // The entries are each other's, whatever they are called.
    let entry = |code: &StepCode| code.files.get(&code.entry).cloned().unwrap_or_default();
    let name = Path::new(&local.entry).file_name().map(PathBuf::from).unwrap_or_default();
    let served_name = served.and_then(|code| Path::new(&code.entry).file_name().map(PathBuf::from));
    let mut add = |path: &Path, before: String, after: String| {
        if before != after {
            let folder = Path::new(&local.entry).parent().unwrap_or(Path::new(""));
            found.push(Difference { file: normalized(&folder.join(path)), before, after });
        }
    };
    add(&name, served.map(entry).unwrap_or_default(), entry(local));
    let others = now
        .keys()
        .chain(before.keys())
        .filter(|path| **path != name && Some(*path) != served_name.as_ref());
    let others: std::collections::BTreeSet<&PathBuf> = others.collect();
    for path in others {
        add(
            path,
            before.get(path).cloned().unwrap_or_default(),
            now.get(path).cloned().unwrap_or_default(),
        );
    }
}

/// A path as it is from the folder of another.
fn relative(entry: &str, path: &str) -> PathBuf {
    let folder: Vec<&str> = entry.split('/').collect();
    let folder = &folder[..folder.len() - 1];
    let parts: Vec<&str> = path.split('/').collect();
    let common = folder.iter().zip(&parts).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", folder.len() - common);
    up.chain(parts[common..].iter().copied()).collect()
}

fn normalized(path: &Path) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir if parts.last().is_some_and(|last| last != "..") => {
                parts.pop();
            }
            Component::CurDir => {}
            other => parts.push(other.as_os_str().to_string_lossy().into_owned()),
        }
    }
    parts.join("/")
}

fn local_trigger(trigger: &Value) -> Value {
    if trigger["type"] == "http" {
        return http_trigger(trigger["props"]["customResponse"] == true, &trigger["props"]["auth"]);
    }
    let mut shown = without_empty_channel(trigger.clone());
    let zone = trigger["props"]["timezone"].as_str().and_then(zone_name);
    let props = shown.get_mut("props").and_then(Value::as_object_mut);
    if let (Some(zone), Some(props)) = (zone, props) {
        if zone == "UTC" {
            props.shift_remove("timezone");
        } else {
            props.insert("timezone".into(), zone.into());
        }
    }
    shown
}

/// `workflow.yaml` as it is compared: in one order, without what goes without saying, code by its
/// name only.
fn document(
    name: &Value,
    triggers: Vec<Value>,
    steps: Vec<Value>,
    settings: Map<String, Value>,
    beside: Map<String, Value>,
) -> Value {
    let mut document = json!({ "name": name, "triggers": triggers, "steps": steps });
    if !settings.is_empty() {
        document["settings"] = Value::Object(settings);
    }
    if let Some(document) = document.as_object_mut() {
        document.extend(beside);
    }
    yaml::by_value(&mut document);
    document
}

/// What is left alone on the server where the file does not name it, as the folder or the server
/// has it.
fn beside(file: &WorkflowFile, of: &Value) -> Map<String, Value> {
    let named =
        ["note", "tags", "active"].into_iter().filter(|field| file.value.contains_key(*field));
    named
        .map(|field| {
            (
                field.to_owned(),
                if field == "note" {
                    json!(of["note"].as_str().unwrap_or("").trim())
                } else {
                    of[field].clone()
                },
            )
        })
        .collect()
}

/// `of`: the step as the folder or the server has it.
fn compared_step(of: &Value, namespace: &str, code: Value, props: Map<String, Value>) -> Value {
    let mut step = json!({ "namespace": namespace });
    step["code"] = code;
    if !props.is_empty() {
        let sorted: BTreeMap<String, Value> = props.into_iter().collect();
        step["props"] = json!(sorted);
    }
    if of["disabled"] == true {
        step["disabled"] = json!(true);
    }
    if let Some(note) = of["note"].as_str().map(str::trim).filter(|note| !note.is_empty()) {
        step["note"] = json!(note);
    }
    step
}

/// Hides what the server keeps to itself: it may be the same.
fn hide(value: &mut Value, there: &Value) {
    if is_hidden(there) {
        value.clone_from(there);
        return;
    }
    match (value, there) {
        (Value::Object(fields), Value::Object(there)) => {
            for (name, value) in fields {
                there.get(name).into_iter().for_each(|there| hide(value, there));
            }
        }
        (Value::Array(items), Value::Array(there)) => {
            items.iter_mut().zip(there).for_each(|(value, there)| hide(value, there));
        }
        _ => {}
    }
}

fn local_document(file: &WorkflowFile, served: &Served) -> Value {
    let steps = file.list("steps").iter().map(|step| {
        let namespace = step["namespace"].as_str().unwrap_or("");
        let mut props = step["props"].as_object().cloned().unwrap_or_default();
        if let Some(there) = served.step(namespace) {
            props.retain(|name, value| {
                !value.is_null()
                    && !definitions(there)
                        .iter()
                        .any(|d| d["name"] == name.as_str() && d["secret"] == true)
            });
        }
        for value in props.values_mut() {
            let mut filled = value.clone();
            // What the environment lacks is shown as it stands.
            if fill_in(&mut filled, &file.path).is_ok() {
                *value = filled;
            }
        }
        let there = served.step(namespace).map(props_of).unwrap_or_default();
        for (name, value) in &mut props {
            there.get(name).into_iter().for_each(|there| hide(value, there));
        }
        let code = match step["component_key"].as_str().or(step["component_id"].as_str()) {
            Some(key) => json!(key.split('@').next()),
            None => json!("its own"),
        };
        compared_step(step, namespace, code, props)
    });
    let triggers = file.list("triggers").iter().map(local_trigger).collect();
    document(
        &json!(file.name),
        triggers,
        steps.collect(),
        settings_of(&Value::Object(file.settings())),
        beside(file, &Value::Object(file.value.clone())),
    )
}

fn served_document(file: &WorkflowFile, served: &Served) -> Value {
    let steps = served.steps().map(|step| {
        let namespace = step["namespace"].as_str().unwrap_or("");
        let local = file.list("steps").iter().find(|s| s["namespace"] == namespace);
        let mut props = props_of(step);
        served.name_stores(&mut props);
        let is_default = |name: &str, value: &Value| {
            definitions(step).iter().any(|d| d["name"] == name && d["default"] == *value)
        };
        props.retain(|name, value| {
            local.is_some_and(|l| l["props"].get(name).is_some()) || !is_default(name, value)
        });
        let component = &step["savedComponent"];
        let named_by_id = local
            .is_some_and(|l| l["component_id"].is_string() && l["component_id"] == component["id"]);
        let code = match code_of(step) {
            _ if named_by_id => component["id"].clone(),
            // An action that was published anew since is still the one of its key.
            Some(_)
                if local.is_some_and(|l| {
                    l["component_key"]
                        .as_str()
                        .and_then(|k| k.split('@').next())
                        .is_some_and(|k| component["key"] == k)
                }) =>
            {
                component["key"].clone()
            }
            Some(_) => json!("its own"),
            None => component["key"].clone(),
        };
        compared_step(step, namespace, code, props)
    });
    let locals = file.list("triggers");
    let triggers = served
        .triggers()
        .enumerate()
        .map(|(index, trigger)| served_trigger(trigger, locals.get(index)))
        .collect();
    document(
        &served.workflow["name"],
        triggers,
        steps.collect(),
        settings_of(&served.deployment["settings"]),
        beside(file, &served.workflow),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_the_entry() {
        assert_eq!(relative("steps/a.mjs", "lib/b.mjs"), Path::new("../lib/b.mjs"));
        assert_eq!(relative("a.mjs", "lib/b.mjs"), Path::new("lib/b.mjs"));
        assert_eq!(relative("w/x/steps/a.mjs", "shared/c.mjs"), Path::new("../../../shared/c.mjs"));
        assert_eq!(normalized(Path::new("steps/../lib/b.mjs")), "lib/b.mjs");
        assert_eq!(normalized(Path::new("../../b.mjs")), "../../b.mjs");
    }

    #[test]
    fn code_is_compared_whatever_its_root_is() {
        let code = |entry: &str, other: &str, text: &str| StepCode {
            entry: entry.into(),
            files: BTreeMap::from([(entry.into(), "same".into()), (other.into(), text.into())]),
        };
        let mut found = Vec::new();
        compare_code(
            &code("steps/a.mjs", "lib/b.mjs", "1"),
            Some(&code("w/steps/a.mjs", "w/lib/b.mjs", "1")),
            &mut found,
        );
        assert_eq!(found, []);
        compare_code(
            &code("steps/a.mjs", "lib/b.mjs", "2"),
            Some(&code("w/steps/a.mjs", "w/lib/b.mjs", "1")),
            &mut found,
        );
        assert_eq!(
            found,
            [Difference { file: "lib/b.mjs".into(), before: "1".into(), after: "2".into() }]
        );
        assert!(found[0].unified().contains("-1\n") && found[0].unified().contains("+2\n"));
    }
}
