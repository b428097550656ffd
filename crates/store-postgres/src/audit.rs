//! Audit records.

use deadpool_postgres::Client;
use millrace_model::audit::AuditRecord;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AuditId, OrgId, UserId};
use millrace_store::{StoreError, StoreResult};
use tokio_postgres::Row;

use crate::db::{database, text, unwritable};
use crate::rows::execute;

pub(crate) const COLUMNS: &str =
    "id, org_id, created_at, user_id, key_id, action, target, fields, request_id, done";

pub(crate) async fn record(c: &Client, r: &AuditRecord) -> StoreResult<()> {
    let fields = serde_json::to_string(&r.fields).map_err(unwritable)?;
    execute(
        c,
        "INSERT INTO audit (id, org_id, created_at, user_id, key_id, action, target, fields, request_id, done) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (id) DO UPDATE SET target = excluded.target, fields = excluded.fields, done = excluded.done",
        &[
            &r.id.as_str(),
            &r.org_id.as_str(),
            &r.created_at.ms(),
            &r.user_id.as_str(),
            &r.key_id,
            &r.action,
            &r.target.as_deref().map(text),
            &fields,
            &r.request_id,
            &r.done,
        ],
    )
    .await?;
    Ok(())
}

pub(crate) fn read(row: &Row) -> StoreResult<AuditRecord> {
    let text = |column| row.try_get::<_, String>(column).map_err(database);
    Ok(AuditRecord {
        id: AuditId::from_row(text("id")?),
        org_id: OrgId::from_row(text("org_id")?),
        created_at: Timestamp(row.try_get("created_at").map_err(database)?),
        user_id: UserId::from_row(text("user_id")?),
        user_name: None,
        key_id: text("key_id")?,
        action: text("action")?,
        target: row.try_get("target").map_err(database)?,
        fields: millrace_model::json::from_str(&text("fields")?)
            .map_err(|e| StoreError::Corrupt { what: format!("the column fields: {e}") })?,
        request_id: text("request_id")?,
        done: row.try_get("done").map_err(database)?,
    })
}
