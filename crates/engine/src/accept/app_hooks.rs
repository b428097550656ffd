//! Events of apps, for `$.interface.apphook` props: a program that receives the events of all users
//! of a provider hands each over by app and event name; this module decides which sources it
//! starts.

use std::sync::Arc;

use millrace_model::component::PropDef;
use millrace_model::ids::{OrgId, SourceId};
use millrace_model::prop_type::PropType;
use millrace_model::run::Start;
use millrace_model::source::{AppHook, Owner};
use millrace_model::tenant::Caller;
use serde_json::{Map, Value, json};

use crate::deploy::configure::{Subject, failure_text};
use crate::run::context::Origin;
use crate::{Engine, EngineError};

const APPHOOK: &str = "$.interface.apphook";
/// Names that one prop listens for, and that one event has.
const NAMES_MAX: usize = 500;
/// A longer name is none; names are parts of the database's indexes.
const NAME_BYTES_MAX: usize = 300;
/// The largest event.
pub(crate) const EVENT_BYTES_MAX: usize = 1 << 20;

/// An event of an app.
#[derive(Clone, Debug)]
pub struct AppEvent {
    /// The app's slug.
    pub app: String,
    /// What sources may listen for it by.
    pub names: Vec<String>,
    /// What code gets.
    pub event: Value,
}

impl Engine {
    /// Starts the sources that listen for an event of an app; gives their ids.
    pub async fn deliver_app_event(
        &self,
        caller: &Caller,
        event: AppEvent,
    ) -> Result<Vec<SourceId>, EngineError> {
        if event.names.is_empty()
            || event.names.len() > NAMES_MAX
            || event.names.iter().any(|name| !is_name(name))
        {
            return Err(EngineError::invalid(
                "event_name",
                format!("an event has 1 to {NAMES_MAX} names of 1 to {NAME_BYTES_MAX} bytes"),
            ));
        }
        let text: Arc<str> = event.event.to_string().into();
        if text.len() > EVENT_BYTES_MAX {
            return Err(EngineError::TooLarge {
                message: format!("the event is larger than {EVENT_BYTES_MAX} bytes"),
            });
        }
        let app = self.apps().get(caller, &event.app).await?;
        let (mut started, mut refused) = (Vec::new(), None);
        for owner in
            self.0.store.app_hook_owners(&caller.org_id, &app.name_slug, &event.names).await?
        {
            let (Owner::Source(id), Some(program)) =
                (&owner, self.live_program(&caller.org_id, &owner).await?)
            else {
                continue;
            };
            let origin = Origin::first("APPHOOK", app.id.as_str());
            let run = self.new_run(
                &program,
                &origin,
                text.clone(),
                Start::Claimed { lease_until: self.lease_until() },
            )?;
            match self.accept_event(run, program, None).await {
                Ok(_) => started.push(id.clone()),
                Err(error) if error.is_of_server() => return Err(error),
                // One source whose queue is full keeps the event from no other.
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) if started.is_empty() => Err(error),
            _ => Ok(started),
        }
    }

    /// What the props listen for, and their values for the record. `values`: opened.
    pub(crate) async fn app_hooks_of(
        &self,
        caller: &Caller,
        subject: &Subject<'_>,
        defs: &[PropDef],
        values: &mut Map<String, Value>,
    ) -> Result<Vec<(String, String)>, EngineError> {
        let mut hooks = Vec::new();
        for def in defs.iter().filter(|def| def.is(PropType::AppHook)) {
            let refused = |message: String| EngineError::Component {
                code: "app_hook_failed",
                message,
                details: json!({ "prop": def.name }),
            };
            let app_prop = def.rest.get("appProp").and_then(Value::as_str).unwrap_or("");
            let app = defs
                .iter()
                .find(|d| d.name == app_prop && d.is(PropType::App))
                .and_then(|d| d.rest.get("app")?.as_str());
            let app = app.ok_or_else(|| {
                refused(format!(
                    "the prop `{}` names no app: `appProp` is `{app_prop}`, which is no app prop",
                    def.name
                ))
            })?;
            let names = match def.rest.get("eventNames") {
                Some(names) => names.clone(),
                None => {
                    let answer = self
                        .ask(
                            caller,
                            subject,
                            json!({ "kind": "options", "prop": def.name, "page": 0 }),
                            values,
                            Some(defs),
                            &mut Vec::new(),
                        )
                        .await?;
                    let answer = answer.map_err(|failure| {
                        refused(format!(
                            "the prop `{}` could not say which events it listens for: {}",
                            def.name,
                            failure_text(&failure)
                        ))
                    })?;
                    answer["options"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .map(|option| option["value"].clone())
                        .collect()
                }
            };
            let names: Vec<&str> =
                names.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if names.len() > NAMES_MAX || names.iter().any(|name| !is_name(name)) {
                return Err(refused(format!(
                    "the prop `{}` listens for too much: allowed are {NAMES_MAX} names of 1 to {NAME_BYTES_MAX} bytes",
                    def.name
                )));
            }
            values.insert(def.name.clone(), json!({ "type": APPHOOK, "event_names": names }));
            // Without names it hears all of the app.
            let all = if names.is_empty() { vec![""] } else { names };
            hooks.extend(all.into_iter().map(|name| (app.to_owned(), name.to_owned())));
        }
        hooks.sort();
        hooks.dedup();
        Ok(hooks)
    }
}

/// Hooks that wait for their source to become active.
pub(crate) fn waiting(
    hooks: Vec<(String, String)>,
    org: &OrgId,
    source: &SourceId,
) -> Vec<AppHook> {
    let owner = Owner::Source(source.clone());
    hooks
        .into_iter()
        .map(|(app, event_name)| AppHook {
            org_id: org.clone(),
            owner: owner.clone(),
            app,
            event_name,
            active: false,
        })
        .collect()
}

fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len())
}
