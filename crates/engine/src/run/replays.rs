//! Replays of many runs: a job in the store, taken step by step. A step queues a few runs and
//! remembers how far it came, in one transaction; so the job goes on where it stood after a crash,
//! and no run is replayed twice, however many servers take steps.

use std::sync::Arc;

use millrace_model::ids::{ErrorGroupId, ReplayId, RunId};
use millrace_model::page::{Listing, Page};
use millrace_model::replay::{
    Replay, ReplayBegin, ReplayCounts, ReplayStatus, ReplayVersion, ReplayedRun,
};
use millrace_model::run::{Context, NewRun, Original, Run, RunKind, Start};
use millrace_model::run_filter::RunFilter;
use millrace_model::search::AskedWord;
use millrace_model::source::Owner;
use millrace_model::tenant::{Caller, Scope};
use millrace_model::workflow::Workflow;
use millrace_model::{Timestamp, error_event};
use millrace_store::{ReplayStep, StoreError};
use serde_json::Value;

use crate::background::Task;
use crate::observe::views::ReplayView;
use crate::run::context::Origin;
use crate::run::program::{BuiltSteps, Program};
use crate::run::replay_from::results_before;
use crate::run::replay_plan::{fitting, version_of};
use crate::{Engine, EngineError, ReplayFrom, check_scope};

/// Runs of one replay that are queued or under way at once: others find room beside it.
const UNDER_WAY_MAX: u64 = 100;
/// Runs that one step queues.
const STEP_RUNS: u32 = 50;
/// How often a change is tried anew where a step came first.
const TRIES_MAX: u32 = 50;

/// A replay of many runs, as it is asked for.
#[derive(Clone, Debug, Default)]
pub struct NewReplay {
    /// The workflow or source whose runs they are; none: of any, where runs are named or a filter
    /// is given.
    pub owner: Option<String>,
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
    /// In place of all that: the live runs that ended and fit.
    pub filter: Option<RunFilter>,
    /// Of those that `filter` is of, the runs that have all these words.
    pub words: Option<Vec<Vec<AskedWord>>>,
    /// Where each begins.
    pub begin: ReplayBegin,
    /// Which version runs.
    pub version: ReplayVersion,
    /// What takes the place of each run's event; only for runs of one owner.
    pub event: Option<Value>,
}

/// A replay of one run, as it is asked for.
#[derive(Clone, Debug)]
pub struct RunReplay {
    /// Where it begins.
    pub from: ReplayFrom,
    /// Which version runs.
    pub version: ReplayVersion,
    /// Another event than the run had.
    pub event: Option<Value>,
}

impl RunReplay {
    fn text(&self) -> Option<Arc<str>> {
        self.event.as_ref().map(|event| event.to_string().into())
    }
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
    pub async fn create_replay(
        &self,
        caller: &Caller,
        new: NewReplay,
    ) -> Result<ReplayView, EngineError> {
        let replay = self.planned(caller, new).await?;
        self.0.store.create_replay(replay.clone()).await?;
        self.0.tasks.wake(Task::Replayer);
        Ok(ReplayView { replay, counts: ReplayCounts::default() })
    }

    /// How many runs a replay would begin with; none: more than are counted.
    pub async fn count_replay(
        &self,
        caller: &Caller,
        new: NewReplay,
    ) -> Result<Option<i64>, EngineError> {
        Ok(self.planned(caller, new).await?.total)
    }

    /// A replay.
    pub async fn replay(&self, caller: &Caller, id: &ReplayId) -> Result<ReplayView, EngineError> {
        let replay = self
            .0
            .store
            .replay(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("replay", id))?;
        let counts = self.0.store.replay_counts(id).await?;
        Ok(ReplayView { replay, counts })
    }

    /// The replays, newest first, without their events and what became of their runs.
    pub async fn list_replays(
        &self,
        caller: &Caller,
        page: &Page,
    ) -> Result<Listing<Replay>, EngineError> {
        Ok(self.0.store.list_replays(&caller.org_id, page).await?)
    }

    /// The runs that a replay made.
    pub async fn replayed_runs(
        &self,
        caller: &Caller,
        id: &ReplayId,
        page: &Page,
    ) -> Result<Listing<ReplayedRun>, EngineError> {
        self.0
            .store
            .replay(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("replay", id))?;
        Ok(self.0.store.replayed_runs(id, page).await?)
    }

