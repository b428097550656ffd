//! Live streams of runs, events and logs, including those of other servers that share the database.

use millrace_model::ids::RunId;
use millrace_model::tenant::Caller;
use millrace_store::NodeMessage;

use crate::owners::check_owner;
use crate::run::so_far::SoFar;
use crate::{Engine, EngineError, StreamReader};

impl Engine {
    /// Runs of the organization whose state changed, from now on: [`crate::StreamItem::Run`] only.
    pub fn org_stream(&self, caller: &Caller) -> StreamReader {
        self.0.streams.subscribe(&caller.org_id, caller.org_id.as_str())
    }

    /// Events and logs of a source or workflow from now on.
    pub async fn stream(&self, caller: &Caller, owner: &str) -> Result<StreamReader, EngineError> {
        check_owner(&self.0.ctx, caller, owner).await?;
        let stream = self.0.streams.subscribe(&caller.org_id, owner);
        self.publish_message(|| NodeMessage::Followed(owner.to_owned()));
        Ok(stream)
    }

    /// What a run did so far, where this server runs it, and what its owner's stream says from then
    /// on.
    pub async fn run_stream(
        &self,
        caller: &Caller,
        owner: &str,
        run: &RunId,
    ) -> Result<(SoFar, StreamReader), EngineError> {
        let stream = self.stream(caller, owner).await?;
        let resubscribe = || self.0.streams.subscribe(&caller.org_id, owner);
        Ok(match self.call_of(run) {
            Some(call) => SoFar::of(run, &call, resubscribe),
            None => (SoFar::default(), stream),
        })
    }
}
