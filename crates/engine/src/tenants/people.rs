//! People: signing in, sessions, and links that work once.

use std::net::IpAddr;

use millrace_model::ids::{LinkId, MailId, OrgId, SessionId, UserId};
use millrace_model::people::{Link, LinkKind, Login, Role, Session};
use millrace_model::tenant::{Caller, Organization, User};
use millrace_store::{Mail, MailStatus, StoreError, UsedLink};

use crate::settle::notice::one_line;
use crate::tenants::keys::{KEY_CHARS, key_name};
use crate::tenants::passwords::place;
use crate::tenants::secrets::sha256_hex;
use crate::tenants::wrong_keys::Asker;
use crate::{Engine, EngineError};

/// What the token of every session begins with; it is good in a cookie only.
pub(crate) const SESSION_PREFIX: &str = "mru_";
/// How long a session lasts, however much it is used.
const SESSION_MS: i64 = 90 * 24 * 3600 * 1000;
/// Sessions of one person; the oldest ends.
const SESSIONS_MAX: u32 = 50;
/// How long the use of a session may go unwritten.
const USED_WITHIN_MS: i64 = 10 * 60 * 1000;
/// How long the link for a first visit works.
const SETUP_MS: i64 = 24 * 3600 * 1000;
/// How long a link works that somebody who forgot the password asked for.
const RESET_MS: i64 = 3600 * 1000;
/// How long after one no second one is mailed.
const RESET_AGAIN_MS: i64 = 5 * 60 * 1000;
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

/// A link that was made; its token is in the address, shown this once.
#[derive(Clone, Debug)]
pub struct NewLink {
    /// Its record.
    pub link: Link,
    /// Where it leads.
    pub url: String,
    /// Whether it is on its way by mail.
    pub mailed: bool,
}

/// What somebody who follows a link gives.
#[derive(Clone, Debug, Default)]
pub struct LinkAnswer {
    /// A name; none: it stays, or is that of the address.
    pub name: Option<String>,
    /// The address to sign in with, where the link leaves it open.
    pub email: Option<String>,
    /// The password.
    pub password: String,
}

