//! `/apps`: the catalogue, and apps that the organization registered.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use millrace_engine::{AppEvent, AppFilter, NewApp, read_value};
use millrace_model::account::{
    App as Registered, AppDefinition, AuthType, CustomField, OauthClient,
};
use millrace_model::ids::{AppId, SourceId};
use millrace_model::page::Page;
use millrace_model::tenant::Caller;
use serde_json::{Value, json};

use crate::App;
use crate::contract::known::only;
use crate::contract::routes::{Gives, Kind, Param, Route, get, post, put};
use crate::contract::shape::{of, record};
use crate::contract::table::{DEPLOY, INVOKE, ORG, READ, a, flag, text};
use crate::endpoints::SANDBOX;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, encode_cursor, slug_cursor};
use crate::fields::Fields;
use crate::v1::names::words;
use crate::written_back::WrittenBack;

record! {
    /// How accounts of an app are connected by OAuth 2; its secret is never shown
    AppOauthOut<'a>(c: &'a OauthClient) {
        authorize_url: &'a str = &c.authorize_url,
        token_url: &'a str = &c.token_url,
        revoke_url: Option<&'a str> = c.revoke_url.as_deref(),
        scopes: &'a [String] = &c.scopes,
        authorize_params: &'a BTreeMap<String, String> = &c.authorize_params,
        client_id: &'a str = &c.client_id,
        secret_in_body: bool = c.secret_in_body,
        uid_field: Option<&'a str> = c.uid_field.as_deref(),
    }
}

record! {
    /// An app
    AppOut<'a>(a: &'a Registered) with {
        let d = &a.definition;
    } {
        id: &'a AppId = &a.id,
        name_slug: &'a str = &a.name_slug,
        name: &'a str = &d.name,
        auth_type: AuthType = d.auth_type,
        description: Option<&'a str> = d.description.as_deref(),
        img_src: Option<&'a str> = d.img_src.as_deref(),
        // A JSON text, as clients of such platforms expect (facts 1.4).
        custom_fields_json: String = json!(d.custom_fields).to_string(),
        categories: &'a [String] = &d.categories,
        oauth: Option<AppOauthOut<'a>> = d.oauth.as_ref().map(AppOauthOut::new),
        created_at: i64 = a.created_at.secs(),
        updated_at: i64 = a.updated_at.secs(),
    }
}

record! {
    /// An event of an app that was handed over
    AppEventOut<'a>(sources: &'a [SourceId]) {
        sources: &'a [SourceId] = sources,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    let fields = [
        text("name", "Its name"),
        a::<AuthType>(
            "auth_type",
            "`oauth`, `keys` or `none`; left out: `oauth` where the app has an OAuth client. With `keys` or `none` a client that it had is removed",
        ),
        text("description", "What it is; null: nothing is said"),
        text("img_src", "The address of a picture; null: it has none"),
        Param::new(
            "custom_fields",
            Kind::ListOf(of::<CustomField>()),
            "What an account holds: `{name, label, description, default, optional, type}`",
        ),
        text("custom_fields_json", "The same as records show it: the list as JSON text"),
        a::<Vec<String>>("categories", "A list of words"),
        a::<OauthClient>(
            "oauth",
            "How accounts are connected: `{authorize_url, token_url, revoke_url, scopes, authorize_params, client_id, client_secret, secret_in_body, uid_field}`; the secret is never shown, and stays where it is left out; null: as it is",
        ),
    ];
    vec![
        get("/apps", READ, "Apps, by words and by what there is of them", list)
            .takes(&[
                text("q", "Words of the name"),
                flag("has_components", "Only apps with components, published or in a registry; `0`: only those without"),
                flag("has_actions", "Only apps with actions"),
                flag("has_triggers", "Only apps with sources"),
            ])
            .page(of::<AppOut>()),
        post("/apps", DEPLOY, "Register an app", create).takes(&[text("name_slug", "How components name it").required(), ORG]).takes(&fields).one(of::<AppOut>()),
        get("/apps/{id}", READ, "An app, by id or slug", show).one(of::<AppOut>()),
        get("/apps/{id}/image", READ, "Its image, a PNG, JPEG, GIF or WebP of at most 256 KiB, fetched from `img_src`", image).gives(Gives::Image),
        put("/apps/{id}", DEPLOY, "Change an app that the organization registered, or register one of the catalogue anew", update)
            .takes(&fields)
            .updates()
            .one(of::<AppOut>()),
        post("/apps/{id}/events", INVOKE, "Hand over an event of an app to the sources that listen for it with `$.interface.apphook`", event)
            .takes(&[
                Param::new("event_name", Kind::Words, "What sources may listen for it by: a name, or a list of names").required(),
                Param::new("event", Kind::Any, "What the code gets"),
            ])
            .gives(Gives::One(of::<AppEventOut>())),
    ]
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    listed(&app, &caller, query, |app| AppOut::show(app)).await
}

/// A page of apps, each as `show` has it.
pub(crate) async fn listed(
    app: &App,
    caller: &Caller,
    query: ListQuery,
    show: fn(&Registered) -> Value,
) -> Result<Response, ApiError> {
    let filter = AppFilter {
        words: words(&query.params, "q")?,
        has_components: query.params.flag("has_components")?,
        has_actions: query.params.flag("has_actions")?,
        has_triggers: query.params.flag("has_triggers")?,
    };
    let Page { after, before, .. } = query.page;
    let page =
        Page { after: after.map(slug_cursor), before: before.map(slug_cursor), ..query.page };
    let listing = app.engine.registries().list_apps(caller, &filter, &page).await?;
    let items = listing.items.iter().map(|a| (encode_cursor(&a.name_slug), show(a))).collect();
    Ok(Fields::of(&query.params).list_with(listing.total_count, items, &listing.damaged, None))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(slug): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let found = app.engine.apps().get(&caller, &slug).await?;
    Ok(Fields::of(&query.params).data(AppOut::show(&found)))
}

