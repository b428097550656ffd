//! Programs of sources: the live version, and the versions that earlier runs had.

use std::collections::BTreeMap;
use std::sync::Arc;

use millrace_model::component::{Manifest, PropDef, SavedComponent};
use millrace_model::ids::{DeploymentId, SourceId};
use millrace_model::prop_type::PropType;
use millrace_model::props::Site;
use millrace_model::source::{Owner, Source};
use millrace_runner::IsolateSpec;
use millrace_store::Interfaces;
use serde_json::{Map, Value, json};

use crate::error::readable;
use crate::run::call::MODULE;
use crate::run::files::add_own_store;
use crate::run::inputs::{Inputs, dynamic_of};
use crate::run::installed::Installed;
use crate::run::program::{ISOLATES_MAX, Program, SourceProgram};
use crate::run::store_grants::StoreGrants;
use crate::tenants::account_props::AccountUse;
use crate::{Engine, EngineError};

impl Engine {
    /// The live program of a source. Its runs have no version where the record holds something else
    /// than the newest one: while another version is being activated.
    pub(crate) async fn source_program(&self, mut source: Source) -> Result<Program, EngineError> {
        if let Some(id) = source.deployment_id.take() {
            let newest = self.0.store.source_deployment(&source.org_id, &id).await;
            source.deployment_id = readable(newest.map_err(EngineError::from))?
                .flatten()
                .filter(|newest| {
                    !self.is_another_version(&source.clone().at(newest.clone()), &source)
                })
                .map(|newest| newest.id);
        }
        self.prepare_stored(source).await
    }

    /// The program of a version of a source. None where there is no such version.
    pub(super) async fn source_version(
        &self,
        source: Source,
        id: &DeploymentId,
    ) -> Result<Option<Program>, EngineError> {
        let version = self.0.store.source_deployment(&source.org_id, id).await?;
        match version.filter(|version| version.source_id == source.id) {
            Some(version) => self.prepare_stored(source.at(version)).await.map(Some),
            None => Ok(None),
        }
    }

    async fn prepare_stored(&self, source: Source) -> Result<Program, EngineError> {
        let interfaces = self.0.store.interfaces(source.id.as_str()).await?;
        let component = self.component_of(&source).await?;
        self.prepare_source(source, component.manifest, &component.artifact_id, &interfaces).await
    }

    /// The component that a source runs.
    pub(crate) async fn component_of(
        &self,
        source: &Source,
    ) -> Result<SavedComponent, EngineError> {
        let found = self.0.store.component(&source.org_id, &source.component_id).await?;
        found.ok_or_else(|| {
            EngineError::damaged(
                "the component of a source",
                format!("`{}` is missing in the store", source.component_id),
            )
        })
    }

    /// Puts the address of the source's endpoint where its code reads it.
    pub(crate) fn add_endpoint(
        &self,
        defs: &[PropDef],
        interfaces: &Interfaces,
        props: &mut Map<String, Value>,
    ) {
        let Some(http) = interfaces.http.first() else { return };
        for def in defs.iter().filter(|def| def.is(PropType::HttpInterface)) {
            props.insert(def.name.clone(), json!({ "endpoint": self.0.endpoint_url(&http.key) }));
        }
    }

    pub(crate) async fn prepare_source(
        &self,
        source: Source,
        manifest: Manifest,
        artifact_id: &str,
        interfaces: &Interfaces,
    ) -> Result<Program, EngineError> {
        let strategy = manifest.dedupe_strategy()?;
        let mut props = source.configured_props.clone();
        self.0.keyring.open_props(source.id.as_str(), &mut props)?;
        let defs = source.dynamic_props.as_deref().unwrap_or(&manifest.props);
        self.add_endpoint(defs, interfaces, &mut props);
        add_own_store(defs, &source.id, &mut props);
        let module = self.stored_module(MODULE, artifact_id).await?;
        let has_db = has_db(defs);
        let calls_max = self.0.config.calls_per_isolate_max;
        let calls_per_isolate = source.settings.calls_per_isolate.unwrap_or(1).min(calls_max);
        let isolate = IsolateSpec {
            id: format!("{}:{artifact_id}:{calls_per_isolate}", source.id),
            organization: source.org_id.to_string(),
            modules: vec![module],
            env: env_of(&source.id),
            memory_mb: None,
            calls_per_isolate,
            isolates_max: ISOLATES_MAX,
            in_order: true,
        };
        let owner = Owner::Source(source.id.clone());
        let accounts = AccountUse::of(None, defs, &props).collect();
        let dynamic_props =
            json!(dynamic_of(&manifest.props, source.dynamic_props.as_deref())).to_string();
        let mut stores = StoreGrants::default();
        stores.add(defs, &props, Site::Source);
        Ok(Program::Source(Box::new(SourceProgram {
            props: Inputs::new(Value::Object(props), accounts),
            dynamic_props,
            source,
            manifest,
            strategy,
            stores,
            isolate: Arc::new(isolate),
            installed: Installed::default(),
            has_db,
            owner,
        })))
    }
}

/// What a source's code finds in `process.env` (reference 3).
pub(crate) fn env_of(source: &SourceId) -> BTreeMap<String, String> {
    BTreeMap::from([("PD_COMPONENT".to_owned(), source.to_string())])
}

/// Whether a component has a `$.service.db`.
pub(crate) fn has_db(defs: &[PropDef]) -> bool {
    defs.iter().any(|def| def.is(PropType::Db))
}
