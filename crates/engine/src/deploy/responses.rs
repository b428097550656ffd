//! Answers of a workflow's steps: whether its code responds to requests.

use millrace_model::component::Responds;
use millrace_model::workflow::Step;

use crate::{Engine, EngineError};

impl Engine {
    /// Whether those of these steps that run answer requests.
    pub(super) async fn respond(&self, steps: &[Step]) -> Result<Responds, EngineError> {
        let mut responds = Responds::Never;
        for step in steps.iter().filter(|step| !step.disabled) {
            responds = responds.max(self.responds(&step.artifact_id).await?);
        }
        Ok(responds)
    }

    pub(super) async fn responds(&self, artifact_id: &str) -> Result<Responds, EngineError> {
        Ok(self
            .0
            .store
            .artifact(artifact_id)
            .await?
            .map(|artifact| artifact.responds)
            .unwrap_or_default())
    }
}
