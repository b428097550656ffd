//! Facts about a component or app, read from its code without running it.
//!
//! What cannot be known so is left out, never guessed: a caller that needs the whole truth loads
//! the module in a host.

mod auth;
mod eval;
mod fault;
mod lower;
mod module;
mod read;

use std::collections::{BTreeMap, BTreeSet};

use millrace_model::component::{Manifest, PropDef};
use millrace_model::prop_type::PropType;
use serde::{Deserialize, Serialize};

pub(crate) use self::eval::Workspace;
use self::eval::{Evaluation, Value};
pub(crate) use self::fault::fault;
use crate::tree::Files;

/// Files that an entry may reach.
const CLOSURE_FILES_MAX: usize = 1_000;

/// What is known of a component without running it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComponentFacts {
    /// As its module would say; what is not known is missing, and the type of a prop is then empty.
    pub manifest: Manifest,
    /// Whether `manifest.props` are all of its props.
    pub props_are_complete: bool,
    /// Props that build on an app's definition.
    pub definitions: BTreeMap<String, DefinitionRef>,
    /// `$auth` keys that the component's own code reads, by app.
    pub auth_keys: BTreeMap<String, BTreeSet<String>>,
}

/// An app's prop definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionRef {
    /// The app's slug.
    pub app: String,
    /// The definition's name.
    pub name: String,
}

/// What is known of an app without running it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AppFacts {
    /// The app's slug.
    pub slug: String,
    /// The shown name, where the file names one.
    pub name: Option<String>,
    /// The shown text, where the file has one.
    pub description: Option<String>,
    /// The definitions that components build on.
    pub prop_definitions: Vec<PropDef>,
    /// `$auth` keys that the file reads.
    pub auth_keys: BTreeSet<String>,
}

/// Facts, and every path that they depend on, there or not.
pub(crate) struct Read<T> {
    pub(crate) facts: Option<T>,
    pub(crate) looked_for: BTreeSet<String>,
}

/// Reads the component whose entry is `path`; None where there is no default export that can be
/// one.
pub fn component(files: &dyn Files, path: &str) -> Option<ComponentFacts> {
    read_component(&Workspace::new(files), path).facts
}

/// Reads the app file `path`; None where its default export is no app.
pub fn app(files: &dyn Files, path: &str) -> Option<AppFacts> {
    let workspace = Workspace::new(files);
    let evaluation = Evaluation::new(&workspace);
    let Value::Object(value) = evaluation.export(path, "default") else { return None };
    let mut facts = read::app(&value)?;
    facts.auth_keys = workspace
        .module(path)?
        .auth
        .iter()
        .filter(|(owner, _)| owner.is_none())
        .map(|(_, key)| key.clone())
        .collect();
    Some(facts)
}

/// The keys of `$auth` that code reads, by the slug of the app: what app files read of themselves,
/// and what the component `entry` reads of its props. An app that is written into the component's
/// own file counts as an app file, where it is the only one.
pub fn auth_keys_of(
    files: &BTreeMap<String, String>,
    entry: &str,
) -> BTreeMap<String, BTreeSet<String>> {
    let workspace = Workspace::new(files);
    let mut keys: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in files.iter().filter(|(_, text)| text.contains("$auth")).map(|(path, _)| path) {
        let evaluation = Evaluation::new(&workspace);
        let Value::Object(value) = evaluation.export(path, "default") else { continue };
        let (Some(facts), Some(module)) = (read::app(&value), workspace.module(path)) else {
            continue;
        };
        let own =
            module.auth.iter().filter(|(owner, _)| owner.is_none()).map(|(_, key)| key.clone());
        keys.entry(facts.slug).or_default().extend(own);
    }
    let Some(facts) = read_component(&workspace, entry).facts else { return keys };
    for (app, read) in facts.auth_keys {
        keys.entry(app).or_default().extend(read);
    }
    let apps: BTreeSet<&str> = facts
        .manifest
        .props
        .iter()
        .filter(|p| p.is(PropType::App))
        .filter_map(|p| p.rest.get("app")?.as_str())
        .collect();
    if let (Some(app), 1, Some(module)) = (apps.first(), apps.len(), workspace.module(entry)) {
        let of_this =
            module.auth.iter().filter(|(owner, _)| owner.is_none()).map(|(_, key)| key.clone());
        keys.entry((*app).to_owned()).or_default().extend(of_this);
    }
    keys
}

/// Every file that the entry reaches by imports within the tree, itself and the `package.json` of
/// their folders included: what bundling needs. At most a thousand.
pub fn closure(files: &dyn Files, entry: &str) -> BTreeSet<String> {
    let workspace = Workspace::new(files);
    let evaluation = Evaluation::new(&workspace);
    let mut reached = BTreeSet::new();
    let mut waiting = vec![entry.to_owned()];
    while let Some(path) = waiting.pop() {
        if reached.len() >= CLOSURE_FILES_MAX || !reached.insert(path.clone()) {
            continue;
        }
        let Some(module) = workspace.module(&path) else { continue };
        waiting.extend(
            module.specifiers.iter().filter_map(|specifier| evaluation.resolve(specifier, &path)),
        );
        let mut folder = path.as_str();
        while let Some((parent, _)) = folder.rsplit_once('/') {
            folder = parent;
            let manifest = format!("{folder}/package.json");
            if workspace.module(&manifest).is_some() {
                reached.insert(manifest);
            }
        }
    }
    reached
}

pub(crate) fn read_component(workspace: &Workspace<'_>, path: &str) -> Read<ComponentFacts> {
    let evaluation = Evaluation::new(workspace);
    let facts = match evaluation.export(path, "default") {
        // An app is no component.
        Value::Object(value) if value.get("type").text() != Some("app") => {
            let mut facts = read::component(&value);
            if let Some(module) = evaluation.module(path) {
                facts.auth_keys = auth_keys(&facts.manifest, &module.auth);
            }
            Some(facts)
        }
        _ => None,
    };
    Read { facts, looked_for: evaluation.looked_for.into_inner() }
}

/// `this.<prop>.$auth.key`, where the prop is an app.
fn auth_keys(
    manifest: &Manifest,
    read: &[(Option<String>, String)],
) -> BTreeMap<String, BTreeSet<String>> {
    let mut keys: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (prop, key) in read {
        let app = manifest
            .props
            .iter()
            .find(|p| prop.as_ref() == Some(&p.name))
            .and_then(|p| p.rest.get("app")?.as_str());
        if let Some(app) = app {
            keys.entry(app.to_owned()).or_default().insert(key.clone());
        }
    }
    keys
}
