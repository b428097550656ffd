//! People who sign in: logins, members, sessions, links that work once.

use millrace_model::clock::Timestamp;
use millrace_model::ids::{LinkId, OrgId, SessionId, UserId};
use millrace_model::people::{Link, LinkKind, Login, Member, Role, Session};
use millrace_model::tenant::{Caller, Organization, User};
use millrace_store::{StoreError, StoreResult, UsedLink};
use rusqlite::{Connection, Row, params};

use crate::db::database;
use crate::roles;
use crate::rows::{self, execute, many, number, one};

pub(crate) fn update_login(
    c: &Connection,
    was: Option<&str>,
    login: &Login,
    keep: Option<&SessionId>,
) -> StoreResult<()> {
    let changed = execute(
        c,
        "UPDATE logins SET email = ?2, password_hash = ?3, changed_at = ?4 WHERE user_id = ?1 AND password_hash IS ?5",
        params![
            login.user_id.as_str(),
            login.email,
            login.password_hash,
            login.changed_at.ms(),
            was
        ],
    )?;
    if changed == 0 {
        return Err(StoreError::NotAllowed);
    }
    execute(
        c,
        "DELETE FROM sessions WHERE user_id = ?1 AND id IS NOT ?2",
        params![login.user_id.as_str(), keep.map(SessionId::as_str)],
    )?;
    Ok(())
}

pub(crate) fn members(c: &Connection, org: &OrgId) -> StoreResult<Vec<Member>> {
    let sql = "SELECT u.*, m.role, m.created_at AS joined_at, EXISTS (SELECT 1 FROM logins l WHERE l.user_id = u.id) AS signs_in
         FROM members m JOIN users u ON u.id = m.user_id WHERE m.org_id = ?1 ORDER BY m.created_at, u.id";
    many(c, sql, [org.as_str()], |row| {
        Ok(Member {
            user: rows::user(row)?,
            role: role(row)?,
            signs_in: row.get("signs_in").map_err(database)?,
            created_at: Timestamp(row.get("joined_at").map_err(database)?),
        })
    })
}

pub(crate) fn memberships(c: &Connection, user: &UserId) -> StoreResult<Vec<(Organization, Role)>> {
    let sql = "SELECT o.*, m.role FROM members m JOIN organizations o ON o.id = m.org_id WHERE m.user_id = ?1 ORDER BY m.created_at, o.id";
    many(c, sql, [user.as_str()], |row| Ok((rows::organization(row)?, role(row)?)))
}

pub(crate) fn create_session(
    c: &Connection,
    s: &Session,
    most: u32,
    shown: Option<&str>,
) -> StoreResult<()> {
    if let Some(hash) = shown {
        let sql = "SELECT count(*) FROM logins WHERE user_id = ?1 AND password_hash = ?2";
        if number(c, sql, [s.user_id.as_str(), hash])? == 0 {
            return Err(StoreError::NotAllowed);
        }
    }
    execute(
        c,
        "INSERT INTO sessions (id, token_hash, user_id, org_id, address, user_agent, created_at, used_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            s.id.as_str(),
            s.token_hash,
            s.user_id.as_str(),
            s.org_id.as_str(),
            s.address,
            s.user_agent,
            s.created_at.ms(),
            s.used_at.ms(),
            s.expires_at.ms()
        ],
    )?;
    let old = "DELETE FROM sessions WHERE user_id = ?1 AND id NOT IN (SELECT id FROM sessions WHERE user_id = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2)";
    execute(c, old, params![s.user_id.as_str(), most])?;
    Ok(())
}

pub(crate) fn caller(c: &Connection, token_hash: &str) -> StoreResult<Option<(Caller, Timestamp)>> {
    let sql = "SELECT s.*, m.role FROM sessions s JOIN members m ON m.org_id = s.org_id AND m.user_id = s.user_id WHERE s.token_hash = ?1";
    one(c, sql, [token_hash], |row| {
        let session = read_session(row)?;
        let used_at = session.used_at;
        Ok((session.caller(role(row)?), used_at))
    })
}

pub(crate) fn switch_session(c: &Connection, id: &SessionId, org: &OrgId) -> StoreResult<bool> {
    let sql = "UPDATE sessions SET org_id = ?2 WHERE id = ?1 AND EXISTS (SELECT 1 FROM members m WHERE m.org_id = ?2 AND m.user_id = sessions.user_id)";
    Ok(execute(c, sql, [id.as_str(), org.as_str()])? > 0)
}

pub(crate) fn put_link(c: &Connection, l: &Link, of: Option<&OrgId>) -> StoreResult<()> {
    if let (Some(org), Some(maker)) = (of, &l.made_by) {
        roles::check_right(c, org, maker, &Role::Owner.scopes())?;
    }
    // Several servers may start on an empty database, and each shows a link of its own.
    if l.kind != LinkKind::Setup {
        execute(
            c,
            "DELETE FROM links WHERE kind = ?1 AND org_id = ?2 AND email = ?3",
            [l.kind.as_str(), l.org_id.as_str(), &l.email],
        )?;
    }
    execute(
        c,
        "INSERT INTO links (id, token_hash, kind, org_id, user_id, email, role, made_by, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            l.id.as_str(),
            l.token_hash,
            l.kind.as_str(),
            l.org_id.as_str(),
            l.user_id.as_ref().map(UserId::as_str),
            l.email,
            l.role.map(Role::as_str),
            l.made_by.as_ref().map(UserId::as_str),
            l.created_at.ms(),
            l.expires_at.ms()
        ],
    )?;
    Ok(())
}

