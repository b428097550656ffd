//! Deployments of sources: their list, each by itself, and rollback.

use axum::extract::State;
use axum::response::Response;
use millrace_model::ids::SourceId;
use millrace_model::record_tag::RecordTag;
use millrace_model::source::SourceDeployment;

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, IfMatch, ListQuery, Params, Path, Paths, id};
use crate::fields::Fields;
use crate::v1::source_records::SourceDeploymentOut;
use crate::v1::workflow_records::runs_of;
use crate::v1::workflows::rolled_back_to;

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(source): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let source: SourceId = id("source", &source)?;
    let listing = app.engine.list_source_deployments(&caller, &source, &query.page).await?;
    let counted = match query.params.flag("runs")? {
        Some(true) => Some(app.engine.version_runs(&caller, source.as_str()).await?),
        _ => None,
    };
    let show = |d: SourceDeployment| {
        let runs = counted.as_ref().map(|counted| runs_of(counted, &d.id));
        SourceDeploymentOut::show(&d, None, runs)
    };
    Ok(Fields::of(&query.params).records(listing, show))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([source, deployment]): Paths<2>,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let view = app
        .engine
        .source_deployment(&caller, &id("source", &source)?, &id("deployment", &deployment)?)
        .await?;
    Ok(Fields::of(&query.params).data(SourceDeploymentOut::show(
        &view.deployment,
        Some(&view),
        None,
    )))
}

pub(crate) async fn rollback(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(source): Path,
    IfMatch(over): IfMatch<RecordTag>,
    params: Params,
) -> Result<Response, ApiError> {
    let (source, to) = (id("source", &source)?, rolled_back_to(&params)?);
    let message = params.text("message")?;
    let view = app.engine.rollback_source(&caller, &source, &to, message, over).await?;
    Ok(Fields::default().data(SourceDeploymentOut::show(&view.deployment, None, None)))
}
