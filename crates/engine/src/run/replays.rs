//! Replays of many runs: a job in the store, taken step by step. A step queues a few runs and remembers how far it came, in one transaction; so the
//! job goes on where it stood after a crash, and no run is replayed twice, however many servers take steps.

use std::sync::Arc;
use std::time::Duration;

use millrace_model::error_chain;
use millrace_model::ids::{ErrorGroupId, OrgId, ReplayId, RunId};
use millrace_model::page::{Listing, Page};
use millrace_model::replay::{RUNS_NAMED_MAX, Replay, ReplayBegin, ReplayCounts, ReplayPosition, ReplaySelection, ReplayStatus, ReplayedRun};
use millrace_model::run::{Context, NewRun, Run, RunKind, Start};
use millrace_model::source::Owner;
use millrace_model::tenant::Caller;
use millrace_model::{Timestamp, error_event};
use millrace_store::{FailedRuns, ReplayStep, StoreError};

use crate::deploy::workflows::results_before;
use crate::run::context::Origin;
use crate::run::program::Program;
use crate::{Engine, EngineError, ReplayFrom};

/// How often replays are looked at though nothing woke the task.
const POLL: Duration = Duration::from_millis(500);
/// Runs of one replay that are queued or under way at once: others find room beside it.
const UNDER_WAY_MAX: u64 = 100;
/// Runs that one step queues.
const STEP_RUNS: u32 = 50;
/// Replays that go on at once.
const RUNNING_MAX: u32 = 16;
/// Runs that are counted when a replay is made.
const COUNT_MAX: u32 = 100_000;
/// How often a change is tried anew where a step came first.
const TRIES_MAX: u32 = 50;

/// A replay of many runs, as it is asked for.
#[derive(Clone, Debug, Default)]
pub struct NewReplay {
    /// The workflow or source whose runs they are.
    pub owner: String,
    /// These runs; or all that failed and fit the rest.
    pub runs: Option<Vec<RunId>>,
    /// The error's class.
    pub class: Option<String>,
    /// The group of the error.
    pub group: Option<ErrorGroupId>,
    /// Accepted at or after.
    pub from: Option<Timestamp>,
    /// Accepted before; none: before now.
    pub to: Option<Timestamp>,
    /// Where each begins.
    pub begin: ReplayBegin,
}

/// A replay with what became of its runs.
#[derive(Clone, Debug)]
pub struct ReplayView {
    /// The replay.
    pub replay: Replay,
    /// What became of its runs.
    pub counts: ReplayCounts,
}

/// What is asked of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayChange {
    /// Queue no more runs until it is resumed.
    Pause,
    /// Go on.
    Resume,
    /// Queue no more runs.
    Cancel,
}

impl Engine {
    /// Makes a replay; it begins at once.
    pub async fn create_replay(&self, caller: &Caller, new: NewReplay) -> Result<ReplayView, EngineError> {
        self.check_owner(caller, &new.owner).await?;
        let now = self.now();
        let selects = new.class.is_some() || new.group.is_some() || new.from.is_some() || new.to.is_some();
        if new.runs.is_some() && selects {
            return Err(EngineError::invalid("runs", "`runs` names the runs; it excludes `class`, `group`, `from` and `to`"));
        }
        if new.from.zip(new.to).is_some_and(|(from, to)| from >= to) {
            return Err(EngineError::invalid("from", "`from` is not before `to`: no run fits"));
        }
        if new.owner.starts_with(millrace_model::ids::SourceId::PREFIX) && new.begin != ReplayBegin::Start {
            return Err(EngineError::invalid("from_step", "a source has no steps; only a workflow's run is replayed from a step"));
        }
        if let Some(group) = &new.group {
            let known = self.0.store.error_group(&caller.org_id, group).await?.is_some_and(|g| g.owner == new.owner);
            if !known {
                return Err(EngineError::not_found("group of errors", group));
            }
        }
        let runs = match new.runs {
            Some(runs) => Some(self.check_named(&caller.org_id, &new.owner, runs).await?),
            None => None,
        };
        // What fails from now on is not replayed: a replay would else meet its own runs.
        let to = if runs.is_none() { Some(new.to.unwrap_or(now).min(now)) } else { None };
        let selection = ReplaySelection { runs, class: new.class, group: new.group, from: new.from, to, begin: new.begin };
        let mut replay = Replay {
            id: ReplayId::generate(&self.0.ids),
            org_id: caller.org_id.clone(),
            owner: new.owner,
            selection,
            status: ReplayStatus::Running,
            version: 0,
            position: ReplayPosition::default(),
            total: None,
            replayed: 0,
            skipped: 0,
            note: None,
            created_at: now,
            updated_at: now,
        };
        replay.total = match &replay.selection.runs {
            Some(runs) => Some(runs.len() as i64),
            None => {
                let count = self.0.store.count_failed_runs(&FailedRuns { limit: COUNT_MAX, ..fitting(&replay) }).await?;
                (count < u64::from(COUNT_MAX)).then_some(count as i64)
            }
        };
        self.0.store.create_replay(replay.clone()).await?;
        self.0.wake_replayer.notify_one();
        Ok(ReplayView { replay, counts: ReplayCounts::default() })
    }

