//! Apps and connected accounts.

use millrace_model::account::{self, Account, App, ConnectionState};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AccountId, ConnectionId, OrgId};
use millrace_store::{StoreError, StoreResult};
use rusqlite::{Connection, params};

use crate::rows::execute;
use crate::store::json;

pub(crate) fn put_app(c: &Connection, a: &App) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO apps (id, org_id, name_slug, definition, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (org_id, name_slug) DO UPDATE SET id = excluded.id, definition = excluded.definition, updated_at = excluded.updated_at",
        params![a.id.as_str(), a.org_id.as_ref().map(OrgId::as_str), a.name_slug, json(&a.definition)?, a.created_at.ms(), a.updated_at.ms()],
    )?;
    Ok(())
}

pub(crate) fn create(c: &Connection, a: &Account) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO accounts (id, org_id, app, name, credentials, healthy, problem, expires_at, version, created_at, updated_at, external_user_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            a.id.as_str(),
            a.org_id.as_str(),
            a.app,
            a.name,
            a.credentials,
            a.healthy,
            a.problem,
            a.expires_at.map(|t| t.ms()),
            a.version,
            a.created_at.ms(),
            a.updated_at.ms(),
            a.external_user_id
        ],
    )?;
    Ok(())
}

pub(crate) fn update(c: &Connection, a: &Account) -> StoreResult<()> {
    let changed = execute(
        c,
        "UPDATE accounts SET name = ?3, credentials = ?4, healthy = ?5, problem = ?6, expires_at = ?7, version = ?8, updated_at = ?9, external_user_id = ?10
         WHERE id = ?1 AND org_id = ?2 AND version = ?8 - 1",
        params![
            a.id.as_str(),
            a.org_id.as_str(),
            a.name,
            a.credentials,
            a.healthy,
            a.problem,
            a.expires_at.map(|t| t.ms()),
            a.version,
            a.updated_at.ms(),
            a.external_user_id
        ],
    )?;
    if changed == 0 { Err(StoreError::StateChanged) } else { Ok(()) }
}

pub(crate) fn delete(c: &Connection, org: &OrgId, id: &AccountId) -> StoreResult<bool> {
    Ok(execute(
        c,
        "DELETE FROM accounts WHERE id = ?1 AND org_id = ?2",
        [id.as_str(), org.as_str()],
    )? > 0)
}

pub(crate) fn begin(c: &Connection, a: &account::Connection) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO connections (id, org_id, app, external_user_id, state, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            a.id.as_str(),
            a.org_id.as_str(),
            a.app,
            a.external_user_id,
            json(&a.state)?,
            a.created_at.ms(),
            a.expires_at.ms()
        ],
    )?;
    Ok(())
}

pub(crate) fn answer(
    c: &Connection,
    org: &OrgId,
    id: &ConnectionId,
    now: Timestamp,
) -> StoreResult<bool> {
    let sql = "UPDATE connections SET state = ?4 WHERE id = ?1 AND org_id = ?2 AND state = ?3 AND expires_at >= ?5";
    let (waits, answered) = (json(&ConnectionState::Waiting)?, json(&ConnectionState::Answered)?);
    Ok(execute(c, sql, params![id.as_str(), org.as_str(), waits, answered, now.ms()])? > 0)
}

pub(crate) fn put_state(
    c: &Connection,
    org: &OrgId,
    id: &ConnectionId,
    state: &ConnectionState,
) -> StoreResult<()> {
    execute(
        c,
        "UPDATE connections SET state = ?3 WHERE id = ?1 AND org_id = ?2",
        params![id.as_str(), org.as_str(), json(state)?],
    )?;
    Ok(())
}
