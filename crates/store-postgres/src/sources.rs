//! Sources and their state: dedupe, `$.service.db`.

use std::collections::BTreeMap;

use deadpool_postgres::{Client, Transaction};
use millrace_model::ids::{OrgId, SourceId};
use millrace_model::made_from::MadeFrom;
use millrace_model::source::{Source, SourceDeployment};
use millrace_store::{Interfaces, SourceChange, SourceState, StoreError, StoreResult};

use crate::db::{database, text, unwritable};
use crate::rows::{corrupt, execute, many, number, one};
use crate::{interfaces, limits, pauses, subscriptions};

fn dynamic_props(s: &Source) -> StoreResult<Option<String>> {
    s.dynamic_props.as_ref().map(serde_json::to_string).transpose().map_err(unwritable)
}

fn limits_text(s: &Source) -> StoreResult<Option<String>> {
    s.limits.as_ref().map(serde_json::to_string).transpose().map_err(unwritable)
}

pub(crate) fn made_from(mark: Option<&MadeFrom>) -> StoreResult<Option<String>> {
    mark.map(serde_json::to_string).transpose().map_err(unwritable)
}

/// `Taken("made_from")` where a record of the table bears a mark of the same file. Of two that are
/// made at once, on whichever servers, the later one waits for the lock and then sees the other.
pub(crate) async fn check_mark(
    t: &Transaction<'_>,
    table: &str,
    org: &OrgId,
    mark: Option<&MadeFrom>,
) -> StoreResult<()> {
    let Some(mark) = mark else { return Ok(()) };
    let (org, beginning) = (org.as_str(), mark.beginning());
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended($1 || ' ' || $2, 0))";
    execute(t, lock, &[&org, &beginning]).await?;
    let sql =
        format!("SELECT count(*) FROM {table} WHERE org_id = $1 AND starts_with(made_from, $2)");
    match number(t, &sql, &[&org, &beginning]).await? {
        0 => Ok(()),
        _ => Err(StoreError::Taken("made_from")),
    }
}

pub(crate) async fn create(t: &Transaction<'_>, s: &Source, i: &Interfaces) -> StoreResult<()> {
    check_mark(t, "sources", &s.org_id, s.made_from.as_ref()).await?;
    execute(
        t,
        "INSERT INTO sources (id, org_id, user_id, component_id, name, name_slug, configured_props, active, inactive_reason, created_at, updated_at, dynamic_props, made_from, settings, limits, external_user_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
        &[
            &s.id.as_str(),
            &s.org_id.as_str(),
            &s.user_id.as_str(),
            &s.component_id.as_str(),
            &text(&s.name),
            &text(&s.name_slug),
            &serde_json::to_string(&s.configured_props).map_err(unwritable)?,
            &s.active,
            &s.inactive_reason.as_deref().map(text),
            &s.created_at.ms(),
            &s.updated_at.ms(),
            &dynamic_props(s)?,
            &made_from(s.made_from.as_ref())?,
            &serde_json::to_string(&s.settings).map_err(unwritable)?,
            &limits_text(s)?,
            &s.external_user_id.as_deref().map(text),
        ],
    )
    .await?;
    limits::replace(t, s.id.as_str(), s.limits.as_ref()).await?;
    subscriptions::follow(t, &s.org_id, s.id.as_str(), s.created_at).await?;
    interfaces::replace(t, s.id.as_str(), i).await
}

pub(crate) async fn update(t: &Transaction<'_>, s: &Source, i: &Interfaces) -> StoreResult<()> {
    let changed = execute(
        t,
        "UPDATE sources SET component_id = $3, name = $4, name_slug = $5, configured_props = $6, active = $7, inactive_reason = $8, updated_at = $9, dynamic_props = $10, made_from = $11, settings = $12, limits = $13 WHERE id = $1 AND org_id = $2",
        &[
            &s.id.as_str(),
            &s.org_id.as_str(),
            &s.component_id.as_str(),
            &text(&s.name),
            &text(&s.name_slug),
            &serde_json::to_string(&s.configured_props).map_err(unwritable)?,
            &s.active,
            &s.inactive_reason.as_deref().map(text),
            &s.updated_at.ms(),
            &dynamic_props(s)?,
            &made_from(s.made_from.as_ref())?,
            &serde_json::to_string(&s.settings).map_err(unwritable)?,
            &limits_text(s)?,
        ],
    )
    .await?;
    if changed == 0 {
        return Err(StoreError::NotFound);
    }
    limits::replace(t, s.id.as_str(), s.limits.as_ref()).await?;
    interfaces::replace(t, s.id.as_str(), i).await
}

pub(crate) async fn deploy(
    t: &Transaction<'_>,
    s: &Source,
    i: &Interfaces,
    d: &SourceDeployment,
) -> StoreResult<i64> {
    // The update locks the source, so that two deployments take their numbers one after the other.
    update(t, s, i).await?;
    let (id, made_by) = (d.source_id.as_str(), d.made_by.as_ref().map(|author| author.id.as_str()));
    let version = number(
        t,
        "SELECT coalesce(max(version), 0) + 1 FROM source_deployments WHERE source_id = $1",
        &[&id],
    )
    .await?;
    execute(
        t,
        "INSERT INTO source_deployments (id, org_id, source_id, version, content, created_at, made_by, message) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            &d.id.as_str(),
            &d.org_id.as_str(),
            &id,
            &version,
            &serde_json::to_string(&d.content).map_err(unwritable)?,
            &d.created_at.ms(),
            &made_by,
            &d.message.as_deref().map(text),
        ],
    )
    .await?;
    Ok(version)
}

