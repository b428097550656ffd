//! Triggers and steps as they are asked for, and their way into a version.

use std::collections::BTreeSet;

use millrace_model::component::{Responds, SavedComponent};
use millrace_model::ids::{HttpInterfaceId, SourceId, StepId, TimerId, WorkflowId};
use millrace_model::props::{self, Site};
use millrace_model::schedule::Schedule;
use millrace_model::subscription::check_stream;
use millrace_model::tenant::Caller;
use millrace_model::workflow::{Step, Trigger, Workflow, WorkflowVersion};
use serde_json::{Value, json};

use crate::checks::checked_note;
use crate::deploy::requests::{SHOWN_OF_SOURCES, StepRequest, TriggerRequest};
use crate::deploy::settings::settings_of;
use crate::deploy::step_code::step_code;
use crate::deploy::updates::UpdateWorkflow;
use crate::run::program::BuiltSteps;
use crate::tenants::request_secrets::keep_credentials;
use crate::tenants::secrets::keep_sealed;
use crate::{Engine, EngineError};

/// Steps of a workflow.
const STEPS_MAX: usize = 100;
/// Triggers of a workflow.
const TRIGGERS_MAX: usize = 25;

/// Fields of a step's record that change nothing, here and on the hosted platform (facts 1.9).
const SHOWN_OF_STEPS: &[&str] = &[
    "id",
    "type",
    "lang",
    "component",
    "component_owner_id",
    "code_raw",
    "codeRaw",
    "codeConfigJson",
    "text_raw",
    "appConnections",
    "flat_params_visibility_json",
    "params_json",
    "authProvisionIdMap",
    "authProvisionIds",
    "warnings",
];
/// Fields of a trigger's record that say nothing of what it does.
const SHOWN_OF_TRIGGERS: &[&str] =
    &["key", "endpoint_url", "created_at", "updated_at", "schedule_changed_at"];
/// What an endpoint and a timer take.
const OF_ENDPOINTS: &[&str] = &["customResponse", "custom_response", "auth"];
const OF_TIMERS: &[&str] = &["intervalSeconds", "interval_seconds", "cron", "timezone"];
/// Refuses a field that nobody reads.
fn check_fields<'a>(
    field: &str,
    mut given: impl Iterator<Item = &'a String>,
    read: &[&str],
    shown: &[&str],
) -> Result<(), EngineError> {
    match given.find(|name| !read.contains(&name.as_str()) && !shown.contains(&name.as_str())) {
        Some(name) => Err(EngineError::unknown_field(field, name, read)),
        None => Ok(()),
    }
}

const OF_STEPS: &[&str] = &[
    "namespace",
    "component_key",
    "key",
    "component_id",
    "code",
    "code_files",
    "code_entry",
    "language",
    "props",
    "dynamic_props_id",
    "keep_secrets_of",
    "disabled",
    "note",
];

impl StepRequest {
    /// The step as a request says it, where it is a record that was read: the same component with
    /// the same values.
    fn read_back(&self, field: &str, before: &WorkflowVersion) -> Result<Self, EngineError> {
        let (mut step, mut beside) = (self.clone(), self.beside.clone());
        let saved = beside.remove("savedComponent").unwrap_or_default();
        let is_shown_key =
            step.component_key.is_none() || step.component_key.as_deref() == saved["key"].as_str();
        if let (Some(id), None, None, true) =
            (saved["id"].as_str(), &step.code, &step.component_id, is_shown_key)
        {
            (step.component_id, step.component_key) = (Some(id.to_owned()), None);
        }
        if let Some(text) = beside.remove("configured_props_json").filter(|text| !text.is_null())
            && step.props.is_empty()
        {
            let name = format!("{field}.configured_props_json");
            let read = text.as_str().and_then(|text| millrace_model::json::from_str(text).ok());
            step.props = read.ok_or_else(|| {
                EngineError::invalid(&name, "`configured_props_json` is a JSON text of an object")
            })?;
        }
        let has_sealed = beside
            .remove("sealed_props")
            .is_some_and(|sealed| sealed.as_array().is_some_and(|names| !names.is_empty()));
        if has_sealed
            && step.keep_secrets_of.is_none()
            && before.steps.iter().any(|s| s.namespace == step.namespace)
        {
            step.keep_secrets_of = Some(step.namespace.clone());
        }
        check_fields(field, beside.keys(), OF_STEPS, SHOWN_OF_STEPS)?;
        Ok(step)
    }
}

