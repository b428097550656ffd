//! `apply`: changes the server's workflows and sources to those of a project, after it has shown
//! the changes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{Client, Kind, Target};
use crate::error::CliError;
use crate::files::project::{Project, SourceFile};
use crate::terminal::line::Line;
use crate::terminal::printer::{self, Show};
use crate::terminal::prompt;
use crate::workflow::deploy::{self, Mark, replacing, trigger_fingerprint, trigger_path};
use crate::workflow::file::WorkflowFile;

pub(super) struct Apply {
    pub(super) folder: PathBuf,
    pub(super) dry_run: bool,
    pub(super) yes: bool,
    pub(super) prune: bool,
    pub(super) adopt: bool,
    pub(super) force: bool,
}

/// What is to be done with one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Create,
    Update,
    Unchanged,
    Delete,
    /// It is the project's and no longer in the folder; only `--prune` deletes it.
    Left,
}

impl Action {
    const fn word(self) -> &'static str {
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
struct Item<'a> {
    action: Action,
    kind: Kind,
    /// Within the project.
    path: String,
    name: String,
    reason: String,
    /// What is there.
    there: Option<Value>,
    local: Local<'a>,
}

#[derive(Clone, Copy)]
enum Local<'a> {
    Source(&'a SourceFile),
    Workflow(&'a WorkflowFile),
    /// Not in the folder.
    Gone,
}

pub(super) async fn apply(client: &Client, show: Show, apply: Apply) -> Result<(), CliError> {
    let project = Project::read(&apply.folder)?;
    let sources = client.all("/users/me/sources").await?;
    let workflows = client.all("/workflows").await?;
    let mut plan = plan(&project, &sources, &workflows, &apply)?;
    let to_do = plan
        .iter()
        .filter(|i| matches!(i.action, Action::Create | Action::Update | Action::Delete))
        .count();
    if !show.json {
        tell_plan(&project, &plan);
    }
    if apply.dry_run || to_do == 0 {
        return if show.json {
            printer::data(&report(&project, &plan, &BTreeMap::new(), apply.dry_run).to_string())
        } else {
            Ok(())
        };
    }
    if !apply.yes && !prompt::confirmed("Apply this?")? {
        return Err(CliError::Usage {
            message: "nothing was applied".into(),
            hint: "--yes applies without asking, --dry-run only shows the plan",
        });
    }
    // Workflows may name sources and handle each other's errors: what others need comes first.
    plan.sort_by_key(order);
    let mut failed = BTreeMap::new();
    for item in
        plan.iter().filter(|i| matches!(i.action, Action::Create | Action::Update | Action::Delete))
    {
        match make(client, &project, item).await {
            Ok(()) if show.json => {}
            Ok(()) => printer::note(printer::green("✓").and(&format!(
                " {} {}",
                past(item.action),
                item.path
            ))),
            Err(error) => {
                printer::note(printer::red("✗").and(&format!(" {}: {error}", item.path)));
                if let Some(hint) = error.hint() {
                    printer::note(&format!("  hint: {hint}"));
                }
                failed.insert(item.path.clone(), error.to_string());
            }
        }
    }
    if show.json {
        printer::data(&report(&project, &plan, &failed, false).to_string())?;
    }
    match failed.len() {
        0 => Ok(()),
        count => Err(CliError::SomeFailed { done: to_do - count, failed: count, all: to_do }),
    }
}

fn plan<'a>(
    project: &'a Project,
    sources: &[Value],
    workflows: &[Value],
    apply: &Apply,
) -> Result<Vec<Item<'a>>, CliError> {
    let mut plan = Vec::new();
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
        if item.action == Action::Unchanged
            && let Some(reason) = changed_trigger(project, path, file, sources)
        {
            (item.action, item.reason) = (Action::Update, reason);
        }
        plan.push(Item { local: Local::Workflow(file), ..item });
    }
    for (kind, there) in [(Kind::Workflow, workflows), (Kind::Source, sources)] {
        for record in there.iter().filter(|r| r["made_from"]["project"] == project.name.as_str()) {
            let path = record["made_from"]["path"].as_str().unwrap_or("").to_owned();
            // The sources of triggers go with their workflows.
            let owner = path.split("/triggers/").next().unwrap_or(&path).to_owned();
            let is_trigger = owner != path && project.workflows.iter().any(|(p, _)| *p == owner);
            let planned = |i: &Item<'_>| {
                i.path == path && i.kind == kind
                    || i.there.as_ref().is_some_and(|there| there["id"] == record["id"])
            };
            if is_trigger || plan.iter().any(planned) {
                continue;
            }
            let (action, reason) = if apply.prune {
                (Action::Delete, "it is not in the folder")
            } else {
                (Action::Left, "it is not in the folder; --prune deletes it")
            };
            let name = record["name"].as_str().unwrap_or("").to_owned();
            plan.push(Item {
                action,
                kind,
                path,
                name,
                reason: reason.into(),
                there: Some(record.clone()),
                local: Local::Gone,
            });
        }
    }
    Ok(plan)
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
    let ours = |r: &&Value| {
        r["made_from"]["project"] == project.name.as_str() && r["made_from"]["path"] == path
    };
    let mut found = there.iter().find(ours);
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
            (Some(other), Action::Update, "one of this name is there and is adopted".into());
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

