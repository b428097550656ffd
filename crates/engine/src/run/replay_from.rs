//! Step that a replay begins with, and the results of the steps before it.

use millrace_model::run::{Run, RunResult, RunStatus};

use crate::EngineError;

/// Where a replay begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayFrom {
    /// With the first step.
    Start,
    /// With this step.
    Step(String),
    /// With the step that failed.
    Failed,
}

/// The place of the step that a replay begins with. `InvalidField` where there is none.
pub(crate) fn step_at(namespaces: &[String], step: &str) -> Result<usize, EngineError> {
    namespaces.iter().position(|namespace| namespace == step).ok_or_else(|| {
        EngineError::invalid(
            "from_step",
            format!("the workflow has no step `{step}`; its steps are {}", namespaces.join(", ")),
        )
    })
}

/// What a replay begins behind: the results that a run has of the steps before one, JSON text.
/// `namespaces`: of the live version's steps, in order.
pub(crate) fn results_before(
    namespaces: &[String],
    run: &Run,
    from: ReplayFrom,
) -> Result<RunResult, EngineError> {
    let text = run.result.as_deref().unwrap_or("{}");
    let result: RunResult = millrace_model::json::from_str(text)
        .map_err(|e| EngineError::damaged("stored results of a run", e))?;
    let first = match from {
        ReplayFrom::Start => return Ok(RunResult::default()),
        ReplayFrom::Step(step) => step,
        ReplayFrom::Failed => match result.steps.iter().find(|s| s.status == RunStatus::Failed) {
            Some(step) => step.namespace.clone(),
            None => {
                return Err(EngineError::invalid(
                    "from_failed",
                    format!("the run `{}` has no step that failed", run.id),
                ));
            }
        },
    };
    let at = step_at(namespaces, &first)?;
    let mut steps = Vec::with_capacity(at);
    for namespace in &namespaces[..at] {
        match result
            .steps
            .iter()
            .find(|s| s.namespace == *namespace && s.status == RunStatus::Succeeded)
        {
            Some(step) => steps.push(step.of_another_run()),
            None => {
                return Err(EngineError::invalid(
                    "from_step",
                    format!(
                        "the run `{}` has no result of the step `{namespace}`, which comes before `{first}`",
                        run.id
                    ),
                ));
            }
        }
    }
    Ok(RunResult { steps, ..RunResult::default() })
}
