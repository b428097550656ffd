//! People who sign in: logins, members, sessions, links that work once.

use deadpool_postgres::{Client, GenericClient, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{LinkId, OrgId, SessionId, UserId};
use millrace_model::people::{Link, LinkKind, Login, Member, Role, Session};
use millrace_model::tenant::{Caller, Organization, User};
use millrace_store::{StoreError, StoreResult, UsedLink};
use tokio_postgres::Row;

use crate::db::{database, text};
use crate::roles;
use crate::rows::{self, execute, many, one};

pub(crate) const LOGIN: &str = "user_id, email, password_hash, changed_at";
pub(crate) const SESSION: &str =
    "id, token_hash, user_id, org_id, address, user_agent, created_at, used_at, expires_at";
pub(crate) const LINK: &str =
    "id, token_hash, kind, org_id, user_id, email, role, made_by, created_at, expires_at";

pub(crate) async fn update_login(
    t: &Transaction<'_>,
    was: Option<&str>,
    login: &Login,
    keep: Option<&SessionId>,
) -> StoreResult<()> {
    let changed = execute(
        t,
        "UPDATE logins SET email = $2, password_hash = $3, changed_at = $4 WHERE user_id = $1 AND password_hash IS NOT DISTINCT FROM $5",
        &[
            &login.user_id.as_str(),
            &text(&login.email),
            &login.password_hash,
            &login.changed_at.ms(),
            &was,
        ],
    )
    .await?;
    if changed == 0 {
        return Err(StoreError::NotAllowed);
    }
    execute(
        t,
        "DELETE FROM sessions WHERE user_id = $1 AND id IS DISTINCT FROM $2",
        &[&login.user_id.as_str(), &keep.map(SessionId::as_str)],
    )
    .await?;
    Ok(())
}

pub(crate) async fn members(c: &Client, org: &OrgId) -> StoreResult<Vec<Member>> {
    let sql = "SELECT u.id, u.org_id, u.username, u.email, u.created_at, m.role, m.created_at AS joined_at,
           EXISTS (SELECT 1 FROM logins l WHERE l.user_id = u.id) AS signs_in
         FROM members m JOIN users u ON u.id = m.user_id WHERE m.org_id = $1 ORDER BY m.created_at, u.id";
    many(c, sql, &[&org.as_str()], |row| {
        Ok(Member {
            user: rows::user(row)?,
            role: role(row)?,
            signs_in: row.try_get("signs_in").map_err(database)?,
            created_at: time(row, "joined_at")?,
        })
    })
    .await
}

pub(crate) async fn memberships(
    c: &Client,
    user: &UserId,
) -> StoreResult<Vec<(Organization, Role)>> {
    let sql = "SELECT o.id, o.name, o.orgname, o.email, o.error_recipients, o.project_id, o.created_at, m.role
         FROM members m JOIN organizations o ON o.id = m.org_id WHERE m.user_id = $1 ORDER BY m.created_at, o.id";
    many(c, sql, &[&user.as_str()], |row| Ok((rows::organization(row)?, role(row)?))).await
}

pub(crate) async fn create_session(
    t: &Transaction<'_>,
    s: &Session,
    most: u32,
    shown: Option<&str>,
) -> StoreResult<()> {
    if let Some(hash) = shown {
        // A change of the password that is under way ends first.
        let sql = "SELECT 1 FROM logins WHERE user_id = $1 AND password_hash = $2 FOR SHARE";
        if execute(t, sql, &[&s.user_id.as_str(), &hash]).await? == 0 {
            return Err(StoreError::NotAllowed);
        }
    }
    execute(
        t,
        "INSERT INTO sessions (id, token_hash, user_id, org_id, address, user_agent, created_at, used_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        &[
            &s.id.as_str(),
            &s.token_hash,
            &s.user_id.as_str(),
            &s.org_id.as_str(),
            &text(&s.address),
            &text(&s.user_agent),
            &s.created_at.ms(),
            &s.used_at.ms(),
            &s.expires_at.ms(),
        ],
    )
    .await?;
    let old = "DELETE FROM sessions WHERE user_id = $1 AND id NOT IN (SELECT id FROM sessions WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2)";
    execute(t, old, &[&s.user_id.as_str(), &i64::from(most)]).await?;
    Ok(())
}

