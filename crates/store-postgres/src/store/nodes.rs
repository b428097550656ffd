//! Servers that share the database.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::AccountId;
use millrace_store::{NodeMessage, Nodes, Notification, StoreResult};

use crate::db::statement;
use crate::{PostgresStore, accounts, nodes};

#[async_trait]
impl Nodes for PostgresStore {
    async fn listen(&self) -> StoreResult<Option<tokio::sync::mpsc::Receiver<Notification>>> {
        self.db.listen().await.map(Some)
    }
    async fn publish(&self, node: &str, messages: &[NodeMessage]) -> StoreResult<()> {
        let mut client = self.db.client().await?;
        nodes::publish(&mut client, node, messages).await
    }
    async fn check_in(&self, node: &str, for_ms: i64) -> StoreResult<u64> {
        statement!(self.db, "node", |c| nodes::check_in(&c, node, for_ms))
    }
    async fn check_out(&self, node: &str) -> StoreResult<()> {
        statement!(self.db, "node", |c| nodes::check_out(&c, node))
    }
    async fn claim_refresh(
        &self,
        id: &AccountId,
        version: i64,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<bool> {
        statement!(self.db, "refresh", |c| accounts::claim_refresh(&c, id, version, now, until))
    }
    async fn release_refresh(&self, id: &AccountId, until: Timestamp) -> StoreResult<()> {
        statement!(self.db, "refresh", |c| accounts::release_refresh(&c, id, until))
    }
}
