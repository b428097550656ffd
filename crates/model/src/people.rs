//! People: logins, roles in organizations, sessions, and links that work once.

use unicode_normalization::UnicodeNormalization as _;

use crate::clock::Timestamp;
use crate::ids::{ApiKeyId, LinkId, OrgId, SessionId, UserId};
use crate::tenant::{Caller, Scope, Scopes, User};

/// What a member may do in an organization.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything, members and keys too.
    Owner,
    /// Deploy and run.
    Member,
    /// Look.
    Viewer,
}

impl Role {
    /// All of them, the widest first.
    pub const ALL: [Self; 3] = [Self::Owner, Self::Member, Self::Viewer];

    /// As stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Member => "member",
            Self::Viewer => "viewer",
        }
    }

    /// Reads back [`Role::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }

    /// The scope that the role stands for.
    pub const fn scope(self) -> Scope {
        match self {
            Self::Owner => Scope::Full,
            Self::Member => Scope::Deploy,
            Self::Viewer => Scope::Read,
        }
    }

    /// The same as the scopes of a caller.
    pub fn scopes(self) -> Scopes {
        Scopes::one(self.scope())
    }

    /// The widest role whose scope a key has; none for a key that may only let things run.
    pub fn of(scopes: &Scopes) -> Option<Self> {
        Self::ALL.into_iter().find(|role| scopes.allow(role.scope()))
    }
}

/// An address of e-mail as it is stored and compared: letters of both cases are the same, and so
/// are those that are written as one character or as two (NFC).
pub fn normal_address(text: &str) -> String {
    text.trim().to_lowercase().nfc().collect()
}

/// How a person signs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The person.
    pub user_id: UserId,
    /// The address, as [`normal_address`] gives it; one login has it.
    pub email: String,
    /// A PHC string of argon2id; none: only another provider signs this person in.
    pub password_hash: Option<String>,
    /// When the password or address was last changed.
    pub changed_at: Timestamp,
}

/// Somebody who belongs to an organization.
#[derive(Clone, Debug)]
pub struct Member {
    /// The person.
    pub user: User,
    /// What the person may do.
    pub role: Role,
    /// Whether the person has a login.
    pub signs_in: bool,
    /// Since when.
    pub created_at: Timestamp,
}

/// A person's session in a browser. As stored: never the token, only its SHA-256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// SHA-256 of the token in lower case hex.
    pub token_hash: String,
    /// The person.
    pub user_id: UserId,
    /// The organization that is looked at.
    pub org_id: OrgId,
    /// The address of the client that signed in.
    pub address: String,
    /// What that client called itself.
    pub user_agent: String,
    /// When the person signed in.
    pub created_at: Timestamp,
    /// When it was last used, within minutes.
    pub used_at: Timestamp,
    /// When it ends, however much it is used.
    pub expires_at: Timestamp,
}

impl Session {
    /// How long a session goes on that is not used.
    pub const IDLE_MS: i64 = 14 * 24 * 3600 * 1000;

    /// From when on it is not taken any more, unless it is used before.
    pub fn ends_at(&self) -> Timestamp {
        self.expires_at.min(self.used_at.plus_ms(Self::IDLE_MS))
    }

    /// Who asks by this session, with this role in its organization.
    pub fn caller(self, role: Role) -> Caller {
        let ends_at = Some(self.ends_at());
        let key_id = ApiKeyId::from_row(self.id.to_string());
        let (scopes, session) = (role.scopes(), Some(self.id));
        Caller {
            org_id: self.org_id,
            user_id: self.user_id,
            key_id,
            scopes,
            rate_per_minute: None,
            ends_at,
            session,
            external_user_id: None,
        }
    }
}

/// What a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinkKind {
    /// A user who has no login yet makes one.
    Setup,
    /// Somebody joins an organization.
    Invitation,
    /// A person sets another password.
    Reset,
}

impl LinkKind {
    /// As stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Invitation => "invitation",
            Self::Reset => "reset",
        }
    }

    /// Reads back [`LinkKind::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Setup, Self::Invitation, Self::Reset].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// A link that works once. As stored: never the token, only its SHA-256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its id.
    pub id: LinkId,
    /// SHA-256 of the token in lower case hex.
    pub token_hash: String,
    /// What it is for.
    pub kind: LinkKind,
    /// The organization.
    pub org_id: OrgId,
    /// For whom; none: for somebody who has the address.
    pub user_id: Option<UserId>,
    /// The address it is for, as [`normal_address`] gives it.
    pub email: String,
    /// The role that an invitation gives.
    pub role: Option<Role>,
    /// Who made it; none: the server.
    pub made_by: Option<UserId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_same_however_its_letters_are_written() {
        for text in ["É@x.de", " e\u{301}@X.de", "\u{e9}@x.de", "E\u{301}@x.de\n"] {
            assert_eq!(normal_address(text), "\u{e9}@x.de", "{text}");
        }
    }

    #[test]
    fn a_role_is_a_scope_and_the_widest_that_a_key_has() {
        for role in Role::ALL {
            assert_eq!(
                (Role::parse(role.as_str()), Role::of(&role.scopes())),
                (Some(role), Some(role))
            );
        }
        assert_eq!(Role::of(&Scopes::one(Scope::Invoke)), None);
    }
}
