//! Statistics of runs that ended: of an organization, and beside records of workflows and sources.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{AskedStats, OwnerStats, RunFilter, RunStats};
use millrace_model::clock::Timestamp;
use millrace_model::run::RunKind;
use millrace_model::run_stats::RunCounts;
use millrace_model::tenant::Caller;

use crate::App;
use crate::contract::shape::record;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params};
use crate::fields::Fields;
use crate::v1::runs::filter;

record! {
    /// Runs that ended, by how, and the durations that half, and 95 in a hundred, of those that
    /// succeeded or failed did not exceed
    RunCountsOut(from: Timestamp, c: &RunCounts) {
        from_ms: i64 = from.ms(),
        succeeded: u64 = c.succeeded,
        failed: u64 = c.failed,
        cancelled: u64 = c.cancelled,
        p50_ms: Option<i64> = c.p50_ms,
        p95_ms: Option<i64> = c.p95_ms,
    }
}

record! {
    /// Statistics of runs by when they were accepted. `looked_at_from_ms` is not null where the
    /// organization had more than 100,000 runs in the time: those before it are left out
    RunStatsOut(stats: &RunStats) {
        from_ms: i64 = stats.buckets.from.ms(),
        to_ms: i64 = stats.buckets.to.ms(),
        bucket_ms: i64 = stats.buckets.length_ms,
        looked_at_from_ms: Option<i64> = stats.looked_at_from.map(Timestamp::ms),
        total: RunCountsOut = RunCountsOut::new(stats.buckets.from, &stats.total),
        buckets: Vec<RunCountsOut> =
            stats.parts.iter().map(|(at, counts)| RunCountsOut::new(*at, counts)).collect(),
    }
}

/// Statistics of runs that ended.
pub(crate) async fn stats(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let params = &query.params;
    params.org_is(&caller)?;
    let RunFilter { owner, kind, from, to, .. } = filter(params)?;
    let asked = AskedStats { from, to, bucket_ms: params.number("bucket_ms")? };
    let stats = app
        .engine
        .runs()
        .stats(&caller, owner.as_deref(), kind.unwrap_or(RunKind::Live), &asked)
        .await?;
    Ok(Fields::of(params).data(RunStatsOut::show(&stats)))
}

/// The window and the bucket that `stats` asks for, milliseconds.
fn window(params: &Params) -> Result<Option<(i64, i64)>, ApiError> {
    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;
    Ok(match params.text("stats")?.as_deref() {
        None => None,
        Some("1h") => Some((HOUR, 5 * MINUTE)),
        Some("24h") => Some((24 * HOUR, HOUR)),
        Some("7d") => Some((7 * 24 * HOUR, 6 * HOUR)),
        Some("30d") => Some((30 * 24 * HOUR, 24 * HOUR)),
        Some(other) => {
            let shown = millrace_model::shown(other);
            return Err(ApiError::field(
                "stats",
                format!("`{shown}` is not a window; allowed are 1h, 24h, 7d and 30d"),
            ));
        }
    })
}

/// Statistics of the workflows or sources of a list, where they are asked for.
pub(crate) async fn asked_stats(
    app: &App,
    caller: &Caller,
    params: &Params,
) -> Result<Option<OwnerStats>, ApiError> {
    match window(params)? {
        Some((window, bucket)) => {
            Ok(Some(app.engine.runs().owner_stats(caller, window, bucket).await?))
        }
        None => Ok(None),
    }
}

/// Statistics of one workflow or source, where they are asked for.
pub(crate) async fn own_stats(
    app: &App,
    caller: &Caller,
    owner: &str,
    params: &Params,
) -> Result<Option<RunStatsOut>, ApiError> {
    let Some((length_ms, bucket_ms)) = window(params)? else { return Ok(None) };
    Ok(Some(RunStatsOut::new(
        &app.engine.runs().latest_stats(caller, owner, length_ms, bucket_ms).await?,
    )))
}
