//! `/components/configure` and `/components/props`: what a form asks while props are filled in.

use axum::extract::State;
use axum::response::Response;
use axum::{Json, response::IntoResponse as _};
use millrace_engine::{CodeRef, FormOf, OptionsAnswer, OptionsRequest, PropsAnswer};
use millrace_model::component::ComponentType;
use millrace_model::ids::SourceId;
use millrace_model::tenant::Caller;
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, Params, id};
use crate::v1::components::code_of;

/// A component by `id`, which is a saved one's id or a key, or as other requests name code.
pub(crate) fn component(params: &Params) -> Result<CodeRef, ApiError> {
    match params.text("id")? {
        Some(id) => Ok(match (id.parse(), params.text("version")?) {
            (Ok(saved), _) => CodeRef::Component(saved),
            (Err(_), Some(version)) if !id.contains('@') => CodeRef::Key(format!("{id}@{version}")),
            (Err(_), _) => CodeRef::Key(id),
        }),
        None => code_of(params)?.ok_or_else(|| {
            ApiError::field("id", "`id` is missing; give the id or the key of a component")
        }),
    }
}

/// A component, of the type that the path names, or a deployed source whose props are to change.
fn form_of(params: &Params, kind: Option<ComponentType>) -> Result<FormOf, ApiError> {
    match params.text("id")? {
        Some(given)
            if given.starts_with(SourceId::PREFIX) && kind != Some(ComponentType::Action) =>
        {
            Ok(FormOf::Source(id("source", &given)?))
        }
        _ => Ok(FormOf::Component(component(params)?, kind)),
    }
}

pub(crate) async fn options(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    let answer = asked_options(&app, &caller, &params, None).await?;
    Ok(Json(
        json!({ "options": answer.options, "context": answer.context, "errors": answer.errors }),
    )
    .into_response())
}

pub(crate) async fn asked_options(
    app: &App,
    caller: &Caller,
    params: &Params,
    kind: Option<ComponentType>,
) -> Result<OptionsAnswer, ApiError> {
    let request = OptionsRequest {
        of: form_of(params, kind)?,
        prop_name: params.text("prop_name")?.ok_or_else(|| {
            ApiError::field(
                "prop_name",
                "`prop_name` is missing; name the prop whose options are asked for",
            )
        })?,
        configured_props: params.object("configured_props")?.unwrap_or_default(),
        page: params.number("page")?.unwrap_or(0),
        prev_context: params.object("prev_context")?.map_or_else(|| json!({}), Value::Object),
        query: params.text("query")?,
        form: params.text("dynamic_props_id")?,
    };
    Ok(app.engine.prop_options(caller, request).await?)
}

pub(crate) async fn props(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    let answer = asked_props(&app, &caller, &params, None).await?;
    let dynamic = if answer.errors.is_empty() {
        json!({ "id": answer.form, "configurable_props": answer.props })
    } else {
        Value::Null
    };
    Ok(Json(json!({ "dynamic_props": dynamic, "errors": answer.errors })).into_response())
}

pub(crate) async fn asked_props(
    app: &App,
    caller: &Caller,
    params: &Params,
    kind: Option<ComponentType>,
) -> Result<PropsAnswer, ApiError> {
    let values = params.object("configured_props")?.unwrap_or_default();
    Ok(app
        .engine
        .dynamic_props(caller, &form_of(params, kind)?, values, params.text("dynamic_props_id")?)
        .await?)
}