    /// Runs that are the owner's and have ended, each once.
    async fn check_named(&self, org: &OrgId, owner: &str, mut runs: Vec<RunId>) -> Result<Vec<RunId>, EngineError> {
        if runs.is_empty() || runs.len() > RUNS_NAMED_MAX {
            return Err(EngineError::invalid("runs", format!("`runs` names {} runs; allowed are 1 to {RUNS_NAMED_MAX}", runs.len())));
        }
        runs.sort();
        runs.dedup();
        for id in &runs {
            let run = self.0.store.run(org, id).await?.filter(|run| run.owner.as_str() == owner).ok_or_else(|| EngineError::not_found("run", id))?;
            if !run.status.is_final() {
                return Err(EngineError::invalid("runs", format!("the run `{id}` has not ended: it is {}", run.status.as_str())));
            }
        }
        Ok(runs)
    }

    /// A replay.
    pub async fn replay(&self, caller: &Caller, id: &ReplayId) -> Result<ReplayView, EngineError> {
        let replay = self.0.store.replay(&caller.org_id, id).await?.ok_or_else(|| EngineError::not_found("replay", id))?;
        let counts = self.0.store.replay_counts(id).await?;
        Ok(ReplayView { replay, counts })
    }

    /// The replays, newest first; without what became of their runs.
    pub async fn list_replays(&self, caller: &Caller, page: &Page) -> Result<Listing<Replay>, EngineError> {
        Ok(self.0.store.list_replays(&caller.org_id, page).await?)
    }

    /// The runs that a replay made.
    pub async fn replayed_runs(&self, caller: &Caller, id: &ReplayId, page: &Page) -> Result<Listing<ReplayedRun>, EngineError> {
        self.0.store.replay(&caller.org_id, id).await?.ok_or_else(|| EngineError::not_found("replay", id))?;
        Ok(self.0.store.replayed_runs(id, page).await?)
    }

    /// Holds a replay, lets it go on, or ends it. What it queued stays queued.
    pub async fn change_replay(&self, caller: &Caller, id: &ReplayId, change: ReplayChange) -> Result<ReplayView, EngineError> {
        for _ in 0..TRIES_MAX {
            let replay = self.0.store.replay(&caller.org_id, id).await?.ok_or_else(|| EngineError::not_found("replay", id))?;
            let status = match (change, replay.status) {
                (_, ended) if ended.is_final() => {
                    return Err(EngineError::Conflict { code: "replay_has_ended", message: format!("the replay `{id}` has ended: {}", ended.as_str()) });
                }
                (ReplayChange::Pause, _) => ReplayStatus::Paused,
                (ReplayChange::Resume, _) => ReplayStatus::Running,
                (ReplayChange::Cancel, _) => ReplayStatus::Cancelled,
            };
            if status == replay.status {
                return self.replay(caller, id).await;
            }
            let next = Replay { status, version: replay.version + 1, updated_at: self.now(), ..replay };
            match self.0.store.step_replay(ReplayStep { replay: next, runs: Vec::new() }).await {
                Err(StoreError::StateChanged) => {}
                other => {
                    other?;
                    self.0.wake_replayer.notify_one();
                    return self.replay(caller, id).await;
                }
            }
        }
        Err(EngineError::internal("a replay kept changing while it was to be changed", id.to_string()))
    }

    /// A run of the same event again: all of it, or from a step on with the results of the steps before.
    pub(crate) fn replaying(&self, program: &Program, run: &Run, from: &ReplayFrom, start: Start) -> Result<NewRun, EngineError> {
        let context: Context = serde_json::from_str(&run.context).map_err(|e| EngineError::damaged("a stored context", e))?;
        if context.keeps_nothing && run.event == error_event::KEPT_NOTHING {
            return Err(EngineError::Conflict { code: "not_kept", message: format!("the run `{}` kept no data, so there is no event to replay", run.id) });
        }
        let origin = Origin {
            trace_id: Some(context.trace_id),
            handles_error: context.handles_error,
            replay: true,
            keeps_nothing: context.keeps_nothing,
            hops: context.hops,
            ..Origin::first("SDK", run.trigger_id.clone())
        };
        let result = match (from, program) {
            (ReplayFrom::Start, _) => None,
            (from, Program::Workflow(workflow)) => Some(results_before(&workflow.namespaces, run, from.clone())?),
            (_, Program::Source(_) | Program::Damaged(_)) => {
                return Err(EngineError::invalid("from_step", "a source has no steps; only a workflow's run is replayed from a step"));
            }
        };
        Ok(NewRun { result, ..self.new_run(program, &origin, run.event.clone(), start)? })
    }

