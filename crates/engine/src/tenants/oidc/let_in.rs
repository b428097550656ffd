//! People of a provider: the person of this server that one is, and what that person joins.

use millrace_model::Timestamp;
use millrace_model::ids::{OrgId, UserId};
use millrace_model::people::{Link, Login, Role, normal_address};
use millrace_model::tenant::User;
use millrace_store::{Identity, StoreError, UsedLink};

use super::Oidc;
use super::provider::Provider;
use crate::EngineError;
use crate::tenants::keys::key_name;
use crate::tenants::members::MEMBERS_MAX;

/// Changes to how a person signs in, stored with the first organization that is joined.
struct SignIn {
    /// The person's first login.
    login: Option<Login>,
    /// Who the person is at the provider, where that was not known.
    identity: Option<Identity>,
    ends_password: bool,
    at: Timestamp,
}

impl Oidc {
    /// Which person somebody is, by the provider's id or by the address; who is invited joins.
    /// Gives the organization that was joined last.
    pub(super) async fn let_in(
        &self,
        provider: &Provider,
        identity: Identity,
        email: &str,
        name: Option<&str>,
    ) -> Result<(UserId, Option<OrgId>), EngineError> {
        let (store, now) = (&self.ctx.store, self.ctx.now());
        let by_identity = store.user_of_identity(&identity).await?;
        let known = match &by_identity {
            Some(user) => Some(user.clone()),
            None => self.holder_of_address(provider, &identity, email).await?,
        };
        let mut invitations: Vec<Link> = store.invitations_for(email).await?;
        invitations.retain(|link| link.expires_at > now && link.role.is_some());
        let first = store.first_organization().await?.ok_or(EngineError::Unauthorized)?;
        let found = match &known {
            Some(user) => store.user(user).await?,
            None => self.unvisited(&first, email).await?,
        };
        let newcomer = match &found {
            Some(_) => None,
            None => self.newcomer_role(provider, &first, &invitations, email).await?,
        };
        let user = found.unwrap_or_else(|| {
            let invited = invitations.first().filter(|_| newcomer.is_none());
            self.new_user(invited.map_or(&first, |link| &link.org_id), email, name)
        });
        let login = match &known {
            Some(user) => store.login_of(user).await?,
            None => None,
        };
        // Also where none was read: a link may set one before this is written.
        let joins_more = by_identity.is_none() || !invitations.is_empty();
        let ends_password = joins_more && !self.is_member(&user.id, &first).await?;
        let had_password = login.as_ref().is_some_and(|login| login.password_hash.is_some());
        let sign_in = SignIn {
            login: login.is_none().then(|| Login {
                user_id: user.id.clone(),
                email: email.to_owned(),
                password_hash: None,
                changed_at: now,
            }),
            identity: by_identity.is_none().then_some(identity),
            ends_password,
            at: now,
        };
        let joined = self.join(&user, invitations, newcomer.map(|role| (first, role)), sign_in);
        let joined = joined.await?;
        if ends_password && had_password {
            tracing::warn!(
                user_id = %user.id,
                "a person signed in by the provider whose password another organization's link may have set; the password, its sessions and links ended"
            );
        }
        Ok((user.id, joined))
    }

    /// The person who signs in with the address. Refused where the provider knows that person as
    /// somebody else.
    async fn holder_of_address(
        &self,
        provider: &Provider,
        identity: &Identity,
        email: &str,
    ) -> Result<Option<UserId>, EngineError> {
        let Some(login) = self.ctx.store.login(email).await? else { return Ok(None) };
        // An address that the provider gave to somebody else does not give its former holder's
        // place away.
        if self.ctx.store.subject_of(&identity.issuer, &login.user_id).await?.is_some() {
            let message = format!(
                "`{email}` belongs to another user of {} here; an owner removes that member before the address is used by another",
                provider.config.name
            );
            return Err(EngineError::SignInRefused { code: "email_of_another", message });
        }
        Ok(Some(login.user_id))
    }

