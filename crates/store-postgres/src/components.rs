//! Artifacts and saved components.

use deadpool_postgres::{Client, Transaction};
use millrace_model::component::{Artifact, ComponentType, Responds, SavedComponent};
use millrace_model::ids::OrgId;
use millrace_model::page::{Listing, Page};
use millrace_store::{StoreError, StoreResult};

use crate::db::{text, unwritable};
use crate::rows::{self, Table, execute, list};

pub(crate) async fn put_artifact(c: &Client, a: &Artifact) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO artifacts (id, code, source_map, package_lock, uses_respond, may_respond) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (id) DO UPDATE SET uses_respond = excluded.uses_respond, may_respond = excluded.may_respond \
         WHERE artifacts.uses_respond <> excluded.uses_respond OR artifacts.may_respond <> excluded.may_respond",
        &[&a.id, &a.code.as_bytes(), &a.source_map, &a.lock, &(a.responds == Responds::Surely), &(a.responds == Responds::Perhaps)],
    )
    .await?;
    Ok(())
}

pub(crate) async fn create(t: &Transaction<'_>, s: &SavedComponent) -> StoreResult<()> {
    let key = s.manifest.key.as_deref().map(text);
    if s.published {
        // Two that publish the same key at once come one after the other: the later one has the
        // mark. SQLite has one writer.
        execute(
            t,
            "SELECT pg_advisory_xact_lock(hashtextextended($1 || ' ' || coalesce($2, ''), 0))",
            &[&s.org_id.as_str(), &key],
        )
        .await?;
        execute(t, "UPDATE components SET published = false, superseded = true WHERE org_id = $1 AND key = $2 AND published", &[&s.org_id.as_str(), &key])
            .await?;
    }
    let kind = match s.component_type {
        ComponentType::Source => "source",
        ComponentType::Action => "action",
    };
    execute(
        t,
        "INSERT INTO components (id, org_id, code, code_hash, url, component_type, key, manifest, artifact_id, published, created_at, updated_at, files,
           registry, registry_revision, registry_indexed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
        &[
            &s.id.as_str(),
            &s.org_id.as_str(),
            &s.code.as_bytes(),
            &s.code_hash,
            &s.url,
            &kind,
            &key,
            &serde_json::to_string(&s.manifest).map_err(unwritable)?,
            &s.artifact_id,
            &s.published,
            &s.created_at.ms(),
            &s.updated_at.ms(),
            &s.files.as_ref().map(serde_json::to_string).transpose().map_err(unwritable)?,
            &s.registry.as_ref().map(|from| &from.name),
            &s.registry.as_ref().map(|from| &from.revision),
            &s.registry.as_ref().and_then(|from| from.indexed_at).map(|at| at.ms()),
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn published(
    c: &Client,
    org: &OrgId,
    page: &Page,
) -> StoreResult<Listing<SavedComponent>> {
    let table =
        Table { name: "components", columns: rows::COMPONENT, filter: "org_id = $1 AND published" };
    list(c, &table, &[&org.as_str()], page, rows::component).await
}

pub(crate) async fn unpublish(c: &Client, org: &OrgId, key: &str) -> StoreResult<()> {
    let sql = "UPDATE components SET published = false, superseded = false, key = NULL WHERE org_id = $1 AND key = $2
                 AND EXISTS (SELECT 1 FROM components p WHERE p.org_id = $1 AND p.key = $2 AND p.published)";
    match execute(c, sql, &[&org.as_str(), &text(key)]).await? {
        0 => Err(StoreError::NotFound),
        _ => Ok(()),
    }
}
