//! Forms in which props are filled in.

use deadpool_postgres::Transaction;
use millrace_model::clock::Timestamp;
use millrace_model::form::Form;
use millrace_model::ids::{FormId, OrgId};
use millrace_store::{StoreError, StoreResult};
use tokio_postgres::Row;

use crate::db::database;
use crate::rows::execute;

pub(crate) const COLUMNS: &str = "id, org_id, artifact_id, props, expires_at";

pub(crate) async fn keep(t: &Transaction<'_>, form: &Form, most: u32) -> StoreResult<()> {
    let props = serde_json::to_string(&form.props).map_err(|e| StoreError::Database(e.into()))?;
    execute(
        t,
        "INSERT INTO forms (id, org_id, artifact_id, props, expires_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (id) DO UPDATE SET artifact_id = excluded.artifact_id, props = excluded.props, expires_at = excluded.expires_at
         WHERE forms.org_id = excluded.org_id",
        &[&form.id.as_str(), &form.org_id.as_str(), &form.artifact_id, &props, &form.expires_at.ms()],
    )
    .await?;
    let others = "SELECT id FROM forms WHERE org_id = $1 ORDER BY expires_at DESC, id OFFSET $2 FOR UPDATE SKIP LOCKED";
    execute(
        t,
        &format!("DELETE FROM forms WHERE id IN ({others})"),
        &[&form.org_id.as_str(), &i64::from(most)],
    )
    .await?;
    Ok(())
}

pub(crate) fn read(row: &Row) -> StoreResult<Form> {
    let text = |column: &str| row.try_get::<_, String>(column).map_err(database);
    Ok(Form {
        id: FormId::from_row(text("id")?),
        org_id: OrgId::from_row(text("org_id")?),
        artifact_id: text("artifact_id")?,
        props: millrace_model::json::from_str(&text("props")?)
            .map_err(|e| StoreError::Corrupt { what: format!("the column props: {e}") })?,
        expires_at: Timestamp(row.try_get("expires_at").map_err(database)?),
    })
}
