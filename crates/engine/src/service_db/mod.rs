//! `$.service.db` of sources: what a call begins with, and the writes of hooks. `README.md` has the
//! whole picture.

mod hook_writes;

pub(crate) use hook_writes::{HookDb, HookWrites};

use std::collections::HashMap;

use millrace_model::ids::SourceId;
use millrace_model::json;
use serde_json::Map;
use serde_json::value::RawValue;

use crate::{Engine, EngineError};

/// A write of a call: the key, and the value's JSON text, or none to delete.
pub(crate) type DbWrite = (String, Option<String>);

/// The most that a source may keep, in the unit of the runtime that says so to code: UTF-16 units
/// of keys and of values as JSON.
pub(crate) const SIZE_MAX: usize = 60 * 1024;

/// How large a `$.service.db` is once these writes are made.
fn size_with(stored: Vec<(String, String)>, writes: &[DbWrite]) -> usize {
    let units = |text: &str| text.encode_utf16().count();
    let mut sizes: HashMap<String, usize> = stored
        .into_iter()
        .map(|(key, text)| {
            let size = units(&key) + units(&text);
            (key, size)
        })
        .collect();
    for (key, text) in writes {
        match text {
            Some(text) => drop(sizes.insert(key.clone(), units(key) + units(text))),
            None => drop(sizes.remove(key)),
        }
    }
    sizes.values().sum()
}

impl Engine {
    /// The size that a source's `$.service.db` would have with these writes, where that is more
    /// than it may. The runtime refuses it in the code's own stack; frames that do not come from
    /// the runtime are held to it here.
    pub(crate) async fn db_beyond_limit(
        &self,
        source: &SourceId,
        writes: &[DbWrite],
    ) -> Result<Option<usize>, EngineError> {
        if writes.is_empty() {
            return Ok(None);
        }
        let size = size_with(self.0.store.source_db(source).await?, writes);
        Ok((size > SIZE_MAX).then_some(size))
    }

    /// What a source has stored, the writes so far of its hooks under way included: JSON text of an
    /// object.
    pub(crate) async fn service_db(&self, source: &SourceId) -> Result<Box<RawValue>, EngineError> {
        self.store_hook_writes(source).await?;
        let mut entries = Map::new();
        for (key, text) in self.0.store.source_db(source).await? {
            let value = json::read(&text)
                .map_err(|e| EngineError::damaged("a stored value of a source", e))?;
            entries.insert(key, value);
        }
        serde_json::value::to_raw_value(&entries)
            .map_err(|e| EngineError::internal("could not write what a source has stored", e))
    }
}
