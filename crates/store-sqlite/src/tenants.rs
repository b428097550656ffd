//! Organizations, users, keys.

use millrace_model::ids::{OrgId, UserId};
use millrace_model::tenant::{ApiKey, Caller};
use millrace_store::{NewTenant, StoreResult};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::rows::{execute, number, one};

pub(crate) fn bootstrap(c: &Connection, first: &NewTenant) -> StoreResult<bool> {
    if number(c, "SELECT count(*) FROM organizations", [])? > 0 {
        return Ok(false);
    }
    create(c, first)?;
    Ok(true)
}

pub(crate) fn create(c: &Connection, tenant: &NewTenant) -> StoreResult<()> {
    let (o, u) = (&tenant.organization, &tenant.user);
    execute(
        c,
        "INSERT INTO organizations (id, name, orgname, email, project_id, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![o.id.as_str(), o.name, o.orgname, o.email, o.project_id.as_str(), o.created_at.ms()],
    )?;
    execute(
        c,
        "INSERT INTO users (id, org_id, username, email, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![u.id.as_str(), u.org_id.as_str(), u.username, u.email, u.created_at.ms()],
    )?;
    create_key(c, &tenant.key)
}

pub(crate) fn create_key(c: &Connection, k: &ApiKey) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO api_keys (id, org_id, user_id, name, key_hash, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![k.id.as_str(), k.org_id.as_str(), k.user_id.as_str(), k.name, k.key_hash, k.created_at.ms()],
    )?;
    Ok(())
}

pub(crate) fn caller(c: &Connection, key_hash: &str) -> StoreResult<Option<Caller>> {
    one(c, "SELECT org_id, user_id FROM api_keys WHERE key_hash = ?1", [key_hash], |row| {
        Ok(Caller { org_id: OrgId::from_row(row.get(0).map_err(database)?), user_id: UserId::from_row(row.get(1).map_err(database)?) })
    })
}
