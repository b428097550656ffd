//! People: signing in, and sessions.

use std::net::IpAddr;
use std::sync::Arc;

use millrace_model::ids::{OrgId, SessionId, UserId};
use millrace_model::people::{Login, Role, Session, normal_address};
use millrace_model::tenant::{Caller, Organization, User};
use millrace_store::StoreError;

use crate::EngineError;
use crate::ctx::Ctx;
use crate::tenants::keys::KEY_CHARS;
use crate::tenants::passwords::{Passwords, place};
use crate::tenants::secrets::{Keyring, sha256_hex};
use crate::tenants::wrong_keys::Asker;

/// What the token of every session begins with; it is good in a cookie only.
pub(crate) const SESSION_PREFIX: &str = "mru_";
/// How long a session lasts, however much it is used.
const SESSION_MS: i64 = 90 * 24 * 3600 * 1000;
/// Sessions of one person; the oldest ends.
const SESSIONS_MAX: u32 = 50;
/// How long the use of a session may go unwritten.
const USED_WITHIN_MS: i64 = 10 * 60 * 1000;
/// Characters of a client's `User-Agent`.
const USER_AGENT_CHARS: usize = 300;

/// A client that signs in.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// Who shows the password, as far as wrong ones are counted.
    pub asker: Option<Asker>,
    /// Its address.
    pub address: Option<IpAddr>,
    /// What it calls itself.
    pub user_agent: String,
}

/// A session that was begun.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The token of the cookie, shown this once.
    pub token: String,
    /// Who asks by it.
    pub caller: Caller,
    /// Seconds until it ends, however much it is used.
    pub max_age_secs: i64,
}

/// Who is signed in.
#[derive(Clone, Debug)]
pub struct SessionView {
    /// The person; of a key the user that it acts for.
    pub user: User,
    /// The organization that is looked at.
    pub organization: Organization,
    /// The role there; of a key the widest whose scope it has.
    pub role: Option<Role>,
    /// The organizations of the person with the roles there; of a key its own.
    pub organizations: Vec<(Organization, Role)>,
}

/// The people of all organizations: passwords, sessions, links.
pub struct People {
    pub(super) ctx: Arc<Ctx>,
    pub(super) keyring: Arc<Keyring>,
    pub(super) passwords: Passwords,
}

impl People {
    pub(crate) fn new(ctx: Arc<Ctx>, keyring: Arc<Keyring>) -> Self {
        Self { ctx, keyring, passwords: Passwords::default() }
    }

    /// Whether a text has the form of a session's token, which is looked at no further.
    pub fn has_form_of_session(text: &str) -> bool {
        text.strip_prefix(SESSION_PREFIX).is_some_and(|tail| {
            tail.len() == KEY_CHARS && tail.bytes().all(|b| b.is_ascii_alphanumeric())
        })
    }

    /// Begins a session for a person who shows a password. `WrongPassword`, in the same time and
    /// words whether or not there is such an address; `WrongPasswords` after too many.
    pub async fn sign_in(
        &self,
        email: &str,
        password: &str,
        client: &Client,
    ) -> Result<SignedIn, EngineError> {
        let email = normal_address(email);
        self.passwords.count(&email, client.asker.as_ref(), self.ctx.now())?;
        let login = self.ctx.store.login(&email).await?;
        let fits = self
            .passwords
            .fits(password, login.as_ref().and_then(|login| login.password_hash.clone()))
            .await?;
        let login = login.filter(|_| fits).ok_or(EngineError::WrongPassword)?;
        self.passwords.was_right(&email, client.asker.as_ref());
        self.begin_session(&login.user_id, None, login.password_hash.as_deref(), client).await
    }

    /// A new session with a token of its own, in an organization of the person, or the one joined
    /// first. `WrongPassword` where it is begun with a password, whose hash is `shown`, that was
    /// changed since it was compared.
    pub(crate) async fn begin_session(
        &self,
        user: &UserId,
        org: Option<&OrgId>,
        shown: Option<&str>,
        client: &Client,
    ) -> Result<SignedIn, EngineError> {
        let memberships = self.ctx.store.memberships(user).await?;
        let (organization, role) = memberships
            .iter()
            .find(|(organization, _)| org.is_some_and(|org| *org == organization.id))
            .or(memberships.first())
            .ok_or(EngineError::Forbidden("you belong to no organization of this server any more; an owner of one can invite you"))?;
        let (ids, now) = (&self.ctx.ids, self.ctx.now());
        let token = format!("{SESSION_PREFIX}{}", ids.base62(KEY_CHARS));
        let session = Session {
            id: SessionId::generate(ids),
            token_hash: sha256_hex(token.as_bytes()),
            user_id: user.clone(),
            org_id: organization.id.clone(),
            address: place(client.address),
            user_agent: client
                .user_agent
                .chars()
                .filter(|c| !c.is_control())
                .take(USER_AGENT_CHARS)
                .collect(),
            created_at: now,
            used_at: now,
            expires_at: now.plus_ms(SESSION_MS),
        };
        self.ctx.store.create_session(session.clone(), SESSIONS_MAX, shown).await.map_err(
            |error| match error {
                StoreError::NotAllowed => EngineError::WrongPassword,
                other => other.into(),
            },
        )?;
        // The oldest may have ended.
        self.ctx.cache.forget_callers();
        Ok(SignedIn { token, max_age_secs: SESSION_MS / 1000, caller: session.caller(*role) })
    }

