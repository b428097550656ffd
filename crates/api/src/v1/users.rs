//! `/users/me`, `/workspaces`.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{Me, NewOrganization, PreferencesView, UpdateOrganization};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, UserId};
use millrace_model::people::Role;
use millrace_model::record_tag::RecordTag;
use millrace_model::tenant::Organization;
use serde_json::{Map, Value};

use crate::App;
use crate::contract::routes::{Gives, Route, get, post, put};
use crate::contract::shape::{of, record};
use crate::contract::table::{ANY, FULL, READ};
use crate::error::ApiError;
use crate::extract::{Auth, IfMatch, ListQuery, Params, Path, encode_cursor, id};
use crate::fields::{Fields, tagged};
use crate::input::{Input, Words, input};
use crate::written_back::WrittenBack;

record! {
    /// An organization, also called workspace
    OrganizationOut<'a>(o: &'a Organization) {
        id: &'a OrgId = &o.id,
        name: &'a str = &o.name,
        orgname: &'a str = &o.orgname,
        email: &'a str = &o.email,
        error_recipients: &'a [String] = &o.error_recipients,
    }
}

record! {
    /// An organization by its name
    OrganizationNameOut<'a>(o: &'a Organization) {
        id: &'a OrgId = &o.id,
        name: &'a str = &o.name,
    }
}

record! {
    /// An organization with one's role there
    MembershipOut<'a>(o: &'a Organization, role: Role) {
        id: &'a OrgId = &o.id,
        name: &'a str = &o.name,
        role: Role = role,
    }
}

record! {
    /// A new organization with its key
    NewOrganizationOut<'a>(o: &'a Organization, key: &'a str) {
        #[serde(flatten)]
        record: OrganizationOut<'a> = OrganizationOut::new(o),
        api_key: &'a str = key,
    }
}

record! {
    /// A user
    UserOut<'a>(me: &'a Me) {
        id: &'a UserId = &me.user.id,
        username: &'a str = &me.user.username,
        email: &'a str = &me.user.email,
        orgs: Vec<OrganizationOut<'a>> = me.organizations.iter().map(OrganizationOut::new).collect(),
    }
}

record! {
    /// What a person prefers in an organization; `updated_at` is null where nothing was written
    PreferencesOut<'a>(view: &'a PreferencesView) {
        #[schemars(with = "Map<String, Value>")]
        preferences: &'a Value = &view.value,
        updated_at: Option<i64> = view.at.map(Timestamp::secs),
    }
}

input! {
    for NewOrganization {
        /// Its name
        name: String,
        /// The owner's address; error notices go there
        email: String,
    }
}

input! {
    for UpdateOrganization {
        /// Its name
        name: Option<String>,
        /// Where mails about errors go, for workflows that name nobody: up to ten addresses; none:
        /// to the owner
        error_recipients: Option<Words>,
    }
}

input! {
    /// What a person prefers.
    PreferencesIn {
        /// An object of at most 64 KiB as JSON: saved views, columns, what is folded
        preferences: Map<String, Value>,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get("/users/me", ANY, "The user and organization that the key acts for", me)
            .one(of::<UserOut>()),
        get("/users/me/workspaces", ANY, "The user's organizations", workspaces)
            .page(of::<OrganizationOut>()),
        get(
            "/users/me/preferences",
            ANY,
            "What the person prefers in the organization: any object, of the client's choice",
            preferences,
        )
        .tagged()
        .one(of::<PreferencesOut>()),
        put(
            "/users/me/preferences",
            ANY,
            "Write what the person prefers, in the place of what was there; a key needs `full`",
            set_preferences,
        )
        .reads::<PreferencesIn>()
        .if_match()
        .tagged()
        .updates()
        .one(of::<PreferencesOut>()),
        post(
            "/workspaces",
            FULL,
            "Make another organization with an owner and a key of its own, shown this once",
            create_workspace,
        )
        .reads::<NewOrganization>()
        .gives(Gives::One(of::<NewOrganizationOut>())),
        get("/workspaces/{org}", READ, "An organization", workspace).one(of::<OrganizationOut>()),
        get("/orgs/{org}", READ, "An organization", workspace).one(of::<OrganizationOut>()),
        put("/workspaces/{org}", FULL, "Change an organization", update_workspace)
            .reads::<UpdateOrganization>()
            .updates()
            .one(of::<OrganizationOut>()),
        put("/orgs/{org}", FULL, "Change an organization", update_workspace)
            .reads::<UpdateOrganization>()
            .updates()
            .one(of::<OrganizationOut>()),
    ]
}

pub(crate) async fn me(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let me = app.engine.organizations().me(&caller).await?;
    Ok(Fields::of(&query.params).data(UserOut::show(&me)))
}

pub(crate) async fn workspaces(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let me = app.engine.organizations().me(&caller).await?;
    let items = me
        .organizations
        .iter()
        .map(|o| (encode_cursor(o.id.as_str()), OrganizationOut::show(o)))
        .collect();
    Fields::of(&query.params).whole(items, &query.page)
}

pub(crate) async fn workspace(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(org): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let organization = app.engine.organizations().get(&caller, &id("workspace", &org)?).await?;
    Ok(Fields::of(&query.params).data(OrganizationOut::show(&organization)))
}

pub(crate) async fn update_workspace(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(org): Path,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    let org = id("workspace", &org)?;
    back.check(&params, async {
        Ok(OrganizationOut::show(&app.engine.organizations().get(&caller, &org).await?))
    })
    .await?;
    let update = Input::read(&params)?;
    let organization = app.engine.organizations().update(&caller, &org, update).await?;
    Ok(Fields::of(&params).data(OrganizationOut::show(&organization)))
}

/// Ours: another organization in this server, with a key of its own that is shown this once.
pub(crate) async fn create_workspace(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    let (organization, key) =
        app.engine.organizations().create(&caller, Input::read(&params)?).await?;
    Ok(Fields::default().data(NewOrganizationOut::show(&organization, &key)))
}

/// What the person prefers in the organization.
pub(crate) async fn preferences(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let view = app.engine.preferences().get(&caller).await?;
    Ok(tagged(&view.tag, Fields::of(&query.params).data(PreferencesOut::show(&view))))
}

pub(crate) async fn set_preferences(
    State(app): State<App>,
    Auth(caller): Auth,
    IfMatch(over): IfMatch<RecordTag>,
    params: Params,
) -> Result<Response, ApiError> {
    let given = PreferencesIn::read(&params)?.preferences;
    let view = app.engine.preferences().set(&caller, given, over.as_deref()).await?;
    Ok(tagged(&view.tag, Fields::of(&params).data(PreferencesOut::show(&view))))
}
