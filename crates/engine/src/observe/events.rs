//! The history: events, runs, logs, mail.

use std::collections::HashMap;

use millrace_model::clock::Timestamp;
use millrace_model::event::{Event, EventFilter, ListedEvent};
use millrace_model::ids::{EventId, MailId, RunId, SourceId, WorkflowId};
use millrace_model::page::{Listing, Page, Room};
use millrace_model::run::{LogFilter, OwnerLine, RunKind};
use millrace_model::run_stats::{Buckets, BucketsError, EndedRun, RunCounts};
use millrace_model::tenant::Caller;
use millrace_store::{ListedRun, Mail, NewestOf, RunFilter, RunState};

use crate::background::Task;
use crate::observe::views::RunView;
use crate::settle::sends::{owner_of, sse_emitter};
use crate::{Engine, EngineError, deliver};

/// Runs that statistics look at.
const STATS_RUNS_MAX: u32 = 100_000;
const DAY_MS: i64 = 24 * 3600 * 1000;

/// Of which time statistics are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskedStats {
    /// From when; none: a day before the end.
    pub from: Option<Timestamp>,
    /// Until when; none: now.
    pub to: Option<Timestamp>,
    /// The length of a bucket; none: a 24th of the time.
    pub bucket_ms: Option<i64>,
}

/// Statistics of runs that ended.
#[derive(Clone, Debug)]
pub struct RunStats {
    /// The time.
    pub buckets: Buckets,
    /// All of it.
    pub total: RunCounts,
    /// Each bucket, with its beginning.
    pub parts: Vec<(Timestamp, RunCounts)>,
    /// When the oldest run was accepted that was looked at, where there were too many; none: all
    /// were.
    pub looked_at_from: Option<Timestamp>,
}

/// Statistics of runs that ended, of each workflow and source.
#[derive(Clone, Debug)]
pub struct OwnerStats {
    buckets: Buckets,
    runs: HashMap<String, Vec<EndedRun>>,
    looked_at_from: Option<Timestamp>,
}

impl OwnerStats {
    /// Those of one.
    pub fn of(&self, owner: &str) -> RunStats {
        let (total, parts) = self.buckets.count(self.runs.get(owner).map_or(&[], Vec::as_slice));
        RunStats { buckets: self.buckets, total, parts, looked_at_from: self.looked_at_from }
    }
}

impl Engine {
    /// That `owner` is a source or workflow of the caller's organization.
    pub(crate) async fn check_owner(
        &self,
        caller: &Caller,
        owner: &str,
    ) -> Result<(), EngineError> {
        let owner = owner_of(owner);
        let (what, exists) = if owner.starts_with(SourceId::PREFIX) {
            let exists = match owner.parse() {
                Ok(id) => self
                    .0
                    .store
                    .source(&caller.org_id, &id)
                    .await?
                    .is_some_and(|source| caller.may_use(source.external_user_id.as_deref())),
                Err(_) => false,
            };
            ("source", exists)
        } else {
            let exists = match owner.parse::<WorkflowId>() {
                Ok(id) => self.0.store.workflow(&caller.org_id, &id).await?.is_some(),
                Err(_) => false,
            };
            ("workflow", exists)
        };
        if exists { Ok(()) } else { Err(EngineError::not_found(what, owner)) }
    }

    /// The newest events of a stream, newest first (spec 4.2); not `whole`: summaries. `NoMemory`
    /// where the page has no room.
    pub async fn list_events(
        &self,
        caller: &Caller,
        emitter: &str,
        which: EventFilter<'_>,
        whole: bool,
        page: &Page,
    ) -> Result<Listing<ListedEvent>, EngineError> {
        self.check_owner(caller, emitter).await?;
        Ok(self.0.store.list_events(&caller.org_id, emitter, which, whole, page).await?)
    }

    /// The newest event and the newest failed run of each of these, read at once.
    pub async fn newest_of(
        &self,
        caller: &Caller,
        emitters: Vec<String>,
    ) -> Result<Vec<NewestOf>, EngineError> {
        Ok(self.0.store.newest_of(&caller.org_id, emitters).await?)
    }

    /// Events after one, oldest first, for streams that resume.
    pub async fn events_after(
        &self,
        caller: &Caller,
        emitter: &str,
        after: EventId,
        limit: u32,
    ) -> Result<Vec<Event>, EngineError> {
        self.check_owner(caller, emitter).await?;
        Ok(self.0.store.events_after(&caller.org_id, emitter, after, limit).await?)
    }

    /// The emitter of what a workflow sends with `$.send.sse`: a stream and a history as those of
    /// events.
    pub fn sse_emitter(&self, workflow: &WorkflowId) -> String {
        sse_emitter(workflow.as_str())
    }

    /// Removes events within an inclusive range; either bound may be missing.
    pub async fn delete_events(
        &self,
        caller: &Caller,
        emitter: &str,
        name: Option<&str>,
        start: Option<EventId>,
        end: Option<EventId>,
    ) -> Result<u64, EngineError> {
        self.check_owner(caller, emitter).await?;
        Ok(self.0.store.delete_events(&caller.org_id, emitter, name, (start, end)).await?)
    }

    /// The newest log lines of a source or workflow that fit, the oldest of them first.
    pub async fn owner_logs(
        &self,
        caller: &Caller,
        owner: &str,
        filter: &LogFilter,
        limit: u32,
    ) -> Result<Vec<OwnerLine>, EngineError> {
        let lines = self.0.store.owner_logs(&caller.org_id, owner, filter, limit).await?;
        if lines.is_empty() {
            self.check_owner(caller, owner).await?;
        }
        // Of what was deleted the log tells how that went (reference 3), as long as it is kept.
        Ok(lines)
    }

