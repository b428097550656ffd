//! The traits, a file for each part, each method one transaction on the writer or one query on a
//! reader.

use async_trait::async_trait;
use millrace_store::{Condition, Store, StoreError, StoreResult};
use serde::Serialize;

use crate::SqliteStore;
use crate::rows::number;

/// JSON text of a stored value.
pub(crate) fn json(value: &impl Serialize) -> StoreResult<String> {
    serde_json::to_string(value).map_err(|e| StoreError::Database(Box::new(e)))
}

/// One row of a table by organization and id.
macro_rules! by_id {
    ($self:ident, $table:literal, $org:ident, $id:ident, $read:path) => {{
        let (org, id) = ($org.to_string(), $id.to_string());
        $self
            .db
            .read(move |c| {
                one(
                    c,
                    concat!("SELECT * FROM ", $table, " WHERE id = ?1 AND org_id = ?2"),
                    [id, org],
                    $read,
                )
            })
            .await
    }};
}

/// A write with fail points around its commit.
macro_rules! write_at {
    ($self:ident, $name:literal, |$c:ident| $operation:expr) => {
        write_at!($self, $name, $crate::writer::Extent::Any, |$c| $operation)
    };
    ($self:ident, $name:literal, $extent:expr, |$c:ident| $operation:expr) => {{
        let written = $self
            .db
            .write_of($extent, move |$c| {
                let written = $operation?;
                fail_point!(concat!("store.", $name, ".before_commit"));
                Ok(written)
            })
            .await?;
        fail_point!(concat!("store.", $name, ".after_commit"));
        Ok(written)
    }};
}

mod accounts;
mod components;
mod data_stores;
mod deliveries;
mod errors;
mod files;
mod history;
mod names;
mod nodes;
mod people;
mod runs;
mod search;
mod sources;
mod tenants;
mod webhooks;
mod workflows;

#[async_trait]
impl Store for SqliteStore {
    async fn close(&self) {
        self.db.close().await;
    }
    async fn ping(&self) -> StoreResult<()> {
        self.db.read(|c| number(c, "SELECT 1", []).map(|_| ())).await?;
        match self.condition() {
            // Nothing else may be written meanwhile that would tell that it works again.
            Condition::Full | Condition::Failing => self.db.write(crate::db::probe).await,
            _ => Ok(()),
        }
    }
    fn condition(&self) -> Condition {
        self.db.condition()
    }
    fn single_node(&self) -> bool {
        true
    }
    async fn stored_bytes(&self) -> StoreResult<u64> {
        const SIZE: &str =
            "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
        let bytes = self.db.read(|c| number(c, SIZE, [])).await?;
        Ok(u64::try_from(bytes).unwrap_or(0))
    }
}
