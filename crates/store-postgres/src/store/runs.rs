//! Runs under way.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::run::{NewRun, Run, RunStatus, Start};
use millrace_store::{
    Callback, CalledBack, Claim, Effects, Pause, Pausing, Runs, Settlement, StoreResult, Woken,
};

use crate::db::{statement, transaction};
use crate::rows::number;
use crate::{PostgresStore, limits, pauses, runs, settle};

fn count(runs: &[Run]) -> u32 {
    u32::try_from(runs.len()).unwrap_or(u32::MAX)
}

#[async_trait]
impl Runs for PostgresStore {
    async fn accept(&self, run: NewRun, node: &str) -> StoreResult<()> {
        // Whoever comes first takes one that waits.
        let node = matches!(run.start, Start::Claimed { .. }).then_some(node);
        statement!(self.db, "accept", |c| runs::insert(&c, std::slice::from_ref(&run), node))
    }
    async fn accept_queued(
        &self,
        run: NewRun,
        queue_max: u32,
        node: Option<&str>,
    ) -> StoreResult<()> {
        transaction!(self.db, "accept_queued", |t| limits::accept(&t, &run, queue_max, node))
    }
    async fn full_queues(&self, waiting: u32) -> StoreResult<Vec<String>> {
        limits::full(&self.db.client().await?, waiting).await
    }
    async fn claim(&self, claim: Claim<'_>) -> StoreResult<Vec<Run>> {
        // No look beforehand, as SQLite takes: an update of no rows commits nothing.
        let mut owners = runs::owners_in_turn(&self.db.client().await?, claim).await?;
        let mut claimed: Vec<Run> = Vec::new();
        let mut left = claim.limit;
        while left > 0 && !owners.is_empty() {
            let (limited, others): (Vec<_>, Vec<_>) =
                owners.iter().partition(|(_, is_limited)| *is_limited);
            let names = |all: Vec<&(String, bool)>| -> Vec<String> {
                all.into_iter().map(|(owner, _)| owner.clone()).collect()
            };
            let (limited, others) = (names(limited), names(others));
            let share = (left / u32::try_from(owners.len()).unwrap_or(u32::MAX)).max(1);
            let round = Claim { limit: left, ..claim };
            let mut taken = Vec::new();
            if !limited.is_empty() {
                taken.extend(transaction!(self.db, "claim", |t| limits::claim(
                    &t, &limited, round, share
                ))?);
            }
            let limit = left.saturating_sub(count(&taken));
            if limit > 0 && !others.is_empty() {
                let round = Claim { limit, ..claim };
                taken.extend(statement!(self.db, "claim", |c| runs::claim(
                    &c, &others, round, share
                ))?);
            }
            left = left.saturating_sub(count(&taken));
            // What others left of their shares goes to those who had theirs.
            owners.retain(|(owner, _)| {
                taken.iter().filter(|run| run.owner.as_str() == owner).count() >= share as usize
            });
            claimed.extend(taken);
        }
        Ok(runs::oldest_first(claimed))
    }
    async fn renew(
        &self,
        held: &[(RunId, i64)],
        lease_until: Timestamp,
    ) -> StoreResult<Vec<RunId>> {
        transaction!(self.db, "renew", |t| runs::renew(&t, held, lease_until))
    }
    async fn release(&self, id: &RunId, attempt: i64, count_attempt: bool) -> StoreResult<()> {
        statement!(self.db, "release", |c| runs::release(&c, id, attempt, count_attempt))
    }
    async fn settle(&self, settlement: Settlement) -> StoreResult<()> {
        if settlement.is_alone() && settlement.unstored.is_some() {
            return self.ends.store(&self.db, settlement).await;
        }
        if settlement.is_alone() {
            return statement!(self.db, "settle", |c| settle::end(&c, &settlement));
        }
        transaction!(self.db, "settle", |t| settle::settle(&t, &settlement))
    }
    async fn settle_effects(&self, effects: Effects) -> StoreResult<()> {
        transaction!(self.db, |t| settle::effects(&t, &effects))
    }
    async fn requeue_running(&self, node: Option<&str>) -> StoreResult<u64> {
        transaction!(self.db, |t| runs::requeue_running(&t, node))
    }
    async fn keep_progress(&self, id: &RunId, attempt: i64, result: &str) -> StoreResult<()> {
        statement!(self.db, "progress", |c| runs::keep_progress(&c, id, attempt, result))
    }
    async fn cancel_run(
        &self,
        org: &OrgId,
        id: &RunId,
        now: Timestamp,
    ) -> StoreResult<Option<RunStatus>> {
        transaction!(self.db, |t| pauses::cancel(&t, org, id, now))
    }
    async fn unfinished_runs(&self) -> StoreResult<u64> {
        let count = number(
            &self.db.client().await?,
            "SELECT count(*) FROM runs WHERE status IN ('queued', 'running')",
            &[],
        )
        .await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    async fn pause_run(&self, pausing: Pausing) -> StoreResult<RunStatus> {
        transaction!(self.db, "pause", |t| pauses::pause(&t, &pausing))
    }
    async fn wake_runs(&self, now: Timestamp, limit: u32) -> StoreResult<Woken> {
        statement!(self.db, "wake", |c| pauses::wake(&c, now, limit))
    }
    async fn next_wake_at(&self) -> StoreResult<Option<Timestamp>> {
        pauses::next_wake_at(&self.db.client().await?).await
    }
    async fn call_back(&self, callback: Callback) -> StoreResult<CalledBack> {
        transaction!(self.db, "call_back", |t| pauses::call_back(&t, &callback))
    }
    async fn run_attempt(&self, id: &RunId) -> StoreResult<Option<(OrgId, RunStatus, i64)>> {
        pauses::run_attempt(&self.db.client().await?, id).await
    }
    async fn last_pause(&self, id: &RunId) -> StoreResult<Option<Pause>> {
        pauses::last(&self.db.client().await?, id).await
    }
}
