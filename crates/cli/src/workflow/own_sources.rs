//! Sources that a workflow's triggers name by key: made with the workflow, found again after it is
//! renamed, moved or its triggers are put in another order, and deleted with their triggers.

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::deploy::text;
use super::file::{WorkflowFile, fill_in, fingerprint};
use crate::client::{Client, Target};
use crate::error::CliError;
use crate::terminal::printer;

/// Stands in the path of a mark between the workflow and the source of its trigger.
const TRIGGERS: &str = "/triggers/";

/// Whose the sources are that a workflow's triggers name by key: `apply`'s project, or the
/// workflow's own.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) project: String,
    /// The workflow's folder in the project.
    pub(crate) path: String,
    /// Whether the workflow carries the mark too.
    pub(crate) on_workflow: bool,
}

impl Mark {
    /// Of a workflow that is deployed by itself. A project's name has no spaces.
    pub(crate) fn alone(name: &str) -> Self {
        Self {
            project: format!("workflow {}", name.chars().take(180).collect::<String>()),
            path: "workflow".into(),
            on_workflow: false,
        }
    }

    /// Of a workflow's record: the mark that it carries, else the one of its name.
    fn of(workflow: &Value) -> Self {
        let made_from = &workflow["made_from"];
        match (made_from["project"].as_str(), made_from["path"].as_str()) {
            (Some(project), Some(path)) => {
                Self { project: project.into(), path: path.into(), on_workflow: true }
            }
            _ => Self::alone(workflow["name"].as_str().unwrap_or("")),
        }
    }

    /// Whether a source bears this mark, as one that a trigger of the workflow made.
    fn is_on(&self, source: &Value) -> bool {
        source["made_from"]["project"] == self.project.as_str()
            && trigger_mark(source).is_some_and(|(owner, _)| owner == self.path)
    }

    /// A path that no source has yet. A source keeps its path whatever becomes of the order of the
    /// triggers, so the number is only the first that is free.
    fn free_path(&self, key: &str, sources: &[Value]) -> String {
        let path = |number: usize| format!("{}{TRIGGERS}{number}/{key}", self.path);
        let is_taken = |path: &String| {
            sources.iter().any(|source| {
                source["made_from"]["project"] == self.project.as_str()
                    && source["made_from"]["path"] == path.as_str()
            })
        };
        // Among one more paths than there are sources, one is free.
        (0..=sources.len()).map(path).find(|path| !is_taken(path)).unwrap_or_else(|| path(0))
    }
}

/// The workflow's folder and the component's key in the mark of a source that a trigger made.
pub(crate) fn trigger_mark(source: &Value) -> Option<(&str, &str)> {
    let (owner, below) = source["made_from"]["path"].as_str()?.rsplit_once(TRIGGERS)?;
    Some((owner, below.split_once('/')?.1))
}

/// What a trigger's own source was made of.
pub(crate) fn trigger_fingerprint(trigger: &Value) -> String {
    fingerprint(&json!([trigger["key"], trigger["name"], trigger["props"]]))
}

/// The key of a trigger without its version; None of a trigger that names no key.
fn key_of(trigger: &Value) -> Option<&str> {
    let names_one = trigger["source"].is_string() || trigger["id"].is_string();
    let key = trigger["key"].as_str().filter(|_| trigger["type"] == "source" && !names_one)?;
    Some(key.split('@').next().unwrap_or(key))
}

fn names(workflow: &Value, source: &Value) -> bool {
    let triggers = workflow["triggers"].as_array();
    triggers.into_iter().flatten().any(|t| t["type"] == "source" && t["id"] == source["id"])
}

