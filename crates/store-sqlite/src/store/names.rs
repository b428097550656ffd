//! Records by their names.

use async_trait::async_trait;
use millrace_model::ids::OrgId;
use millrace_model::names::{Named, NamedKind};
use millrace_store::{
    NAMING_SOURCES, NAMING_WORKFLOWS, Names, SOURCES_OF_REGISTRY, StoreResult,
    WORKFLOWS_OF_REGISTRY, names_sql,
};
use rusqlite::{Row, params};

use crate::SqliteStore;
use crate::rows::{get, many};

#[async_trait]
impl Names for SqliteStore {
    async fn names(&self, org: &OrgId, kind: NamedKind, limit: u32) -> StoreResult<Vec<Named>> {
        let Some(sql) = names_sql(kind) else { return Ok(Vec::new()) };
        let org = org.to_string();
        self.db.read(move |c| many(c, sql, params![org, limit], |row| named(kind, row))).await
    }
    async fn naming(&self, org: &OrgId, id: &str, limit: u32) -> StoreResult<Vec<Named>> {
        self.sources_and_workflows([NAMING_SOURCES, NAMING_WORKFLOWS], org, id, limit).await
    }
    async fn registry_uses(&self, org: &OrgId, name: &str, limit: u32) -> StoreResult<Vec<Named>> {
        let sql = [SOURCES_OF_REGISTRY, WORKFLOWS_OF_REGISTRY];
        self.sources_and_workflows(sql, org, name, limit).await
    }
}

impl SqliteStore {
    /// Runs a query of sources, then one of workflows.
    async fn sources_and_workflows(
        &self,
        [sources, workflows]: [&'static str; 2],
        org: &OrgId,
        text: &str,
        limit: u32,
    ) -> StoreResult<Vec<Named>> {
        let (org, text) = (org.to_string(), text.to_owned());
        let read = move |c: &rusqlite::Connection| {
            let mut found = Vec::new();
            for (kind, sql) in [(NamedKind::Source, sources), (NamedKind::Workflow, workflows)] {
                found.extend(many(c, sql, params![org, text, limit], |row| named(kind, row))?);
            }
            Ok(found)
        };
        self.db.read(read).await
    }
}

fn named(kind: NamedKind, row: &Row<'_>) -> StoreResult<Named> {
    Ok(Named { kind, id: get(row, "id")?, name: get(row, "name")?, about: get(row, "about")? })
}
