//! `/schedules`: when timers would fire.

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use crate::App;
use crate::contract::shape::record;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery};
use crate::fields::Fields;

record! {
    /// When a schedule fires next
    ScheduleTimesOut(next: Vec<i64>) {
        next_ms: Vec<i64> = next,
    }
}

/// When a timer would fire next; `interval_seconds` and `cron` as props of timers have them.
pub(crate) async fn next_ticks(
    State(app): State<App>,
    Auth(_): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let timer = json!({
        "cron": query.params.text("cron")?,
        "timezone": query.params.text("timezone")?,
        "interval_seconds": query.params.number::<i64>("interval_seconds")?,
    });
    let ticks: Vec<_> = app.engine.next_ticks(&timer)?.iter().map(|at| at.ms()).collect();
    Ok(Fields::default().data(ScheduleTimesOut::show(ticks)))
}
