//! Triggers, steps and settings as they are asked for, and their way into a version.

use std::collections::{BTreeMap, BTreeSet};

use millrace_model::component::{Artifact, SavedComponent};
use millrace_model::ids::{HttpInterfaceId, SourceId, StepId, TimerId, WorkflowId};
use millrace_model::limits::{RETRIES_MAX, RETRY_FIRST_MS, Retry, Throttle};
use millrace_model::made_from::MadeFrom;
use millrace_model::props::{self, Site};
use millrace_model::tenant::Caller;
use millrace_model::workflow::{Settings, Step, Trigger, WorkflowVersion};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::deploy::components::CodeRef;
use crate::deploy::configure::Subject;
use crate::{Engine, EngineError};

/// Steps of a workflow.
const STEPS_MAX: usize = 100;
/// Triggers of a workflow.
const TRIGGERS_MAX: usize = 25;
/// The longest wall-clock limit that a workflow may set, milliseconds.
const TIMEOUT_MS_MAX: u64 = 750_000;
/// The largest heap that a workflow may ask for, MiB.
const MEMORY_MB_MAX: u32 = 10_240;

/// Recipients of mails about errors.
const RECIPIENTS_MAX: usize = 10;
/// The largest number of runs that a limit may name.
const LIMIT_MAX: u32 = 10_000;
/// The longest interval of a throttle, milliseconds: 10,000 hours.
const INTERVAL_MS_MAX: u64 = 10_000 * 3_600_000;
/// The longest wait before a first retry, milliseconds.
const RETRY_WAIT_MS_MAX: u64 = RETRY_FIRST_MS;

/// A trigger in a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TriggerRequest {
    /// `http`, `timer` or `source`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The source's id; of an endpoint or timer: the one to keep.
    pub id: Option<String>,
    /// A timer's `intervalSeconds` or `cron`, or an endpoint's `customResponse`.
    pub props: Map<String, Value>,
    /// The source's channel.
    pub event_name: Option<String>,
    /// What stands beside `props`, where records show it: it counts as if it stood there, so that what was read can be written back.
    #[serde(flatten)]
    pub beside: Map<String, Value>,
}

impl TriggerRequest {
    fn settings(&self) -> Map<String, Value> {
        self.beside.iter().chain(&self.props).map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// A step in a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StepRequest {
    /// Its name in `steps.<namespace>`.
    pub namespace: String,
    /// A published action.
    #[serde(alias = "key")]
    pub component_key: Option<String>,
    /// A saved action.
    pub component_id: Option<String>,
    /// Code of its own.
    pub code: Option<String>,
    /// Files that the code's relative imports reach.
    pub code_files: Option<BTreeMap<String, String>>,
    /// The code's path among them.
    pub code_entry: Option<String>,
    /// Values by prop name; may hold `{{expressions}}`.
    pub props: Map<String, Value>,
    /// The id of the form that they were filled in with.
    #[serde(rename = "dynamic_props_id")]
    pub form: Option<String>,
    /// Skipped when true.
    pub disabled: bool,
}

/// Settings in a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SettingsRequest {
    /// The workflow's name.
    pub name: Option<String>,
    /// Whether it is deployed at once; default true.
    pub auto_deploy: Option<bool>,
    /// Wall-clock limit of a run.
    pub timeout_ms: Option<Choice<u64>>,
    /// Heap limit in MiB.
    pub memory_mb: Option<Choice<u32>>,
    /// Whether errors are mailed; default true.
    pub error_notification: Option<bool>,
    /// Who gets those mails; an empty list: the owner.
    pub error_recipients: Option<Vec<String>>,
    /// Whether events, results and logs are kept after a run has ended; default true.
    pub keep_data: Option<bool>,
    /// Whether a failed step is run again: `true`, or `{max, first_ms}`.
    pub auto_retry: Option<Choice<Retry>>,
    /// Runs at once.
    pub concurrency: Option<Choice<u32>>,
    /// `{runs, interval_ms}`: how many start in each interval.
    pub throttle: Option<Choice<Throttle>>,
    /// Runs that may wait in the queue.
    pub queue_max: Option<Choice<u32>>,
}

/// A setting that can be taken away with `false`.
#[derive(Clone, Debug)]
pub enum Choice<T> {
    /// `false`: none. `true`: the usual value, where there is one.
    Flag(bool),
    /// A value.
    Value(T),
}

/// By hand, as serde's own tells of neither form what is wrong with it.
impl<'de, T: DeserializeOwned> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(flag) => Ok(Self::Flag(flag)),
            value => serde_json::from_value(value).map(Self::Value).map_err(D::Error::custom),
        }
    }
}

