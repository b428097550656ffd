//! Wiring of the server, and its end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use millrace_api::ApiConfig;
use millrace_bundle::{Bundler, BundlerConfig, ControlGroups, Kernel, Limits, WorkerCommand};
use millrace_engine::{Engine, EngineConfig, Parts};
use millrace_model::IdSource;
use millrace_model::egress::Shared;
use millrace_runner::{Runner, RunnerConfig, Shortage, Walls, WebSocketGlobal};
use millrace_store::Store;
use millrace_store_postgres::PostgresOptions;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::clock::clock;
use crate::config::{Config, Sandbox, ServeArgs};
use crate::data_dir::{self, CREDENTIALS, DataDir};
use crate::database;
use crate::doctor;
use crate::egress::Surroundings;
use crate::front::Front;
use crate::http;
use crate::log;
use crate::machine::{hosts_max, memory_mb_max};
use crate::master_key::KeyPlace;
use crate::memory;
use crate::tls;

/// Our answers to package names.
const PLATFORM_MODULES: &[(&str, &str)] = &[
    ("@pipedream/platform", include_str!("../../../runtime/dist/platform.mjs")),
    ("@pipedream/types", include_str!("../../../runtime/dist/types.mjs")),
];
/// The subcommand that bundles one component in a process of its own.
pub(crate) const BUNDLE_WORKER: &str = "bundle-worker";
/// Connections at once to the address of the counts: collectors are few.
const METRICS_CONNECTIONS_MAX: usize = 64;
/// How long runs under way may go on after SIGTERM.
const DRAIN: Duration = Duration::from_secs(20);

pub async fn serve(args: ServeArgs) -> Result<()> {
    let config = Arc::new(Config::read(args)?);
    log::start(config.log_format)?;
    if config.sandbox != Sandbox::Off {
        close_proc();
    }
    ignore_file_size_signals();
    let connections_max = connections_max(&config)?;
    let data = DataDir::open(&config.data_dir)?;
    if std::fs::metadata(data.path()).is_ok_and(|meta| data_dir::is_open_to_others(&meta)) {
        tracing::warn!(path = %data.path().display(), "the data directory is open to other users; close it: `chmod 700`");
    }
    data_dir::refuse_half_restored(data.path())?;
    let tls = config.tls.clone().map(tls::acceptor).transpose()?;
    let front = Front {
        trusted: config.trusted_proxies.clone(),
        proxy_protocol: config.proxy_protocol,
        tls,
    };
    let listeners = Listeners::bind(&config).await?;
    let address = listeners.main.local_addr().context("could not read the listener's address")?;
    let base_url = config.base_url.clone().unwrap_or_else(|| {
        format!("{}://{address}", if config.tls.is_some() { "https" } else { "http" })
    });
    let engine = start_engine(&config, &data, &base_url).await?;
    let served =
        serve_engine(&config, &data, &base_url, (listeners, front), connections_max, &engine).await;
    tracing::info!("draining: no new events are accepted, runs under way end");
    engine.shutdown(DRAIN).await;
    tracing::info!("stopped");
    served
}

/// Bound before anything of the data directory is touched: a port that is in use is the commonest
/// reason not to start.
struct Listeners {
    main: TcpListener,
    /// For the counts, where they have an address of their own.
    metrics: Option<TcpListener>,
}

impl Listeners {
    async fn bind(config: &Config) -> Result<Self> {
        let main = http::listen(&config.listen).await.with_context(|| {
            format!(
                "could not listen on `{}`; is the port in use? choose another with --listen",
                config.listen
            )
        })?;
        let metrics = match &config.metrics_listen {
            Some(place) => Some(
                http::listen(place)
                    .await
                    .with_context(|| format!("could not listen on `{place}` for /metrics; is the port in use? choose another with --metrics-listen"))?,
            ),
            None => None,
        };
        Ok(Self { main, metrics })
    }
}

/// Until the server is told to end.
async fn serve_engine(
    config: &Arc<Config>,
    data: &DataDir,
    base_url: &str,
    (listeners, front): (Listeners, Front),
    connections_max: usize,
    engine: &Engine,
) -> Result<()> {
    let keep = |first: &_| data.prepare_credentials(first, base_url);
    let first = engine.organizations().bootstrap(&config.owner_email, keep).await?;
    if data.take_over_credentials(first.as_ref())? {
        tracing::info!(path = %data.file(CREDENTIALS).display(), "first start: the organization, its owner and an API key were made");
    }
    data.update_url(base_url)?;
    let timeout = Duration::from_secs(u64::from(config.request_timeout_seconds));
    let router = millrace_api::router(
        engine.clone(),
        ApiConfig {
            base_url: base_url.to_owned(),
            endpoint_domain: config.endpoint_domain.clone(),
            http_body_max_bytes: config.http_body_max_bytes,
            body_timeout: timeout,
            bodies_bytes_max: config.requests_half_bytes(),
        },
        doctor::look_of(config),
    );
    let limits = http::Limits { connections_max, head_timeout: timeout };
    let metrics =
        listeners.metrics.map(|listener| serve_metrics(listener, engine, limits)).transpose()?;
    if let Some(first_visit) = engine.people().first_visit().await? {
        tracing::info!(
            url = first_visit.url,
            "nobody can sign in yet: open this address to set the first owner's password; it works once, within a day"
        );
    }
    tracing::info!(url = base_url, version = env!("CARGO_PKG_VERSION"), "ready");
    let memory = tokio::spawn(memory::give_back());
    serve_until_signal(listeners.main, front, router, limits).await?;
    memory.abort();
    if let Some(metrics) = metrics {
        metrics.abort();
    }
    Ok(())
}

