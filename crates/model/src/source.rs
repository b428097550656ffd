//! A source: a deployed component, and its interfaces.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::Timestamp;
use crate::component::PropDef;
use crate::ids::{
    ComponentId, DeploymentId, HttpInterfaceId, OrgId, SourceId, TimerId, UserId, WorkflowId,
};
use crate::limits::RunLimits;
use crate::made_from::MadeFrom;
use crate::schedule::Schedule;
use crate::workflow::Author;

/// A source's record (reference 2).
#[derive(Clone, Debug)]
pub struct Source {
    /// Its id, kept over updates.
    pub id: SourceId,
    /// The organization.
    pub org_id: OrgId,
    /// Who deployed it.
    pub user_id: UserId,
    /// The code it runs.
    pub component_id: ComponentId,
    /// Shown name.
    pub name: String,
    /// Unique within the organization.
    pub name_slug: String,
    /// The external user whose it is; none: the organization's own.
    pub external_user_id: Option<String>,
    /// Definitions that `additionalProps` gave when the values were set; none: those of the
    /// component.
    pub dynamic_props: Option<Vec<PropDef>>,
    /// Normalized values by prop name; secrets are sealed.
    pub configured_props: Map<String, Value>,
    /// True exactly when endpoint, timer and subscriptions work.
    pub active: bool,
    /// Why it is not active, where something failed.
    pub inactive_reason: Option<String>,
    /// The newest version of it; none while its first deployment is under way. What the record
    /// holds differs from that version while another one is being activated.
    pub deployment_id: Option<DeploymentId>,
    /// What its author said of how it runs.
    pub settings: SourceSettings,
    /// What holds its runs back in the queue: with a `$.service.db` they run one at a time, in the
    /// order of acceptance.
    pub limits: Option<RunLimits>,
    /// The file it was made from, where somebody keeps it in one.
    pub made_from: Option<MadeFrom>,
    /// When it was deployed.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// An immutable version of a source; the newest is the live one.
#[derive(Clone, Debug)]
pub struct SourceDeployment {
    /// Its id.
    pub id: DeploymentId,
    /// The organization.
    pub org_id: OrgId,
    /// The source.
    pub source_id: SourceId,
    /// 1 for the first.
    pub version: i64,
    /// What it runs with.
    pub content: SourceContent,
    /// Who made it.
    pub made_by: Option<Author>,
    /// What the maker says of it.
    pub message: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Code, props and settings of a source at one time. Stored as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceContent {
    /// The code.
    pub component_id: ComponentId,
    /// Values by prop name; secrets are sealed.
    pub configured_props: Map<String, Value>,
    /// Definitions that `additionalProps` gave when the values were set; none: those of the
    /// component.
    pub dynamic_props: Option<Vec<PropDef>>,
    /// How its runs are run.
    pub settings: SourceSettings,
}

impl Source {
    /// What a version of it holds.
    pub fn content(&self) -> SourceContent {
        SourceContent {
            component_id: self.component_id.clone(),
            configured_props: self.configured_props.clone(),
            dynamic_props: self.dynamic_props.clone(),
            settings: self.settings,
        }
    }

    /// The source as it was when a version of it was deployed; what is no part of a version stays.
    pub fn at(self, version: SourceDeployment) -> Self {
        let SourceContent { component_id, configured_props, dynamic_props, settings } =
            version.content;
        let deployment_id = Some(version.id);
        Self { component_id, configured_props, dynamic_props, settings, deployment_id, ..self }
    }
}

/// What the author of a source says of how it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceSettings {
    /// Runs that one process serves at the same time, 1 to [`CALLS_PER_ISOLATE_MAX`]; None: 1.
    pub calls_per_isolate: Option<u32>,
    /// Runs at the same time. None: one where the source has a `$.service.db`, else as many as
    /// there is room for.
    pub concurrency: Option<u32>,
}

impl SourceSettings {
    /// What holds the runs of a source with these settings back. Two runs that go on at the same
    /// time both read what was stored before either of them: only one at a time never loses an
    /// update of `$.service.db`.
    pub fn limits(&self, has_db: bool) -> Option<RunLimits> {
        let concurrency = self.concurrency.or(has_db.then_some(1))?;
        Some(RunLimits { concurrency: Some(concurrency), throttle: None, in_order: true })
    }
}

/// The most runs that one process serves at the same time.
pub const CALLS_PER_ISOLATE_MAX: u32 = 64;

/// Who is triggered by an interface.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A workflow.
    Workflow(WorkflowId),
    /// A source.
    Source(SourceId),
}

impl Owner {
    /// The id as text, `p_…` or `dc_…`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Workflow(id) => id.as_str(),
            Self::Source(id) => id.as_str(),
        }
    }

    /// Reads back what [`Owner::as_str`] gave.
    pub fn from_row(id: String) -> Self {
        if id.starts_with(SourceId::PREFIX) {
            Self::Source(SourceId::from_row(id))
        } else {
            Self::Workflow(WorkflowId::from_row(id))
        }
    }
}

/// A generated HTTP endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpInterface {
    /// Its id.
    pub id: HttpInterfaceId,
    /// The organization.
    pub org_id: OrgId,
    /// Whom it triggers.
    pub owner: Owner,
    /// The secret part of the address: `{base_url}/e/{key}`.
    pub key: String,
    /// Whether the code answers itself.
    pub custom_response: bool,
    /// Whether requests are accepted.
    pub active: bool,
}

/// What a `$.interface.apphook` prop listens for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppHook {
    /// The organization.
    pub org_id: OrgId,
    /// Whom it triggers.
    pub owner: Owner,
    /// The app's slug.
    pub app: String,
    /// The name of the events; empty: all of the app.
    pub event_name: String,
    /// Whether events are accepted.
    pub active: bool,
}

/// A timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Its id.
    pub id: TimerId,
    /// The organization.
    pub org_id: OrgId,
    /// Whom it triggers.
    pub owner: Owner,
    /// When it fires.
    pub schedule: Schedule,
    /// The next tick.
    pub next_at: Timestamp,
    /// Whether it fires.
    pub active: bool,
}
