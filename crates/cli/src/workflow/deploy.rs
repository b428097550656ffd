//! Deploy of a workflow's file: the sources of its triggers, the workflow itself, and its
//! subscriptions.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{Client, Kind, Target, value};
use crate::commands::party;
use crate::error::CliError;
use crate::terminal::warnings;
use crate::workflow::file::{WorkflowFile, fill_in};
use crate::workflow::own_sources::{self, Mark, OwnSources, deployed, records};

/// The stream of errors.
const ERRORS: &str = "$errors";

/// Makes what the file says, or changes the workflow that is there to it. Gives its record.
pub(crate) async fn deploy(
    client: &Client,
    file: &WorkflowFile,
    target: Option<&Target>,
    mark: &Mark,
    message: Option<&str>,
) -> Result<Value, CliError> {
    let mut body =
        json!({ "name": file.name, "steps": file.steps()?, "settings": file.settings() });
    for field in ["org_id", "project_id", "note", "tags"] {
        if let Some(value) = file.value.get(field) {
            body[field] = value.clone();
        }
    }
    // A file that is deployed is to be live, on the first time as on the next.
    body["settings"]["auto_deploy"] = json!(true);
    if let Some(message) = message {
        body["message"] = json!(message);
    }
    let made_from = |fingerprints: Value| json!({ "project": mark.project, "path": mark.path, "fingerprints": fingerprints });
    if mark.on_workflow {
        // Ours from the first moment. What it was made of is said once all of it is there: whatever
        // breaks this off, the next deployment does it again.
        body["made_from"] = made_from(json!({}));
    }
    // Whoever it names must be there before anything is made.
    let wanted = Wanted::find(client, file).await?;
    let (sources, mut workflows) = records(client).await?;
    let id = target.map(|target| target.id.as_str());
    let own = OwnSources::find(file, mark, id, &sources, &workflows);
    body["triggers"] = triggers(client, file, mark, &own, &sources).await?;
    let kept = named_by(&body["triggers"]);
    let mut answer = match target {
        Some(target) => client.call(Method::PUT, &target.path(), &body).await?,
        None => create(client, file, mark, body).await?,
    };
    let workflow =
        Target { kind: Kind::Workflow, id: answer["data"]["id"].as_str().unwrap_or("").to_owned() };
    if !file.active() {
        answer = client.call(Method::PUT, &workflow.path(), &json!({ "active": false })).await?;
    }
    // `apply` deletes what its plan names.
    if !mark.on_workflow {
        workflows.retain(|w| w["id"] != workflow.id.as_str());
        own_sources::delete(client, &own.gone(mark, &kept, &workflows)).await?;
    }
    wanted.subscribe(client, &workflow.id).await?;
    if mark.on_workflow {
        let made_from = made_from(json!(file.fingerprints()));
        answer =
            client.call(Method::PUT, &workflow.path(), &json!({ "made_from": made_from })).await?;
    }
    for step in answer["data"]["steps"].as_array().into_iter().flatten() {
        let name = step["namespace"].as_str().unwrap_or_default();
        warnings::show(step, &format!("step `{name}`: "));
    }
    Ok(value::take(&mut answer, "data"))
}

/// Makes the workflow; where another deploy of the same folder made it meanwhile, that one becomes
/// what the file says.
async fn create(
    client: &Client,
    file: &WorkflowFile,
    mark: &Mark,
    mut body: Value,
) -> Result<Value, CliError> {
    // A mark that is taken is refused; a workflow without one is known by its name.
    if !mark.on_workflow {
        body["unique_name"] = json!(true);
    }
    let refused = match client.call(Method::POST, "/workflows", &body).await {
        Err(error) if error.is_taken() => error,
        made => return made,
    };
    if let Some(fields) = body.as_object_mut() {
        fields.remove("unique_name");
    }
    let target = if mark.on_workflow {
        let made = marked(&client.all("/workflows").await?, &mark.project, &mark.path)
            .map(|record| Target { kind: Kind::Workflow, id: text(&record["id"]) });
        Some(made.ok_or(refused)?)
    } else {
        client.find(Kind::Workflow, &file.name).await?
    };
    match target {
        Some(target) => client.call(Method::PUT, &target.path(), &body).await,
        // Another name comes to the same slug.
        None => client.call(Method::POST, "/workflows", &body).await,
    }
}

/// The record that was made from a file of a project, of a list that begins with the newest. Of
/// several it is the oldest one, whose address others know.
pub(crate) fn marked<'a>(records: &'a [Value], project: &str, path: &str) -> Option<&'a Value> {
    let made_from = |record: &&Value| {
        record["made_from"]["project"] == project && record["made_from"]["path"] == path
    };
    records.iter().rfind(made_from)
}

/// Ids of the sources among triggers as the API takes them.
fn named_by(triggers: &Value) -> Vec<String> {
    let sources = triggers.as_array().into_iter().flatten().filter(|t| t["type"] == "source");
    sources.map(|trigger| text(&trigger["id"])).collect()
}

/// The triggers as the API takes them.
async fn triggers(
    client: &Client,
    file: &WorkflowFile,
    mark: &Mark,
    own: &OwnSources,
    sources: &[Value],
) -> Result<Value, CliError> {
    let mut triggers = Vec::new();
    for (trigger, there) in file.list("triggers").iter().zip(&own.of_triggers) {
        if trigger["type"] != "source" {
            let mut trigger = trigger.clone();
            fill_in(&mut trigger, &file.path)?;
            if trigger["type"] == "http" && trigger["props"]["auth"].is_null() {
                // What the file does not say is set back.
                trigger["props"]["auth"] = json!({ "type": "none" });
            }
            triggers.push(trigger);
            continue;
        }
        let id = match trigger["source"].as_str().or(trigger["id"].as_str()) {
            Some(name) => client.resolve_kind(Kind::Source, name).await?.id,
            None => deployed(client, file, mark, trigger, there.as_ref(), sources).await?,
        };
        triggers.push(json!({ "type": "source", "id": id, "event_name": trigger["event_name"].as_str().unwrap_or("") }));
    }
    Ok(Value::Array(triggers))
}

