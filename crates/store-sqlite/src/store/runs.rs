//! Runs under way.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::run::{NewRun, Run, RunStatus};
use millrace_store::{
    Callback, CalledBack, Claim, Effects, Pause, Pausing, Runs, Settlement, StoreResult, Woken,
    fail_point,
};
use rusqlite::Connection;

use crate::db::database;
use crate::rows::{number, one};
use crate::writer::Extent;
use crate::{SqliteStore, limits, pauses, runs, settle};

/// Bytes that are written well within a millisecond.
const SHORT_BYTES_MAX: usize = 64 * 1024;
/// Rows that are.
const SHORT_ROWS_MAX: usize = 8;

fn extent_of_run(run: &NewRun) -> Extent {
    match run.event.len() {
        0..=SHORT_BYTES_MAX if run.replays.is_none() => Extent::OneStatement,
        0..=SHORT_BYTES_MAX => Extent::Short,
        _ => Extent::Any,
    }
}

fn extent_of_end(s: &Settlement) -> Extent {
    let e = &s.effects;
    let rows = e.runs.len()
        + e.events.len()
        + e.logs.len()
        + e.deliveries.len()
        + e.webhook_deliveries.len();
    let bytes = s.result.len()
        + e.runs.iter().map(|run| run.event.len()).sum::<usize>()
        + e.events.iter().map(|event| event.payload.len()).sum::<usize>()
        + e.logs.iter().map(|line| line.text.len()).sum::<usize>();
    if rows > SHORT_ROWS_MAX || bytes > SHORT_BYTES_MAX {
        return Extent::Any;
    }
    match s.unstored.as_ref().map_or(Extent::OneStatement, |u| extent_of_run(&u.run)) {
        Extent::OneStatement if !s.is_alone() => Extent::Short,
        extent => extent,
    }
}

#[async_trait]
impl Runs for SqliteStore {
    async fn accept(&self, run: NewRun, node: &str) -> StoreResult<()> {
        let node = node.to_owned();
        let extent = extent_of_run(&run);
        write_at!(self, "accept", extent, |c| runs::insert(c, &run, Some(&node)))
    }
    async fn accept_queued(
        &self,
        run: NewRun,
        queue_max: u32,
        _node: Option<&str>,
    ) -> StoreResult<()> {
        write_at!(self, "accept_queued", |c| limits::accept(c, &run, queue_max))
    }
    async fn full_queues(&self, waiting: u32) -> StoreResult<Vec<String>> {
        self.db.read(move |c| limits::full(c, waiting)).await
    }
    async fn claim(&self, claim: Claim<'_>) -> StoreResult<Vec<Run>> {
        let Claim { node, now, lease_until, limit, after, passed_over } = claim;
        let (node, after, passed_over) = (node.to_owned(), after.to_owned(), passed_over.to_vec());
        // A look at the queue costs no commit while it is empty.
        let look = {
            let (node, after, passed_over) = (node.clone(), after.clone(), passed_over.clone());
            move |c: &Connection| {
                runs::owners_in_turn(
                    c,
                    Claim {
                        node: &node,
                        now,
                        lease_until,
                        limit: 1,
                        after: &after,
                        passed_over: &passed_over,
                    },
                )
            }
        };
        if self.db.read(look).await?.is_empty() {
            return Ok(Vec::new());
        }
        write_at!(self, "claim", |c| runs::claim(
            c,
            Claim {
                node: &node,
                now,
                lease_until,
                limit,
                after: &after,
                passed_over: &passed_over
            }
        ))
    }
    async fn renew(
        &self,
        held: &[(RunId, i64)],
        lease_until: Timestamp,
    ) -> StoreResult<Vec<RunId>> {
        let held = held.to_vec();
        write_at!(self, "renew", |c| runs::renew(c, &held, lease_until))
    }
    async fn release(&self, id: &RunId, attempt: i64, count_attempt: bool) -> StoreResult<()> {
        let id = id.clone();
        write_at!(self, "release", |c| runs::release(c, &id, attempt, count_attempt))
    }
    async fn settle(&self, settlement: Settlement) -> StoreResult<()> {
        let extent = extent_of_end(&settlement);
        write_at!(self, "settle", extent, |c| settle::settle(c, &settlement))
    }
    async fn settle_effects(&self, effects: Effects) -> StoreResult<()> {
        self.db.write(move |c| settle::effects(c, &effects)).await
    }
    async fn requeue_running(&self, node: Option<&str>) -> StoreResult<u64> {
        let node = node.map(str::to_owned);
        self.db.write(move |c| runs::requeue_running(c, node.as_deref())).await
    }
    async fn keep_progress(&self, id: &RunId, attempt: i64, result: &str) -> StoreResult<()> {
        let (id, result) = (id.clone(), result.to_owned());
        write_at!(self, "progress", |c| runs::keep_progress(c, &id, attempt, &result))
    }
    async fn cancel_run(
        &self,
        org: &OrgId,
        id: &RunId,
        now: Timestamp,
    ) -> StoreResult<Option<RunStatus>> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| pauses::cancel(c, &org, &id, now)).await
    }
    async fn unfinished_runs(&self) -> StoreResult<u64> {
        let count = self
            .db
            .read(|c| {
                number(c, "SELECT count(*) FROM runs WHERE status IN ('queued', 'running')", [])
            })
            .await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    async fn pause_run(&self, pausing: Pausing) -> StoreResult<RunStatus> {
        write_at!(self, "pause", |c| pauses::pause(c, &pausing))
    }
    async fn wake_runs(&self, now: Timestamp, limit: u32) -> StoreResult<Woken> {
        // A look at what is due costs no commit while there is nothing.
        if self
            .db
            .read(move |c| {
                number(c, "SELECT EXISTS (SELECT 1 FROM pauses WHERE wake_at <= ?1)", [now.ms()])
            })
            .await?
            == 0
        {
            return Ok(Woken::default());
        }
        write_at!(self, "wake", |c| pauses::wake(c, now, limit))
    }
    async fn next_wake_at(&self) -> StoreResult<Option<Timestamp>> {
        self.db
            .read(|c| {
                one(
                    c,
                    "SELECT wake_at FROM pauses WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1",
                    [],
                    |row| row.get(0).map(Timestamp).map_err(database),
                )
            })
            .await
    }
    async fn call_back(&self, callback: Callback) -> StoreResult<CalledBack> {
        write_at!(self, "call_back", |c| pauses::call_back(c, &callback))
    }
    async fn run_attempt(&self, id: &RunId) -> StoreResult<Option<(OrgId, RunStatus, i64)>> {
        let id = id.clone();
        self.db.read(move |c| pauses::run_attempt(c, &id)).await
    }
    async fn last_pause(&self, id: &RunId) -> StoreResult<Option<Pause>> {
        let id = id.clone();
        self.db.read(move |c| pauses::last(c, &id)).await
    }
}
