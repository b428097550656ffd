//! Rows of components and registries, the same in each engine.

/// Functions that read them. `$Row`: a row of the engine, whose module has `get`, `json`,
/// `optional_json`, `time`, `utf8`.
#[macro_export]
macro_rules! component_rows {
    ($Row:ty) => {
        use ::millrace_model::clock::Timestamp;
        use ::millrace_model::component::{Artifact, ComponentType, Responds, SavedComponent};
        use ::millrace_model::ids::{ComponentId, OrgId, RegistryId};
        use ::millrace_model::registry::{
            FailedUpdate, FromRegistry, Registry, RegistryComponent, RegistryFile, Unindexed,
        };
        use $crate::{FoundComponent, LATEST, StoreResult};

        pub(crate) fn artifact(row: &$Row) -> StoreResult<Artifact> {
            Ok(Artifact {
                id: get(row, "id")?,
                code: utf8(row, "code")?,
                source_map: get(row, "source_map")?,
                lock: get(row, "package_lock")?,
                responds: match (get(row, "uses_respond")?, get(row, "may_respond")?) {
                    (true, _) => Responds::Surely,
                    (_, true) => Responds::Perhaps,
                    _ => Responds::Never,
                },
            })
        }

        pub(crate) fn component(row: &$Row) -> StoreResult<SavedComponent> {
            let kind: String = get(row, "component_type")?;
            Ok(SavedComponent {
                id: ComponentId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                code: utf8(row, "code")?,
                code_hash: get(row, "code_hash")?,
                files: optional_json(row, "files")?,
                url: get(row, "url")?,
                registry: from_registry(row)?,
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

        /// The registry that a saved component came from.
        fn from_registry(row: &$Row) -> StoreResult<Option<FromRegistry>> {
            let Some(name) = get(row, "registry")? else { return Ok(None) };
            let revision: Option<String> = get(row, "registry_revision")?;
            Ok(Some(FromRegistry {
                name,
                revision: revision.unwrap_or_default(),
                indexed_at: get::<Option<i64>>(row, "registry_indexed_at")?.map(Timestamp),
            }))
        }

        /// A registry, with the count of the update that made its latest state.
        pub(crate) fn registry(row: &$Row) -> StoreResult<Registry> {
            let updated_at = time(row, "updated_at")?;
            let failed_at = get::<Option<i64>>(row, "failed_at")?.map(Timestamp);
            let failure: Option<String> = get(row, "failure")?;
            // A server of an earlier version, which knows no failures, may have updated it since.
            let failed_update = failed_at
                .filter(|at| *at >= updated_at)
                .map(|at| FailedUpdate { at, message: failure.unwrap_or_default() });
            Ok(Registry {
                id: RegistryId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                name: get(row, "name")?,
                origin: get(row, "origin")?,
                revision: get(row, "revision")?,
                file_count: get(row, "file_count")?,
                component_count: get(row, "component_count")?,
                unindexed_count: get(row, "unindexed_count")?,
                failed_update,
                created_at: time(row, "created_at")?,
                updated_at,
            })
        }

        /// What was kept of the files that an update could not index; none, where a server of an
        /// earlier version made it.
        pub(crate) fn unindexed(row: &$Row) -> StoreResult<Vec<Unindexed>> {
            Ok(optional_json(row, "unindexed")?.unwrap_or_default())
        }

        pub(crate) fn registry_component(row: &$Row) -> StoreResult<RegistryComponent> {
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
        pub(crate) fn component_in_registry(row: &$Row) -> StoreResult<FoundComponent> {
            let until: Option<i64> = get(row, "until")?;
            let registry = RegistryId::from_row(get(row, "registry_id")?);
            let revision: Option<String> = get(row, "revision")?;
            Ok(FoundComponent {
                registry,
                from: FromRegistry {
                    name: get(row, "registry_name")?,
                    revision: revision.unwrap_or_default(),
                    indexed_at: get::<Option<i64>>(row, "indexed_at")?.map(Timestamp),
                },
                component: registry_component(row)?,
                generation: until.map_or(LATEST, |until| until - 1),
            })
        }

        pub(crate) fn registry_file(row: &$Row) -> StoreResult<RegistryFile> {
            Ok(RegistryFile {
                path: get(row, "path")?,
                hash: get(row, "hash")?,
                text: utf8(row, "code")?,
            })
        }
    };
}
