//! Deploying, updating and deleting sources (spec 3.1).

use millrace_model::component::{Artifact, ComponentType, Hook, PropDef, SavedComponent};
use millrace_model::ids::{HttpInterfaceId, OrgId, SourceId, TimerId};
use millrace_model::made_from::MadeFrom;
use millrace_model::page::{Listing, Page};
use millrace_model::prop_type::PropType;
use millrace_model::props::{self, Site};
use millrace_model::run::Run;
use millrace_model::source::{HttpInterface, Owner, Source, SourceSettings, Timer};
use millrace_model::tenant::Caller;
use millrace_store::Interfaces;
use serde_json::{Map, Value, json};

use crate::accept::app_hooks;
use crate::background::Task;
use crate::checks::check_name;
use crate::deploy::components::CodeRef;
use crate::deploy::configure::Subject;
use crate::deploy::hooks::hook_error;
use crate::deploy::marks::checked;
use crate::deploy::source_settings::SettingsOfSource;
use crate::deploy::workflows::checked_message;
use crate::error::{readable, removable};
use crate::observe::views::SourceView;
use crate::run::context::Origin;
use crate::run::source_program::has_db;
use crate::tenants::request_secrets::keep_credentials;
use crate::{Engine, EngineError};

/// A source to be deployed.
#[derive(Clone, Debug)]
pub struct NewSource {
    /// Its code.
    pub code: CodeRef,
    /// Its name; the component's where none.
    pub name: Option<String>,
    /// Values by prop name.
    pub configured_props: Map<String, Value>,
    /// The id of the form that they were filled in with.
    pub form: Option<String>,
    /// Whether it is to be active; where not, `activate` waits until it is.
    pub active: bool,
    /// Whether events are made of what `deploy` emits.
    pub emits_on_deploy: bool,
    /// How its runs are run.
    pub settings: SettingsOfSource,
    /// The file it is made from.
    pub made_from: Option<MadeFrom>,
    /// What the deployment that this makes says of itself.
    pub message: Option<String>,
}

impl Engine {
    /// Deploys a source: `deploy`, then `activate` run, and nothing stays behind if either fails
    /// (reference 3).
    pub async fn create_source(
        &self,
        caller: &Caller,
        new: NewSource,
    ) -> Result<SourceView, EngineError> {
        let message = checked_message(new.message)?;
        let (component, artifact) = self.resolve_component(caller, &new.code, None).await?;
        require_source(&component)?;
        let settings = new.settings.over(SourceSettings::default(), &self.0.config)?;
        let now = self.now();
        let id = SourceId::generate(&self.0.ids);
        let previous =
            self.0.forms.previous(caller, &component.artifact_id, new.form.as_deref()).await?;
        let dynamic_props = self
            .source_definitions(
                caller,
                &Subject::new(&component),
                &new.configured_props,
                previous.as_deref(),
            )
            .await?;
        let defs = dynamic_props.as_ref().unwrap_or(&component.manifest.props).clone();
        let mut configured =
            self.0.prop_values.check(caller, &defs, &new.configured_props, Site::Source).await?;
        let hooks =
            self.app_hooks_of(caller, &Subject::new(&component), &defs, &mut configured).await?;
        keep_credentials(&Map::new(), &mut configured)?;
        self.0.keyring.seal_props(&self.0.ids, id.as_str(), &defs, &mut configured)?;
        let name = check_name(
            new.name.as_deref().or(component.manifest.name.as_deref()).unwrap_or("source"),
        )?;
        let mut source = Source {
            id,
            org_id: caller.org_id.clone(),
            user_id: caller.user_id.clone(),
            external_user_id: caller.external_user_id.clone(),
            component_id: component.id.clone(),
            name_slug: String::new(),
            name,
            dynamic_props,
            configured_props: configured,
            active: false,
            inactive_reason: Some("it is being deployed".into()),
            settings,
            limits: settings.limits(has_db(&defs)),
            deployment_id: None,
            made_from: checked(new.made_from)?,
            created_at: now,
            updated_at: now,
        };
        // The endpoint answers while `activate` runs (reference 3); timers wait for it.
        let mut interfaces = self.interfaces_of(&source, &defs, &Interfaces::default())?;
        interfaces.app_hooks = app_hooks::waiting(hooks, &source.org_id, &source.id);
        if !new.active {
            set_active(&mut interfaces, false);
        }
        self.save_built(&new.code, &component, artifact).await?;
        // A change of it waits until it is deployed.
        let _turn = self.0.changes.turn(source.id.as_str()).await;
        self.insert_source(&mut source, &interfaces).await?;
        let program = self
            .prepare_source(
                source.clone(),
                component.manifest.clone(),
                &component.artifact_id,
                &interfaces,
            )
            .await?;
        let hooks: &[Hook] =
            if new.active { &[Hook::Deploy, Hook::Activate] } else { &[Hook::Deploy] };
        for &hook in hooks {
            if let Err(failure) =
                self.run_hook(&program, hook, new.emits_on_deploy || hook != Hook::Deploy).await?
            {
                self.remove_source(&source.org_id, &source.id).await?;
                return Err(hook_error(hook, &failure));
            }
        }
        source.active = new.active;
        source.inactive_reason = (!new.active).then(|| "it was deployed inactive".into());
        set_active(&mut interfaces, new.active);
        let deployment = self.new_source_deployment(caller, &source, message);
        source.deployment_id = Some(deployment.id.clone());
        self.0.store.deploy_source(source.clone(), interfaces.clone(), deployment).await?;
        self.forget_owner(source.id.as_str());
        self.0.tasks.wake(Task::Scheduler);
        Ok(SourceView::of(&self.0.ctx, source, &interfaces))
    }

