//! Contexts of runs (spec 2.3, reference 4).

use std::sync::Arc;

use millrace_model::Timestamp;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::run::{Context, NewRun, RunKind, Start};
use millrace_model::source::Owner;

use crate::run::program::Program;
use crate::{Engine, EngineError, VERSION};

/// Where an event comes from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// `hi_`, `ti_`, `dc_`, `p_`, or empty for run now.
    pub(crate) trigger_id: String,
    /// `HTTP`, `TIMER`, `COMPONENT`, `SDK`.
    pub(crate) source_type: &'static str,
    /// The trace it belongs to; none: a new one.
    pub(crate) trace_id: Option<String>,
    /// How many workflows passed it on before.
    pub(crate) hops: Option<u32>,
    /// Whether it descends from an `$errors` event.
    pub(crate) handles_error: bool,
    /// Whether it is a replay.
    pub(crate) replay: bool,
    /// Whether the event's signature was verified.
    pub(crate) verified: bool,
    /// Whether nothing of it is kept.
    pub(crate) keeps_nothing: bool,
    /// When it was due, where it is a tick that comes late.
    pub(crate) due: Option<Timestamp>,
    /// What it is for.
    pub(crate) kind: RunKind,
}

impl Origin {
    /// An event that nobody passed on.
    pub(crate) fn first(source_type: &'static str, trigger_id: impl Into<String>) -> Self {
        Self {
            trigger_id: trigger_id.into(),
            source_type,
            trace_id: None,
            hops: None,
            handles_error: false,
            replay: false,
            verified: false,
            keeps_nothing: false,
            due: None,
            kind: RunKind::Live,
        }
    }
}

impl Engine {
    /// A run of `program` on `event` (JSON text).
    pub(crate) fn new_run(
        &self,
        program: &Program,
        origin: &Origin,
        event: impl Into<Arc<str>>,
        start: Start,
    ) -> Result<NewRun, EngineError> {
        let now = self.now();
        let id = self.0.ids.ksuid(now);
        let identity = program.identity();
        let context = Context {
            trace_id: origin.trace_id.clone().unwrap_or_else(|| id.clone()),
            id,
            ts: now.iso(),
            workflow_id: identity.owner.as_str().to_owned(),
            workflow_name: identity.name.to_owned(),
            deployment_id: identity.deployment_id.map(ToString::to_string).unwrap_or_default(),
            emitter_id: origin.trigger_id.clone(),
            source_type: origin.source_type.to_owned(),
            verified: origin.verified,
            hops: origin.hops,
            test: origin.kind == RunKind::Test,
            replay: origin.replay,
            owner_id: identity.org_id.to_string(),
            project_id: identity.project_id.map(ToString::to_string),
            platform_version: VERSION.to_owned(),
            keeps_nothing: origin.kind == RunKind::Live
                && (origin.keeps_nothing || program.keeps_nothing()),
            due: origin.due.map(|due| due.iso()),
            handles_error: origin.handles_error,
        };
        Ok(NewRun {
            id: RunId::at(&self.0.ids, now),
            org_id: identity.org_id.clone(),
            owner: identity.owner.clone(),
            deployment_id: identity.deployment_id.cloned(),
            kind: origin.kind,
            trigger_id: origin.trigger_id.clone(),
            event: event.into(),
            context: serde_json::to_string(&context)
                .map_err(|e| EngineError::internal("could not write a context", e))?,
            created_at: now,
            start,
            result: None,
            replays: None,
        })
    }

    /// The live version of an owner that an event of somebody else starts; a damaged one fails its
    /// own run.
    pub(crate) async fn live_program(
        &self,
        org: &OrgId,
        owner: &Owner,
    ) -> Result<Option<Arc<Program>>, EngineError> {
        self.program_or_damaged(org, owner, None).await
    }
}
