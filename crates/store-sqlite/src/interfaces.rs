//! Endpoints and timers.

use std::collections::HashMap;

use millrace_model::clock::Timestamp;
use millrace_model::domain::EndpointDomain;
use millrace_model::ids::{OrgId, TimerId};
use millrace_model::run::NewRun;
use millrace_model::source::Owner;
use millrace_store::{Fired, Interfaces, StoreError, StoreResult};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::rows::{self, execute, many, number};
use crate::runs;
use crate::store::json;

/// Replaces all interfaces of an owner.
pub(crate) fn replace(c: &Connection, owner: &str, interfaces: &Interfaces) -> StoreResult<()> {
    remove(c, owner)?;
    for h in &interfaces.http {
        execute(
            c,
            "INSERT INTO http_interfaces (id, org_id, owner_id, key, custom_response, active) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![h.id.as_str(), h.org_id.as_str(), owner, h.key, h.custom_response, h.active],
        )?;
    }
    for t in &interfaces.timers {
        execute(
            c,
            "INSERT INTO timers (id, org_id, owner_id, schedule, next_at, active) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                t.id.as_str(),
                t.org_id.as_str(),
                owner,
                json(&t.schedule)?,
                t.next_at.ms(),
                t.active
            ],
        )?;
    }
    for h in &interfaces.app_hooks {
        execute(
            c,
            "INSERT INTO app_hooks (owner_id, org_id, app, event_name, active) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
            params![owner, h.org_id.as_str(), h.app, h.event_name, h.active],
        )?;
    }
    Ok(())
}

pub(crate) fn remove(c: &Connection, owner: &str) -> StoreResult<()> {
    execute(c, "DELETE FROM http_interfaces WHERE owner_id = ?1", [owner])?;
    execute(c, "DELETE FROM timers WHERE owner_id = ?1", [owner])?;
    execute(c, "DELETE FROM app_hooks WHERE owner_id = ?1", [owner])?;
    Ok(())
}

pub(crate) fn create_domain(c: &Connection, d: &EndpointDomain) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO endpoint_domains (id, org_id, endpoint_id, created_at) VALUES (?1, ?2, ?3, ?4)",
        params![d.id, d.org_id.as_str(), d.endpoint_id.as_str(), d.created_at.ms()],
    )?;
    Ok(())
}

/// An endpoint that a deployment took away may come back with the next: its domain stays attached
/// to nothing meanwhile.
pub(crate) fn domains(c: &Connection) -> StoreResult<Vec<(String, String)>> {
    let sql = "SELECT d.id, h.key FROM endpoint_domains d JOIN http_interfaces h ON h.id = d.endpoint_id AND h.org_id = d.org_id LIMIT 100000";
    many(c, sql, [], |row| Ok((row.get(0).map_err(database)?, row.get(1).map_err(database)?)))
}

/// The domains of an owner that goes.
pub(crate) fn remove_domains(c: &Connection, owner: &str) -> StoreResult<()> {
    execute(
        c,
        "DELETE FROM endpoint_domains WHERE endpoint_id IN (SELECT id FROM http_interfaces WHERE owner_id = ?1)",
        [owner],
    )?;
    Ok(())
}

pub(crate) fn of(c: &Connection, owner: &str) -> StoreResult<Interfaces> {
    Ok(Interfaces {
        http: many(
            c,
            "SELECT * FROM http_interfaces WHERE owner_id = ?1 ORDER BY rowid",
            [owner],
            rows::http_interface,
        )?,
        timers: many(
            c,
            "SELECT * FROM timers WHERE owner_id = ?1 ORDER BY rowid",
            [owner],
            rows::timer,
        )?,
        app_hooks: many(
            c,
            "SELECT * FROM app_hooks WHERE owner_id = ?1 ORDER BY app, event_name",
            [owner],
            rows::app_hook,
        )?,
    })
}

/// Those of several owners; one that is damaged is missing.
pub(crate) fn of_all(
    c: &Connection,
    owners: Vec<String>,
) -> StoreResult<HashMap<String, Interfaces>> {
    let mut found = HashMap::with_capacity(owners.len());
    for owner in owners {
        match of(c, &owner) {
            Ok(interfaces) => {
                found.insert(owner, interfaces);
            }
            Err(StoreError::Corrupt { what }) => {
                tracing::error!(owner, what, "stored interfaces cannot be read")
            }
            Err(other) => return Err(other),
        }
    }
    Ok(found)
}

/// Owners whose hooks fit one of the names.
pub(crate) fn app_hook_owners(
    c: &Connection,
    org: &OrgId,
    app: &str,
    names: &[String],
) -> StoreResult<Vec<Owner>> {
    let names = json(&names)?;
    let sql = "SELECT DISTINCT owner_id FROM app_hooks
               WHERE org_id = ?1 AND app = ?2 AND active = 1 AND (event_name = '' OR event_name IN (SELECT value FROM json_each(?3))) ORDER BY owner_id";
    many(c, sql, params![org.as_str(), app, names], |row| {
        row.get(0).map(Owner::from_row).map_err(database)
    })
}

/// Compare and set of `next_at`: a tick fires once.
pub(crate) fn fire(
    c: &Connection,
    id: &TimerId,
    due_at: Timestamp,
    next_at: Timestamp,
    run: &NewRun,
) -> StoreResult<Fired> {
    let moved = execute(
        c,
        "UPDATE timers SET next_at = ?3 WHERE id = ?1 AND next_at = ?2 AND active = 1",
        params![id.as_str(), due_at.ms(), next_at.ms()],
    )?;
    if moved == 0 {
        return Ok(Fired::Skipped);
    }
    let going_on = number(
        c,
        "SELECT EXISTS (SELECT 1 FROM runs WHERE status IN ('queued', 'running') AND owner_id = ?1 AND trigger_id = ?2)",
        params![run.owner.as_str(), run.trigger_id],
    )?;
    if going_on != 0 {
        return Ok(Fired::Skipped);
    }
    runs::insert(c, run, None)?;
    Ok(Fired::Accepted)
}
