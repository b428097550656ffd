//! Registries with their files and components.

use std::collections::HashMap;

use deadpool_postgres::{Client, Transaction};
use millrace_model::ids::{OrgId, RegistryId};
use millrace_model::registry::{
    FailedUpdate, Registry, RegistryComponent, RegistryFile, Unindexed, app_of,
};
use millrace_store::{
    FoundComponent, GENERATIONS_KEPT, LATEST, NewRegistry, StoreError, StoreResult,
};

use crate::db::{database, text, unwritable};
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
           component_count = excluded.component_count, updated_at = excluded.updated_at, generation = registries.generation + 1,
           failed_at = NULL, failure = NULL",
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
    let lost = || StoreError::Corrupt { what: "a registry that was just stored".into() };
    let sql = "SELECT id, generation FROM registries WHERE org_id = $1 AND name = $2";
    let row = |row: &tokio_postgres::Row| {
        let id = RegistryId::from_row(row.try_get(0).map_err(database)?);
        Ok((id, row.try_get::<_, i64>(1).map_err(database)?))
    };
    let (id, generation) =
        one(t, sql, &[&r.org_id.as_str(), &text(&r.name)], row).await?.ok_or_else(lost)?;
    put_files(t, &id, generation, new).await?;
    put_components(t, &id, generation, &new.components).await?;
    put_update(t, &id, generation, new).await?;
    for table in ["registry_files", "registry_components"] {
        let sql = format!("DELETE FROM {table} WHERE registry_id = $1 AND until <= $2");
        execute(t, &sql, &[&id.as_str(), &(generation - GENERATIONS_KEPT)]).await?;
    }
    let sql = format!("SELECT {} FROM {} WHERE r.id = $1", rows::REGISTRY, rows::FROM_REGISTRIES);
    one(t, &sql, &[&id.as_str()], rows::registry).await?.ok_or_else(lost)
}

