//! Audit records.

use millrace_model::audit::AuditRecord;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AuditId, OrgId, UserId};
use millrace_store::{StoreError, StoreResult};
use rusqlite::{Connection, Row, params};

use crate::db::database;
use crate::rows::execute;
use crate::store::json;

pub(crate) fn record(c: &Connection, r: &AuditRecord) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO audit (id, org_id, created_at, user_id, key_id, action, target, fields, request_id, done) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (id) DO UPDATE SET target = excluded.target, fields = excluded.fields, done = excluded.done",
        params![r.id.as_str(), r.org_id.as_str(), r.created_at.ms(), r.user_id.as_str(), r.key_id, r.action, r.target, json(&r.fields)?, r.request_id, r.done],
    )?;
    Ok(())
}

pub(crate) fn forget(c: &Connection, org: &OrgId, id: &AuditId) -> StoreResult<()> {
    execute(c, "DELETE FROM audit WHERE id = ?1 AND org_id = ?2", [id.as_str(), org.as_str()])?;
    Ok(())
}

pub(crate) fn read(row: &Row<'_>) -> StoreResult<AuditRecord> {
    let text = |column| row.get::<_, String>(column).map_err(database);
    Ok(AuditRecord {
        id: AuditId::from_row(text("id")?),
        org_id: OrgId::from_row(text("org_id")?),
        created_at: Timestamp(row.get("created_at").map_err(database)?),
        user_id: UserId::from_row(text("user_id")?),
        user_name: None,
        key_id: text("key_id")?,
        action: text("action")?,
        target: row.get("target").map_err(database)?,
        fields: millrace_model::json::from_str(&text("fields")?)
            .map_err(|e| StoreError::Corrupt { what: format!("the column fields: {e}") })?,
        request_id: text("request_id")?,
        done: row.get("done").map_err(database)?,
    })
}
