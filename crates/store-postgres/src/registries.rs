//! Registries with their files and components.

use std::collections::HashMap;

use deadpool_postgres::Transaction;
use millrace_model::ids::{OrgId, RegistryId};
use millrace_model::registry::{Registry, RegistryComponent, RegistryFile, app_of};
use millrace_store::{NewRegistry, StoreError, StoreResult};

use crate::db::{database, text};
use crate::rows::{self, execute, many, one};

/// Rows of one statement: a tree has tens of thousands, and each statement is a journey.
const ROWS: usize = 500;

pub(crate) async fn put(t: &Transaction<'_>, new: &NewRegistry) -> StoreResult<Registry> {
    let r = &new.registry;
    execute(
        t,
        "INSERT INTO registries (id, org_id, name, origin, revision, file_count, component_count, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (org_id, name) DO UPDATE SET origin = excluded.origin, revision = excluded.revision, file_count = excluded.file_count,
           component_count = excluded.component_count, updated_at = excluded.updated_at",
        &[
            &r.id.as_str(),
            &r.org_id.as_str(),
            &text(&r.name),
            &text(&r.origin),
            &text(&r.revision),
            &i64::try_from(new.files.len()).unwrap_or(i64::MAX),
            &i64::try_from(new.components.len()).unwrap_or(i64::MAX),
            &r.created_at.ms(),
            &r.updated_at.ms(),
        ],
    )
    .await?;
    let sql = format!("SELECT {} FROM registries WHERE org_id = $1 AND name = $2", rows::REGISTRY);
    let stored = one(t, &sql, &[&r.org_id.as_str(), &text(&r.name)], rows::registry).await?;
    let stored = stored.ok_or_else(|| StoreError::Corrupt { what: "a registry that was just stored".into() })?;
    put_files(t, &stored.id, new).await?;
    execute(t, "DELETE FROM registry_components WHERE registry_id = $1", &[&stored.id.as_str()]).await?;
    for components in new.components.chunks(ROWS) {
        put_components(t, &stored.id, components).await?;
    }
    Ok(stored)
}

/// Most files of a tree stay the same from one update to the next.
async fn put_files(t: &Transaction<'_>, id: &RegistryId, new: &NewRegistry) -> StoreResult<()> {
    let row = |row: &tokio_postgres::Row| Ok((row.try_get::<_, String>(0).map_err(database)?, row.try_get::<_, String>(1).map_err(database)?));
    let before = many(t, "SELECT path, hash FROM registry_files WHERE registry_id = $1", &[&id.as_str()], row).await?;
    let before: HashMap<String, String> = before.into_iter().collect();
    let now: Vec<String> = new.files.iter().map(|file| text(&file.path).into_owned()).collect();
    execute(t, "DELETE FROM registry_files WHERE registry_id = $1 AND path <> ALL ($2)", &[&id.as_str(), &now]).await?;
    let changed: Vec<&RegistryFile> = new.files.iter().filter(|file| before.get(&*text(&file.path)) != Some(&file.hash)).collect();
    for files in changed.chunks(ROWS) {
        let column = |of: &dyn Fn(&RegistryFile) -> String| files.iter().map(|file| of(file)).collect::<Vec<_>>();
        let codes: Vec<&[u8]> = files.iter().map(|file| file.text.as_bytes()).collect();
        execute(
            t,
            "INSERT INTO registry_files (registry_id, app, path, hash, code)
             SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::bytea[])
             ON CONFLICT (registry_id, app, path) DO UPDATE SET hash = excluded.hash, code = excluded.code",
            &[
                &id.as_str(),
                &column(&|file| text(app_of(&file.path)).into_owned()),
                &column(&|file| text(&file.path).into_owned()),
                &column(&|file| file.hash.clone()),
                &codes,
            ],
        )
        .await?;
    }
    Ok(())
}

async fn put_components(t: &Transaction<'_>, id: &RegistryId, components: &[RegistryComponent]) -> StoreResult<()> {
    let column = |of: fn(&RegistryComponent) -> &str| components.iter().map(|c| text(of(c)).into_owned()).collect::<Vec<_>>();
    execute(
        t,
        "INSERT INTO registry_components (registry_id, path, key, name, description, version, component_type, app, hash)
         SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])",
        &[
            &id.as_str(),
            &column(|c| &c.path),
            &column(|c| &c.key),
            &column(|c| &c.name),
            &column(|c| &c.description),
            &column(|c| &c.version),
            &column(|c| &c.component_type),
            &column(|c| &c.app),
            &column(|c| &c.hash),
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn delete(t: &Transaction<'_>, org: &OrgId, name: &str) -> StoreResult<bool> {
    const ITS_ID: &str = "(SELECT id FROM registries WHERE org_id = $1 AND name = $2)";
    for table in ["registry_files", "registry_components"] {
        execute(t, &format!("DELETE FROM {table} WHERE registry_id = {ITS_ID}"), &[&org.as_str(), &text(name)]).await?;
    }
    Ok(execute(t, "DELETE FROM registries WHERE org_id = $1 AND name = $2", &[&org.as_str(), &text(name)]).await? > 0)
}
