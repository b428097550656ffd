//! Records of workflows: their triggers, steps and deployments.

use millrace_engine::{DeploymentView, SourceView, StepView, WorkflowView};
use millrace_model::clock::Timestamp;
use millrace_model::component::{CodeFiles, PropDef, SavedComponent};
use millrace_model::ids::{
    ComponentId, DeploymentId, HttpInterfaceId, OrgId, ProjectId, SourceId, StepId, TimerId,
    WorkflowId,
};
use millrace_model::made_from::MadeFrom;
use millrace_model::run_stats::VersionRuns;
use millrace_model::schedule::Schedule;
use millrace_model::workflow::{
    Author, Deployment, Drafted, EndpointAuth, Settings, Step, Trigger,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::ApiConfig;
use crate::contract::schemas::props::PropOut;
use crate::contract::shape::{OrNull, keep_null, record};
use crate::v1::components::apps;
use crate::v1::replays::RunsByStateOut;
use crate::v1::run_stats::RunStatsOut;
use crate::v1::source_records::{SourceRecordOut, TimerInterfaceOut};

record! {
    /// Who may call an endpoint; its secret is never shown
    EndpointAuthOut<'a>(auth: Option<&'a EndpointAuth>) {
        #[schemars(with = "String", extend("enum" = ["none", "bearer", "signature", "api_key"]))]
        r#type: Value = auth.map_or_else(|| json!("none"), |auth| json!(auth.kind)),
        #[serde(skip_serializing_if = "Option::is_none")]
        header: Option<OrNull<&'a str>> = auth.map(|auth| OrNull(auth.header.as_deref())),
    }
}

/// When what has a trigger was made and changed.
type Times = (Timestamp, Timestamp);

record! {
    /// A schedule that runs a workflow: an interval or a cron expression
    TimerTriggerOut<'a>(id: &'a TimerId, schedule: &'a Schedule, times: Times) {
        #[serde(flatten)]
        timer: TimerInterfaceOut<'a> = TimerInterfaceOut::new(id, schedule),
        created_at: i64 = times.0.secs(),
        updated_at: i64 = times.1.secs(),
    }
}

/// An endpoint that runs a workflow
#[derive(Serialize, JsonSchema)]
pub(crate) struct HttpTriggerOut<'a> {
    id: &'a HttpInterfaceId,
    #[schemars(extend("enum" = ["http"]))]
    r#type: &'static str,
    key: &'a str,
    endpoint_url: String,
    custom_response: bool,
    auth: EndpointAuthOut<'a>,
    created_at: i64,
    updated_at: i64,
}

record! {
    /// A source whose events run a workflow; `event_name` is empty for its default channel. Of one
    /// that was deleted its id alone is left
    #[schemars(transform = keep_null)]
    SourceTriggerOut<'a>(source: &'a SourceId, event_name: &'a str, view: Option<&'a SourceView>) {
        #[serde(flatten)]
        record: Option<SourceRecordOut<'a>> = view.map(SourceRecordOut::new),
        id: &'a SourceId = source,
        #[schemars(extend("enum" = ["source"]))]
        r#type: &'static str = "source",
        event_name: &'a str = event_name,
    }
}

