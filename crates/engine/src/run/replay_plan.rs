//! Plan of a replay of many runs: checks what is asked for, and counts the runs.

use millrace_model::Timestamp;
use millrace_model::ids::{DeploymentId, OrgId, ReplayId, RunId, SourceId};
use millrace_model::replay::{
    RUNS_NAMED_MAX, Replay, ReplayBegin, ReplayPosition, ReplaySelection, ReplayStatus,
    ReplayVersion,
};
use millrace_model::run::{Run, RunKind, RunStatus};
use millrace_model::run_filter::RunFilter;
use millrace_model::source::Owner;
use millrace_model::tenant::{Caller, Scope};
use millrace_store::FailedRuns;
use serde_json::Value;

use super::replays::NewReplay;
use crate::owners::check_owner;
use crate::run::program::Program;
use crate::run::replay_from::step_at;
use crate::{Engine, EngineError, check_scope};

/// Runs that are counted when a replay is made.
const COUNT_MAX: u32 = 100_000;
/// Bytes of an event that a replay of many runs keeps.
const GIVEN_EVENT_BYTES_MAX: usize = 64 << 10;

impl Engine {
    /// A replay that can be made, with the number of its runs.
    pub(super) async fn planned(
        &self,
        caller: &Caller,
        new: NewReplay,
    ) -> Result<Replay, EngineError> {
        // A choice by what runs held, and its count, would answer questions about the history.
        if new.runs.is_none() {
            check_scope(caller, Scope::Read)?;
        }
        if let Some(owner) = &new.owner {
            check_owner(&self.0.ctx, caller, owner).await?;
        }
        let now = self.now();
        check_choice(&new)?;
        let owner = new
            .owner
            .clone()
            .or_else(|| new.filter.as_ref().and_then(|filter| filter.owner.clone()));
        self.check_against_owner(caller, owner.as_deref(), &new).await?;
        let selection = self.selection(caller, new, now).await?;
        let mut replay = Replay {
            id: ReplayId::generate(&self.0.ids),
            org_id: caller.org_id.clone(),
            owner: owner.unwrap_or_default(),
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
        let count = self.count_selected(&replay).await?;
        replay.total = (count < u64::from(COUNT_MAX)).then_some(count as i64);
        Ok(replay)
    }

    /// Checks the event, the first step and the group of errors against the owner of the runs,
    /// where it is known.
    async fn check_against_owner(
        &self,
        caller: &Caller,
        owner: Option<&str>,
        new: &NewReplay,
    ) -> Result<(), EngineError> {
        if let Some(event) = &new.event {
            self.check_given_event(caller, owner, event).await?;
        }
        if owner.is_some_and(|owner| owner.starts_with(SourceId::PREFIX))
            && new.begin != ReplayBegin::Start
        {
            return Err(EngineError::invalid(
                "from_step",
                "a source has no steps; only a workflow's run is replayed from a step",
            ));
        }
        if let (Some(owner), ReplayBegin::Step(step), ReplayVersion::Live) =
            (owner, &new.begin, new.version)
        {
            let owner = Owner::from_row(owner.to_owned());
            let live = self.program_or_damaged(&caller.org_id, &owner, None).await?;
            if let Some(Program::Workflow(workflow)) = live.as_deref() {
                step_at(&workflow.namespaces, step)?;
            }
        }
        if let Some(group) = &new.group {
            let known = self
                .0
                .store
                .error_group(&caller.org_id, group)
                .await?
                .is_some_and(|g| Some(&g.owner) == new.owner.as_ref());
            if !known {
                return Err(EngineError::not_found("group of errors", group));
            }
        }
        Ok(())
    }

    /// The runs that are replayed, and how, as the replay keeps it.
    async fn selection(
        &self,
        caller: &Caller,
        new: NewReplay,
        now: Timestamp,
    ) -> Result<ReplaySelection, EngineError> {
        let runs = match new.runs {
            Some(runs) => Some(self.check_named(&caller.org_id, new.owner.as_deref(), runs).await?),
            None => None,
        };
        let filter = new.filter.map(|filter| ended_before(filter, now)).transpose()?;
        let filter = match (filter, &new.words) {
            (Some(filter), Some(words)) => Some(self.runs().having(caller, words, filter).await?),
            (filter, _) => filter,
        };
        // What fails from now on is not replayed: a replay would else meet its own runs.
        let to = if runs.is_none() && filter.is_none() {
            Some(new.to.unwrap_or(now).min(now))
        } else {
            None
        };
        Ok(ReplaySelection {
            runs,
            class: new.class,
            group: new.group,
            from: new.from,
            to,
            filter,
            event: new.event,
            begin: new.begin,
            version: new.version,
        })
    }

    /// How many runs a replay has, up to [`COUNT_MAX`] where it names none.
    async fn count_selected(&self, replay: &Replay) -> Result<u64, EngineError> {
        let store = &self.0.store;
        Ok(match (&replay.selection.runs, &replay.selection.filter) {
            (Some(runs), _) => runs.len() as u64,
            (None, Some(filter)) => store.count_runs(&replay.org_id, filter, COUNT_MAX).await?,
            (None, None) => store.count_failed_runs(&fitting(replay, COUNT_MAX)).await?,
        })
    }

    /// Checks an event that takes the place of those of many runs: the replay keeps it.
    async fn check_given_event(
        &self,
        caller: &Caller,
        owner: Option<&str>,
        event: &Value,
    ) -> Result<(), EngineError> {
        let Some(owner) = owner else {
            let message = "`event` takes the place of the events of one workflow's or source's runs; say whose with `workflow_id`, `source_id` or `owner_id` of `filter`";
            return Err(EngineError::invalid("event", message));
        };
        let bytes = event.to_string().len();
        if bytes > GIVEN_EVENT_BYTES_MAX {
            return Err(EngineError::TooLarge {
                message: format!(
                    "`event` has {bytes} bytes; allowed for a replay of many runs are {GIVEN_EVENT_BYTES_MAX}"
                ),
            });
        }
        let owner = Owner::from_row(owner.to_owned());
        let program = self.program_or_damaged(&caller.org_id, &owner, None).await?;
        if program.is_some_and(|program| program.keeps_nothing()) {
            let message = "the workflow keeps no data (`keep_data`), and a replay of many runs keeps its `event`; use POST /v1/runs/{id}/replay for each run";
            return Err(EngineError::invalid("event", message));
        }
        Ok(())
    }

    /// Runs that are the owner's, or the organization's, and have ended, each once.
    async fn check_named(
        &self,
        org: &OrgId,
        owner: Option<&str>,
        mut runs: Vec<RunId>,
    ) -> Result<Vec<RunId>, EngineError> {
        if runs.is_empty() || runs.len() > RUNS_NAMED_MAX {
            return Err(EngineError::invalid(
                "runs",
                format!("`runs` names {} runs; allowed are 1 to {RUNS_NAMED_MAX}", runs.len()),
            ));
        }
        runs.sort();
        runs.dedup();
        for id in &runs {
            let run = self
                .0
                .store
                .run(org, id)
                .await?
                .filter(|run| owner.is_none_or(|owner| run.owner.as_str() == owner))
                .ok_or_else(|| EngineError::not_found("run", id))?;
            if !run.status.is_final() {
                return Err(EngineError::invalid(
                    "runs",
                    format!("the run `{id}` has not ended: it is {}", run.status.as_str()),
                ));
            }
        }
        Ok(runs)
    }
}

/// Refuses choices of runs that exclude each other, and a version that many runs cannot have.
fn check_choice(new: &NewReplay) -> Result<(), EngineError> {
    let selects =
        new.class.is_some() || new.group.is_some() || new.from.is_some() || new.to.is_some();
    if new.runs.is_some() && (selects || new.filter.is_some()) {
        return Err(EngineError::invalid(
            "runs",
            "`runs` names the runs; it excludes `filter`, `class`, `group`, `from` and `to`",
        ));
    }
    if new.filter.is_some() && (selects || new.owner.is_some()) {
        let message = "`filter` says which runs; it excludes `workflow_id`, `source_id`, `class`, `group`, `from` and `to`: put them into it";
        return Err(EngineError::invalid("filter", message));
    }
    if new.from.zip(new.to).is_some_and(|(from, to)| from >= to) {
        return Err(EngineError::invalid("from", "`from` is not before `to`: no run matches"));
    }
    if new.version == ReplayVersion::Draft {
        let message = "a draft runs as a test, one run at a time, and no test is queued: use POST /v1/runs/{id}/replay for each run; allowed here are `live` and `original`";
        return Err(EngineError::invalid("version", message));
    }
    Ok(())
}

/// The deployment that a replay of the run needs; none: the live one. Refuses `original` for a run
/// that no version is recorded of.
pub(super) fn version_of(
    run: &Run,
    version: ReplayVersion,
) -> Result<Option<&DeploymentId>, EngineError> {
    if version != ReplayVersion::Original {
        return Ok(None);
    }
    run.deployment_id.as_ref().map(Some).ok_or_else(|| {
        let message = format!(
            "no version is recorded of the run `{}`: it was a test or a hook, or ran before \
             versions were recorded; replay it with `live`",
            run.id
        );
        EngineError::invalid("version", message)
    })
}

/// The filter of live runs that ended, accepted before now: a replay never meets its own runs.
fn ended_before(mut filter: RunFilter, now: Timestamp) -> Result<RunFilter, EngineError> {
    if filter.statuses.is_empty() {
        filter.statuses = vec![RunStatus::Succeeded, RunStatus::Failed, RunStatus::Cancelled];
    }
    if let Some(other) = filter.statuses.iter().find(|status| !status.is_final()) {
        let message = format!(
            "a run that is {} cannot be replayed; allowed are succeeded, failed and cancelled",
            other.as_str()
        );
        return Err(EngineError::invalid("status", message));
    }
    if filter.kind.is_some_and(|kind| kind != RunKind::Live) {
        return Err(EngineError::invalid(
            "kind",
            "only live runs are replayed together; allowed is `live`",
        ));
    }
    filter.kind = Some(RunKind::Live);
    filter.to = Some(filter.to.unwrap_or(now).min(now));
    Ok(filter)
}

/// Which runs fit a replay that names none, from where it stands.
pub(super) fn fitting(replay: &Replay, limit: u32) -> FailedRuns {
    let selection = &replay.selection;
    FailedRuns {
        org_id: replay.org_id.clone(),
        owner: replay.owner.clone(),
        class: selection.class.clone(),
        group: selection.group.clone(),
        from: selection.from,
        to: selection.to,
        after: replay.position.after.clone(),
        limit,
    }
}