/// A workflow to be made.
#[derive(Clone, Debug, Default)]
pub struct NewWorkflow {
    /// The project; the organization's own where none.
    pub project_id: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// What starts it.
    pub triggers: Vec<TriggerRequest>,
    /// What it does.
    pub steps: Vec<StepRequest>,
    /// Its settings.
    pub settings: SettingsRequest,
    /// Whether it is deployed at once.
    pub auto_deploy: bool,
    /// The folder it is made from.
    pub made_from: Option<MadeFrom>,
}

/// What changes of a workflow; None stays.
#[derive(Clone, Debug, Default)]
pub struct UpdateWorkflow {
    /// Whether its triggers work.
    pub active: Option<bool>,
    /// Its name.
    pub name: Option<String>,
    /// All triggers.
    pub triggers: Option<Vec<TriggerRequest>>,
    /// All steps.
    pub steps: Option<Vec<StepRequest>>,
    /// Its settings.
    pub settings: Option<SettingsRequest>,
    /// The folder it is made from; none: whoever asks knows of no folder, and what the record says of one is no longer all of it.
    pub made_from: Option<MadeFrom>,
}

/// What was built for a version and is stored with it.
pub(crate) type BuiltSteps = Vec<(SavedComponent, Artifact)>;

impl Engine {
    /// Checks and builds; stores nothing. `before`: whose ids, endpoints and timers are kept where they still fit.
    pub(crate) async fn build_version(
        &self,
        caller: &Caller,
        workflow: &WorkflowId,
        before: &WorkflowVersion,
        update: &UpdateWorkflow,
    ) -> Result<(WorkflowVersion, BuiltSteps), EngineError> {
        let settings = match &update.settings {
            Some(request) => settings_of(request, &before.settings)?,
            None => before.settings.clone(),
        };
        let mut built = Vec::new();
        let mut responds = false;
        let steps = match &update.steps {
            Some(requests) => self.build_steps(caller, workflow, before, requests, &mut built, &mut responds).await?,
            None => {
                responds = crate::run::program::custom_response(&before.triggers);
                before.steps.clone()
            }
        };
        let mut triggers = match &update.triggers {
            Some(requests) => self.build_triggers(caller, workflow, before, requests).await?,
            None => before.triggers.clone(),
        };
        for trigger in &mut triggers {
            if let Trigger::Http { custom_response, .. } = trigger {
                *custom_response = *custom_response || responds;
            }
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
        responds: &mut bool,
    ) -> Result<Vec<Step>, EngineError> {
        if requests.len() > STEPS_MAX {
            return Err(EngineError::invalid("steps", format!("a workflow has at most {STEPS_MAX} steps, {} were given", requests.len())));
        }
        let mut names = BTreeSet::new();
        let mut steps = Vec::with_capacity(requests.len());
        for (index, request) in requests.iter().enumerate() {
            let field = format!("steps[{index}]");
            check_namespace(&field, &request.namespace)?;
            if !names.insert(request.namespace.clone()) {
                return Err(EngineError::invalid(&format!("{field}.namespace"), format!("the namespace `{}` is used by two steps", request.namespace)));
            }
            let code = step_code(&field, request)?;
            let step_before = before.steps.iter().find(|s| s.namespace == request.namespace);
            let earlier = match step_before {
                Some(step) => self.0.store.component(&caller.org_id, &step.component_id).await?,
                None => None,
            };
            let (component, artifact) = self.resolve_component(caller, &code, earlier.as_ref()).await.map_err(|e| in_step(e, &request.namespace))?;
            check_step_component(&request.namespace, &component)?;
            *responds |= match &artifact {
                Some(artifact) => artifact.uses_respond,
                None => self.0.store.artifact(&component.artifact_id).await?.is_some_and(|a| a.uses_respond),
            };
            // Values that are expressions are known only in a run: code that cannot do without them says so there.
            let told = self.told_before(caller, &component.artifact_id, request.form.as_deref()).await.map_err(|e| in_step(e, &request.namespace))?;
            let previous = told.as_deref().or_else(|| step_before.and_then(|step| step.dynamic_props.as_deref()));
            let dynamic_props = self.definitions(caller, &Subject::new(&component), &request.props, previous).await.unwrap_or_default();
            let defs = dynamic_props.as_ref().unwrap_or(&component.manifest.props);
            let checked = self.checked_values(&caller.org_id, defs, &request.props, Site::Step).await;
            let mut values = checked.map_err(|e| in_step(e, &request.namespace))?;
            self.0.keyring.seal_props(&self.0.ids, workflow.as_str(), defs, &mut values)?;
            let id = step_before.map_or_else(|| StepId::generate(&self.0.ids), |step| step.id.clone());
            steps.push(Step {
                id,
                namespace: request.namespace.clone(),
                component_id: component.id.clone(),
                artifact_id: component.artifact_id.clone(),
                dynamic_props,
                props: values,
                disabled: request.disabled,
            });
            if let Some(artifact) = artifact {
                built.push((component, artifact));
            }
        }
        Ok(steps)
    }

    async fn build_triggers(
        &self,
        caller: &Caller,
        workflow: &WorkflowId,
        before: &WorkflowVersion,
        requests: &[TriggerRequest],
    ) -> Result<Vec<Trigger>, EngineError> {
        if requests.len() > TRIGGERS_MAX {
            return Err(EngineError::invalid("triggers", format!("a workflow has at most {TRIGGERS_MAX} triggers, {} were given", requests.len())));
        }
        let mut kept_http = before.triggers.iter().filter_map(|t| match t {
            Trigger::Http { id, key, auth, .. } => Some((id.clone(), key.clone(), auth.clone())),
            _ => None,
        });
        let mut kept_timers = before.triggers.iter().filter_map(|t| match t {
            Trigger::Timer { id, schedule } => Some((id.clone(), schedule.clone())),
            _ => None,
        });
        let mut triggers = Vec::with_capacity(requests.len());
        for (index, request) in requests.iter().enumerate() {
            let field = format!("triggers[{index}]");
            triggers.push(match request.kind.as_str() {
                "http" => {
                    let custom_response = ["customResponse", "custom_response"].iter().any(|k| request.settings().get(*k) == Some(&Value::Bool(true)));
                    let (id, key, auth) = kept_http.next().unwrap_or_else(|| (HttpInterfaceId::generate(&self.0.ids), self.new_endpoint_key(), None));
                    let auth = self.endpoint_auth(&field, workflow, request.settings().get("auth"), auth.as_ref())?;
                    Trigger::Http { id, key, custom_response, auth }
                }
                "timer" => {
                    let schedule = props::parse_timer(&Value::Object(request.settings()), self.now())?.ok_or_else(|| {
                        EngineError::missing(&format!("{field}.props"), "a timer needs `intervalSeconds` or `cron`, such as {\"intervalSeconds\": 60}")
                    })?;
                    let id = match kept_timers.next() {
                        Some((id, before)) if before == schedule => id,
                        _ => TimerId::generate(&self.0.ids),
                    };
                    Trigger::Timer { id, schedule }
                }
                "source" => {
                    let given = request
                        .id
                        .as_deref()
                        .ok_or_else(|| EngineError::missing(&format!("{field}.id"), "a source trigger needs the `id` of a deployed source"))?;
                    let id: SourceId = given.parse().map_err(|_| EngineError::not_found("source", given))?;
                    self.owned_source(caller, &id).await?;
                    Trigger::Source { id, event_name: request.event_name.clone().unwrap_or_default() }
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

fn settings_of(request: &SettingsRequest, before: &Settings) -> Result<Settings, EngineError> {
    let timeout_ms = chosen("timeout_ms", &request.timeout_ms, before.timeout_ms.as_ref(), None)?;
    let memory_mb = chosen("memory_mb", &request.memory_mb, before.memory_mb.as_ref(), None)?;
    if let Some(ms) = timeout_ms.filter(|ms| !(1..=TIMEOUT_MS_MAX).contains(ms)) {
        return Err(EngineError::invalid("settings.timeout_ms", format!("`{ms}` is not a wall-clock limit; allowed are 1 to {TIMEOUT_MS_MAX} milliseconds")));
    }
    if let Some(mb) = memory_mb.filter(|mb| !(64..=MEMORY_MB_MAX).contains(mb)) {
        return Err(EngineError::invalid("settings.memory_mb", format!("`{mb}` is not a memory limit; allowed are 64 to {MEMORY_MB_MAX} MiB")));
    }
    let auto_retry = chosen("auto_retry", &request.auto_retry, before.auto_retry.as_ref(), Some(Retry::default()))?;
    if let Some(retry) = auto_retry.as_ref().filter(|r| !(1..=RETRIES_MAX).contains(&r.max) || !(1..=RETRY_WAIT_MS_MAX).contains(&r.first_ms)) {
        let message = format!(
            "`{{max: {}, first_ms: {}}}` are no retries; allowed are 1 to {RETRIES_MAX} of them, the first after 1 to {RETRY_WAIT_MS_MAX} milliseconds",
            retry.max, retry.first_ms
        );
        return Err(EngineError::invalid("settings.auto_retry", message));
    }
    let concurrency = chosen("concurrency", &request.concurrency, before.concurrency.as_ref(), None)?;
    let throttle = chosen("throttle", &request.throttle, before.throttle.as_ref(), None)?;
    let queue_max = chosen("queue_max", &request.queue_max, before.queue_max.as_ref(), None)?;
    for (name, value) in [("concurrency", concurrency), ("queue_max", queue_max)] {
        if let Some(value) = value.filter(|v| !(1..=LIMIT_MAX).contains(v)) {
            return Err(EngineError::invalid(
                &format!("settings.{name}"),
                format!("`{value}` is not a limit; allowed are 1 to {LIMIT_MAX}, or `false` for none"),
            ));
        }
    }
    if let Some(t) = throttle.filter(|t| t.runs > LIMIT_MAX || !(1..=INTERVAL_MS_MAX).contains(&t.interval_ms)) {
        let message = format!(
            "`{{runs: {}, interval_ms: {}}}` is not a throttle; allowed are 0 to {LIMIT_MAX} runs in 1 to {INTERVAL_MS_MAX} milliseconds, or `false` for none",
            t.runs, t.interval_ms
        );
        return Err(EngineError::invalid("settings.throttle", message));
    }
    Ok(Settings {
        auto_retry,
        concurrency,
        throttle,
        queue_max,
        timeout_ms,
        memory_mb,
        error_notification: request.error_notification.unwrap_or(before.error_notification),
        error_recipients: match &request.error_recipients {
            Some(given) => recipients("settings.error_recipients", given)?,
            None => before.error_recipients.clone(),
        },
        keep_data: request.keep_data.unwrap_or(before.keep_data),
    })
}

/// Addresses that mails about errors go to, each written as one.
pub(crate) fn recipients(field: &str, given: &[String]) -> Result<Vec<String>, EngineError> {
    let mut all: Vec<String> = Vec::with_capacity(given.len());
    for text in given {
        let mailbox: lettre::message::Mailbox = text.parse().map_err(|_| {
            let shown: String = text.chars().take(80).collect();
            EngineError::invalid(field, format!("`{shown}` is not an e-mail address; allowed are such as me@example.com, each an item of the list"))
        })?;
        let text = mailbox.to_string();
        if !all.contains(&text) {
            all.push(text);
        }
    }
    if all.len() > RECIPIENTS_MAX {
        return Err(EngineError::invalid(field, format!("{} recipients were given; allowed are at most {RECIPIENTS_MAX}", all.len())));
    }
    Ok(all)
}

/// A setting from now on; not given, it stays. `usual`: what `true` stands for.
fn chosen<T: Clone>(name: &str, given: &Option<Choice<T>>, before: Option<&T>, usual: Option<T>) -> Result<Option<T>, EngineError> {
    match given {
        None => Ok(before.cloned()),
        Some(Choice::Flag(false)) => Ok(None),
        Some(Choice::Flag(true)) => match usual {
            Some(usual) => Ok(Some(usual)),
            None => Err(EngineError::invalid(&format!("settings.{name}"), format!("`{name}` needs a value, or `false` for none"))),
        },
        Some(Choice::Value(value)) => Ok(Some(value.clone())),
    }
}

fn check_namespace(field: &str, name: &str) -> Result<(), EngineError> {
    let fits =
        name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if fits && name != "trigger" {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    Err(EngineError::invalid(
        &format!("{field}.namespace"),
        format!("`{shown}` is not a name for a step; allowed are letters, digits and `_`, not starting with a digit, and not `trigger`"),
    ))
}

fn step_code(field: &str, request: &StepRequest) -> Result<CodeRef, EngineError> {
    match (&request.code, &request.component_key, &request.component_id) {
        (Some(code), None, None) => Ok(CodeRef::Code {
            code: code.clone(),
            files: request.code_files.clone().unwrap_or_default(),
            entry: Some(request.code_entry.clone().unwrap_or_else(|| format!("{}.mjs", request.namespace))),
            url: None,
        }),
        (None, Some(key), None) => Ok(CodeRef::Key(key.clone())),
        (None, None, Some(id)) => Ok(CodeRef::Component(id.parse().map_err(|_| EngineError::not_found("component", id))?)),
        _ => Err(EngineError::invalid(field, format!("the step `{}` needs exactly one of `code`, `component_key` and `component_id`", request.namespace))),
    }
}

/// A step's own code may be a bare `defineComponent({ run })`; a published action is checked when it is published.
fn check_step_component(namespace: &str, component: &SavedComponent) -> Result<(), EngineError> {
    if component.manifest.component_type.as_deref() == Some("source") {
        return Err(EngineError::Component {
            code: "not_an_action",
            message: format!("the step `{namespace}` names a source; a step runs an action or code of its own"),
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
        EngineError::Component { code, message, details } => {
            EngineError::Component { code, message: format!("step `{namespace}`: {message}"), details: with_step(details) }
        }
        EngineError::Invalid { code, message, details } => {
            EngineError::Invalid { code, message: format!("step `{namespace}`: {message}"), details: with_step(details) }
        }
        other => other,
    }
}
