//! Plan of `apply`: what a project's files take on the server.

use std::collections::BTreeMap;

use serde_json::Value;

use super::apply::Apply;
use crate::client::Kind;
use crate::error::CliError;
use crate::files::project::{Project, SourceFile};
use crate::workflow::deploy::marked;
use crate::workflow::file::WorkflowFile;
use crate::workflow::own_sources::{Mark, OwnSources, trigger_mark};

/// What is to be done with one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Create,
    Update,
    Unchanged,
    Delete,
    /// It is the project's and no longer in the folder; only `--prune` deletes it.
    Left,
}

impl Action {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Unchanged => "unchanged",
            Self::Delete => "delete",
            Self::Left => "left",
        }
    }
}

/// A line of the plan.
pub(super) struct Item<'a> {
    pub(super) action: Action,
    pub(super) kind: Kind,
    /// Within the project.
    pub(super) path: String,
    pub(super) name: String,
    pub(super) reason: String,
    /// What is there.
    pub(super) there: Option<Value>,
    pub(super) local: Local<'a>,
}

impl Item<'_> {
    /// The id of what is there.
    pub(super) fn id(&self) -> Option<&str> {
        self.there.as_ref()?["id"].as_str()
    }
}

#[derive(Clone, Copy)]
pub(super) enum Local<'a> {
    Source(&'a SourceFile),
    Workflow(&'a WorkflowFile),
    /// Not in the folder.
    Gone,
}

pub(super) fn plan<'a>(
    project: &'a Project,
    sources: &[Value],
    workflows: &[Value],
    apply: &Apply,
) -> Result<Vec<Item<'a>>, CliError> {
    let (mut plan, mut kept) = (Vec::new(), Vec::new());
    for source in &project.sources {
        let item = item(
            project,
            Kind::Source,
            &source.path,
            &source.name,
            &source.fingerprints(),
            source.active(),
            sources,
            apply,
        )?;
        plan.push(Item { local: Local::Source(source), ..item });
    }
    for (path, file) in &project.workflows {
        let mut item = item(
            project,
            Kind::Workflow,
            path,
            &file.name,
            &file.fingerprints(),
            file.active(),
            workflows,
            apply,
        )?;
        let own = OwnSources::find(file, &mark(project, path), item.id(), sources, workflows);
        if item.action == Action::Unchanged
            && let Some(reason) = own.changed(file)
        {
            (item.action, item.reason) = (Action::Update, reason);
        }
        let keeps = sources.iter().filter(|source| own.keeps(file, source));
        kept.extend(keeps.map(|source| (id_of(source), path.as_str())));
        plan.push(Item { local: Local::Workflow(file), ..item });
    }
    for (kind, there) in [(Kind::Workflow, workflows), (Kind::Source, sources)] {
        let left = there.iter().filter_map(|record| left_over(project, kind, there, record, apply));
        let is_here = |item: &Item<'_>| plan.iter().any(|i| i.id() == item.id());
        let kept_by = |item: &Item<'_>| {
            kept.iter().find(|(id, _)| item.id() == Some(*id)).map(|(_, workflow)| *workflow)
        };
        let left = left.filter(|item| !is_here(item)).filter_map(|item| match kept_by(&item) {
            // The sources of triggers go with their workflows.
            Some(_) if item.there.as_ref().and_then(trigger_mark).is_some() => None,
            Some(workflow) => Some(Item {
                action: Action::Left,
                reason: format!("it is not in the folder, and stays while {workflow} names it"),
                ..item
            }),
            None => Some(item),
        });
        let left: Vec<_> = left.collect();
        plan.extend(left);
    }
    // A folder without its workflow file is no folder that was deleted.
    let pruned = |i: &&Item<'_>| i.action == Action::Delete && project.bare.contains(&i.path);
    if let Some(item) = plan.iter().find(pruned) {
        let problem = format!(
            "the workflow `{}` was made from it, and it no longer has a workflow.yaml; restore the file, or delete the folder",
            item.name
        );
        return Err(CliError::File { path: item.path.clone().into(), problems: vec![problem] });
    }
    Ok(plan)
}

fn id_of(record: &Value) -> &str {
    record["id"].as_str().unwrap_or("")
}