pub(crate) async fn caller(
    c: &Client,
    token_hash: &str,
) -> StoreResult<Option<(Caller, Timestamp)>> {
    let columns =
        SESSION.split(", ").map(|column| format!("s.{column}")).collect::<Vec<_>>().join(", ");
    let sql = format!(
        "SELECT {columns}, m.role FROM sessions s JOIN members m ON m.org_id = s.org_id AND m.user_id = s.user_id WHERE s.token_hash = $1"
    );
    one(c, &sql, &[&token_hash], |row| {
        let session = read_session(row)?;
        let used_at = session.used_at;
        Ok((session.caller(role(row)?), used_at))
    })
    .await
}

pub(crate) async fn switch_session(c: &Client, id: &SessionId, org: &OrgId) -> StoreResult<bool> {
    let sql = "UPDATE sessions SET org_id = $2 WHERE id = $1 AND EXISTS (SELECT 1 FROM members m WHERE m.org_id = $2 AND m.user_id = sessions.user_id)";
    Ok(execute(c, sql, &[&id.as_str(), &org.as_str()]).await? > 0)
}

pub(crate) async fn put_link(t: &Transaction<'_>, l: &Link, of: Option<&OrgId>) -> StoreResult<()> {
    if let (Some(org), Some(maker)) = (of, &l.made_by) {
        roles::check_right(t, org, maker, &Role::Owner.scopes()).await?;
    }
    // Several servers may start on an empty database, and each shows a link of its own.
    if l.kind != LinkKind::Setup {
        let same = "DELETE FROM links WHERE kind = $1 AND org_id = $2 AND email = $3";
        execute(t, same, &[&l.kind.as_str(), &l.org_id.as_str(), &text(&l.email)]).await?;
    }
    execute(
        t,
        "INSERT INTO links (id, token_hash, kind, org_id, user_id, email, role, made_by, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        &[
            &l.id.as_str(),
            &l.token_hash,
            &l.kind.as_str(),
            &l.org_id.as_str(),
            &l.user_id.as_ref().map(UserId::as_str),
            &text(&l.email),
            &l.role.map(Role::as_str),
            &l.made_by.as_ref().map(UserId::as_str),
            &l.created_at.ms(),
            &l.expires_at.ms(),
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn delete_link(
    c: &Client,
    org: &OrgId,
    kind: LinkKind,
    id: &LinkId,
) -> StoreResult<bool> {
    let sql = "DELETE FROM links WHERE id = $1 AND org_id = $2 AND kind = $3";
    Ok(execute(c, sql, &[&id.as_str(), &org.as_str(), &kind.as_str()]).await? > 0)
}

pub(crate) async fn use_link(t: &Transaction<'_>, used: &UsedLink) -> StoreResult<()> {
    if let Some(link) = &used.link
        && execute(t, "DELETE FROM links WHERE id = $1", &[&link.as_str()]).await? == 0
    {
        return Err(StoreError::NotFound);
    }
    let u = &used.user;
    // Mail of an organization goes where its owner is reached, also once the owner names another
    // address than the one it was made with.
    execute(
        t,
        "UPDATE organizations SET email = $3 WHERE id = $2 AND email = (SELECT email FROM users WHERE id = $1)",
        &[&u.id.as_str(), &u.org_id.as_str(), &text(&u.email)],
    )
    .await?;
    execute(
        t,
        "INSERT INTO users (id, org_id, username, email, created_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (id) DO UPDATE SET username = excluded.username, email = excluded.email",
        &[
            &u.id.as_str(),
            &u.org_id.as_str(),
            &text(&u.username),
            &text(&u.email),
            &u.created_at.ms(),
        ],
    )
    .await?;
    if let Some(login) = &used.login {
        execute(
            t,
            "INSERT INTO logins (user_id, email, password_hash, changed_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (user_id) DO UPDATE SET email = excluded.email, password_hash = excluded.password_hash, changed_at = excluded.changed_at",
            &[&login.user_id.as_str(), &text(&login.email), &login.password_hash, &login.changed_at.ms()],
        )
        .await?;
    }
    if used.ends_password {
        let sql = "UPDATE logins SET password_hash = NULL, changed_at = $2 WHERE user_id = $1";
        execute(t, sql, &[&u.id.as_str(), &used.at.ms()]).await?;
    }
    if used.login.is_some() || used.ends_password {
        execute(t, "DELETE FROM sessions WHERE user_id = $1", &[&u.id.as_str()]).await?;
    }
    if used.login.is_some() || used.ends_password || used.joins.is_some() {
        execute(t, "DELETE FROM links WHERE user_id = $1", &[&u.id.as_str()]).await?;
    }
    if let Some((org, role)) = &used.joins {
        execute(
            t,
            "INSERT INTO members (org_id, user_id, role, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            &[&org.as_str(), &u.id.as_str(), &role.as_str(), &used.at.ms()],
        )
        .await?;
    }
    if let Some(identity) = &used.identity {
        execute(
            t,
            "INSERT INTO identities (issuer, subject, user_id, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            &[&text(&identity.issuer), &text(&identity.subject), &u.id.as_str(), &used.at.ms()],
        )
        .await?;
    }
    Ok(())
}

/// Stores a user who owns an organization.
pub(crate) async fn create_owner(c: &impl GenericClient, u: &User) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO users (id, org_id, username, email, created_at) VALUES ($1, $2, $3, $4, $5)",
        &[
            &u.id.as_str(),
            &u.org_id.as_str(),
            &text(&u.username),
            &text(&u.email),
            &u.created_at.ms(),
        ],
    )
    .await?;
    let member =
        "INSERT INTO members (org_id, user_id, role, created_at) VALUES ($1, $2, 'owner', $3)";
    execute(c, member, &[&u.org_id.as_str(), &u.id.as_str(), &u.created_at.ms()]).await?;
    Ok(())
}

