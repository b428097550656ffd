//! People who sign in: logins, members, sessions, links that work once.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{LinkId, OrgId, SessionId, UserId};
use millrace_model::people::{Link, LinkKind, Login, Member, Role, Session};
use millrace_model::tenant::{Caller, Organization, User};

use crate::StoreResult;

/// Person as a provider of OpenID Connect knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The provider.
    pub issuer: String,
    /// The provider's id of the person, which it gives to nobody else.
    pub subject: String,
}

/// What a link does as it is used, or a provider that signs a person in.
#[derive(Clone, Debug)]
pub struct UsedLink {
    /// The link, which is gone afterwards; none: a provider signs the person in without one.
    pub link: Option<LinkId>,
    /// The person, who is stored or gets this name and address.
    pub user: User,
    /// How the person signs in from now on, where that changes. All sessions and other links of the
    /// person end.
    pub login: Option<Login>,
    /// The organization that the person joins; one who is a member already keeps the role. Links
    /// that set the person's password end: they were made where it opened less.
    pub joins: Option<(OrgId, Role)>,
    /// Who the person is at a provider, from now on.
    pub identity: Option<Identity>,
    /// Whether the person's password ends, with all sessions.
    pub ends_password: bool,
    /// When.
    pub at: Timestamp,
}

/// People, as far as the database knows them.
#[async_trait]
pub trait People: Send + Sync + 'static {
    /// Whether anybody can sign in.
    async fn has_logins(&self) -> StoreResult<bool>;
    /// The login with this address, which is in lower case.
    async fn login(&self, email: &str) -> StoreResult<Option<Login>>;
    /// A user's login.
    async fn login_of(&self, user: &UserId) -> StoreResult<Option<Login>>;
    /// Replaces a login whose password's hash is still `was`, and ends all sessions of its person
    /// but this one. `NotAllowed`, `Taken("email")`.
    async fn update_login(
        &self,
        was: Option<&str>,
        login: Login,
        keep: Option<&SessionId>,
    ) -> StoreResult<()>;

    /// An organization's members, the first to join first.
    async fn members(&self, org: &OrgId) -> StoreResult<Vec<Member>>;
    /// A user's organizations with the roles there, the first joined first.
    async fn memberships(&self, user: &UserId) -> StoreResult<Vec<(Organization, Role)>>;
    /// Gives a member another role, and ends the member's keys and OAuth clients there that allow
    /// more, and the links that only an owner may make. False, and nothing changed, where no owner
    /// who can sign in would be left. `NotFound`.
    async fn set_role(&self, org: &OrgId, user: &UserId, role: Role) -> StoreResult<bool>;
    /// Ends a membership, with the member's sessions, keys and OAuth clients there, and the links
    /// that the member made. False as with [`People::set_role`]. `NotFound`.
    async fn remove_member(&self, org: &OrgId, user: &UserId) -> StoreResult<bool>;

    /// What a person prefers in an organization, JSON text, and when it was written.
    async fn preferences(
        &self,
        user: &UserId,
        org: &OrgId,
    ) -> StoreResult<Option<(String, Timestamp)>>;
    /// Writes what a person prefers in an organization. `over`: only where that text is there, or
    /// nothing is; says whether it was written.
    async fn put_preferences(
        &self,
        user: &UserId,
        org: &OrgId,
        value: &str,
        over: Option<&str>,
        at: Timestamp,
    ) -> StoreResult<bool>;

    /// Stores a session, and ends the oldest of its person beyond `most`. `NotAllowed` where it
    /// was begun with a password whose hash, `shown`, is not that of the login any more.
    async fn create_session(
        &self,
        session: Session,
        most: u32,
        shown: Option<&str>,
    ) -> StoreResult<()>;
    /// Who asks by a session, with the role of now; and when it was last used. Sessions that have
    /// ended are found too.
    async fn caller_by_session_hash(
        &self,
        token_hash: &str,
    ) -> StoreResult<Option<(Caller, Timestamp)>>;
    /// A person's sessions, newest first.
    async fn sessions(&self, user: &UserId) -> StoreResult<Vec<Session>>;
    /// It was used.
    async fn use_session(&self, id: &SessionId, at: Timestamp) -> StoreResult<()>;
    /// Lets a session look at another organization of its person; says whether there is such a
    /// session and membership.
    async fn switch_session(&self, id: &SessionId, org: &OrgId) -> StoreResult<bool>;
    /// Ends a session of a person; says whether there was one.
    async fn end_session(&self, user: &UserId, id: &SessionId) -> StoreResult<bool>;

    /// Stores a link, in the place of those of its kind for the same organization and address.
    /// `NotAllowed` where its maker is no owner of `of` any more.
    async fn put_link(&self, link: Link, of: Option<&OrgId>) -> StoreResult<()>;
    /// A link, by SHA-256 of its token in hex. Links that have ended are found too.
    async fn link(&self, token_hash: &str) -> StoreResult<Option<Link>>;
    /// An organization's links of a kind, newest first.
    async fn links(&self, org: &OrgId, kind: LinkKind) -> StoreResult<Vec<Link>>;
    /// Removes an organization's link of a kind; says whether there was one.
    async fn delete_link(&self, org: &OrgId, kind: LinkKind, id: &LinkId) -> StoreResult<bool>;
    /// Open invitations of all organizations for an address, which is in lower case, at most a
    /// hundred. Those that have ended are found too.
    async fn invitations_for(&self, email: &str) -> StoreResult<Vec<Link>>;
    /// The user who is this person at a provider.
    async fn user_of_identity(&self, identity: &Identity) -> StoreResult<Option<UserId>>;
    /// The id that a provider has of a user.
    async fn subject_of(&self, issuer: &str, user: &UserId) -> StoreResult<Option<String>>;
    /// Uses a link. `NotFound` where it is gone, `Taken("email")`; then nothing changes.
    async fn use_link(&self, used: UsedLink) -> StoreResult<()>;
}
