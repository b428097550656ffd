//! Organizations: the first one of a server, others, and what `users/me` shows.

use std::sync::Arc;

use millrace_model::ids::{ApiKeyId, OrgId, ProjectId, UserId};
use millrace_model::slug::slugify;
use millrace_model::tenant::{ApiKey, Caller, Organization, Scopes, User};
use millrace_store::NewTenant;
use serde::Deserialize;

use crate::EngineError;
use crate::checks::recipients;
use crate::ctx::Ctx;
use crate::tenants::keys::new_key_text;
use crate::tenants::people::check_email;
use crate::tenants::secrets::sha256_hex;

/// What `users/me` shows.
#[derive(Clone, Debug)]
pub struct Me {
    /// The user.
    pub user: User,
    /// The organizations it belongs to.
    pub organizations: Vec<Organization>,
}

/// An organization to be made.
#[derive(Clone, Debug, Deserialize)]
pub struct NewOrganization {
    /// Shown name.
    pub name: String,
    /// Its owner's address; error notices go there.
    pub email: String,
}

/// What may be changed of an organization; what is None stays.
#[derive(Clone, Debug, Default)]
pub struct UpdateOrganization {
    /// Shown name.
    pub name: Option<String>,
    /// Where mails about errors go, for workflows that name nobody; none: to the owner.
    pub error_recipients: Option<Vec<String>>,
}

/// What the first start makes.
#[derive(Clone, Debug)]
pub struct FirstTenant {
    /// The key, shown once.
    pub api_key: String,
    /// The organization.
    pub org_id: OrgId,
    /// The owner.
    pub user_id: UserId,
    /// The owner's address.
    pub email: String,
}

/// The organizations of the server.
pub struct Organizations {
    ctx: Arc<Ctx>,
}

impl Organizations {
    pub(crate) const fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx }
    }

    /// The first organization, owner and key, unless there is one already; the organization that
    /// was made first. `keep` puts the key where it is found again: nobody sees it a second time,
    /// so that it has to be there before the database knows it.
    pub async fn bootstrap<E: From<EngineError>>(
        &self,
        email: &str,
        keep: impl FnOnce(&FirstTenant) -> Result<(), E>,
    ) -> Result<Option<OrgId>, E> {
        if self.first().await?.is_none() {
            let (tenant, api_key) = self.new_tenant("Main", email);
            keep(&FirstTenant {
                api_key,
                org_id: tenant.organization.id.clone(),
                user_id: tenant.user.id.clone(),
                email: email.to_owned(),
            })?;
            // False where another server was first.
            self.ctx.store.bootstrap(tenant).await.map_err(EngineError::from)?;
        }
        Ok(self.first().await?)
    }

    async fn first(&self) -> Result<Option<OrgId>, EngineError> {
        Ok(self.ctx.store.first_organization().await?)
    }

    /// The caller's user and organizations.
    pub async fn me(&self, caller: &Caller) -> Result<Me, EngineError> {
        let user = self.ctx.store.user(&caller.user_id).await?.ok_or(EngineError::Unauthorized)?;
        let organization =
            self.ctx.store.organization(&caller.org_id).await?.ok_or(EngineError::Unauthorized)?;
        Ok(Me { user, organizations: vec![organization] })
    }

    /// The caller's organization, by id.
    pub async fn get(&self, caller: &Caller, id: &OrgId) -> Result<Organization, EngineError> {
        if *id != caller.org_id {
            return Err(EngineError::not_found("workspace", id));
        }
        self.ctx
            .store
            .organization(id)
            .await?
            .ok_or_else(|| EngineError::not_found("workspace", id))
    }

    /// Changes the caller's organization.
    pub async fn update(
        &self,
        caller: &Caller,
        id: &OrgId,
        update: UpdateOrganization,
    ) -> Result<Organization, EngineError> {
        let _turn = self.ctx.changes.turn(id.as_str()).await;
        let mut organization = self.get(caller, id).await?;
        if let Some(name) = &update.name {
            organization.name = checked_name(name)?;
        }
        if let Some(given) = &update.error_recipients {
            organization.error_recipients = recipients("error_recipients", given)?;
        }
        self.ctx.store.update_organization(organization.clone()).await?;
        Ok(organization)
    }

    /// Makes another organization with its own owner and key; the key is shown this once.
    pub async fn create(
        &self,
        _caller: &Caller,
        new: NewOrganization,
    ) -> Result<(Organization, String), EngineError> {
        let name = checked_name(&new.name)?;
        check_email(&new.email)?;
        let (tenant, key) = self.new_tenant(&name, &new.email);
        let organization = tenant.organization.clone();
        self.ctx.store.create_organization(tenant).await?;
        Ok((organization, key))
    }

    /// Lets the organization that was made first do what concerns the whole server; others are told
    /// why not.
    ///
    /// # Errors
    /// [`EngineError::Forbidden`] for the others.
    pub async fn check_first(&self, caller: &Caller, why: &'static str) -> Result<(), EngineError> {
        if self.first().await?.as_ref() == Some(&caller.org_id) {
            Ok(())
        } else {
            Err(EngineError::Forbidden(why))
        }
    }

    fn new_tenant(&self, name: &str, email: &str) -> (NewTenant, String) {
        let (ids, now) = (&self.ctx.ids, self.ctx.now());
        let key = new_key_text(ids);
        let org_id = OrgId::generate(ids);
        let user_id = UserId::generate(ids);
        let orgname = format!("{}-{}", slugify(name), ids.base62(6).to_lowercase());
        let username = email.split('@').next().unwrap_or("owner").to_owned();
        let tenant = NewTenant {
            organization: Organization {
                id: org_id.clone(),
                name: name.to_owned(),
                orgname,
                email: email.to_owned(),
                error_recipients: Vec::new(),
                project_id: ProjectId::generate(ids),
                created_at: now,
            },
            user: User {
                id: user_id.clone(),
                org_id: org_id.clone(),
                username,
                email: email.to_owned(),
                created_at: now,
            },
            key: ApiKey {
                id: ApiKeyId::generate(ids),
                org_id,
                user_id,
                name: "first key".into(),
                key_hash: sha256_hex(key.as_bytes()),
                scopes: Scopes::full(),
                rate_per_minute: None,
                expires_at: None,
                old: None,
                created_at: now,
            },
        };
        (tenant, key)
    }
}

fn checked_name(name: &str) -> Result<String, EngineError> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > 100 || name.chars().any(char::is_control) {
        return Err(EngineError::invalid(
            "name",
            "the name of an organization has 1 to 100 characters on one line",
        ));
    }
    Ok(name.to_owned())
}
