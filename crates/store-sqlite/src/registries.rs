//! Registries with their files and components.

use std::collections::HashMap;

use millrace_model::ids::{OrgId, RegistryId};
use millrace_model::registry::{
    FailedUpdate, Registry, RegistryComponent, RegistryFile, Unindexed, app_of,
};
use millrace_store::{
    FoundComponent, GENERATIONS_KEPT, LATEST, NewRegistry, StoreError, StoreResult,
};
use rusqlite::{Connection, Row, params};

use crate::db::database;
use crate::rows::{self, execute, many, one};
use crate::store::json;

pub(crate) fn put(c: &Connection, new: &NewRegistry) -> StoreResult<Registry> {
    let r = &new.registry;
    execute(
        c,
        "INSERT INTO registries (id, org_id, name, origin, revision, file_count, component_count, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (org_id, name) DO UPDATE SET origin = excluded.origin, revision = excluded.revision, file_count = excluded.file_count,
           component_count = excluded.component_count, updated_at = excluded.updated_at, generation = generation + 1,
           failed_at = NULL, failure = NULL",
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
    let lost = || StoreError::Corrupt { what: "a registry that was just stored".into() };
    let sql = "SELECT id, generation FROM registries WHERE org_id = ?1 AND name = ?2";
    let row = |row: &Row<'_>| {
        let id = RegistryId::from_row(row.get(0).map_err(database)?);
        Ok((id, row.get::<_, i64>(1).map_err(database)?))
    };
    let (id, generation) =
        one(c, sql, params![r.org_id.as_str(), r.name], row)?.ok_or_else(lost)?;
    put_files(c, &id, generation, new)?;
    put_components(c, &id, generation, &new.components)?;
    put_update(c, &id, generation, new)?;
    for table in ["registry_files", "registry_components"] {
        let sql = format!("DELETE FROM {table} WHERE registry_id = ?1 AND until <= ?2");
        execute(c, &sql, params![id.as_str(), generation - GENERATIONS_KEPT])?;
    }
    let sql = format!("{} WHERE r.id = ?1", rows::REGISTRIES);
    one(c, &sql, [id.as_str()], rows::registry)?.ok_or_else(lost)
}

/// Keeps what made a state of the tree; the list of what is not indexed is that of the latest.
fn put_update(
    c: &Connection,
    id: &RegistryId,
    generation: i64,
    new: &NewRegistry,
) -> StoreResult<()> {
    execute(
        c,
        "UPDATE registry_updates SET unindexed = '[]' WHERE registry_id = ?1 AND generation = ?2 - 1",
        params![id.as_str(), generation],
    )?;
    execute(
        c,
        "DELETE FROM registry_updates WHERE registry_id = ?1 AND generation < ?2",
        params![id.as_str(), generation - GENERATIONS_KEPT],
    )?;
    execute(
        c,
        "INSERT INTO registry_updates (registry_id, generation, revision, indexed_at, unindexed_count, unindexed) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            id.as_str(),
            generation,
            new.registry.revision,
            new.registry.updated_at.ms(),
            new.registry.unindexed_count,
            json(&new.unindexed)?
        ],
    )?;
    Ok(())
}

pub(crate) fn update_failed(
    c: &Connection,
    org: &OrgId,
    name: &str,
    failed: &FailedUpdate,
) -> StoreResult<()> {
    let sql = "UPDATE registries SET failed_at = ?3, failure = ?4 WHERE org_id = ?1 AND name = ?2";
    execute(c, sql, params![org.as_str(), name, failed.at.ms(), failed.message])?;
    Ok(())
}

pub(crate) fn unindexed(c: &Connection, id: &RegistryId) -> StoreResult<Vec<Unindexed>> {
    let sql = "SELECT u.unindexed FROM registries r JOIN registry_updates u ON u.registry_id = r.id AND u.generation = r.generation WHERE r.id = ?1";
    Ok(one(c, sql, [id.as_str()], rows::unindexed)?.unwrap_or_default())
}

