//! The verbs: an event is **accepted**, becomes a **run**, and the run's effects are **settled**.
//!
//! Knows no SQL and no HTTP. Start at [`Engine::handle_endpoint`] (accept), then `execute` (run)
//! and `settle`.

mod accept;
mod answers;
mod background;
mod cache;
mod checks;
mod ctx;
mod deliver;
mod deploy;
mod error;
mod nodes;
mod observe;
mod parts;
mod reach;
mod run;
mod service_db;
mod settle;
mod tenants;
mod trace_context;

use std::collections::HashMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use millrace_bundle::Bundler;
use millrace_model::retention::Retention;
use millrace_model::{Clock, IdSource};
use millrace_runner::{OwnMeter, Runner};
use millrace_store::Store;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use background::Background;
use ctx::Ctx;
use deliver::Deliverer;
use deliver::mailer::Mailer;
use deliver::webhook_lanes::WebhookDispatcher;
use observe::history::Pruner;
use run::admission::PressureWatch;

pub use accept::app_hooks::AppEvent;
pub use accept::by_hand::{NewEvent, PassedOn};
pub use accept::uploads::{FilesIn, Pieces};
pub use deliver::mailer::check_smtp;
pub use deliver::s3::S3Config;
pub use deliver::webhooks::NewWebhook;
pub use deploy::components::{CodeRef, JAVASCRIPT, entry_in_language};
pub use deploy::configure::{FormOf, OptionsAnswer, OptionsRequest, PropsAnswer};
pub use deploy::registries::{AskedComponents, RegistryEntry, RegistryUpload, RegistryView};
pub use deploy::settings::SettingsRequest;
pub use deploy::sources::{NewSource, SettingsOfSource, UpdateSource};
pub use deploy::workflow_parts::{
    DeployRequest, NewWorkflow, StepRequest, TriggerRequest, UpdateWorkflow,
};
pub use deploy::workflows::ReplayFrom;
pub use error::{EngineError, ErrorKind};
pub use millrace_model::error_chain;
pub use millrace_store::{
    CalledBack, DataStoreEntry, Delivery, ErrorGroupFilter, ExportFilter, Exported, FailedRun,
    Interfaces, Lineage, ListedRun, Mail, NewestEvent, NewestOf, PauseEnd, RunFilter, RunState,
    SubscriptionKey,
};
pub use observe::error_groups::{ErrorDays, ErrorGroupView};
pub use observe::events::{AskedStats, OwnerStats, RunStats};
pub use observe::exports::{Export, Taken};
pub use observe::history::RetentionView;
pub use observe::metrics::{Door, Metrics};
pub use observe::names::WouldGo;
pub use observe::readiness::{FREE_BYTES_MIN, Readiness};
pub use observe::search::IndexedRuns;
pub use observe::streams::{StepEnd, StreamItem};
pub use observe::system::System;
pub use observe::traces::TraceConfig;
pub use observe::views::{
    DeploymentView, RunView, SourceDeploymentView, SourceView, StepView, WorkflowView,
};
pub use run::actions::ActionRun;
pub use run::data_stores::{AskedKeys, EntryEnd, KeyView};
pub use run::replays::{NewReplay, ReplayChange, ReplayView, RunReplay};
pub use run::workflow_tests::{NewTest, TestEvent};
pub use tenants::accounts::{AccountView, NewAccount, UpdateAccount};
pub use tenants::app_images::AppImage;
pub use tenants::apps::{AppFilter, NewApp};
pub use tenants::audit::AuditAction;
pub use tenants::key_watch::KeyWatch;
pub use tenants::keyring::{MasterKeyError, MasterKeys};
pub use tenants::keys::{Keys, NewApiKey, UpdateApiKey, check_scope};
pub use tenants::links::{LinkAnswer, NewLink};
pub use tenants::oauth::{ConnectLink, NewConnection};
pub use tenants::oauth_clients::IssuedToken;
pub use tenants::oidc::{OidcBegun, OidcConfig};
pub use tenants::organizations::{FirstTenant, Me, NewOrganization, UpdateOrganization};
pub use tenants::people::{Client, People, SessionView, SignedIn};
pub use tenants::secrets::MasterKey;
pub use tenants::wrong_keys::{ASKED_BY, Asker};