impl Engine {
    /// Refuses an id of a trigger or step that is none of the workflow's: of its draft or of a
    /// version that was deployed.
    pub(crate) async fn check_ids(
        &self,
        workflow: &Workflow,
        update: &UpdateWorkflow,
    ) -> Result<(), EngineError> {
        let triggers =
            update.triggers.iter().flatten().enumerate().filter_map(|(index, trigger)| {
                let id = trigger.id.as_deref()?;
                let fits = match trigger.kind.as_str() {
                    "http" => id.parse::<HttpInterfaceId>().is_ok(),
                    "timer" => id.parse::<TimerId>().is_ok(),
                    _ => return None,
                };
                Some((format!("triggers[{index}].id"), id, fits))
            });
        let steps = update.steps.iter().flatten().enumerate().filter_map(|(index, step)| {
            let id = step.beside.get("id")?.as_str()?;
            Some((format!("steps[{index}].id"), id, id.parse::<StepId>().is_ok()))
        });
        let own: BTreeSet<&str> = workflow.draft.ids().collect();
        for (field, id, fits) in
            triggers.chain(steps).filter(|(_, id, fits)| !(*fits && own.contains(id)))
        {
            if !fits || !self.0.store.was_deployed_with(&workflow.org_id, &workflow.id, id).await? {
                let id = millrace_model::shown(id);
                let message = format!(
                    "`{field}` is `{id}`, which is no part of this workflow's draft or of a version that was deployed; leave the id out, and a new part is made"
                );
                return Err(EngineError::invalid(&field, message));
            }
        }
        Ok(())
    }

    /// Checks and builds; stores nothing. `before`: whose ids, endpoints and timers are kept where
    /// they still fit.
    pub(crate) async fn build_version(
        &self,
        caller: &Caller,
        workflow: &WorkflowId,
        before: &WorkflowVersion,
        update: &UpdateWorkflow,
    ) -> Result<(WorkflowVersion, BuiltSteps), EngineError> {
        let settings = match &update.settings {
            Some(request) => settings_of(request, &before.settings, &self.0.config)?,
            None => before.settings.clone(),
        };
        let mut built = Vec::new();
        let (steps, responds) = match &update.steps {
            Some(requests) => {
                self.build_steps(caller, workflow, before, requests, &mut built).await?
            }
            None => (before.steps.clone(), self.respond(&before.steps).await?),
        };
        let mut triggers = match &update.triggers {
            Some(requests) => self.build_triggers(caller, workflow, before, requests).await?,
            None => before.triggers.clone(),
        };
        for trigger in &mut triggers {
            let Trigger::Http { custom_response, asked, may_respond, .. } = trigger else {
                continue;
            };
            // Stored before that was known apart: what the steps before explain was not asked for.
            let is_asked = match *asked {
                Some(asked) => asked,
                None => *custom_response && self.respond(&before.steps).await? != Responds::Surely,
            };
            *asked = Some(is_asked);
            *custom_response = is_asked || responds == Responds::Surely;
            *may_respond = responds == Responds::Perhaps;
        }
        Ok((WorkflowVersion { triggers, steps, settings }, built))
    }

