//! Search over published components and those of registries; keeps the indexes of the organizations
//! that searched last.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use millrace_model::Timestamp;
use millrace_model::ids::{OrgId, RegistryId};
use millrace_model::page::Page;
use millrace_model::prop_type::PropType;
use millrace_model::registry::{RegistryComponent, search};
use millrace_model::tenant::Caller;

use crate::EngineError;
use crate::deploy::registries::Registries;

/// Organizations whose search index is kept.
const INDEXES_MAX: usize = 16;
/// Registries that an error names.
const REGISTRIES_NAMED: usize = 10;

/// Which components a search is for.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskedComponents<'a> {
    /// Words, all of which are in the key, the name or the description.
    pub words: &'a str,
    /// The slug or id of their app; none: of any.
    pub app: Option<&'a str>,
    /// `source` or `action`; none: both.
    pub component_type: Option<&'a str>,
    /// The name of the registry that they are from; none: of any, or published.
    pub registry: Option<&'a str>,
    /// Whether only what the organization published is meant.
    pub is_own: bool,
}

/// A component that search looks at.
#[derive(Clone, Debug)]
pub struct SearchedComponent {
    /// What is known of it.
    pub component: RegistryComponent,
    /// The registry that its code is from; none: published code from elsewhere.
    pub registry: Option<String>,
}

impl AsRef<RegistryComponent> for SearchedComponent {
    fn as_ref(&self) -> &RegistryComponent {
        &self.component
    }
}

/// Index of an organization's registries, valid as long as none of them changes: each key once, of
/// the registry that it names.
pub(crate) struct SearchIndex {
    /// The registries, oldest first: id, name and time of the last update.
    registries: Vec<(RegistryId, String, Timestamp)>,
    pub(crate) components: Vec<SearchedComponent>,
}

impl SearchIndex {
    /// Refuses the name of a registry that is not there, and names those that are.
    fn check_registry(&self, name: &str) -> Result<(), EngineError> {
        let mut names = self.registries.iter().map(|(_, name, _)| name);
        if names.clone().any(|known| known == name) {
            return Ok(());
        }
        let shown = millrace_model::shown(name);
        let known: Vec<_> =
            names.by_ref().take(REGISTRIES_NAMED).map(|known| format!("`{known}`")).collect();
        let others = names.count();
        let message = match (known.join(", "), others) {
            (known, _) if known.is_empty() => format!(
                "there is no registry `{shown}`, and no other; `millrace registry add` adds one"
            ),
            (known, 0) => format!("there is no registry `{shown}`; there are {known}"),
            (known, _) => {
                format!("there is no registry `{shown}`; there are {known} and {others} more")
            }
        };
        Err(EngineError::invalid("registry", message))
    }
}

/// Search indexes of the organizations that searched last.
#[derive(Default)]
pub(crate) struct SearchIndexes(parking_lot::Mutex<VecDeque<(OrgId, Arc<SearchIndex>)>>);

impl SearchIndexes {
    pub(super) fn get(&self, org: &OrgId) -> Option<Arc<SearchIndex>> {
        self.0.lock().iter().find(|(o, _)| o == org).map(|(_, index)| index.clone())
    }

    pub(super) fn put(&self, org: &OrgId, index: Arc<SearchIndex>) {
        let mut kept = self.0.lock();
        kept.retain(|(o, _)| o != org);
        kept.push_back((org.clone(), index));
        if kept.len() > INDEXES_MAX {
            kept.pop_front();
        }
    }

    pub(super) fn forget(&self, org: &OrgId) {
        self.0.lock().retain(|(o, _)| o != org);
    }
}

