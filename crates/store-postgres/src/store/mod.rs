//! The traits, a file for each part, each method one transaction or one statement on a connection
//! of the pool.

use async_trait::async_trait;
use millrace_store::{Condition, Store, StoreResult};

use crate::db::statement;
use crate::rows::number;
use crate::{PostgresStore, db};

/// One row of a table by organization and id.
macro_rules! by_id {
    ($self:ident, $table:literal, $columns:expr, $org:ident, $id:ident, $read:path) => {{
        let sql =
            format!(concat!("SELECT {} FROM ", $table, " WHERE id = $1 AND org_id = $2"), $columns);
        one(&$self.db.client().await?, &sql, &[&$id.as_str(), &$org.as_str()], $read).await
    }};
}

/// One row of a table by a column that is unique.
macro_rules! by_unique {
    ($self:ident, $table:literal, $columns:path, $column:literal, $value:expr, $read:path) => {{
        let sql =
            format!(concat!("SELECT {} FROM ", $table, " WHERE ", $column, " = $1"), $columns);
        one(&$self.db.client().await?, &sql, &[&$value], $read).await
    }};
}

macro_rules! slugs {
    ($self:ident, $table:literal, $org:ident, $base:ident) => {{
        many(
            &$self.db.client().await?,
            concat!(
                "SELECT name_slug FROM ",
                $table,
                " WHERE org_id = $1 AND (name_slug = $2 OR starts_with(name_slug, $2 || '-'))"
            ),
            &[&$org.as_str(), &text($base)],
            |row| row.try_get(0).map_err(database),
        )
        .await
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
impl Store for PostgresStore {
    async fn close(&self) {
        self.db.close();
    }
    async fn ping(&self) -> StoreResult<()> {
        number(&self.db.client().await?, "SELECT 1::bigint", &[]).await?;
        match self.condition() {
            // Nothing else may be written meanwhile that would tell that it works again.
            Condition::Full | Condition::Failing => {
                let done: StoreResult<()> = statement!(self.db, "probe", |c| db::probe(&c));
                if done.is_ok() {
                    self.db.health.found_room();
                }
                done
            }
            // Without anybody's writes nothing else would tell that there is none.
            _ if self.db.is_room_unknown() => {
                statement!(self.db, "room", |c| db::look_for_room(&c))
            }
            _ => Ok(()),
        }
    }
    fn condition(&self) -> Condition {
        self.db.condition()
    }
    fn single_node(&self) -> bool {
        false
    }
    async fn stored_bytes(&self) -> StoreResult<u64> {
        const SIZE: &str = "SELECT pg_database_size(current_database())";
        let bytes = number(&self.db.client().await?, SIZE, &[]).await?;
        Ok(u64::try_from(bytes).unwrap_or(0))
    }
}