    /// Who is signed in, and where.
    pub async fn session_view(&self, caller: &Caller) -> Result<SessionView, EngineError> {
        let user = self.ctx.store.user(&caller.user_id).await?.ok_or(EngineError::Unauthorized)?;
        let organization =
            self.ctx.store.organization(&caller.org_id).await?.ok_or(EngineError::Unauthorized)?;
        let role = Role::of(&caller.scopes);
        let organizations = match &caller.session {
            Some(_) => self.ctx.store.memberships(&caller.user_id).await?,
            None => role.map(|role| (organization.clone(), role)).into_iter().collect(),
        };
        Ok(SessionView { user, organization, role, organizations })
    }

    /// Lets the caller's session look at another organization of its person.
    pub async fn switch_organization(
        &self,
        caller: &Caller,
        org: &OrgId,
    ) -> Result<Caller, EngineError> {
        let session = own_session(caller)?;
        if !self.ctx.store.switch_session(session, org).await? {
            return Err(EngineError::not_found("workspace", org));
        }
        self.ctx.cache.forget_callers();
        let memberships = self.ctx.store.memberships(&caller.user_id).await?;
        let role = memberships
            .iter()
            .find(|(organization, _)| organization.id == *org)
            .map(|(_, role)| *role)
            .ok_or(EngineError::Unauthorized)?;
        Ok(Caller { org_id: org.clone(), scopes: role.scopes(), ..caller.clone() })
    }

    /// The sessions of the caller's person, newest first.
    pub async fn sessions(&self, caller: &Caller) -> Result<Vec<Session>, EngineError> {
        own_session(caller)?;
        let now = self.ctx.now();
        let mut sessions = self.ctx.store.sessions(&caller.user_id).await?;
        sessions.retain(|session| session.ends_at() > now);
        Ok(sessions)
    }

    /// Ends a session of the caller's person; none: the caller's own.
    pub async fn end_session(
        &self,
        caller: &Caller,
        id: Option<&SessionId>,
    ) -> Result<SessionId, EngineError> {
        let own = own_session(caller)?;
        let id = id.unwrap_or(own);
        let there = self.ctx.store.end_session(&caller.user_id, id).await?;
        self.ctx.cache.forget_callers();
        if there { Ok(id.clone()) } else { Err(EngineError::not_found("session", id)) }
    }

    /// Sets another password for the caller's person, and ends all other sessions. `WrongPassword`
    /// where the current one is not shown.
    pub async fn change_password(
        &self,
        caller: &Caller,
        now_is: &str,
        new: &str,
        client: &Client,
    ) -> Result<(), EngineError> {
        let session = own_session(caller)?;
        let login =
            self.ctx.store.login_of(&caller.user_id).await?.ok_or(EngineError::Unauthorized)?;
        self.passwords.count(&login.email, client.asker.as_ref(), self.ctx.now())?;
        if !self.passwords.fits(now_is, login.password_hash.clone()).await? {
            return Err(EngineError::invalid(
                "current_password",
                "`current_password` is not your password",
            ));
        }
        self.passwords.was_right(&login.email, client.asker.as_ref());
        let password_hash = Some(self.passwords.hash("password", new).await?);
        let was = login.password_hash.clone();
        let login = Login { password_hash, changed_at: self.ctx.now(), ..login };
        self.ctx.store.update_login(was.as_deref(), login, Some(session)).await?;
        self.ctx.cache.forget_callers();
        Ok(())
    }
}

/// Who asks by a session's token, as the database has it; writes down now and then that it is
/// used.
pub(crate) async fn caller_by_session(
    ctx: &Ctx,
    hash: &str,
) -> Result<Option<Caller>, EngineError> {
    let Some((caller, used_at)) = ctx.store.caller_by_session_hash(hash).await? else {
        return Ok(None);
    };
    let now = ctx.now();
    if let Some(session) = &caller.session
        && caller.ends_at.is_some_and(|end| end > now)
        && now.since(used_at) > USED_WITHIN_MS
    {
        ctx.store.use_session(session, now).await?;
        // Its end moves with its use, and never beyond that of the session as a whole.
        let read = ctx.store.caller_by_session_hash(hash).await?;
        return Ok(read.map(|(caller, _)| caller));
    }
    Ok(Some(caller))
}

/// The session by which the caller asks.
pub(crate) fn own_session(caller: &Caller) -> Result<&SessionId, EngineError> {
    caller.session.as_ref().ok_or(EngineError::Forbidden(
        "this is for people who signed in; an API key has no session",
    ))
}

/// Refuses what is not one address that mail can be sent to.
pub fn check_email(email: &str) -> Result<(), EngineError> {
    let is_plain = !email.contains(|c: char| c.is_control() || c.is_whitespace());
    if is_plain && email.len() <= 254 && email.parse::<lettre::Address>().is_ok() {
        return Ok(());
    }
    Err(EngineError::invalid(
        "email",
        format!(
            "`{}` is not an e-mail address; give one, without a name and brackets, such as me@example.com",
            millrace_model::shown(email)
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::check_email;

    #[test]
    fn an_address_is_one_and_can_be_written_to() {
        for address in
            ["a@b.de", "a.b+c@x.test", "\u{e9}@x.de", "a@b\u{fc}cher.de", "root@localhost"]
        {
            assert!(check_email(address).is_ok(), "{address}");
        }
        for address in [
            "a@b.de,c@d.de",
            "a@b.de;c@d.de",
            "a@b.de c@d.de",
            "<a@b.de>",
            "Anna <a@b.de>",
            "mailto:a@b.de",
            "a@b@c.de",
            "a@b..de",
            "a",
            "@b.de",
            "a@",
            "",
        ] {
            assert!(check_email(address).is_err(), "{address}");
        }
        assert!(check_email(&format!("{}@b.de", "a".repeat(254))).is_err());
    }
}
