//! `/components/configure` and `/components/props`: calls of a form while props are filled in.

use axum::extract::State;
use axum::response::Response;
use axum::{Json, response::IntoResponse as _};
use millrace_engine::{CodeRef, FormOf, OptionsAnswer, OptionsRequest, PropsAnswer};
use millrace_model::component::ComponentType;
use millrace_model::ids::SourceId;
use millrace_model::tenant::Caller;
use serde_json::Value;

use crate::App;
use crate::contract::routes::{Gives, Kind, Param, Route, post};
use crate::contract::schemas::props::PropOut;
use crate::contract::shape::{of, record};
use crate::contract::table::{DEPLOY, DYNAMIC_PROPS, code_params, number, object, text};
use crate::error::ApiError;
use crate::extract::{Auth, Params, id};
use crate::v1::components::code_of;
use crate::v1::connect_forms::PropOptionOut;

record! {
    /// Options of a prop, or why there are none
    OptionsOut(answer: OptionsAnswer) {
        #[schemars(with = "Vec<PropOptionOut>")]
        options: Vec<Value> = answer.options,
        context: Value = answer.context,
        errors: Vec<String> = answer.errors,
    }
}

record! {
    /// A form of props; `id` names it in the next request
    FormOut<'a>(answer: &'a PropsAnswer) {
        id: &'a str = &answer.form,
        #[schemars(with = "Vec<PropOut>")]
        configurable_props: &'a [Value] = &answer.props,
    }
}

record! {
    /// Props that depend on others, or why there are none
    DynamicPropsOut<'a>(answer: &'a PropsAnswer) {
        dynamic_props: Option<FormOut<'a>> = answer.errors.is_empty().then(|| FormOut::new(answer)),
        errors: &'a [String] = &answer.errors,
    }
}

pub(crate) const PREV_CONTEXT: Param =
    Param::new("prev_context", Kind::Any, "What the page before gave as `context`, unchanged");

pub(crate) fn routes() -> Vec<Route> {
    let values = object("configured_props", "Values filled in so far");
    vec![
        post(
            "/components/configure",
            DEPLOY,
            "The options of a prop: runs its options method",
            options,
        )
        .takes(&[
            text("id", "A saved component's id, a key, or the id of a deployed source"),
            text("prop_name", "The prop").required(),
            values,
            number("page", "Counts from 0").at_least(0),
            PREV_CONTEXT,
            text("query", "What was typed to search"),
            DYNAMIC_PROPS,
        ])
        .takes(&code_params())
        .gives(Gives::Bare(of::<OptionsOut>())),
        post(
            "/components/props",
            DEPLOY,
            "The props that depend on others: runs `additionalProps`",
            props,
        )
        .takes(&[
            text("id", "A saved component's id, a key, or the id of a deployed source"),
            values,
            DYNAMIC_PROPS,
        ])
        .takes(&code_params())
        .gives(Gives::Bare(of::<DynamicPropsOut>())),
    ]
}

/// A component by `id`, which is a saved one's id or a key, or as other requests name code.
pub(crate) fn component(params: &Params) -> Result<CodeRef, ApiError> {
    match params.text("id")? {
        Some(id) => Ok(match (id.parse(), params.text("version")?) {
            (Ok(saved), _) => CodeRef::Component(saved),
            (Err(_), Some(version)) if !id.contains('@') => CodeRef::Key(format!("{id}@{version}")),
            (Err(_), _) => CodeRef::Key(id),
        }),
        None => code_of(params)?
            .ok_or_else(|| ApiError::missing("id", "the id or the key of a component")),
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
    Ok(Json(OptionsOut::show(answer)).into_response())
}

pub(crate) async fn asked_options(
    app: &App,
    caller: &Caller,
    params: &Params,
    kind: Option<ComponentType>,
) -> Result<OptionsAnswer, ApiError> {
    let prop_name = params.needed("prop_name")?;
    let request = OptionsRequest {
        of: form_of(params, kind)?,
        prop_name,
        configured_props: params.object("configured_props")?.unwrap_or_default(),
        page: params.number("page")?.unwrap_or(0),
        prev_context: params.0.get("prev_context").cloned().unwrap_or_default(),
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
    Ok(Json(DynamicPropsOut::show(&answer)).into_response())
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
