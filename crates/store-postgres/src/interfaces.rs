//! Endpoints and timers.

use std::collections::HashMap;

use deadpool_postgres::{Client, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::domain::EndpointDomain;
use millrace_model::ids::{OrgId, TimerId};
use millrace_model::run::NewRun;
use millrace_model::source::Owner;
use millrace_store::{Fired, Interfaces, StoreError, StoreResult};
use tokio_postgres::Row;

use crate::db::{database, text, unwritable};
use crate::rows::{self, execute, many, one};
use crate::runs;

/// Replaces all interfaces of an owner.
pub(crate) async fn replace(
    t: &Transaction<'_>,
    owner: &str,
    interfaces: &Interfaces,
) -> StoreResult<()> {
    remove(t, owner).await?;
    for (h, position) in interfaces.http.iter().zip(0i64..) {
        execute(
            t,
            "INSERT INTO http_interfaces (id, org_id, owner_id, position, key, custom_response, active) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            &[&h.id.as_str(), &h.org_id.as_str(), &owner, &position, &h.key, &h.custom_response, &h.active],
        )
        .await?;
    }
    for (timer, position) in interfaces.timers.iter().zip(0i64..) {
        execute(
            t,
            "INSERT INTO timers (id, org_id, owner_id, position, schedule, next_at, active) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            &[
                &timer.id.as_str(),
                &timer.org_id.as_str(),
                &owner,
                &position,
                &serde_json::to_string(&timer.schedule).map_err(unwritable)?,
                &timer.next_at.ms(),
                &timer.active,
            ],
        )
        .await?;
    }
    for h in &interfaces.app_hooks {
        execute(
            t,
            "INSERT INTO app_hooks (owner_id, org_id, app, event_name, active) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
            &[&owner, &h.org_id.as_str(), &text(&h.app), &text(&h.event_name), &h.active],
        )
        .await?;
    }
    Ok(())
}

pub(crate) async fn remove(t: &Transaction<'_>, owner: &str) -> StoreResult<()> {
    execute(t, "DELETE FROM http_interfaces WHERE owner_id = $1", &[&owner]).await?;
    execute(t, "DELETE FROM timers WHERE owner_id = $1", &[&owner]).await?;
    execute(t, "DELETE FROM app_hooks WHERE owner_id = $1", &[&owner]).await?;
    Ok(())
}

pub(crate) async fn create_domain(c: &Client, d: &EndpointDomain) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO endpoint_domains (id, org_id, endpoint_id, created_at) VALUES ($1, $2, $3, $4)",
        &[&d.id, &d.org_id.as_str(), &d.endpoint_id.as_str(), &d.created_at.ms()],
    )
    .await?;
    Ok(())
}

/// An endpoint that a deployment took away may come back with the next: its domain stays attached
/// to nothing meanwhile.
pub(crate) async fn domains(c: &Client) -> StoreResult<Vec<(String, String)>> {
    let sql = "SELECT d.id, h.key FROM endpoint_domains d JOIN http_interfaces h ON h.id = d.endpoint_id AND h.org_id = d.org_id LIMIT 100000";
    many(c, sql, &[], |row| {
        Ok((row.try_get(0).map_err(database)?, row.try_get(1).map_err(database)?))
    })
    .await
}

/// The domains of an owner that goes.
pub(crate) async fn remove_domains(t: &Transaction<'_>, owner: &str) -> StoreResult<()> {
    execute(t, "DELETE FROM endpoint_domains WHERE endpoint_id IN (SELECT id FROM http_interfaces WHERE owner_id = $1)", &[&owner]).await?;
    Ok(())
}

pub(crate) async fn of(c: &Client, owner: &str) -> StoreResult<Interfaces> {
    let http = format!(
        "SELECT {} FROM http_interfaces WHERE owner_id = $1 ORDER BY position",
        rows::HTTP_INTERFACE
    );
    let timers =
        format!("SELECT {} FROM timers WHERE owner_id = $1 ORDER BY position", rows::TIMER);
    let app_hooks = format!(
        "SELECT {} FROM app_hooks WHERE owner_id = $1 ORDER BY app, event_name",
        rows::APP_HOOK
    );
    Ok(Interfaces {
        http: many(c, &http, &[&owner], rows::http_interface).await?,
        timers: many(c, &timers, &[&owner], rows::timer).await?,
        app_hooks: many(c, &app_hooks, &[&owner], rows::app_hook).await?,
    })
}

