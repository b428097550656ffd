//! Roles of members, and what ends with them.

use millrace_model::ids::{OrgId, UserId};
use millrace_model::people::Role;
use millrace_model::tenant::Scopes;
use millrace_store::{StoreError, StoreResult};
use rusqlite::{Connection, Row};

use crate::db::database;
use crate::people::role;
use crate::rows::{self, execute, many, number, one};

/// Owners of organization `?1` who can sign in.
const OWNERS: &str = "SELECT count(*) FROM members m JOIN logins l ON l.user_id = m.user_id WHERE m.org_id = ?1 AND m.role = 'owner'";

/// Whether an owner would be left who can sign in, were this member none. Where none can now,
/// nothing is made worse.
fn may_lose(c: &Connection, org: &OrgId, user: &UserId) -> StoreResult<bool> {
    let role = role_of(c, org, user)?.ok_or(StoreError::NotFound)?;
    if role != Role::Owner {
        return Ok(true);
    }
    let (all, others) = (
        number(c, OWNERS, [org.as_str()])?,
        number(c, &format!("{OWNERS} AND m.user_id <> ?2"), [org.as_str(), user.as_str()])?,
    );
    let owners = number(
        c,
        "SELECT count(*) FROM members WHERE org_id = ?1 AND role = 'owner'",
        [org.as_str()],
    )?;
    Ok(others > 0 || (all == 0 && owners > 1))
}

/// That a member may do now what a right that is made in the member's name allows: one that was
/// asked for before the role was lowered is not made after it.
pub(crate) fn check_right(
    c: &Connection,
    org: &OrgId,
    user: &UserId,
    scopes: &Scopes,
) -> StoreResult<()> {
    let may = role_of(c, org, user)?.is_some_and(|role| scopes.are_within(&role.scopes()));
    if may { Ok(()) } else { Err(StoreError::NotAllowed) }
}

fn role_of(c: &Connection, org: &OrgId, user: &UserId) -> StoreResult<Option<Role>> {
    one(
        c,
        "SELECT role FROM members WHERE org_id = ?1 AND user_id = ?2",
        [org.as_str(), user.as_str()],
        role,
    )
}

pub(crate) fn set_role(
    c: &Connection,
    org: &OrgId,
    user: &UserId,
    role: Role,
) -> StoreResult<bool> {
    let may = may_lose(c, org, user)?;
    if role != Role::Owner && !may {
        return Ok(false);
    }
    execute(
        c,
        "UPDATE members SET role = ?3 WHERE org_id = ?1 AND user_id = ?2",
        [org.as_str(), user.as_str(), role.as_str()],
    )?;
    for table in ["api_keys", "oauth_clients"] {
        let sql = format!("SELECT id, scopes FROM {table} WHERE org_id = ?1 AND user_id = ?2");
        let read =
            |row: &Row<'_>| Ok((row.get::<_, String>("id").map_err(database)?, rows::scopes(row)?));
        for (id, scopes) in many(c, &sql, [org.as_str(), user.as_str()], read)? {
            if !scopes.are_within(&role.scopes()) {
                execute(c, &format!("DELETE FROM {table} WHERE id = ?1"), [id])?;
            }
        }
    }
    if role != Role::Owner {
        end_links_of(c, org, user)?;
    }
    Ok(true)
}

/// Ends the invitations of an organization that a member made, and all links by which the member
/// lets others set a password: such a link is of an organization of the other person.
fn end_links_of(c: &Connection, org: &OrgId, user: &UserId) -> StoreResult<()> {
    let sql = "DELETE FROM links WHERE made_by = ?2 AND (org_id = ?1 OR kind <> 'invitation')";
    execute(c, sql, [org.as_str(), user.as_str()]).map(|_| ())
}

pub(crate) fn remove_member(c: &Connection, org: &OrgId, user: &UserId) -> StoreResult<bool> {
    if !may_lose(c, org, user)? {
        return Ok(false);
    }
    for table in ["sessions", "api_keys", "oauth_clients", "members"] {
        execute(
            c,
            &format!("DELETE FROM {table} WHERE org_id = ?1 AND user_id = ?2"),
            [org.as_str(), user.as_str()],
        )?;
    }
    end_links_of(c, org, user)?;
    Ok(true)
}