    pub(crate) fn spawn_replayer(&self) {
        self.keep_going("replayer", |engine, stop| async move {
            loop {
                let more = engine.step_replays().await;
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = engine.0.wake_replayer.notified() => {}
                    () = tokio::time::sleep(if more { Duration::ZERO } else { POLL }) => {}
                }
            }
        });
    }

    /// A step of each replay that has room; says whether any may go on at once.
    async fn step_replays(&self) -> bool {
        let running = match self.0.store.running_replays(RUNNING_MAX).await {
            Ok(running) => running,
            Err(error) => {
                tracing::error!(error = error_chain(&error), "could not read the replays; trying again");
                return false;
            }
        };
        let mut more = false;
        for replay in running {
            let id = replay.id.clone();
            match self.step_replay(replay).await {
                Ok(goes_on) => more |= goes_on,
                Err(error) => tracing::error!(replay.id = %id, error = error_chain(&error), "a replay could not go on; trying again"),
            }
        }
        more && !self.0.tasks.stopping()
    }

    async fn step_replay(&self, mut replay: Replay) -> Result<bool, EngineError> {
        let room = UNDER_WAY_MAX.saturating_sub(self.0.store.replay_under_way(&replay.id).await?);
        let limit = u32::try_from(room).unwrap_or(STEP_RUNS).min(STEP_RUNS);
        if limit == 0 {
            return Ok(false);
        }
        replay.version += 1;
        replay.updated_at = self.now();
        let owner = Owner::from_row(replay.owner.clone());
        let Some(program) = self.program_or_damaged(&replay.org_id, &owner, None).await? else {
            replay.status = ReplayStatus::Failed;
            replay.note = Some(format!("there is no `{}` any more, or no version of it is deployed", replay.owner));
            return self.take_step(ReplayStep { replay, runs: Vec::new() }).await;
        };
        let (originals, ended) = self.next_originals(&mut replay, limit).await?;
        if ended {
            replay.status = ReplayStatus::Done;
        }
        let runs = self.replay_all(&program, &mut replay, originals)?;
        replay.replayed += runs.len() as i64;
        self.take_step(ReplayStep { replay, runs }).await
    }

    async fn take_step(&self, step: ReplayStep) -> Result<bool, EngineError> {
        let goes_on = step.replay.status == ReplayStatus::Running;
        match self.0.store.step_replay(step).await {
            Ok(()) => {
                self.queued();
                Ok(goes_on)
            }
            // It was held or ended meanwhile, or another server took the step.
            Err(StoreError::StateChanged) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The next runs to replay, and whether they are the last; moves the position behind them.
    async fn next_originals(&self, replay: &mut Replay, limit: u32) -> Result<(Vec<Run>, bool), EngineError> {
        let Some(named) = &replay.selection.runs else {
            let runs = self.0.store.failed_runs(&FailedRuns { limit, ..fitting(replay) }).await?;
            if let Some(last) = runs.last() {
                replay.position.after = Some((last.created_at, last.id.clone()));
            }
            let ended = runs.len() < limit as usize;
            return Ok((runs, ended));
        };
        let mut runs = Vec::new();
        let next: Vec<RunId> = named.iter().skip(replay.position.named).take(limit as usize).cloned().collect();
        let ended = replay.position.named + next.len() >= named.len();
        replay.position.named += next.len();
        for id in next {
            match self.0.store.run(&replay.org_id, &id).await? {
                Some(run) => runs.push(run),
                None => skip(replay, &format!("the run `{id}` is no longer kept")),
            }
        }
        Ok((runs, ended))
    }

    fn replay_all(&self, program: &Arc<Program>, replay: &mut Replay, originals: Vec<Run>) -> Result<Vec<(RunId, NewRun)>, EngineError> {
        let from = match &replay.selection.begin {
            ReplayBegin::Start => ReplayFrom::Start,
            ReplayBegin::Failed => ReplayFrom::Failed,
            ReplayBegin::Step(step) => ReplayFrom::Step(step.clone()),
        };
        let mut runs = Vec::with_capacity(originals.len());
        for original in originals {
            if original.kind != RunKind::Live {
                skip(replay, &format!("the run `{}` was a test", original.id));
                continue;
            }
            match self.replaying(program, &original, &from, Start::Queued) {
                Ok(run) => runs.push((original.id, run)),
                Err(error @ EngineError::Internal { .. }) => return Err(error),
                Err(error) => skip(replay, &error.to_string()),
            }
        }
        Ok(runs)
    }
}

fn skip(replay: &mut Replay, why: &str) {
    replay.skipped += 1;
    replay.note = Some(why.chars().take(500).collect());
}

/// Which runs fit a replay that names none, from where it stands.
fn fitting(replay: &Replay) -> FailedRuns {
    let selection = &replay.selection;
    FailedRuns {
        org_id: replay.org_id.clone(),
        owner: replay.owner.clone(),
        class: selection.class.clone(),
        group: selection.group.clone(),
        from: selection.from,
        to: selection.to,
        after: replay.position.after.clone(),
        limit: STEP_RUNS,
    }
}
