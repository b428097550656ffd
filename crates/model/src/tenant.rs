//! Tenants and callers: organizations, users, API keys.

use crate::clock::Timestamp;
use crate::ids::{ApiKeyId, OauthClientId, OrgId, ProjectId, SessionId, UserId};

/// An organization (the API also says workspace).
#[derive(Clone, Debug)]
pub struct Organization {
    /// Its id, also the emitter of the organization's `$errors`.
    pub id: OrgId,
    /// Shown name.
    pub name: String,
    /// Unique name in lower case.
    pub orgname: String,
    /// The owner's address.
    pub email: String,
    /// Where error notices of workflows go that name no recipients of their own; none: to the
    /// owner.
    pub error_recipients: Vec<String>,
    /// The project that workflows are made in by default.
    pub project_id: ProjectId,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A user of one organization.
#[derive(Clone, Debug)]
pub struct User {
    /// Its id.
    pub id: UserId,
    /// The organization.
    pub org_id: OrgId,
    /// Unique name.
    pub username: String,
    /// E-mail address.
    pub email: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What a key may do. Wider ones hold narrower ones, see [`Scopes::allow`].
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(description = "What a key may do; wider ones hold narrower ones")]
pub enum Scope {
    /// Look at everything but credentials.
    Read,
    /// Let sources and workflows run, and runs be replayed.
    Invoke,
    /// Make, change and delete components, sources, workflows, subscriptions, webhooks and apps;
    /// also all of `read` and `invoke`: whoever may deploy code can let it run and look at what it
    /// sees.
    Deploy,
    /// Everything; also credentials, keys and organizations.
    Full,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Full, Self::Read, Self::Deploy, Self::Invoke];

    /// As stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Invoke => "invoke",
            Self::Deploy => "deploy",
            Self::Full => "full",
        }
    }

    /// Reads back [`Scope::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The scopes of a key: at least one, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// A key that may do everything.
    pub fn full() -> Self {
        Self(vec![Scope::Full])
    }

    /// One scope alone.
    pub fn one(scope: Scope) -> Self {
        Self(vec![scope])
    }

    /// These scopes in one order; `None` where there is none.
    pub fn of(mut scopes: Vec<Scope>) -> Option<Self> {
        scopes.sort_unstable();
        scopes.dedup();
        (!scopes.is_empty()).then_some(Self(scopes))
    }

    /// Words with commas or spaces between them, as stored. The word that is no scope is the error.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let words = text.split([',', ' ']).filter(|word| !word.is_empty());
        words
            .map(|word| Scope::parse(word).ok_or_else(|| word.to_owned()))
            .collect::<Result<Vec<_>, _>>()
            .map(Self::of)
    }

    /// Whether a route that needs `scope` may be used.
    pub fn allow(&self, scope: Scope) -> bool {
        self.0.iter().any(|own| match own {
            Scope::Full => true,
            Scope::Deploy => scope != Scope::Full,
            own => *own == scope,
        })
    }

    /// Whether these allow nothing that the others do not.
    pub fn are_within(&self, others: &Self) -> bool {
        self.iter().all(|scope| others.allow(scope))
    }

    /// The scopes in order.
    pub fn iter(&self) -> impl Iterator<Item = Scope> + '_ {
        self.0.iter().copied()
    }
}

impl std::fmt::Display for Scopes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.iter().map(Scope::as_str).collect::<Vec<_>>().join(","))
    }
}

/// An API key as stored: never the key, only its SHA-256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Its id.
    pub id: ApiKeyId,
    /// The organization it acts in.
    pub org_id: OrgId,
    /// The user it acts for.
    pub user_id: UserId,
    /// What the owner calls it.
    pub name: String,
    /// SHA-256 of the key in lower case hex.
    pub key_hash: String,
    /// What it may do.
    pub scopes: Scopes,
    /// Requests a minute; none: the server's setting.
    pub rate_per_minute: Option<u32>,
    /// When it ends; none: never.
    pub expires_at: Option<Timestamp>,
    /// The hash of the key before the last rotation and until when that one is still taken.
    pub old: Option<(String, Timestamp)>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl ApiKey {
    /// Who asks by this key, having shown the one with that hash.
    pub fn caller(self, key_hash: &str) -> Caller {
        let ends_at = match &self.old {
            Some((hash, until)) if hash == key_hash && self.key_hash != key_hash => {
                Some(self.expires_at.map_or(*until, |end| end.min(*until)))
            }
            _ => self.expires_at,
        };
        Caller {
            org_id: self.org_id,
            user_id: self.user_id,
            key_id: self.id,
            scopes: self.scopes,
            rate_per_minute: self.rate_per_minute,
            ends_at,
            session: None,
            external_user_id: None,
        }
    }
}

