//! Ends of runs that the server settles without effects of their code: damaged data, a deleted
//! owner.

use millrace_model::error_event::ErrorBody;
use millrace_model::run::{RunResult, RunStatus};
use millrace_store::{Effects, Settlement};

use crate::run::execute::Held;
use crate::{Engine, EngineError};

impl Engine {
    /// Ends a run that cannot be settled as any other, for what is stored of it or its owner cannot
    /// be read.
    pub(crate) async fn settle_damaged(
        &self,
        held: &Held,
        error: &EngineError,
    ) -> Result<(), EngineError> {
        let message = error.to_string();
        let body = ErrorBody {
            code: "DamagedData".into(),
            stack: format!("DamagedData: {message}"),
            message,
            cell_id: String::new(),
            ts: self.now().iso(),
        };
        let mut settlement = self.bare_settlement(held, RunStatus::Failed)?;
        settlement.error = Some(
            serde_json::to_string(&body)
                .map_err(|e| EngineError::internal("could not write an error", e))?,
        );
        self.store_end(settlement, held.unstored.as_deref()).await?;
        self.run_changed(&held.org_id, held.owner.as_str(), &held.id);
        Ok(())
    }

    /// The owner is gone: nothing is left to run.
    pub(crate) async fn settle_orphan(&self, held: &Held) -> Result<(), EngineError> {
        let settlement = self.bare_settlement(held, RunStatus::Cancelled)?;
        self.store_end(settlement, held.unstored.as_deref()).await
    }

    /// The end of a run without effects.
    pub(crate) fn bare_settlement(
        &self,
        held: &Held,
        status: RunStatus,
    ) -> Result<Settlement, EngineError> {
        let result = serde_json::to_string(&RunResult::default())
            .map_err(|e| EngineError::internal("could not write a result", e))?;
        Ok(Settlement {
            run_id: held.id.clone(),
            attempt: held.attempt,
            status,
            finished_at: self.now(),
            result,
            error: None,
            group: None,
            forget: None,
            unstored: None,
            effects: Effects::default(),
        })
    }
}
