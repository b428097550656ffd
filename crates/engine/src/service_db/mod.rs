//! `$.service.db` of sources: what a call begins with, and the writes of hooks. `README.md` has the whole picture.

mod hook_writes;

pub(crate) use hook_writes::{HookDb, HookWrites};

use millrace_model::ids::SourceId;
use millrace_model::json;
use serde_json::Map;
use serde_json::value::RawValue;

use crate::{Engine, EngineError};

/// A write of a call: the key, and the value's JSON text, or none to delete.
pub(crate) type DbWrite = (String, Option<String>);

impl Engine {
    /// What a source has stored, the writes so far of its hooks under way included: JSON text of an object.
    pub(crate) async fn service_db(&self, source: &SourceId) -> Result<Box<RawValue>, EngineError> {
        self.store_hook_writes(source).await?;
        let mut entries = Map::new();
        for (key, text) in self.0.store.source_db(source).await? {
            let value = json::read(&text).map_err(|e| EngineError::damaged("a stored value of a source", e))?;
            entries.insert(key, value);
        }
        serde_json::value::to_raw_value(&entries).map_err(|e| EngineError::internal("could not write what a source has stored", e))
    }
}
