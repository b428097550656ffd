//! One component: bundled as the server bundles it, loaded in a host as the server loads it, compared.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use millrace_bundle::extract::{self, ComponentFacts};
use millrace_bundle::{BundleRequest, Bundler, BundlerConfig, Entry, Files as _, Folder, IndexEntry, WorkerCommand};
use millrace_model::component::Manifest;
use millrace_runner::{Call, Effect, EffectSink, IsolateSpec, ModuleSpec, Runner, RunnerConfig};
use serde_json::{json, value::to_raw_value};

use crate::args::Args;

pub const PLATFORM_MODULES: &[(&str, &str)] =
    &[("@pipedream/platform", include_str!("../../runtime/dist/platform.mjs")), ("@pipedream/types", include_str!("../../runtime/dist/types.mjs"))];
/// Stages that can fail.
pub const BUNDLED: &str = "bundled";
pub const LOADED: &str = "loaded";
pub const SAME: &str = "the same";
const REGISTRY: &str = "https://registry.npmjs.org";
/// A whole measurement sees the registry as it was at its beginning.
const METADATA_MAX_AGE: Duration = Duration::from_secs(24 * 3600);
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(20);

/// What became of a component.
pub struct Outcome {
    pub path: String,
    pub failure: Option<Failure>,
    /// Where the code seemed to say something else than the module.
    pub differences: Vec<String>,
    pub props_are_complete: bool,
    pub took: Duration,
}

pub struct Failure {
    pub stage: &'static str,
    pub cause: String,
}

pub struct Workbench {
    bundler: Bundler,
    runner: Runner,
    artifacts: tempfile::TempDir,
}

struct Ignore;

impl EffectSink for Ignore {
    fn effect(&self, _effect: Effect) {}
}

impl Workbench {
    pub async fn open(args: &Args) -> Result<Self> {
        let config = BundlerConfig {
            cache_dir: args.cache.clone(),
            registry_url: REGISTRY.into(),
            metadata_max_age: METADATA_MAX_AGE,
            platform_modules: PLATFORM_MODULES,
        };
        let bundler = Bundler::in_processes(config, WorkerCommand { program: "/proc/self/exe".into(), args: vec![crate::BUNDLE_WORKER.into()] });
        let artifacts = tempfile::tempdir().context("could not make a folder")?;
        let runner = Runner::start(RunnerConfig {
            host_script: include_str!("../../runtime/dist/host.mjs").to_owned(),
            scratch_dir: artifacts.path().join("hosts"),
            ..RunnerConfig::default()
        });
        Ok(Self { bundler, runner: runner.await?, artifacts })
    }

    pub async fn trial(&self, folder: &Folder, entry: &IndexEntry, facts: Option<ComponentFacts>) -> Outcome {
        let started = Instant::now();
        let facts = facts.unwrap_or_default();
        let (failure, differences) = match self.live(folder, entry).await {
            Ok(live) => (None, differences(&facts, &live)),
            Err(failure) => (Some(failure), Vec::new()),
        };
        Outcome { path: entry.path.clone(), failure, differences, props_are_complete: facts.props_are_complete, took: started.elapsed() }
    }

    /// What the module itself says.
    async fn live(&self, folder: &Folder, entry: &IndexEntry) -> Result<Manifest, Failure> {
        let not_loaded = |cause: String| Failure { stage: LOADED, cause };
        let paths = extract::closure(folder, &entry.path);
        let files: BTreeMap<String, String> = paths.into_iter().filter_map(|path| Some((path.clone(), folder.read(&path)?))).collect();
        let request = BundleRequest { entry: Entry::Files { entry: entry.path.clone(), files }, lock: None };
        let bundle = self.bundler.bundle(request).await.map_err(|e| Failure { stage: BUNDLED, cause: format!("{}: {e}", e.code()) })?;
        let path = self.artifact(entry, &bundle.code).map_err(|e| not_loaded(format!("{e:#}")))?;
        let isolate = Arc::new(IsolateSpec {
            id: entry.path.clone(),
            organization: "compat".into(),
            modules: vec![ModuleSpec { name: "component".into(), path: path.clone() }],
            env: BTreeMap::new(),
            db: None,
            memory_mb: None,
            calls_max: 1,
            hosts_max: 1,
        });
        let body = to_raw_value(&json!({ "kind": "describe", "module": "component" })).map_err(|e| not_loaded(e.to_string()))?;
        let outcome = self.runner.call(isolate.clone(), Call { body, timeout: DESCRIBE_TIMEOUT }, Arc::new(Ignore)).await;
        self.runner.evict(&isolate.id).await;
        // Thousands of bundles would fill the disk.
        let _ = std::fs::remove_file(path);
        let done = outcome.result.map_err(|failure| not_loaded(format!("{}: {}", failure.code, failure.message)))?;
        serde_json::from_str(done.result.get()).map_err(|e| not_loaded(format!("its definition is not of the expected form: {e}")))
    }

    fn artifact(&self, entry: &IndexEntry, code: &str) -> Result<PathBuf> {
        let path = self.artifacts.path().join(format!("{}.mjs", entry.path.replace('/', "+")));
        std::fs::write(&path, code).context("could not write an artifact")?;
        Ok(path)
    }

    pub async fn close(&self) {
        self.runner.shutdown().await;
    }
}

/// Where the code was read to say something that the module does not say. What was left out is no difference.
fn differences(facts: &ComponentFacts, live: &Manifest) -> Vec<String> {
    let read = &facts.manifest;
    let mut found = Vec::new();
    for (field, read, live) in [
        ("key", &read.key, &live.key),
        ("name", &read.name, &live.name),
        ("version", &read.version, &live.version),
        ("description", &read.description, &live.description),
        ("type", &read.component_type, &live.component_type),
        ("dedupe", &read.dedupe, &live.dedupe),
    ] {
        if read.is_some() && read != live {
            found.push(format!("{field}: {read:?} was read, {live:?} is so"));
        }
    }
    let names = |manifest: &Manifest| manifest.props.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    if facts.props_are_complete && names(read) != names(live) {
        found.push(format!("props: {:?} were read, {:?} are so", names(read), names(live)));
    }
    for prop in &read.props {
        let Some(real) = live.props.iter().find(|p| p.name == prop.name) else {
            found.push(format!("the prop `{}` does not exist", prop.name));
            continue;
        };
        if !prop.prop_type.is_empty() && prop.prop_type != real.prop_type {
            found.push(format!("the prop `{}` is `{}`, not `{}`", prop.name, real.prop_type, prop.prop_type));
        }
        for field in ["label", "app", "remoteOptions", "description"] {
            let (read, real) = (prop.rest.get(field), real.rest.get(field));
            if read.is_some() && read != real {
                found.push(format!("`{field}` of a prop: {read:?} was read, {real:?} is so"));
            }
        }
        if prop.optional.is_some() && prop.optional != real.optional {
            found.push(format!("`optional` of `{}`: {:?} is so", prop.name, real.optional));
        }
    }
    for hook in &read.hooks {
        if !live.hooks.contains(hook) {
            found.push(format!("the hook `{}` does not exist", hook.name()));
        }
    }
    if read.has_run && !live.has_run {
        found.push("there is no `run`".into());
    }
    found
}
