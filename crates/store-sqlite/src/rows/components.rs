//! Code and registries.

use millrace_store::component_rows;
use rusqlite::Row;

use super::{get, json, optional_json, time, utf8};

/// Registries, each with the count of the update that made its latest state.
pub(crate) const REGISTRIES: &str = "SELECT r.*, u.unindexed_count FROM registries r LEFT JOIN registry_updates u ON u.registry_id = r.id AND u.generation = r.generation";

component_rows!(Row<'_>);
