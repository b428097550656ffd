//! Organizations, users, keys.

use deadpool_postgres::{Client, GenericClient, Transaction};
use millrace_model::ids::{ApiKeyId, OrgId};
use millrace_model::tenant::{ApiKey, Caller, Organization};
use millrace_store::{NewTenant, StoreError, StoreResult};

use crate::db::{database, text, unwritable};
use crate::people;
use crate::rows::{self, execute, number, one};

pub(crate) async fn bootstrap(t: &Transaction<'_>, first: &NewTenant) -> StoreResult<bool> {
    // Of servers that start at once on an empty database one makes the first organization. SQLite
    // has one writer.
    t.batch_execute("LOCK TABLE organizations IN SHARE ROW EXCLUSIVE MODE")
        .await
        .map_err(database)?;
    if number(t, "SELECT count(*) FROM (SELECT 1 FROM organizations LIMIT 1) AS o", &[]).await? > 0
    {
        return Ok(false);
    }
    create(t, first).await?;
    Ok(true)
}

pub(crate) async fn create(t: &Transaction<'_>, tenant: &NewTenant) -> StoreResult<()> {
    let (o, u) = (&tenant.organization, &tenant.user);
    execute(
        t,
        "INSERT INTO organizations (id, name, orgname, email, project_id, created_at, error_recipients) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[&o.id.as_str(), &text(&o.name), &text(&o.orgname), &text(&o.email), &o.project_id.as_str(), &o.created_at.ms(), &recipients(o)?],
    )
    .await?;
    people::create_owner(t, u).await?;
    create_key(t, &tenant.key).await
}

pub(crate) async fn update(c: &impl GenericClient, o: &Organization) -> StoreResult<()> {
    let changed = execute(
        c,
        "UPDATE organizations SET name = $2, email = $3, error_recipients = $4 WHERE id = $1",
        &[&o.id.as_str(), &text(&o.name), &text(&o.email), &recipients(o)?],
    )
    .await?;
    if changed == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

fn recipients(o: &Organization) -> StoreResult<String> {
    serde_json::to_string(&o.error_recipients).map_err(unwritable)
}

pub(crate) async fn create_key(c: &impl GenericClient, k: &ApiKey) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO api_keys (id, org_id, user_id, name, key_hash, scopes, rate_per_minute, expires_at, old_key_hash, old_until, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        &[
            &k.id.as_str(),
            &k.org_id.as_str(),
            &k.user_id.as_str(),
            &text(&k.name),
            &k.key_hash,
            &k.scopes.to_string(),
            &k.rate_per_minute.map(i64::from),
            &k.expires_at.map(|t| t.ms()),
            &k.old.as_ref().map(|(hash, _)| hash),
            &k.old.as_ref().map(|(_, until)| until.ms()),
            &k.created_at.ms(),
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn update_key(c: &Client, k: &ApiKey) -> StoreResult<()> {
    let changed = execute(
        c,
        "UPDATE api_keys SET name = $3, key_hash = $4, scopes = $5, rate_per_minute = $6, expires_at = $7, old_key_hash = $8, old_until = $9
         WHERE id = $1 AND org_id = $2",
        &[
            &k.id.as_str(),
            &k.org_id.as_str(),
            &text(&k.name),
            &k.key_hash,
            &k.scopes.to_string(),
            &k.rate_per_minute.map(i64::from),
            &k.expires_at.map(|t| t.ms()),
            &k.old.as_ref().map(|(hash, _)| hash),
            &k.old.as_ref().map(|(_, until)| until.ms()),
        ],
    )
    .await?;
    if changed == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

pub(crate) async fn delete_key(c: &Client, org: &OrgId, id: &ApiKeyId) -> StoreResult<bool> {
    Ok(execute(
        c,
        "DELETE FROM api_keys WHERE id = $1 AND org_id = $2",
        &[&id.as_str(), &org.as_str()],
    )
    .await?
        > 0)
}

pub(crate) async fn caller(c: &Client, key_hash: &str) -> StoreResult<Option<Caller>> {
    let sql = format!(
        "SELECT {} FROM api_keys WHERE key_hash = $1 OR old_key_hash = $1 LIMIT 1",
        rows::API_KEY
    );
    let key = one(c, &sql, &[&text(key_hash)], rows::api_key).await?;
    Ok(key.map(|key| key.caller(key_hash)))
}
