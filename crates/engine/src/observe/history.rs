//! How much history is kept, pruning what is not, and handing it over whole.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use millrace_model::error_chain;
use millrace_model::ids::OrgId;
use millrace_model::retention::Retention;
use millrace_model::tenant::Caller;
use millrace_store::{ExportFilter, Exported, Leftovers, Pruning};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::settle::sends::owner_of;
use crate::{Engine, EngineError};

/// How often history is pruned.
const PRUNE_EVERY: Duration = Duration::from_secs(if cfg!(feature = "fail-points") { 1 } else { 60 });
/// Rows of a kind in a step, and the pause after it: events that come in meanwhile wait for one step at most.
const PRUNE_ROWS: u32 = 200;
const PRUNE_PAUSE: Duration = Duration::from_millis(20);
/// Parts of files that a step removes, of a MiB each.
const PURGE_PARTS: u32 = 32;
/// Owners looked up at once.
const OWNERS: u32 = 100;
/// Pieces of an export that wait to be handed on, and as many that wait to be taken.
const EXPORT_WAITING: usize = 32;
/// Exports under way at once, of all organizations: each holds a connection of the database for as long as its client reads.
const EXPORTS_MAX: usize = 2;
/// How long an export may wait for its client in all, and a second more for each so many bytes that it took.
const TAKING_GRACE: Duration = Duration::from_secs(60);
const TAKEN_PER_SECOND: u64 = 64 << 10;

/// How much history of a workflow or source is kept.
#[derive(Clone, Copy, Debug)]
pub struct RetentionView {
    /// What was set for it.
    pub set: Retention,
    /// What the server says where nothing was.
    pub server: Retention,
}

/// An export under way: its pieces, and at their end whether it was whole.
pub struct Export {
    /// What there is to take.
    pub pieces: mpsc::Receiver<Exported>,
    /// Answers after the last piece.
    pub done: tokio::sync::oneshot::Receiver<Result<(), EngineError>>,
}

/// Whose exports are under way.
#[derive(Default)]
pub(crate) struct Exports(Arc<Mutex<HashSet<OrgId>>>);

/// A place of an export, for as long as it is held.
struct ExportPlace {
    exports: Arc<Mutex<HashSet<OrgId>>>,
    org: OrgId,
}

impl Exports {
    fn enter(&self, org: &OrgId) -> Result<ExportPlace, EngineError> {
        let mut under_way = self.0.lock();
        if under_way.contains(org) {
            return Err(EngineError::ExportUnderWay("an export of this organization is under way, and one may be at once; try again when it is over"));
        }
        if under_way.len() >= EXPORTS_MAX {
            return Err(EngineError::ExportUnderWay("two exports of others are under way, as many as the server does at once; try again when one is over"));
        }
        under_way.insert(org.clone());
        Ok(ExportPlace { exports: self.0.clone(), org: org.clone() })
    }
}

impl Drop for ExportPlace {
    fn drop(&mut self) {
        self.exports.lock().remove(&self.org);
    }
}

impl Engine {
    /// How much history of a source or workflow is kept.
    pub async fn retention(&self, caller: &Caller, owner: &str) -> Result<RetentionView, EngineError> {
        self.check_owner(caller, owner).await?;
        let set = self.0.store.retention(owner).await?.unwrap_or_default();
        Ok(RetentionView { set, server: self.0.config.keep })
    }

    /// Sets how much history of a source or workflow is kept; what is absent is as the server says.
    pub async fn set_retention(&self, caller: &Caller, owner: &str, retention: Retention) -> Result<RetentionView, EngineError> {
        self.check_owner(caller, owner).await?;
        let bounded = |field: &str, value: Option<u32>, max: u32| match value {
            Some(n) if n == 0 || n > max => {
                Err(EngineError::invalid(field, format!("`{field}` is {n}, allowed are 1 to {max}, or null for the server's setting")))
            }
            _ => Ok(()),
        };
        bounded("keep_days", retention.keep_days, Retention::DAYS_MAX)?;
        bounded("keep_count", retention.keep_count, Retention::COUNT_MAX)?;
        let set = (retention != Retention::default()).then_some(retention);
        self.0.store.put_retention(&caller.org_id, owner, set).await?;
        Ok(RetentionView { set: retention, server: self.0.config.keep })
    }

