//! Sources and their state: dedupe, `$.service.db`.

use millrace_model::ids::{OrgId, SourceId};
use millrace_model::made_from::MadeFrom;
use millrace_model::source::{Source, SourceDeployment};
use millrace_store::{Interfaces, SourceChange, SourceState, StoreError, StoreResult};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::rows::{execute, many, number, one};
use crate::store::json;
use crate::{interfaces, limits, pauses, subscriptions};

/// `Taken("made_from")` where a record of the table bears a mark of the same file. All writes have
/// one connection: nothing comes between this and the insert.
pub(crate) fn check_mark(
    c: &Connection,
    table: &str,
    org: &OrgId,
    mark: Option<&MadeFrom>,
) -> StoreResult<()> {
    let Some(mark) = mark else { return Ok(()) };
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM {table} WHERE org_id = ?1 AND substr(made_from, 1, length(?2)) = ?2)"
    );
    match number(c, &sql, [org.as_str(), &mark.beginning()])? {
        0 => Ok(()),
        _ => Err(StoreError::Taken("made_from")),
    }
}

pub(crate) fn create(c: &Connection, s: &Source, i: &Interfaces) -> StoreResult<()> {
    check_mark(c, "sources", &s.org_id, s.made_from.as_ref())?;
    execute(
        c,
        "INSERT INTO sources (id, org_id, user_id, component_id, name, name_slug, configured_props, active, inactive_reason, created_at, updated_at, dynamic_props, made_from, settings, limits, external_user_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        params![
            s.id.as_str(),
            s.org_id.as_str(),
            s.user_id.as_str(),
            s.component_id.as_str(),
            s.name,
            s.name_slug,
            json(&s.configured_props)?,
            s.active,
            s.inactive_reason,
            s.created_at.ms(),
            s.updated_at.ms(),
            s.dynamic_props.as_ref().map(json).transpose()?,
            s.made_from.as_ref().map(json).transpose()?,
            json(&s.settings)?,
            s.limits.as_ref().map(json).transpose()?,
            s.external_user_id
        ],
    )?;
    limits::replace(c, s.id.as_str(), s.limits.as_ref())?;
    subscriptions::follow(c, &s.org_id, s.id.as_str(), s.created_at)?;
    interfaces::replace(c, s.id.as_str(), i)
}

pub(crate) fn update(c: &Connection, s: &Source, i: &Interfaces) -> StoreResult<()> {
    let changed = execute(
        c,
        "UPDATE sources SET component_id = ?3, name = ?4, name_slug = ?5, configured_props = ?6, active = ?7, inactive_reason = ?8, updated_at = ?9, dynamic_props = ?10, made_from = ?11, settings = ?12, limits = ?13 WHERE id = ?1 AND org_id = ?2",
        params![
            s.id.as_str(),
            s.org_id.as_str(),
            s.component_id.as_str(),
            s.name,
            s.name_slug,
            json(&s.configured_props)?,
            s.active,
            s.inactive_reason,
            s.updated_at.ms(),
            s.dynamic_props.as_ref().map(json).transpose()?,
            s.made_from.as_ref().map(json).transpose()?,
            json(&s.settings)?,
            s.limits.as_ref().map(json).transpose()?
        ],
    )?;
    if changed == 0 {
        return Err(StoreError::NotFound);
    }
    limits::replace(c, s.id.as_str(), s.limits.as_ref())?;
    interfaces::replace(c, s.id.as_str(), i)
}

pub(crate) fn deploy(
    c: &Connection,
    s: &Source,
    i: &Interfaces,
    d: &SourceDeployment,
) -> StoreResult<i64> {
    update(c, s, i)?;
    let version = number(
        c,
        "SELECT coalesce(max(version), 0) + 1 FROM source_deployments WHERE source_id = ?1",
        [d.source_id.as_str()],
    )?;
    let made_by = d.made_by.as_ref().map(|author| author.id.as_str());
    execute(
        c,
        "INSERT INTO source_deployments (id, org_id, source_id, version, content, created_at, made_by, message) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            d.id.as_str(),
            d.org_id.as_str(),
            d.source_id.as_str(),
            version,
            json(&d.content)?,
            d.created_at.ms(),
            made_by,
            d.message
        ],
    )?;
    Ok(version)
}

