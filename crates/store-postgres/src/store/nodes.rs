//! Servers that share the database.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{AccountId, SourceId};
use millrace_store::{Heard, News, Nodes, SourceWrites, StoreResult};

use crate::db::{database, statement};
use crate::rows::one;
use crate::{PostgresStore, accounts, nodes};

#[async_trait]
impl Nodes for PostgresStore {
    async fn listen(&self) -> StoreResult<Option<tokio::sync::mpsc::Receiver<Heard>>> {
        self.db.listen().await.map(Some)
    }
    async fn tell(&self, node: &str, news: &[News]) -> StoreResult<()> {
        let mut client = self.db.client().await?;
        nodes::tell(&mut client, node, news).await
    }
    async fn check_in(&self, node: &str, for_ms: i64) -> StoreResult<u64> {
        statement!(self.db, "node", |c| nodes::check_in(&c, node, for_ms))
    }
    async fn check_out(&self, node: &str) -> StoreResult<()> {
        statement!(self.db, "node", |c| nodes::check_out(&c, node))
    }
    async fn source_writes(&self, id: &SourceId) -> StoreResult<SourceWrites> {
        let read = |row: &tokio_postgres::Row| {
            let (all, unseated): (i64, i64) = (row.try_get(0).map_err(database)?, row.try_get(1).map_err(database)?);
            Ok(SourceWrites { all, seated: all - unseated })
        };
        let sql = "SELECT count, unseated FROM source_writes WHERE source_id = $1";
        Ok(one(&self.db.client().await?, sql, &[&id.as_str()], read).await?.unwrap_or_default())
    }
    async fn take_seat(&self, id: &SourceId, node: &str) -> StoreResult<bool> {
        statement!(self.db, "node", |c| nodes::take_seat(&c, id, node))
    }
    async fn leave_seat(&self, id: &SourceId, node: &str) -> StoreResult<()> {
        statement!(self.db, "node", |c| nodes::leave_seat(&c, id, node))
    }
    async fn claim_refresh(&self, id: &AccountId, version: i64, now: Timestamp, until: Timestamp) -> StoreResult<bool> {
        statement!(self.db, "refresh", |c| accounts::claim_refresh(&c, id, version, now, until))
    }
    async fn release_refresh(&self, id: &AccountId, version: i64) -> StoreResult<()> {
        statement!(self.db, "refresh", |c| accounts::release_refresh(&c, id, version))
    }
}
