//! Apps and connected accounts (spec 2.7.5; reference 2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::Timestamp;
use crate::ids::{AccountId, AppId, ConnectionId, OrgId};

/// The most characters of a field's value: keys of services hold certificates.
pub const CREDENTIAL_BYTES_MAX: usize = 64 * 1024;
/// The most fields of an account.
pub const FIELDS_MAX: usize = 100;

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

/// Values that an account does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// No value where one is needed.
    #[error("`{field}` of an account of {app} is missing; it has {known}")]
    Missing {
        /// The field.
        field: String,
        /// The app's slug.
        app: String,
        /// The fields there are.
        known: String,
    },
    /// Not a field of the app.
    #[error("the app has no field `{field}`")]
    Unknown {
        /// The field.
        field: String,
        /// The fields there are.
        known: Vec<String>,
    },
    /// Not text, number or boolean, or too long. The value is not repeated: it is secret.
    #[error("`{field}` is not a text, number or boolean of at most {CREDENTIAL_BYTES_MAX} bytes")]
    Value {
        /// The field.
        field: String,
    },
    /// Too many.
    #[error("an account has at most {FIELDS_MAX} fields")]
    TooMany,
    /// Nothing at all.
    #[error("an account of {app} needs a value of at least one field; it has {known}")]
    Empty {
        /// The app's slug.
        app: String,
        /// The fields there are.
        known: String,
    },
}

impl AppDefinition {
    /// Checks the values of an account and fills in defaults.
    pub fn check(
        &self,
        slug: &str,
        given: &Map<String, Value>,
    ) -> Result<Map<String, Value>, CredentialError> {
        let known = || match self.custom_fields.as_slice() {
            [] => "no fields of its own".to_owned(),
            fields => fields.iter().map(|f| format!("`{}`", f.name)).collect::<Vec<_>>().join(", "),
        };
        if given.len() > FIELDS_MAX {
            return Err(CredentialError::TooMany);
        }
        for (field, value) in given {
            let size = match value {
                Value::String(text) => text.len(),
                Value::Number(_) | Value::Bool(_) => 0,
                _ => usize::MAX,
            };
            if size > CREDENTIAL_BYTES_MAX || field.is_empty() || field.len() > 200 {
                return Err(CredentialError::Value { field: crate::shown(field) });
            }
            if !self.open && self.custom_fields.iter().all(|f| &f.name != field) {
                return Err(CredentialError::Unknown {
                    field: crate::shown(field),
                    known: self.custom_fields.iter().map(|f| f.name.clone()).collect(),
                });
            }
        }
        let mut kept = given.clone();
        for field in &self.custom_fields {
            let is_empty = kept.get(&field.name).is_none_or(|v| v.as_str() == Some(""));
            match (&field.default, field.optional || self.open) {
                (Some(default), _) if is_empty => {
                    kept.insert(field.name.clone(), default.clone().into());
                }
                (None, false) if is_empty => {
                    return Err(CredentialError::Missing {
                        field: field.name.clone(),
                        app: slug.into(),
                        known: known(),
                    });
                }
                _ => {}
            }
        }
        if kept.is_empty() && self.auth_type == AuthType::Keys {
            return Err(CredentialError::Empty { app: slug.into(), known: known() });
        }
        Ok(kept)
    }

    /// What an account is likely to be without or to have in vain, where the fields were read from
    /// code, which may not name all: a mistyped name is found before a run fails for it.
    pub fn doubts(&self, slug: &str, given: &Map<String, Value>) -> Vec<String> {
        if !self.open || self.custom_fields.is_empty() {
            return Vec::new();
        }
        let known = self
            .custom_fields
            .iter()
            .map(|f| format!("`{}`", f.name))
            .collect::<Vec<_>>()
            .join(", ");
        let is_known = |field: &str| {
            self.custom_fields.iter().any(|f| f.name == field)
                || (self.auth_type == AuthType::Oauth && field.starts_with("oauth_"))
        };
        let has_value =
            |field: &str| given.get(field).is_some_and(|value| value.as_str() != Some(""));
        let strange = given.keys().filter(|field| !is_known(field)).map(|field| {
            let field = crate::shown(field);
            format!("`{field}` is kept, but no code of {slug} that is known here reads it; what it reads: {known}")
        });
        let nothing = given.keys().all(|field| !is_known(field) || !has_value(field));
        let nothing = nothing.then(|| {
            format!("the account has no value that code of {slug} is known to read: {known}")
        });
        strange.chain(nothing).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn app(open: bool) -> AppDefinition {
        let field = |name: &str, optional, default: Option<&str>| CustomField {
            name: name.into(),
            optional,
            default: default.map(Into::into),
            ..CustomField::default()
        };
        AppDefinition {
            name: "Acme".into(),
            auth_type: AuthType::Keys,
            description: None,
            img_src: None,
            custom_fields: vec![
                field("api_key", false, None),
                field("region", false, Some("eu")),
                field("cert", true, None),
            ],
            categories: Vec::new(),
            oauth: None,
            open,
        }
    }

    fn check(open: bool, given: Value) -> Result<Value, CredentialError> {
        app(open).check("acme", given.as_object().expect("an object")).map(Value::Object)
    }

    #[test]
    fn fields_that_were_read_from_code_are_doubted_and_not_refused() {
        let doubts =
            |open, given: Value| app(open).doubts("acme", given.as_object().expect("an object"));
        assert_eq!(doubts(true, json!({ "api_key": "k", "region": "" })), Vec::<String>::new());
        assert_eq!(doubts(false, json!({ "nope": 1 })), Vec::<String>::new());
        let mistyped = doubts(true, json!({ "api_kye": "k", "cert": "c" }));
        assert_eq!(
            mistyped,
            [
                "`api_kye` is kept, but no code of acme that is known here reads it; what it reads: `api_key`, `region`, `cert`"
            ]
        );
        assert_eq!(
            doubts(true, json!({ "api_key": "" })),
            [
                "the account has no value that code of acme is known to read: `api_key`, `region`, `cert`"
            ]
        );
        assert_eq!(doubts(true, json!({ "nope": 1 })).len(), 2);
    }

    #[test]
    fn fields_are_those_of_the_app() {
        assert_eq!(
            check(false, json!({ "api_key": "k" })),
            Ok(json!({ "api_key": "k", "region": "eu" }))
        );
        assert!(
            matches!(check(false, json!({})), Err(CredentialError::Missing { field, .. }) if field == "api_key")
        );
        assert!(matches!(
            check(false, json!({ "api_key": "" })),
            Err(CredentialError::Missing { .. })
        ));
        assert!(
            matches!(check(false, json!({ "api_key": "k", "oops": 1 })), Err(CredentialError::Unknown { field, .. }) if field == "oops")
        );
        assert!(matches!(
            check(false, json!({ "api_key": { "a": 1 } })),
            Err(CredentialError::Value { .. })
        ));
    }

    #[test]
    fn fields_that_were_read_from_code_are_a_hint() {
        assert_eq!(
            check(true, json!({ "token": "t" })),
            Ok(json!({ "token": "t", "region": "eu" }))
        );
        let mut bare = app(true);
        bare.custom_fields.clear();
        assert!(matches!(bare.check("acme", &Map::new()), Err(CredentialError::Empty { .. })));
    }

    #[test]
    fn an_error_does_not_repeat_a_secret() {
        let long = "s3cret".repeat(20_000);
        let error = check(false, json!({ "api_key": long })).expect_err("too long");
        assert!(!error.to_string().contains("s3cret"));
    }
}
