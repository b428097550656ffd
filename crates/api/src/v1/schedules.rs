//! `/schedules`: when timers would fire.

use axum::extract::State;
use axum::response::Response;
use millrace_model::source::Owner;
use serde_json::json;

use crate::App;
use crate::contract::shape::record;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, id};
use crate::fields::Fields;

record! {
    /// When a schedule fires next
    ScheduleTimesOut(next: Vec<i64>) {
        next_ms: Vec<i64> = next,
    }
}

/// When a timer fires next; `interval_seconds` and `cron` as props of timers have them.
pub(crate) async fn next_ticks(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let timer = json!({
        "cron": query.params.text("cron")?,
        "timezone": query.params.text("timezone")?,
        "interval_seconds": query.params.number::<i64>("interval_seconds")?,
    });
    let owner = query.params.text("owner_id")?.as_deref().map(owner_of).transpose()?;
    let ticks = app.engine.next_ticks(&caller, &timer, owner.as_ref()).await?;
    let ticks: Vec<_> = ticks.iter().map(|at| at.ms()).collect();
    Ok(Fields::of(&query.params).data(ScheduleTimesOut::show(ticks)))
}

fn owner_of(text: &str) -> Result<Owner, ApiError> {
    match text.parse() {
        Ok(workflow) => Ok(Owner::Workflow(workflow)),
        Err(_) => Ok(Owner::Source(id("workflow or source", text)?)),
    }
}
