//! Use of links that work once: sets a password or joins an organization, and signs in.

use millrace_model::ids::UserId;
use millrace_model::people::{Link, LinkKind, Login, Role, normal_address};
use millrace_model::tenant::User;
use millrace_store::{StoreError, UsedLink};

use crate::EngineError;
use crate::tenants::keys::key_name;
use crate::tenants::links::LinkAnswer;
use crate::tenants::people::{Client, People, SignedIn, check_email};

impl People {
    /// Uses a link: sets the password and signs in. An invitation of somebody who has a login
    /// already takes that password.
    pub async fn use_link(
        &self,
        token: &str,
        answer: LinkAnswer,
        client: &Client,
    ) -> Result<SignedIn, EngineError> {
        let (link, _) = self.open_link(token).await?;
        let is_operators = self.is_operators(&link).await?;
        if !is_operators {
            self.check_own_person(&link).await?;
        }
        let now = self.ctx.now();
        let given = answer.email.as_deref().map(normal_address).filter(|email| !email.is_empty());
        // A first visit may correct the address; others were sent to theirs.
        let email = match given {
            Some(given) if self.is_first_visit(&link).await? => given,
            _ => link.email.clone(),
        };
        check_email(&email)?;
        let known = self.ctx.store.login(&email).await?;
        let user = match &link.user_id {
            Some(id) => self.ctx.store.user(id).await?,
            None => match &known {
                Some(login) => self.ctx.store.user(&login.user_id).await?,
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
                    && let Some(provider) = &self.ctx.config.oidc
                {
                    let message = format!(
                        "`{email}` signs in with {}: do so, and the invitation is accepted",
                        provider.name
                    );
                    return Err(EngineError::invalid("password", message));
                }
                self.passwords.count(&email, client.asker.as_ref(), now)?;
                if !self.passwords.fits(&answer.password, login.password_hash.clone()).await? {
                    return Err(EngineError::invalid(
                        "password",
                        format!(
                            "`{email}` can sign in already; give the password that it has, or set another one first (`Forgot password`, or a link by the server's operator)"
                        ),
                    ));
                }
                self.passwords.was_right(&email, client.asker.as_ref());
                None
            }
            _ => Some(self.passwords.hash("password", &answer.password).await?),
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
                id: UserId::generate(&self.ctx.ids),
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
            ends_password: false,
            at: now,
        };
        if let Err(error) = self.ctx.store.use_link(used).await {
            return Err(self.unused(&link, is_operators, error).await?);
        }
        self.ctx.cache.forget_callers();
        self.begin_session(&user.id, Some(&link.org_id), None, client).await
    }

    async fn is_first_visit(&self, link: &Link) -> Result<bool, EngineError> {
        let Some(user) = link.user_id.as_ref().filter(|_| link.kind == LinkKind::Setup) else {
            return Ok(false);
        };
        Ok(self.ctx.store.login_of(user).await?.is_none())
    }

    /// Whether the server or an owner of the first organization made the link. Both may set the
    /// password of everybody here; a link of another owner counts within that organization alone.
    async fn is_operators(&self, link: &Link) -> Result<bool, EngineError> {
        let Some(maker) = &link.made_by else { return Ok(true) };
        let first = self.ctx.store.first_organization().await?;
        let memberships = self.ctx.store.memberships(maker).await?;
        Ok(memberships
            .iter()
            .any(|(org, role)| Some(&org.id) == first.as_ref() && *role == Role::Owner))
    }

    /// `Gone` where the link sets the password of a person who has joined another organization
    /// since: the password opens that one as well.
    async fn check_own_person(&self, link: &Link) -> Result<(), EngineError> {
        let Some(user) = &link.user_id else { return Ok(()) };
        let memberships = self.ctx.store.memberships(user).await?;
        if memberships.iter().all(|(org, _)| org.id == link.org_id) {
            return Ok(());
        }
        Err(EngineError::Gone {
            message: "this person joined another organization since the link was made; only an owner of the organization that was made first can make such a link"
                .into(),
        })
    }

    /// The error of a link that was not used. A link that is not the operator's is used up where it
    /// named the address of another person: one link asks for one address.
    async fn unused(
        &self,
        link: &Link,
        is_operators: bool,
        error: StoreError,
    ) -> Result<EngineError, EngineError> {
        Ok(match error {
            StoreError::NotFound => EngineError::Gone {
                message: "this link was used meanwhile; ask for a new one".into(),
            },
            StoreError::Taken("email") if is_operators => {
                EngineError::invalid("email", "another person signs in with this address")
            }
            StoreError::Taken("email") => {
                self.ctx.store.delete_link(&link.org_id, link.kind, &link.id).await?;
                EngineError::invalid(
                    "email",
                    "another person signs in with this address, and this link is used up; ask for a new one",
                )
            }
            other => other.into(),
        })
    }
}