/// How long the end of a server waits for the writes that are left, after its runs have ended.
const LAST_WRITES: Duration = Duration::from_secs(15);

/// Version of Millrace, as `platform_version` shows it (spec 9).
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Bounds and addresses of an engine.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Where clients reach this server; endpoints are `{base_url}/e/{key}`.
    pub base_url: String,
    /// Where endpoints have hosts of their own: `{key}.{endpoint_domain}`, a port with it where it
    /// is not the usual one; none: they have paths.
    pub endpoint_domain: Option<String>,
    /// Names of this server beside that of `base_url`, in lower case and without a port: no
    /// organization's domains.
    pub own_hosts: Vec<String>,
    /// The folder of all that the server keeps in files; the room on its disk is told.
    pub data_dir: PathBuf,
    /// Where built modules are kept for hosts.
    pub artifact_dir: PathBuf,
    /// Runs under way at once.
    pub running_max: usize,
    /// Accepted runs that wait for one of those slots, beyond which requests are refused; of one
    /// owner half as many.
    pub waiting_max: usize,
    /// Bytes of the events of those, beyond which requests are refused too; of one owner half as
    /// many.
    pub waiting_bytes_max: usize,
    /// How long a claimed run may go unrenewed.
    pub lease: Duration,
    /// Wall-clock limit of a source's run and of hooks.
    pub source_timeout: Duration,
    /// Attempts of a run that was lost each time through no fault of its own: with its server, or
    /// with a host that others used. Code cannot end the server, so that many losses say more of
    /// the machine than of the run; yet each start costs, and may repeat a step.
    pub attempts_max: i64,
    /// How often an event may be passed from workflow to workflow.
    pub hops_max: u32,
    /// How much history is kept, where nothing else was set for a workflow or source.
    pub keep: Retention,
    /// The most that may be set for one.
    pub keep_max: Retention,
    /// Days after which records of who changed what go; none: never.
    pub keep_audit_days: Option<u32>,
    /// Requests to `/v1` that a key may make in a minute, where it has no rate of its own; 0: as
    /// many as it likes.
    pub requests_per_minute: u32,
    /// Where mail goes; none: it stays in the outbox.
    pub smtp_url: Option<String>,
    /// The provider by which people sign in beside their passwords; none: by passwords alone.
    pub oidc: Option<OidcConfig>,
    /// Which addresses may be reached that users and code name: the policy of hosts.
    pub egress: millrace_model::egress::Shared,
    /// Sender of mail.
    pub mail_from: String,
    /// Where `$.send.s3` goes; none: it fails and says so.
    pub s3: Option<S3Config>,
    /// Bytes that the files of one request to an endpoint may have.
    pub upload_max_bytes: usize,
    /// Bytes that the files of an organization's requests may have together, for as long as they
    /// are kept.
    pub uploads_kept_bytes: u64,
    /// The largest heap that a workflow may ask for, MiB.
    pub memory_mb_max: u32,
    /// The longest wall-clock limit that a workflow may set.
    pub timeout_max: Duration,
    /// Where traces go; none: nowhere.
    pub traces: Option<TraceConfig>,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            base_url: "http://127.0.0.1:8787".into(),
            endpoint_domain: None,
            own_hosts: Vec::new(),
            data_dir: ".".into(),
            artifact_dir: "artifacts".into(),
            running_max: 256,
            waiting_max: 10_000,
            waiting_bytes_max: 512 << 20,
            lease: Duration::from_secs(30),
            source_timeout: Duration::from_secs(60),
            attempts_max: 10,
            hops_max: 16,
            keep: Retention { keep_days: Some(30), keep_count: None },
            keep_max: Retention::default(),
            keep_audit_days: Some(365),
            requests_per_minute: 6_000,
            smtp_url: None,
            oidc: None,
            egress: millrace_model::egress::Shared::default(),
            mail_from: "Millrace <millrace@localhost>".into(),
            s3: None,
            upload_max_bytes: 100 << 20,
            uploads_kept_bytes: 4 << 30,
            memory_mb_max: 10_240,
            timeout_max: Duration::from_secs(750),
            traces: None,
        }
    }
}

