//! Options methods and `additionalProps`, run for an editor while props are filled in (spec 2.7.1,
//! reference 2).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use millrace_model::component::{ComponentType, PropDef, SavedComponent};
use millrace_model::ids::SourceId;
use millrace_model::props::Site;
use millrace_model::run::LogLine;
use millrace_model::tenant::Caller;
use millrace_runner::{Call, CallFailure, CallOutcome, IsolateSpec};
use parking_lot::Mutex;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use crate::deploy::components::CodeRef;
use crate::deploy::form_answers::{OptionsAnswer, PropsAnswer};
use crate::field_errors::invalid_props;
use crate::run::asks::AskScope;
use crate::run::call::MODULE;
use crate::run::inputs::{Inputs, dynamic_of};
use crate::run::program::{ISOLATES_MAX, isolate_owner};
use crate::run::refused_connections::with_refusals;
use crate::run::sink::Answering;
use crate::run::source_program::env_of;
use crate::run::store_grants::StoreGrants;
use crate::tenants::account_props::AccountUse;
use crate::{Engine, EngineError};

/// Wall-clock limit of an options method or `additionalProps`: somebody waits before a form.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The class of errors that are words for whoever configures a component (registry facts 3).
const CONFIGURATION_ERROR: &str = "ConfigurationError";

/// What a form is about.
#[derive(Clone, Debug)]
pub enum FormOf {
    /// A component that is to be used; with a type, one of that type.
    Component(CodeRef, Option<ComponentType>),
    /// A deployed source: what the form does not give is as it is stored, and `$.service.db` shows
    /// what the source keeps.
    Source(SourceId),
}

/// Whose code is asked.
pub(crate) struct Subject<'a> {
    pub(crate) component: &'a SavedComponent,
    /// The deployed source whose `$.service.db`, endpoint and id it sees.
    pub(crate) source: Option<&'a SourceId>,
}

impl<'a> Subject<'a> {
    /// A component that nothing runs yet.
    pub(crate) const fn new(component: &'a SavedComponent) -> Self {
        Self { component, source: None }
    }
}

/// A form's component, the values that hold, and the source with what its `additionalProps` made
/// last.
struct Form {
    component: SavedComponent,
    values: Map<String, Value>,
    source: Option<(SourceId, Option<Vec<PropDef>>)>,
}

impl Form {
    fn subject(&self) -> Subject<'_> {
        Subject { component: &self.component, source: self.source.as_ref().map(|(id, _)| id) }
    }
}

/// Which options are asked for.
#[derive(Clone, Debug)]
pub struct OptionsRequest {
    /// What the form is about.
    pub of: FormOf,
    /// The prop.
    pub prop_name: String,
    /// Values filled in so far.
    pub configured_props: Map<String, Value>,
    /// Counts up from 0.
    pub page: u64,
    /// What the page before gave as its context.
    pub prev_context: Value,
    /// What was typed into the search box.
    pub query: Option<String>,
    /// The form's id, from an earlier answer of `additionalProps`.
    pub form: Option<String>,
}

impl Engine {
    /// Runs the options method of a prop.
    pub async fn prop_options(
        &self,
        caller: &Caller,
        request: OptionsRequest,
    ) -> Result<OptionsAnswer, EngineError> {
        let form = self.form(caller, &request.of, request.configured_props).await?;
        let component = &form.component;
        let known = component.manifest.props.iter().any(|def| def.name == request.prop_name);
        if !known && !component.manifest.has_additional_props {
            let names = component
                .manifest
                .props
                .iter()
                .map(|def| format!("`{}`", def.name))
                .collect::<Vec<_>>()
                .join(", ");
            let names = if names.is_empty() { "none".to_owned() } else { names };
            let name = millrace_model::shown(&request.prop_name);
            return Err(EngineError::invalid(
                "prop_name",
                format!("the component has no prop `{name}`; it has {names}"),
            ));
        }
        let previous = self.previous(caller, &form, request.form.as_deref()).await?;
        // Props that it left as they are have the options of the component.
        let changed: Option<Vec<&PropDef>> = previous.as_ref().map(|made| {
            made.iter().filter(|def| !component.manifest.props.contains(def)).collect()
        });
        let question = json!({
            "kind": "options", "prop": request.prop_name, "page": request.page, "prev_context": request.prev_context, "query": request.query,
            "previous": changed,
        });
        let (subject, previous) = (form.subject(), previous.as_deref());
        let mut logs = Vec::new();
        let answer =
            self.ask(caller, &subject, question, &form.values, previous, &mut logs).await?;
        let options = match answer {
            Ok(answer) => serde_json::from_value(answer).unwrap_or_default(),
            Err(failure) => {
                OptionsAnswer { errors: vec![failure_text(&failure)], ..OptionsAnswer::default() }
            }
        };
        Ok(OptionsAnswer { logs, ..options })
    }

