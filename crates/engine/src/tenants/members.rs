//! Members of an organization, and invitations to it.

use std::sync::Arc;

use millrace_model::ids::{LinkId, UserId};
use millrace_model::people::{Link, LinkKind, Member, Role, normal_address};
use millrace_model::tenant::Caller;
use millrace_store::StoreError;

use crate::EngineError;
use crate::ctx::Ctx;
use crate::tenants::links::NewLink;
use crate::tenants::people::{People, check_email};

/// How long an invitation may be accepted.
const INVITED_MS: i64 = 7 * 24 * 3600 * 1000;
/// Members and invitations of one organization.
pub(crate) const MEMBERS_MAX: usize = 1_000;

/// The members of all organizations.
pub struct Members {
    ctx: Arc<Ctx>,
    people: Arc<People>,
}

impl Members {
    pub(crate) const fn new(ctx: Arc<Ctx>, people: Arc<People>) -> Self {
        Self { ctx, people }
    }

    /// The members of the caller's organization, the first to join first.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<Member>, EngineError> {
        Ok(self.ctx.store.members(&caller.org_id).await?)
    }

    /// Gives a member another role, from the member's next request on. Keys, OAuth clients and
    /// links that the member made and that allow more end.
    pub async fn set_role(
        &self,
        caller: &Caller,
        user: &UserId,
        role: Role,
    ) -> Result<Member, EngineError> {
        let done = self
            .ctx
            .store
            .set_role(&caller.org_id, user, role)
            .await
            .map_err(|error| no_member(error, user))?;
        self.ctx.cache.forget_callers();
        if !done {
            return Err(last_owner());
        }
        let members = self.list(caller).await?;
        members
            .into_iter()
            .find(|member| member.user.id == *user)
            .ok_or_else(|| EngineError::not_found("member", user))
    }

    /// Ends a membership, with the member's sessions, keys and OAuth clients in the organization,
    /// and the links that the member made.
    pub async fn remove(&self, caller: &Caller, user: &UserId) -> Result<(), EngineError> {
        let done = self
            .ctx
            .store
            .remove_member(&caller.org_id, user)
            .await
            .map_err(|error| no_member(error, user))?;
        self.ctx.cache.forget_callers();
        if done { Ok(()) } else { Err(last_owner()) }
    }

    /// Invites somebody by a link, which works once and is mailed where there is a mail server, in
    /// the place of an earlier one for the same address.
    pub async fn invite(
        &self,
        caller: &Caller,
        email: &str,
        role: Role,
    ) -> Result<NewLink, EngineError> {
        let email = normal_address(email);
        check_email(&email)?;
        let members = self.list(caller).await?;
        if members
            .iter()
            .any(|member| member.signs_in && normal_address(&member.user.email) == email)
        {
            return Err(EngineError::Taken {
                code: "member_already",
                field: "email",
                message: format!("`{email}` is a member already; change the role instead"),
            });
        }
        if members.len() + self.invitations(caller).await?.len() >= MEMBERS_MAX {
            let message = format!(
                "the organization has {MEMBERS_MAX} members and invitations, the most it may have; remove some first"
            );
            return Err(EngineError::Conflict { code: "too_many_members", message });
        }
        let made = self
            .people
            .new_link(
                LinkKind::Invitation,
                &caller.org_id,
                None,
                &email,
                Some(role),
                Some(caller),
                INVITED_MS,
            )
            .await?;
        self.people.mailed(made).await
    }

    /// Invitations that may be accepted still, newest first.
    pub async fn invitations(&self, caller: &Caller) -> Result<Vec<Link>, EngineError> {
        let now = self.ctx.now();
        let mut links = self.ctx.store.links(&caller.org_id, LinkKind::Invitation).await?;
        links.retain(|link| link.expires_at > now);
        Ok(links)
    }

    /// Withdraws an invitation.
    pub async fn withdraw_invitation(
        &self,
        caller: &Caller,
        id: &LinkId,
    ) -> Result<(), EngineError> {
        if self.ctx.store.delete_link(&caller.org_id, LinkKind::Invitation, id).await? {
            Ok(())
        } else {
            Err(EngineError::not_found("invitation", id))
        }
    }
}

fn no_member(error: StoreError, user: &UserId) -> EngineError {
    match error {
        StoreError::NotFound => EngineError::not_found("member", user),
        other => other.into(),
    }
}

fn last_owner() -> EngineError {
    EngineError::Conflict {
        code: "last_owner",
        message: "this is the last owner who can sign in; make somebody else an owner first".into(),
    }
}
