//! Code and registries.

use millrace_model::component::{Artifact, ComponentType, Responds, SavedComponent};
use millrace_model::ids::{ComponentId, OrgId, RegistryId};
use millrace_model::registry::{Registry, RegistryComponent, RegistryFile};
use millrace_store::{FoundComponent, LATEST, StoreResult};
use rusqlite::Row;

use super::{get, json, optional_json, time};

pub(crate) fn artifact(row: &Row<'_>) -> StoreResult<Artifact> {
    Ok(Artifact {
        id: get(row, "id")?,
        code: get(row, "code")?,
        source_map: get(row, "source_map")?,
        lock: get(row, "package_lock")?,
        responds: match (get(row, "uses_respond")?, get(row, "may_respond")?) {
            (true, _) => Responds::Surely,
            (_, true) => Responds::Perhaps,
            _ => Responds::Never,
        },
    })
}

pub(crate) fn component(row: &Row<'_>) -> StoreResult<SavedComponent> {
    let kind: String = get(row, "component_type")?;
    Ok(SavedComponent {
        id: ComponentId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        code: get(row, "code")?,
        code_hash: get(row, "code_hash")?,
        files: optional_json(row, "files")?,
        url: get(row, "url")?,
        component_type: if kind == "action" {
            ComponentType::Action
        } else {
            ComponentType::Source
        },
        manifest: json(row, "manifest")?,
        artifact_id: get(row, "artifact_id")?,
        published: get(row, "published")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn registry(row: &Row<'_>) -> StoreResult<Registry> {
    Ok(Registry {
        id: RegistryId::from_row(get(row, "id")?),
        org_id: OrgId::from_row(get(row, "org_id")?),
        name: get(row, "name")?,
        origin: get(row, "origin")?,
        revision: get(row, "revision")?,
        file_count: get(row, "file_count")?,
        component_count: get(row, "component_count")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

pub(crate) fn registry_component(row: &Row<'_>) -> StoreResult<RegistryComponent> {
    Ok(RegistryComponent {
        key: get(row, "key")?,
        name: get(row, "name")?,
        description: get(row, "description")?,
        version: get(row, "version")?,
        component_type: get(row, "component_type")?,
        app: get(row, "app")?,
        path: get(row, "path")?,
        hash: get(row, "hash")?,
    })
}

/// A component with the registry that it is in.
pub(crate) fn component_in_registry(row: &Row<'_>) -> StoreResult<FoundComponent> {
    let until: Option<i64> = get(row, "until")?;
    let registry = RegistryId::from_row(get(row, "registry_id")?);
    Ok(FoundComponent {
        registry,
        component: registry_component(row)?,
        generation: until.map_or(LATEST, |until| until - 1),
    })
}

pub(crate) fn registry_file(row: &Row<'_>) -> StoreResult<RegistryFile> {
    Ok(RegistryFile { path: get(row, "path")?, hash: get(row, "hash")?, text: get(row, "code")? })
}
