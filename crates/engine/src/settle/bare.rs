//! Ends of runs that the server settles without effects of their code: damaged data, a deleted
//! owner.

use millrace_model::error_event::ErrorBody;
use millrace_model::run::{RunResult, RunStatus};
use millrace_store::{Effects, Settlement};

use crate::run::claimed_run::ClaimedRun;
use crate::{Engine, EngineError};

impl Engine {
    /// Ends a run that cannot be settled as any other, for what is stored of it or its owner cannot
    /// be read.
    pub(crate) async fn settle_damaged(
        &self,
        claimed: &ClaimedRun,
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
        let mut settlement = self.bare_settlement(claimed, RunStatus::Failed)?;
        settlement.error = Some(
            serde_json::to_string(&body)
                .map_err(|e| EngineError::internal("could not write an error", e))?,
        );
        self.store_end(settlement, claimed.unstored.as_deref()).await?;
        self.run_changed(&claimed.org_id, claimed.owner.as_str(), &claimed.id);
        Ok(())
    }

    /// The owner is gone: nothing is left to run.
    pub(crate) async fn settle_orphan(&self, claimed: &ClaimedRun) -> Result<(), EngineError> {
        let settlement = self.bare_settlement(claimed, RunStatus::Cancelled)?;
        self.store_end(settlement, claimed.unstored.as_deref()).await
    }

    /// The end of a run without effects.
    pub(crate) fn bare_settlement(
        &self,
        claimed: &ClaimedRun,
        status: RunStatus,
    ) -> Result<Settlement, EngineError> {
        let result = serde_json::to_string(&RunResult::default())
            .map_err(|e| EngineError::internal("could not write a result", e))?;
        Ok(Settlement {
            run_id: claimed.id.clone(),
            attempt: claimed.attempt,
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