/// What is to be done with a record of the project that no file stands for.
fn left_over(
    project: &Project,
    kind: Kind,
    there: &[Value],
    record: &Value,
    apply: &Apply,
) -> Option<Item<'static>> {
    let made_from = &record["made_from"];
    if made_from["project"] != project.name.as_str() {
        return None;
    }
    let path = made_from["path"].as_str().unwrap_or("").to_owned();
    let first = marked(there, &project.name, &path);
    let is_another = first.is_some_and(|first| first["id"] != record["id"]);
    let is_trigger = kind == Kind::Source
        && trigger_mark(record)
            .is_some_and(|(owner, _)| project.workflows.iter().any(|(path, _)| path == owner));
    let slug = record["name_slug"].as_str().unwrap_or("");
    let mut reason = if is_another {
        format!("`{slug}` is another one of the same file")
    } else if is_trigger {
        format!("the trigger of `{slug}` is gone")
    } else {
        "it is not in the folder".to_owned()
    };
    if !apply.prune {
        reason.push_str("; --prune deletes it");
    }
    Some(Item {
        action: if apply.prune { Action::Delete } else { Action::Left },
        kind,
        path,
        name: record["name"].as_str().unwrap_or("").to_owned(),
        reason,
        there: Some(record.clone()),
        local: Local::Gone,
    })
}

#[expect(
    clippy::too_many_arguments,
    reason = "what a thing is on disk and on the server, once each"
)]
fn item<'a>(
    project: &Project,
    kind: Kind,
    path: &str,
    name: &str,
    fingerprints: &BTreeMap<&'static str, String>,
    active: bool,
    there: &[Value],
    apply: &Apply,
) -> Result<Item<'a>, CliError> {
    let mut found = marked(there, &project.name, path);
    let (mut action, mut reason) = (Action::Create, "it is not there".to_owned());
    if let Some(record) = found {
        (action, reason) = compared(record, fingerprints, active);
        if action == Action::Unchanged && apply.force {
            (action, reason) = (Action::Update, "--force".into());
        }
    } else if let Some(other) = there.iter().find(|r| r["name"] == name && moved(project, kind, r))
    {
        (found, action, reason) = (
            Some(other),
            Action::Update,
            format!("it was {}", other["made_from"]["path"].as_str().unwrap_or_default()),
        );
    } else if let Some(other) = there.iter().find(|r| r["name"] == name) {
        if !apply.adopt {
            return Err(CliError::NotOurs {
                kind: kind.word(),
                name: name.to_owned(),
                path: path.to_owned(),
                owner: other["made_from"]["project"].as_str().map(str::to_owned),
            });
        }
        (found, action, reason) =
            (Some(other), Action::Update, "one of this name exists and is adopted".into());
    }
    Ok(Item {
        action,
        kind,
        path: path.to_owned(),
        name: name.to_owned(),
        reason,
        there: found.cloned(),
        local: Local::Gone,
    })
}

/// Whether it was made from a file of this project that is not there any longer.
fn moved(project: &Project, kind: Kind, record: &Value) -> bool {
    let from = &record["made_from"]["path"];
    let still_there = match kind {
        Kind::Source => project.sources.iter().any(|source| from == source.path.as_str()),
        Kind::Workflow => project.workflows.iter().any(|(path, _)| from == path.as_str()),
    };
    record["made_from"]["project"] == project.name.as_str() && !still_there
}

