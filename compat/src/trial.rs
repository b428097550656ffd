//! Trial of a component: bundled and loaded as the server does it, then compared.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use millrace_bundle::extract::{self, ComponentFacts};
use millrace_bundle::{
    BundleRequest, Bundler, BundlerConfig, Entry, Files as _, Folder, IndexEntry, Limits,
    WorkerCommand,
};
use millrace_model::component::Manifest;
use millrace_model::egress::{Policy, Shared};
use millrace_model::npm_registry::NpmRegistry;
use millrace_runner::{
    Call, Effect, EffectSink, IsolateSpec, ModuleSpec, Packages, Runner, RunnerConfig,
};
use serde_json::{json, value::to_raw_value};

use crate::args::Args;
use crate::fixture::{self, Answers, Collect, Fixture};

pub const PLATFORM_MODULES: &[(&str, &str)] = &[
    ("@pipedream/platform", include_str!("../../runtime/dist/platform.mjs")),
    ("@pipedream/types", include_str!("../../runtime/dist/types.mjs")),
];
/// Stages that can fail.
pub const BUNDLED: &str = "bundled";
pub const LOADED: &str = "loaded";
pub const SAME: &str = "the same";
pub const RUN: &str = "run as recorded";
const REGISTRY: &str = "https://registry.npmjs.org";
/// A whole measurement sees the registry as it was at its beginning.
const METADATA_MAX_AGE: Duration = Duration::from_secs(24 * 3600);
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(20);
const RUN_TIMEOUT: Duration = Duration::from_secs(60);

/// What became of a component.
pub struct Outcome {
    pub path: String,
    pub failure: Option<Failure>,
    /// Where the code seemed to say something else than the module.
    pub differences: Vec<String>,
    pub props_are_complete: bool,
    /// Where it ran otherwise than its fixture says; None where it has none.
    pub runs: Option<Vec<String>>,
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
    answers: Answers,
    /// The answers are those of one component at a time.
    replaying: tokio::sync::Mutex<()>,
}

struct Ignore;

impl EffectSink for Ignore {
    fn effect(&self, _effect: Effect) {}
}

impl Workbench {
    pub async fn open(args: &Args) -> Result<Self> {
        let artifacts = tempfile::tempdir().context("could not make a folder")?;
        let answers = Answers::start().await?;
        let reach = Policy {
            allow: vec![
                format!("127.0.0.1:{}", answers.port)
                    .parse()
                    .context("an address of this machine is none")?,
            ],
            ..Policy::default()
        };
        let runner = Runner::start(RunnerConfig {
            host_script: include_str!("../../runtime/dist/host.cjs").to_owned(),
            thread_script: include_str!("../../runtime/dist/worker.cjs").to_owned(),
            scratch_dir: artifacts.path().join("hosts"),
            egress: reach.into(),
            ..RunnerConfig::default()
        })
        .await?;
        let config = BundlerConfig {
            cache_dir: args.cache.clone(),
            registry: NpmRegistry::new(REGISTRY, None),
            metadata_max_age: METADATA_MAX_AGE,
            node_version: runner.node_version().to_owned(),
            platform_modules: PLATFORM_MODULES,
            egress: Shared::default(),
            limits: Limits::default(),
            walls: millrace_runner::probe().kernel(),
            groups: None,
        };
        let bundler = Bundler::in_processes(
            config,
            WorkerCommand {
                program: "/proc/self/exe".into(),
                args: vec![crate::BUNDLE_WORKER.into()],
            },
        );
        Ok(Self { bundler, runner, artifacts, answers, replaying: tokio::sync::Mutex::default() })
    }

    pub async fn trial(
        &self,
        folder: &Folder,
        entry: &IndexEntry,
        facts: Option<ComponentFacts>,
        fixture: Option<Result<Fixture>>,
    ) -> Outcome {
        let started = Instant::now();
        let facts = facts.unwrap_or_default();
        let (failure, differences, (code, packages)) = match self.live(folder, entry).await {
            Ok((live, code, packages)) => (None, differences(&facts, &live), (code, packages)),
            Err(failure) => (Some(failure), Vec::new(), (String::new(), None)),
        };
        let took = started.elapsed();
        let runs = match fixture {
            Some(_) if failure.is_some() => Some(vec!["it does not load".into()]),
            Some(Ok(fixture)) => Some(
                self.replay(entry, &code, packages, &fixture)
                    .await
                    .unwrap_or_else(|error| vec![format!("{error:#}")]),
            ),
            Some(Err(error)) => Some(vec![format!("{error:#}")]),
            None => None,
        };
        Outcome {
            path: entry.path.clone(),
            failure,
            differences,
            props_are_complete: facts.props_are_complete,
            runs,
            took,
        }
    }

