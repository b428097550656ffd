//! People who sign in.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{LinkId, OrgId, SessionId, UserId};
use millrace_model::people::{Link, LinkKind, Login, Member, Role, Session};
use millrace_model::tenant::{Caller, Organization};
use millrace_store::{Identity, People, StoreResult, UsedLink};
use tokio_postgres::Row;

use crate::db::{database, text, transaction};
use crate::rows::{execute, many, number, one};
use crate::{PostgresStore, people, roles};

#[async_trait]
impl People for PostgresStore {
    async fn has_logins(&self) -> StoreResult<bool> {
        Ok(number(
            &self.db.client().await?,
            "SELECT count(*) FROM (SELECT 1 FROM logins LIMIT 1) AS l",
            &[],
        )
        .await?
            > 0)
    }
    async fn login(&self, email: &str) -> StoreResult<Option<Login>> {
        by_unique!(
            self,
            "logins",
            people::LOGIN,
            "email",
            crate::db::text(email),
            people::read_login
        )
    }
    async fn login_of(&self, user: &UserId) -> StoreResult<Option<Login>> {
        by_unique!(self, "logins", people::LOGIN, "user_id", user.as_str(), people::read_login)
    }
    async fn update_login(
        &self,
        was: Option<&str>,
        login: Login,
        keep: Option<&SessionId>,
    ) -> StoreResult<()> {
        transaction!(self.db, |t| people::update_login(&t, was, &login, keep))
    }
    async fn members(&self, org: &OrgId) -> StoreResult<Vec<Member>> {
        people::members(&self.db.client().await?, org).await
    }
    async fn memberships(&self, user: &UserId) -> StoreResult<Vec<(Organization, Role)>> {
        people::memberships(&self.db.client().await?, user).await
    }
    async fn set_role(&self, org: &OrgId, user: &UserId, role: Role) -> StoreResult<bool> {
        transaction!(self.db, |t| roles::set_role(&t, org, user, role))
    }
    async fn remove_member(&self, org: &OrgId, user: &UserId) -> StoreResult<bool> {
        transaction!(self.db, |t| roles::remove_member(&t, org, user))
    }
    async fn preferences(
        &self,
        user: &UserId,
        org: &OrgId,
    ) -> StoreResult<Option<(String, Timestamp)>> {
        let sql =
            "SELECT value, updated_at FROM user_preferences WHERE user_id = $1 AND org_id = $2";
        let read = |row: &Row| {
            Ok((row.try_get(0).map_err(database)?, Timestamp(row.try_get(1).map_err(database)?)))
        };
        one(&self.db.client().await?, sql, &[&user.as_str(), &org.as_str()], read).await
    }
    async fn put_preferences(
        &self,
        user: &UserId,
        org: &OrgId,
        value: &str,
        over: Option<&str>,
        at: Timestamp,
    ) -> StoreResult<bool> {
        let sql = "INSERT INTO user_preferences (user_id, org_id, value, updated_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (user_id, org_id) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
             WHERE $5::text IS NULL OR user_preferences.value = $5";
        execute(
            &self.db.client().await?,
            sql,
            &[&user.as_str(), &org.as_str(), &text(value), &at.ms(), &over.map(text)],
        )
        .await
        .map(|written| written > 0)
    }
    async fn create_session(
        &self,
        session: Session,
        most: u32,
        shown: Option<&str>,
    ) -> StoreResult<()> {
        transaction!(self.db, |t| people::create_session(&t, &session, most, shown))
    }
    async fn caller_by_session_hash(
        &self,
        token_hash: &str,
    ) -> StoreResult<Option<(Caller, Timestamp)>> {
        people::caller(&self.db.client().await?, token_hash).await
    }
    async fn sessions(&self, user: &UserId) -> StoreResult<Vec<Session>> {
        let sql = format!(
            "SELECT {} FROM sessions WHERE user_id = $1 ORDER BY created_at DESC, id DESC",
            people::SESSION
        );
        many(&self.db.client().await?, &sql, &[&user.as_str()], people::read_session).await
    }
    async fn use_session(&self, id: &SessionId, at: Timestamp) -> StoreResult<()> {
        execute(
            &self.db.client().await?,
            "UPDATE sessions SET used_at = $2 WHERE id = $1",
            &[&id.as_str(), &at.ms()],
        )
        .await
        .map(|_| ())
    }
    async fn switch_session(&self, id: &SessionId, org: &OrgId) -> StoreResult<bool> {
        people::switch_session(&self.db.client().await?, id, org).await
    }
    async fn end_session(&self, user: &UserId, id: &SessionId) -> StoreResult<bool> {
        let sql = "DELETE FROM sessions WHERE id = $1 AND user_id = $2";
        Ok(execute(&self.db.client().await?, sql, &[&id.as_str(), &user.as_str()]).await? > 0)
    }
    async fn put_link(&self, link: Link, of: Option<&OrgId>) -> StoreResult<()> {
        transaction!(self.db, |t| people::put_link(&t, &link, of))
    }
    async fn link(&self, token_hash: &str) -> StoreResult<Option<Link>> {
        by_unique!(self, "links", people::LINK, "token_hash", token_hash, people::read_link)
    }
    async fn links(&self, org: &OrgId, kind: LinkKind) -> StoreResult<Vec<Link>> {
        let sql = format!(
            "SELECT {} FROM links WHERE org_id = $1 AND kind = $2 ORDER BY created_at DESC, id DESC",
            people::LINK
        );
        many(&self.db.client().await?, &sql, &[&org.as_str(), &kind.as_str()], people::read_link)
            .await
    }
    async fn delete_link(&self, org: &OrgId, kind: LinkKind, id: &LinkId) -> StoreResult<bool> {
        people::delete_link(&self.db.client().await?, org, kind, id).await
    }
    async fn invitations_for(&self, email: &str) -> StoreResult<Vec<Link>> {
        let sql = format!(
            "SELECT {} FROM links WHERE email = $1 AND kind = 'invitation' ORDER BY created_at, id LIMIT 100",
            people::LINK
        );
        many(&self.db.client().await?, &sql, &[&text(email)], people::read_link).await
    }
    async fn user_of_identity(&self, identity: &Identity) -> StoreResult<Option<UserId>> {
        let sql = "SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2";
        let read = |row: &Row| row.try_get("user_id").map(UserId::from_row).map_err(database);
        one(
            &self.db.client().await?,
            sql,
            &[&text(&identity.issuer), &text(&identity.subject)],
            read,
        )
        .await
    }
    async fn subject_of(&self, issuer: &str, user: &UserId) -> StoreResult<Option<String>> {
        let sql = "SELECT subject FROM identities WHERE issuer = $1 AND user_id = $2 LIMIT 1";
        let read = |row: &Row| row.try_get("subject").map_err(database);
        one(&self.db.client().await?, sql, &[&text(issuer), &user.as_str()], read).await
    }
    async fn use_link(&self, used: UsedLink) -> StoreResult<()> {
        transaction!(self.db, "use_link", |t| people::use_link(&t, &used))
    }
}
