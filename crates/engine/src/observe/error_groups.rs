//! Groups of errors: their lists, and the state that people give them.

use std::sync::Arc;

use std::collections::HashMap;

use millrace_model::clock::Timestamp;
use millrace_model::error_event::{ErrorGroup, ErrorGroupChange, ErrorState, ErrorVersion};
use millrace_model::ids::ErrorGroupId;
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::Caller;
use millrace_store::{ErrorGroupFilter, FailedTime};

use crate::EngineError;
use crate::checks::checked_note;
use crate::ctx::Ctx;
use crate::owners::check_owner;

/// Failed runs of the owner that are looked at for the versions of a group.
const VERSIONS_SCAN: u32 = 10_000;

/// Failed runs of an organization that are looked at for the days of its groups.
const DAYS_SCAN: u32 = 20_000;
/// Days that a list of groups counts at most.
const DAYS_MAX: u32 = 30;
const DAY_MS: i64 = 24 * 3600 * 1000;

/// How often each group of an organization was seen on each of some days of 24 hours.
#[derive(Clone, Debug)]
pub struct ErrorDays {
    counts: HashMap<ErrorGroupId, Vec<i64>>,
    /// Days before this one were not looked at to their end.
    known_from: usize,
    days: usize,
}

impl ErrorDays {
    fn of(found: &[FailedTime], from: Timestamp, days: u32) -> Self {
        let days = days as usize;
        let day = |at: Timestamp| {
            usize::try_from((at.ms() - from.ms()) / DAY_MS).unwrap_or(0).min(days.saturating_sub(1))
        };
        let mut counts: HashMap<ErrorGroupId, Vec<i64>> = HashMap::new();
        for FailedTime { at, group } in found {
            if let Some(group) = group {
                counts.entry(group.clone()).or_insert_with(|| vec![0; days])[day(*at)] += 1;
            }
        }
        let is_cut = found.len() >= DAYS_SCAN as usize;
        let known_from = found.last().filter(|_| is_cut).map_or(0, |oldest| day(oldest.at) + 1);
        Self { counts, known_from, days }
    }

    /// The counts of a group, the oldest day first; none: there were too many errors since to know.
    pub fn of_group(&self, group: &ErrorGroupId) -> Vec<Option<i64>> {
        let counts = self.counts.get(group);
        (0..self.days)
            .map(|day| (day >= self.known_from).then(|| counts.map_or(0, |counts| counts[day])))
            .collect()
    }
}

/// A group of errors with its history.
#[derive(Clone, Debug)]
pub struct ErrorGroupView {
    /// The group.
    pub group: ErrorGroup,
    /// The changes of its state, newest first.
    pub changes: Vec<ErrorGroupChange>,
    /// The deployments that its runs failed in, newest failure first.
    pub versions: Vec<ErrorVersion>,
}

/// The groups of errors of all organizations.
pub struct ErrorGroups {
    ctx: Arc<Ctx>,
}

impl ErrorGroups {
    pub(crate) const fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx }
    }

    /// The groups of errors that fit, the last seen first. An owner that is named must be there.
    pub async fn list(
        &self,
        caller: &Caller,
        filter: &ErrorGroupFilter,
        page: &Page,
    ) -> Result<Listing<ErrorGroup>, EngineError> {
        if let Some(owner) = &filter.owner {
            check_owner(&self.ctx, caller, owner).await?;
        }
        Ok(self.ctx.store.list_error_groups(&caller.org_id, filter, page).await?)
    }

    /// How often each group was seen on each of so many days of 24 hours, of which the last ends at
    /// `to`.
    pub async fn days(
        &self,
        caller: &Caller,
        days: u32,
        to: Option<Timestamp>,
    ) -> Result<ErrorDays, EngineError> {
        if !(1..=DAYS_MAX).contains(&days) {
            return Err(EngineError::invalid(
                "days",
                format!("`days` is {days}; allowed are 1 to {DAYS_MAX}"),
            ));
        }
        let to = to.unwrap_or_else(|| self.ctx.now());
        let from = Timestamp(to.ms().saturating_sub(i64::from(days) * DAY_MS));
        let found = self.ctx.store.failed_times(&caller.org_id, (from, to), DAYS_SCAN).await?;
        Ok(ErrorDays::of(&found, from, days))
    }

    /// A group of errors.
    pub async fn get(
        &self,
        caller: &Caller,
        id: &ErrorGroupId,
    ) -> Result<ErrorGroupView, EngineError> {
        let group = self
            .ctx
            .store
            .error_group(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("group of errors", id))?;
        let changes = self.ctx.store.error_group_changes(id).await?;
        let versions = self.ctx.store.error_group_versions(&group, VERSIONS_SCAN).await?;
        Ok(ErrorGroupView { group, changes, versions })
    }

    /// Changes the state of a group, or its note, or both; what is not given stays. What says
    /// nothing new changes nothing.
    pub async fn change(
        &self,
        caller: &Caller,
        id: &ErrorGroupId,
        state: Option<ErrorState>,
        note: Option<Option<String>>,
    ) -> Result<ErrorGroupView, EngineError> {
        let _turn = self.ctx.changes.turn(id.as_str()).await;
        let group = self
            .ctx
            .store
            .error_group(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("group of errors", id))?;
        let state = state.unwrap_or(group.state);
        if state == ErrorState::Regressed && group.state != state {
            let message = "`regressed` is set by the server, when a resolved error comes again; allowed are `open`, `resolved` and `ignored`";
            return Err(EngineError::invalid("state", message));
        }
        let note =
            note.map_or_else(|| Ok(group.note.clone()), |note| checked_note("note", note))?;
        if (state, &note) != (group.state, &group.note) {
            let change = ErrorGroupChange {
                at: self.ctx.now(),
                state,
                by: Some(caller.user_id.clone().into()),
                note,
                run_id: None,
            };
            if !self.ctx.store.change_error_group(&caller.org_id, id, change).await? {
                return Err(EngineError::not_found("group of errors", id));
            }
        }
        self.get(caller, id).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(ms: i64, group: &str) -> FailedTime {
        FailedTime { at: Timestamp(ms), group: Some(ErrorGroupId::from_row(group.into())) }
    }

    #[test]
    fn counts_fall_into_their_days() {
        let found = [
            seen(3 * DAY_MS - 1, "eg_a"),
            seen(2 * DAY_MS, "eg_a"),
            seen(2 * DAY_MS - 1, "eg_b"),
            seen(0, "eg_a"),
        ];
        let days = ErrorDays::of(&found, Timestamp(0), 3);
        assert_eq!(
            days.of_group(&ErrorGroupId::from_row("eg_a".into())),
            [Some(1), Some(0), Some(2)]
        );
        assert_eq!(
            days.of_group(&ErrorGroupId::from_row("eg_b".into())),
            [Some(0), Some(1), Some(0)]
        );
        assert_eq!(
            days.of_group(&ErrorGroupId::from_row("eg_none".into())),
            [Some(0), Some(0), Some(0)]
        );
    }

    #[test]
    fn days_that_were_not_looked_at_whole_are_not_told() {
        let found: Vec<_> =
            (0..i64::from(DAYS_SCAN)).map(|n| seen(3 * DAY_MS - 1 - n, "eg_a")).collect();
        let days = ErrorDays::of(&found, Timestamp(0), 3);
        assert_eq!(days.of_group(&ErrorGroupId::from_row("eg_a".into())), [None, None, None]);
    }
}