    /// Hands over the organization's runs, logs and events as they are at one moment. [`EngineError::ExportUnderWay`] where one of the organization, or
    /// two of others, are handed over already.
    pub async fn export(&self, caller: &Caller, filter: ExportFilter) -> Result<Export, EngineError> {
        if let Some(owner) = &filter.owner {
            self.check_owner(caller, owner).await?;
        }
        let place = self.0.exports.enter(&caller.org_id)?;
        let (out, read) = mpsc::channel(EXPORT_WAITING);
        let (give, pieces) = mpsc::channel(EXPORT_WAITING);
        let (tell, done) = tokio::sync::oneshot::channel();
        let (engine, org, stop) = (self.clone(), caller.org_id.clone(), self.0.tasks.token());
        self.0.tasks.spawn(async move {
            let exported = tokio::select! {
                biased;
                () = stop.cancelled() => Err(EngineError::Overloaded),
                exported = async {
                    let (exported, given) = tokio::join!(engine.0.store.export(&org, filter, out), hand_over(read, give));
                    // The store ends well where nobody takes its pieces any more.
                    given.and(exported.map_err(EngineError::from))
                } => exported,
            };
            // Before it is told to be over: who asks for the next one then gets it.
            drop(place);
            // Whoever asked may have gone away.
            let _ = tell.send(exported);
        });
        Ok(Export { pieces, done })
    }

    pub(crate) fn spawn_pruner(&self) {
        self.keep_going("pruner", |engine, stop| async move {
            loop {
                match engine.prune(&stop).await {
                    Ok(0) => {}
                    Ok(rows) => tracing::info!(rows, "old history was pruned"),
                    Err(error) => tracing::warn!(error = error_chain(&error), "could not prune history"),
                }
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(PRUNE_EVERY) => {}
                }
            }
        });
    }

    /// Prunes all there is to prune, step by step, until it is done or told to stop. How many rows in all.
    async fn prune(&self, stop: &CancellationToken) -> Result<u64, EngineError> {
        let (mut gone, mut after) = (0, String::new());
        loop {
            let owners = self.0.store.history_owners(&after, OWNERS).await?;
            for owner in &owners {
                gone += self.prune_owner(owner, stop).await?;
            }
            match owners.into_iter().next_back() {
                Some(last) if !stop.is_cancelled() => after = last,
                _ => break,
            }
        }
        let now = self.now();
        let audit = Retention { keep_days: self.0.config.keep_audit_days, keep_count: None };
        let leftovers = Leftovers { before: self.0.config.keep.cut(now), audit_before: audit.cut(now), now, limit: PRUNE_ROWS };
        loop {
            let step = self.0.store.prune_leftovers(leftovers).await?;
            gone += step;
            if step == 0 || paused(stop).await {
                break;
            }
        }
        while self.0.store.purge_uploads(self.now(), PURGE_PARTS).await? > 0 && !paused(stop).await {}
        while self.0.store.purge_data_stores(self.now(), PRUNE_ROWS).await? > 0 && !paused(stop).await {}
        Ok(gone)
    }

    async fn prune_owner(&self, owner: &str, stop: &CancellationToken) -> Result<u64, EngineError> {
        let keep = self.0.store.retention(owner_of(owner)).await?.unwrap_or_default().or(self.0.config.keep);
        let pruning = Pruning { owner: owner.to_owned(), before: keep.cut(self.now()), keep_count: keep.keep_count, limit: PRUNE_ROWS };
        let mut gone = 0;
        while !stop.is_cancelled() {
            let step = self.0.store.prune(pruning.clone()).await?;
            gone += step;
            if step == 0 || paused(stop).await {
                break;
            }
        }
        Ok(gone)
    }
}