/// What is there beside what is to be.
fn compared(
    record: &Value,
    fingerprints: &BTreeMap<&'static str, String>,
    active: bool,
) -> (Action, String) {
    let before = record["made_from"]["fingerprints"].as_object().cloned().unwrap_or_default();
    if before.is_empty() {
        return (Action::Update, "it was changed by others, or not applied to its end".into());
    }
    let changed: Vec<&str> = fingerprints
        .iter()
        .filter(|(part, print)| before.get(**part).and_then(Value::as_str) != Some(print.as_str()))
        .map(|(part, _)| *part)
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

/// Why the source of a trigger is not as the file says.
fn changed_trigger(
    project: &Project,
    path: &str,
    file: &WorkflowFile,
    sources: &[Value],
) -> Option<String> {
    let mark = mark(project, path);
    file.list("triggers").iter().enumerate().find_map(|(index, trigger)| {
        let key = trigger["key"].as_str()?;
        let path = trigger_path(&mark, index, key);
        let source = sources.iter().find(|s| {
            s["made_from"]["project"] == mark.project.as_str()
                && s["made_from"]["path"] == path.as_str()
        });
        match source {
            None => Some(format!("the source of its trigger {key} is gone")),
            Some(s)
                if s["made_from"]["fingerprints"]["source"]
                    != trigger_fingerprint(trigger).as_str()
                    || s["active"] != true =>
            {
                Some(format!("the source of its trigger {key} was changed by others"))
            }
            Some(_) => None,
        }
    })
}

fn mark(project: &Project, path: &str) -> Mark {
    Mark { project: project.name.clone(), path: path.to_owned(), on_workflow: true }
}

/// Sources, then workflows that others name, then the other workflows; what is deleted at last,
/// workflows before sources.
fn order(item: &Item<'_>) -> (u8, bool) {
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

async fn make(client: &Client, project: &Project, item: &Item<'_>) -> Result<(), CliError> {
    let target = item
        .there
        .as_ref()
        .map(|there| Target { kind: item.kind, id: there["id"].as_str().unwrap_or("").to_owned() });
    match (item.local, target) {
        (Local::Gone, Some(target)) => client.delete(&target.path()).await.map(|_| ()),
        (Local::Gone, None) => Ok(()),
        (Local::Workflow(file), target) => {
            deploy::deploy(client, file, target.as_ref(), &mark(project, &item.path), None)
                .await
                .map(|_| ())
        }
        (Local::Source(source), target) => {
            let mut body = source.body()?;
            body["made_from"] = json!({ "project": project.name, "path": item.path, "fingerprints": source.fingerprints() });
            let id = match target {
                Some(target) => {
                    let before =
                        item.there.as_ref().map(|t| &t["configured_props"]).unwrap_or(&Value::Null);
                    body["configured_props"] =
                        Value::Object(replacing(before, body["configured_props"].take()));
                    body["active"] = json!(source.active());
                    client.call(Method::PUT, &target.path(), &body).await?;
                    return Ok(());
                }
                None => client.call(Method::POST, "/sources", &body).await?["data"]["id"]
                    .as_str()
                    .unwrap_or("")
                    .to_owned(),
            };
            if !source.active() {
                client
                    .call(
                        Method::PUT,
                        &format!("/sources/{id}"),
                        &json!({ "active": false, "made_from": body["made_from"] }),
                    )
                    .await?;
            }
            Ok(())
        }
    }
}

fn tell_plan(project: &Project, plan: &[Item<'_>]) {
    printer::note(&format!("project {}", project.name));
    for item in plan {
        let (sign, text) = match item.action {
            Action::Create => (printer::green("+"), "create"),
            Action::Update => (printer::yellow("~"), "update"),
            Action::Delete => (printer::red("-"), "delete"),
            Action::Unchanged => (Line::from(" "), "unchanged"),
            Action::Left => ("?".into(), "left"),
        };
        let reason =
            if item.reason.is_empty() { String::new() } else { format!("  ({})", item.reason) };
        printer::note(Line::from("  ").and(sign).and(&format!(" {text:9} {}{reason}", item.path)));
    }
    let count = |action: Action| plan.iter().filter(|i| i.action == action).count();
    if count(Action::Create) + count(Action::Update) + count(Action::Delete) == 0 {
        printer::note("nothing to do");
    } else {
        printer::note(&format!(
            "{} to create, {} to update, {} to delete, {} unchanged",
            count(Action::Create),
            count(Action::Update),
            count(Action::Delete),
            count(Action::Unchanged)
        ));
    }
}

const fn past(action: Action) -> &'static str {
    match action {
        Action::Create => "created",
        Action::Update => "updated",
        Action::Delete => "deleted",
        Action::Unchanged | Action::Left => "left",
    }
}

fn report(
    project: &Project,
    plan: &[Item<'_>],
    failed: &BTreeMap<String, String>,
    dry_run: bool,
) -> Value {
    let items: Vec<Value> = plan
        .iter()
        .map(|i| json!({ "action": i.action.word(), "kind": i.kind.word(), "path": i.path, "name": i.name, "reason": i.reason, "error": failed.get(&i.path) }))
        .collect();
    json!({ "project": project.name, "dry_run": dry_run, "items": items })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_compared_by_its_parts() {
        let prints = BTreeMap::from([("code", "1".to_owned()), ("props", "2".to_owned())]);
        let record = |code: &str, active: bool| json!({ "active": active, "inactive_reason": null, "made_from": { "fingerprints": { "code": code, "props": "2" } } });
        assert_eq!(compared(&record("1", true), &prints, true), (Action::Unchanged, String::new()));
        assert_eq!(
            compared(&record("9", true), &prints, true),
            (Action::Update, "changed: code".into())
        );
        assert_eq!(
            compared(&record("1", false), &prints, true),
            (Action::Update, "it is not active".into())
        );
        let touched = json!({ "active": true, "made_from": { "fingerprints": {} } });
        assert_eq!(
            compared(&touched, &prints, true).1,
            "it was changed by others, or not applied to its end"
        );
    }
}
