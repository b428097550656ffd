//! Apps and connected accounts (spec 2.7.5; reference 2).

mod values;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::values::{CREDENTIAL_BYTES_MAX, CredentialError, FIELDS_MAX, TOKEN_FIELDS};
use crate::clock::Timestamp;
use crate::ids::{AccountId, AppId, ConnectionId, OrgId};

/// How an account of an app is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthType {
    /// OAuth 2, by the operator's own client.
    Oauth,
    /// Fields that the user fills in.
    Keys,
    /// Nothing to connect.
    None,
}

/// A field that a user fills in to connect an account; it becomes a key of `$auth`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct CustomField {
    /// The key of `$auth`.
    pub name: String,
    /// Shown name.
    pub label: Option<String>,
    /// Shown text.
    pub description: Option<String>,
    /// The value when none is given.
    pub default: Option<String>,
    /// Whether it may be missing.
    pub optional: bool,
    /// `password` is not shown as it is typed.
    #[serde(rename = "type")]
    pub field_type: Option<String>,
}

/// An OAuth 2 client that the operator registered at a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename = "AppOauthRequest")]
pub struct OauthClient {
    /// Where users log in.
    pub authorize_url: String,
    /// Where codes become tokens.
    pub token_url: String,
    /// Where tokens are taken back.
    pub revoke_url: Option<String>,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// More parameters of the login page.
    pub authorize_params: BTreeMap<String, String>,
    /// The client.
    pub client_id: String,
    /// Its secret; sealed where it is stored.
    pub client_secret: String,
    /// The secret goes into the body of requests, and not into their `Authorization` header.
    pub secret_in_body: bool,
    /// Where the answer with the tokens tells the user's id at the provider, such as
    /// `authed_user.id`; none: `sub` of its `id_token`.
    pub uid_field: Option<String>,
}

/// An app: a service that components connect to.
#[derive(Clone, Debug, PartialEq)]
pub struct App {
    /// Its id.
    pub id: AppId,
    /// The organization that registered it; none: the catalogue that ships with Millrace.
    pub org_id: Option<OrgId>,
    /// By which components name it.
    pub name_slug: String,
    /// What it is.
    pub definition: AppDefinition,
    /// When it was registered; 0 for the catalogue.
    pub created_at: Timestamp,
    /// When it was last changed; 0 for the catalogue.
    pub updated_at: Timestamp,
}

/// What an app is, beside its slug.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppDefinition {
    /// Shown name.
    pub name: String,
    /// How an account is connected.
    pub auth_type: AuthType,
    /// Shown text.
    #[serde(default)]
    pub description: Option<String>,
    /// Address of a picture.
    #[serde(default)]
    pub img_src: Option<String>,
    /// Fields to fill in.
    #[serde(default)]
    pub custom_fields: Vec<CustomField>,
    /// Shown groups.
    #[serde(default)]
    pub categories: Vec<String>,
    /// The operator's own client at the provider, of an OAuth app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OauthClient>,
    /// Whether other fields than those are taken too: where the fields were read from code, which
    /// may not name all.
    #[serde(default)]
    pub open: bool,
}

/// How far a connection at a provider is. Stored as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionState {
    /// Its page was given out; nobody has come back from the provider.
    Waiting,
    /// Somebody came back with a code, which is being exchanged for a token. Each connection is
    /// answered once.
    Answered,
    /// The account is there.
    Connected(AccountId),
    /// There is no account, for a reason that its user may read.
    Failed(String),
}

/// A connection of an account at its provider, begun by somebody who then goes to the provider's
/// page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its id.
    pub id: ConnectionId,
    /// The organization.
    pub org_id: OrgId,
    /// The app's slug.
    pub app: String,
    /// The external user for whom it was begun.
    pub external_user_id: Option<String>,
    /// How far it is.
    pub state: ConnectionState,
    /// When it was begun.
    pub created_at: Timestamp,
    /// Until when an answer of the provider is taken.
    pub expires_at: Timestamp,
}

/// A connected account ("auth provision").
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// The organization.
    pub org_id: OrgId,
    /// The app's slug.
    pub app: String,
    /// Shown name.
    pub name: String,
    /// The external user whose it is; none: the organization's own.
    pub external_user_id: Option<String>,
    /// The values of `$auth`, sealed.
    pub credentials: String,
    /// Whether it worked when last used.
    pub healthy: bool,
    /// Why it does not work.
    pub problem: Option<String>,
    /// When its access token ends.
    pub expires_at: Option<Timestamp>,
    /// Counts up with each change; a change is refused where another came first.
    pub version: i64,
    /// When it was connected.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}