/// Hands on what the store reads. Ends where the client is gone, or where it was waited for longer than what it took allows.
async fn hand_over(mut read: mpsc::Receiver<Exported>, give: mpsc::Sender<Exported>) -> Result<(), EngineError> {
    let (mut waited, mut bytes) = (Duration::ZERO, 0);
    while let Some(piece) = read.recv().await {
        let size = weight(&piece);
        let began = Instant::now();
        match tokio::time::timeout(patience(bytes).saturating_sub(waited), give.send(piece)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Ok(()),
            Err(_) => {
                tracing::info!(bytes, waited_s = patience(bytes).as_secs(), "an export is cut off, as its client reads too slowly");
                return Err(EngineError::Overloaded);
            }
        }
        waited += began.elapsed();
        bytes += size;
    }
    Ok(())
}

/// How long a client that took so many bytes may have been waited for.
fn patience(bytes: u64) -> Duration {
    TAKING_GRACE + Duration::from_secs(bytes / TAKEN_PER_SECOND)
}

/// About how many bytes a piece has on its way.
fn weight(piece: &Exported) -> u64 {
    let length = match piece {
        Exported::Run(run) => run.event.len() + run.context.len() + run.result.as_ref().map_or(0, String::len) + run.error.as_ref().map_or(0, String::len),
        Exported::Log { line, .. } => line.text.len(),
        Exported::Event(event) => event.payload.len() + event.metadata.len(),
    };
    length as u64
}

/// Lets others write; says whether it is time to stop.
async fn paused(stop: &CancellationToken) -> bool {
    tokio::select! {
        () = stop.cancelled() => true,
        () = tokio::time::sleep(PRUNE_PAUSE) => false,
    }
}

#[cfg(test)]
mod tests {
    use millrace_model::clock::Timestamp;
    use millrace_model::ids::RunId;
    use millrace_model::run::{LogLevel, LogLine};
    use millrace_model::{IdSource, ids};

    use super::*;

    fn line(ids: &IdSource, text: &str) -> Exported {
        let line = LogLine { at: Timestamp(0), level: LogLevel::Info, text: text.into() };
        Exported::Log { owner: "p_a".into(), run_id: RunId::at(ids, Timestamp(0)), line }
    }

    #[test]
    fn an_organization_has_one_export_at_once_and_all_have_two() {
        let (exports, ids) = (Exports::default(), IdSource::default());
        let [a, b, c] = [(); 3].map(|()| ids::OrgId::generate(&ids));
        let refused = |org| matches!(exports.enter(org), Err(EngineError::ExportUnderWay(_)));
        let first = exports.enter(&a).expect("a place");
        assert!(refused(&a));
        let _second = exports.enter(&b).expect("a place");
        assert!(refused(&c));
        drop(first);
        assert!(exports.enter(&a).is_ok() && exports.enter(&c).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_export_that_nobody_reads_ends_and_one_that_waits_for_the_database_does_not() {
        let ids = IdSource::default();
        let (out, read) = mpsc::channel(EXPORT_WAITING);
        let (give, mut pieces) = mpsc::channel(1);
        let handing = tokio::spawn(hand_over(read, give));
        for _ in 0..3 {
            tokio::time::sleep(TAKING_GRACE * 2).await;
            out.send(line(&ids, "a")).await.expect("goes on");
            assert!(pieces.recv().await.is_some());
        }
        for _ in 0..2 {
            out.send(line(&ids, "a")).await.expect("goes on");
        }
        assert!(matches!(handing.await.expect("ends"), Err(EngineError::Overloaded)));
        assert!(out.send(line(&ids, "a")).await.is_err(), "the store is not told");
    }

    #[test]
    fn what_was_taken_gives_time() {
        assert_eq!((patience(0), patience(10 * TAKEN_PER_SECOND)), (TAKING_GRACE, TAKING_GRACE + Duration::from_secs(10)));
    }
}