    async fn build_steps(
        &self,
        caller: &Caller,
        workflow: &WorkflowId,
        before: &WorkflowVersion,
        requests: &[StepRequest],
        built: &mut BuiltSteps,
    ) -> Result<(Vec<Step>, Responds), EngineError> {
        if requests.len() > STEPS_MAX {
            return Err(EngineError::invalid(
                "steps",
                format!("a workflow has at most {STEPS_MAX} steps, {} were given", requests.len()),
            ));
        }
        let mut names = BTreeSet::new();
        let mut steps = Vec::with_capacity(requests.len());
        let mut responds = Responds::Never;
        for (index, request) in requests.iter().enumerate() {
            let field = format!("steps[{index}]");
            let request = &request.read_back(&field, before)?;
            check_namespace(&field, &request.namespace)?;
            if !names.insert(request.namespace.clone()) {
                return Err(EngineError::invalid(
                    &format!("{field}.namespace"),
                    format!("the namespace `{}` is used by two steps", request.namespace),
                ));
            }
            let code = step_code(&field, request)?;
            let step_before = before.steps.iter().find(|s| s.namespace == request.namespace);
            let earlier = match step_before {
                Some(step) => self.0.store.component(&caller.org_id, &step.component_id).await?,
                None => None,
            };
            let (component, artifact) = self
                .resolve_component(caller, &code, earlier.as_ref())
                .await
                .map_err(|e| in_step(e, &request.namespace))?;
            check_step_component(&request.namespace, &component)?;
            if !request.disabled {
                responds = responds.max(match &artifact {
                    Some(artifact) => artifact.responds,
                    None => self.responds(&component.artifact_id).await?,
                });
            }
            let form = request.form.as_deref();
            let of_form = self.0.forms.previous(caller, &component.artifact_id, form).await;
            let of_form = of_form.map_err(|e| in_step(e, &request.namespace))?;
            let previous = of_form
                .as_deref()
                .or_else(|| step_before.and_then(|step| step.dynamic_props.as_deref()));
            let (dynamic_props, dynamic_props_refused) =
                self.step_definitions(caller, &component, &request.props, previous).await;
            let defs = dynamic_props.as_ref().unwrap_or(&component.manifest.props);
            let checked = self.0.prop_values.check(caller, defs, &request.props, Site::Step).await;
            let mut values = checked.map_err(|e| in_step(e, &request.namespace))?;
            let mut kept = step_before;
            if let Some(name) = &request.keep_secrets_of {
                let named = before.steps.iter().find(|s| s.namespace == *name).ok_or_else(|| {
                    let has: Vec<_> = before.steps.iter().map(|s| s.namespace.as_str()).collect();
                    EngineError::invalid(
                        &format!("{field}.keep_secrets_of"),
                        format!("neither the draft nor a version that was deployed has a step `{name}`; the draft has {}", has.join(", ")),
                    )
                })?;
                keep_sealed(defs, &request.props, &named.props, &mut values);
                kept = Some(named);
            }
            let stored = kept.map(|step| step.props.clone()).unwrap_or_default();
            keep_credentials(&stored, &mut values).map_err(|e| in_step(e, &request.namespace))?;
            self.0.keyring.seal_props(&self.0.ids, workflow.as_str(), defs, &mut values)?;
            let id =
                step_before.map_or_else(|| StepId::generate(&self.0.ids), |step| step.id.clone());
            steps.push(Step {
                id,
                namespace: request.namespace.clone(),
                component_id: component.id.clone(),
                component_key: component.manifest.key.clone(),
                artifact_id: component.artifact_id.clone(),
                dynamic_props,
                dynamic_props_refused,
                props: values,
                disabled: request.disabled,
                note: checked_note(&format!("{field}.note"), request.note.clone())?,
            });
            if let Some(artifact) = artifact {
                built.push((component, artifact));
            }
        }
        Ok((steps, responds))
    }

