//! Code and registries.

use millrace_store::component_rows;
use tokio_postgres::Row;

use super::{get, json, optional_json, time, utf8};

pub(crate) const ARTIFACT: &str = "id, code, source_map, package_lock, uses_respond, may_respond";
pub(crate) const COMPONENT: &str = "id, org_id, code, code_hash, url, component_type, manifest, artifact_id, published, created_at, updated_at, files, registry, registry_revision, registry_indexed_at";
/// Of `registries r`, as [`FROM_REGISTRIES`] reads it.
pub(crate) const REGISTRY: &str = "r.id, r.org_id, r.name, r.origin, r.revision, r.file_count, r.component_count, r.failed_at, r.failure, r.created_at, r.updated_at, u.unindexed_count";
pub(crate) const FROM_REGISTRIES: &str = "registries r LEFT JOIN registry_updates u ON u.registry_id = r.id AND u.generation = r.generation";
pub(crate) const REGISTRY_COMPONENT: &str =
    "registry_id, path, key, name, description, version, component_type, app, hash";
pub(crate) const REGISTRY_FILE: &str = "path, hash, code";

component_rows!(Row);