    /// Deletes a source; a failing `deactivate` does not keep it (reference 3), nor damage.
    pub async fn delete_source(&self, caller: &Caller, id: &SourceId) -> Result<(), EngineError> {
        let _turn = self.0.changes.turn(id.as_str()).await;
        let source = removable(caller, self.owned_source(caller, id).await)?;
        if let Some(source) = source.filter(|source| source.active)
            && let Some(program) = readable(self.source_program(source).await)?
            && let Err(failure) = self.run_hook(&program, Hook::Deactivate, true).await?
        {
            tracing::info!(source.id = %id, error = %failure.code, "a deactivate hook failed; the source is deleted all the same");
        }
        self.remove_source(&caller.org_id, id).await
    }

    /// A source.
    pub async fn source(&self, caller: &Caller, id: &SourceId) -> Result<SourceView, EngineError> {
        let source = self.owned_source(caller, id).await?;
        let interfaces = self.0.store.interfaces(id.as_str()).await?;
        Ok(SourceView::of(&self.0.ctx, source, &interfaces))
    }

    /// The sources, newest first.
    pub async fn list_sources(
        &self,
        caller: &Caller,
        page: &Page,
    ) -> Result<Listing<SourceView>, EngineError> {
        let listing = self
            .0
            .store
            .list_sources(&caller.org_id, caller.external_user_id.as_deref(), page)
            .await?;
        let ids: Vec<&str> = listing.items.iter().map(|source| source.id.as_str()).collect();
        let interfaces = self.0.store.interfaces_of(&ids).await?;
        let (mut items, mut damaged) = (Vec::with_capacity(listing.items.len()), listing.damaged);
        for source in listing.items {
            match interfaces.get(source.id.as_str()) {
                Some(interfaces) => items.push(SourceView::of(&self.0.ctx, source, interfaces)),
                None => damaged.push(source.id.to_string()),
            }
        }
        Ok(Listing { items, total_count: listing.total_count, damaged })
    }

    /// Runs a source now, with an event or none, and waits for the end of the run.
    pub async fn run_source(
        &self,
        caller: &Caller,
        id: &SourceId,
        event: Option<Value>,
    ) -> Result<Run, EngineError> {
        let source = self.owned_source(caller, id).await?;
        let program = self
            .program(&source.org_id, &Owner::Source(id.clone()), None)
            .await?
            .ok_or_else(|| EngineError::not_found("source", id))?;
        let event = match event {
            Some(event) => event.to_string(),
            None => json!({ "timestamp": self.now().secs() }).to_string(),
        };
        self.run_and_wait(caller, &program, &Origin::first("SDK", ""), event).await
    }

    pub(crate) async fn owned_source(
        &self,
        caller: &Caller,
        id: &SourceId,
    ) -> Result<Source, EngineError> {
        let found = self
            .0
            .store
            .source(&caller.org_id, id)
            .await?
            .filter(|source| caller.may_use(source.external_user_id.as_deref()));
        found.ok_or_else(|| EngineError::not_found("source", id))
    }

    /// Stores what `resolve_component` built; a component that was there already is not stored
    /// again.
    pub(crate) async fn save_built(
        &self,
        code: &CodeRef,
        component: &SavedComponent,
        artifact: Option<Artifact>,
    ) -> Result<(), EngineError> {
        let Some(artifact) = artifact else { return Ok(()) };
        debug_assert!(
            !matches!(code, CodeRef::Component(_)),
            "only built components bring an artifact"
        );
        self.0.store.put_artifact(artifact).await?;
        Ok(self.0.store.create_component(component.clone()).await?)
    }

    async fn remove_source(&self, org: &OrgId, id: &SourceId) -> Result<(), EngineError> {
        self.0.store.delete_source(org, id).await?;
        self.forget_owner(id.as_str());
        self.remove_own_store(org, id).await
    }

