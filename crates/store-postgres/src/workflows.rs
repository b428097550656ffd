//! Workflows and deployments.

use deadpool_postgres::Transaction;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, WorkflowId};
use millrace_model::workflow::{Author, Workflow};
use millrace_store::{Interfaces, NewDeployment, StoreError, StoreResult};

use crate::db::{text, unwritable};
use crate::rows::{execute, get, number, one};
use crate::{interfaces, limits, sources, subscriptions};

pub(crate) async fn create(t: &Transaction<'_>, w: &Workflow) -> StoreResult<()> {
    sources::check_mark(t, "workflows", &w.org_id, w.made_from.as_ref()).await?;
    execute(
        t,
        "INSERT INTO workflows (id, org_id, project_id, name, name_slug, active, draft, deployment_id, created_at, updated_at, made_from, revision, draft_at, draft_by, note, tags)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
        &[
            &w.id.as_str(),
            &w.org_id.as_str(),
            &w.project_id.as_str(),
            &text(&w.name),
            &text(&w.name_slug),
            &w.active,
            &serde_json::to_string(&w.draft).map_err(unwritable)?,
            &w.deployment_id.as_ref().map(|d| d.as_str()),
            &w.created_at.ms(),
            &w.updated_at.ms(),
            &sources::made_from(w.made_from.as_ref())?,
            &w.drafted.revision,
            &w.drafted.at.ms(),
            &by(w.drafted.by.as_ref()),
            &w.note.as_deref().map(text),
            &serde_json::to_string(&w.tags).map_err(unwritable)?,
        ],
    )
    .await?;
    subscriptions::follow(t, &w.org_id, w.id.as_str(), w.created_at).await
}

fn by(author: Option<&Author>) -> Option<&str> {
    author.map(|author| author.id.as_str())
}

pub(crate) async fn update(
    t: &Transaction<'_>,
    w: &Workflow,
    over: Timestamp,
    i: Option<&Interfaces>,
) -> StoreResult<()> {
    // It locks the workflow: of two changes of one record, the later one is refused.
    let sql = "SELECT updated_at FROM workflows WHERE id = $1 AND org_id = $2 FOR UPDATE";
    let updated_at =
        one(t, sql, &[&w.id.as_str(), &w.org_id.as_str()], |row| get::<i64>(row, "updated_at"))
            .await?;
    if updated_at.ok_or(StoreError::NotFound)? != over.ms() {
        return Err(StoreError::StateChanged);
    }
    // Columns on the right are those of before.
    execute(
        t,
        "UPDATE workflows SET name = $3, active = $4, draft = $5, updated_at = greatest($6, updated_at + 1), made_from = $7, note = $10, tags = $11, revision = revision + (draft <> $5)::int,
           draft_at = CASE WHEN draft <> $5 THEN $8 ELSE draft_at END, draft_by = CASE WHEN draft <> $5 THEN $9 ELSE draft_by END
         WHERE id = $1 AND org_id = $2",
        &[
            &w.id.as_str(),
            &w.org_id.as_str(),
            &text(&w.name),
            &w.active,
            &serde_json::to_string(&w.draft).map_err(unwritable)?,
            &w.updated_at.ms(),
            &sources::made_from(w.made_from.as_ref())?,
            &w.drafted.at.ms(),
            &by(w.drafted.by.as_ref()),
            &w.note.as_deref().map(text),
            &serde_json::to_string(&w.tags).map_err(unwritable)?,
        ],
    )
    .await?;
    match i {
        Some(i) => interfaces::replace(t, w.id.as_str(), i).await,
        None => Ok(()),
    }
}

pub(crate) async fn deploy(t: &Transaction<'_>, new: &NewDeployment) -> StoreResult<i64> {
    let d = &new.deployment;
    let id = d.workflow_id.as_str();
    // First of all, and unlike SQLite: it locks the workflow, so that two deployments take their
    // numbers one after the other.
    let changed = execute(
        t,
        "UPDATE workflows SET deployment_id = $3, active = $4, updated_at = greatest($5, updated_at + 1) WHERE id = $1 AND org_id = $2",
        &[&id, &d.org_id.as_str(), &d.id.as_str(), &new.active, &d.created_at.ms()],
    )
    .await?;
    if changed == 0 {
        return Err(StoreError::NotFound);
    }
    let version = number(
        t,
        "SELECT coalesce(max(version), 0) + 1 FROM deployments WHERE workflow_id = $1",
        &[&id],
    )
    .await?;
    execute(
        t,
        "INSERT INTO deployments (id, org_id, workflow_id, version, content, created_at, made_by, message) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            &d.id.as_str(),
            &d.org_id.as_str(),
            &id,
            &version,
            &serde_json::to_string(&d.content).map_err(unwritable)?,
            &d.created_at.ms(),
            &by(d.made_by.as_ref()),
            &d.message.as_deref().map(text),
        ],
    )
    .await?;
    interfaces::replace(t, id, &new.interfaces).await?;
    limits::replace(t, id, new.limits.as_ref()).await?;
    execute(t, "DELETE FROM subscriptions WHERE listener_id = $1 AND from_trigger", &[&id]).await?;
    for subscription in &new.subscriptions {
        subscriptions::subscribe(t, subscription).await?;
    }
    Ok(version)
}

pub(crate) async fn delete(t: &Transaction<'_>, org: &OrgId, id: &WorkflowId) -> StoreResult<()> {
    if execute(
        t,
        "DELETE FROM workflows WHERE id = $1 AND org_id = $2",
        &[&id.as_str(), &org.as_str()],
    )
    .await?
        == 0
    {
        return Err(StoreError::NotFound);
    }
    sources::leave_nothing(t, id.as_str()).await
}
