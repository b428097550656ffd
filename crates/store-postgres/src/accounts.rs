//! Apps and connected accounts.

use deadpool_postgres::Client;
use millrace_model::account::{Account, App, Connection, ConnectionState};
use millrace_model::ids::{AccountId, ConnectionId, OrgId};
use millrace_store::{StoreError, StoreResult};

use crate::db::{text, unwritable};
use crate::rows::execute;
use millrace_model::clock::Timestamp;

pub(crate) async fn put_app(c: &Client, a: &App) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO apps (id, org_id, name_slug, definition, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (org_id, name_slug) DO UPDATE SET id = excluded.id, definition = excluded.definition, updated_at = excluded.updated_at",
        &[
            &a.id.as_str(),
            &a.org_id.as_ref().map(OrgId::as_str),
            &text(&a.name_slug),
            &serde_json::to_string(&a.definition).map_err(unwritable)?,
            &a.created_at.ms(),
            &a.updated_at.ms(),
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn create(c: &Client, a: &Account) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO accounts (id, org_id, app, name, credentials, healthy, problem, expires_at, version, created_at, updated_at, external_user_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        &[
            &a.id.as_str(),
            &a.org_id.as_str(),
            &text(&a.app),
            &text(&a.name),
            &a.credentials,
            &a.healthy,
            &a.problem.as_deref().map(text),
            &a.expires_at.map(|t| t.ms()),
            &a.version,
            &a.created_at.ms(),
            &a.updated_at.ms(),
            &a.external_user_id.as_deref().map(text),
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn update(c: &Client, a: &Account) -> StoreResult<()> {
    let changed = execute(
        c,
        "UPDATE accounts SET name = $3, credentials = $4, healthy = $5, problem = $6, expires_at = $7, version = $8, updated_at = $9, external_user_id = $10
         WHERE id = $1 AND org_id = $2 AND version = $8::bigint - 1",
        &[
            &a.id.as_str(),
            &a.org_id.as_str(),
            &text(&a.name),
            &a.credentials,
            &a.healthy,
            &a.problem.as_deref().map(text),
            &a.expires_at.map(|t| t.ms()),
            &a.version,
            &a.updated_at.ms(),
            &a.external_user_id.as_deref().map(text),
        ],
    )
    .await?;
    if changed == 0 { Err(StoreError::StateChanged) } else { Ok(()) }
}

pub(crate) async fn claim_refresh(
    c: &Client,
    id: &AccountId,
    version: i64,
    now: Timestamp,
    until: Timestamp,
) -> StoreResult<bool> {
    let sql = "UPDATE accounts SET refreshing_until = $4 WHERE id = $1 AND version = $2 AND (refreshing_until IS NULL OR refreshing_until <= $3)";
    Ok(execute(c, sql, &[&id.as_str(), &version, &now.ms(), &until.ms()]).await? > 0)
}

pub(crate) async fn release_refresh(
    c: &Client,
    id: &AccountId,
    until: Timestamp,
) -> StoreResult<()> {
    let sql = "UPDATE accounts SET refreshing_until = NULL WHERE id = $1 AND refreshing_until = $2";
    execute(c, sql, &[&id.as_str(), &until.ms()]).await.map(|_| ())
}

pub(crate) async fn delete(c: &Client, org: &OrgId, id: &AccountId) -> StoreResult<bool> {
    Ok(execute(
        c,
        "DELETE FROM accounts WHERE id = $1 AND org_id = $2",
        &[&id.as_str(), &org.as_str()],
    )
    .await?
        > 0)
}

pub(crate) async fn begin(c: &Client, a: &Connection) -> StoreResult<()> {
    let sql = "INSERT INTO connections (id, org_id, app, external_user_id, state, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let user = a.external_user_id.as_deref().map(text);
    execute(
        c,
        sql,
        &[
            &a.id.as_str(),
            &a.org_id.as_str(),
            &text(&a.app),
            &user,
            &state(&a.state)?,
            &a.created_at.ms(),
            &a.expires_at.ms(),
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn answer(
    c: &Client,
    org: &OrgId,
    id: &ConnectionId,
    now: Timestamp,
) -> StoreResult<bool> {
    let sql = "UPDATE connections SET state = $4 WHERE id = $1 AND org_id = $2 AND state = $3 AND expires_at >= $5";
    let (waits, answered) = (state(&ConnectionState::Waiting)?, state(&ConnectionState::Answered)?);
    Ok(execute(c, sql, &[&id.as_str(), &org.as_str(), &waits, &answered, &now.ms()]).await? > 0)
}

pub(crate) async fn put_state(
    c: &Client,
    org: &OrgId,
    id: &ConnectionId,
    now: &ConnectionState,
) -> StoreResult<()> {
    execute(
        c,
        "UPDATE connections SET state = $3 WHERE id = $1 AND org_id = $2",
        &[&id.as_str(), &org.as_str(), &state(now)?],
    )
    .await?;
    Ok(())
}

fn state(of: &ConnectionState) -> StoreResult<String> {
    serde_json::to_string(of).map_err(unwritable)
}