    /// Holds a replay, lets it go on, or ends it. What it queued stays queued.
    pub async fn change_replay(
        &self,
        caller: &Caller,
        id: &ReplayId,
        change: ReplayChange,
    ) -> Result<ReplayView, EngineError> {
        for _ in 0..TRIES_MAX {
            let replay = self
                .0
                .store
                .replay(&caller.org_id, id)
                .await?
                .ok_or_else(|| EngineError::not_found("replay", id))?;
            let status = match (change, replay.status) {
                (_, ended) if ended.is_final() => {
                    return Err(EngineError::Conflict {
                        code: "replay_has_ended",
                        message: format!("the replay `{id}` has ended: {}", ended.as_str()),
                    });
                }
                (ReplayChange::Pause, _) => ReplayStatus::Paused,
                (ReplayChange::Resume, _) => ReplayStatus::Running,
                (ReplayChange::Cancel, _) => ReplayStatus::Cancelled,
            };
            if status == replay.status {
                return self.replay(caller, id).await;
            }
            let next =
                Replay { status, version: replay.version + 1, updated_at: self.now(), ..replay };
            match self.0.store.step_replay(ReplayStep { replay: next, runs: Vec::new() }).await {
                Err(StoreError::StateChanged) => {}
                other => {
                    other?;
                    self.0.tasks.wake(Task::Replayer);
                    return self.replay(caller, id).await;
                }
            }
        }
        Err(EngineError::internal(
            "a replay kept changing while it was to be changed",
            id.to_string(),
        ))
    }

    /// The same event again, or another one, as a new run: all of it, or from a step on with the
    /// results of the steps before.
    pub async fn replay_run(
        &self,
        caller: &Caller,
        id: &RunId,
        asked: &RunReplay,
    ) -> Result<Run, EngineError> {
        let run = self
            .0
            .store
            .run(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("run", id))?;
        if asked.version == ReplayVersion::Draft {
            return self.replay_on_draft(caller, &run, asked).await;
        }
        let version = version_of(&run, asked.version)?;
        let program = self.program(&run.org_id, &run.owner, version).await?;
        let program = program.ok_or_else(|| match (version, &run.owner) {
            (Some(deployment), _) => EngineError::not_found("deployment", deployment),
            (None, Owner::Workflow(id)) => EngineError::not_found("workflow", id),
            (None, Owner::Source(id)) => EngineError::not_found("source", id),
        })?;
        let replay = self.replaying(
            &program,
            &run,
            (asked, asked.text().as_ref()),
            Start::Claimed { lease_until: self.lease_until() },
        )?;
        self.wait_for(caller, &program, replay).await
    }

    /// What is saved and not deployed is run by callers who may deploy it. `ScopeMissing`.
    pub(crate) fn check_may_run_draft(
        &self,
        caller: &Caller,
        workflow: &Workflow,
    ) -> Result<(), EngineError> {
        if workflow.drafted.is_changed { check_scope(caller, Scope::Deploy) } else { Ok(()) }
    }

    /// On the newest version that is not live: a test, as all runs of a draft are.
    async fn replay_on_draft(
        &self,
        caller: &Caller,
        run: &Run,
        asked: &RunReplay,
    ) -> Result<Run, EngineError> {
        let Owner::Workflow(workflow) = &run.owner else {
            return Err(EngineError::invalid(
                "version",
                "a source has no draft; allowed are `live` and `original`",
            ));
        };
        let workflow = self.owned_workflow(caller, workflow).await?;
        self.check_may_run_draft(caller, &workflow)?;
        let version = workflow.draft.clone();
        let program =
            Arc::new(self.prepare_workflow(workflow, &version, None, &BuiltSteps::new()).await?);
        let ended = match self.replaying(
            &program,
            run,
            (asked, asked.text().as_ref()),
            Start::Claimed { lease_until: self.lease_until() },
        ) {
            Ok(replay) => self.wait_for(caller, &program, replay).await,
            Err(refused) => Err(refused),
        };
        if let Program::Workflow(workflow) = &*program {
            self.0.runner.evict(&workflow.isolate.id).await;
        }
        ended
    }