/// Most files of a tree stay the same from one update to the next.
fn put_files(
    c: &Connection,
    id: &RegistryId,
    generation: i64,
    new: &NewRegistry,
) -> StoreResult<()> {
    let row = |row: &rusqlite::Row<'_>| {
        Ok((row.get::<_, String>(0).map_err(database)?, row.get::<_, String>(1).map_err(database)?))
    };
    let sql = "SELECT path, hash FROM registry_files WHERE registry_id = ?1 AND until IS NULL";
    let before: HashMap<String, String> = many(c, sql, [id.as_str()], row)?.into_iter().collect();
    let now: HashMap<&str, &str> =
        new.files.iter().map(|file| (file.path.as_str(), file.hash.as_str())).collect();
    for path in before
        .iter()
        .filter(|(path, hash)| now.get(path.as_str()) != Some(&hash.as_str()))
        .map(|(path, _)| path)
    {
        let sql = "UPDATE registry_files SET until = ?4 WHERE registry_id = ?1 AND app = ?2 AND path = ?3 AND until IS NULL";
        execute(c, sql, params![id.as_str(), app_of(path), path, generation])?;
    }
    for file in new.files.iter().filter(|file| before.get(&file.path) != Some(&file.hash)) {
        execute(
            c,
            "INSERT INTO registry_files (registry_id, app, path, hash, code, since) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![id.as_str(), app_of(&file.path), file.path, file.hash, file.text, generation],
        )?;
    }
    Ok(())
}

fn put_components(
    c: &Connection,
    id: &RegistryId,
    generation: i64,
    components: &[RegistryComponent],
) -> StoreResult<()> {
    let sql = "SELECT * FROM registry_components WHERE registry_id = ?1 AND until IS NULL";
    let before: HashMap<String, RegistryComponent> =
        many(c, sql, [id.as_str()], rows::registry_component)?
            .into_iter()
            .map(|component| (component.path.clone(), component))
            .collect();
    let now: HashMap<&str, &RegistryComponent> =
        components.iter().map(|component| (component.path.as_str(), component)).collect();
    for component in
        before.values().filter(|component| now.get(component.path.as_str()) != Some(component))
    {
        let sql = "UPDATE registry_components SET until = ?3 WHERE registry_id = ?1 AND path = ?2 AND until IS NULL";
        execute(c, sql, params![id.as_str(), component.path, generation])?;
    }
    for component in
        components.iter().filter(|component| before.get(&component.path) != Some(component))
    {
        execute(
            c,
            "INSERT INTO registry_components (registry_id, path, key, name, description, version, component_type, app, hash, since)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                id.as_str(),
                component.path,
                component.key,
                component.name,
                component.description,
                component.version,
                component.component_type,
                component.app,
                component.hash,
                generation
            ],
        )?;
    }
    Ok(())
}

/// The latest state before earlier ones, the oldest registry before others.
pub(crate) fn find(
    c: &Connection,
    org: &OrgId,
    key: &str,
    version: Option<&str>,
) -> StoreResult<Option<FoundComponent>> {
    let sql = "SELECT c.*, r.name AS registry_name, CASE WHEN c.until IS NULL THEN r.revision ELSE u.revision END AS revision,
                 CASE WHEN c.until IS NULL THEN r.updated_at ELSE u.indexed_at END AS indexed_at
               FROM registry_components c JOIN registries r ON r.id = c.registry_id
               LEFT JOIN registry_updates u ON u.registry_id = c.registry_id AND u.generation = c.until - 1
               WHERE r.org_id = ?1 AND c.key = ?2 AND CASE WHEN ?3 IS NULL THEN c.until IS NULL ELSE c.version = ?3 END
               ORDER BY c.until IS NULL DESC, r.created_at, r.id, c.until DESC, c.path LIMIT 1";
    one(c, sql, params![org.as_str(), key, version], rows::component_in_registry)
}

pub(crate) fn versions(c: &Connection, org: &OrgId, key: &str) -> StoreResult<Vec<String>> {
    let sql = "SELECT c.version FROM registry_components c JOIN registries r ON r.id = c.registry_id WHERE r.org_id = ?1 AND c.key = ?2
               GROUP BY c.version ORDER BY max(coalesce(c.until, ?3)) DESC, max(c.since) DESC, c.version LIMIT 100";
    many(c, sql, params![org.as_str(), key, LATEST], |row| row.get(0).map_err(database))
}

pub(crate) fn files(
    c: &Connection,
    id: &RegistryId,
    app: &str,
    generation: i64,
) -> StoreResult<Vec<RegistryFile>> {
    let sql = "SELECT * FROM registry_files WHERE registry_id = ?1 AND app = ?2 AND since <= ?3 AND (until IS NULL OR until > ?3) ORDER BY path";
    many(c, sql, params![id.as_str(), app, generation], rows::registry_file)
}

pub(crate) fn delete(c: &Connection, org: &OrgId, name: &str) -> StoreResult<bool> {
    const ITS_ID: &str = "(SELECT id FROM registries WHERE org_id = ?1 AND name = ?2)";
    for table in ["registry_files", "registry_components"] {
        execute(
            c,
            &format!("DELETE FROM {table} WHERE registry_id = {ITS_ID}"),
            [org.as_str(), name],
        )?;
    }
    Ok(execute(c, "DELETE FROM registries WHERE org_id = ?1 AND name = ?2", [org.as_str(), name])?
        > 0)
}
