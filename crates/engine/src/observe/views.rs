//! Records as they are shown: secrets taken away, addresses filled in.

use millrace_model::component::SavedComponent;
use millrace_model::record_tag::RecordTag;
use millrace_model::replay::{Replay, ReplayCounts};
use millrace_model::run::{LogLine, Run};
use millrace_model::source::{Source, SourceDeployment};
use millrace_model::workflow::{Deployment, Step, Workflow};
use millrace_store::{Delivery, Interfaces, Lineage};
use serde_json::{Value, json};

use crate::ctx::Ctx;
use crate::tenants::secrets::{hide_sealed, sealed_names};

/// A source as shown.
#[derive(Clone, Debug)]
pub struct SourceView {
    /// Its record; `configured_props` holds no secret, and each HTTP interface its address.
    pub source: Source,
    /// What triggers it.
    pub interfaces: Interfaces,
    /// Names of the props that have a secret value.
    pub sealed: Vec<String>,
    /// The entity tag of the record.
    pub tag: RecordTag,
}

/// A step as shown.
#[derive(Clone, Debug)]
pub struct StepView {
    /// The step; no secret in its props.
    pub step: Step,
    /// The code it runs.
    pub component: SavedComponent,
    /// Names of the props that have a secret value.
    pub sealed: Vec<String>,
    /// What it lacks, and what of it is not read, in words.
    pub warnings: Vec<String>,
}

/// A workflow as shown.
#[derive(Clone, Debug)]
pub struct WorkflowView {
    /// Its record.
    pub workflow: Workflow,
    /// The newest steps.
    pub steps: Vec<StepView>,
    /// Sources among its triggers.
    pub sources: Vec<SourceView>,
}

/// A version of a workflow as shown.
#[derive(Clone, Debug)]
pub struct DeploymentView {
    /// Its record.
    pub deployment: Deployment,
    /// Its steps.
    pub steps: Vec<StepView>,
    /// Sources among its triggers.
    pub sources: Vec<SourceView>,
}

/// A version of a source, with its code.
#[derive(Clone, Debug)]
pub struct SourceDeploymentView {
    /// Its record; `configured_props` holds no secret.
    pub deployment: SourceDeployment,
    /// The code.
    pub component: SavedComponent,
    /// Names of the props whose values are sealed.
    pub sealed: Vec<String>,
}

/// A run with its logs.
#[derive(Clone, Debug)]
pub struct RunView {
    /// The run.
    pub run: Run,
    /// What it comes from and led to.
    pub lineage: Lineage,
    /// Its output, in order.
    pub logs: Vec<LogLine>,
    /// What it sent, in order, with where it goes to.
    pub deliveries: Vec<(String, Delivery)>,
}

/// A replay with what became of its runs.
#[derive(Clone, Debug)]
pub struct ReplayView {
    /// The replay.
    pub replay: Replay,
    /// What became of its runs.
    pub counts: ReplayCounts,
}

impl SourceView {
    pub(crate) fn of(ctx: &Ctx, mut source: Source, interfaces: &Interfaces) -> Self {
        let (sealed, tag) = (sealed_names(&source.configured_props), RecordTag::of_source(&source));
        hide_sealed(&mut source.configured_props);
        if let Some(http) = interfaces.http.first() {
            for value in source.configured_props.values_mut() {
                if value.get("type") == Some(&Value::from("$.interface.http")) {
                    *value = json!({ "endpoint_url": ctx.endpoint_url(&http.key) });
                }
            }
        }
        Self { source, interfaces: interfaces.clone(), sealed, tag }
    }
}
