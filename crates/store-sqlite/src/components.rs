//! Artifacts and saved components.

use millrace_model::component::{Artifact, ComponentType, Responds, SavedComponent};
use millrace_model::ids::OrgId;
use millrace_model::page::{Listing, Page};
use millrace_store::{StoreError, StoreResult};
use rusqlite::{Connection, params};

use crate::rows::{self, execute, list};
use crate::store::json;

pub(crate) fn put_artifact(c: &Connection, a: &Artifact) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO artifacts (id, code, source_map, package_lock, uses_respond, may_respond) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT (id) DO UPDATE SET uses_respond = excluded.uses_respond, may_respond = excluded.may_respond \
         WHERE artifacts.uses_respond <> excluded.uses_respond OR artifacts.may_respond <> excluded.may_respond",
        params![
            a.id,
            a.code,
            a.source_map,
            a.lock,
            a.responds == Responds::Surely,
            a.responds == Responds::Perhaps
        ],
    )?;
    Ok(())
}

pub(crate) fn create(c: &Connection, s: &SavedComponent) -> StoreResult<()> {
    if s.published {
        execute(
            c,
            "UPDATE components SET published = 0, superseded = 1 WHERE org_id = ?1 AND key = ?2 AND published = 1",
            params![s.org_id.as_str(), s.manifest.key],
        )?;
    }
    let kind = match s.component_type {
        ComponentType::Source => "source",
        ComponentType::Action => "action",
    };
    execute(
        c,
        "INSERT INTO components (id, org_id, code, code_hash, url, component_type, key, manifest, artifact_id, published, created_at, updated_at, files,
           registry, registry_revision, registry_indexed_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        params![
            s.id.as_str(),
            s.org_id.as_str(),
            s.code,
            s.code_hash,
            s.url,
            kind,
            s.manifest.key,
            json(&s.manifest)?,
            s.artifact_id,
            s.published,
            s.created_at.ms(),
            s.updated_at.ms(),
            s.files.as_ref().map(json).transpose()?,
            s.registry.as_ref().map(|from| &from.name),
            s.registry.as_ref().map(|from| &from.revision),
            s.registry.as_ref().and_then(|from| from.indexed_at).map(|at| at.ms())
        ],
    )?;
    Ok(())
}

pub(crate) fn published(
    c: &Connection,
    org: &OrgId,
    page: &Page,
) -> StoreResult<Listing<SavedComponent>> {
    list(c, "components", "org_id = ?1 AND published = 1", &[org.as_str()], page, rows::component)
}

pub(crate) fn unpublish(c: &Connection, org: &OrgId, key: &str) -> StoreResult<()> {
    if execute(
        c,
        "UPDATE components SET published = 0 WHERE org_id = ?1 AND key = ?2 AND published = 1",
        params![org.as_str(), key],
    )? == 0
    {
        return Err(StoreError::NotFound);
    }
    execute(
        c,
        "UPDATE components SET superseded = 0, key = NULL WHERE org_id = ?1 AND key = ?2",
        params![org.as_str(), key],
    )?;
    Ok(())
}
