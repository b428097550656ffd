//! History of events.

use std::sync::Arc;

use millrace_model::event::{Event, EventFilter, ListedEvent};
use millrace_model::ids::{EventId, WorkflowId};
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::Caller;
use millrace_store::NewestOf;

use crate::EngineError;
use crate::ctx::Ctx;
use crate::owners::{check_owner, sse_emitter};

/// The events of all organizations.
pub struct Events {
    ctx: Arc<Ctx>,
}

impl Events {
    pub(crate) const fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx }
    }

    /// The newest events of a stream, newest first (spec 4.2); not `whole`: summaries. `NoMemory`
    /// where the page has no room.
    pub async fn list(
        &self,
        caller: &Caller,
        emitter: &str,
        which: EventFilter<'_>,
        whole: bool,
        page: &Page,
    ) -> Result<Listing<ListedEvent>, EngineError> {
        check_owner(&self.ctx, caller, emitter).await?;
        Ok(self.ctx.store.list_events(&caller.org_id, emitter, which, whole, page).await?)
    }

    /// The newest event and the newest failed run of each of these, read at once.
    pub async fn newest_of(
        &self,
        caller: &Caller,
        emitters: Vec<String>,
    ) -> Result<Vec<NewestOf>, EngineError> {
        Ok(self.ctx.store.newest_of(&caller.org_id, emitters).await?)
    }

    /// Events after one, oldest first, for streams that resume.
    pub async fn after(
        &self,
        caller: &Caller,
        emitter: &str,
        after: EventId,
        limit: u32,
    ) -> Result<Vec<Event>, EngineError> {
        check_owner(&self.ctx, caller, emitter).await?;
        Ok(self.ctx.store.events_after(&caller.org_id, emitter, after, limit).await?)
    }

    /// The emitter of what a workflow sends with `$.send.sse`: a stream and a history as those of
    /// events.
    pub fn sse_emitter(&self, workflow: &WorkflowId) -> String {
        sse_emitter(workflow.as_str())
    }

    /// Removes events within an inclusive range; either bound may be missing.
    pub async fn delete(
        &self,
        caller: &Caller,
        emitter: &str,
        name: Option<&str>,
        start: Option<EventId>,
        end: Option<EventId>,
    ) -> Result<u64, EngineError> {
        check_owner(&self.ctx, caller, emitter).await?;
        Ok(self.ctx.store.delete_events(&caller.org_id, emitter, name, (start, end)).await?)
    }
}
