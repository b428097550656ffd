//! Context that every part of the engine shares: configuration, store, clock, ids and tasks.

use std::sync::Arc;

use millrace_model::domain::endpoint_url;
use millrace_model::{Clock, IdSource, Timestamp};
use millrace_store::Store;

use crate::EngineConfig;
use crate::background::Tasks;
use crate::cache::Cache;
use crate::one_by_one::OneByOne;

/// What every part of the engine needs, and nothing more. Shared as `Arc<Ctx>`.
pub(crate) struct Ctx {
    pub(crate) config: EngineConfig,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<IdSource>,
    /// Names this process in leases.
    pub(crate) node: String,
    pub(crate) cache: Cache,
    pub(crate) tasks: Tasks,
    /// Changes of a record, each made of what the one before left; of a source with its hooks, so
    /// that none registers twice what is undone once.
    pub(crate) changes: OneByOne,
}

impl Ctx {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// End of a lease that is taken now.
    pub(crate) fn lease_until(&self) -> Timestamp {
        self.now().plus_ms(i64::try_from(self.config.lease.as_millis()).unwrap_or(i64::MAX))
    }

    /// Address of an endpoint.
    pub(crate) fn endpoint_url(&self, key: &str) -> String {
        endpoint_url(&self.config.base_url, self.config.endpoint_domain.as_deref(), key)
    }
}
