//! Steps as they are shown, with their warnings: what a step lacks and what of it is not read.
//! Nothing of this is refused, as a draft may be incomplete.

use millrace_model::account::AuthType;
use millrace_model::component::{PropDef, SavedComponent};
use millrace_model::ids::OrgId;
use millrace_model::props::{self, Site};
use millrace_model::tenant::Caller;
use millrace_model::workflow::{Deployment, Step, Trigger, WorkflowVersion};
use serde_json::{Map, Value};

use crate::deploy::configure::Subject;
use crate::observe::views::{DeploymentView, SourceView, StepView};
use crate::tenants::secrets::{hide_sealed, sealed_names};
use crate::{Engine, EngineError};

/// Warnings that a step shows.
const WARNINGS_MAX: usize = 10;
/// Characters of what a component said of its props.
const REFUSAL_CHARS_MAX: usize = 1000;

impl Engine {
    /// The definitions that hold for a step's values, or why its `additionalProps` gave none. That
    /// is not refused: values that are expressions are known only in a run, and code that cannot do
    /// without them says so there.
    pub(super) async fn step_definitions(
        &self,
        caller: &Caller,
        component: &SavedComponent,
        values: &Map<String, Value>,
        previous: Option<&[PropDef]>,
    ) -> (Option<Vec<PropDef>>, Option<String>) {
        match self.definitions(caller, &Subject::new(component), values, previous).await {
            Ok(defs) => (defs, None),
            Err(EngineError::Component { code: "additional_props_failed", message, .. }) => {
                (None, Some(message.chars().take(REFUSAL_CHARS_MAX).collect()))
            }
            Err(_) => (None, None),
        }
    }

    /// The steps of a version with their code, and the sources among its triggers. Takes its
    /// secrets away.
    pub(super) async fn parts_of(
        &self,
        caller: &Caller,
        version: &mut WorkflowVersion,
    ) -> Result<(Vec<StepView>, Vec<SourceView>), EngineError> {
        let mut steps = Vec::with_capacity(version.steps.len());
        for step in &mut version.steps {
            let component =
                self.0.store.component(&caller.org_id, &step.component_id).await?.ok_or_else(
                    || EngineError::internal("a step's component is missing", step.id.to_string()),
                )?;
            let warnings = self.step_warnings(&caller.org_id, step, &component).await?;
            let sealed = sealed_names(&step.props);
            hide_sealed(&mut step.props);
            steps.push(StepView { step: step.clone(), component, sealed, warnings });
        }
        let mut sources = Vec::new();
        for trigger in &version.triggers {
            if let Trigger::Source { id, .. } = trigger
                && let Ok(source) = self.source(caller, id).await
            {
                sources.push(source);
            }
        }
        Ok((steps, sources))
    }

    /// A version that was just deployed, with the warnings of its steps.
    pub(super) async fn deployed(
        &self,
        caller: &Caller,
        deployment: Deployment,
    ) -> Result<DeploymentView, EngineError> {
        let view = self.deployment(caller, &deployment.workflow_id, &deployment.id).await?;
        Ok(DeploymentView { deployment, ..view })
    }

    /// Warnings of a step, whose sealed values are still in its props.
    async fn step_warnings(
        &self,
        org: &OrgId,
        step: &Step,
        component: &SavedComponent,
    ) -> Result<Vec<String>, EngineError> {
        let manifest = &component.manifest;
        let defs = step.dynamic_props.as_ref().unwrap_or(&manifest.props);
        let mut warnings = Vec::new();
        // What `additionalProps` said of the text of an expression holds for no run.
        let undecided = manifest.has_additional_props && is_undecided(defs, &step.props);
        let asked = if undecided { &manifest.props } else { defs };
        if !step.disabled {
            warnings.extend(step.dynamic_props_refused.clone().filter(|_| !undecided));
            for def in asked.iter().filter(|def| def.asks_for_value()) {
                if step.props.get(&def.name).is_none_or(Value::is_null) {
                    warnings.extend(self.lacks(org, def).await?);
                }
            }
        }
        // Without an answer of `additionalProps` it is not known which props there are.
        if (step.dynamic_props.is_some() && !undecided) || !manifest.has_additional_props {
            warnings.extend(props::unknown(defs, &step.props).iter().map(ToString::to_string));
        }
        warnings.truncate(WARNINGS_MAX);
        Ok(warnings)
    }

    /// What a run lacks where a prop has no value.
    async fn lacks(&self, org: &OrgId, def: &PropDef) -> Result<Option<String>, EngineError> {
        let Some(slug) = def.app() else {
            return Ok(def.required().then(|| props::missing(def).to_string()));
        };
        let app = self.apps().find(org, slug).await?;
        let has_accounts = app.is_some_and(|app| app.definition.auth_type != AuthType::None);
        Ok(has_accounts.then(|| {
            let (name, slug) = (millrace_model::shown(&def.name), millrace_model::shown(slug));
            format!("the prop `{name}` names no account: it needs one of the app `{slug}`")
        }))
    }
}

/// Whether only a run knows which props a step of `additionalProps` has: one that decides on them
/// is an expression, whose text `additionalProps` was asked with. Those with `reloadProps` decide;
/// where none has it, all do.
fn is_undecided(defs: &[PropDef], values: &Map<String, Value>) -> bool {
    let reloads = |def: &PropDef| def.rest.get("reloadProps") == Some(&Value::Bool(true));
    let any_reloads = defs.iter().any(reloads);
    let mut deciding = defs.iter().filter(|def| !any_reloads || reloads(def));
    deciding.any(|def| values.get(&def.name).is_some_and(|value| Site::Step.evaluates(value)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    #[test]
    fn which_props_there_are_is_undecided_where_a_deciding_one_is_an_expression() {
        let is_undecided = |defs: Value, given: Value| {
            let defs: Vec<_> = from_value(defs).expect("definitions");
            super::is_undecided(&defs, given.as_object().expect("an object"))
        };
        let other = json!({ "name": "t", "type": "string" });
        let both = json!([{ "name": "n", "type": "integer", "reloadProps": true }, other]);
        assert!(is_undecided(both.clone(), json!({ "n": "{{ 1 + 1 }}" })));
        assert!(!is_undecided(both, json!({ "n": 2, "t": "{{ 1 }}", "x": "{{ 1 }}" })));
        // Without `reloadProps` any may decide.
        assert!(is_undecided(json!([other]), json!({ "t": ["{{ 1 }}"] })));
        assert!(!is_undecided(json!([other]), json!({ "t": "a" })));
    }
}
