//! Parts of a draft that a request brings back: the draft has them no more, and a version that was
//! deployed has them still. They keep their address and their secrets.

use millrace_model::page::Page;
use millrace_model::workflow::{AuthKind, EndpointAuth, Step, Trigger, Workflow, WorkflowVersion};

use crate::deploy::requests::TriggerRequest;
use crate::deploy::updates::UpdateWorkflow;
use crate::tenants::request_secrets::may_be_hidden;
use crate::{Engine, EngineError};

/// Versions that are looked at, the newest first.
const VERSIONS_MAX: u32 = 100;

impl Engine {
    /// The draft with the parts that a request names and only deployed versions have: a trigger by
    /// its id, the secret of an endpoint, a step by `keep_secrets_of`.
    pub(crate) async fn with_deployed_parts(
        &self,
        workflow: &Workflow,
        update: &UpdateWorkflow,
    ) -> Result<WorkflowVersion, EngineError> {
        let mut before = workflow.draft.clone();
        if is_whole(&before, update) {
            return Ok(before);
        }
        let page = Page { limit: VERSIONS_MAX, ..Page::default() };
        let listing = self.0.store.list_deployments(&workflow.org_id, &workflow.id, &page).await?;
        let versions: Vec<_> = listing.items.into_iter().map(|d| d.content).collect();
        let triggers = || versions.iter().flat_map(|version| &version.triggers);
        for request in update.triggers.iter().flatten() {
            let Some(id) = request.id.as_deref() else { continue };
            if !before.triggers.iter().any(|trigger| own_id(trigger) == Some(id)) {
                before.triggers.extend(triggers().find(|t| own_id(t) == Some(id)).cloned());
            }
            let Some(kind) = asks_for_secret(request) else { continue };
            let earlier = triggers().find_map(|trigger| secret_of(trigger, id, kind).cloned());
            for trigger in &mut before.triggers {
                if secret_of(trigger, id, kind).is_none()
                    && let Trigger::Http { id: own, auth, .. } = trigger
                    && own.as_str() == id
                    && earlier.is_some()
                {
                    auth.clone_from(&earlier);
                }
            }
        }
        for name in kept_steps(update) {
            if step_of(&before, name).is_none() {
                before.steps.extend(versions.iter().find_map(|v| step_of(v, name)).cloned());
            }
        }
        Ok(before)
    }
}

/// Whether the draft has all that the request names.
fn is_whole(draft: &WorkflowVersion, update: &UpdateWorkflow) -> bool {
    let mut triggers = update.triggers.iter().flatten().filter(|request| request.kind != "source");
    let has_trigger = |request: &TriggerRequest| {
        request.id.as_deref().is_none_or(|id| {
            draft.triggers.iter().any(|trigger| {
                own_id(trigger) == Some(id)
                    && asks_for_secret(request)
                        .is_none_or(|kind| secret_of(trigger, id, kind).is_some())
            })
        })
    };
    triggers.all(has_trigger) && kept_steps(update).all(|name| step_of(draft, name).is_some())
}

/// Names of the steps whose secrets are kept; a record that is written back names its own.
fn kept_steps(update: &UpdateWorkflow) -> impl Iterator<Item = &str> {
    update.steps.iter().flatten().filter_map(|step| {
        let sealed = step.beside.get("sealed_props").and_then(|names| names.as_array());
        let mut props = step.props.values().chain(step.beside.get("configured_props_json"));
        let has_sealed = sealed.is_some_and(|names| !names.is_empty()) || props.any(may_be_hidden);
        step.keep_secrets_of.as_deref().or_else(|| has_sealed.then_some(step.namespace.as_str()))
    })
}

fn step_of<'a>(version: &'a WorkflowVersion, name: &str) -> Option<&'a Step> {
    version.steps.iter().find(|step| step.namespace == name)
}

/// The id of an endpoint or a timer, which belong to the workflow.
fn own_id(trigger: &Trigger) -> Option<&str> {
    match trigger {
        Trigger::Http { id, .. } => Some(id.as_str()),
        Trigger::Timer { id, .. } => Some(id.as_str()),
        Trigger::Source { .. } => None,
    }
}

fn secret_of<'a>(trigger: &'a Trigger, of: &str, asked: AuthKind) -> Option<&'a EndpointAuth> {
    match trigger {
        Trigger::Http { id, auth: Some(auth), .. } if id.as_str() == of && auth.kind == asked => {
            Some(auth)
        }
        _ => None,
    }
}

/// The kind of an authorization that needs a secret and is given without one.
fn asks_for_secret(request: &TriggerRequest) -> Option<AuthKind> {
    let settings = request.settings();
    let auth = settings.get("auth")?;
    let is_given = |name: &str| auth.get(name).is_some_and(|value| !value.is_null());
    match auth.get("type")?.as_str()? {
        "bearer" | "static_bearer_token" if !is_given("token") => Some(AuthKind::Bearer),
        "signature" if !is_given("secret") => Some(AuthKind::Signature),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn update(value: serde_json::Value) -> UpdateWorkflow {
        UpdateWorkflow {
            triggers: Some(serde_json::from_value(value["triggers"].clone()).expect("triggers")),
            steps: Some(serde_json::from_value(value["steps"].clone()).expect("steps")),
            ..UpdateWorkflow::default()
        }
    }

    #[test]
    fn versions_are_read_only_for_what_the_draft_has_not() {
        let draft: WorkflowVersion = serde_json::from_value(json!({
            "triggers": [{ "type": "http", "id": "hi_a", "key": "k", "custom_response": false,
                "auth": { "kind": "bearer", "secret": "sealed" } }],
            "steps": [{ "id": "c_a", "namespace": "a", "component_id": "sc_a", "artifact_id": "x" }],
        }))
        .expect("a version");
        let asks =
            |auth: serde_json::Value| json!([{ "type": "http", "id": "hi_a", "auth": auth }]);
        let kept = json!([{ "namespace": "b", "keep_secrets_of": "a" }]);
        for (triggers, steps, whole) in [
            (asks(json!({ "type": "bearer" })), kept.clone(), true),
            (json!([{ "type": "http" }, { "type": "source", "id": "dc_a" }]), json!([]), true),
            (asks(json!({ "type": "signature", "secret": "s" })), json!([]), true),
            (asks(json!({ "type": "signature" })), json!([]), false),
            (json!([{ "type": "timer", "id": "ti_b" }]), kept, false),
            (json!([]), json!([{ "namespace": "b", "keep_secrets_of": "b" }]), false),
            (json!([]), json!([{ "namespace": "b", "sealed_props": ["t"] }]), false),
            (json!([]), json!([{ "namespace": "b", "sealed_props": [] }]), true),
        ] {
            let update = update(json!({ "triggers": triggers, "steps": steps }));
            assert_eq!(is_whole(&draft, &update), whole, "{update:?}");
        }
    }
}
