//! A workflow, its deployments (immutable versions), triggers and steps (reference 2, 4).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::Timestamp;
use crate::component::PropDef;
use crate::ids::{
    ComponentId, DeploymentId, HttpInterfaceId, OrgId, ProjectId, SourceId, StepId, TimerId,
    UserId, WorkflowId,
};
use crate::limits::{Retry, RunLimits, Throttle};
use crate::made_from::MadeFrom;
use crate::schedule::Schedule;
pub use crate::workflow_tag::WorkflowTag;

/// A workflow's record.
#[derive(Clone, Debug)]
pub struct Workflow {
    /// Its id.
    pub id: WorkflowId,
    /// The organization.
    pub org_id: OrgId,
    /// The project.
    pub project_id: ProjectId,
    /// Shown name.
    pub name: String,
    /// Unique within the organization.
    pub name_slug: String,
    /// Whether its triggers work.
    pub active: bool,
    /// The newest triggers, steps and settings, deployed or not.
    pub draft: WorkflowVersion,
    /// How often the draft was changed, and by whom.
    pub drafted: Drafted,
    /// The version that live events run.
    pub deployment_id: Option<DeploymentId>,
    /// The folder it was made from, where somebody keeps it in one.
    pub made_from: Option<MadeFrom>,
    /// What people say of it.
    pub note: Option<String>,
    /// By which people find it, each once, as they were given.
    pub tags: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// The changes of a draft.
#[derive(Clone, Debug)]
pub struct Drafted {
    /// Counts them; 1 for a draft as it was made. What is written over a draft of another revision
    /// was made without knowing it.
    pub revision: i64,
    /// Whether the draft differs from the live version; read, never written.
    pub is_changed: bool,
    /// When the last one was made.
    pub at: Timestamp,
    /// Who made it; none: it is not known any more.
    pub by: Option<Author>,
}

/// A user who made or changed something.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Author {
    /// The user.
    pub id: UserId,
    /// The user's name; read, never written.
    pub name: Option<String>,
}

impl From<UserId> for Author {
    fn from(id: UserId) -> Self {
        Self { id, name: None }
    }
}

/// Most characters of a deployment's message.
pub const MESSAGE_MAX: usize = 500;
/// Most tags of a workflow.
pub const TAGS_MAX: usize = 20;
/// Most characters of a tag.
pub const TAG_CHARS_MAX: usize = 50;

/// An immutable version of a workflow.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Its id.
    pub id: DeploymentId,
    /// The organization.
    pub org_id: OrgId,
    /// The workflow.
    pub workflow_id: WorkflowId,
    /// 1 for the first.
    pub version: i64,
    /// What it runs.
    pub content: WorkflowVersion,
    /// Who made it.
    pub made_by: Option<Author>,
    /// What the maker says of it.
    pub message: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Triggers, steps and settings of a workflow at one time. Stored as JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkflowVersion {
    /// What starts it.
    pub triggers: Vec<Trigger>,
    /// What it does, in order.
    pub steps: Vec<Step>,
    /// Its settings.
    #[serde(default)]
    pub settings: Settings,
}

impl WorkflowVersion {
    /// Ids of its steps, endpoints and timers.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let triggers = self.triggers.iter().filter_map(|trigger| match trigger {
            Trigger::Http { id, .. } => Some(id.as_str()),
            Trigger::Timer { id, .. } => Some(id.as_str()),
            Trigger::Source { .. } => None,
        });
        triggers.chain(self.steps.iter().map(|step| step.id.as_str()))
    }
}

/// What starts a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Trigger {
    /// A generated endpoint.
    Http {
        /// Its id.
        id: HttpInterfaceId,
        /// The secret part of the address.
        key: String,
        /// Whether a client waits for the answer of the code, which fails it by giving none: by
        /// `asked`, or by the code of a step.
        custom_response: bool,
        /// Whether the trigger's author asked for that; none: stored before that was known apart
        /// from the code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<bool>,
        /// Whether the code may answer: a client waits, and gets the default answer where there is
        /// no other.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_respond: bool,
        /// Who may call it; none: anybody.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        auth: Option<EndpointAuth>,
    },
    /// A timer.
    Timer {
        /// Its id.
        id: TimerId,
        /// When it fires.
        schedule: Schedule,
    },
    /// A deployed source's events.
    Source {
        /// The source.
        id: SourceId,
        /// The channel; empty for the default one.
        #[serde(default)]
        event_name: String,
    },
}

/// Who may call an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointAuth {
    /// What is asked for.
    pub kind: AuthKind,
    /// The token, or the secret of signatures, sealed under the master key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The header of a signature in hex, in lower case; none: signatures are those of Standard
    /// Webhooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

/// What an endpoint asks of its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthKind {
    /// A token of its own.
    Bearer,
    /// A signature over the body.
    Signature,
    /// An API key of the organization that may invoke.
    ApiKey,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its id, kept while the namespace stays.
    pub id: StepId,
    /// Its name in `steps.<namespace>`.
    pub namespace: String,
    /// The code it runs.
    pub component_id: ComponentId,
    /// The key of that component, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_key: Option<String>,
    /// The built module.
    pub artifact_id: String,
    /// Definitions that `additionalProps` gave when the values were set; none: those of the
    /// component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic_props: Option<Vec<PropDef>>,
    /// Why `additionalProps` gave none for these values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic_props_refused: Option<String>,
    /// Values by prop name; may hold `{{expressions}}`.
    #[serde(default)]
    pub props: Map<String, Value>,
    /// Skipped when true.
    #[serde(default)]
    pub disabled: bool,
    /// What people say of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Settings of a workflow; what is null or absent has its default (reference 4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
#[schemars(rename = "WorkflowSettings")]
pub struct Settings {
    /// Wall-clock limit of a run; none: 30 s for HTTP, 60 s otherwise.
    pub timeout_ms: Option<u64>,
    /// Heap limit in MiB; none: 256.
    pub memory_mb: Option<u32>,
    /// Whether errors are mailed.
    pub error_notification: bool,
    /// Who gets those mails; nobody named: the organization's owner.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub error_recipients: Vec<String>,
    /// Whether events, results and logs are kept after a run has ended.
    pub keep_data: bool,
    /// Retries of a failed step; none: it fails at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_retry: Option<Retry>,
    /// Runs at once; none: no limit of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Runs that one process serves at the same time; none: 1. They share variables of modules,
    /// `process.env` and `/tmp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_isolate: Option<u32>,
    /// Runs for each interval; none: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Throttle>,
    /// Runs that may wait in the queue, beyond which the endpoint refuses; none: no limit of its
    /// own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_max: Option<u32>,
}

impl Settings {
    /// What holds its runs back in the queue; None: nothing, they start where they are accepted.
    pub fn limits(&self) -> Option<RunLimits> {
        let limited =
            self.concurrency.is_some() || self.throttle.is_some() || self.queue_max.is_some();
        limited.then_some(RunLimits {
            concurrency: self.concurrency,
            throttle: self.throttle,
            in_order: false,
        })
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout_ms: None,
            memory_mb: None,
            error_notification: true,
            error_recipients: Vec::new(),
            keep_data: true,
            auto_retry: None,
            concurrency: None,
            calls_per_isolate: None,
            throttle: None,
            queue_max: None,
        }
    }
}
