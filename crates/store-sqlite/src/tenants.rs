//! Organizations, users, keys.

use millrace_model::ids::{ApiKeyId, OrgId};
use millrace_model::tenant::{ApiKey, Caller, Organization};
use millrace_store::{NewTenant, StoreError, StoreResult};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::people;
use crate::rows::{self, execute, number, one};
use crate::store::json;

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
        "INSERT INTO organizations (id, name, orgname, email, project_id, created_at, error_recipients) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            o.id.as_str(),
            o.name,
            o.orgname,
            o.email,
            o.project_id.as_str(),
            o.created_at.ms(),
            json(&o.error_recipients)?
        ],
    )?;
    people::create_owner(c, u)?;
    create_key(c, &tenant.key)
}

pub(crate) fn first(c: &Connection) -> StoreResult<Option<OrgId>> {
    one(c, "SELECT id FROM organizations ORDER BY created_at, rowid LIMIT 1", [], |row| {
        row.get(0).map(OrgId::from_row).map_err(database)
    })
}

pub(crate) fn update(c: &Connection, o: &Organization) -> StoreResult<()> {
    let changed = execute(
        c,
        "UPDATE organizations SET name = ?2, email = ?3, error_recipients = ?4 WHERE id = ?1",
        params![o.id.as_str(), o.name, o.email, json(&o.error_recipients)?],
    )?;
    if changed == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

pub(crate) fn create_key(c: &Connection, k: &ApiKey) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO api_keys (id, org_id, user_id, name, key_hash, scopes, rate_per_minute, expires_at, old_key_hash, old_until, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            k.id.as_str(),
            k.org_id.as_str(),
            k.user_id.as_str(),
            k.name,
            k.key_hash,
            k.scopes.to_string(),
            k.rate_per_minute,
            k.expires_at.map(|t| t.ms()),
            k.old.as_ref().map(|(hash, _)| hash),
            k.old.as_ref().map(|(_, until)| until.ms()),
            k.created_at.ms()
        ],
    )?;
    Ok(())
}

pub(crate) fn update_key(c: &Connection, k: &ApiKey) -> StoreResult<()> {
    let changed = execute(
        c,
        "UPDATE api_keys SET name = ?3, key_hash = ?4, scopes = ?5, rate_per_minute = ?6, expires_at = ?7, old_key_hash = ?8, old_until = ?9
         WHERE id = ?1 AND org_id = ?2",
        params![
            k.id.as_str(),
            k.org_id.as_str(),
            k.name,
            k.key_hash,
            k.scopes.to_string(),
            k.rate_per_minute,
            k.expires_at.map(|t| t.ms()),
            k.old.as_ref().map(|(hash, _)| hash),
            k.old.as_ref().map(|(_, until)| until.ms())
        ],
    )?;
    if changed == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

pub(crate) fn delete_key(c: &Connection, org: &OrgId, id: &ApiKeyId) -> StoreResult<bool> {
    Ok(execute(
        c,
        "DELETE FROM api_keys WHERE id = ?1 AND org_id = ?2",
        [id.as_str(), org.as_str()],
    )? > 0)
}

pub(crate) fn caller(c: &Connection, key_hash: &str) -> StoreResult<Option<Caller>> {
    let key = one(
        c,
        "SELECT * FROM api_keys WHERE key_hash = ?1 OR old_key_hash = ?1 LIMIT 1",
        [key_hash],
        rows::api_key,
    )?;
    Ok(key.map(|key| key.caller(key_hash)))
}
