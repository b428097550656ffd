//! `/components`, and how requests name code.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{CodeRef, JAVASCRIPT, entry_in_language};
use serde_json::json;

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, id};
use crate::wire::{self, Fields};

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
    if let Some(url) = url {
        return Ok(Some(CodeRef::Url(url)));
    }
    Ok(params.text("key")?.map(CodeRef::Key))
}

pub(crate) fn required_code(params: &Params) -> Result<CodeRef, ApiError> {
    code_of(params)?
        .ok_or_else(|| ApiError::field("component_code", "the code is missing; give one of `component_id`, `component_code`, `component_url` and `key`"))
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let publish = params.flag("publish")?.unwrap_or(false);
    let component = app.engine.save_component(&caller, required_code(&params)?, publish).await?;
    Ok(Fields::of(&params).data(wire::component(&component)))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.list_components(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |c| wire::component(&c)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(id): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let component = app.engine.shown_component(&caller, &id).await?;
    Ok(Fields::of(&query.params).data(wire::component(&component)))
}

pub(crate) async fn unpublish(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(key): Path,
    _: Params,
) -> Result<Response, ApiError> {
    app.engine.unpublish_component(&caller, &key).await?;
    Ok(Fields::default().data(json!({ "key": key, "published": false })))
}
