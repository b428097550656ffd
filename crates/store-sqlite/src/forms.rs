//! Forms in which props are filled in.

use millrace_model::clock::Timestamp;
use millrace_model::form::Form;
use millrace_model::ids::{FormId, OrgId};
use millrace_store::{StoreError, StoreResult};
use rusqlite::{Connection, Row, params};

use crate::db::database;
use crate::rows::execute;

pub(crate) fn keep(c: &Connection, form: &Form, most: u32) -> StoreResult<()> {
    let props = serde_json::to_string(&form.props).map_err(|e| StoreError::Database(e.into()))?;
    execute(
        c,
        "INSERT INTO forms (id, org_id, artifact_id, props, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (id) DO UPDATE SET artifact_id = excluded.artifact_id, props = excluded.props, expires_at = excluded.expires_at
         WHERE org_id = excluded.org_id",
        params![form.id.as_str(), form.org_id.as_str(), form.artifact_id, props, form.expires_at.ms()],
    )?;
    let others =
        "SELECT id FROM forms WHERE org_id = ?1 ORDER BY expires_at DESC, id LIMIT -1 OFFSET ?2";
    execute(
        c,
        &format!("DELETE FROM forms WHERE id IN ({others})"),
        params![form.org_id.as_str(), most],
    )?;
    Ok(())
}

pub(crate) fn read(row: &Row<'_>) -> StoreResult<Form> {
    let text = |column: &str| row.get::<_, String>(column).map_err(database);
    Ok(Form {
        id: FormId::from_row(text("id")?),
        org_id: OrgId::from_row(text("org_id")?),
        artifact_id: text("artifact_id")?,
        props: millrace_model::json::from_str(&text("props")?)
            .map_err(|e| StoreError::Corrupt { what: format!("the column props: {e}") })?,
        expires_at: Timestamp(row.get("expires_at").map_err(database)?),
    })
}
