//! Runs of an action by itself: the caller waits for the result, and no run is stored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use millrace_model::clock::Timestamp;
use millrace_model::component::{ComponentType, SavedComponent};
use millrace_model::ids::RunId;
use millrace_model::props::Site;
use millrace_model::run::LogLine;
use millrace_model::tenant::Caller;
use millrace_runner::{Call, CallFailure, CallOutcome, IsolateSpec, ModuleSpec};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::deploy::components::CodeRef;
use crate::deploy::configure::Subject;
use crate::run::asks::AskScope;
use crate::run::inputs::{Inputs, dynamic_of};
use crate::run::program::{ISOLATES_MAX, isolate_owner};
use crate::run::sink::{CallDb, Collector};
use crate::run::store_grants::StoreGrants;
use crate::tenants::account_props::AccountUse;
use crate::{Engine, EngineError};

/// Wall-clock limit: a request waits.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The name of the only step.
const STEP: &str = "action";

/// What an action did.
#[derive(Clone, Debug, Default)]
pub struct ActionRun {
    /// Exports by name, without the return value.
    pub exports: Map<String, Value>,
    /// What it returned.
    pub returned: Value,
    /// What it wrote to its log.
    pub logs: Vec<LogLine>,
    /// Class, message and stack of what it threw.
    pub error: Option<(String, String, String)>,
    /// When it ended.
    pub ended_at: Timestamp,
}

impl Engine {
    /// Runs an action once, as a step of a test runs: values are data and no expressions, pauses do
    /// not pause, and what it sends with `$.send` is not sent. `form`: the id of the form that the
    /// values were filled in with.
    pub async fn run_action(
        &self,
        caller: &Caller,
        code: &CodeRef,
        values: &Map<String, Value>,
        form: Option<&str>,
    ) -> Result<ActionRun, EngineError> {
        let (component, artifact) = self.runnable_component(caller, code).await?;
        if component.component_type != ComponentType::Action {
            return Err(EngineError::invalid(
                "id",
                "the component is a source; an action is run, a source is deployed",
            ));
        }
        let previous = self.0.forms.previous(caller, &component.artifact_id, form).await?;
        let dynamic = self
            .definitions(caller, &Subject::new(&component), values, previous.as_deref())
            .await?;
        let defs = dynamic.as_deref().unwrap_or(&component.manifest.props);
        let values = self.0.prop_values.check(caller, defs, values, Site::Call).await?;
        let mut stores = StoreGrants::default();
        stores.add(defs, &values, Site::Call);
        let step = json!({
            "namespace": STEP, "module": component.artifact_id, "props": values, "literal": true, "disabled": false,
            "dynamic_props": dynamic_of(&component.manifest.props, dynamic.as_deref()),
        });
        let inputs = Inputs::new(json!([step]), AccountUse::of(Some(0), defs, &values).collect());
        let body = match inputs.text(self, &caller.org_id).await? {
            Ok(text) => action_call(text.into_owned(), self.now())?,
            Err(outcome) => return Ok(self.ended(&outcome, Vec::new())),
        };
        let module = match &artifact {
            Some(artifact) => self.module(&component.artifact_id, artifact).await?,
            None => self.stored_module(&component.artifact_id, &component.artifact_id).await?,
        };
        self.install_beside(&caller.org_id, [&module]).await?;
        let scope = AskScope::new(caller.org_id.clone(), stores, None);
        let sink = Collector::new(
            self.clone(),
            "",
            RunId::at(&self.0.ids, self.now()),
            CallDb::None,
            None,
            Some(scope),
        );
        let call = Call { body, timeout: TIMEOUT, steps: vec![STEP.to_owned()] };
        let isolate = action_isolate(caller, &component, module);
        let outcome = self.0.runner.call(isolate, call, sink.clone()).await;
        let (collected, _) = sink.take();
        let mut run = self.ended(&outcome, collected.logs);
        if let Some(exports) = collected
            .steps
            .into_iter()
            .next()
            .and_then(|step| step.finished.map(|(_, exports)| exports).or(step.exported))
        {
            run.exports = millrace_model::json::from_str(exports.get())
                .map_err(|e| EngineError::internal("could not read exports", e))?;
            run.returned = run.exports.remove("$return_value").unwrap_or_default();
        }
        Ok(run)
    }

    fn ended(&self, outcome: &CallOutcome, logs: Vec<LogLine>) -> ActionRun {
        ActionRun {
            logs,
            error: outcome.result.as_ref().err().map(error_parts),
            ended_at: self.now(),
            ..ActionRun::default()
        }
    }
}

/// The body of the call of an action: a workflow's, of one step. `steps` is JSON text.
fn action_call(steps: String, now: Timestamp) -> Result<Box<RawValue>, EngineError> {
    let steps = RawValue::from_string(steps)
        .map_err(|e| EngineError::internal("could not write props", e))?;
    let deadline = now.plus_ms(i64::try_from(TIMEOUT.as_millis()).unwrap_or(0)).ms();
    let context = json!({ "deadline": deadline, "JIT": true, "run": { "runs": 1, "context": null, "callback_request": null } });
    to_raw_value(&json!({
        "kind": "workflow", "trigger": { "event": {}, "context": {} }, "steps": steps, "context": context, "results": {},
        "flow": { "resume_url": "", "cancel_url": "" }, "test": true,
    }))
    .map_err(|e| EngineError::internal("could not write a call", e))
}

/// One for each key and external user: what the values of one caller make of the process (code that
/// evaluates them, prototypes that it changes) never meets the accounts of another.
fn action_isolate(
    caller: &Caller,
    component: &SavedComponent,
    module: ModuleSpec,
) -> Arc<IsolateSpec> {
    let (org, owner) = (&caller.org_id, isolate_owner(caller));
    Arc::new(IsolateSpec {
        id: format!("action:{org}:{owner}:{}", component.artifact_id),
        organization: org.to_string(),
        modules: vec![module],
        env: BTreeMap::new(),
        memory_mb: None,
        calls_per_isolate: 1,
        isolates_max: ISOLATES_MAX,
        in_order: false,
    })
}

fn error_parts(failure: &CallFailure) -> (String, String, String) {
    (failure.code.clone(), failure.message.clone(), failure.stack.clone())
}
