//! The verbs: an event is **accepted**, becomes a **run**, and the run's effects are **settled**.
//!
//! Knows no SQL and no HTTP. Start at [`Engine::handle_endpoint`] (accept), then `execute` (run)
//! and `settle`.

mod accept;
mod answers;
mod background;
mod bundle_error;
mod cache;
mod checks;
mod config;
mod ctx;
mod deliver;
mod deploy;
mod edit_conflict;
mod error;
mod field_errors;
mod nodes;
mod observe;
mod on_request;
mod one_by_one;
mod overview;
mod owners;
mod parts;
mod reach;
mod read_value;
mod run;
mod service_db;
mod settle;
mod store_errors;
mod tenants;
#[cfg(test)]
mod test_ctx;
mod trace_context;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use millrace_bundle::Bundler;
use millrace_model::{Clock, IdSource};
use millrace_runner::{OwnMeter, Runner};
use millrace_store::Store;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use accept::domains::Domains;
use background::Background;
use ctx::Ctx;
use deliver::Deliverer;
use deliver::mailer::Mailer;
use deliver::outbox::Outbox;
use deliver::webhook_dispatcher::WebhookDispatcher;
use deliver::webhooks::Webhooks;
use deploy::forms::Forms;
use deploy::registries::Registries;
use deploy::subscriptions::Subscriptions;
use deploy::values::PropValues;
use observe::error_groups::ErrorGroups;
use observe::events::Events;
use observe::exports::Exports;
use observe::retention::{Pruner, Retentions};
use observe::runs::Runs;
use observe::search::SearchIndexer;
use run::admission::PressureWatch;
use run::data_stores::DataStores;
use run::replayer::Replayer;

pub use accept::app_hooks::AppEvent;
pub use accept::by_hand::{NewEvent, PassedOn};
pub use accept::form_head::boundary_of;
pub use accept::uploads::{FilesIn, Pieces};
pub use config::EngineConfig;
pub use deliver::mailer::{check_mail, check_smtp};
pub use deliver::s3::S3Config;
pub use deliver::webhook_address::shown_address;
pub use deliver::webhooks::NewWebhook;
pub use deploy::components::CodeRef;
pub use deploy::configure::{FormOf, OptionsRequest};
pub use deploy::form_answers::{OptionsAnswer, PropsAnswer};
pub use deploy::language::{JAVASCRIPT, entry_in_language};
pub use deploy::new_records::NewWorkflow;
pub use deploy::registries::{RegistryEntry, RegistryUpload, RegistryView};
pub use deploy::requests::{StepRequest, TriggerRequest};
pub use deploy::search_index::{AskedComponents, SearchedComponent};
pub use deploy::settings::{Choice, SettingsRequest};
pub use deploy::source_settings::{SOURCE_CONCURRENCY_MAX, SettingsOfSource};
pub use deploy::sources::NewSource;
pub use deploy::updates::{DeployRequest, UpdateSource, UpdateWorkflow};
pub use edit_conflict::EditConflict;
pub use error::{EngineError, ErrorKind};
pub use millrace_model::error_chain;
pub use millrace_store::{
    CalledBack, DataStoreEntry, Delivery, DeliveryKind, ErrorGroupFilter, ExportFilter, Exported,
    FailedRun, Interfaces, Lineage, ListedRun, Mail, MailStatus, NewestEvent, NewestOf, PauseEnd,
    RunFilter, RunState, SubscriptionKey,
};
pub use observe::error_groups::{ErrorDays, ErrorGroupView};
pub use observe::export_client::Taken;
pub use observe::exports::Export;
pub use observe::metrics::{Door, Metrics};
pub use observe::readiness::{FREE_BYTES_MIN, Readiness};
pub use observe::retention::RetentionView;
pub use observe::runs::{AskedStats, OwnerStats, RunStats};
pub use observe::search::IndexedRuns;
pub use observe::streams::{Lagged, StepEnd, StreamItem, StreamReader};
pub use observe::traces::TraceConfig;
pub use observe::views::{
    DeploymentView, ReplayView, RunView, SourceDeploymentView, SourceView, StepView, WorkflowView,
};
pub use on_request::actions::ActionRun;
pub use on_request::workflow_tests::{NewTest, TestEvent};
pub use overview::names::WouldGo;
pub use overview::system::System;
pub use read_value::read_value;
pub use run::data_stores::EntryEnd;
pub use run::replay_from::ReplayFrom;
pub use run::replays::{NewReplay, ReplayChange, RunReplay};
pub use run::shown_keys::{AskedKeys, KeyView};
pub use run::so_far::SoFar;
pub use tenants::accounts::{AccountView, NewAccount, UpdateAccount};
pub use tenants::app_images::AppImage;
pub use tenants::apps::{AppFilter, NewApp};
pub use tenants::audit::AuditAction;
pub use tenants::key_watch::KeyWatch;
pub use tenants::keyring::{MasterKeyError, MasterKeys};
pub use tenants::keys::{GRACE_MAX, Keys, NewApiKey, RATE_MAX, UpdateApiKey, check_scope};
pub use tenants::links::{LinkAnswer, NewLink};
pub use tenants::oauth::connect::{ConnectLink, NewConnection};
pub use tenants::oauth_clients::IssuedToken;
pub use tenants::oidc::{OidcBegun, OidcConfig};
pub use tenants::organizations::{FirstTenant, Me, NewOrganization, UpdateOrganization};
pub use tenants::people::{Client, People, SessionView, SignedIn, check_email};
pub use tenants::preferences::PreferencesView;
pub use tenants::secrets::MasterKey;
pub use tenants::wrong_keys::{ASKED_BY, Asker};

