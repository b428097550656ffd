//! Rows of runs, logs, events, errors and replays, the same in each engine.

/// Functions that read them. `$Row`: a row of the engine, whose module has `corrupt`,
/// `corrupt_json`, `get`, `json`, `parsed`, `payload_bytes`, `time`, `with_text`.
#[macro_export]
macro_rules! run_rows {
    ($Row:ty) => {
        use ::millrace_model::clock::Timestamp;
        use ::millrace_model::error_event::{
            ErrorGroup, ErrorGroupChange, ErrorState, ErrorVersion,
        };
        use ::millrace_model::event::{Event, ListedEvent};
        use ::millrace_model::ids::{DeploymentId, ErrorGroupId, EventId, OrgId, ReplayId, RunId};
        use ::millrace_model::replay::{Replay, ReplaySelection, ReplayStatus, ReplayedRun};
        use ::millrace_model::run::{
            LogLevel, LogLine, LogPlace, OwnerLine, Run, RunKind, RunStatus, run_duration_ms,
        };
        use ::millrace_model::run_stats::{EndedRun, VersionRuns};
        use ::millrace_model::source::Owner;
        use $crate::{
            FailedRun, FailedTime, Lineage, ListedRun, NewestEvent, NewestOf, RunState, StoreResult,
        };

        pub(crate) fn run(row: &$Row) -> StoreResult<Run> {
            Ok(Run {
                id: RunId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                owner: Owner::from_row(get(row, "owner_id")?),
                deployment_id: get::<Option<String>>(row, "deployment_id")?
                    .map(DeploymentId::from_row),
                kind: parsed(row, "kind", RunKind::parse)?,
                trigger_id: get(row, "trigger_id")?,
                event: get(row, "event")?,
                context: get(row, "context")?,
                status: parsed(row, "status", RunStatus::parse)?,
                attempt: get(row, "attempt")?,
                created_at: time(row, "created_at")?,
                started_at: get::<Option<i64>>(row, "started_at")?.map(Timestamp),
                finished_at: get::<Option<i64>>(row, "finished_at")?.map(Timestamp),
                result: get(row, "result")?,
                error: get(row, "error")?,
            })
        }

        pub(crate) fn lineage(row: &$Row) -> StoreResult<Lineage> {
            let run = |column| get::<Option<String>>(row, column).map(|id| id.map(RunId::from_row));
            Ok(Lineage {
                replay_of: run("replay_of")?,
                replayed_by: run("replayed_by")?,
                event_edited: get::<Option<bool>>(row, "event_edited")?.unwrap_or(false),
                version: get(row, "version")?,
            })
        }

        pub(crate) fn listed_run(row: &$Row) -> StoreResult<ListedRun> {
            Ok(ListedRun { run: run(row)?, lineage: lineage(row)? })
        }

        pub(crate) fn run_state(row: &$Row) -> StoreResult<RunState> {
            Ok(RunState {
                id: RunId::from_row(get(row, "id")?),
                status: parsed(row, "status", RunStatus::parse)?,
                attempt: get(row, "attempt")?,
                created_at: time(row, "created_at")?,
            })
        }

        pub(crate) fn ended_run(row: &$Row) -> StoreResult<(String, EndedRun)> {
            let ends = |name| get::<Option<i64>>(row, name).map(|ms| ms.map(Timestamp));
            let (started, finished) = (ends("started_at")?, ends("finished_at")?);
            let run = EndedRun {
                accepted_at: time(row, "created_at")?,
                status: parsed(row, "status", RunStatus::parse)?,
                duration_ms: started.zip(finished).map(|(start, end)| run_duration_ms(start, end)),
            };
            Ok((get(row, "owner_id")?, run))
        }

        pub(crate) fn version_runs(row: &$Row) -> StoreResult<VersionRuns> {
            Ok(VersionRuns {
                deployment_id: DeploymentId::from_row(get(row, "deployment_id")?),
                unfinished: get(row, "unfinished")?,
                succeeded: get(row, "succeeded")?,
                failed: get(row, "failed")?,
                cancelled: get(row, "cancelled")?,
            })
        }

        pub(crate) fn log_line(row: &$Row) -> StoreResult<(RunId, LogLine)> {
            let line = LogLine {
                at: time(row, "at")?,
                level: with_text(row, "level", LogLevel::parse)?,
                text: get(row, "text")?,
                step: get(row, "step")?,
            };
            Ok((RunId::from_row(get(row, "run_id")?), line))
        }

        pub(crate) fn owner_line(row: &$Row) -> StoreResult<OwnerLine> {
            let (run_id, line) = log_line(row)?;
            Ok(OwnerLine {
                run_id,
                place: LogPlace { at: line.at.ms(), number: get(row, "place")? },
                line,
            })
        }

        pub(crate) fn event(row: &$Row) -> StoreResult<Event> {
            Ok(Event {
                id: EventId::from_ordinal(get(row, "ordinal")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                emitter_id: get(row, "emitter_id")?,
                name: get(row, "name")?,
                emit_id: get(row, "emit_id")?,
                payload: get(row, "payload")?,
                metadata: get(row, "metadata")?,
            })
        }

        /// One of a list.
        pub(crate) fn listed_event(row: &$Row) -> StoreResult<ListedEvent> {
            Ok(ListedEvent { event: event(row)?, payload_bytes: payload_bytes(row)? })
        }

        pub(crate) fn newest_of(row: &$Row) -> StoreResult<NewestOf> {
            let event = get::<Option<i64>>(row, "ordinal")?.map(|ordinal| -> StoreResult<_> {
                Ok(NewestEvent {
                    id: EventId::from_ordinal(ordinal),
                    name: get(row, "name")?,
                    metadata: get(row, "metadata")?,
                })
            });
            let failed = get::<Option<String>>(row, "run_id")?.map(|id| -> StoreResult<_> {
                let at = get::<Option<i64>>(row, "finished_at")?.map_or(Timestamp(0), Timestamp);
                Ok(FailedRun {
                    id: RunId::from_row(id),
                    at,
                    error: get::<Option<String>>(row, "error")?.unwrap_or_default(),
                })
            });
            Ok(NewestOf {
                emitter: get(row, "emitter")?,
                event: event.transpose()?,
                failed: failed.transpose()?,
            })
        }

        pub(crate) fn error_group(row: &$Row) -> StoreResult<ErrorGroup> {
            Ok(ErrorGroup {
                id: ErrorGroupId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                owner: get(row, "owner_id")?,
                class: get(row, "class")?,
                step: get(row, "step")?,
                frame: get(row, "frame")?,
                message: get(row, "message")?,
                last_run_id: RunId::from_row(get(row, "last_run_id")?),
                first_at: time(row, "first_at")?,
                last_at: time(row, "last_at")?,
                count: get(row, "count")?,
                state: state(row)?,
                state_at: get::<Option<i64>>(row, "state_at")?.map(Timestamp),
                note: get(row, "note")?,
            })
        }

        fn state(row: &$Row) -> StoreResult<ErrorState> {
            parsed(row, "state", ErrorState::parse)
        }

        /// A change of a group's state, with the user's name as `author`.
        pub(crate) fn error_group_change(row: &$Row) -> StoreResult<ErrorGroupChange> {
            Ok(ErrorGroupChange {
                at: time(row, "at")?,
                state: state(row)?,
                by: author(get(row, "user_id")?, get(row, "author")?),
                note: get(row, "note")?,
                run_id: get::<Option<String>>(row, "run_id")?.map(RunId::from_row),
            })
        }

        /// When a run failed, and its group.
        pub(crate) fn failed_time(row: &$Row) -> StoreResult<FailedTime> {
            let group: Option<String> = get(row, "error_group")?;
            Ok(FailedTime {
                at: time(row, "created_at")?,
                group: group.map(ErrorGroupId::from_row),
            })
        }

        /// A deployment that runs of a group failed in.
        pub(crate) fn error_version(row: &$Row) -> StoreResult<ErrorVersion> {
            Ok(ErrorVersion {
                deployment_id: DeploymentId::from_row(get(row, "deployment_id")?),
                version: get(row, "version")?,
                count: get(row, "count")?,
                first_at: time(row, "first_at")?,
                last_at: time(row, "last_at")?,
            })
        }

        pub(crate) fn replay(row: &$Row) -> StoreResult<Replay> {
            replay_with(row, json(row, "selection")?)
        }

        /// Without its event.
        pub(crate) fn listed_replay(row: &$Row) -> StoreResult<Replay> {
            let selection = with_text(row, "selection", ReplaySelection::light)?
                .map_err(|e| corrupt_json("selection", &e))?;
            replay_with(row, selection)
        }

        fn replay_with(row: &$Row, selection: ReplaySelection) -> StoreResult<Replay> {
            Ok(Replay {
                id: ReplayId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                owner: get(row, "owner_id")?,
                selection,
                status: parsed(row, "status", ReplayStatus::parse)?,
                version: get(row, "version")?,
                position: json(row, "position")?,
                total: get(row, "total")?,
                replayed: get(row, "replayed")?,
                skipped: get(row, "skipped")?,
                note: get(row, "note")?,
                created_at: time(row, "created_at")?,
                updated_at: time(row, "updated_at")?,
            })
        }

        pub(crate) fn replayed_run(row: &$Row) -> StoreResult<ReplayedRun> {
            Ok(ReplayedRun {
                original_id: RunId::from_row(get(row, "original_id")?),
                run_id: RunId::from_row(get(row, "run_id")?),
                status: get::<Option<String>>(row, "status")?
                    .map(|text| RunStatus::parse(&text).ok_or_else(|| corrupt("status")))
                    .transpose()?,
            })
        }
    };
}
