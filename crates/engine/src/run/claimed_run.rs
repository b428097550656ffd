//! Claimed runs: those that this server executes under a lease.

use std::sync::Arc;

use millrace_model::clock::Timestamp;
use millrace_model::ids::{DeploymentId, OrgId, RunId};
use millrace_model::run::{NewRun, Run, RunKind};
use millrace_model::source::Owner;

use crate::run::unstored::UnstoredRun;

/// A run that this node executes under a lease.
#[derive(Clone, Debug)]
pub(crate) struct ClaimedRun {
    pub(crate) id: RunId,
    pub(crate) org_id: OrgId,
    pub(crate) owner: Owner,
    pub(crate) deployment_id: Option<DeploymentId>,
    pub(crate) kind: RunKind,
    pub(crate) trigger_id: String,
    pub(crate) event: Arc<str>,
    pub(crate) context: String,
    pub(crate) created_at: Timestamp,
    pub(crate) attempt: i64,
    /// What earlier attempts left, until [`Engine::carried`] takes it.
    pub(crate) result: Option<String>,
    /// Where it may be stored with its end.
    pub(crate) unstored: Option<Arc<UnstoredRun>>,
}

impl ClaimedRun {
    /// A run that was accepted as claimed: its first attempt.
    pub(crate) fn accepted(run: &NewRun) -> Self {
        Self {
            id: run.id.clone(),
            org_id: run.org_id.clone(),
            owner: run.owner.clone(),
            deployment_id: run.deployment_id.clone(),
            kind: run.kind,
            trigger_id: run.trigger_id.clone(),
            event: run.event.clone(),
            context: run.context.clone(),
            created_at: run.created_at,
            attempt: 1,
            result: run.result.clone(),
            unstored: None,
        }
    }

    /// A run that was claimed from the queue.
    pub(crate) fn from_queue(run: Run) -> Self {
        Self {
            id: run.id,
            org_id: run.org_id,
            owner: run.owner,
            deployment_id: run.deployment_id,
            kind: run.kind,
            trigger_id: run.trigger_id,
            event: run.event.into(),
            context: run.context,
            created_at: run.created_at,
            attempt: run.attempt,
            result: run.result,
            unstored: None,
        }
    }
}