fn field(row: &Row, column: &str) -> StoreResult<String> {
    row.try_get(column).map_err(database)
}

fn optional(row: &Row, column: &str) -> StoreResult<Option<String>> {
    row.try_get(column).map_err(database)
}

fn time(row: &Row, column: &str) -> StoreResult<Timestamp> {
    row.try_get(column).map(Timestamp).map_err(database)
}

pub(crate) fn role(row: &Row) -> StoreResult<Role> {
    Role::parse(&field(row, "role")?)
        .ok_or_else(|| StoreError::Corrupt { what: "the column role".into() })
}

pub(crate) fn read_login(row: &Row) -> StoreResult<Login> {
    Ok(Login {
        user_id: UserId::from_row(field(row, "user_id")?),
        email: field(row, "email")?,
        password_hash: optional(row, "password_hash")?,
        changed_at: time(row, "changed_at")?,
    })
}

pub(crate) fn read_session(row: &Row) -> StoreResult<Session> {
    Ok(Session {
        id: SessionId::from_row(field(row, "id")?),
        token_hash: field(row, "token_hash")?,
        user_id: UserId::from_row(field(row, "user_id")?),
        org_id: OrgId::from_row(field(row, "org_id")?),
        address: field(row, "address")?,
        user_agent: field(row, "user_agent")?,
        created_at: time(row, "created_at")?,
        used_at: time(row, "used_at")?,
        expires_at: time(row, "expires_at")?,
    })
}

pub(crate) fn read_link(row: &Row) -> StoreResult<Link> {
    Ok(Link {
        id: LinkId::from_row(field(row, "id")?),
        token_hash: field(row, "token_hash")?,
        kind: LinkKind::parse(&field(row, "kind")?)
            .ok_or_else(|| StoreError::Corrupt { what: "the column kind".into() })?,
        org_id: OrgId::from_row(field(row, "org_id")?),
        user_id: optional(row, "user_id")?.map(UserId::from_row),
        email: field(row, "email")?,
        role: optional(row, "role")?.as_deref().and_then(Role::parse),
        made_by: optional(row, "made_by")?.map(UserId::from_row),
        created_at: time(row, "created_at")?,
        expires_at: time(row, "expires_at")?,
    })
}
