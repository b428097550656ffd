//! Links that work once: invitations, first visits, and other passwords.

use std::sync::Arc;

use millrace_model::ids::{LinkId, MailId, OrgId, UserId};
use millrace_model::people::{Link, LinkKind, Role, normal_address};
use millrace_model::tenant::{Caller, Organization};
use millrace_store::{Mail, MailStatus};

use crate::EngineError;
use crate::background::Task;
use crate::checks::one_line;
use crate::tenants::keys::KEY_CHARS;
use crate::tenants::people::{Client, People, check_email};
use crate::tenants::secrets::sha256_hex;

/// How long links work: for a first visit, and for who forgot the password.
const SETUP_MS: i64 = 24 * 3600 * 1000;
const RESET_MS: i64 = 3600 * 1000;
/// How long after one no second one is mailed.
const RESET_AGAIN_MS: i64 = 5 * 60 * 1000;

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

impl People {
    /// A link for the first visit of this server's first owner, while nobody can sign in.
    pub async fn first_visit(&self) -> Result<Option<NewLink>, EngineError> {
        if self.ctx.store.has_logins().await? {
            return Ok(None);
        }
        let Some(org) = self.ctx.store.first_organization().await? else { return Ok(None) };
        let owners = self.ctx.store.members(&org).await?;
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
        let email = email.map(normal_address);
        let is_operator =
            self.ctx.store.first_organization().await?.as_ref() == Some(&caller.org_id);
        let members = self.ctx.store.members(&caller.org_id).await?;
        let member = members.into_iter().find(|member| match &email {
            Some(email) => normal_address(&member.user.email) == *email,
            None => member.user.id == caller.user_id,
        });
        let user = match (member, &email) {
            (Some(member), _) => member.user,
            (None, Some(email))
                if is_operator && let Some(login) = self.ctx.store.login(email).await? =>
            {
                self.ctx.store.user(&login.user_id).await?.ok_or(EngineError::Unauthorized)?
            }
            (None, Some(email)) => return Err(EngineError::not_found("member", email)),
            (None, None) => return Err(EngineError::not_found("member", &caller.user_id)),
        };
        let memberships = self.ctx.store.memberships(&user.id).await?;
        if !is_operator
            && memberships.iter().any(|(organization, _)| organization.id != caller.org_id)
        {
            return Err(EngineError::Forbidden(
                "this person belongs to other organizations too; only an owner of the organization that was made first can make such a link",
            ));
        }
        let org = memberships
            .first()
            .map_or(&caller.org_id, |(organization, _)| &organization.id)
            .clone();
        let kind = if self.ctx.store.login_of(&user.id).await?.is_some() {
            LinkKind::Reset
        } else {
            LinkKind::Setup
        };
        let made = self
            .new_link(kind, &org, Some(&user.id), &user.email, None, Some(caller), SETUP_MS)
            .await?;
        // Who makes one for themselves has it at hand.
        if email.is_none() { Ok(made) } else { self.mailed(made).await }
    }

    /// Mails a link by which somebody who forgot the password sets another one. Neither the answer
    /// nor its time says whether there is such a person.
    pub fn forgot_password(
        self: &Arc<Self>,
        email: &str,
        client: &Client,
    ) -> Result<(), EngineError> {
        if self.ctx.config.smtp_url.is_none() {
            return Err(EngineError::Conflict {
                code: "no_mail_server",
                message: "this server sends no mail (--smtp-url); an owner, or `millrace setup-link EMAIL`, makes a link by which to set another password"
                    .into(),
            });
        }
        let email = normal_address(email);
        check_email(&email)?;
        self.passwords.count(&email, client.asker.as_ref(), self.ctx.now())?;
        let people = self.clone();
        self.ctx.tasks.spawn(async move {
            if let Err(error) = people.mail_reset(&email).await {
                tracing::error!(
                    error = millrace_model::error_chain(&error),
                    "a link by which to set another password could not be mailed"
                );
            }
        });
        Ok(())
    }

