//! Updates of sources: the old version is deactivated and the new one activated; where that fails,
//! the old one goes on.

use millrace_model::component::{Hook, SavedComponent};
use millrace_model::ids::SourceId;
use millrace_model::source::{Source, SourceContent, SourceDeployment};
use millrace_model::tenant::Caller;
use millrace_runner::CallFailure;
use millrace_store::Interfaces;

use crate::accept::app_hooks;
use crate::background::Task;
use crate::checks::check_name;
use crate::deploy::hooks::hook_error;
use crate::deploy::marks::marked;
use crate::deploy::precondition::check_source_tag;
use crate::deploy::sources::{require_source, set_active};
use crate::deploy::updates::UpdateSource;
use crate::deploy::workflows::checked_message;
use crate::error::readable;
use crate::observe::views::SourceView;
use crate::run::program::Program;
use crate::run::source_program::has_db;
use crate::{Engine, EngineError};

impl Engine {
    /// Updates a source: `deactivate` of the old, `activate` of the new; where that fails, the old
    /// version goes on (reference 3).
    pub async fn update_source(
        &self,
        caller: &Caller,
        id: &SourceId,
        update: UpdateSource,
    ) -> Result<SourceView, EngineError> {
        Ok(self.change_source(caller, id, update, None).await?.0)
    }

    /// Changes a source; `back_to`: first to what a deployment held. Gives the deployment that this
    /// made, where it made one.
    pub(super) async fn change_source(
        &self,
        caller: &Caller,
        id: &SourceId,
        mut update: UpdateSource,
        back_to: Option<&SourceContent>,
    ) -> Result<(SourceView, Option<SourceDeployment>), EngineError> {
        let message = checked_message(update.message.take())?;
        let _turn = self.0.changes.turn(id.as_str()).await;
        let old = self.owned_source(caller, id).await?;
        check_source_tag(&old, update.over.as_deref())?;
        let old_component = self.component_of(&old).await?;
        let (component, artifact) = match &update.code {
            Some(code) => self.resolve_component(caller, code, Some(&old_component)).await?,
            None => (old_component, None),
        };
        require_source(&component)?;
        let old_version = old.deployment_id.clone();
        let old_interfaces = self.0.store.interfaces(id.as_str()).await?;
        let mut new = self.changed_source(caller, &old, &component, &update, back_to).await?;
        let (defs, hooks) = self
            .reconfigure(caller, &mut new, &component, update.configured_props.as_ref())
            .await?;
        new.settings = update.settings.over(new.settings, &self.0.config)?;
        new.limits = new.settings.limits(has_db(&defs));
        let mut interfaces = self.interfaces_of(&new, &defs, &old_interfaces)?;
        interfaces.app_hooks = app_hooks::waiting(hooks, &new.org_id, &new.id);
        let active = update.active.unwrap_or(old.active);
        if let Some(code) = &update.code {
            self.save_built(code, &component, artifact).await?;
        }
        let before = readable(self.source_program(old.clone()).await)?;
        if old.active
            && let Some(before) = &before
            && let Err(failure) = self.run_hook(before, Hook::Deactivate, true).await?
        {
            tracing::info!(source.id = %id, error = %failure.code, "a deactivate hook failed; the update goes on");
        }
        let after = self
            .prepare_source(
                new.clone(),
                component.manifest.clone(),
                &component.artifact_id,
                &interfaces,
            )
            .await?;
        if active && !old.active {
            self.open_for_activation(&new, &interfaces).await?;
        }
        if active && let Err(failure) = self.run_hook(&after, Hook::Activate, true).await? {
            self.go_back(old, old_interfaces, before.as_ref(), &failure).await?;
            return Err(hook_error(Hook::Activate, &failure));
        }
        new.active = active;
        new.inactive_reason =
            (!active).then(|| old.inactive_reason.clone().unwrap_or("it was made inactive".into()));
        set_active(&mut interfaces, active);
        let makes_version = back_to.is_some() || self.makes_version(before.as_ref(), &old, &new);
        let mut made = makes_version.then(|| self.new_source_deployment(caller, &new, message));
        let store = &self.0.store;
        match &mut made {
            Some(made) => {
                made.version =
                    store.deploy_source(new.clone(), interfaces.clone(), made.clone()).await?
            }
            None => store.update_source(new.clone(), interfaces.clone()).await?,
        }
        new.deployment_id = made.as_ref().map(|made| made.id.clone()).or(old_version);
        self.forget_owner(id.as_str());
        if let (Some(Program::Source(before)), Program::Source(after)) = (&before, &after)
            && before.isolate.id != after.isolate.id
        {
            let (runner, isolate) = (self.0.runner.clone(), before.isolate.id.clone());
            self.0.tasks.spawn(async move { runner.evict(&isolate).await });
        }
        self.0.tasks.wake(Task::Scheduler);
        Ok((SourceView::of(&self.0.ctx, new, &interfaces), made))
    }

