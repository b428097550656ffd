//! People who sign in.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{LinkId, OrgId, SessionId, UserId};
use millrace_model::people::{Link, LinkKind, Login, Member, Role, Session};
use millrace_model::tenant::{Caller, Organization};
use millrace_store::{Identity, People, StoreResult, UsedLink, fail_point};

use crate::db::database;
use crate::rows::{execute, get, many, number, one};
use crate::{SqliteStore, people, roles};

#[async_trait]
impl People for SqliteStore {
    async fn has_logins(&self) -> StoreResult<bool> {
        self.db.read(|c| Ok(number(c, "SELECT EXISTS (SELECT 1 FROM logins)", [])? > 0)).await
    }
    async fn login(&self, email: &str) -> StoreResult<Option<Login>> {
        let email = email.to_owned();
        self.db
            .read(move |c| {
                one(c, "SELECT * FROM logins WHERE email = ?1", [email], people::read_login)
            })
            .await
    }
    async fn login_of(&self, user: &UserId) -> StoreResult<Option<Login>> {
        let user = user.to_string();
        self.db
            .read(move |c| {
                one(c, "SELECT * FROM logins WHERE user_id = ?1", [user], people::read_login)
            })
            .await
    }
    async fn update_login(
        &self,
        was: Option<&str>,
        login: Login,
        keep: Option<&SessionId>,
    ) -> StoreResult<()> {
        let (was, keep) = (was.map(str::to_owned), keep.cloned());
        self.db.write(move |c| people::update_login(c, was.as_deref(), &login, keep.as_ref())).await
    }
    async fn members(&self, org: &OrgId) -> StoreResult<Vec<Member>> {
        let org = org.clone();
        self.db.read(move |c| people::members(c, &org)).await
    }
    async fn memberships(&self, user: &UserId) -> StoreResult<Vec<(Organization, Role)>> {
        let user = user.clone();
        self.db.read(move |c| people::memberships(c, &user)).await
    }
    async fn set_role(&self, org: &OrgId, user: &UserId, role: Role) -> StoreResult<bool> {
        let (org, user) = (org.clone(), user.clone());
        self.db.write(move |c| roles::set_role(c, &org, &user, role)).await
    }
    async fn remove_member(&self, org: &OrgId, user: &UserId) -> StoreResult<bool> {
        let (org, user) = (org.clone(), user.clone());
        self.db.write(move |c| roles::remove_member(c, &org, &user)).await
    }
    async fn preferences(
        &self,
        user: &UserId,
        org: &OrgId,
    ) -> StoreResult<Option<(String, Timestamp)>> {
        let (user, org) = (user.to_string(), org.to_string());
        let sql =
            "SELECT value, updated_at FROM user_preferences WHERE user_id = ?1 AND org_id = ?2";
        let read =
            |row: &rusqlite::Row<'_>| Ok((get(row, "value")?, Timestamp(get(row, "updated_at")?)));
        self.db.read(move |c| one(c, sql, [user, org], read)).await
    }
    async fn put_preferences(
        &self,
        user: &UserId,
        org: &OrgId,
        value: &str,
        over: Option<&str>,
        at: Timestamp,
    ) -> StoreResult<bool> {
        let (user, org) = (user.to_string(), org.to_string());
        let (value, over) = (value.to_owned(), over.map(str::to_owned));
        let sql = "INSERT INTO user_preferences (user_id, org_id, value, updated_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (user_id, org_id) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
             WHERE ?5 IS NULL OR user_preferences.value = ?5";
        self.db
            .write(move |c| {
                execute(c, sql, rusqlite::params![user, org, value, at.ms(), over])
                    .map(|written| written > 0)
            })
            .await
    }
    async fn create_session(
        &self,
        session: Session,
        most: u32,
        shown: Option<&str>,
    ) -> StoreResult<()> {
        let shown = shown.map(str::to_owned);
        self.db.write(move |c| people::create_session(c, &session, most, shown.as_deref())).await
    }
    async fn caller_by_session_hash(
        &self,
        token_hash: &str,
    ) -> StoreResult<Option<(Caller, Timestamp)>> {
        let hash = token_hash.to_owned();
        self.db.read(move |c| people::caller(c, &hash)).await
    }
    async fn sessions(&self, user: &UserId) -> StoreResult<Vec<Session>> {
        let user = user.to_string();
        self.db
            .read(move |c| {
                many(
                    c,
                    "SELECT * FROM sessions WHERE user_id = ?1 ORDER BY created_at DESC, id DESC",
                    [user],
                    people::read_session,
                )
            })
            .await
    }
    async fn use_session(&self, id: &SessionId, at: Timestamp) -> StoreResult<()> {
        let id = id.to_string();
        self.db
            .write(move |c| {
                execute(
                    c,
                    "UPDATE sessions SET used_at = ?2 WHERE id = ?1",
                    rusqlite::params![id, at.ms()],
                )
                .map(|_| ())
            })
            .await
    }
    async fn switch_session(&self, id: &SessionId, org: &OrgId) -> StoreResult<bool> {
        let (id, org) = (id.clone(), org.clone());
        self.db.write(move |c| people::switch_session(c, &id, &org)).await
    }
    async fn end_session(&self, user: &UserId, id: &SessionId) -> StoreResult<bool> {
        let (user, id) = (user.to_string(), id.to_string());
        self.db
            .write(move |c| {
                Ok(execute(c, "DELETE FROM sessions WHERE id = ?1 AND user_id = ?2", [id, user])?
                    > 0)
            })
            .await
    }
    async fn put_link(&self, link: Link, of: Option<&OrgId>) -> StoreResult<()> {
        let of = of.cloned();
        self.db.write(move |c| people::put_link(c, &link, of.as_ref())).await
    }
    async fn link(&self, token_hash: &str) -> StoreResult<Option<Link>> {
        let hash = token_hash.to_owned();
        self.db
            .read(move |c| {
                one(c, "SELECT * FROM links WHERE token_hash = ?1", [hash], people::read_link)
            })
            .await
    }
    async fn links(&self, org: &OrgId, kind: LinkKind) -> StoreResult<Vec<Link>> {
        let org = org.to_string();
        let sql =
            "SELECT * FROM links WHERE org_id = ?1 AND kind = ?2 ORDER BY created_at DESC, id DESC";
        self.db.read(move |c| many(c, sql, [org.as_str(), kind.as_str()], people::read_link)).await
    }
    async fn delete_link(&self, org: &OrgId, kind: LinkKind, id: &LinkId) -> StoreResult<bool> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| people::delete_link(c, &org, kind, &id)).await
    }
    async fn invitations_for(&self, email: &str) -> StoreResult<Vec<Link>> {
        let email = email.to_owned();
        let sql = "SELECT * FROM links WHERE email = ?1 AND kind = 'invitation' ORDER BY created_at, id LIMIT 100";
        self.db.read(move |c| many(c, sql, [email], people::read_link)).await
    }
    async fn user_of_identity(&self, identity: &Identity) -> StoreResult<Option<UserId>> {
        let Identity { issuer, subject } = identity.clone();
        let sql = "SELECT user_id FROM identities WHERE issuer = ?1 AND subject = ?2";
        self.db
            .read(move |c| {
                one(c, sql, [issuer, subject], |row| {
                    row.get("user_id").map(UserId::from_row).map_err(database)
                })
            })
            .await
    }
    async fn subject_of(&self, issuer: &str, user: &UserId) -> StoreResult<Option<String>> {
        let (issuer, user) = (issuer.to_owned(), user.to_string());
        let sql = "SELECT subject FROM identities WHERE issuer = ?1 AND user_id = ?2 LIMIT 1";
        self.db
            .read(move |c| one(c, sql, [issuer, user], |row| row.get("subject").map_err(database)))
            .await
    }
    async fn use_link(&self, used: UsedLink) -> StoreResult<()> {
        write_at!(self, "use_link", |c| people::use_link(c, &used))
    }
}
