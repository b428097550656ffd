//! `apply`: changes the server's workflows and sources to those of a project, after it has shown
//! the changes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reqwest::Method;
use serde_json::{Value, json};

use super::plan::{Action, Item, Local, mark, order, plan};
use crate::client::{Client, Target};
use crate::error::CliError;
use crate::files::project::{Project, SourceFile};
use crate::terminal::line::Line;
use crate::terminal::printer::{self, Show};
use crate::terminal::prompt;
use crate::workflow::deploy::{self, marked};
use crate::workflow::own_sources::replacing;

#[derive(Default)]
pub(super) struct Apply {
    pub(super) folder: PathBuf,
    pub(super) dry_run: bool,
    pub(super) yes: bool,
    pub(super) prune: bool,
    pub(super) adopt: bool,
    pub(super) force: bool,
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
        print_plan(&project, &plan);
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
                if let Some(hint) = error.hint_in_file(&item.path) {
                    printer::note(&format!("  hint: {hint}"));
                }
                failed.insert(key(item), error.to_string());
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
        (Local::Source(source), _) => make_source(client, project, item, source).await,
    }
}

/// Makes a source, or changes the one that is there, which another deploy of the same file may have
/// made meanwhile.
async fn make_source(
    client: &Client,
    project: &Project,
    item: &Item<'_>,
    source: &SourceFile,
) -> Result<(), CliError> {
    let mut body = source.body()?;
    body["made_from"] = json!({ "project": project.name, "path": item.path, "fingerprints": source.fingerprints() });
    let mut there = item.there.clone();
    if there.is_none() {
        match create_source(client, source, &body).await {
            Err(error) if error.is_taken() => {
                let sources = client.all("/users/me/sources").await?;
                there = marked(&sources, &project.name, &item.path).cloned();
            }
            done => return done,
        }
    }
    let there = there.ok_or_else(|| CliError::MadeMeanwhile { path: item.path.clone() })?;
    body["configured_props"] =
        Value::Object(replacing(&there["configured_props"], body["configured_props"].take()));
    body["active"] = json!(source.active());
    let path = format!("/sources/{}", there["id"].as_str().unwrap_or(""));
    client.call(Method::PUT, &path, &body).await.map(|_| ())
}

async fn create_source(client: &Client, source: &SourceFile, body: &Value) -> Result<(), CliError> {
    let made = client.call(Method::POST, "/sources", body).await?;
    if !source.active() {
        let path = format!("/sources/{}", made["data"]["id"].as_str().unwrap_or(""));
        let inactive = json!({ "active": false, "made_from": body["made_from"] });
        client.call(Method::PUT, &path, &inactive).await?;
    }
    Ok(())
}

fn print_plan(project: &Project, plan: &[Item<'_>]) {
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

/// Tells items apart: several records may be of one path.
type Key = (String, Option<String>);

fn key(item: &Item<'_>) -> Key {
    (item.path.clone(), item.id().map(str::to_owned))
}

fn report(
    project: &Project,
    plan: &[Item<'_>],
    failed: &BTreeMap<Key, String>,
    dry_run: bool,
) -> Value {
    let items: Vec<Value> = plan
        .iter()
        .map(|i| json!({ "action": i.action.word(), "kind": i.kind.word(), "path": i.path, "name": i.name, "reason": i.reason, "error": failed.get(&key(i)) }))
        .collect();
    json!({ "project": project.name, "dry_run": dry_run, "items": items })
}
