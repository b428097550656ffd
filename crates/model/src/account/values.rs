//! Values of an account's fields: check against the fields of its app, and change.

use serde_json::{Map, Value};

use crate::account::{AppDefinition, AuthType};

/// The most characters of a field's value: keys of services hold certificates.
pub const CREDENTIAL_BYTES_MAX: usize = 64 * 1024;
/// The most fields of an account.
pub const FIELDS_MAX: usize = 100;
/// Keys of `$auth` that OAuth gives. They are no fields that are filled in.
pub const TOKEN_FIELDS: [&str; 4] =
    ["oauth_access_token", "oauth_refresh_token", "oauth_client_id", "oauth_uid"];

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
    /// No token, of an app that its provider gives one for.
    #[error(
        "accounts of `{app}` are connected at their provider: `POST /v1/accounts/connect` or `millrace accounts add {app}` gives its page, once the app has an OAuth client (`PUT /v1/apps/{app}`); a token of your own goes into `credentials.oauth_access_token`"
    )]
    NoToken {
        /// The app's slug.
        app: String,
    },
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
    /// Checks the values of a new account, and fills in defaults. One of an OAuth app brings its
    /// token along.
    pub fn check_new(
        &self,
        slug: &str,
        given: &Map<String, Value>,
    ) -> Result<Map<String, Value>, CredentialError> {
        let token = given.get("oauth_access_token").and_then(Value::as_str);
        if self.auth_type == AuthType::Oauth && token.is_none_or(str::is_empty) {
            return Err(CredentialError::NoToken { app: slug.into() });
        }
        self.merge(slug, Map::new(), given)
    }

    /// The values of an account after those that are `given` took the place of the `stored` ones.
    /// Tokens of an OAuth app are no fields: those that a provider gave stay as they are.
    pub fn merge(
        &self,
        slug: &str,
        mut stored: Map<String, Value>,
        given: &Map<String, Value>,
    ) -> Result<Map<String, Value>, CredentialError> {
        stored.extend(given.clone());
        let fields = self.fields_among(&stored);
        stored.retain(|name, _| !fields.contains_key(name));
        for (name, value) in stored.iter().filter(|(name, _)| given.contains_key(*name)) {
            check_value(name, value)?;
        }
        stored.extend(self.check_fields(slug, &fields)?);
        Ok(stored)
    }

    fn is_token(&self, name: &str) -> bool {
        self.auth_type == AuthType::Oauth && TOKEN_FIELDS.contains(&name)
    }

    /// The values that are filled in, without those that a provider gave.
    pub fn fields_among(&self, values: &Map<String, Value>) -> Map<String, Value> {
        let fields = values.iter().filter(|(name, _)| !self.is_token(name));
        fields.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Checks the values that are filled in, and fills in defaults.
    pub fn check_fields(
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
            check_value(field, value)?;
            if self.is_token(field)
                || !self.open && self.custom_fields.iter().all(|f| &f.name != field)
            {
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

fn check_value(field: &str, value: &Value) -> Result<(), CredentialError> {
    let size = match value {
        Value::String(text) => text.len(),
        Value::Number(_) | Value::Bool(_) => 0,
        _ => usize::MAX,
    };
    if size > CREDENTIAL_BYTES_MAX || field.is_empty() || field.len() > 200 {
        return Err(CredentialError::Value { field: crate::shown(field) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::account::CustomField;

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
        app(open).check_new("acme", given.as_object().expect("an object")).map(Value::Object)
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
        assert!(matches!(bare.check_new("acme", &Map::new()), Err(CredentialError::Empty { .. })));
    }

    #[test]
    fn tokens_of_an_oauth_app_are_no_fields_and_stay_when_fields_change() {
        let mut oauth = app(false);
        oauth.auth_type = AuthType::Oauth;
        let of = |value: Value| value.as_object().expect("an object").clone();
        let refused = oauth.check_new("acme", &of(json!({ "api_key": "k" })));
        assert_eq!(refused, Err(CredentialError::NoToken { app: "acme".into() }));
        let given = of(json!({ "api_key": "k", "oauth_access_token": "t" }));
        let new = oauth.check_new("acme", &given).expect("a token of one's own");
        assert_eq!(
            json!(new),
            json!({ "api_key": "k", "region": "eu", "oauth_access_token": "t" })
        );
        // A provider's token may be longer than a field, and its id of the user an object.
        let stored = of(json!({
            "api_key": "k", "oauth_access_token": "t".repeat(CREDENTIAL_BYTES_MAX + 1),
            "oauth_uid": { "id": 1 },
        }));
        let merged = oauth.merge("acme", stored.clone(), &of(json!({ "api_key": "l" })));
        let mut expected = stored.clone();
        expected.extend(of(json!({ "api_key": "l", "region": "eu" })));
        assert_eq!(merged, Ok(expected));
        for given in [json!({ "oauth_uid": [] }), json!({ "api_key": "" }), json!({ "nope": 1 })] {
            assert!(oauth.merge("acme", stored.clone(), &of(given)).is_err());
        }
        // A connection brings fields alone.
        assert!(matches!(
            oauth.check_fields("acme", &given),
            Err(CredentialError::Unknown { field, .. }) if field == "oauth_access_token"
        ));
    }

    #[test]
    fn an_error_does_not_repeat_a_secret() {
        let long = "s3cret".repeat(20_000);
        let error = check(false, json!({ "api_key": long })).expect_err("too long");
        assert!(!error.to_string().contains("s3cret"));
    }
}