    /// Lays the given values over the old ones, opened, and checks and seals all by the definitions
    /// that then hold. Gives those, and the events of apps that the props listen for.
    pub(super) async fn reconfigure(
        &self,
        caller: &Caller,
        source: &mut Source,
        component: &SavedComponent,
        given: Option<&Map<String, Value>>,
    ) -> Result<(Vec<PropDef>, Vec<(String, String)>), EngineError> {
        let mut merged = source.configured_props.clone();
        // What is given anew need not be readable.
        merged.retain(|name, _| given.is_none_or(|given| !given.contains_key(name)));
        self.0.keyring.open_props(source.id.as_str(), &mut merged)?;
        let kept = merged.clone();
        merged.extend(given.cloned().unwrap_or_default());
        let id = source.id.clone();
        let subject = Subject { component, source: Some(&id) };
        source.dynamic_props = self
            .source_definitions(caller, &subject, &merged, source.dynamic_props.as_deref())
            .await?;
        let defs = source.dynamic_props.as_ref().unwrap_or(&component.manifest.props).clone();
        // A value of before whose prop is gone goes with it; one that is given now and unknown is
        // refused.
        merged.retain(|name, _| {
            !kept.contains_key(name)
                || given.is_some_and(|g| g.contains_key(name))
                || defs.iter().any(|d| &d.name == name)
        });
        let mut checked = self.0.prop_values.check(caller, &defs, &merged, Site::Source).await?;
        let hooks = self.app_hooks_of(caller, &subject, &defs, &mut checked).await?;
        keep_credentials(&source.configured_props, &mut checked)?;
        self.0.keyring.seal_props(&self.0.ids, source.id.as_str(), &defs, &mut checked)?;
        source.configured_props = checked;
        Ok((defs, hooks))
    }

    /// The interfaces that the props declare; an endpoint and unchanged timers are kept over
    /// updates.
    pub(super) fn interfaces_of(
        &self,
        source: &Source,
        defs: &[PropDef],
        before: &Interfaces,
    ) -> Result<Interfaces, EngineError> {
        let owner = Owner::Source(source.id.clone());
        let now = self.now();
        let mut out = Interfaces::default();
        for def in defs {
            match def.item_type() {
                PropType::HttpInterface if out.http.is_empty() => {
                    let custom_response =
                        def.rest.get("customResponse") == Some(&Value::Bool(true));
                    out.http.push(match before.http.first() {
                        Some(kept) => {
                            HttpInterface { custom_response, active: true, ..kept.clone() }
                        }
                        None => HttpInterface {
                            id: HttpInterfaceId::generate(&self.0.ids),
                            org_id: source.org_id.clone(),
                            owner: owner.clone(),
                            key: self.new_endpoint_key(),
                            custom_response,
                            active: true,
                        },
                    });
                }
                PropType::TimerInterface => {
                    let value = source.configured_props.get(&def.name).cloned().unwrap_or_default();
                    let Some(schedule) = props::parse_timer(&value, now)? else { continue };
                    let kept = before.timers.get(out.timers.len());
                    let kept = kept.filter(|timer| timer.schedule == schedule);
                    out.timers.push(Timer {
                        id: kept.map_or_else(|| TimerId::generate(&self.0.ids), |t| t.id.clone()),
                        org_id: source.org_id.clone(),
                        owner: owner.clone(),
                        // What an inactive one missed is not caught up with.
                        next_at: match kept.filter(|timer| timer.active) {
                            Some(timer) => timer.next_at,
                            None => schedule.next_after(now, now)?,
                        },
                        schedule,
                        active: false,
                    });
                }
                _ => {}
            }
        }
        Ok(out)
    }

    /// The secret part of an endpoint's address, of the form that clients of such platforms expect
    /// (facts 0).
    pub(crate) fn new_endpoint_key(&self) -> String {
        format!("en{}", self.0.ids.base62(26).to_lowercase())
    }
}

pub(super) fn require_source(component: &SavedComponent) -> Result<(), EngineError> {
    match component.manifest.check()? {
        ComponentType::Source => Ok(()),
        ComponentType::Action => Err(EngineError::Component {
            code: "not_a_source",
            message: format!(
                "`{}` is an action; deploy takes sources, an action is published and used in a workflow",
                component.manifest.name.as_deref().unwrap_or("")
            ),
            details: json!({}),
        }),
    }
}

pub(super) fn set_active(interfaces: &mut Interfaces, active: bool) {
    for http in &mut interfaces.http {
        http.active = active;
    }
    for timer in &mut interfaces.timers {
        timer.active = active;
    }
    for hook in &mut interfaces.app_hooks {
        hook.active = active;
    }
}
