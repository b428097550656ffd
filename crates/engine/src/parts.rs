//! Parts of the engine by name: `engine.keys().create(…)`.

use std::sync::Arc;

use crate::Engine;
use crate::accept::domains::Domains;
use crate::deliver::outbox::Outbox;
use crate::deliver::webhooks::Webhooks;
use crate::deploy::registries::Registries;
use crate::deploy::subscriptions::Subscriptions;
use crate::observe::error_groups::ErrorGroups;
use crate::observe::events::Events;
use crate::observe::exports::Exports;
use crate::observe::readiness::Readiness;
use crate::observe::retention::Retentions;
use crate::observe::runs::Runs;
use crate::run::data_stores::DataStores;
use crate::tenants::accounts::Accounts;
use crate::tenants::app_images::AppImages;
use crate::tenants::apps::Apps;
use crate::tenants::audit::Audit;
use crate::tenants::keyring::MasterKeyRotation;
use crate::tenants::keys::Keys;
use crate::tenants::members::Members;
use crate::tenants::oauth_clients::OauthClients;
use crate::tenants::oidc::Oidc;
use crate::tenants::organizations::Organizations;
use crate::tenants::people::People;
use crate::tenants::preferences::Preferences;

impl Engine {
    /// Accounts of apps that organizations connected.
    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.0.tenants.accounts
    }

    /// Images of apps.
    pub fn app_images(&self) -> &AppImages {
        &self.0.tenants.app_images
    }

    /// Apps that organizations registered, and the catalogue.
    pub fn apps(&self) -> &Apps {
        &self.0.tenants.apps
    }

    /// Records of who changed what.
    pub fn audit(&self) -> &Audit {
        &self.0.tenants.audit
    }

    /// API keys, and who asks by keys, tokens and sessions.
    pub fn keys(&self) -> &Arc<Keys> {
        &self.0.tenants.keys
    }

    /// The server's master key.
    pub fn master_key(&self) -> &MasterKeyRotation {
        &self.0.tenants.master_key
    }

    /// Members of organizations, and invitations.
    pub fn members(&self) -> &Members {
        &self.0.tenants.members
    }

    /// Programs that get short-lived tokens.
    pub fn oauth_clients(&self) -> &OauthClients {
        &self.0.tenants.oauth_clients
    }

    /// Sign-in by a provider of OpenID Connect.
    pub fn oidc(&self) -> &Oidc {
        &self.0.tenants.oidc
    }

    /// Organizations of the server.
    pub fn organizations(&self) -> &Organizations {
        &self.0.tenants.organizations
    }

    /// People: passwords, sessions, links.
    pub fn people(&self) -> &Arc<People> {
        &self.0.tenants.people
    }

    /// What the web application keeps for people.
    pub fn preferences(&self) -> &Preferences {
        &self.0.tenants.preferences
    }

    /// Groups of errors.
    pub fn error_groups(&self) -> &ErrorGroups {
        &self.0.error_groups
    }

    /// History of events.
    pub fn events(&self) -> &Events {
        &self.0.events
    }

    /// Exports of the history.
    pub fn exports(&self) -> &Exports {
        &self.0.exports
    }

    /// Mails that wait, were sent, or failed.
    pub fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }

    /// Whether events are accepted, and what stands against it.
    pub async fn readiness(&self) -> Readiness {
        Readiness::of(&self.0.ctx).await
    }

    /// How much history is kept.
    pub fn retention(&self) -> &Retentions {
        &self.0.retention
    }

    /// History of runs.
    pub fn runs(&self) -> &Runs {
        &self.0.runs
    }

    /// Subscriptions, and listeners of streams.
    pub fn subscriptions(&self) -> &Subscriptions {
        &self.0.subscriptions
    }

    /// Webhooks, and deliveries to them.
    pub fn webhooks(&self) -> &Webhooks {
        &self.0.webhooks
    }

    /// Data stores, and what they hold.
    pub fn data_stores(&self) -> &DataStores {
        &self.0.data_stores
    }

    /// Domains of endpoints.
    pub fn domains(&self) -> &Domains {
        &self.0.domains
    }

    /// Registries of components.
    pub fn registries(&self) -> &Registries {
        &self.0.registries
    }
}
