//! `/members`, `/invitations`: people of an organization, and invitations to it.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{EngineError, NewLink};
use millrace_model::ids::{LinkId, UserId};
use millrace_model::people::{Link, Member, Role};

use crate::App;
use crate::contract::routes::{Gives, Route, delete, get, post, put};
use crate::contract::shape::{of, record};
use crate::contract::table::{FULL, READ};
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, encode_cursor, id};
use crate::fields::Fields;
use crate::input::{Input, input};
use crate::v1::names;
use crate::written_back::WrittenBack;

record! {
    /// Who belongs to an organization. `signs_in`: whether there is a login
    MemberOut<'a>(m: &'a Member) {
        id: &'a UserId = &m.user.id,
        name: &'a str = &m.user.username,
        email: &'a str = &m.user.email,
        role: Role = m.role,
        signs_in: bool = m.signs_in,
        created_at: i64 = m.created_at.secs(),
    }
}

record! {
    /// An invitation
    InvitationOut<'a>(l: &'a Link) {
        id: &'a LinkId = &l.id,
        email: &'a str = &l.email,
        #[schemars(with = "Role")]
        role: Option<Role> = l.role,
        invited_by: Option<&'a UserId> = l.made_by.as_ref(),
        created_at: i64 = l.created_at.secs(),
        expires_at: i64 = l.expires_at.secs(),
    }
}

record! {
    /// An invitation with its link, shown this once
    NewInvitationOut<'a>(made: &'a NewLink) {
        #[serde(flatten)]
        record: InvitationOut<'a> = InvitationOut::new(&made.link),
        url: &'a str = &made.url,
        mailed: bool = made.mailed,
    }
}

input! {
    /// What changes of a membership.
    RoleIn {
        /// `owner` (`full`), `member` (`deploy`) or `viewer` (`read`)
        role: Role,
    }
}

input! {
    /// Who is invited.
    InvitationIn {
        /// Address of the invited person
        email: String,
        /// `owner` (`full`), `member` (`deploy`) or `viewer` (`read`)
        role: Role,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get("/members", READ, "Who belongs to the organization, the first to join first", list)
            .page(of::<MemberOut>()),
        put(
            "/members/{id}",
            FULL,
            "Give a member another role; at least one owner who can sign in must remain",
            update,
        )
        .reads::<RoleIn>()
        .updates()
        .one(of::<MemberOut>()),
        delete(
            "/members/{id}",
            FULL,
            "End a membership, with the member's sessions, keys and OAuth clients here",
            remove,
        ),
        post(
            "/invitations",
            FULL,
            "Invite somebody by a link, shown this once; it works once, within a week",
            invite,
        )
        .reads::<InvitationIn>()
        .gives(Gives::One(of::<NewInvitationOut>())),
        get(
            "/invitations",
            FULL,
            "Invitations that may be accepted still, newest first",
            invitations,
        )
        .page(of::<InvitationOut>()),
        delete("/invitations/{id}", FULL, "Withdraw an invitation", withdraw),
    ]
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let members = app.engine.members().list(&caller).await?;
    let items = members
        .iter()
        .map(|member| (encode_cursor(member.user.id.as_str()), MemberOut::show(member)))
        .collect();
    Fields::of(&query.params).whole(items, &query.page)
}

pub(crate) async fn update(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    let user = id::<UserId>("member", &text)?;
    let record = async {
        let members = app.engine.members().list(&caller).await?;
        let member = members
            .iter()
            .find(|member| member.user.id == user)
            .ok_or_else(|| EngineError::not_found("member", &text))?;
        Ok(MemberOut::show(member))
    };
    back.check(&params, record).await?;
    let member = app.engine.members().set_role(&caller, &user, RoleIn::read(&params)?.role).await?;
    Ok(Fields::of(&params).data(MemberOut::show(&member)))
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let user = id::<UserId>("member", &text)?;
    app.engine.members().remove(&caller, &user).await?;
    Ok(names::deleted(user.as_str()))
}

pub(crate) async fn invite(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    let new = InvitationIn::read(&params)?;
    let made = app.engine.members().invite(&caller, &new.email, new.role).await?;
    Ok(Fields::default().data(NewInvitationOut::show(&made)))
}

pub(crate) async fn invitations(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let links = app.engine.members().invitations(&caller).await?;
    let items = links
        .iter()
        .map(|link| (encode_cursor(link.id.as_str()), InvitationOut::show(link)))
        .collect();
    Fields::of(&query.params).whole(items, &query.page)
}

pub(crate) async fn withdraw(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let link = id::<LinkId>("invitation", &text)?;
    app.engine.members().withdraw_invitation(&caller, &link).await?;
    Ok(names::deleted(link.as_str()))
}
