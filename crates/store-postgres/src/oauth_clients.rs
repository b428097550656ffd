//! OAuth clients and their tokens.

use deadpool_postgres::{Client, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{OauthClientId, OrgId, UserId};
use millrace_model::tenant::{Caller, OauthClient, OauthToken};
use millrace_store::StoreResult;
use tokio_postgres::Row;

use crate::db::{database, text};
use crate::rows::{execute, one, scopes};

pub(crate) const COLUMNS: &str = "id, org_id, user_id, name, secret_hash, scopes, created_at";

pub(crate) async fn create(t: &Transaction<'_>, client: &OauthClient) -> StoreResult<()> {
    execute(
        t,
        "INSERT INTO oauth_clients (id, org_id, user_id, name, secret_hash, scopes, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[
            &client.id.as_str(),
            &client.org_id.as_str(),
            &client.user_id.as_str(),
            &text(&client.name),
            &client.secret_hash,
            &client.scopes.to_string(),
            &client.created_at.ms(),
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn put_token(c: &Client, token: &OauthToken) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO oauth_tokens (token_hash, client_id, scopes, expires_at, created_at) VALUES ($1, $2, $3, $4, $5)",
        &[&token.token_hash, &token.client_id.as_str(), &token.scopes.to_string(), &token.expires_at.ms(), &token.created_at.ms()],
    )
    .await?;
    Ok(())
}

pub(crate) async fn caller(c: &Client, token_hash: &str) -> StoreResult<Option<Caller>> {
    let sql = "SELECT token_hash, client_id, scopes, expires_at, created_at FROM oauth_tokens WHERE token_hash = $1";
    let Some(token) = one(c, sql, &[&token_hash], read_token).await? else { return Ok(None) };
    let client = one(
        c,
        &format!("SELECT {COLUMNS} FROM oauth_clients WHERE id = $1"),
        &[&token.client_id.as_str()],
        read,
    )
    .await?;
    Ok(client.map(|client| token.caller(client)))
}

fn field(row: &Row, column: &str) -> StoreResult<String> {
    row.try_get(column).map_err(database)
}

pub(crate) fn read(row: &Row) -> StoreResult<OauthClient> {
    Ok(OauthClient {
        id: OauthClientId::from_row(field(row, "id")?),
        org_id: OrgId::from_row(field(row, "org_id")?),
        user_id: UserId::from_row(field(row, "user_id")?),
        name: field(row, "name")?,
        secret_hash: field(row, "secret_hash")?,
        scopes: scopes(row)?,
        created_at: Timestamp(row.try_get("created_at").map_err(database)?),
    })
}

fn read_token(row: &Row) -> StoreResult<OauthToken> {
    Ok(OauthToken {
        token_hash: field(row, "token_hash")?,
        client_id: OauthClientId::from_row(field(row, "client_id")?),
        scopes: scopes(row)?,
        expires_at: Timestamp(row.try_get("expires_at").map_err(database)?),
        created_at: Timestamp(row.try_get("created_at").map_err(database)?),
    })
}