    /// The role in which somebody who is not known here joins the first organization without an
    /// invitation of it; none: as an invitation of another one has it. Refused where there is no
    /// such invitation either.
    async fn newcomer_role(
        &self,
        provider: &Provider,
        first: &OrgId,
        invitations: &[Link],
        email: &str,
    ) -> Result<Option<Role>, EngineError> {
        // An invitation of another organization decides nothing about the first one.
        let is_newcomer = invitations.iter().all(|link| link.org_id != *first);
        let role = provider.config.role.filter(|_| is_newcomer);
        if role.is_none() && invitations.is_empty() {
            let message = format!(
                "`{email}` is not invited; ask an owner of an organization here for an invitation"
            );
            return Err(EngineError::SignInRefused { code: "not_invited", message });
        }
        if role.is_none() || self.ctx.store.members(first).await?.len() < MEMBERS_MAX {
            return Ok(role);
        }
        if invitations.is_empty() {
            let message = format!(
                "the organization has {MEMBERS_MAX} members, the most it may have; an owner removes some first"
            );
            return Err(EngineError::Conflict { code: "too_many_members", message });
        }
        Ok(None)
    }

    fn new_user(&self, org: &OrgId, email: &str, name: Option<&str>) -> User {
        User {
            id: UserId::generate(&self.ctx.ids),
            org_id: org.clone(),
            username: name
                .and_then(|name| key_name(name).ok())
                .unwrap_or_else(|| email.split('@').next().unwrap_or("member").to_owned()),
            email: email.to_owned(),
            created_at: self.ctx.now(),
        }
    }

    /// Stores how the person signs in, and each organization that the person joins: `newcomer`
    /// without an invitation. Gives the one that was joined last.
    async fn join(
        &self,
        user: &User,
        invitations: Vec<Link>,
        newcomer: Option<(OrgId, Role)>,
        mut sign_in: SignIn,
    ) -> Result<Option<OrgId>, EngineError> {
        let joins = |link: Link| (Some(link.id), link.role.map(|role| (link.org_id, role)));
        let mut steps: Vec<_> = invitations.into_iter().map(joins).collect();
        let is_unwritten =
            steps.is_empty() && (sign_in.login.is_some() || sign_in.identity.is_some());
        if newcomer.is_some() || is_unwritten {
            steps.insert(0, (None, newcomer));
        }
        let mut joined = None;
        for (link, joins) in steps {
            joined = joins.as_ref().map(|(org, _)| org.clone()).or(joined);
            let used = UsedLink {
                link,
                user: user.clone(),
                login: sign_in.login.take(),
                joins,
                identity: sign_in.identity.take(),
                ends_password: sign_in.ends_password,
                at: sign_in.at,
            };
            self.ctx.store.use_link(used).await.map_err(|error| match error {
                StoreError::NotFound => EngineError::Gone {
                    message: "the invitation was used or withdrawn meanwhile; sign in again".into(),
                },
                other => other.into(),
            })?;
            self.ctx.cache.forget_callers();
        }
        Ok(joined)
    }

    /// Members of the first organization have the password that they or the operator set: of
    /// others an owner elsewhere may have set it, by a link that this owner can open.
    async fn is_member(&self, user: &UserId, org: &OrgId) -> Result<bool, EngineError> {
        let memberships = self.ctx.store.memberships(user).await?;
        Ok(memberships.iter().any(|(organization, _)| organization.id == *org))
    }

    /// A member of the first organization who has the address and never signed in: the owner whom
    /// the operator named.
    async fn unvisited(&self, first: &OrgId, email: &str) -> Result<Option<User>, EngineError> {
        let members = self.ctx.store.members(first).await?;
        Ok(members
            .into_iter()
            .find(|member| !member.signs_in && normal_address(&member.user.email) == email)
            .map(|member| member.user))
    }
}
