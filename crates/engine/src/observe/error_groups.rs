//! Groups of errors: their lists, and the state that people give them.

use millrace_model::error_event::{ErrorGroup, ErrorGroupChange, ErrorState, ErrorVersion, NOTE_CHARS_MAX};
use millrace_model::ids::ErrorGroupId;
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::Caller;
use millrace_store::ErrorGroupFilter;

use crate::{Engine, EngineError};

/// Failed runs of the owner that are looked at for the versions of a group.
const VERSIONS_SCAN: u32 = 10_000;

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

impl Engine {
    /// The groups of errors that fit, the last seen first. An owner that is named must be there.
    pub async fn list_error_groups(&self, caller: &Caller, filter: &ErrorGroupFilter, page: &Page) -> Result<Listing<ErrorGroup>, EngineError> {
        if let Some(owner) = &filter.owner {
            self.check_owner(caller, owner).await?;
        }
        Ok(self.0.store.list_error_groups(&caller.org_id, filter, page).await?)
    }

    /// A group of errors.
    pub async fn error_group_view(&self, caller: &Caller, id: &ErrorGroupId) -> Result<ErrorGroupView, EngineError> {
        let group = self.0.store.error_group(&caller.org_id, id).await?.ok_or_else(|| EngineError::not_found("group of errors", id))?;
        let changes = self.0.store.error_group_changes(id).await?;
        let versions = self.0.store.error_group_versions(&group, VERSIONS_SCAN).await?;
        Ok(ErrorGroupView { group, changes, versions })
    }

    /// Changes the state of a group, or its note, or both; what is not given stays. What says nothing new changes nothing.
    pub async fn change_error_group(
        &self,
        caller: &Caller,
        id: &ErrorGroupId,
        state: Option<ErrorState>,
        note: Option<Option<String>>,
    ) -> Result<ErrorGroupView, EngineError> {
        let group = self.0.store.error_group(&caller.org_id, id).await?.ok_or_else(|| EngineError::not_found("group of errors", id))?;
        let state = state.unwrap_or(group.state);
        if state == ErrorState::Regressed && group.state != state {
            let message = "`regressed` is set by the server, when a resolved error comes again; allowed are `open`, `resolved` and `ignored`";
            return Err(EngineError::invalid("state", message));
        }
        let note = note.unwrap_or_else(|| group.note.clone()).filter(|note| !note.trim().is_empty());
        if let Some(length) = note.as_ref().map(|note| note.chars().count()).filter(|length| *length > NOTE_CHARS_MAX) {
            return Err(EngineError::invalid("note", format!("`note` has {length} characters; at most {NOTE_CHARS_MAX} are allowed")));
        }
        if (state, &note) != (group.state, &group.note) {
            let change = ErrorGroupChange { at: self.now(), state, by: Some(caller.user_id.clone().into()), note, run_id: None };
            if !self.0.store.change_error_group(&caller.org_id, id, change).await? {
                return Err(EngineError::not_found("group of errors", id));
            }
        }
        self.error_group_view(caller, id).await
    }
}
