//! Hooks of a source (spec 3.1): they run with `this` as `run` does, and what they leave is settled
//! at once.

use millrace_model::component::Hook;
use millrace_model::ids::RunId;
use millrace_model::run::{LogLevel, LogLine};
use millrace_model::shown;
use millrace_runner::{Call, CallFailure, FailureKind};

use crate::run::asks::AskScope;
use crate::run::call::source_call;
use crate::run::context::Origin;
use crate::run::program::{Program, SourceProgram};
use crate::run::refused_connections::with_refusals;
use crate::run::sink::{CallDb, Collected, Collector};
use crate::{Engine, EngineError};

impl Engine {
    /// Runs a hook if the component has it, and settles its emits; what it writes to `$.service.db`
    /// is stored as it comes. Without `emits` its emits are dropped, and are not known to dedupe.
    /// `Ok(Err)` is the hook's own failure.
    pub(crate) async fn run_hook(
        &self,
        program: &Program,
        hook: Hook,
        emits: bool,
    ) -> Result<Result<(), CallFailure>, EngineError> {
        let Program::Source(source) = program else { return Ok(Ok(())) };
        if hook == Hook::Activate {
            self.log_unknown_hooks(program, source).await?;
        }
        if !source.has_hook(hook) {
            return Ok(Ok(()));
        }
        if let Err(error) = self.install(program).await {
            let EngineError::Component { code, message, .. } = error else { return Err(error) };
            return Ok(Err(not_installed(code, message)));
        }
        let run_id = RunId::at(&self.0.ids, self.now());
        let scope = AskScope::new(source.source.org_id.clone(), source.stores.clone(), None);
        let db = CallDb::OfHook(self.hook_db(&source.source.id));
        let sink = Collector::new(
            self.clone(),
            source.source.id.as_str(),
            run_id.clone(),
            db,
            None,
            Some(scope),
        );
        let outcome = match source.props.text(self, &source.source.org_id).await? {
            Ok(props) => {
                let db = self.db_of(source).await?;
                let body =
                    source_call(&props, &source.dynamic_props, db.as_deref(), Some(hook), "null")?;
                self.0
                    .runner
                    .call(
                        source.isolate.clone(),
                        Call { body, timeout: self.0.config.source_timeout, steps: Vec::new() },
                        sink.clone(),
                    )
                    .await
            }
            Err(outcome) => outcome,
        };
        self.store_hook_writes(&source.source.id).await?;
        let (mut collected, _) = sink.take();
        if let Err(failure) = &outcome.result {
            collected.logs.push(self.error_line(&format!(
                "the {} hook failed: {}: {}\n{}",
                hook.name(),
                failure.code,
                failure.message,
                failure.stack
            )));
        }
        if !emits {
            collected.emits.clear();
        }
        let refusals = std::mem::take(&mut collected.refusals);
        let origin = Origin::first("COMPONENT", source.source.id.as_str());
        let late = collected.late.clone();
        self.settle_hook(program, source, &run_id, &origin, collected).await?;
        if let Some(late) = late {
            late.settled();
        }
        Ok(outcome.result.map(|_| ()).map_err(|failure| with_refusals(failure, &refusals)))
    }

    /// Writes into the source's log what it has among its hooks that nothing runs. It is not
    /// refused: components that are deployed elsewhere may have such.
    async fn log_unknown_hooks(
        &self,
        program: &Program,
        source: &SourceProgram,
    ) -> Result<(), EngineError> {
        let unknown: Vec<_> =
            source.manifest.unknown_hooks.iter().map(|name| format!("`{}`", shown(name))).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let known = Hook::ALL.map(|hook| format!("`{}`", hook.name())).join(", ");
        let text = format!(
            "no hook has the name {}, and nothing runs it; hooks are {known}",
            unknown.join(" or ")
        );
        let line = LogLine { level: LogLevel::Warn, ..self.error_line(&text) };
        let run_id = RunId::at(&self.0.ids, self.now());
        let origin = Origin::first("COMPONENT", source.source.id.as_str());
        let collected = Collected { logs: vec![line], ..Collected::default() };
        self.settle_hook(program, source, &run_id, &origin, collected).await
    }
}

/// A hook whose packages cannot be had: it did not run, and fails like any other.
fn not_installed(code: &str, message: String) -> CallFailure {
    CallFailure {
        kind: FailureKind::LoadFailed,
        code: code.into(),
        stack: message.clone(),
        message,
        namespace: None,
    }
}

/// The error that a deploy or update shows where a hook failed (reference 3).
pub(crate) fn hook_error(hook: Hook, failure: &CallFailure) -> EngineError {
    EngineError::Component {
        code: "hook_failed",
        message: format!("the {} hook failed: {}: {}", hook.name(), failure.code, failure.message),
        details: serde_json::json!({ "hook": hook.name(), "error": failure.code, "stack": failure.stack }),
    }
}
