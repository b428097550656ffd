//! Registries with their files and components.

use std::collections::{HashMap, HashSet};

use millrace_model::ids::{OrgId, RegistryId};
use millrace_model::registry::{Registry, RegistryComponent, app_of};
use millrace_store::{NewRegistry, StoreError, StoreResult};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::rows::{self, execute, many, one};

pub(crate) fn put(c: &Connection, new: &NewRegistry) -> StoreResult<Registry> {
    let r = &new.registry;
    execute(
        c,
        "INSERT INTO registries (id, org_id, name, origin, revision, file_count, component_count, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (org_id, name) DO UPDATE SET origin = excluded.origin, revision = excluded.revision, file_count = excluded.file_count,
           component_count = excluded.component_count, updated_at = excluded.updated_at",
        params![
            r.id.as_str(),
            r.org_id.as_str(),
            r.name,
            r.origin,
            r.revision,
            i64::try_from(new.files.len()).unwrap_or(i64::MAX),
            i64::try_from(new.components.len()).unwrap_or(i64::MAX),
            r.created_at.ms(),
            r.updated_at.ms()
        ],
    )?;
    let stored = one(c, "SELECT * FROM registries WHERE org_id = ?1 AND name = ?2", params![r.org_id.as_str(), r.name], rows::registry)?;
    let stored = stored.ok_or_else(|| StoreError::Corrupt { what: "a registry that was just stored".into() })?;
    put_files(c, &stored.id, new)?;
    execute(c, "DELETE FROM registry_components WHERE registry_id = ?1", [stored.id.as_str()])?;
    for component in &new.components {
        put_component(c, &stored.id, component)?;
    }
    Ok(stored)
}

/// Most files of a tree stay the same from one update to the next.
fn put_files(c: &Connection, id: &RegistryId, new: &NewRegistry) -> StoreResult<()> {
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0).map_err(database)?, row.get::<_, String>(1).map_err(database)?));
    let before: HashMap<String, String> = many(c, "SELECT path, hash FROM registry_files WHERE registry_id = ?1", [id.as_str()], row)?.into_iter().collect();
    let now: HashSet<&str> = new.files.iter().map(|file| file.path.as_str()).collect();
    for path in before.keys().filter(|path| !now.contains(path.as_str())) {
        execute(c, "DELETE FROM registry_files WHERE registry_id = ?1 AND app = ?2 AND path = ?3", params![id.as_str(), app_of(path), path])?;
    }
    for file in new.files.iter().filter(|file| before.get(&file.path) != Some(&file.hash)) {
        execute(
            c,
            "INSERT INTO registry_files (registry_id, app, path, hash, code) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (registry_id, app, path) DO UPDATE SET hash = excluded.hash, code = excluded.code",
            params![id.as_str(), app_of(&file.path), file.path, file.hash, file.text],
        )?;
    }
    Ok(())
}

fn put_component(c: &Connection, id: &RegistryId, component: &RegistryComponent) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO registry_components (registry_id, path, key, name, description, version, component_type, app, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            id.as_str(),
            component.path,
            component.key,
            component.name,
            component.description,
            component.version,
            component.component_type,
            component.app,
            component.hash
        ],
    )?;
    Ok(())
}

pub(crate) fn delete(c: &Connection, org: &OrgId, name: &str) -> StoreResult<bool> {
    const ITS_ID: &str = "(SELECT id FROM registries WHERE org_id = ?1 AND name = ?2)";
    for table in ["registry_files", "registry_components"] {
        execute(c, &format!("DELETE FROM {table} WHERE registry_id = {ITS_ID}"), [org.as_str(), name])?;
    }
    Ok(execute(c, "DELETE FROM registries WHERE org_id = ?1 AND name = ?2", [org.as_str(), name])? > 0)
}
