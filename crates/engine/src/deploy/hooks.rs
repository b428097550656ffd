//! Hooks of a source (spec 3.1): they run with `this` as `run` does, and what they leave is settled at once.

use millrace_model::component::Hook;
use millrace_model::ids::RunId;
use millrace_runner::{Call, CallFailure, FailureKind};
use serde_json::value::RawValue;

use crate::deploy::configure::with_refusals;
use crate::run::asks::AskScope;
use crate::run::context::Origin;
use crate::run::program::Program;
use crate::run::sink::Collector;
use crate::settle::is_behind;
use crate::{Engine, EngineError};

impl Engine {
    /// Runs a hook if the component has it, and settles its emits and db writes. `Ok(Err)` is the hook's own failure.
    pub(crate) async fn run_hook(&self, program: &Program, hook: Hook) -> Result<Result<(), CallFailure>, EngineError> {
        let Program::Source(source) = program else { return Ok(Ok(())) };
        if !source.has_hook(hook) {
            return Ok(Ok(()));
        }
        let run_id = RunId::at(&self.0.ids, self.now());
        let scope = AskScope::new(source.source.org_id.clone(), source.stores.clone(), None);
        // Left after what it did is settled.
        let sitting = if source.has_db { self.sit(&source.source.id).await? } else { None };
        let visit = self.0.writes.enter(&source.source.id, sitting.is_some());
        let sink = Collector::new(self.clone(), source.source.id.as_str(), run_id.clone(), Some(visit), None, Some(scope));
        let outcome = match source.props.text(self, &source.source.org_id).await? {
            Ok(props) => {
                let body = source_call(&props, &source.dynamic_props, Some(hook), "null")?;
                let isolate = self.source_isolate(source).await?;
                self.0.runner.call(isolate, Call { body, timeout: self.0.config.source_timeout }, sink.clone()).await
            }
            Err(outcome) => outcome,
        };
        let (mut collected, _) = sink.take();
        if let Err(failure) = &outcome.result {
            collected.logs.push(self.error_line(&format!("the {} hook failed: {}: {}\n{}", hook.name(), failure.code, failure.message, failure.stack)));
        }
        let refusals = std::mem::take(&mut collected.refusals);
        let origin = Origin::first("COMPONENT", source.source.id.as_str());
        let late = collected.late.clone();
        if let Err(error) = self.settle_hook(program, source, &run_id, &origin, collected).await {
            self.leave_unsettled(program).await;
            return if is_behind(&error) { Ok(Err(overtaken(hook))) } else { Err(error) };
        }
        if let Some(late) = late {
            late.settled();
        }
        Ok(outcome.result.map(|_| ()).map_err(|failure| with_refusals(failure, &refusals)))
    }
}

/// Another server wrote to the source's `$.service.db` while the hook ran here: nothing that it left is stored.
fn overtaken(hook: Hook) -> CallFailure {
    let message = format!(
        "what the {} hook went on from in `$.service.db` is not what is stored: another server wrote to it while this one was cut off from its database, or a write to it failed; nothing of the hook was stored; try again",
        hook.name()
    );
    CallFailure { kind: FailureKind::HostLost, code: "SeatLost".into(), stack: format!("SeatLost: {message}"), message, namespace: None }
}

/// The body of a source's call: `event`, `props` and `dynamic_props` are JSON text.
pub(crate) fn source_call(props: &str, dynamic_props: &str, hook: Option<Hook>, event: &str) -> Result<Box<RawValue>, EngineError> {
    let hook = hook.map_or_else(|| "null".to_owned(), |h| format!("\"{}\"", h.name()));
    let body = format!(
        r#"{{"kind":"source","module":"{}","hook":{hook},"event":{event},"props":{props},"dynamic_props":{dynamic_props}}}"#,
        crate::deploy::components::MODULE
    );
    RawValue::from_string(body).map_err(|e| EngineError::internal("could not write a call", e))
}

/// The error that a deploy or update shows where a hook failed (reference 3).
pub(crate) fn hook_error(hook: Hook, failure: &CallFailure) -> EngineError {
    EngineError::Component {
        code: "hook_failed",
        message: format!("the {} hook failed: {}: {}", hook.name(), failure.code, failure.message),
        details: serde_json::json!({ "hook": hook.name(), "error": failure.code, "stack": failure.stack }),
    }
}