/// What an engine works with.
pub struct Parts {
    /// The durable truth.
    pub store: Arc<dyn Store>,
    /// Component source to artifact.
    pub bundler: Bundler,
    /// Artifact and event to effects.
    pub runner: Runner,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Ids and randomness.
    pub ids: Arc<IdSource>,
    /// Where the master key is kept, which seals what secrets are sealed under.
    pub master_keys: Arc<dyn MasterKeys>,
}

/// Accepts, runs and settles. Cheap to clone.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    ctx: Arc<Ctx>,
    bundler: Bundler,
    runner: Runner,
    keyring: Arc<tenants::secrets::Keyring>,
    tenants: tenants::Tenants,
    started_at: millrace_model::clock::Timestamp,
    /// What owners run, by owner id (live version) and by deployment id.
    programs: cache::Records<String, Arc<run::program::Program>>,
    nodes: nodes::Nodes,
    exports: observe::exports::Exports,
    domains: accept::domains::Domains,
    kept_files: accept::kept_files::KeptFiles,
    search_indexes: deploy::search_index::SearchIndexes,
    /// Slots for archives of registries.
    uploads: millrace_fair::FairSemaphore<millrace_model::ids::OrgId>,
    streams: observe::streams::Streams,
    metrics: Metrics,
    traces: observe::traces::Traces,
    /// Run slots, and the runs that wait for one.
    admission: run::admission::Admission,
    refusals: accept::refusals::Refusals,
    /// Runs that this node holds: renewed by the lease keeper.
    held: Mutex<HashMap<millrace_model::ids::RunId, run::execute::Hold>>,
    /// Numbers holds.
    holds: AtomicU64,
    /// When the first of their leases may end; by a clock that was moved, sooner than the lease
    /// keeper comes.
    leases_until: AtomicI64,
    /// The latest time that the scheduler saw.
    latest: AtomicI64,
    /// Who waits for a queued run's answer or end.
    waiters: Mutex<HashMap<millrace_model::ids::RunId, oneshot::Sender<()>>>,
    /// Serializes dedupe decisions of one source within this node.
    turns: settle::turns::Turns,
    begin_order: run::begin_order::BeginOrder,
    hook_writes: service_db::HookWrites,
    /// Who waits for the answer of a run that waits in the queue.
    responders: Mutex<HashMap<millrace_model::ids::RunId, run::sink::Responder>>,
}

impl Deref for Inner {
    type Target = Ctx;

    fn deref(&self) -> &Ctx {
        &self.ctx
    }
}

