//! OAuth clients and their tokens.

use millrace_model::clock::Timestamp;
use millrace_model::ids::{OauthClientId, OrgId, UserId};
use millrace_model::tenant::{Caller, OauthClient, OauthToken};
use millrace_store::StoreResult;
use rusqlite::{Connection, Row, params};

use crate::db::database;
use crate::rows::{execute, one, scopes};

pub(crate) fn create(c: &Connection, client: &OauthClient) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO oauth_clients (id, org_id, user_id, name, secret_hash, scopes, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            client.id.as_str(),
            client.org_id.as_str(),
            client.user_id.as_str(),
            client.name,
            client.secret_hash,
            client.scopes.to_string(),
            client.created_at.ms()
        ],
    )?;
    Ok(())
}

pub(crate) fn put_token(c: &Connection, token: &OauthToken) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO oauth_tokens (token_hash, client_id, scopes, expires_at, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            token.token_hash,
            token.client_id.as_str(),
            token.scopes.to_string(),
            token.expires_at.ms(),
            token.created_at.ms()
        ],
    )?;
    Ok(())
}

pub(crate) fn caller(c: &Connection, token_hash: &str) -> StoreResult<Option<Caller>> {
    let Some(token) =
        one(c, "SELECT * FROM oauth_tokens WHERE token_hash = ?1", [token_hash], read_token)?
    else {
        return Ok(None);
    };
    let client =
        one(c, "SELECT * FROM oauth_clients WHERE id = ?1", [token.client_id.as_str()], read)?;
    Ok(client.map(|client| token.caller(client)))
}

fn text(row: &Row<'_>, column: &str) -> StoreResult<String> {
    row.get(column).map_err(database)
}

pub(crate) fn read(row: &Row<'_>) -> StoreResult<OauthClient> {
    Ok(OauthClient {
        id: OauthClientId::from_row(text(row, "id")?),
        org_id: OrgId::from_row(text(row, "org_id")?),
        user_id: UserId::from_row(text(row, "user_id")?),
        name: text(row, "name")?,
        secret_hash: text(row, "secret_hash")?,
        scopes: scopes(row)?,
        created_at: Timestamp(row.get("created_at").map_err(database)?),
    })
}

fn read_token(row: &Row<'_>) -> StoreResult<OauthToken> {
    Ok(OauthToken {
        token_hash: text(row, "token_hash")?,
        client_id: OauthClientId::from_row(text(row, "client_id")?),
        scopes: scopes(row)?,
        expires_at: Timestamp(row.get("expires_at").map_err(database)?),
        created_at: Timestamp(row.get("created_at").map_err(database)?),
    })
}
