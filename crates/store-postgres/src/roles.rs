//! Roles of members, and what ends with them.

use deadpool_postgres::Transaction;
use millrace_model::ids::{OrgId, UserId};
use millrace_model::people::Role;
use millrace_model::tenant::Scopes;
use millrace_store::{StoreError, StoreResult};
use tokio_postgres::Row;

use crate::people::role;
use crate::rows::{self, execute, many, number, one};

/// Owners of organization `$1` who can sign in.
const OWNERS: &str = "SELECT count(*) FROM members m JOIN logins l ON l.user_id = m.user_id WHERE m.org_id = $1 AND m.role = 'owner'";

/// Whether an owner would be left who can sign in, were this member none. Where none can now,
/// nothing is made worse.
async fn may_lose(t: &Transaction<'_>, org: &OrgId, user: &UserId) -> StoreResult<bool> {
    // Of two owners who are removed at once one stays. SQLite has one writer.
    execute(t, "SELECT 1 FROM organizations WHERE id = $1 FOR UPDATE", &[&org.as_str()]).await?;
    let role = role_of(t, org, user).await?.ok_or(StoreError::NotFound)?;
    if role != Role::Owner {
        return Ok(true);
    }
    let all = number(t, OWNERS, &[&org.as_str()]).await?;
    let others =
        number(t, &format!("{OWNERS} AND m.user_id <> $2"), &[&org.as_str(), &user.as_str()])
            .await?;
    let owners = number(
        t,
        "SELECT count(*) FROM members WHERE org_id = $1 AND role = 'owner'",
        &[&org.as_str()],
    )
    .await?;
    Ok(others > 0 || (all == 0 && owners > 1))
}

/// That a member may do now what a right that is made in the member's name allows: one that was
/// asked for before the role was lowered is not made after it.
pub(crate) async fn check_right(
    t: &Transaction<'_>,
    org: &OrgId,
    user: &UserId,
    scopes: &Scopes,
) -> StoreResult<()> {
    // A change of a role that is under way ends first, and the next one waits.
    execute(t, "SELECT 1 FROM organizations WHERE id = $1 FOR SHARE", &[&org.as_str()]).await?;
    let role = role_of(t, org, user).await?;
    if role.is_some_and(|role| scopes.are_within(&role.scopes())) {
        Ok(())
    } else {
        Err(StoreError::NotAllowed)
    }
}

async fn role_of(t: &Transaction<'_>, org: &OrgId, user: &UserId) -> StoreResult<Option<Role>> {
    let sql = "SELECT role FROM members WHERE org_id = $1 AND user_id = $2";
    one(t, sql, &[&org.as_str(), &user.as_str()], role).await
}

pub(crate) async fn set_role(
    t: &Transaction<'_>,
    org: &OrgId,
    user: &UserId,
    role: Role,
) -> StoreResult<bool> {
    let may = may_lose(t, org, user).await?;
    if role != Role::Owner && !may {
        return Ok(false);
    }
    execute(
        t,
        "UPDATE members SET role = $3 WHERE org_id = $1 AND user_id = $2",
        &[&org.as_str(), &user.as_str(), &role.as_str()],
    )
    .await?;
    for table in ["api_keys", "oauth_clients"] {
        let sql = format!("SELECT id, scopes FROM {table} WHERE org_id = $1 AND user_id = $2");
        let read = |row: &Row| Ok((rows::get::<String>(row, "id")?, rows::scopes(row)?));
        for (id, scopes) in many(t, &sql, &[&org.as_str(), &user.as_str()], read).await? {
            if !scopes.are_within(&role.scopes()) {
                execute(t, &format!("DELETE FROM {table} WHERE id = $1"), &[&id]).await?;
            }
        }
    }
    if role != Role::Owner {
        end_links_of(t, org, user).await?;
    }
    Ok(true)
}

/// Ends the invitations of an organization that a member made, and all links by which the member
/// lets others set a password: such a link is of an organization of the other person.
async fn end_links_of(t: &Transaction<'_>, org: &OrgId, user: &UserId) -> StoreResult<()> {
    let sql = "DELETE FROM links WHERE made_by = $2 AND (org_id = $1 OR kind <> 'invitation')";
    execute(t, sql, &[&org.as_str(), &user.as_str()]).await.map(|_| ())
}

pub(crate) async fn remove_member(
    t: &Transaction<'_>,
    org: &OrgId,
    user: &UserId,
) -> StoreResult<bool> {
    if !may_lose(t, org, user).await? {
        return Ok(false);
    }
    for table in ["sessions", "api_keys", "oauth_clients", "members"] {
        execute(
            t,
            &format!("DELETE FROM {table} WHERE org_id = $1 AND user_id = $2"),
            &[&org.as_str(), &user.as_str()],
        )
        .await?;
    }
    end_links_of(t, org, user).await?;
    Ok(true)
}