/// Those of several owners; one that is damaged is missing.
pub(crate) async fn of_all(
    c: &Client,
    owners: &[&str],
) -> StoreResult<HashMap<String, Interfaces>> {
    let mut found: HashMap<String, Interfaces> =
        owners.iter().map(|&owner| (owner.to_owned(), Interfaces::default())).collect();
    add(
        c,
        &mut found,
        owners,
        ("http_interfaces", rows::HTTP_INTERFACE, "position"),
        rows::http_interface,
        |of| &mut of.http,
    )
    .await?;
    add(c, &mut found, owners, ("timers", rows::TIMER, "position"), rows::timer, |of| {
        &mut of.timers
    })
    .await?;
    add(
        c,
        &mut found,
        owners,
        ("app_hooks", rows::APP_HOOK, "app, event_name"),
        rows::app_hook,
        |of| &mut of.app_hooks,
    )
    .await?;
    Ok(found)
}

/// Adds the rows of a table to their owners' interfaces, and takes an owner out one of whose rows
/// cannot be read.
async fn add<T>(
    c: &Client,
    found: &mut HashMap<String, Interfaces>,
    owners: &[&str],
    (table, columns, order): (&str, &str, &str),
    read: impl Fn(&Row) -> StoreResult<T>,
    list: impl Fn(&mut Interfaces) -> &mut Vec<T>,
) -> StoreResult<()> {
    let sql = format!(
        "SELECT {columns} FROM {table} WHERE owner_id = ANY ($1) ORDER BY owner_id, {order}"
    );
    let rows =
        many(c, &sql, &[&owners], |row| Ok((rows::get::<String>(row, "owner_id")?, read(row))))
            .await?;
    for (owner, row) in rows {
        match row {
            Ok(row) => {
                if let Some(of) = found.get_mut(&owner) {
                    list(of).push(row);
                }
            }
            Err(StoreError::Corrupt { what }) => {
                tracing::error!(owner, what, "stored interfaces cannot be read");
                found.remove(&owner);
            }
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

/// Owners whose hooks fit one of the names.
pub(crate) async fn app_hook_owners(
    c: &Client,
    org: &OrgId,
    app: &str,
    names: &[String],
) -> StoreResult<Vec<Owner>> {
    let names: Vec<String> = names.iter().map(|name| text(name).into_owned()).collect();
    let sql = "SELECT DISTINCT owner_id FROM app_hooks
               WHERE org_id = $1 AND app = $2 AND active AND (event_name = '' OR event_name = ANY ($3)) ORDER BY owner_id";
    many(c, sql, &[&org.as_str(), &text(app), &names], |row| {
        row.try_get(0).map(Owner::from_row).map_err(database)
    })
    .await
}

pub(crate) async fn next_timer_at(c: &Client) -> StoreResult<Option<Timestamp>> {
    one(c, "SELECT next_at FROM timers WHERE active ORDER BY next_at LIMIT 1", &[], |row| {
        row.try_get(0).map(Timestamp).map_err(database)
    })
    .await
}

/// Compare and set of `next_at`: a tick fires once, however many servers see it due. The timer's
/// row stays locked until the end, so that two ticks of it never look for an unfinished run at
/// once.
pub(crate) async fn fire(
    t: &Transaction<'_>,
    id: &TimerId,
    due_at: Timestamp,
    next_at: Timestamp,
    run: &NewRun,
) -> StoreResult<Fired> {
    let moved = execute(
        t,
        "UPDATE timers SET next_at = $3 WHERE id = $1 AND next_at = $2 AND active",
        &[&id.as_str(), &due_at.ms(), &next_at.ms()],
    )
    .await?;
    if moved == 0 {
        return Ok(Fired::Skipped);
    }
    let going_on = one(
        t,
        "SELECT 1 FROM runs WHERE status IN ('queued', 'running') AND owner_id = $1 AND trigger_id = $2 LIMIT 1",
        &[&run.owner.as_str(), &run.trigger_id],
        |_| Ok(()),
    )
    .await?;
    if going_on.is_some() {
        return Ok(Fired::Skipped);
    }
    runs::insert(t, std::slice::from_ref(run), None).await?;
    Ok(Fired::Accepted)
}