    async fn mail_reset(&self, email: &str) -> Result<(), EngineError> {
        let Some(login) = self.ctx.store.login(email).await? else { return Ok(()) };
        let memberships = self.ctx.store.memberships(&login.user_id).await?;
        let Some((organization, _)) = memberships.first() else { return Ok(()) };
        // Nobody's post is filled by asking again and again, and the link of the first mail works.
        let _one_at_a_time = self.passwords.reset.lock().await;
        let since = self.ctx.now().plus_ms(-RESET_AGAIN_MS);
        let links = self.ctx.store.links(&organization.id, LinkKind::Reset).await?;
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
        if self.ctx.config.smtp_url.is_none() {
            return Ok(made);
        }
        let link = &made.link;
        let organization = self
            .ctx
            .store
            .organization(&link.org_id)
            .await?
            .map_or_else(String::new, |organization| organization.name);
        let by = match &link.made_by {
            Some(by) => self.ctx.store.user(by).await?.map(|user| user.username),
            None => None,
        };
        let by = by.unwrap_or_else(|| "Somebody".into());
        let server = &self.ctx.config.base_url;
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
                "A new password on Millrace".into(),
                format!("{by} asked for a link with which you set a new password on {server}."),
            ),
        };
        let text = format!(
            "{about}\n\n{}\n\nThe link works once, until {}. If you did not expect this mail, ignore it: nothing changes until the link is used.\n",
            Mail::LINK,
            link.expires_at.iso()
        );
        let id = MailId::generate(&self.ctx.ids);
        let mail = Mail {
            link: Some(self.keyring.seal(&self.ctx.ids, id.as_str(), &made.url)?),
            id,
            org_id: link.org_id.clone(),
            recipient: link.email.clone(),
            subject: one_line(&subject),
            text,
            html: None,
            status: MailStatus::Queued,
            attempts: 0,
            last_error: None,
            created_at: self.ctx.now(),
        };
        let mailed = self.ctx.store.queue_mail(mail).await?;
        self.ctx.tasks.wake(Task::Mailer);
        Ok(NewLink { mailed, ..made })
    }

    #[expect(clippy::too_many_arguments, reason = "each is a field of the link")]
    pub(crate) async fn new_link(
        &self,
        kind: LinkKind,
        org: &OrgId,
        user: Option<&UserId>,
        email: &str,
        role: Option<Role>,
        maker: Option<&Caller>,
        for_ms: i64,
    ) -> Result<NewLink, EngineError> {
        let (ids, now) = (&self.ctx.ids, self.ctx.now());
        let token = ids.base62(KEY_CHARS);
        let link = Link {
            id: LinkId::generate(ids),
            token_hash: sha256_hex(token.as_bytes()),
            kind,
            org_id: org.clone(),
            user_id: user.cloned(),
            email: normal_address(email),
            role,
            made_by: maker.map(|maker| maker.user_id.clone()),
            created_at: now,
            expires_at: now.plus_ms(for_ms),
        };
        self.ctx.store.put_link(link.clone(), maker.map(|maker| &maker.org_id)).await?;
        let page = match kind {
            LinkKind::Invitation => "invite",
            LinkKind::Setup | LinkKind::Reset => "setup",
        };
        Ok(NewLink {
            link,
            url: format!("{}/{page}/{token}", self.ctx.config.base_url),
            mailed: false,
        })
    }

    /// What a link is for, and the organization. `Gone` where it was used, has ended or never was.
    pub async fn open_link(&self, token: &str) -> Result<(Link, Organization), EngineError> {
        let over = || {
            EngineError::Gone { message: "this link was used before, has expired, or is incomplete; ask for a new one (`millrace setup-link`)".into() }
        };
        if token.len() > 256 {
            return Err(over());
        }
        let link = self
            .ctx
            .store
            .link(&sha256_hex(token.as_bytes()))
            .await?
            .filter(|link| link.expires_at > self.ctx.now())
            .ok_or_else(over)?;
        let organization = self.ctx.store.organization(&link.org_id).await?.ok_or_else(over)?;
        Ok((link, organization))
    }
}