    /// Runs `additionalProps`. `id`: that of an earlier answer to the same form, whose props the
    /// function then sees.
    pub async fn dynamic_props(
        &self,
        caller: &Caller,
        of: &FormOf,
        configured_props: Map<String, Value>,
        id: Option<String>,
    ) -> Result<PropsAnswer, EngineError> {
        let form = self.form(caller, of, configured_props).await?;
        let previous = self.previous(caller, &form, id.as_deref()).await?;
        let (subject, previous) = (form.subject(), previous.as_deref());
        let (question, mut logs) = (additional_props(previous), Vec::new());
        let answer =
            self.ask(caller, &subject, question, &form.values, previous, &mut logs).await?;
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(failure) => {
                let errors = vec![failure_text(&failure)];
                return Ok(PropsAnswer { logs, errors, ..PropsAnswer::default() });
            }
        };
        let made = answer["dynamic_props"].take();
        let form = self.0.forms.record(caller, &form.component.artifact_id, id, made).await?;
        let props = answer["props"].as_array_mut().map(std::mem::take).unwrap_or_default();
        Ok(PropsAnswer { form, props, logs, errors: Vec::new() })
    }

    /// What `additionalProps` gave before: to the form, or where none is named, to the source that
    /// it is about.
    async fn previous(
        &self,
        caller: &Caller,
        form: &Form,
        id: Option<&str>,
    ) -> Result<Option<Vec<PropDef>>, EngineError> {
        let previous = self.0.forms.previous(caller, &form.component.artifact_id, id).await?;
        Ok(previous.or_else(|| form.source.as_ref().and_then(|(_, made)| made.clone())))
    }

    /// `given`: what the form has so far; it is laid over what is stored of a source.
    async fn form(
        &self,
        caller: &Caller,
        of: &FormOf,
        given: Map<String, Value>,
    ) -> Result<Form, EngineError> {
        let id = match of {
            FormOf::Component(code, kind) => {
                let (component, _) = self.resolve_component(caller, code, None).await?;
                if let Some(kind) = kind.filter(|kind| *kind != component.component_type) {
                    return Err(EngineError::not_found(
                        kind.name(),
                        component.manifest.key.as_deref().unwrap_or(component.id.as_str()),
                    ));
                }
                return Ok(Form { component, values: given, source: None });
            }
            FormOf::Source(id) => id,
        };
        let source = self.owned_source(caller, id).await?;
        let component = self.component_of(&source).await?;
        let mut values = source.configured_props;
        self.0.keyring.open_props(id.as_str(), &mut values)?;
        values.extend(given);
        Ok(Form { component, values, source: Some((source.id, source.dynamic_props)) })
    }

    /// The definitions that hold for these values: the component's, or what its `additionalProps`
    /// makes of them. `previous`: what it made before.
    pub(crate) async fn definitions(
        &self,
        caller: &Caller,
        subject: &Subject<'_>,
        values: &Map<String, Value>,
        previous: Option<&[PropDef]>,
    ) -> Result<Option<Vec<PropDef>>, EngineError> {
        if !subject.component.manifest.has_additional_props {
            return Ok(None);
        }
        let refused = |message: String, stack: Option<&str>| EngineError::Component {
            code: "additional_props_failed",
            message,
            details: json!({ "field": "configured_props", "stack": stack }),
        };
        let question = additional_props(previous);
        let answer = self.ask(caller, subject, question, values, previous, &mut Vec::new()).await?;
        let mut answer = answer.map_err(|failure| {
            // Words for whoever fills in the form need no place in the code.
            let stack =
                Some(failure.stack.as_str()).filter(|_| failure.code != CONFIGURATION_ERROR);
            refused(
                format!(
                    "the component could not say which props it needs: {}",
                    failure_text(&failure)
                ),
                stack,
            )
        })?;
        let defs = serde_json::from_value(answer["props"].take());
        defs.map(Some).map_err(|error| {
            refused(
                format!(
                    "the props that `additionalProps` gave are not of the expected form: {error}"
                ),
                None,
            )
        })
    }

    /// As [`Engine::definitions`], for a source that is deployed with these values. Choosing a
    /// value is what has the others asked for (spec 2.7.1): as long as one that decides on them is
    /// missing, that is the error, and so it is where the code fails on values that are wrong.
    pub(crate) async fn source_definitions(
        &self,
        caller: &Caller,
        subject: &Subject<'_>,
        values: &Map<String, Value>,
        previous: Option<&[PropDef]>,
    ) -> Result<Option<Vec<PropDef>>, EngineError> {
        let own = &subject.component.manifest.props;
        if !subject.component.manifest.has_additional_props {
            return Ok(None);
        }
        let given = values
            .iter()
            .filter(|(name, _)| own.iter().any(|def| def.name == **name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let wrong =
            async || self.0.prop_values.check(caller, own, &given, Site::Source).await.err();
        let decides = |def: &PropDef| {
            def.required() && def.rest.get("reloadProps") == Some(&Value::Bool(true))
        };
        let is_missing = |def: &PropDef| given.get(&def.name).is_none_or(Value::is_null);
        if own.iter().any(|def| decides(def) && is_missing(def))
            && let Some(error) = wrong().await
        {
            return Err(error);
        }
        match self.definitions(caller, subject, values, previous).await {
            Err(failure) => Err(wrong().await.unwrap_or(failure)),
            made => made,
        }
    }

    /// Asks a component in a host of its own, with the accounts and stores that the values name.
    /// `made`: definitions that its `additionalProps` gave before, for values of the component's
    /// own and of those. What it sets in its `$.service.db` is kept nowhere. `logs` gets what it
    /// logs. `Ok(Err)` is the code's own failure.
    pub(crate) async fn ask(
        &self,
        caller: &Caller,
        subject: &Subject<'_>,
        mut question: Value,
        values: &Map<String, Value>,
        made: Option<&[PropDef]>,
        logs: &mut Vec<LogLine>,
    ) -> Result<Result<Value, CallFailure>, EngineError> {
        let component = subject.component;
        let (own, made) = (&component.manifest.props, made.unwrap_or_default());
        let defs: &Vec<PropDef> = &own
            .iter()
            .filter(|def| made.iter().all(|m| m.name != def.name))
            .chain(made)
            .cloned()
            .collect();
        let errors = self.accounts().prop_errors(caller, defs, values, Site::Step).await?;
        if !errors.is_empty() {
            return Err(invalid_props(&errors));
        }
        let mut stores = StoreGrants::default();
        // Nothing evaluates expressions here.
        stores.add(defs, values, Site::Call);
        let accounts = AccountUse::of(None, defs, values).collect();
        let mut values = values.clone();
        let mut env = BTreeMap::new();
        if let Some(source) = subject.source {
            let interfaces = self.0.store.interfaces(source.as_str()).await?;
            self.add_endpoint(defs, &interfaces, &mut values);
            question["db"] = json!(self.service_db(source).await?);
            env = env_of(source);
        }
        let inputs = Inputs::new(Value::Object(values), accounts);
        let props = match inputs.text(self, &caller.org_id).await? {
            Ok(text) => millrace_model::json::from_str::<Value>(&text)
                .map_err(|e| EngineError::internal("could not read props", e))?,
            Err(CallOutcome { result: Err(failure), .. }) => return Ok(Err(failure)),
            Err(_) => {
                return Err(EngineError::internal(
                    "an account could not be used, for no reason",
                    component.id.to_string(),
                ));
            }
        };
        question["dynamic_props"] = json!(dynamic_of(own, Some(defs)));
        question["module"] = MODULE.into();
        question["props"] = props;
        // Not the isolate of the component's runs, so that no question touches their state; one for
        // each key and external user, as that of an action run by itself.
        let whose = subject.source.map_or_else(|| caller.org_id.as_str(), SourceId::as_str);
        let isolate = Arc::new(IsolateSpec {
            id: format!("configure:{whose}:{}:{}", isolate_owner(caller), component.artifact_id),
            organization: caller.org_id.to_string(),
            modules: vec![self.installed_module(&caller.org_id, &component.artifact_id).await?],
            env,
            memory_mb: None,
            calls_per_isolate: 1,
            isolates_max: ISOLATES_MAX,
            in_order: false,
        });
        let scope = Arc::new(AskScope::new(caller.org_id.clone(), stores, None));
        let body = to_raw_value(&question)
            .map_err(|e| EngineError::internal("could not write a question", e))?;
        let sink = Arc::new(Answering {
            engine: self.clone(),
            scope,
            refusals: Mutex::default(),
            logs: Mutex::default(),
        });
        let outcome = self
            .0
            .runner
            .call(isolate, Call { body, timeout: TIMEOUT, steps: Vec::new() }, sink.clone())
            .await;
        logs.append(&mut sink.logs.lock());
        match outcome.result {
            Ok(done) => millrace_model::json::from_str(done.result.get())
                .map(Ok)
                .map_err(|e| EngineError::internal("could not read an answer", e)),
            Err(failure) => Ok(Err(with_refusals(failure, &sink.refusals.lock()))),
        }
    }
}

/// A failure as a form shows it.
pub(crate) fn failure_text(failure: &CallFailure) -> String {
    format!("{}: {}", failure.code, failure.message)
}

/// The question that runs `additionalProps`.
fn additional_props(previous: Option<&[PropDef]>) -> Value {
    json!({ "kind": "additional_props", "previous": previous })
}