    async fn build_triggers(
        &self,
        caller: &Caller,
        workflow: &WorkflowId,
        before: &WorkflowVersion,
        requests: &[TriggerRequest],
    ) -> Result<Vec<Trigger>, EngineError> {
        if requests.len() > TRIGGERS_MAX {
            return Err(EngineError::invalid(
                "triggers",
                format!(
                    "a workflow has at most {TRIGGERS_MAX} triggers, {} were given",
                    requests.len()
                ),
            ));
        }
        // What a request names belongs to it; triggers that name nothing take the others in their
        // order.
        let named: BTreeSet<&str> = requests.iter().filter_map(|r| r.id.as_deref()).collect();
        let mut kept_http: Vec<_> = before
            .triggers
            .iter()
            .filter_map(|t| match t {
                Trigger::Http { id, key, auth, asked, custom_response, .. } => {
                    Some((id.clone(), key.clone(), auth.clone(), *asked, *custom_response))
                }
                _ => None,
            })
            .collect();
        let mut kept_timers: Vec<_> = before
            .triggers
            .iter()
            .filter_map(|t| match t {
                Trigger::Timer { id, schedule } => Some((id.clone(), schedule.clone())),
                _ => None,
            })
            .collect();
        let mut triggers = Vec::with_capacity(requests.len());
        for (index, request) in requests.iter().enumerate() {
            let field = format!("triggers[{index}]");
            triggers.push(match request.kind.as_str() {
                "http" => {
                    check_fields(&field, request.beside.keys(), OF_ENDPOINTS, SHOWN_OF_TRIGGERS)?;
                    check_fields(&format!("{field}.props"), request.props.keys(), OF_ENDPOINTS, &[])?;
                    let by_id = request.id.as_deref().and_then(|given| kept_http.iter().position(|kept| kept.0.as_str() == given));
                    let at = by_id.or_else(|| kept_http.iter().position(|kept| !named.contains(kept.0.as_str())));
                    let (id, key, auth, was_asked, did_respond) = match at {
                        Some(at) => kept_http.remove(at),
                        None => (HttpInterfaceId::generate(&self.0.ids), self.new_endpoint_key(), None, Some(false), false),
                    };
                    let settings = request.settings();
                    let given = ["customResponse", "custom_response"].iter().find_map(|name| settings.get(*name));
                    let (asked, custom_response) = match given {
                        None if by_id.is_some() => (was_asked, did_respond),
                        given => (Some(given == Some(&Value::Bool(true))), false),
                    };
                    let auth = self.endpoint_auth(&field, workflow, settings.get("auth"), auth.as_ref())?;
                    Trigger::Http { id, key, custom_response, asked, may_respond: false, auth }
                }
                "timer" => {
                    check_fields(&field, request.beside.keys(), OF_TIMERS, SHOWN_OF_TRIGGERS)?;
                    check_fields(&format!("{field}.props"), request.props.keys(), OF_TIMERS, &[])?;
                    let timer = Value::Object(request.settings());
                    if let Some(reason) = props::passed_over_by_timer(&timer) {
                        return Err(EngineError::invalid(&field, format!("`{field}` is no schedule: {reason}")));
                    }
                    let read = props::parse_timer(&timer, self.now());
                    let schedule = read.map_err(EngineError::schedule_of(&field))?.ok_or_else(|| {
                        EngineError::missing(&format!("{field}.props"), "a timer needs `intervalSeconds` or `cron`, such as {\"intervalSeconds\": 60}")
                    })?;
                    let same = |kept: &(TimerId, Schedule)| kept.1 == schedule;
                    let by_id = request.id.as_deref().and_then(|given| kept_timers.iter().position(|kept| kept.0.as_str() == given && same(kept)));
                    let at = by_id.or_else(|| kept_timers.iter().position(|kept| !named.contains(kept.0.as_str()) && same(kept)));
                    let id = at.map_or_else(|| TimerId::generate(&self.0.ids), |at| kept_timers.remove(at).0);
                    Trigger::Timer { id, schedule }
                }
                "source" => {
                    check_fields(&field, request.beside.keys(), &["type", "id", "event_name"], SHOWN_OF_SOURCES)?;
                    check_fields(&format!("{field}.props"), request.props.keys(), &[], &[])?;
                    let given = request
                        .id
                        .as_deref()
                        .ok_or_else(|| EngineError::missing(&format!("{field}.id"), "a source trigger needs the `id` of a deployed source"))?;
                    let id: SourceId = given.parse().map_err(|_| EngineError::not_found("source", given))?;
                    self.owned_source(caller, &id).await?;
                    let event_name = request.event_name.clone().unwrap_or_default();
                    check_stream(given, &event_name).map_err(|refused| EngineError::invalid(&format!("{field}.event_name"), refused))?;
                    Trigger::Source { id, event_name }
                }
                other => {
                    return Err(EngineError::invalid(
                        &format!("{field}.type"),
                        format!("`{other}` is not a trigger type; allowed are `http`, `timer` and `source`"),
                    ));
                }
            });
        }
        Ok(triggers)
    }
}

fn check_namespace(field: &str, name: &str) -> Result<(), EngineError> {
    let fits = name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if fits && name != "trigger" {
        return Ok(());
    }
    let shown = millrace_model::shown(name);
    Err(EngineError::invalid(
        &format!("{field}.namespace"),
        format!(
            "`{shown}` is not a name for a step; allowed are up to 64 letters, digits and `_`, not starting with a digit, and not `trigger`"
        ),
    ))
}

/// A step's own code may be a bare `defineComponent({ run })`; a published action is checked when
/// it is published.
fn check_step_component(namespace: &str, component: &SavedComponent) -> Result<(), EngineError> {
    if component.manifest.component_type.as_deref() == Some("source") {
        return Err(EngineError::Component {
            code: "not_an_action",
            message: format!(
                "the step `{namespace}` names a source; a step runs an action or code of its own"
            ),
            details: json!({ "step": namespace }),
        });
    }
    if !component.manifest.has_run {
        return Err(EngineError::Component {
            code: "invalid_component",
            message: format!(
                "the code of the step `{namespace}` has no `run` method; it needs `export default defineComponent({{ async run({{ steps, $ }}) {{ … }} }})`"
            ),
            details: json!({ "step": namespace }),
        });
    }
    Ok(())
}

fn in_step(error: EngineError, namespace: &str) -> EngineError {
    let with_step = |mut details: Value| {
        details["step"] = json!(namespace);
        details
    };
    match error {
        EngineError::Component { code, message, details } => EngineError::Component {
            code,
            message: format!("step `{namespace}`: {message}"),
            details: with_step(details),
        },
        EngineError::Invalid { code, message, details } => EngineError::Invalid {
            code,
            message: format!("step `{namespace}`: {message}"),
            details: with_step(details),
        },
        other => other,
    }
}