    /// Makes the recorded calls, and tells where they go otherwise than recorded.
    async fn replay(
        &self,
        entry: &IndexEntry,
        code: &str,
        packages: Option<Arc<Packages>>,
        fixture: &Fixture,
    ) -> Result<Vec<String>> {
        let _alone = self.replaying.lock().await;
        let path =
            self.artifact(&format!("{}.led", entry.path), &fixture::led(code, self.answers.port))?;
        let isolate = Arc::new(IsolateSpec {
            id: format!("fixture:{}", entry.path),
            organization: "compat".into(),
            modules: vec![ModuleSpec {
                name: "component".into(),
                path: path.clone(),
                packages: packages.clone(),
            }],
            env: BTreeMap::new(),
            memory_mb: None,
            calls_per_isolate: 1,
            isolates_max: 1,
            in_order: false,
        });
        let (mut found, mut db) = (Vec::new(), fixture.db.clone());
        for (at, call) in fixture.calls.iter().enumerate() {
            self.answers.set(call);
            let body = match entry.component_type.as_str() {
                "action" => {
                    json!({ "kind": "action", "module": "component", "props": fixture.props, "context": {} })
                }
                _ => {
                    json!({ "kind": "source", "module": "component", "hook": call.hook, "event": call.event, "props": fixture.props, "db": db })
                }
            };
            let sink = Arc::new(Collect::default());
            let outcome = self
                .runner
                .call(
                    isolate.clone(),
                    Call { body: to_raw_value(&body)?, timeout: RUN_TIMEOUT, steps: Vec::new() },
                    sink.clone(),
                )
                .await;
            let ended = match outcome.result {
                Ok(done) => Ok(millrace_model::json::from_str(done.result.get())?),
                Err(failure) => Err(format!("{}: {}", failure.code, failure.message)),
            };
            let did = sink.0.lock().map(|mut did| std::mem::take(&mut *did)).unwrap_or_default();
            db.extend(did.db.clone());
            found.extend(
                call.differences(&did, &ended, &self.answers.unknown())
                    .into_iter()
                    .map(|difference| format!("call {}: {difference}", at + 1)),
            );
        }
        self.runner.evict(&isolate.id).await;
        // Only scratch.
        let _ = std::fs::remove_file(path);
        Ok(found)
    }

    /// What the module itself says, and the bundle.
    async fn live(
        &self,
        folder: &Folder,
        entry: &IndexEntry,
    ) -> Result<(Manifest, String, Option<Arc<Packages>>), Failure> {
        let not_loaded = |cause: String| Failure { stage: LOADED, cause };
        let paths = extract::closure(folder, &entry.path);
        let files: BTreeMap<String, String> = paths
            .into_iter()
            .filter_map(|path| Some((path.clone(), folder.read(&path)?)))
            .collect();
        let request = BundleRequest {
            entry: Entry::Files { entry: entry.path.clone(), files, is_javascript: false },
            lock: None,
        };
        let bundle = self
            .bundler
            .bundle(request)
            .await
            .map_err(|e| Failure { stage: BUNDLED, cause: format!("{}: {e}", e.code()) })?;
        let packages = match bundle.beside {
            Some(beside) => {
                self.bundler.provide(&beside).await.map_err(|e| not_loaded(e.to_string()))?;
                Some(Arc::new(Packages { store: self.bundler.package_store(), beside }))
            }
            None => None,
        };
        let path =
            self.artifact(&entry.path, &bundle.code).map_err(|e| not_loaded(format!("{e:#}")))?;
        let isolate = Arc::new(IsolateSpec {
            id: entry.path.clone(),
            organization: "compat".into(),
            modules: vec![ModuleSpec {
                name: "component".into(),
                path: path.clone(),
                packages: packages.clone(),
            }],
            env: BTreeMap::new(),
            memory_mb: None,
            calls_per_isolate: 1,
            isolates_max: 1,
            in_order: false,
        });
        let body = to_raw_value(&json!({ "kind": "describe", "module": "component" }))
            .map_err(|e| not_loaded(e.to_string()))?;
        let outcome = self
            .runner
            .call(
                isolate.clone(),
                Call { body, timeout: DESCRIBE_TIMEOUT, steps: Vec::new() },
                Arc::new(Ignore),
            )
            .await;
        self.runner.evict(&isolate.id).await;
        // Thousands of bundles would fill the disk.
        let _ = std::fs::remove_file(path);
        let done = outcome
            .result
            .map_err(|failure| not_loaded(format!("{}: {}", failure.code, failure.message)))?;
        let manifest = millrace_model::json::from_str(done.result.get())
            .map_err(|e| not_loaded(format!("its definition is not of the expected form: {e}")))?;
        Ok((manifest, bundle.code, packages))
    }

    fn artifact(&self, name: &str, code: &str) -> Result<PathBuf> {
        let path = self.artifacts.path().join(format!("{}.mjs", name.replace('/', "+")));
        std::fs::write(&path, code).context("could not write an artifact")?;
        Ok(path)
    }

    pub async fn close(&self) {
        self.runner.shutdown().await;
    }
}

/// Where the code was read to say something that the module does not say. What was left out is no
/// difference.
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
    let names =
        |manifest: &Manifest| manifest.props.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    if facts.props_are_complete && names(read) != names(live) {
        found.push(format!("props: {:?} were read, {:?} are so", names(read), names(live)));
    }
    for prop in &read.props {
        let Some(real) = live.props.iter().find(|p| p.name == prop.name) else {
            found.push(format!("the prop `{}` does not exist", prop.name));
            continue;
        };
        if !prop.prop_type.is_empty() && prop.prop_type != real.prop_type {
            found.push(format!(
                "the prop `{}` is `{}`, not `{}`",
                prop.name, real.prop_type, prop.prop_type
            ));
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