/// The sources that triggers of the workflow `id` made: those that bear its mark, and those that it
/// names and whose mark is of an earlier name or folder. `workflows` and `sources` begin with the
/// newest. The result begins with the workflow's triggers in their order, then the oldest.
fn own<'a>(
    mark: &Mark,
    id: Option<&str>,
    sources: &'a [Value],
    workflows: &[Value],
) -> Vec<&'a Value> {
    let place = workflows.iter().position(|w| id.is_some() && w["id"].as_str() == id);
    let workflow = place.and_then(|place| workflows.get(place));
    let is_own = |source: &&Value| {
        let is_named = workflow.is_some_and(|w| names(w, source));
        if mark.is_on(source) {
            return is_named || !workflows.iter().any(|w| names(w, source));
        }
        // Another workflow that names it too may be the one whose trigger made it.
        let is_of_another = |(at, w): (usize, &Value)| {
            Some(at) != place
                && names(w, source)
                && (Mark::of(w).is_on(source) || place.is_none_or(|place| at > place))
        };
        is_named
            && trigger_mark(source).is_some()
            && !workflows.iter().enumerate().any(is_of_another)
    };
    let mut own: Vec<&Value> = sources.iter().rev().filter(is_own).collect();
    let triggers = workflow.and_then(|w| w["triggers"].as_array());
    let order = |source: &&Value| {
        let at = triggers.and_then(|all| all.iter().position(|t| t["id"] == source["id"]));
        at.unwrap_or(usize::MAX)
    };
    own.sort_by_key(order);
    own
}

/// The source of each trigger that names a key: first those made of the very same, then those of
/// the same key in their order.
fn assigned<'a>(file: &WorkflowFile, own: &[&'a Value]) -> Vec<Option<&'a Value>> {
    let triggers = file.list("triggers");
    let mut left = own.to_vec();
    let mut found: Vec<Option<&Value>> = vec![None; triggers.len()];
    for same in [true, false] {
        for (trigger, found) in triggers.iter().zip(&mut found) {
            let Some(key) = key_of(trigger).filter(|_| found.is_none()) else { continue };
            let made_of = trigger_fingerprint(trigger);
            let is_it = |source: &&Value| {
                trigger_mark(source).is_some_and(|(_, of)| of == key)
                    && (!same || source["made_from"]["fingerprints"]["source"] == made_of.as_str())
            };
            *found = left.iter().position(is_it).map(|at| left.remove(at));
        }
    }
    found
}

/// The sources of a file's triggers as they are on a server.
pub(crate) struct OwnSources {
    /// What triggers of the workflow made.
    own: Vec<Value>,
    /// The source of each trigger of the file; none where it is to be made, or is not its own.
    pub(crate) of_triggers: Vec<Option<Value>>,
}

impl OwnSources {
    pub(crate) fn find(
        file: &WorkflowFile,
        mark: &Mark,
        id: Option<&str>,
        sources: &[Value],
        workflows: &[Value],
    ) -> Self {
        let own = own(mark, id, sources, workflows);
        let of_triggers = assigned(file, &own).into_iter().map(Option::<&Value>::cloned).collect();
        Self { own: own.into_iter().cloned().collect(), of_triggers }
    }

    /// Whether a trigger made the source, and the file has that trigger, by key or by the source's
    /// name.
    pub(crate) fn keeps(&self, file: &WorkflowFile, source: &Value) -> bool {
        let is_named = |trigger: &Value| {
            ["id", "name", "name_slug"].iter().any(|field| {
                source[field].is_string()
                    && (trigger["source"] == source[field] || trigger["id"] == source[field])
            })
        };
        self.of_triggers.iter().flatten().any(|own| own["id"] == source["id"])
            || file.list("triggers").iter().any(is_named)
    }

    /// Why the source of a trigger is not as the file says.
    pub(crate) fn changed(&self, file: &WorkflowFile) -> Option<String> {
        file.list("triggers").iter().zip(&self.of_triggers).find_map(|(trigger, source)| {
            let key = key_of(trigger)?;
            let made_of = trigger_fingerprint(trigger);
            match source {
                None => Some(format!("the source of its trigger {key} is gone")),
                Some(source)
                    if source["made_from"]["fingerprints"]["source"] != made_of.as_str()
                        || source["active"] != true =>
                {
                    Some(format!("the source of its trigger {key} was changed by others"))
                }
                Some(_) => None,
            }
        })
    }

    /// What triggers of the workflow made, and none of its triggers names now, nor another
    /// workflow's. A source with an earlier mark stays: another workflow may have made it.
    pub(crate) fn gone(&self, mark: &Mark, kept: &[String], workflows: &[Value]) -> Vec<&Value> {
        let is_kept = |source: &Value| {
            kept.contains(&text(&source["id"])) || workflows.iter().any(|w| names(w, source))
        };
        self.own.iter().filter(|source| mark.is_on(source) && !is_kept(source)).collect()
    }
}