/// A program that gets short-lived tokens for its id and secret (`client_credentials`). As stored:
/// never the secret, only its SHA-256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OauthClient {
    /// Its id.
    pub id: OauthClientId,
    /// The organization that its tokens act in.
    pub org_id: OrgId,
    /// The user that they act for.
    pub user_id: UserId,
    /// What the owner calls it.
    pub name: String,
    /// SHA-256 of the secret in lower case hex.
    pub secret_hash: String,
    /// What its tokens may do at most.
    pub scopes: Scopes,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A token of an OAuth client, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OauthToken {
    /// SHA-256 of the token in lower case hex.
    pub token_hash: String,
    /// Whose it is.
    pub client_id: OauthClientId,
    /// What it may do.
    pub scopes: Scopes,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was given out.
    pub created_at: Timestamp,
}

impl OauthToken {
    /// Who asks by this token.
    pub fn caller(self, client: OauthClient) -> Caller {
        // Requests are counted by client: its tokens share a rate.
        let key_id = ApiKeyId::from_row(client.id.to_string());
        Caller {
            org_id: client.org_id,
            user_id: client.user_id,
            key_id,
            scopes: self.scopes,
            rate_per_minute: None,
            ends_at: Some(self.expires_at),
            session: None,
            external_user_id: None,
        }
    }
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The organization in which the caller acts.
    pub org_id: OrgId,
    /// The user.
    pub user_id: UserId,
    /// The key that was shown; the id of the OAuth client, where a token was, and of the session,
    /// where its cookie was.
    pub key_id: ApiKeyId,
    /// What the key may do.
    pub scopes: Scopes,
    /// Requests a minute; none: the server's setting.
    pub rate_per_minute: Option<u32>,
    /// From when on the key that was shown is not taken any more.
    pub ends_at: Option<Timestamp>,
    /// The session of a person who signed in; none: a program asks, by a key or token.
    pub session: Option<SessionId>,
    /// The external user for whom the request is made: accounts and sources of others are not there
    /// for it. None: the organization's own program, for which all are.
    pub external_user_id: Option<String>,
}

impl Caller {
    /// The caller, acting for an external user where one is named.
    #[must_use]
    pub fn acting_for(self, external_user_id: Option<String>) -> Self {
        Self { external_user_id, ..self }
    }

    /// Whether an account or source that carries `external_user_id` exists for this caller.
    pub fn may_use(&self, external_user_id: Option<&str>) -> bool {
        self.external_user_id.is_none() || self.external_user_id.as_deref() == external_user_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_scopes_hold_narrower_ones() {
        let allowed = |text: &str| {
            let scopes = Scopes::parse(text).ok().flatten();
            let mut names: Vec<_> = Scope::ALL
                .into_iter()
                .filter(|s| scopes.as_ref().is_some_and(|own| own.allow(*s)))
                .map(Scope::as_str)
                .collect();
            names.sort_unstable();
            names
        };
        assert_eq!(allowed("full"), ["deploy", "full", "invoke", "read"]);
        assert_eq!(allowed("deploy"), ["deploy", "invoke", "read"]);
        assert_eq!(allowed("read"), ["read"]);
        assert_eq!(allowed("invoke, read,invoke"), ["invoke", "read"]);
    }

    #[test]
    fn scopes_are_written_as_they_are_read() {
        let text = |text: &str| Scopes::parse(text).map(|scopes| scopes.map(|s| s.to_string()));
        assert_eq!(text("invoke read"), Ok(Some("read,invoke".into())));
        assert_eq!(text(" , "), Ok(None));
        assert_eq!(text("read,admin"), Err("admin".into()));
    }
}