/// Its image. A browser shows it as an image and as nothing else, whatever is in it.
pub(crate) async fn image(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(slug): Path,
    _: ListQuery,
) -> Result<Response, ApiError> {
    let image = app.engine.app_images().get(&caller, &slug).await?;
    let mut response = Body::from(image.bytes.to_vec()).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(image.content_type));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, SANDBOX);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=3600"));
    Ok(response)
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let slug = params.needed("name_slug")?;
    let name = params.text("name")?.unwrap_or_else(|| slug.clone());
    let bare = AppDefinition {
        name,
        auth_type: AuthType::Keys,
        description: None,
        img_src: None,
        custom_fields: Vec::new(),
        categories: Vec::new(),
        oauth: None,
        open: false,
    };
    let definition = changed(&params, bare)?;
    let made = app.engine.apps().put(&caller, NewApp { name_slug: slug, definition }).await?;
    Ok(Fields::of(&params).data(AppOut::show(&made)))
}

pub(crate) async fn update(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(slug): Path,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    let found = app.engine.apps().get(&caller, &slug).await?;
    back.check(&params, async { Ok(AppOut::show(&found)) }).await?;
    let saved = app.engine.apps().change(&caller, &slug, |before| changed(&params, before)).await?;
    Ok(Fields::of(&params).data(AppOut::show(&saved)))
}

/// An event of an app, for the sources that listen for it with `$.interface.apphook`.
pub(crate) async fn event(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(slug): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let names = match params.0.get("event_name") {
        Some(Value::String(name)) => vec![name.clone()],
        Some(names @ Value::Array(_)) => serde_json::from_value(names.clone()).unwrap_or_default(),
        None | Some(Value::Null) => {
            return Err(ApiError::missing("event_name", "a name, or a list of names"));
        }
        _ => Vec::new(),
    };
    let event =
        AppEvent { app: slug, names, event: params.0.get("event").cloned().unwrap_or_default() };
    let sources = app.engine.deliver_app_event(&caller, event).await?;
    Ok(Fields::default().data(AppEventOut::show(&sources)))
}

const CUSTOM_FIELD: &[&str] = &["name", "label", "description", "default", "optional", "type"];
const OAUTH_FIELDS: &[&str] = &[
    "authorize_url",
    "token_url",
    "revoke_url",
    "scopes",
    "authorize_params",
    "client_id",
    "client_secret",
    "secret_in_body",
    "uid_field",
];

/// The fields of an app's accounts: as a list, or as the JSON text that records show (facts 1.4).
fn fields(params: &Params) -> Result<Option<Vec<CustomField>>, ApiError> {
    let (name, list) = match (params.0.get("custom_fields"), params.text("custom_fields_json")?) {
        (Some(_), Some(_)) => {
            return Err(ApiError::field(
                "custom_fields_json",
                "`custom_fields` and `custom_fields_json` mean the same; give one of them",
            ));
        }
        (None, Some(text)) => {
            let list = millrace_model::json::from_str(&text).map_err(|e| {
                ApiError::field(
                    "custom_fields_json",
                    format!("`custom_fields_json` is not JSON: {e}"),
                )
            })?;
            ("custom_fields_json", list)
        }
        (list, None) => ("custom_fields", list.cloned().unwrap_or_default()),
    };
    only(name, &list, CUSTOM_FIELD)?;
    Ok(read_value(name, &list)?)
}

/// How accounts are connected: an app with an OAuth client is an OAuth app, and no other has one.
fn connected_by(
    params: &Params,
    before: &AppDefinition,
) -> Result<(AuthType, Option<OauthClient>), ApiError> {
    let given = params.parsed("oauth")?;
    let kept = || {
        let client = before.oauth.clone()?;
        Some(OauthClient { client_secret: String::new(), ..client })
    };
    match params.parsed("auth_type")? {
        Some(AuthType::Keys | AuthType::None) if given.is_some() => Err(ApiError::field(
            "auth_type",
            "an app with an OAuth client is connected by OAuth; give `auth_type` as `oauth`, or leave it or `oauth` out",
        )),
        Some(other @ (AuthType::Keys | AuthType::None)) => Ok((other, None)),
        Some(AuthType::Oauth) => Ok((AuthType::Oauth, given.or_else(kept))),
        None => {
            let client = given.or_else(kept);
            let auth_type = client.as_ref().map_or(before.auth_type, |_| AuthType::Oauth);
            Ok((auth_type, client))
        }
    }
}

/// What an app is made of, with what is given in the place of what was.
fn changed(params: &Params, before: AppDefinition) -> Result<AppDefinition, ApiError> {
    let fields = fields(params)?;
    if let Some(oauth) = params.0.get("oauth") {
        only("oauth", oauth, OAUTH_FIELDS)?;
    }
    let (auth_type, oauth) = connected_by(params, &before)?;
    Ok(AppDefinition {
        name: params.text("name")?.unwrap_or(before.name),
        auth_type,
        description: params.change("description")?.unwrap_or(before.description),
        img_src: params.change("img_src")?.unwrap_or(before.img_src),
        oauth,
        // Fields that the operator names are all there are, unless they are those that there were.
        open: before.open && fields.as_ref().is_none_or(|fields| *fields == before.custom_fields),
        custom_fields: fields.unwrap_or(before.custom_fields),
        categories: params.parsed("categories")?.unwrap_or(before.categories),
    })
}