    /// A run of the same event again, or of another one. `text`: that of [`RunReplay::event`],
    /// shared by all runs that get it, as one text that several runs have is stored once.
    fn replaying(
        &self,
        program: &Program,
        run: &Run,
        (asked, text): (&RunReplay, Option<&Arc<str>>),
        start: Start,
    ) -> Result<NewRun, EngineError> {
        let context: Context = millrace_model::json::from_str(&run.context)
            .map_err(|e| EngineError::damaged("a stored context", e))?;
        if asked.event.is_none() && context.keeps_nothing && run.event == error_event::KEPT_NOTHING
        {
            let message = format!(
                "the run `{}` kept no data, so there is no event to replay; give one as `event`",
                run.id
            );
            return Err(EngineError::Conflict { code: "not_kept", message });
        }
        let origin = Origin {
            trace_id: Some(context.trace_id),
            handles_error: context.handles_error,
            replay: true,
            keeps_nothing: context.keeps_nothing,
            hops: context.hops,
            kind: if asked.version == ReplayVersion::Draft { RunKind::Test } else { RunKind::Live },
            ..Origin::first("SDK", run.trigger_id.clone())
        };
        let result = match (&asked.from, program) {
            (ReplayFrom::Start, _) => None,
            (from, Program::Workflow(workflow)) => {
                let before = results_before(&workflow.namespaces, run, from.clone())?;
                Some(
                    serde_json::to_string(&before)
                        .map_err(|e| EngineError::internal("could not write a result", e))?,
                )
            }
            (_, Program::Source(_) | Program::Damaged(_)) => {
                return Err(EngineError::invalid(
                    "from_step",
                    "a source has no steps; only a workflow's run is replayed from a step",
                ));
            }
        };
        let event_edited = asked.event.as_ref().is_some_and(|event| {
            millrace_model::json::read(&run.event).ok().as_ref() != Some(event)
        });
        let event: Arc<str> =
            text.filter(|_| event_edited).cloned().unwrap_or_else(|| run.event.as_str().into());
        Ok(NewRun {
            result,
            replays: Some(Original { id: run.id.clone(), event_edited }),
            ..self.new_run(program, &origin, event, start)?
        })
    }

    pub(super) async fn step_replay(&self, mut replay: Replay) -> Result<bool, EngineError> {
        let room = UNDER_WAY_MAX.saturating_sub(self.0.store.replay_under_way(&replay.id).await?);
        let limit = u32::try_from(room).unwrap_or(STEP_RUNS).min(STEP_RUNS);
        if limit == 0 {
            return Ok(false);
        }
        replay.version += 1;
        replay.updated_at = self.now();
        if let Some(owner) =
            (!replay.owner.is_empty()).then(|| Owner::from_row(replay.owner.clone()))
            && self.program_or_damaged(&replay.org_id, &owner, None).await?.is_none()
        {
            replay.status = ReplayStatus::Failed;
            replay.note = Some(format!(
                "there is no `{}` any more, or no version of it is deployed",
                replay.owner
            ));
            return self.take_step(ReplayStep { replay, runs: Vec::new() }).await;
        }
        let (originals, ended) = self.next_originals(&mut replay, limit).await?;
        if ended {
            replay.status = ReplayStatus::Done;
        }
        let runs = self.replay_all(&mut replay, originals).await?;
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
    async fn next_originals(
        &self,
        replay: &mut Replay,
        limit: u32,
    ) -> Result<(Vec<Run>, bool), EngineError> {
        let Some(named) = &replay.selection.runs else {
            let runs = match &replay.selection.filter {
                Some(filter) => {
                    self.0
                        .store
                        .matching_runs(
                            &replay.org_id,
                            filter,
                            replay.position.after.as_ref(),
                            limit,
                        )
                        .await?
                }
                None => self.0.store.failed_runs(&fitting(replay, limit)).await?,
            };
            if let Some(last) = runs.last() {
                replay.position.after = Some((last.created_at, last.id.clone()));
            }
            let ended = runs.len() < limit as usize;
            return Ok((runs, ended));
        };
        let mut runs = Vec::new();
        let next: Vec<RunId> =
            named.iter().skip(replay.position.named).take(limit as usize).cloned().collect();
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

    async fn replay_all(
        &self,
        replay: &mut Replay,
        originals: Vec<Run>,
    ) -> Result<Vec<(Original, NewRun)>, EngineError> {
        let from = match &replay.selection.begin {
            ReplayBegin::Start => ReplayFrom::Start,
            ReplayBegin::Failed => ReplayFrom::Failed,
            ReplayBegin::Step(step) => ReplayFrom::Step(step.clone()),
        };
        let event = replay.selection.event.clone();
        let asked = RunReplay { from, version: replay.selection.version, event };
        let text = asked.text();
        let mut runs = Vec::with_capacity(originals.len());
        for original in originals {
            if original.kind != RunKind::Live {
                skip(replay, &format!("the run `{}` was a test", original.id));
                continue;
            }
            let version = match version_of(&original, asked.version) {
                Ok(version) => version,
                Err(without) => {
                    skip(replay, &without.to_string());
                    continue;
                }
            };
            let Some(program) =
                self.program_or_damaged(&original.org_id, &original.owner, version).await?
            else {
                skip(
                    replay,
                    &format!("what the run `{}` ran is gone, or not deployed", original.id),
                );
                continue;
            };
            match self.replaying(&program, &original, (&asked, text.as_ref()), Start::Queued) {
                // The replay keeps which run replays which.
                Ok(mut run) => {
                    let of = run.replays.take().unwrap_or_else(|| Original::of(original.id));
                    runs.push((of, run));
                }
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
