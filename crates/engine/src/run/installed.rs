//! Packages beside the code of a call. The cache may have lost them, after a restore or on another
//! server; they are installed where a call is about to begin, so that no other call waits for that.

use millrace_model::ids::OrgId;
use millrace_runner::ModuleSpec;
use tokio::sync::OnceCell;

use crate::bundle_error::bundle_error;
use crate::run::call::MODULE;
use crate::run::program::Program;
use crate::{Engine, EngineError};

/// Whether the packages beside a program's modules were seen in the cache.
#[derive(Default)]
pub(crate) struct Installed(OnceCell<()>);

impl Engine {
    /// Installs the packages of a program that the cache lacks.
    pub(crate) async fn install(&self, program: &Program) -> Result<(), EngineError> {
        let (isolate, org, Installed(seen)) = match program {
            Program::Source(p) => (&p.isolate, &p.source.org_id, &p.installed),
            Program::Workflow(p) => (&p.isolate, &p.workflow.org_id, &p.installed),
            Program::Damaged(_) => return Ok(()),
        };
        if seen.initialized() {
            return Ok(());
        }
        // Boxed, as few runs need it: the future of a run is as large as what it may await.
        let install = seen.get_or_try_init(|| self.install_beside(org, &isolate.modules));
        Box::pin(install).await.map(|_| ())
    }

    /// The module of a stored artifact, with its packages installed.
    pub(crate) async fn installed_module(
        &self,
        org: &OrgId,
        artifact: &str,
    ) -> Result<ModuleSpec, EngineError> {
        let module = self.stored_module(MODULE, artifact).await?;
        self.install_beside(org, [&module]).await?;
        Ok(module)
    }

    /// Installs the packages beside modules that the cache lacks.
    pub(crate) async fn install_beside(
        &self,
        org: &OrgId,
        modules: impl IntoIterator<Item = &ModuleSpec>,
    ) -> Result<(), EngineError> {
        let bundler = self.0.bundler.of(org.as_str());
        for packages in modules.into_iter().filter_map(|module| module.packages.as_ref()) {
            bundler.provide(&packages.beside).await.map_err(bundle_error)?;
        }
        Ok(())
    }
}