impl Registries {
    /// The registries' components that fit, best first (see [`search`]).
    pub async fn search(
        &self,
        caller: &Caller,
        asked: &AskedComponents<'_>,
        limit: usize,
    ) -> Result<Vec<SearchedComponent>, EngineError> {
        let index = self.search_index(&caller.org_id).await?;
        if let Some(name) = asked.registry {
            index.check_registry(name)?;
        }
        let published = self.published(caller).await?;
        // Of an app that the catalogue has not, its components tell the slug all the same.
        let app = match asked.app {
            Some(app) => {
                let found = self.apps.find(&caller.org_id, app).await?;
                Some(found.map_or_else(|| app.to_owned(), |found| found.name_slug))
            }
            None => None,
        };
        let (words, kind) = (asked.words.to_owned(), asked.component_type.map(str::to_owned));
        let registry = asked.registry.map(str::to_owned);
        let is_own = asked.is_own;
        let looked_through = move || {
            let keys: HashSet<&str> =
                published.iter().map(|found| found.component.key.as_str()).collect();
            // A key names what was published first, so that is what is found under it.
            let others = index
                .components
                .iter()
                .filter(|found| !is_own && !keys.contains(found.component.key.as_str()));
            let asked_for = published.iter().chain(others).filter(|found| {
                kind.as_ref().is_none_or(|kind| found.component.component_type == *kind)
                    && (registry.is_none() || found.registry == registry)
            });
            search(asked_for, &words, app.as_deref(), limit).into_iter().cloned().collect()
        };
        // Registries may have very many components: the thread would serve nobody else meanwhile.
        tokio::task::spawn_blocking(looked_through)
            .await
            .map_err(|e| EngineError::internal("the search of components broke down", e))
    }

    /// What the organization published, as what a registry holds: it has no file, and its app is
    /// the first that its props ask for.
    async fn published(&self, caller: &Caller) -> Result<Vec<SearchedComponent>, EngineError> {
        let (mut found, mut page) =
            (Vec::new(), Page { limit: Page::LIMIT_MAX, ..Page::default() });
        loop {
            let listing = self.ctx.store.list_components(&caller.org_id, &page).await?;
            let Some(next) = listing.next(|component| component.id.to_string()) else {
                return Ok(found);
            };
            page.after = Some(next);
            found.extend(listing.items.into_iter().filter_map(|component| {
                let manifest = component.manifest;
                let app = manifest
                    .props
                    .iter()
                    .filter(|prop| prop.is(PropType::App))
                    .find_map(|prop| prop.rest.get("app")?.as_str().map(str::to_owned));
                let found = RegistryComponent {
                    key: manifest.key?,
                    name: manifest.name.unwrap_or_default(),
                    description: manifest.description.unwrap_or_default(),
                    version: manifest.version.unwrap_or_default(),
                    component_type: component.component_type.name().into(),
                    app: app.unwrap_or_default(),
                    path: String::new(),
                    hash: component.code_hash,
                };
                let registry = component.registry.map(|from| from.name);
                Some(SearchedComponent { component: found, registry })
            }));
        }
    }

    /// The organization's index, made anew where a registry changed.
    pub(super) async fn search_index(&self, org: &OrgId) -> Result<Arc<SearchIndex>, EngineError> {
        // Another node may have changed them: the list is small, the components are not.
        let registries = self.ctx.store.registries(org).await?;
        let now: Vec<_> =
            registries.iter().map(|r| (r.id.clone(), r.name.clone(), r.updated_at)).collect();
        if let Some(index) = self.indexes.get(org).filter(|index| index.registries == now) {
            return Ok(index);
        }
        let (mut components, mut keys) = (Vec::new(), HashSet::new());
        // A key names the component of the oldest registry that has one.
        for registry in &registries {
            for component in self.ctx.store.registry_components(&registry.id).await? {
                if keys.insert(component.key.clone()) {
                    let registry = Some(registry.name.clone());
                    components.push(SearchedComponent { component, registry });
                }
            }
        }
        let index = Arc::new(SearchIndex { registries: now, components });
        self.indexes.put(org, index.clone());
        Ok(index)
    }
}