    /// The source as an update makes it, still with the values and settings of before; `back_to`:
    /// with those of a deployment.
    async fn changed_source(
        &self,
        caller: &Caller,
        old: &Source,
        component: &SavedComponent,
        update: &UpdateSource,
        back_to: Option<&SourceContent>,
    ) -> Result<Source, EngineError> {
        let mut new = Source {
            component_id: component.id.clone(),
            updated_at: self.now(),
            // Until it is deployed: its hooks run before.
            deployment_id: None,
            ..old.clone()
        };
        new.made_from = marked(update.made_from.clone(), new.made_from)?;
        if let Some(name) = &update.name {
            new.name = check_name(name)?;
        }
        if let Some(previous) =
            self.0.forms.previous(caller, &component.artifact_id, update.form.as_deref()).await?
        {
            new.dynamic_props = Some(previous);
        }
        if let Some(content) = back_to {
            let SourceContent { configured_props, dynamic_props, settings, .. } = content.clone();
            new = Source { configured_props, dynamic_props, settings, ..new };
        }
        Ok(new)
    }

    /// Stores a source whose `activate` hook is about to run: as on deploy, its endpoint answers
    /// meanwhile, and timers wait for it.
    async fn open_for_activation(
        &self,
        new: &Source,
        interfaces: &Interfaces,
    ) -> Result<(), EngineError> {
        let beginning = Source {
            active: false,
            inactive_reason: Some("it is being activated".into()),
            ..new.clone()
        };
        let mut open = interfaces.clone();
        open.timers.iter_mut().for_each(|timer| timer.active = false);
        self.0.store.update_source(beginning, open).await?;
        self.forget_owner(new.id.as_str());
        Ok(())
    }

    /// Goes back to the version before one whose `activate` hook failed. It becomes inactive where
    /// it was, and where its own hook fails as well.
    async fn go_back(
        &self,
        old: Source,
        interfaces: Interfaces,
        before: Option<&Program>,
        failure: &CallFailure,
    ) -> Result<(), EngineError> {
        let why = |failure: &CallFailure| {
            format!("the activate hook failed: {}: {}", failure.code, failure.message)
        };
        if !old.active {
            self.deactivated(old, interfaces, why(failure)).await?;
        } else if let Some(before) = before
            && let Err(again) = self.run_hook(before, Hook::Activate, true).await?
        {
            self.deactivated(old, interfaces, why(&again)).await?;
        }
        Ok(())
    }

    async fn deactivated(
        &self,
        mut source: Source,
        mut interfaces: Interfaces,
        reason: String,
    ) -> Result<(), EngineError> {
        source.active = false;
        source.inactive_reason = Some(reason);
        set_active(&mut interfaces, false);
        let id = source.id.clone();
        self.0.store.update_source(source, interfaces).await?;
        self.forget_owner(id.as_str());
        Ok(())
    }
}