/// Sources and workflows of the server, as they are read to find a workflow's own sources.
pub(crate) async fn records(client: &Client) -> Result<(Vec<Value>, Vec<Value>), CliError> {
    let sources = client.all("/users/me/sources").await?;
    if !sources.iter().any(|source| trigger_mark(source).is_some()) {
        return Ok((sources, Vec::new()));
    }
    Ok((sources, client.all("/workflows?include=id,name,triggers,made_from").await?))
}

/// Deploys the source of a trigger that names it by key, or brings `there` up to date. Gives its
/// id. `sources` are all that the server has.
pub(crate) async fn deployed(
    client: &Client,
    file: &WorkflowFile,
    mark: &Mark,
    trigger: &Value,
    there: Option<&Value>,
    sources: &[Value],
) -> Result<String, CliError> {
    let key = key_of(trigger).unwrap_or("");
    let mut props = trigger.get("props").cloned().unwrap_or_else(|| json!({}));
    fill_in(&mut props, &file.path)?;
    let path = match there.filter(|source| mark.is_on(source)) {
        Some(source) => text(&source["made_from"]["path"]),
        None => mark.free_path(key, sources),
    };
    let made_from = json!({ "project": mark.project, "path": path, "fingerprints": { "source": trigger_fingerprint(trigger) } });
    let mut body =
        json!({ "key": trigger["key"], "configured_props": props, "made_from": made_from });
    if let Some(name) = trigger.get("name") {
        body["name"] = name.clone();
    }
    let Some(source) = there else { return made(client, body, &path).await };
    if source["made_from"] != made_from || source["active"] != true {
        update(client, source, body).await?;
    }
    Ok(text(&source["id"]))
}

/// Makes the source; where another deploy of the same file made it meanwhile, that one is brought
/// up to date.
async fn made(client: &Client, body: Value, path: &str) -> Result<String, CliError> {
    match crate::commands::create_source(client, body.clone()).await {
        Ok(answer) => return Ok(text(&answer["data"]["id"])),
        Err(error) if error.is_taken() => {}
        Err(error) => return Err(error),
    }
    let sources = client.all("/users/me/sources").await?;
    let project = body["made_from"]["project"].as_str().unwrap_or("");
    let source = super::deploy::marked(&sources, project, path)
        .ok_or_else(|| CliError::MadeMeanwhile { path: path.to_owned() })?;
    update(client, source, body).await?;
    Ok(text(&source["id"]))
}

async fn update(client: &Client, source: &Value, mut body: Value) -> Result<(), CliError> {
    let props = body["configured_props"].take();
    body["configured_props"] = Value::Object(replacing(&source["configured_props"], props));
    body["active"] = json!(true);
    let path = format!("/sources/{}", text(&source["id"]));
    client.call(Method::PUT, &path, &body).await.map(|_| ())
}

/// Values that take the place of all before: what is not among them goes.
pub(crate) fn replacing(before: &Value, now: Value) -> Map<String, Value> {
    let mut all: Map<String, Value> = before
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| (name.clone(), Value::Null))
        .collect();
    all.extend(now.as_object().cloned().unwrap_or_default());
    all
}

/// Deletes sources whose triggers are gone.
pub(crate) async fn delete(client: &Client, sources: &[&Value]) -> Result<(), CliError> {
    for source in sources {
        let id = source["id"].as_str().unwrap_or("");
        client.delete(&format!("/sources/{id}")).await?;
        printer::note(&format!(
            "deleted the source {} of a trigger that is gone",
            source["name_slug"].as_str().unwrap_or(id)
        ));
    }
    Ok(())
}