pub(crate) fn delete(c: &Connection, org: &OrgId, id: &SourceId) -> StoreResult<()> {
    if execute(
        c,
        "DELETE FROM sources WHERE id = ?1 AND org_id = ?2",
        params![id.as_str(), org.as_str()],
    )? == 0
    {
        return Err(StoreError::NotFound);
    }
    execute(c, "DELETE FROM source_states WHERE source_id = ?1", [id.as_str()])?;
    execute(c, "DELETE FROM source_db WHERE source_id = ?1", [id.as_str()])?;
    execute(c, "DELETE FROM source_deployments WHERE source_id = ?1", [id.as_str()])?;
    leave_nothing(c, id.as_str())
}

/// What goes with a source or workflow: interfaces, subscriptions, runs that wait.
pub(crate) fn leave_nothing(c: &Connection, owner: &str) -> StoreResult<()> {
    interfaces::remove_domains(c, owner)?;
    interfaces::remove(c, owner)?;
    limits::replace(c, owner, None)?;
    execute(c, "DELETE FROM retentions WHERE owner_id = ?1", [owner])?;
    subscriptions::remove_all(c, owner)?;
    pauses::cancel_waiting(c, owner)
}

pub(crate) fn state(c: &Connection, id: &SourceId) -> StoreResult<SourceState> {
    let state = one(
        c,
        "SELECT version, dedupe FROM source_states WHERE source_id = ?1",
        [id.as_str()],
        |row| {
            Ok(SourceState {
                version: row.get(0).map_err(database)?,
                dedupe: row.get(1).map_err(database)?,
            })
        },
    )?;
    Ok(state.unwrap_or_default())
}

/// What its `$.service.db` holds, JSON texts by key.
pub(crate) fn entries(c: &Connection, id: &SourceId) -> StoreResult<Vec<(String, String)>> {
    many(
        c,
        "SELECT key, value FROM source_db WHERE source_id = ?1 ORDER BY key",
        [id.as_str()],
        |row| Ok((row.get(0).map_err(database)?, row.get(1).map_err(database)?)),
    )
}

/// A source that was deleted meanwhile, while a run of it was under way, remembers nothing: its
/// rows would stay for ever.
pub(crate) fn change(c: &Connection, change: &SourceChange) -> StoreResult<()> {
    let id = change.source_id.as_str();
    if number(c, "SELECT EXISTS (SELECT 1 FROM sources WHERE id = ?1)", [id])? == 0 {
        return Ok(());
    }
    if let Some((version, dedupe)) = &change.dedupe {
        let changed = if *version == 0 {
            execute(
                c,
                "INSERT INTO source_states (source_id, version, dedupe) VALUES (?1, 1, ?2) ON CONFLICT (source_id) DO NOTHING",
                params![id, dedupe],
            )?
        } else {
            execute(
                c,
                "UPDATE source_states SET version = version + 1, dedupe = ?3 WHERE source_id = ?1 AND version = ?2",
                params![id, version, dedupe],
            )?
        };
        if changed == 0 {
            return Err(StoreError::StateChanged);
        }
    }
    for (key, value) in &change.db {
        match value {
            Some(value) => execute(
                c,
                "INSERT INTO source_db (source_id, key, value) VALUES (?1, ?2, ?3) ON CONFLICT (source_id, key) DO UPDATE SET value = excluded.value",
                params![id, key, value],
            )?,
            None => execute(
                c,
                "DELETE FROM source_db WHERE source_id = ?1 AND key = ?2",
                params![id, key],
            )?,
        };
    }
    Ok(())
}