/// What runs a workflow
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum TriggerOut<'a> {
    Http(HttpTriggerOut<'a>),
    Timer(TimerTriggerOut<'a>),
    Source(SourceTriggerOut<'a>),
}

impl<'a> TriggerOut<'a> {
    fn new(t: &'a Trigger, sources: &'a [SourceView], times: Times, config: &ApiConfig) -> Self {
        match t {
            Trigger::Http { id, key, custom_response, auth, .. } => Self::Http(HttpTriggerOut {
                id,
                r#type: "http",
                key,
                endpoint_url: config.endpoint_url(key),
                custom_response: *custom_response,
                auth: EndpointAuthOut::new(auth.as_ref()),
                created_at: times.0.secs(),
                updated_at: times.1.secs(),
            }),
            Trigger::Timer { id, schedule } => {
                Self::Timer(TimerTriggerOut::new(id, schedule, times))
            }
            Trigger::Source { id, event_name } => Self::Source(SourceTriggerOut::new(
                id,
                event_name,
                sources.iter().find(|view| view.source.id == *id),
            )),
        }
    }
}

record! {
    /// The component of a step
    #[serde(rename_all = "camelCase")]
    StepComponentOut<'a>(c: &'a SavedComponent) {
        id: &'a ComponentId = &c.id,
        code: &'a str = &c.code,
        code_hash: &'a str = &c.code_hash,
        #[schemars(with = "Vec<PropOut>")]
        configurable_props: &'a [PropDef] = &c.manifest.props,
        key: Option<&'a str> = c.manifest.key.as_deref(),
        version: Option<&'a str> = c.manifest.version.as_deref(),
        apps: Vec<&'a str> = apps(c),
        published: bool = c.published,
        files: Option<&'a CodeFiles> = c.files.as_ref(),
    }
}

/// How much of a step is shown.
pub(crate) enum Shown<'a> {
    /// In lists of workflows: whether it is disabled.
    InList,
    /// In lists of deployments: its component's id; of a version that was just deployed, its
    /// warnings too.
    OfVersion(Option<&'a StepView>),
    /// All of it.
    Whole(&'a StepView),
}

record! {
    /// A step of a workflow. In lists its id, its name and whether it is disabled, or the component
    /// of the version, alone
    StepOut<'a>(s: &'a Step, shown: Shown<'a>) with {
        let view = match &shown {
            Shown::Whole(view) => Some(*view),
            _ => None,
        };
        let warned = match &shown {
            Shown::OfVersion(view) => *view,
            _ => view,
        };
    } {
        id: &'a StepId = &s.id,
        namespace: &'a str = &s.namespace,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("enum" = ["CodeCell"]))]
        r#type: Option<&'static str> = view.map(|_| "CodeCell"),
        #[serde(skip_serializing_if = "Option::is_none")]
        lang: Option<&'static str> = view.map(|_| "nodejs20.x"),
        #[serde(skip_serializing_if = "Option::is_none")]
        disabled: Option<bool> = (!matches!(shown, Shown::OfVersion(_))).then_some(s.disabled),
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<OrNull<&'a str>> = view.map(|_| OrNull(s.note.as_deref())),
        #[serde(skip_serializing_if = "Option::is_none")]
        component: Option<bool> = view.map(|_| true),
        #[serde(skip_serializing_if = "Option::is_none")]
        component_id: Option<&'a ComponentId> =
            matches!(shown, Shown::OfVersion(_)).then_some(&s.component_id),
        #[serde(skip_serializing_if = "Option::is_none")]
        component_key: Option<OrNull<&'a str>> =
            view.map(|view| OrNull(view.component.manifest.key.as_deref())),
        #[serde(rename = "savedComponent", skip_serializing_if = "Option::is_none")]
        saved_component: Option<StepComponentOut<'a>> =
            view.map(|view| StepComponentOut::new(&view.component)),
        #[serde(skip_serializing_if = "Option::is_none")]
        configured_props_json: Option<String> = view.map(|_| json!(s.props).to_string()),
        #[serde(skip_serializing_if = "Option::is_none")]
        sealed_props: Option<&'a [String]> = view.map(|view| view.sealed.as_slice()),
        #[serde(skip_serializing_if = "Option::is_none")]
        warnings: Option<&'a [String]> = warned.map(|view| view.warnings.as_slice()),
    }
}

fn steps<'a>(steps: &'a [Step], views: &'a [StepView]) -> Vec<StepOut<'a>> {
    if views.is_empty() {
        steps.iter().map(|s| StepOut::new(s, Shown::InList)).collect()
    } else {
        views.iter().map(|view| StepOut::new(&view.step, Shown::Whole(view))).collect()
    }
}

record! {
    /// What is known of a draft: whether it differs from the live version, and its last change
    DraftOut<'a>(d: &'a Drafted) {
        changed: bool = d.is_changed,
        changed_at: i64 = d.at.secs(),
        changed_by: Option<&'a Author> = d.by.as_ref(),
    }
}