/// Deletes a workflow, and then the sources that its triggers made. Gives the server's answer.
pub(crate) async fn delete_workflow(client: &Client, target: &Target) -> Result<Value, CliError> {
    let (sources, mut workflows) = records(client).await?;
    let mark = workflows.iter().find(|w| w["id"] == target.id.as_str()).map(Mark::of);
    let answer = client.delete(&target.path()).await?;
    workflows.retain(|w| w["id"] != target.id.as_str());
    let is_gone = |source: &&Value| {
        mark.as_ref().is_some_and(|mark| mark.is_on(source))
            && !workflows.iter().any(|w| names(w, source))
    };
    let gone: Vec<&Value> = sources.iter().filter(is_gone).collect();
    delete(client, &gone).await?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::folder_with;

    fn source(id: &str, project: &str, path: &str) -> Value {
        let made_from = json!({ "project": project, "path": path, "fingerprints": {} });
        json!({ "id": id, "name_slug": id, "made_from": made_from })
    }

    fn workflow(id: &str, name: &str, sources: &[&str]) -> Value {
        let triggers: Vec<Value> =
            sources.iter().map(|id| json!({ "type": "source", "id": id })).collect();
        json!({ "id": id, "name": name, "triggers": triggers })
    }

    fn ids<'a>(found: &[&'a Value]) -> Vec<&'a str> {
        found.iter().filter_map(|source| source["id"].as_str()).collect()
    }

    #[test]
    fn a_source_stays_its_workflows_after_a_rename_and_whoever_else_listens() {
        let sources = [
            source("dc_3", "workflow gone", "workflow/triggers/0/rss"),
            source("dc_2", "workflow a", "workflow/triggers/1/rss"),
            source("dc_1", "workflow a", "workflow/triggers/0/rss"),
            source("dc_0", "shop", "sources/feed"),
        ];
        let listens = workflow("p_3", "listens", &["dc_1"]);
        let own = |name: &str, workflows: &[Value]| {
            ids(&own(&Mark::alone(name), Some("p_2"), &sources, workflows)).join(" ")
        };
        // In the order of its triggers; the shop's source is no trigger's.
        let renamed = workflow("p_2", "b", &["dc_2", "dc_1", "dc_0"]);
        assert_eq!(own("b", &[listens.clone(), renamed.clone()]), "dc_2 dc_1");
        // One that was renamed elsewhere keeps it from a workflow that is called so now.
        let first = workflow("p_1", "was a", &["dc_1", "dc_2"]);
        assert_eq!(own("a", &[workflow("p_2", "a", &[]), first.clone()]), "");
        // A workflow that listens to another's does not own it, whichever is older.
        let owner = workflow("p_1", "a", &["dc_1"]);
        let listener = workflow("p_2", "b", &["dc_1"]);
        assert_eq!(own("b", &[listener.clone(), owner.clone()]), "");
        assert_eq!(own("b", &[owner, listener]), "");
        // What a deploy that broke off left is taken up.
        assert_eq!(own("gone", &[workflow("p_2", "gone", &[])]), "dc_3");
    }

    #[test]
    fn triggers_find_their_sources_in_any_order_and_what_is_named_stays() {
        let two = "{ type: source, key: rss, props: { n: 2 } }";
        let text = format!(
            "triggers:\n  - {{ type: http }}\n  - {{ type: source, key: rss@1.0.0 }}\n  - {two}\n  - {{ type: source, source: dc_9 }}\nsteps: []\n"
        );
        let folder = folder_with(&[("workflow.yaml", &text)]);
        let file = WorkflowFile::read(folder.path()).expect("reads");
        let mut first = source("dc_1", "workflow a", "workflow/triggers/0/rss");
        let made_of = json!({ "type": "source", "key": "rss", "props": { "n": 2 } });
        first["made_from"]["fingerprints"]["source"] = json!(trigger_fingerprint(&made_of));
        let sources = [
            source("dc_9", "workflow a", "workflow/triggers/3/tick"),
            source("dc_3", "workflow a", "workflow/triggers/2/rss"),
            source("dc_2", "workflow a", "workflow/triggers/1/rss"),
            first,
        ];
        let mark = Mark::alone("a");
        let found = OwnSources::find(&file, &mark, Some("p_1"), &sources, &[]);
        let of: Vec<&str> =
            found.of_triggers.iter().flatten().filter_map(|s| s["id"].as_str()).collect();
        assert_eq!(of, ["dc_2", "dc_1"]);
        let kept: Vec<&str> = sources
            .iter()
            .filter(|source| found.keeps(&file, source))
            .filter_map(|source| source["id"].as_str())
            .collect();
        assert_eq!(kept, ["dc_9", "dc_2", "dc_1"]);
        let ids_kept = ["dc_1", "dc_2"].map(str::to_owned);
        // Nothing is deleted that another workflow listens to.
        assert_eq!(
            ids(&found.gone(&mark, &ids_kept, &[workflow("p_2", "b", &["dc_9"])])),
            ["dc_3"]
        );
        assert_eq!(mark.free_path("rss", &sources), "workflow/triggers/3/rss");
    }
}
