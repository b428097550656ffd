//! Organizations, users, keys.

use deadpool_postgres::{Client, GenericClient, Transaction};
use millrace_model::ids::{OrgId, UserId};
use millrace_model::tenant::{ApiKey, Caller};
use millrace_store::{NewTenant, StoreResult};

use crate::db::{database, text};
use crate::rows::{execute, number, one};

pub(crate) async fn bootstrap(t: &Transaction<'_>, first: &NewTenant) -> StoreResult<bool> {
    // Of servers that start at once on an empty database one makes the first organization. SQLite has one writer.
    t.batch_execute("LOCK TABLE organizations IN SHARE ROW EXCLUSIVE MODE").await.map_err(database)?;
    if number(t, "SELECT count(*) FROM (SELECT 1 FROM organizations LIMIT 1) AS o", &[]).await? > 0 {
        return Ok(false);
    }
    create(t, first).await?;
    Ok(true)
}

pub(crate) async fn create(t: &Transaction<'_>, tenant: &NewTenant) -> StoreResult<()> {
    let (o, u) = (&tenant.organization, &tenant.user);
    execute(
        t,
        "INSERT INTO organizations (id, name, orgname, email, project_id, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
        &[&o.id.as_str(), &text(&o.name), &text(&o.orgname), &text(&o.email), &o.project_id.as_str(), &o.created_at.ms()],
    )
    .await?;
    execute(
        t,
        "INSERT INTO users (id, org_id, username, email, created_at) VALUES ($1, $2, $3, $4, $5)",
        &[&u.id.as_str(), &u.org_id.as_str(), &text(&u.username), &text(&u.email), &u.created_at.ms()],
    )
    .await?;
    create_key(t, &tenant.key).await
}

pub(crate) async fn create_key(c: &impl GenericClient, k: &ApiKey) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO api_keys (id, org_id, user_id, name, key_hash, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
        &[&k.id.as_str(), &k.org_id.as_str(), &k.user_id.as_str(), &text(&k.name), &k.key_hash, &k.created_at.ms()],
    )
    .await?;
    Ok(())
}

pub(crate) async fn caller(c: &Client, key_hash: &str) -> StoreResult<Option<Caller>> {
    one(c, "SELECT org_id, user_id FROM api_keys WHERE key_hash = $1", &[&text(key_hash)], |row| {
        Ok(Caller { org_id: OrgId::from_row(row.try_get(0).map_err(database)?), user_id: UserId::from_row(row.try_get(1).map_err(database)?) })
    })
    .await
}