impl Engine {
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
        let email = email.trim().to_lowercase();
        self.0.passwords.count(&email, client.asker.as_ref(), self.now())?;
        let login = self.0.store.login(&email).await?;
        let fits = self
            .0
            .passwords
            .fits(password, login.as_ref().and_then(|login| login.password_hash.clone()))
            .await?;
        let login = login.filter(|_| fits).ok_or(EngineError::WrongPassword)?;
        self.0.passwords.was_right(&email, client.asker.as_ref());
        self.begin_session(&login.user_id, None, client).await
    }

    /// A new session with a token of its own, in an organization of the person, or the one joined
    /// first.
    pub(crate) async fn begin_session(
        &self,
        user: &UserId,
        org: Option<&OrgId>,
        client: &Client,
    ) -> Result<SignedIn, EngineError> {
        let memberships = self.0.store.memberships(user).await?;
        let (organization, role) = memberships
            .iter()
            .find(|(organization, _)| org.is_some_and(|org| *org == organization.id))
            .or(memberships.first())
            .ok_or(EngineError::Forbidden("you belong to no organization of this server any more; an owner of one can invite you"))?;
        let (ids, now) = (&self.0.ids, self.now());
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
        self.0.store.create_session(session.clone(), SESSIONS_MAX).await?;
        // The oldest may have ended.
        self.0.cache.forget_callers();
        Ok(SignedIn { token, max_age_secs: SESSION_MS / 1000, caller: session.caller(*role) })
    }

    /// Who asks by a session's token, as the database has it; writes down now and then that it is
    /// used.
    pub(crate) async fn caller_by_session(
        &self,
        hash: &str,
    ) -> Result<Option<Caller>, EngineError> {
        let Some((mut caller, used_at)) = self.0.store.caller_by_session_hash(hash).await? else {
            return Ok(None);
        };
        let now = self.now();
        if let Some(session) = &caller.session
            && caller.ends_at.is_some_and(|end| end > now)
            && now.since(used_at) > USED_WITHIN_MS
        {
            self.0.store.use_session(session, now).await?;
            caller.ends_at = caller.ends_at.map(|end| end.max(now.plus_ms(USED_WITHIN_MS)));
        }
        Ok(Some(caller))
    }

    /// Who is signed in, and where.
    pub async fn session_view(&self, caller: &Caller) -> Result<SessionView, EngineError> {
        let user = self.0.store.user(&caller.user_id).await?.ok_or(EngineError::Unauthorized)?;
        let organization =
            self.0.store.organization(&caller.org_id).await?.ok_or(EngineError::Unauthorized)?;
        let role = Role::of(&caller.scopes);
        let organizations = match &caller.session {
            Some(_) => self.0.store.memberships(&caller.user_id).await?,
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
        if !self.0.store.switch_session(session, org).await? {
            return Err(EngineError::not_found("workspace", org));
        }
        self.0.cache.forget_callers();
        let memberships = self.0.store.memberships(&caller.user_id).await?;
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
        let now = self.now();
        let mut sessions = self.0.store.sessions(&caller.user_id).await?;
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
        let there = self.0.store.end_session(&caller.user_id, id).await?;
        self.0.cache.forget_callers();
        if there { Ok(id.clone()) } else { Err(EngineError::not_found("session", id)) }
    }

    /// Sets another password for the caller's person, and ends all other sessions. `WrongPassword`
    /// where the one of now is not shown.
    pub async fn change_password(
        &self,
        caller: &Caller,
        now_is: &str,
        new: &str,
        client: &Client,
    ) -> Result<(), EngineError> {
        let session = own_session(caller)?;
        let login =
            self.0.store.login_of(&caller.user_id).await?.ok_or(EngineError::Unauthorized)?;
        self.0.passwords.count(&login.email, client.asker.as_ref(), self.now())?;
        if !self.0.passwords.fits(now_is, login.password_hash.clone()).await? {
            return Err(EngineError::invalid(
                "current_password",
                "`current_password` is not your password",
            ));
        }
        self.0.passwords.was_right(&login.email, client.asker.as_ref());
        let password_hash = Some(self.0.passwords.hash("password", new).await?);
        self.0
            .store
            .update_login(Login { password_hash, changed_at: self.now(), ..login }, Some(session))
            .await?;
        self.0.cache.forget_callers();
        Ok(())
    }

    /// A link for the first visit of this server's first owner, while nobody can sign in.
    pub async fn first_visit(&self) -> Result<Option<NewLink>, EngineError> {
        if self.0.store.has_logins().await? {
            return Ok(None);
        }
        let Some(org) = self.0.store.first_organization().await? else { return Ok(None) };
        let owners = self.0.store.members(&org).await?;
        let Some(owner) = owners.into_iter().find(|member| member.role == Role::Owner) else {
            return Ok(None);
        };
        Ok(Some(
            self.new_link(
                LinkKind::Setup,
                &org,
                Some(&owner.user.id),
                &owner.user.email,
                None,
                None,
                SETUP_MS,
            )
            .await?,
        ))
    }

    /// A link by which a user of the caller's organization sets a password: the caller's own user,
    /// or the one who has the address. For whom it opens other organizations too only the server's
    /// operator makes one.
    pub async fn setup_link(
        &self,
        caller: &Caller,
        email: Option<&str>,
    ) -> Result<NewLink, EngineError> {
        let email = email.map(|email| email.trim().to_lowercase());
        let is_operator = self.0.store.first_organization().await?.as_ref() == Some(&caller.org_id);
        let members = self.0.store.members(&caller.org_id).await?;
        let member = members.into_iter().find(|member| match &email {
            Some(email) => member.user.email.to_lowercase() == *email,
            None => member.user.id == caller.user_id,
        });
        let user = match (member, &email) {
            (Some(member), _) => member.user,
            (None, Some(email))
                if is_operator && let Some(login) = self.0.store.login(email).await? =>
            {
                self.0.store.user(&login.user_id).await?.ok_or(EngineError::Unauthorized)?
            }
            (None, Some(email)) => return Err(EngineError::not_found("member", email)),
            (None, None) => return Err(EngineError::not_found("member", &caller.user_id)),
        };
        let memberships = self.0.store.memberships(&user.id).await?;
        if !is_operator
            && memberships.iter().any(|(organization, _)| organization.id != caller.org_id)
        {
            return Err(EngineError::Forbidden(
                "this person belongs to other organizations too; only an owner of the organization that was made first makes such a link",
            ));
        }
        let org = memberships
            .first()
            .map_or(&caller.org_id, |(organization, _)| &organization.id)
            .clone();
        let kind = if self.0.store.login_of(&user.id).await?.is_some() {
            LinkKind::Reset
        } else {
            LinkKind::Setup
        };
        let made = self
            .new_link(
                kind,
                &org,
                Some(&user.id),
                &user.email,
                None,
                Some(&caller.user_id),
                SETUP_MS,
            )
            .await?;
        // Who makes one for themselves has it at hand.
        if email.is_none() { Ok(made) } else { self.mailed(made).await }
    }

    /// Mails a link by which somebody who forgot the password sets another one. Neither the answer
    /// nor its time says whether there is such a person.
    pub fn forgot_password(&self, email: &str, client: &Client) -> Result<(), EngineError> {
        if self.0.config.smtp_url.is_none() {
            return Err(EngineError::Conflict {
                code: "no_mail_server",
                message: "this server sends no mail (--smtp-url); an owner, or `millrace setup-link EMAIL`, makes a link by which to set another password"
                    .into(),
            });
        }
        let email = email.trim().to_lowercase();
        check_email(&email)?;
        self.0.passwords.count(&email, client.asker.as_ref(), self.now())?;
        let engine = self.clone();
        self.0.tasks.spawn(async move {
            if let Err(error) = engine.mail_reset(&email).await {
                tracing::error!(
                    error = millrace_model::error_chain(&error),
                    "a link by which to set another password could not be mailed"
                );
            }
        });
        Ok(())
    }

    async fn mail_reset(&self, email: &str) -> Result<(), EngineError> {
        let Some(login) = self.0.store.login(email).await? else { return Ok(()) };
        let memberships = self.0.store.memberships(&login.user_id).await?;
        let Some((organization, _)) = memberships.first() else { return Ok(()) };
        // Nobody's post is filled by asking again and again, and the link of the first mail works.
        let _one_at_a_time = self.0.passwords.reset.lock().await;
        let since = self.now().plus_ms(-RESET_AGAIN_MS);
        let links = self.0.store.links(&organization.id, LinkKind::Reset).await?;
        if links
            .iter()
            .any(|link| link.user_id.as_ref() == Some(&login.user_id) && link.created_at > since)
        {
            return Ok(());
        }
        let made = self
            .new_link(
                LinkKind::Reset,
                &organization.id,
                Some(&login.user_id),
                &login.email,
                None,
                None,
                RESET_MS,
            )
            .await?;
        self.mailed(made).await.map(|_| ())
    }

    /// Queues a link's mail to whom it is for, where there is a mail server.
    pub(crate) async fn mailed(&self, made: NewLink) -> Result<NewLink, EngineError> {
        if self.0.config.smtp_url.is_none() {
            return Ok(made);
        }
        let link = &made.link;
        let organization = self
            .0
            .store
            .organization(&link.org_id)
            .await?
            .map_or_else(String::new, |organization| organization.name);
        let by = match &link.made_by {
            Some(by) => self.0.store.user(by).await?.map(|user| user.username),
            None => None,
        };
        let by = by.unwrap_or_else(|| "Somebody".into());
        let server = &self.0.config.base_url;
        let (subject, about) = match link.kind {
            LinkKind::Invitation => (
                format!("Join {organization} on Millrace"),
                format!("{by} invites you to join {organization} on {server}."),
            ),
            LinkKind::Setup => (
                format!("Your login of {organization} on Millrace"),
                format!("{by} made a login for you on {server}. Set a password:"),
            ),
            LinkKind::Reset => (
                "Another password on Millrace".into(),
                format!("{by} asked for a link by which you set another password on {server}."),
            ),
        };
        let text = format!(
            "{about}\n\n{}\n\nThe link works once, until {}. Who did not expect this mail can ignore it: nothing changes before the link is used.\n",
            Mail::LINK,
            link.expires_at.iso()
        );
        let id = MailId::generate(&self.0.ids);
        let mail = Mail {
            link: Some(self.0.keyring.seal(&self.0.ids, id.as_str(), &made.url)?),
            id,
            org_id: link.org_id.clone(),
            recipient: link.email.clone(),
            subject: one_line(&subject),
            text,
            html: None,
            status: MailStatus::Queued,
            attempts: 0,
            last_error: None,
            created_at: self.now(),
        };
        self.0.store.queue_mail(mail).await?;
        self.0.wake_mailer.notify_one();
        Ok(NewLink { mailed: true, ..made })
    }

    #[expect(clippy::too_many_arguments, reason = "each is a field of the link")]
    pub(crate) async fn new_link(
        &self,
        kind: LinkKind,
        org: &OrgId,
        user: Option<&UserId>,
        email: &str,
        role: Option<Role>,
        made_by: Option<&UserId>,
        for_ms: i64,
    ) -> Result<NewLink, EngineError> {
        let (ids, now) = (&self.0.ids, self.now());
        let token = ids.base62(KEY_CHARS);
        let link = Link {
            id: LinkId::generate(ids),
            token_hash: sha256_hex(token.as_bytes()),
            kind,
            org_id: org.clone(),
            user_id: user.cloned(),
            email: email.to_lowercase(),
            role,
            made_by: made_by.cloned(),
            created_at: now,
            expires_at: now.plus_ms(for_ms),
        };
        self.0.store.put_link(link.clone()).await?;
        let page = match kind {
            LinkKind::Invitation => "invite",
            LinkKind::Setup | LinkKind::Reset => "setup",
        };
        Ok(NewLink {
            link,
            url: format!("{}/{page}/{token}", self.0.config.base_url),
            mailed: false,
        })
    }

    /// What a link is for, and the organization. `Gone` where it was used, has ended or never was.
    pub async fn open_link(&self, token: &str) -> Result<(Link, Organization), EngineError> {
        let over = || {
            EngineError::Gone { message: "this link was used before, has ended, or is not complete; ask for a new one (`millrace setup-link`)".into() }
        };
        if token.len() > 256 {
            return Err(over());
        }
        let link = self
            .0
            .store
            .link(&sha256_hex(token.as_bytes()))
            .await?
            .filter(|link| link.expires_at > self.now())
            .ok_or_else(over)?;
        let organization = self.0.store.organization(&link.org_id).await?.ok_or_else(over)?;
        Ok((link, organization))
    }

    /// Uses a link: sets the password and signs in. An invitation of somebody who has a login
    /// already takes that password.
    pub async fn use_link(
        &self,
        token: &str,
        answer: LinkAnswer,
        client: &Client,
    ) -> Result<SignedIn, EngineError> {
        let (link, _) = self.open_link(token).await?;
        let now = self.now();
        let given = answer
            .email
            .as_deref()
            .map(|email| email.trim().to_lowercase())
            .filter(|email| !email.is_empty());
        // A first visit may correct the address; others were sent to theirs.
        let email =
            given.filter(|_| link.kind == LinkKind::Setup).unwrap_or_else(|| link.email.clone());
        check_email(&email)?;
        let known = self.0.store.login(&email).await?;
        let user = match &link.user_id {
            Some(id) => self.0.store.user(id).await?,
            None => match &known {
                Some(login) => self.0.store.user(&login.user_id).await?,
                None => None,
            },
        };
        let joins = link
            .role
            .filter(|_| link.kind == LinkKind::Invitation)
            .map(|role| (link.org_id.clone(), role));
        let login = match &known {
            Some(login) if link.kind == LinkKind::Invitation => {
                if login.password_hash.is_none()
                    && let Some(provider) = self.sign_in_provider()
                {
                    let message = format!(
                        "`{email}` signs in with {provider}: do so, and the invitation is accepted"
                    );
                    return Err(EngineError::invalid("password", message));
                }
                self.0.passwords.count(&email, client.asker.as_ref(), now)?;
                if !self.0.passwords.fits(&answer.password, login.password_hash.clone()).await? {
                    return Err(EngineError::invalid(
                        "password",
                        format!("`{email}` can sign in already; give the password that it has"),
                    ));
                }
                self.0.passwords.was_right(&email, client.asker.as_ref());
                None
            }
            _ => Some(self.0.passwords.hash("password", &answer.password).await?),
        };
        let user = match user {
            Some(user) => {
                let username = answer
                    .name
                    .as_deref()
                    .filter(|_| login.is_some())
                    .map(key_name)
                    .transpose()?
                    .unwrap_or(user.username);
                let email = if login.is_some() { email.clone() } else { user.email };
                User { username, email, ..user }
            }
            None => User {
                id: UserId::generate(&self.0.ids),
                org_id: link.org_id.clone(),
                username: match &answer.name {
                    Some(name) => key_name(name)?,
                    None => email.split('@').next().unwrap_or("member").to_owned(),
                },
                email: email.clone(),
                created_at: now,
            },
        };
        let login = login.map(|hash| Login {
            user_id: user.id.clone(),
            email,
            password_hash: Some(hash),
            changed_at: now,
        });
        let used = UsedLink {
            link: Some(link.id.clone()),
            user: user.clone(),
            login,
            joins,
            identity: None,
            at: now,
        };
        self.0.store.use_link(used).await.map_err(|error| match error {
            StoreError::NotFound => EngineError::Gone {
                message: "this link was used meanwhile; ask for a new one".into(),
            },
            StoreError::Taken("email") => {
                EngineError::invalid("email", "another person signs in with this address")
            }
            other => other.into(),
        })?;
        self.0.cache.forget_callers();
        self.begin_session(&user.id, Some(&link.org_id), client).await
    }
}

/// The session by which the caller asks.
pub(crate) fn own_session(caller: &Caller) -> Result<&SessionId, EngineError> {
    caller.session.as_ref().ok_or(EngineError::Forbidden(
        "this is for people who signed in; an API key has no session",
    ))
}

pub(crate) fn check_email(email: &str) -> Result<(), EngineError> {
    let is_address =
        email.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty());
    if is_address
        && email.len() <= 254
        && !email.chars().any(|c| c.is_control() || c.is_whitespace())
    {
        return Ok(());
    }
    Err(EngineError::invalid(
        "email",
        format!("`{}` is not an e-mail address", millrace_model::shown(email)),
    ))
}