/// A part as the files of a project name it.
fn named(part: &'static str) -> &'static str {
    match part {
        "parallel" => "concurrency or calls_per_isolate",
        part => part,
    }
}

/// What is there beside what is to be.
fn compared(
    record: &Value,
    fingerprints: &BTreeMap<&'static str, String>,
    active: bool,
) -> (Action, String) {
    let before = record["made_from"]["fingerprints"].as_object().cloned().unwrap_or_default();
    if before.is_empty() {
        return (
            Action::Update,
            "it was changed by others, or its last apply did not finish".into(),
        );
    }
    let changed: Vec<&str> = fingerprints
        .iter()
        .filter(|(part, print)| before.get(**part).and_then(Value::as_str) != Some(print.as_str()))
        .map(|(part, _)| named(part))
        .collect();
    if !changed.is_empty() {
        return (Action::Update, format!("changed: {}", changed.join(", ")));
    }
    if record["active"] != active {
        let why =
            record["inactive_reason"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
        return (
            Action::Update,
            if active { format!("it is not active{why}") } else { "it is active".into() },
        );
    }
    (Action::Unchanged, String::new())
}

pub(super) fn mark(project: &Project, path: &str) -> Mark {
    Mark { project: project.name.clone(), path: path.to_owned(), on_workflow: true }
}

/// Sources, then workflows that others name, then the other workflows; what is deleted at last,
/// workflows before sources.
pub(super) fn order(item: &Item<'_>) -> (u8, bool) {
    let names_others = match item.local {
        Local::Workflow(file) => {
            file.value.get("error_handler").is_some_and(Value::is_string)
                || file.value.contains_key("subscriptions")
        }
        _ => false,
    };
    match (item.action, item.kind) {
        (Action::Delete, Kind::Workflow) => (2, false),
        (Action::Delete, Kind::Source) => (3, false),
        (_, Kind::Source) => (0, false),
        (_, Kind::Workflow) => (1, names_others),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::files::folder_with;

    #[test]
    fn what_is_there_is_compared_by_its_parts() {
        let prints = BTreeMap::from([("code", "1".to_owned()), ("props", "2".to_owned())]);
        let record = |code: &str, active: bool| json!({ "active": active, "inactive_reason": null, "made_from": { "fingerprints": { "code": code, "props": "2" } } });
        assert_eq!(compared(&record("1", true), &prints, true), (Action::Unchanged, String::new()));
        assert_eq!(
            compared(&record("9", true), &prints, true),
            (Action::Update, "changed: code".into())
        );
        let more = BTreeMap::from([("parallel", "3".to_owned())]);
        assert_eq!(
            compared(&record("1", true), &more, true).1,
            "changed: concurrency or calls_per_isolate"
        );
        assert_eq!(
            compared(&record("1", false), &prints, true),
            (Action::Update, "it is not active".into())
        );
        let touched = json!({ "active": true, "made_from": { "fingerprints": {} } });
        assert_eq!(
            compared(&touched, &prints, true).1,
            "it was changed by others, or its last apply did not finish"
        );
    }

    #[test]
    fn others_of_the_same_file_are_left_over() {
        let folder = folder_with(&[
            ("millrace.yaml", "project: shop\n"),
            ("sources/tick.yaml", "key: tick\n"),
            ("workflows/a/workflow.yaml", "triggers: [{ type: source, key: rss }]\nsteps: []\n"),
        ]);
        let project = Project::read(folder.path()).expect("reads");
        let record = |id: &str, path: &str| {
            let made_from = json!({ "project": "shop", "path": path, "fingerprints": {} });
            json!({ "id": id, "name": "x", "name_slug": id, "made_from": made_from })
        };
        // The newest first, as the server lists them.
        let workflows = [record("p_2", "workflows/a"), record("p_1", "workflows/a")];
        let trigger = "workflows/a/triggers/0/rss";
        let sources = [
            record("dc_4", trigger),
            record("dc_3", trigger),
            record("dc_2", "sources/tick"),
            record("dc_1", "sources/tick"),
        ];
        let planned = |prune: bool| {
            let apply = Apply { prune, ..Apply::default() };
            let plan = plan(&project, &sources, &workflows, &apply).expect("a plan");
            plan.iter().map(|i| (i.id().unwrap_or("").to_owned(), i.action)).collect::<Vec<_>>()
        };
        let expected = |action| {
            [
                ("dc_1", Action::Update),
                ("p_1", Action::Update),
                ("p_2", action),
                ("dc_4", action),
                ("dc_2", action),
            ]
            .map(|(id, action)| (id.to_owned(), action))
        };
        assert_eq!(planned(true), expected(Action::Delete));
        assert_eq!(planned(false), expected(Action::Left));
    }

    #[test]
    fn a_source_whose_file_left_is_shown_and_kept_while_a_workflow_names_it() {
        let folder = folder_with(&[
            ("millrace.yaml", "project: shop\n"),
            (
                "workflows/a/workflow.yaml",
                "triggers: [{ type: source, source: tick }]\nsteps: []\n",
            ),
        ]);
        let project = Project::read(folder.path()).expect("reads");
        let made_from = json!({ "project": "shop", "path": "sources/tick", "fingerprints": {} });
        let sources =
            [json!({ "id": "dc_1", "name": "tick", "name_slug": "tick", "made_from": made_from })];
        for prune in [false, true] {
            let apply = Apply { prune, ..Apply::default() };
            let plan = plan(&project, &sources, &[], &apply).expect("a plan");
            let left = plan.iter().find(|item| item.id() == Some("dc_1")).expect("is shown");
            assert_eq!(left.action, Action::Left);
            assert!(left.reason.ends_with("stays while workflows/a names it"), "{}", left.reason);
        }
    }
}