/// How long the end of a server waits for the writes that are left, after its runs have ended.
const LAST_WRITES: Duration = Duration::from_secs(15);

/// Version of Millrace, as `platform_version` shows it (spec 9).
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

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
    error_groups: ErrorGroups,
    events: Events,
    exports: Exports,
    outbox: Outbox,
    retention: Retentions,
    runs: Runs,
    subscriptions: Subscriptions,
    webhooks: Arc<Webhooks>,
    data_stores: Arc<DataStores>,
    domains: Domains,
    forms: Forms,
    prop_values: PropValues,
    registries: Registries,
    kept_files: accept::kept_files::KeptFiles,
    built_registry: deploy::built_registry::BuiltRegistry,
    platform_client: accept::platform_api::PlatformClient,
    streams: observe::streams::Streams,
    metrics: Arc<Metrics>,
    traces: observe::traces::Traces,
    /// Run slots, and the runs that wait for one.
    admission: run::admission::Admission,
    reject_delay: accept::reject_delay::RejectDelay,
    /// Lease table: the runs that this node executes. The lease keeper renews them.
    leases: Mutex<HashMap<millrace_model::ids::RunId, run::lease_guard::Lease>>,
    /// Tests that this node runs, each with its stop.
    tests: Mutex<HashMap<millrace_model::ids::RunId, CancellationToken>>,
    /// Numbers the leases.
    lease_numbers: AtomicU64,
    /// When the first of their leases may end; by a clock that was moved, sooner than the lease
    /// keeper comes.
    leases_until: AtomicI64,
    /// The latest time that the scheduler saw.
    latest: AtomicI64,
    /// Who waits for a queued run's answer or end.
    waiters: Mutex<HashMap<millrace_model::ids::RunId, oneshot::Sender<()>>>,
    /// Serializes dedupe decisions of one source within this node.
    settle_order: settle::settle_order::SettleOrder,
    begin_order: run::begin_order::BeginOrder,
    lost_together: run::again::LostTogether,
    hook_writes: service_db::HookWrites,
    /// Who waits for the answer of a run that waits in the queue.
    responders: Mutex<HashMap<millrace_model::ids::RunId, run::sink::Responder>>,
    unstored: run::unstored::UnstoredRuns,
    full_queues: run::full_queues::FullQueues,
    artifact_files: run::artifact_files::ArtifactFiles,
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
        let metrics = Arc::new(Metrics::default());
        let (traces, trace_exporter) =
            observe::traces::Traces::new(config.traces.as_ref(), &metrics)?;
        let (cache, tasks) = (cache::Cache::default(), background::Tasks::default());
        let changes = one_by_one::OneByOne::default();
        let ctx = Arc::new(Ctx { config, store, clock, ids, node, cache, tasks, changes });
        let keyring = Arc::new(keyring);
        let tenants = tenants::Tenants::new(&ctx, &keyring, master_keys)?;
        let webhooks = Arc::new(Webhooks::new(ctx.clone(), keyring.clone()));
        let data_stores = Arc::new(DataStores::new(ctx.clone()));
        let engine = Self(Arc::new(Inner {
            programs: ctx.cache.records(),
            runner,
            started_at,
            nodes: nodes::Nodes::default(),
            error_groups: ErrorGroups::new(ctx.clone()),
            events: Events::new(ctx.clone()),
            exports: Exports::new(ctx.clone()),
            outbox: Outbox::new(ctx.clone()),
            retention: Retentions::new(ctx.clone()),
            runs: Runs::new(ctx.clone()),
            subscriptions: Subscriptions::new(ctx.clone(), webhooks.clone()),
            webhooks,
            domains: Domains::new(ctx.clone()),
            forms: Forms::new(ctx.clone()),
            prop_values: PropValues::new(
                ctx.clone(),
                tenants.accounts.clone(),
                data_stores.clone(),
            ),
            registries: Registries::new(ctx.clone(), bundler.clone(), tenants.apps.clone()),
            data_stores,
            kept_files: accept::kept_files::KeptFiles::default(),
            built_registry: deploy::built_registry::BuiltRegistry::default(),
            platform_client: accept::platform_api::PlatformClient::default(),
            streams: observe::streams::Streams::default(),
            metrics,
            traces,
            admission,
            reject_delay: accept::reject_delay::RejectDelay::default(),
            leases: Mutex::default(),
            lease_numbers: AtomicU64::new(0),
            leases_until: AtomicI64::new(0),
            latest: AtomicI64::new(i64::MIN),
            waiters: Mutex::default(),
            tests: Mutex::default(),
            settle_order: settle::settle_order::SettleOrder::default(),
            begin_order: run::begin_order::BeginOrder::default(),
            lost_together: run::again::LostTogether::default(),
            hook_writes: service_db::HookWrites::default(),
            responders: Mutex::default(),
            unstored: run::unstored::UnstoredRuns::default(),
            full_queues: run::full_queues::FullQueues::default(),
            artifact_files: run::artifact_files::ArtifactFiles::default(),
            bundler,
            tenants,
            keyring,
            ctx,
        }));
        engine.0.leases_until.store(engine.lease_until().ms(), Ordering::SeqCst);
        engine.watch_what_leaves();
        engine.start_with_others().await?;
        let Inner { ctx, keyring, .. } = &*engine.0;
        engine.start_task(engine.dispatcher());
        engine.start_task(PressureWatch { engine: engine.clone(), meter: OwnMeter::default() });
        engine.start_task(engine.lease_keeper());
        engine.start_task(engine.queue_watch());
        engine.start_task(engine.scheduler());
        if let Some(mailer) = Mailer::new(ctx, keyring) {
            engine.start_task(mailer);
        }
        engine.start_task(Replayer::new(engine.clone()));
        if let Some(deliverer) = Deliverer::new(ctx) {
            engine.start_task(deliverer);
        }
        engine.start_task(WebhookDispatcher::new(ctx, keyring));
        engine.start_task(Pruner::new(ctx.clone()));
        engine.start_task(engine.artifact_pruner());
        let runs = engine.clone();
        let do_runs_wait = move || runs.0.admission.slots.waiting() > 0;
        engine.start_task(SearchIndexer::new(ctx.clone(), do_runs_wait));
        if let Some(exporter) = trace_exporter {
            engine.start_task(exporter);
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
            let leases: Vec<_> = self.0.leases.lock().drain().collect();
            for (run, lease) in leases {
                if let Err(error) = self.0.store.release(&run, lease.attempt, false).await {
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

    /// The time of the clock that all of the engine goes by.
    pub fn now(&self) -> millrace_model::Timestamp {
        self.0.ctx.now()
    }

    fn lease_until(&self) -> millrace_model::Timestamp {
        self.0.ctx.lease_until()
    }
}
