//! Search indexes of registries, of the organizations that searched last.

use std::collections::VecDeque;
use std::sync::Arc;

use millrace_model::Timestamp;
use millrace_model::ids::{OrgId, RegistryId};
use millrace_model::registry::RegistryComponent;

use crate::EngineError;
use crate::deploy::registries::Registries;

/// Organizations whose search index is kept.
const INDEXES_MAX: usize = 16;

/// What search looks through, as long as no registry changes.
pub(crate) struct SearchIndex {
    pub(super) registries: Vec<(RegistryId, Timestamp)>,
    pub(crate) components: Vec<RegistryComponent>,
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
    /// What search looks through now.
    pub(super) async fn search_index(&self, org: &OrgId) -> Result<Arc<SearchIndex>, EngineError> {
        // Another node may have changed them: the list is small, the components are not.
        let now: Vec<_> = self
            .ctx
            .store
            .registries(org)
            .await?
            .into_iter()
            .map(|r| (r.id, r.updated_at))
            .collect();
        if let Some(index) = self.indexes.get(org).filter(|index| index.registries == now) {
            return Ok(index);
        }
        let mut components = Vec::new();
        for (id, _) in &now {
            components.extend(self.ctx.store.registry_components(id).await?);
        }
        let index = Arc::new(SearchIndex { registries: now, components });
        self.indexes.put(org, index.clone());
        Ok(index)
    }
}