/// Keeps what made a state of the tree; the list of what is not indexed is that of the latest.
async fn put_update(
    t: &Transaction<'_>,
    id: &RegistryId,
    generation: i64,
    new: &NewRegistry,
) -> StoreResult<()> {
    let sql =
        "UPDATE registry_updates SET unindexed = '[]' WHERE registry_id = $1 AND generation = $2";
    execute(t, sql, &[&id.as_str(), &(generation - 1)]).await?;
    let sql = "DELETE FROM registry_updates WHERE registry_id = $1 AND generation < $2";
    execute(t, sql, &[&id.as_str(), &(generation - GENERATIONS_KEPT)]).await?;
    execute(
        t,
        "INSERT INTO registry_updates (registry_id, generation, revision, indexed_at, unindexed_count, unindexed) VALUES ($1, $2, $3, $4, $5, $6)",
        &[
            &id.as_str(),
            &generation,
            &text(&new.registry.revision),
            &new.registry.updated_at.ms(),
            &new.registry.unindexed_count,
            &serde_json::to_string(&new.unindexed).map_err(unwritable)?,
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn update_failed(
    c: &Client,
    org: &OrgId,
    name: &str,
    failed: &FailedUpdate,
) -> StoreResult<()> {
    let sql = "UPDATE registries SET failed_at = $3, failure = $4 WHERE org_id = $1 AND name = $2";
    execute(c, sql, &[&org.as_str(), &text(name), &failed.at.ms(), &text(&failed.message)]).await?;
    Ok(())
}

pub(crate) async fn unindexed(c: &Client, id: &RegistryId) -> StoreResult<Vec<Unindexed>> {
    let sql = format!("SELECT u.unindexed FROM {} WHERE r.id = $1", rows::FROM_REGISTRIES);
    Ok(one(c, &sql, &[&id.as_str()], rows::unindexed).await?.unwrap_or_default())
}

/// Most files of a tree stay the same from one update to the next.
async fn put_files(
    t: &Transaction<'_>,
    id: &RegistryId,
    generation: i64,
    new: &NewRegistry,
) -> StoreResult<()> {
    let row = |row: &tokio_postgres::Row| {
        Ok((
            row.try_get::<_, String>(0).map_err(database)?,
            row.try_get::<_, String>(1).map_err(database)?,
        ))
    };
    let before = many(
        t,
        "SELECT path, hash FROM registry_files WHERE registry_id = $1 AND until IS NULL",
        &[&id.as_str()],
        row,
    )
    .await?;
    let before: HashMap<String, String> = before.into_iter().collect();
    let same: Vec<String> = new
        .files
        .iter()
        .map(|file| (text(&file.path), &file.hash))
        .filter(|(path, hash)| before.get(&**path) == Some(hash))
        .map(|(path, _)| path.into_owned())
        .collect();
    let sql = "UPDATE registry_files SET until = $3 WHERE registry_id = $1 AND until IS NULL AND path <> ALL ($2)";
    execute(t, sql, &[&id.as_str(), &same, &generation]).await?;
    let changed: Vec<&RegistryFile> = new
        .files
        .iter()
        .filter(|file| before.get(&*text(&file.path)) != Some(&file.hash))
        .collect();
    for files in changed.chunks(ROWS) {
        let column = |of: &dyn Fn(&RegistryFile) -> String| {
            files.iter().map(|file| of(file)).collect::<Vec<_>>()
        };
        let codes: Vec<&[u8]> = files.iter().map(|file| file.text.as_bytes()).collect();
        execute(
            t,
            "INSERT INTO registry_files (registry_id, app, path, hash, code, since)
             SELECT $1, n.*, $6 FROM unnest($2::text[], $3::text[], $4::text[], $5::bytea[]) AS n",
            &[
                &id.as_str(),
                &column(&|file| text(app_of(&file.path)).into_owned()),
                &column(&|file| text(&file.path).into_owned()),
                &column(&|file| file.hash.clone()),
                &codes,
                &generation,
            ],
        )
        .await?;
    }
    Ok(())
}

async fn put_components(
    t: &Transaction<'_>,
    id: &RegistryId,
    generation: i64,
    all: &[RegistryComponent],
) -> StoreResult<()> {
    let sql = format!(
        "SELECT {} FROM registry_components WHERE registry_id = $1 AND until IS NULL",
        rows::REGISTRY_COMPONENT
    );
    let before = many(t, &sql, &[&id.as_str()], rows::registry_component).await?;
    let before: HashMap<&str, &RegistryComponent> =
        before.iter().map(|component| (component.path.as_str(), component)).collect();
    // What Postgres does not take would differ each time: it is compared as it is stored.
    let stored = all.iter().map(as_stored).collect::<Vec<_>>();
    let (same, changed): (Vec<_>, Vec<_>) =
        stored.iter().partition(|component| before.get(component.path.as_str()) == Some(component));
    let same: Vec<&str> = same.iter().map(|component| component.path.as_str()).collect();
    let sql = "UPDATE registry_components SET until = $3 WHERE registry_id = $1 AND until IS NULL AND path <> ALL ($2)";
    execute(t, sql, &[&id.as_str(), &same, &generation]).await?;
    for components in changed.chunks(ROWS) {
        let column = |of: fn(&RegistryComponent) -> &str| {
            components.iter().map(|c| of(c).to_owned()).collect::<Vec<_>>()
        };
        execute(
            t,
            "INSERT INTO registry_components (registry_id, path, key, name, description, version, component_type, app, hash, since)
             SELECT $1, n.*, $10 FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[]) AS n",
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
                &generation,
            ],
        )
        .await?;
    }
    Ok(())
}

fn as_stored(c: &RegistryComponent) -> RegistryComponent {
    let own = |field: &str| text(field).into_owned();
    RegistryComponent {
        key: own(&c.key),
        name: own(&c.name),
        description: own(&c.description),
        version: own(&c.version),
        component_type: own(&c.component_type),
        app: own(&c.app),
        path: own(&c.path),
        hash: own(&c.hash),
    }
}

/// The latest state before earlier ones, the oldest registry before others.
pub(crate) async fn find(
    c: &Client,
    org: &OrgId,
    key: &str,
    version: Option<&str>,
) -> StoreResult<Option<FoundComponent>> {
    let sql = "SELECT c.registry_id, c.path, c.key, c.name, c.description, c.version, c.component_type, c.app, c.hash, c.until,
                 r.name AS registry_name, CASE WHEN c.until IS NULL THEN r.revision ELSE u.revision END AS revision,
                 CASE WHEN c.until IS NULL THEN r.updated_at ELSE u.indexed_at END AS indexed_at
               FROM registry_components c JOIN registries r ON r.id = c.registry_id
               LEFT JOIN registry_updates u ON u.registry_id = c.registry_id AND u.generation = c.until - 1
               WHERE r.org_id = $1 AND c.key = $2 AND CASE WHEN $3::text IS NULL THEN c.until IS NULL ELSE c.version = $3 END
               ORDER BY (c.until IS NULL) DESC, r.created_at, r.id, c.until DESC, c.path LIMIT 1";
    one(c, sql, &[&org.as_str(), &text(key), &version.map(text)], rows::component_in_registry).await
}

pub(crate) async fn versions(c: &Client, org: &OrgId, key: &str) -> StoreResult<Vec<String>> {
    let sql = "SELECT c.version FROM registry_components c JOIN registries r ON r.id = c.registry_id WHERE r.org_id = $1 AND c.key = $2
               GROUP BY c.version ORDER BY max(coalesce(c.until, $3)) DESC, max(c.since) DESC, c.version LIMIT 100";
    many(c, sql, &[&org.as_str(), &text(key), &LATEST], |row| row.try_get(0).map_err(database))
        .await
}

pub(crate) async fn files(
    c: &Client,
    id: &RegistryId,
    app: &str,
    generation: i64,
) -> StoreResult<Vec<RegistryFile>> {
    let sql = format!(
        "SELECT {} FROM registry_files WHERE registry_id = $1 AND app = $2 AND since <= $3 AND (until IS NULL OR until > $3) ORDER BY path",
        rows::REGISTRY_FILE
    );
    many(c, &sql, &[&id.as_str(), &text(app), &generation], rows::registry_file).await
}

pub(crate) async fn delete(t: &Transaction<'_>, org: &OrgId, name: &str) -> StoreResult<bool> {
    const ITS_ID: &str = "(SELECT id FROM registries WHERE org_id = $1 AND name = $2)";
    for table in ["registry_files", "registry_components"] {
        execute(
            t,
            &format!("DELETE FROM {table} WHERE registry_id = {ITS_ID}"),
            &[&org.as_str(), &text(name)],
        )
        .await?;
    }
    Ok(execute(
        t,
        "DELETE FROM registries WHERE org_id = $1 AND name = $2",
        &[&org.as_str(), &text(name)],
    )
    .await?
        > 0)
}