record! {
    /// A workflow
    WorkflowOut<'a>(view: &'a WorkflowView, config: &'a ApiConfig, stats: Option<RunStatsOut>) with {
        let w = &view.workflow;
        let times = (w.created_at, w.updated_at);
    } {
        id: &'a WorkflowId = &w.id,
        org_id: &'a OrgId = &w.org_id,
        project_id: &'a ProjectId = &w.project_id,
        name: &'a str = &w.name,
        name_slug: &'a str = &w.name_slug,
        active: bool = w.active,
        deployment_id: Option<&'a DeploymentId> = w.deployment_id.as_ref(),
        triggers: Vec<TriggerOut<'a>> = w
            .draft
            .triggers
            .iter()
            .map(|t| TriggerOut::new(t, &view.sources, times, config))
            .collect(),
        steps: Vec<StepOut<'a>> = steps(&w.draft.steps, &view.steps),
        settings: &'a Settings = &w.draft.settings,
        made_from: Option<&'a MadeFrom> = w.made_from.as_ref(),
        note: Option<&'a str> = w.note.as_deref(),
        tags: &'a [String] = &w.tags,
        revision: i64 = w.drafted.revision,
        draft: DraftOut<'a> = DraftOut::new(&w.drafted),
        #[serde(skip_serializing_if = "Option::is_none")]
        stats: Option<RunStatsOut> = stats,
        created_at: i64 = w.created_at.secs(),
        updated_at: i64 = w.updated_at.secs(),
    }
}

record! {
    /// A deployment: an immutable version of a workflow
    DeploymentOut<'a>(
        d: &'a Deployment,
        view: Option<&'a DeploymentView>,
        config: Option<&'a ApiConfig>,
        runs: Option<RunsByStateOut>,
    ) with {
        let whole = view.zip(config);
    } {
        id: &'a DeploymentId = &d.id,
        workflow_id: &'a WorkflowId = &d.workflow_id,
        version: i64 = d.version,
        message: Option<&'a str> = d.message.as_deref(),
        made_by: Option<&'a Author> = d.made_by.as_ref(),
        #[serde(skip_serializing_if = "Option::is_none")]
        triggers: Option<Vec<TriggerOut<'a>>> = whole.map(|(view, config)| {
            let times = (d.created_at, d.created_at);
            let triggers = d.content.triggers.iter();
            triggers.map(|t| TriggerOut::new(t, &view.sources, times, config)).collect()
        }),
        steps: Vec<StepOut<'a>> = match (view, whole) {
            (_, Some((view, _))) => {
                view.steps.iter().map(|s| StepOut::new(&s.step, Shown::Whole(s))).collect()
            }
            (Some(view), None) => view
                .steps
                .iter()
                .map(|s| StepOut::new(&s.step, Shown::OfVersion(Some(s))))
                .collect(),
            (None, None) => {
                d.content.steps.iter().map(|s| StepOut::new(s, Shown::OfVersion(None))).collect()
            }
        },
        #[serde(skip_serializing_if = "Option::is_none")]
        settings: Option<&'a Settings> = whole.map(|_| &d.content.settings),
        #[serde(skip_serializing_if = "Option::is_none")]
        runs: Option<RunsByStateOut> = runs,
        created_at: i64 = d.created_at.secs(),
    }
}

/// How the live runs of a deployment ended.
pub(crate) fn runs_of(counted: &[VersionRuns], id: &DeploymentId) -> RunsByStateOut {
    let own = counted.iter().find(|v| v.deployment_id == *id);
    let of = |count: fn(&VersionRuns) -> i64| own.map_or(0, count);
    let ended = (of(|v| v.succeeded), of(|v| v.failed), of(|v| v.cancelled));
    RunsByStateOut::new(of(|v| v.unfinished), ended.0, ended.1, ended.2)
}