/// The subscriptions that a file asks for, by ids; None where it says nothing of them.
struct Wanted {
    /// Emitters and streams.
    emitters: Option<Vec<(String, String)>>,
    /// Listeners to the errors.
    handlers: Option<Vec<Party>>,
}

enum Party {
    /// The workflow itself, which may not be there yet.
    Itself,
    Id(String),
}

impl Wanted {
    async fn find(client: &Client, file: &WorkflowFile) -> Result<Self, CliError> {
        let emitters = match file.value.get("subscriptions").and_then(Value::as_array) {
            None => None,
            Some(wanted) => {
                let mut emitters = Vec::new();
                for subscription in wanted {
                    let emitter = match subscription["emitter"].as_str().unwrap_or("") {
                        "organization" => organization(client).await?,
                        name if name.ends_with("_*") => name.to_owned(),
                        name => party(client, name.to_owned()).await?,
                    };
                    emitters.push((emitter, text(&subscription["event_name"])));
                }
                Some(emitters)
            }
        };
        let handlers = match file.value.get("error_handler") {
            None => None,
            Some(Value::String(name)) if *name == file.name => Some(vec![Party::Itself]),
            Some(Value::String(name)) => Some(vec![Party::Id(party(client, name.clone()).await?)]),
            Some(_) => Some(Vec::new()),
        };
        Ok(Self { emitters, handlers })
    }

    /// Makes the subscriptions what the file says.
    async fn subscribe(self, client: &Client, id: &str) -> Result<(), CliError> {
        if let Some(mut emitters) = self.emitters {
            // The sources of triggers stay: the deployment made these.
            let record = client.get(&format!("/workflows/{id}")).await?;
            let from_triggers = record["data"]["triggers"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|t| t["type"] == "source");
            emitters.extend(from_triggers.map(|t| (text(&t["id"]), text(&t["event_name"]))));
            let now = subscriptions(client).await?;
            let now = now
                .iter()
                .filter(|s| s["listener_id"] == id)
                .map(|s| (text(&s["emitter_id"]), text(&s["event_name"])));
            change(client, now.collect(), emitters, |(emitter, event_name)| {
                [emitter, id.to_owned(), event_name]
            })
            .await?;
        }
        let Some(handlers) = self.handlers else { return Ok(()) };
        let listeners = handlers.into_iter().map(|party| match party {
            Party::Itself => id.to_owned(),
            Party::Id(id) => id,
        });
        let automatic = client.get("/auto_subscriptions").await?;
        let is_automatic = |l: &str| {
            automatic["data"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|a| a["listener_id"] == l && a["event_name"] == ERRORS)
        };
        let now = subscriptions(client).await?;
        let now = now
            .iter()
            .filter(|s| s["emitter_id"] == id && s["event_name"] == ERRORS)
            .map(|s| text(&s["listener_id"]))
            .filter(|l| !is_automatic(l));
        change(client, now.collect(), listeners.collect(), |listener| {
            [id.to_owned(), listener, ERRORS.to_owned()]
        })
        .await
    }
}

/// Subscribes what is wanted and not there, and ends what is there and not wanted. `triple`:
/// emitter, listener, event name.
async fn change<T: PartialEq>(
    client: &Client,
    now: Vec<T>,
    wanted: Vec<T>,
    triple: impl Fn(T) -> [String; 3],
) -> Result<(), CliError> {
    let (gone, stays): (Vec<T>, Vec<T>) = now.into_iter().partition(|s| !wanted.contains(s));
    let new = wanted
        .into_iter()
        .filter(|s| !stays.contains(s))
        .map(|s| (Method::POST, s))
        .collect::<Vec<_>>();
    for (method, subscription) in
        new.into_iter().chain(gone.into_iter().map(|s| (Method::DELETE, s)))
    {
        let [emitter, listener, event_name] = triple(subscription);
        let query =
            [("emitter_id", emitter), ("listener_id", listener), ("event_name", event_name)];
        client.send(client.request(method, "/subscriptions")?.query(&query)).await?;
    }
    Ok(())
}

async fn subscriptions(client: &Client) -> Result<Vec<Value>, CliError> {
    Ok(client.get("/users/me/subscriptions").await?["data"].as_array().cloned().unwrap_or_default())
}

async fn organization(client: &Client) -> Result<String, CliError> {
    Ok(text(&client.get("/users/me").await?["data"]["orgs"][0]["id"]))
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or("").to_owned()
}

/// The workflow that was made from the file on this server, else the one of its name.
pub(crate) async fn existing(
    client: &Client,
    file: &WorkflowFile,
) -> Result<Option<Target>, CliError> {
    if let Some(id) = file.known_id(client.url()) {
        let target = Target { kind: Kind::Workflow, id };
        match client.get(&target.path()).await {
            Ok(_) => return Ok(Some(target)),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    client.find(Kind::Workflow, &file.name).await
}

/// The workflow that a folder, a file or a name means.
pub(crate) async fn named(client: &Client, what: &str) -> Result<Target, CliError> {
    let path = Path::new(what);
    if !crate::workflow::file::is_there(path) {
        return client.resolve_kind(Kind::Workflow, what).await;
    }
    let file = WorkflowFile::read(path)?;
    existing(client, &file).await?.ok_or_else(|| CliError::NotDeployed { name: file.name.clone() })
}