pub(crate) fn delete_link(
    c: &Connection,
    org: &OrgId,
    kind: LinkKind,
    id: &LinkId,
) -> StoreResult<bool> {
    Ok(execute(
        c,
        "DELETE FROM links WHERE id = ?1 AND org_id = ?2 AND kind = ?3",
        [id.as_str(), org.as_str(), kind.as_str()],
    )? > 0)
}

pub(crate) fn use_link(c: &Connection, used: &UsedLink) -> StoreResult<()> {
    if let Some(link) = &used.link
        && execute(c, "DELETE FROM links WHERE id = ?1", [link.as_str()])? == 0
    {
        return Err(StoreError::NotFound);
    }
    let u = &used.user;
    // Mail of an organization goes where its owner is reached, also once the owner names another
    // address than the one it was made with.
    execute(
        c,
        "UPDATE organizations SET email = ?3 WHERE id = ?2 AND email = (SELECT email FROM users WHERE id = ?1)",
        [u.id.as_str(), u.org_id.as_str(), &u.email],
    )?;
    execute(
        c,
        "INSERT INTO users (id, org_id, username, email, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (id) DO UPDATE SET username = excluded.username, email = excluded.email",
        params![u.id.as_str(), u.org_id.as_str(), u.username, u.email, u.created_at.ms()],
    )?;
    if let Some(login) = &used.login {
        execute(
            c,
            "INSERT INTO logins (user_id, email, password_hash, changed_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (user_id) DO UPDATE SET email = excluded.email, password_hash = excluded.password_hash, changed_at = excluded.changed_at",
            params![login.user_id.as_str(), login.email, login.password_hash, login.changed_at.ms()],
        )?;
    }
    if used.ends_password {
        let sql = "UPDATE logins SET password_hash = NULL, changed_at = ?2 WHERE user_id = ?1";
        execute(c, sql, params![u.id.as_str(), used.at.ms()])?;
    }
    if used.login.is_some() || used.ends_password {
        execute(c, "DELETE FROM sessions WHERE user_id = ?1", [u.id.as_str()])?;
    }
    if used.login.is_some() || used.ends_password || used.joins.is_some() {
        execute(c, "DELETE FROM links WHERE user_id = ?1", [u.id.as_str()])?;
    }
    if let Some((org, role)) = &used.joins {
        execute(
            c,
            "INSERT INTO members (org_id, user_id, role, created_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            params![org.as_str(), u.id.as_str(), role.as_str(), used.at.ms()],
        )?;
    }
    if let Some(identity) = &used.identity {
        execute(
            c,
            "INSERT INTO identities (issuer, subject, user_id, created_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            params![identity.issuer, identity.subject, u.id.as_str(), used.at.ms()],
        )?;
    }
    Ok(())
}

/// Stores a user who owns an organization.
pub(crate) fn create_owner(c: &Connection, u: &User) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO users (id, org_id, username, email, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![u.id.as_str(), u.org_id.as_str(), u.username, u.email, u.created_at.ms()],
    )?;
    execute(
        c,
        "INSERT INTO members (org_id, user_id, role, created_at) VALUES (?1, ?2, 'owner', ?3)",
        params![u.org_id.as_str(), u.id.as_str(), u.created_at.ms()],
    )?;
    Ok(())
}

fn text(row: &Row<'_>, column: &str) -> StoreResult<String> {
    row.get(column).map_err(database)
}

fn time(row: &Row<'_>, column: &str) -> StoreResult<Timestamp> {
    row.get(column).map(Timestamp).map_err(database)
}

pub(crate) fn role(row: &Row<'_>) -> StoreResult<Role> {
    Role::parse(&text(row, "role")?)
        .ok_or_else(|| StoreError::Corrupt { what: "the column role".into() })
}

pub(crate) fn read_login(row: &Row<'_>) -> StoreResult<Login> {
    Ok(Login {
        user_id: UserId::from_row(text(row, "user_id")?),
        email: text(row, "email")?,
        password_hash: row.get("password_hash").map_err(database)?,
        changed_at: time(row, "changed_at")?,
    })
}

pub(crate) fn read_session(row: &Row<'_>) -> StoreResult<Session> {
    Ok(Session {
        id: SessionId::from_row(text(row, "id")?),
        token_hash: text(row, "token_hash")?,
        user_id: UserId::from_row(text(row, "user_id")?),
        org_id: OrgId::from_row(text(row, "org_id")?),
        address: text(row, "address")?,
        user_agent: text(row, "user_agent")?,
        created_at: time(row, "created_at")?,
        used_at: time(row, "used_at")?,
        expires_at: time(row, "expires_at")?,
    })
}

pub(crate) fn read_link(row: &Row<'_>) -> StoreResult<Link> {
    let optional = |column: &str| row.get::<_, Option<String>>(column).map_err(database);
    Ok(Link {
        id: LinkId::from_row(text(row, "id")?),
        token_hash: text(row, "token_hash")?,
        kind: LinkKind::parse(&text(row, "kind")?)
            .ok_or_else(|| StoreError::Corrupt { what: "the column kind".into() })?,
        org_id: OrgId::from_row(text(row, "org_id")?),
        user_id: optional("user_id")?.map(UserId::from_row),
        email: text(row, "email")?,
        role: optional("role")?.as_deref().and_then(Role::parse),
        made_by: optional("made_by")?.map(UserId::from_row),
        created_at: time(row, "created_at")?,
        expires_at: time(row, "expires_at")?,
    })
}
