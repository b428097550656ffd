//! List of apps, narrowed by whether the organization has components of them.

use millrace_model::account::App;
use millrace_model::component::PropDef;
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::Caller;

use crate::EngineError;
use crate::deploy::registries::Registries;
use crate::tenants::apps::{AppFilter, Served};

impl Registries {
    /// Apps by slug: the organization's own in place of the catalogue's.
    pub async fn list_apps(
        &self,
        caller: &Caller,
        filter: &AppFilter,
        page: &Page,
    ) -> Result<Listing<App>, EngineError> {
        let served = match filter {
            AppFilter { has_components: None, has_actions: None, has_triggers: None, .. } => None,
            _ => Some(self.served(caller).await?),
        };
        self.apps.list(caller, filter, served.as_ref(), page).await
    }

    async fn served(&self, caller: &Caller) -> Result<Served, EngineError> {
        let mut served = Served::default();
        for found in &self.search_index(&caller.org_id).await?.components {
            served.add(&found.component.component_type, &found.component.app);
        }
        // A component has up to 10 MiB of code.
        let mut page = Page { limit: 10, ..Page::default() };
        loop {
            let published = self.ctx.store.list_components(&caller.org_id, &page).await?;
            for component in &published.items {
                let kind = component.component_type.name();
                for slug in component.manifest.props.iter().filter_map(PropDef::app) {
                    served.add(kind, slug);
                }
            }
            match published.next(|component| component.id.to_string()) {
                None => return Ok(served),
                next => page.after = next,
            }
        }
    }
}