    /// A run with its logs.
    pub async fn run(&self, caller: &Caller, id: &RunId) -> Result<RunView, EngineError> {
        let run = self
            .0
            .store
            .run(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("run", id))?;
        let logs = self.0.store.run_logs(id).await?;
        let deliveries = self
            .0
            .store
            .run_deliveries(id)
            .await?
            .into_iter()
            .map(|d| (deliver::target(&d), d))
            .collect();
        let lineage = self.0.store.lineage(&caller.org_id, id).await?.unwrap_or_default();
        Ok(RunView { run, lineage, logs, deliveries })
    }

    /// The same where there is room for it, `NoMemory` where not.
    pub async fn run_with_room(
        &self,
        caller: &Caller,
        id: &RunId,
        room: &Room,
    ) -> Result<RunView, EngineError> {
        let bytes = self
            .0
            .store
            .run_bytes(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("run", id))?;
        if !room.take(bytes) {
            return Err(EngineError::NoMemory);
        }
        self.run(caller, id).await
    }

    /// Runs of a source or workflow of the organization, newest first, as whole records. `NoMemory`
    /// where the page has no room.
    pub async fn list_runs_of(
        &self,
        caller: &Caller,
        owner: String,
        filter: RunFilter,
        page: &Page,
    ) -> Result<Listing<ListedRun>, EngineError> {
        self.check_owner(caller, &owner).await?;
        self.list_runs(caller, &RunFilter { owner: Some(owner), ..filter }, true, page).await
    }

    /// Runs of the organization, newest first, also those of owners that were deleted since; not
    /// `whole`: light records. `NoMemory` where the page has no room.
    pub async fn list_runs(
        &self,
        caller: &Caller,
        filter: &RunFilter,
        whole: bool,
        page: &Page,
    ) -> Result<Listing<ListedRun>, EngineError> {
        Ok(self.0.store.list_runs(&caller.org_id, filter, whole, page).await?)
    }

    /// The newest runs of a source or workflow from a time on, newest first, as far as it shows
    /// whether they changed.
    pub async fn run_states(
        &self,
        caller: &Caller,
        owner: &str,
        from: Timestamp,
        limit: u32,
    ) -> Result<Vec<RunState>, EngineError> {
        self.check_owner(caller, owner).await?;
        Ok(self.0.store.run_states(&caller.org_id, owner, from, limit).await?)
    }

    /// Statistics of runs that ended, of the organization or one owner, also one that was deleted
    /// since.
    pub async fn run_stats(
        &self,
        caller: &Caller,
        owner: Option<&str>,
        kind: RunKind,
        asked: &AskedStats,
    ) -> Result<RunStats, EngineError> {
        let to = asked.to.unwrap_or_else(|| self.now());
        let from = asked.from.unwrap_or_else(|| to.plus_ms(-DAY_MS));
        let buckets = Buckets::of(from, to, asked.bucket_ms).map_err(|error| {
            let field = if error == BucketsError::Empty { "to" } else { "bucket_ms" };
            EngineError::invalid(field, error.to_string())
        })?;
        let found = self
            .0
            .store
            .ended_runs(&caller.org_id, owner, kind, (from, to), STATS_RUNS_MAX)
            .await?;
        let (total, parts) = buckets.count(&found.runs);
        Ok(RunStats { buckets, total, parts, looked_at_from: found.looked_at_from })
    }

    /// Those of live runs of one owner in the time before now.
    pub async fn latest_run_stats(
        &self,
        caller: &Caller,
        owner: &str,
        window_ms: i64,
        bucket_ms: i64,
    ) -> Result<RunStats, EngineError> {
        let to = self.now();
        let asked = AskedStats {
            from: Some(to.plus_ms(-window_ms)),
            to: Some(to),
            bucket_ms: Some(bucket_ms),
        };
        self.run_stats(caller, Some(owner), RunKind::Live, &asked).await
    }

    /// The same of each owner in the organization, read once for all.
    pub async fn owner_stats(
        &self,
        caller: &Caller,
        window_ms: i64,
        bucket_ms: i64,
    ) -> Result<OwnerStats, EngineError> {
        let to = self.now();
        let from = to.plus_ms(-window_ms);
        let buckets = Buckets::of(from, to, Some(bucket_ms))
            .map_err(|error| EngineError::internal("buckets of a known window", error))?;
        let found = self
            .0
            .store
            .ended_runs(&caller.org_id, None, RunKind::Live, (from, to), STATS_RUNS_MAX)
            .await?;
        let mut runs: HashMap<String, Vec<EndedRun>> = HashMap::new();
        for (owner, run) in found.owners.into_iter().zip(found.runs) {
            runs.entry(owner).or_default().push(run);
        }
        Ok(OwnerStats { buckets, runs, looked_at_from: found.looked_at_from })
    }

    /// A mail of the outbox.
    pub async fn mail(&self, caller: &Caller, id: &MailId) -> Result<Mail, EngineError> {
        self.0
            .store
            .mail(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("mail", id))
    }

    /// Lets a mail be sent again, or at once: its tries begin anew.
    pub async fn resend_mail(&self, caller: &Caller, id: &MailId) -> Result<Mail, EngineError> {
        if !self.0.store.resend_mail(&caller.org_id, id, self.now()).await? {
            return Err(EngineError::not_found("mail", id));
        }
        self.0.tasks.wake(Task::Mailer);
        self.mail(caller, id).await
    }

    /// The outbox, newest first.
    pub async fn list_mail(
        &self,
        caller: &Caller,
        page: &Page,
    ) -> Result<Listing<Mail>, EngineError> {
        Ok(self.0.store.list_mail(&caller.org_id, page).await?)
    }
}
