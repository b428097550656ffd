//! The schema, forward only.

use millrace_store::{StoreError, StoreResult};

use crate::db::{Db, database};

/// In order; a migration that was released is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_init.sql"),
    include_str!("../migrations/0002_accounts.sql"),
    include_str!("../migrations/0003_registry.sql"),
    include_str!("../migrations/0004_data_stores.sql"),
    include_str!("../migrations/0005_deliveries.sql"),
    include_str!("../migrations/0006_pauses.sql"),
    include_str!("../migrations/0007_limits.sql"),
    include_str!("../migrations/0008_keys_webhooks.sql"),
    include_str!("../migrations/0009_errors.sql"),
    include_str!("../migrations/0010_component_api.sql"),
    include_str!("../migrations/0011_turns.sql"),
    include_str!("../migrations/0012_deferred_events.sql"),
    include_str!("../migrations/0013_operations.sql"),
    include_str!("../migrations/0014_files.sql"),
    include_str!("../migrations/0015_nodes.sql"),
    include_str!("../migrations/0016_stored_files.sql"),
    include_str!("../migrations/0017_traceparent.sql"),
    include_str!("../migrations/0018_recipients.sql"),
    include_str!("../migrations/0019_audit_done.sql"),
    include_str!("../migrations/0020_mail_age.sql"),
    include_str!("../migrations/0021_checks.sql"),
    include_str!("../migrations/0022_seats.sql"),
    include_str!("../migrations/0023_forms.sql"),
    include_str!("../migrations/0024_saved_keys.sql"),
    include_str!("../migrations/0025_seated_writes.sql"),
    include_str!("../migrations/0026_rows.sql"),
    include_str!("../migrations/0027_steps.sql"),
    include_str!("../migrations/0028_shares.sql"),
    include_str!("../migrations/0029_one_at_a_time.sql"),
    include_str!("../migrations/0030_may_respond.sql"),
    include_str!("../migrations/0031_people.sql"),
    include_str!("../migrations/0032_org_runs.sql"),
    include_str!("../migrations/0033_drafts.sql"),
    include_str!("../migrations/0034_external_users.sql"),
    include_str!("../migrations/0035_waiting.sql"),
    include_str!("../migrations/0036_run_stats.sql"),
    include_str!("../migrations/0037_run_search.sql"),
    include_str!("../migrations/0038_error_states.sql"),
    include_str!("../migrations/0039_edited_replays.sql"),
    include_str!("../migrations/0040_source_deployments.sql"),
    include_str!("../migrations/0041_connections_and_tags.sql"),
    include_str!("../migrations/0042_indexed_durations.sql"),
    include_str!("../migrations/0043_shared_events.sql"),
    include_str!("../migrations/0044_no_orphans.sql"),
    include_str!("../migrations/0045_webhook_attempts.sql"),
    include_str!("../migrations/0046_registry_updates.sql"),
];
/// The advisory lock of migrations, one number for all versions of Millrace.
const LOCK: i64 = 0x6d69_6c6c_7261_6365;

/// The newest schema.
pub(crate) fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// One transaction under a lock: of servers that start at once one migrates, the others wait and
/// find it done.
pub(crate) async fn run(db: &Db) -> StoreResult<()> {
    let known = known();
    let mut client = db.first_client().await?;
    let t = client.transaction().await.map_err(database)?;
    t.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await.map_err(database)?;
    // SQLite keeps the version in the file's header (`user_version`).
    t.batch_execute("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
        .await
        .map_err(database)?;
    let found: i64 = t
        .query_one("SELECT coalesce(max(version), 0) FROM schema_version", &[])
        .await
        .and_then(|row| row.try_get(0))
        .map_err(database)?;
    if found > known {
        return Err(StoreError::NewerSchema { found, known });
    }
    if found < known {
        for sql in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
            t.batch_execute(sql).await.map_err(database)?;
        }
        t.batch_execute("DELETE FROM schema_version").await.map_err(database)?;
        t.execute("INSERT INTO schema_version (version) VALUES ($1)", &[&known])
            .await
            .map_err(database)?;
    }
    t.commit().await.map_err(database)
}
