//! Changes of workflows and sources, and deployments, as they are asked for.

use millrace_model::made_from::MadeFrom;
use millrace_model::record_tag::RecordTag;
use millrace_model::workflow::WorkflowTag;
use serde_json::{Map, Value};

use crate::CodeRef;
use crate::deploy::requests::{StepRequest, TriggerRequest};
use crate::deploy::settings::SettingsRequest;
use crate::deploy::source_settings::SettingsOfSource;

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
    /// The folder it is made from; `Some(None)` removes the mark. None: the caller knows of no
    /// folder, and the fingerprints of the mark are emptied.
    pub made_from: Option<Option<MadeFrom>>,
    /// What people say of it; empty: nothing.
    pub note: Option<String>,
    /// All tags by which people find it.
    pub tags: Option<Vec<String>>,
    /// Entity tags, one of which is the record's; none: whatever is there is changed.
    pub over: Option<Vec<WorkflowTag>>,
    /// Whether the draft that this makes is deployed.
    pub deploys: bool,
    /// What that deployment says of itself.
    pub message: Option<String>,
}

/// A deployment that is asked for.
#[derive(Clone, Debug, Default)]
pub struct DeployRequest {
    /// What it says of itself.
    pub message: Option<String>,
    /// Entity tags, one of which is the record's; none: whatever is there is deployed.
    pub over: Option<Vec<WorkflowTag>>,
}

/// What changes of a source; None stays.
#[derive(Clone, Debug, Default)]
pub struct UpdateSource {
    /// New code.
    pub code: Option<CodeRef>,
    /// New name.
    pub name: Option<String>,
    /// Values by prop name; those not given stay.
    pub configured_props: Option<Map<String, Value>>,
    /// The id of the form that they were filled in with.
    pub form: Option<String>,
    /// Whether it is to be active.
    pub active: Option<bool>,
    /// How its runs are run.
    pub settings: SettingsOfSource,
    /// The file it is made from; `Some(None)` removes the mark. None: the caller knows of no file,
    /// and the fingerprints of the mark are emptied.
    pub made_from: Option<Option<MadeFrom>>,
    /// What the deployment says of itself, where this makes one.
    pub message: Option<String>,
    /// Entity tags, one of which is the record's; none: whatever is there is changed.
    pub over: Option<Vec<RecordTag>>,
}