/// Serves the counts at an address of their own, with the times that clients have elsewhere: who
/// reaches it may not take the server's descriptors.
fn serve_metrics(
    listener: TcpListener,
    engine: &Engine,
    limits: http::Limits,
) -> Result<tokio::task::JoinHandle<()>> {
    tracing::info!(address = %listener.local_addr().context("could not read the listener's address")?, "/metrics is open here, to whoever reaches it");
    let router = millrace_api::metrics_router(engine.clone());
    let limits = http::Limits {
        connections_max: limits.connections_max.min(METRICS_CONNECTIONS_MAX),
        ..limits
    };
    // It ends with its task.
    Ok(tokio::spawn(http::serve(
        listener,
        Front::default(),
        router,
        limits,
        CancellationToken::new(),
    )))
}

/// The process of one bundle: a question on standard input, its answer on standard output.
pub(crate) fn bundle_worker() -> Result<()> {
    millrace_bundle::work(PLATFORM_MODULES).map_err(anyhow::Error::new)
}

/// Bundling in processes of this very program, also where its file was replaced since.
pub(crate) fn bundler(
    config: &Config,
    node_version: &str,
    cache_dir: PathBuf,
    egress: Shared,
    walls: Kernel,
    groups: Option<Arc<ControlGroups>>,
) -> Bundler {
    let bundler_config = BundlerConfig {
        cache_dir,
        registry: config.npm_registry.clone(),
        metadata_max_age: Duration::from_secs(300),
        node_version: node_version.to_owned(),
        platform_modules: PLATFORM_MODULES,
        egress,
        limits: Limits::default(),
        walls,
        groups,
    };
    Bundler::in_processes(
        bundler_config,
        WorkerCommand { program: "/proc/self/exe".into(), args: vec![BUNDLE_WORKER.into()] },
    )
}

async fn start_engine(config: &Config, data: &DataDir, base_url: &str) -> Result<Engine> {
    KeyPlace::refuse_unusable(&config.master_key, &data.file("master.key"))?;
    let store = database::open(config, data).await?;
    let engine = start_engine_on(store.clone(), config, data, base_url).await;
    if engine.is_err() {
        // Else the process might end while the database is closed: its log without the file that
        // says how far it has come.
        store.close().await;
    }
    engine
}

async fn start_engine_on(
    store: Arc<dyn Store>,
    config: &Config,
    data: &DataDir,
    base_url: &str,
) -> Result<Engine> {
    let database = config
        .database_url
        .as_ref()
        .map(|url| PostgresOptions::at(url).hosts())
        .unwrap_or_default();
    let egress = Surroundings::new(config.egress_allow.clone(), database).watch().await;
    let ids = Arc::new(if store.single_node() { IdSource::default() } else { IdSource::of_many() });
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let runner_config = RunnerConfig {
        node: config.node.clone(),
        host_script: include_str!("../../../runtime/dist/host.cjs").to_owned(),
        thread_script: include_str!("../../../runtime/dist/worker.cjs").to_owned(),
        scratch_dir: data.file("hosts"),
        walls: match config.sandbox {
            Sandbox::Required => Walls::Required,
            Sandbox::BestEffort => Walls::BestEffort,
            Sandbox::Off => Walls::Off,
        },
        egress: egress.clone(),
        hosts_max: hosts_max(&meminfo),
        ..RunnerConfig::default()
    };
    let runner = Runner::start(runner_config).await?;
    log_walls(config, &runner);
    if WebSocketGlobal::of(runner.node_version()) == WebSocketGlobal::Missing {
        tracing::warn!(
            node = runner.node_version(),
            "this Node has no `WebSocket`, which packages such as @supabase/supabase-js need; Node 20.10 and newer have it"
        );
    }
    let bundler = bundler(
        config,
        runner.node_version(),
        data.file("cache"),
        egress.clone(),
        runner.walls().kernel(),
        runner.control_groups(),
    );
    try_bundler(config, &bundler, runner.walls().kernel()).await?;
    let engine_config = EngineConfig {
        base_url: base_url.to_owned(),
        endpoint_domain: config.endpoint_domain.clone(),
        own_hosts: config.own_hosts.clone(),
        data_dir: config.data_dir.clone(),
        artifact_dir: data.file("artifacts"),
        keep: config.keep,
        keep_max: config.keep_max,
        keep_audit_days: Some(config.keep_audit_days),
        traces: config.traces.clone(),
        requests_per_minute: config.requests_per_minute,
        smtp_url: config.smtp_url.clone(),
        oidc: config.oidc.clone(),
        mail_from: config.mail_from.clone(),
        s3: config.s3.clone(),
        upload_max_bytes: config.upload_max_bytes,
        uploads_kept_bytes: u64::from(config.uploads_kept_mb) << 20,
        memory_mb_max: config.memory_max_mb.unwrap_or_else(|| memory_mb_max(&meminfo)),
        timeout_max: Duration::from_secs(config.timeout_max_seconds.into()),
        waiting_runs_max: config.waiting_runs_max,
        calls_per_isolate_max: config.calls_per_isolate_max,
        requests_per_minute_max: config.requests_per_minute_max,
        waiting_bytes_max: config.requests_half_bytes(),
        egress,
        ..EngineConfig::default()
    };
    let master_keys = Arc::new(KeyPlace::open(&config.master_key, &data.file("master.key"), &ids)?);
    let parts = Parts { store, bundler, runner, clock: clock(), master_keys, ids };
    Ok(Engine::start(engine_config, parts).await?)
}

