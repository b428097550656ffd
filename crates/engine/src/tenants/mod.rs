//! Tenants: organizations, their people, keys, connected accounts and audit records.

pub(crate) mod account_props;
pub(crate) mod accounts;
pub(crate) mod app_images;
pub(crate) mod apps;
pub(crate) mod audit;
mod catalogue;
pub(crate) mod key_watch;
pub(crate) mod keyring;
pub(crate) mod keys;
mod link_use;
pub(crate) mod links;
pub(crate) mod members;
pub(crate) mod oauth;
pub(crate) mod oauth_clients;
pub(crate) mod oidc;
pub(crate) mod organizations;
pub(crate) mod passwords;
pub(crate) mod people;
pub(crate) mod preferences;
pub(crate) mod request_secrets;
pub(crate) mod secrets;
#[cfg(test)]
mod tests;
pub(crate) mod token_answers;
pub(crate) mod token_refusal;
pub(crate) mod wrong_keys;

use std::sync::Arc;

use self::accounts::Accounts;
use self::app_images::AppImages;
use self::apps::Apps;
use self::audit::Audit;
use self::keyring::{MasterKeyRotation, MasterKeys};
use self::keys::Keys;
use self::members::Members;
use self::oauth_clients::OauthClients;
use self::oidc::Oidc;
use self::organizations::Organizations;
use self::people::People;
use self::preferences::Preferences;
use self::secrets::Keyring;
use crate::EngineError;
use crate::ctx::Ctx;
use crate::reach::Reach;

/// The parts of this folder, each with what it needs of the others.
pub(crate) struct Tenants {
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) app_images: AppImages,
    pub(crate) apps: Arc<Apps>,
    pub(crate) audit: Audit,
    pub(crate) keys: Arc<Keys>,
    pub(crate) master_key: MasterKeyRotation,
    pub(crate) members: Members,
    pub(crate) oauth_clients: OauthClients,
    pub(crate) oidc: Oidc,
    pub(crate) organizations: Arc<Organizations>,
    pub(crate) people: Arc<People>,
    pub(crate) preferences: Preferences,
}

impl Tenants {
    pub(crate) fn new(
        ctx: &Arc<Ctx>,
        keyring: &Arc<Keyring>,
        master_keys: Arc<dyn MasterKeys>,
    ) -> Result<Self, EngineError> {
        let (ctx, keyring) = (|| ctx.clone(), || keyring.clone());
        let providers = Arc::new(Reach::new(ctx().config.egress.clone(), oauth::common));
        let organizations = Arc::new(Organizations::new(ctx()));
        let apps = Arc::new(Apps::new(ctx(), keyring()));
        let keys = Arc::new(Keys::new(ctx(), keyring()));
        let people = Arc::new(People::new(ctx(), keyring()));
        Ok(Self {
            accounts: Arc::new(Accounts::new(ctx(), keyring(), apps.clone(), providers.clone())),
            app_images: AppImages::new(ctx(), apps.clone(), providers),
            audit: Audit::new(ctx()),
            master_key: MasterKeyRotation::new(
                ctx(),
                keyring(),
                master_keys,
                organizations.clone(),
            ),
            members: Members::new(ctx(), people.clone()),
            oauth_clients: OauthClients::new(ctx(), keys.clone()),
            oidc: Oidc::new(ctx(), keyring(), people.clone())?,
            preferences: Preferences::new(ctx()),
            apps,
            keys,
            organizations,
            people,
        })
    }
}