pub(crate) async fn delete(t: &Transaction<'_>, org: &OrgId, id: &SourceId) -> StoreResult<()> {
    if execute(
        t,
        "DELETE FROM sources WHERE id = $1 AND org_id = $2",
        &[&id.as_str(), &org.as_str()],
    )
    .await?
        == 0
    {
        return Err(StoreError::NotFound);
    }
    execute(t, "DELETE FROM source_states WHERE source_id = $1", &[&id.as_str()]).await?;
    execute(t, "DELETE FROM source_db WHERE source_id = $1", &[&id.as_str()]).await?;
    execute(t, "DELETE FROM source_deployments WHERE source_id = $1", &[&id.as_str()]).await?;
    leave_nothing(t, id.as_str()).await
}

/// What goes with a source or workflow: interfaces, subscriptions, runs that wait.
pub(crate) async fn leave_nothing(t: &Transaction<'_>, owner: &str) -> StoreResult<()> {
    interfaces::remove_domains(t, owner).await?;
    interfaces::remove(t, owner).await?;
    limits::replace(t, owner, None).await?;
    execute(t, "DELETE FROM retentions WHERE owner_id = $1", &[&owner]).await?;
    subscriptions::remove_all(t, owner).await?;
    pauses::cancel_waiting(t, owner).await
}

pub(crate) async fn state(c: &Client, id: &SourceId) -> StoreResult<SourceState> {
    let state = one(
        c,
        "SELECT version, dedupe FROM source_states WHERE source_id = $1",
        &[&id.as_str()],
        |row| {
            Ok(SourceState {
                version: row.try_get(0).map_err(database)?,
                dedupe: row.try_get(1).map_err(database)?,
            })
        },
    )
    .await?;
    Ok(state.unwrap_or_default())
}

pub(crate) async fn entries(c: &Client, id: &SourceId) -> StoreResult<Vec<(String, String)>> {
    many(
        c,
        "SELECT key, value FROM source_db WHERE source_id = $1 ORDER BY key",
        &[&id.as_str()],
        |row| {
            let key: Vec<u8> = row.try_get(0).map_err(database)?;
            Ok((
                String::from_utf8(key).map_err(|_| corrupt("key"))?,
                row.try_get(1).map_err(database)?,
            ))
        },
    )
    .await
}

async fn exists(t: &Transaction<'_>, id: &str) -> StoreResult<bool> {
    Ok(one(t, "SELECT 1 FROM sources WHERE id = $1", &[&id], |_| Ok(())).await?.is_some())
}

/// A source that was deleted meanwhile, while a run of it was under way, remembers nothing: its
/// rows would stay for ever. SQLite looks first; here that would be a round trip for each
/// settlement, so that the statements look themselves.
pub(crate) async fn change(t: &Transaction<'_>, change: &SourceChange) -> StoreResult<()> {
    let id = change.source_id.as_str();
    if let Some((version, dedupe)) = &change.dedupe {
        // A row that another transaction is writing is waited for, then looked at anew: the later
        // one finds another version.
        let changed = if *version == 0 {
            execute(
                t,
                "INSERT INTO source_states (source_id, version, dedupe) SELECT id, 1, $2 FROM sources WHERE id = $1 ON CONFLICT (source_id) DO NOTHING",
                &[&id, dedupe],
            )
            .await?
        } else {
            execute(t, "UPDATE source_states SET version = version + 1, dedupe = $3 WHERE source_id = $1 AND version = $2", &[&id, version, dedupe]).await?
        };
        if changed == 0 {
            return if exists(t, id).await? { Err(StoreError::StateChanged) } else { Ok(()) };
        }
    }
    if change.db.is_empty() {
        return Ok(());
    }
    // The last write of a key stands, and one statement may touch a row once. In the order of keys,
    // so that two transactions wait for each other in one direction only.
    let last: BTreeMap<&[u8], Option<&str>> =
        change.db.iter().map(|(key, value)| (key.as_bytes(), value.as_deref())).collect();
    let (keys, values): (Vec<&[u8]>, Vec<&str>) =
        last.iter().filter_map(|(key, value)| value.map(|value| (*key, value))).unzip();
    let gone: Vec<&[u8]> =
        last.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| *key).collect();
    if !keys.is_empty() {
        execute(
            t,
            "INSERT INTO source_db (source_id, key, value) SELECT s.id, n.key, n.value FROM sources s, UNNEST($2::bytea[], $3::text[]) AS n (key, value) WHERE s.id = $1
             ON CONFLICT (source_id, sha256(key)) DO UPDATE SET value = excluded.value",
            &[&id, &keys, &values],
        )
        .await?;
    }
    if !gone.is_empty() {
        execute(
            t,
            "DELETE FROM source_db WHERE source_id = $1 AND key = ANY ($2::bytea[])",
            &[&id, &gone],
        )
        .await?;
    }
    Ok(())
}
