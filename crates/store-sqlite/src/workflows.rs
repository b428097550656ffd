//! Workflows and deployments.

use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, WorkflowId};
use millrace_model::workflow::{Author, Workflow};
use millrace_store::{Interfaces, NewDeployment, StoreError, StoreResult};
use rusqlite::{Connection, params};

use crate::rows::{execute, get, number, one};
use crate::store::json;
use crate::{interfaces, limits, sources, subscriptions};

pub(crate) fn create(c: &Connection, w: &Workflow) -> StoreResult<()> {
    sources::check_mark(c, "workflows", &w.org_id, w.made_from.as_ref())?;
    execute(
        c,
        "INSERT INTO workflows (id, org_id, project_id, name, name_slug, active, draft, deployment_id, created_at, updated_at, made_from, revision, draft_at, draft_by, note, tags)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        params![
            w.id.as_str(),
            w.org_id.as_str(),
            w.project_id.as_str(),
            w.name,
            w.name_slug,
            w.active,
            json(&w.draft)?,
            w.deployment_id.as_ref().map(|d| d.as_str()),
            w.created_at.ms(),
            w.updated_at.ms(),
            w.made_from.as_ref().map(json).transpose()?,
            w.drafted.revision,
            w.drafted.at.ms(),
            by(w.drafted.by.as_ref()),
            w.note,
            json(&w.tags)?,
        ],
    )?;
    subscriptions::follow(c, &w.org_id, w.id.as_str(), w.created_at)
}

fn by(author: Option<&Author>) -> Option<&str> {
    author.map(|author| author.id.as_str())
}

pub(crate) fn update(
    c: &Connection,
    w: &Workflow,
    over: Timestamp,
    i: Option<&Interfaces>,
) -> StoreResult<()> {
    let updated_at = one(
        c,
        "SELECT updated_at FROM workflows WHERE id = ?1 AND org_id = ?2",
        [w.id.as_str(), w.org_id.as_str()],
        |row| get::<i64>(row, "updated_at"),
    )?;
    if updated_at.ok_or(StoreError::NotFound)? != over.ms() {
        return Err(StoreError::StateChanged);
    }
    // Columns on the right are those of before.
    execute(
        c,
        "UPDATE workflows SET name = ?3, active = ?4, draft = ?5, updated_at = max(?6, updated_at + 1), made_from = ?7, note = ?10, tags = ?11, revision = revision + (draft <> ?5),
           draft_at = CASE WHEN draft <> ?5 THEN ?8 ELSE draft_at END, draft_by = CASE WHEN draft <> ?5 THEN ?9 ELSE draft_by END
         WHERE id = ?1 AND org_id = ?2",
        params![
            w.id.as_str(),
            w.org_id.as_str(),
            w.name,
            w.active,
            json(&w.draft)?,
            w.updated_at.ms(),
            w.made_from.as_ref().map(json).transpose()?,
            w.drafted.at.ms(),
            by(w.drafted.by.as_ref()),
            w.note,
            json(&w.tags)?,
        ],
    )?;
    match i {
        Some(i) => interfaces::replace(c, w.id.as_str(), i),
        None => Ok(()),
    }
}

pub(crate) fn deploy(c: &Connection, new: &NewDeployment) -> StoreResult<i64> {
    let d = &new.deployment;
    let id = d.workflow_id.as_str();
    let version = number(
        c,
        "SELECT coalesce(max(version), 0) + 1 FROM deployments WHERE workflow_id = ?1",
        [id],
    )?;
    execute(
        c,
        "INSERT INTO deployments (id, org_id, workflow_id, version, content, created_at, made_by, message) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            d.id.as_str(),
            d.org_id.as_str(),
            id,
            version,
            json(&d.content)?,
            d.created_at.ms(),
            by(d.made_by.as_ref()),
            d.message
        ],
    )?;
    let changed = execute(
        c,
        "UPDATE workflows SET deployment_id = ?3, active = ?4, updated_at = max(?5, updated_at + 1) WHERE id = ?1 AND org_id = ?2",
        params![id, d.org_id.as_str(), d.id.as_str(), new.active, d.created_at.ms()],
    )?;
    if changed == 0 {
        return Err(StoreError::NotFound);
    }
    interfaces::replace(c, id, &new.interfaces)?;
    limits::replace(c, id, new.limits.as_ref())?;
    execute(c, "DELETE FROM subscriptions WHERE listener_id = ?1 AND from_trigger = 1", [id])?;
    for subscription in &new.subscriptions {
        subscriptions::subscribe(c, subscription)?;
    }
    Ok(version)
}

pub(crate) fn delete(c: &Connection, org: &OrgId, id: &WorkflowId) -> StoreResult<()> {
    if execute(
        c,
        "DELETE FROM workflows WHERE id = ?1 AND org_id = ?2",
        params![id.as_str(), org.as_str()],
    )? == 0
    {
        return Err(StoreError::NotFound);
    }
    sources::leave_nothing(c, id.as_str())
}