impl Engine {
    /// Takes up what an earlier process left and starts the dispatcher, scheduler, lease keeper,
    /// mailer, deliverers and pruner.
    pub async fn start(config: EngineConfig, parts: Parts) -> Result<Self, EngineError> {
        let Parts { store, bundler, runner, clock, ids, master_keys } = parts;
        let keyring =
            tenants::secrets::Keyring::load(&store, &master_keys, &ids, clock.now()).await?;
        tokio::fs::create_dir_all(&config.artifact_dir)
            .await
            .map_err(|e| EngineError::internal("could not create the artifact folder", e))?;
        let started_at = clock.now();
        let node = format!("node_{}", ids.base62(12));
        if store.single_node() {
            let requeued = store.requeue_running(None).await?;
            if requeued > 0 {
                tracing::info!(requeued, "runs that an earlier process left are queued again");
            }
        }
        let admission = run::admission::Admission::new(
            config.running_max,
            config.waiting_max,
            config.waiting_bytes_max,
        );
        let (traces, spans) = observe::traces::Traces::new(config.traces.as_ref())?;
        let (cache, tasks) = (cache::Cache::default(), background::Tasks::default());
        let ctx = Arc::new(Ctx { config, store, clock, ids, node, cache, tasks });
        let keyring = Arc::new(keyring);
        let tenants = tenants::Tenants::new(&ctx, &keyring, master_keys)?;
        let engine = Self(Arc::new(Inner {
            programs: ctx.cache.records(),
            ctx,
            bundler,
            runner,
            keyring,
            tenants,
            started_at,
            nodes: nodes::Nodes::default(),
            exports: observe::exports::Exports::default(),
            domains: accept::domains::Domains::default(),
            kept_files: accept::kept_files::KeptFiles::default(),
            search_indexes: deploy::search_index::SearchIndexes::default(),
            uploads: millrace_fair::FairSemaphore::new(deploy::registries::UPLOADS),
            streams: observe::streams::Streams::default(),
            metrics: Metrics::default(),
            traces,
            admission,
            refusals: accept::refusals::Refusals::default(),
            held: Mutex::default(),
            holds: AtomicU64::new(0),
            leases_until: AtomicI64::new(0),
            latest: AtomicI64::new(i64::MIN),
            waiters: Mutex::default(),
            turns: settle::turns::Turns::default(),
            begin_order: run::begin_order::BeginOrder::default(),
            hook_writes: service_db::HookWrites::default(),
            responders: Mutex::default(),
        }));
        engine.0.leases_until.store(engine.lease_until().ms(), Ordering::SeqCst);
        engine.start_with_others().await?;
        let Inner { ctx, keyring, traces, .. } = &*engine.0;
        engine.start_task(engine.dispatcher());
        engine.start_task(PressureWatch { engine: engine.clone(), meter: OwnMeter::default() });
        engine.start_task(engine.lease_keeper());
        engine.start_task(engine.scheduler());
        if let Some(mailer) = Mailer::new(ctx, keyring) {
            engine.start_task(mailer);
        }
        engine.start_task(engine.replayer());
        if let Some(deliverer) = Deliverer::new(ctx, traces.is_on()) {
            engine.start_task(deliverer);
        }
        engine.start_task(WebhookDispatcher::new(ctx, keyring));
        engine.start_task(Pruner::new(ctx.clone()));
        engine.start_task(engine.search_indexer());
        if let Some(spans) = spans {
            engine.start_task(engine.trace_exporter(spans));
        }
        Ok(engine)
    }

    /// Whether events are accepted; [`Engine::readiness`] says why not.
    pub async fn ready(&self) -> bool {
        self.readiness().await.accepts()
    }

    /// Stops accepting from queue and timers, waits up to `grace` for runs under way, gives the
    /// others back to the queue and closes.
    pub async fn shutdown(&self, grace: Duration) {
        self.0.tasks.stop();
        if tokio::time::timeout(grace, self.0.admission.slots.idle()).await.is_err() {
            tracing::warn!(
                grace_s = grace.as_secs(),
                "some runs did not end in time; they run again at the next start"
            );
        }
        self.0.tasks.end();
        self.0.runner.shutdown().await;
        self.0.tasks.wait(Duration::from_secs(5)).await;
        let last_writes = async {
            let held: Vec<_> = self.0.held.lock().drain().collect();
            for (run, hold) in held {
                if let Err(error) = self.0.store.release(&run, hold.attempt, false).await {
                    tracing::warn!(run.id = %run, error = %error, "could not give a run back to the queue; its lease ends by itself");
                }
            }
            self.check_out().await;
            self.0.store.close().await;
        };
        // A disk that hangs may never answer; what it was asked is what a crash leaves as well.
        if tokio::time::timeout(LAST_WRITES, last_writes).await.is_err() {
            tracing::error!(
                "the database did not take the last writes in {} s; nothing that was acknowledged is lost, and what was under way runs again",
                LAST_WRITES.as_secs()
            );
        }
    }

    fn start_task(&self, task: impl Background) {
        self.0.tasks.start(task, self.0.clock.clone());
    }

    fn now(&self) -> millrace_model::Timestamp {
        self.0.ctx.now()
    }

    fn lease_until(&self) -> millrace_model::Timestamp {
        self.0.ctx.lease_until()
    }
}
