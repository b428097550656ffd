//! `/components`, and the forms in which requests name code.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{CodeRef, JAVASCRIPT, entry_in_language};
use millrace_model::Timestamp;
use millrace_model::component::{CodeFiles, ComponentType, PropDef, SavedComponent};
use millrace_model::ids::ComponentId;
use millrace_model::registry::FromRegistry;
use serde_json::{Map, Value};

use crate::App;
use crate::contract::routes::{Gives, Route, delete, get, post};
use crate::contract::schemas::props::PropOut;
use crate::contract::shape::{of, record};
use crate::contract::table::{DEPLOY, ORG, READ, code_params, flag};
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, id};
use crate::fields::Fields;
use crate::v1::connect_records::{AnnotationsOut, hints};

record! {
    /// The registry that code is from: its name, and the revision of the state of it that the code
    /// was read from, indexed at this time; null where that was not kept
    FromRegistryOut<'a>(from: &'a FromRegistry) {
        name: &'a str = &from.name,
        revision: &'a str = &from.revision,
        indexed_at: Option<i64> = from.indexed_at.map(Timestamp::secs),
    }
}

record! {
    /// A saved component
    ComponentOut<'a>(c: &'a SavedComponent) {
        id: &'a ComponentId = &c.id,
        code: &'a str = &c.code,
        code_hash: &'a str = &c.code_hash,
        name: Option<&'a str> = c.manifest.name.as_deref(),
        key: Option<&'a str> = c.manifest.key.as_deref(),
        version: Option<&'a str> = c.manifest.version.as_deref(),
        description: Option<&'a str> = c.manifest.description.as_deref(),
        r#type: ComponentType = c.component_type,
        files: Option<&'a CodeFiles> = c.files.as_ref(),
        #[schemars(with = "Vec<PropOut>")]
        configurable_props: &'a [PropDef] = &c.manifest.props,
        #[schemars(with = "Option<AnnotationsOut>")]
        annotations: Option<Map<String, Value>> = c.manifest.annotations.as_ref().and_then(hints),
        sample_emit: Option<&'a Value> = c.manifest.sample_emit.as_ref(),
        apps: Vec<&'a str> = apps(c),
        component_url: Option<&'a str> = c.url.as_deref(),
        registry: Option<FromRegistryOut<'a>> = c.registry.as_ref().map(FromRegistryOut::new),
        published: bool = c.published,
        created_at: i64 = c.created_at.secs(),
        updated_at: i64 = c.updated_at.secs(),
    }
}

record! {
    /// A key that was taken away
    UnpublishedOut<'a>(key: &'a str) {
        key: &'a str = key,
        published: bool = false,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        post("/components", DEPLOY, "Save a component", create)
            .takes(&code_params())
            .takes(&[flag("publish", "Let it answer to its key"), ORG])
            .one(of::<ComponentOut>()),
        get("/components", READ, "Published components, newest first", list)
            .takes(&[ORG])
            .page(of::<ComponentOut>()),
        get("/components/{id}", READ, "A component, by key or id", show).one(of::<ComponentOut>()),
        delete("/components/{id}", DEPLOY, "Take a published key away", unpublish)
            .gives(Gives::One(of::<UnpublishedOut>())),
    ]
}

/// The apps whose accounts a component's props ask for.
pub(crate) fn apps(c: &SavedComponent) -> Vec<&str> {
    apps_of(&c.manifest.props)
}

/// The apps whose accounts props ask for, each once, in the order of the props.
pub(crate) fn apps_of(props: &[PropDef]) -> Vec<&str> {
    let mut slugs = Vec::new();
    for slug in props.iter().filter_map(PropDef::app).filter(|slug| !slug.is_empty()) {
        if !slugs.contains(&slug) {
            slugs.push(slug);
        }
    }
    slugs
}

/// The code that a request names: `component_id` wins, then `component_code`, then `component_url`,
/// then `key`.
pub(crate) fn code_of(params: &Params) -> Result<Option<CodeRef>, ApiError> {
    if let Some(component) = params.text("component_id")? {
        return Ok(Some(CodeRef::Component(id("component", &component)?)));
    }
    // The addresses that deploy a source say `url` (spec 4.5).
    let url = match params.text("component_url")? {
        Some(url) => Some(url),
        None => params.text("url")?,
    };
    if let Some(code) = params.text("component_code")? {
        let files =
            params.parsed::<BTreeMap<String, String>>("component_files")?.unwrap_or_default();
        let language = params.text("language")?;
        let entry =
            entry_in_language(params.text("component_entry")?, "component", language.as_deref())?;
        return Ok(Some(CodeRef::Code {
            code,
            files,
            entry,
            is_javascript: language.as_deref() == Some(JAVASCRIPT),
            url,
        }));
    }
    let of_code = ["component_files", "component_entry", "language"];
    if let Some(field) =
        of_code.into_iter().find(|f| params.0.get(*f).is_some_and(|v| !v.is_null()))
    {
        let message = format!(
            "`{field}` says more of `component_code`, which is missing; give `component_code` too, or leave out `{field}`"
        );
        return Err(ApiError::field(field, message));
    }
    if let Some(url) = url {
        return Ok(Some(CodeRef::Url(url)));
    }
    Ok(params.text("key")?.map(CodeRef::Key))
}

pub(crate) fn required_code(params: &Params) -> Result<CodeRef, ApiError> {
    code_of(params)?.ok_or_else(|| {
        ApiError::missing(
            "component_code",
            "give one of `component_id`, `component_code`, `component_url` and `key`",
        )
    })
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let publish = params.flag("publish")?.unwrap_or(false);
    let component = app.engine.save_component(&caller, required_code(&params)?, publish).await?;
    Ok(Fields::of(&params).data(ComponentOut::show(&component)))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.list_components(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |c| ComponentOut::show(&c)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(id): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let component = app.engine.shown_component(&caller, &id).await?;
    Ok(Fields::of(&query.params).data(ComponentOut::show(&component)))
}

pub(crate) async fn unpublish(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(key): Path,
    _: Params,
) -> Result<Response, ApiError> {
    app.engine.unpublish_component(&caller, &key).await?;
    Ok(Fields::default().data(UnpublishedOut::show(&key)))
}

#[cfg(test)]
mod tests {
    use millrace_model::component::PropDef;
    use serde_json::json;

    use super::apps_of;

    #[test]
    fn an_app_of_several_props_is_listed_once() {
        let props: Vec<PropDef> = serde_json::from_value(json!([
            { "name": "a", "type": "app", "app": "slack" },
            { "name": "more", "type": "app[]", "app": "stripe" },
            { "name": "b", "type": "app", "app": "slack" },
            { "name": "text", "type": "string" },
        ]))
        .expect("props");
        assert_eq!(apps_of(&props), ["slack", "stripe"]);
    }
}
