//! `/members`, `/invitations`: who belongs to an organization.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::EngineError;
use millrace_model::ids::{LinkId, UserId};
use millrace_model::people::{Link, Member, Role};
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, encode_cursor, id};
use crate::wire::Fields;
use crate::written_back::WrittenBack;

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let members = app.engine.members().list(&caller).await?;
    let items = members
        .iter()
        .map(|member| (encode_cursor(member.user.id.as_str()), shown(member)))
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
        Ok(shown(member))
    };
    back.check(&params, record).await?;
    let member = app.engine.members().set_role(&caller, &user, role(&params)?).await?;
    Ok(Fields::of(&params).data(shown(&member)))
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(text): Path,
    _: Params,
) -> Result<Response, ApiError> {
    let user = id::<UserId>("member", &text)?;
    app.engine.members().remove(&caller, &user).await?;
    Ok(Fields::default().data(json!({ "id": user, "deleted": true })))
}

pub(crate) async fn invite(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    let email = params
        .text("email")?
        .ok_or_else(|| ApiError::field("email", "`email` is missing; say who is invited"))?;
    let made = app.engine.members().invite(&caller, &email, role(&params)?).await?;
    let mut shown = invitation(&made.link);
    shown["url"] = json!(made.url);
    shown["mailed"] = json!(made.mailed);
    Ok(Fields::default().data(shown))
}

pub(crate) async fn invitations(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let links = app.engine.members().invitations(&caller).await?;
    let items =
        links.iter().map(|link| (encode_cursor(link.id.as_str()), invitation(link))).collect();
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
    Ok(Fields::default().data(json!({ "id": link, "deleted": true })))
}

fn role(params: &Params) -> Result<Role, ApiError> {
    let text = params.text("role")?.unwrap_or_default();
    Role::parse(&text).ok_or_else(|| {
        ApiError::field(
            "role",
            format!(
                "`role` is `{}`, allowed are owner, member and viewer",
                millrace_model::shown(&text)
            ),
        )
    })
}

fn shown(m: &Member) -> Value {
    json!({
        "id": m.user.id, "name": m.user.username, "email": m.user.email, "role": m.role, "signs_in": m.signs_in, "created_at": m.created_at.secs(),
    })
}

fn invitation(l: &Link) -> Value {
    json!({
        "id": l.id, "email": l.email, "role": l.role, "invited_by": l.made_by, "created_at": l.created_at.secs(), "expires_at": l.expires_at.secs(),
    })
}