fn log_walls(Config { sandbox, egress_allow, .. }: &Config, runner: &Runner) {
    let walls = runner.walls();
    if *sandbox == Sandbox::Off {
        tracing::warn!(
            "--sandbox=off: there are no walls around components; whoever may deploy one can read and change all that this server can"
        );
        return;
    }
    for missing in walls.missing() {
        tracing::warn!(missing, "a wall around components is missing");
    }
    let opened: Vec<String> = egress_allow.iter().map(ToString::to_string).collect();
    tracing::info!(%walls, egress_allow = opened.join(" "), "components are walled in");
}

/// Bundling reads strangers' code: it has walls as hosts have, and they are tried as those are.
async fn try_bundler(config: &Config, bundler: &Bundler, walls: Kernel) -> Result<()> {
    if config.sandbox == Sandbox::Off {
        return Ok(());
    }
    match bundler.try_walls().await {
        Ok(()) => {
            tracing::info!(%walls, "bundling is walled in, with limits of memory, time and files")
        }
        Err(why) if config.sandbox == Sandbox::BestEffort => {
            tracing::warn!(why, "the walls around bundling do not hold")
        }
        Err(why) if let Some((_, shortage)) = Shortage::of_words(&why) => {
            bail!("the walls around bundling could not be tried: {why}; {shortage}")
        }
        Err(why) => bail!(
            "the walls around bundling do not hold: {why}; --sandbox=best-effort starts all the same"
        ),
    }
    Ok(())
}

/// The server's memory, environment and descriptors are in /proc for all processes of its user:
/// hosts too, should another wall fall.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn close_proc() {
    // SAFETY: a plain system call. It changes what others may see of this process, and whether it
    // leaves a core file.
    if unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) } != 0 {
        tracing::warn!("could not close /proc/self to other processes");
    }
}

/// A write beyond the limit of file sizes (`ulimit -f`) is to fail like any other, not to end the
/// server without a word.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn ignore_file_size_signals() {
    // SAFETY: no handler is installed; the signal is ignored from now on. Node.js does the same for
    // itself.
    if unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) } == libc::SIG_ERR {
        tracing::warn!(
            "could not ignore SIGXFSZ: a file that reaches its limit of size would end the server"
        );
    }
}

/// As many as are asked for, and fit into the descriptors that this process may have.
fn connections_max(config: &Config) -> Result<usize> {
    match http::raise_descriptors() {
        // The walls cannot be tried, and the database not be opened: whatever failed first would be
        // told in their place.
        Ok(descriptors) if descriptors.all < http::DESCRIPTORS_MIN => {
            bail!(
                "this process may have {} open files, and needs {} at least; raise the limit (`ulimit -n`, or `LimitNOFILE` of a systemd unit), to 65536 where many connect",
                descriptors.all,
                http::DESCRIPTORS_MIN
            )
        }
        Ok(descriptors) if descriptors.for_connections < config.connections_max as u64 => {
            let room = descriptors.for_connections;
            tracing::warn!(
                connections_max = room,
                asked = config.connections_max,
                "this process may not have descriptors for more connections; raise its limit of open files"
            );
            Ok(usize::try_from(room).unwrap_or(1))
        }
        Ok(_) => Ok(config.connections_max),
        Err(error) => {
            tracing::warn!(%error, "could not read the limit of open files");
            Ok(config.connections_max)
        }
    }
}

/// Serves until SIGTERM or SIGINT; requests under way are answered, for as long as runs may go on.
async fn serve_until_signal(
    listener: TcpListener,
    front: Front,
    router: axum::Router,
    limits: http::Limits,
) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let serving = tokio::spawn(http::serve(listener, front, router, limits, stop.clone()));
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    stop.cancel();
    // Streams never end by themselves: they are cut when the time is over.
    match tokio::time::timeout(Duration::from_secs(2), serving).await {
        Ok(served) => served.context("the HTTP server failed"),
        Err(_) => Ok(()),
    }
}
