//! Records by their names.

use async_trait::async_trait;
use millrace_model::ids::OrgId;
use millrace_model::names::{Named, NamedKind};
use millrace_store::{
    NAMING_SOURCES, NAMING_WORKFLOWS, Names, SOURCES_OF_REGISTRY, StoreResult,
    WORKFLOWS_OF_REGISTRY, names_sql,
};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::db::{database, text};
use crate::rows::many;

#[async_trait]
impl Names for PostgresStore {
    async fn names(&self, org: &OrgId, kind: NamedKind, limit: u32) -> StoreResult<Vec<Named>> {
        let Some(sql) = names_sql(kind) else { return Ok(Vec::new()) };
        many(&self.db.client().await?, sql, &[&org.as_str(), &i64::from(limit)], |row| {
            named(kind, row)
        })
        .await
    }
    async fn naming(&self, org: &OrgId, id: &str, limit: u32) -> StoreResult<Vec<Named>> {
        self.sources_and_workflows([NAMING_SOURCES, NAMING_WORKFLOWS], org, id, limit).await
    }
    async fn registry_uses(&self, org: &OrgId, name: &str, limit: u32) -> StoreResult<Vec<Named>> {
        let sql = [SOURCES_OF_REGISTRY, WORKFLOWS_OF_REGISTRY];
        self.sources_and_workflows(sql, org, name, limit).await
    }
}

impl PostgresStore {
    /// Runs a query of sources, then one of workflows.
    async fn sources_and_workflows(
        &self,
        [sources, workflows]: [&'static str; 2],
        org: &OrgId,
        given: &str,
        limit: u32,
    ) -> StoreResult<Vec<Named>> {
        let client = self.db.client().await?;
        let mut found = Vec::new();
        for (kind, sql) in [(NamedKind::Source, sources), (NamedKind::Workflow, workflows)] {
            found.extend(
                many(&client, sql, &[&org.as_str(), &text(given), &i64::from(limit)], |row| {
                    named(kind, row)
                })
                .await?,
            );
        }
        Ok(found)
    }
}

fn named(kind: NamedKind, row: &Row) -> StoreResult<Named> {
    let text = |column| row.try_get::<_, String>(column).map_err(database);
    Ok(Named { kind, id: text("id")?, name: text("name")?, about: text("about")? })
}
