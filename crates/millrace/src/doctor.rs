//! `millrace doctor`: looks at what a server needs, and says what to mend. Changes nothing, also where a server runs.

use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use millrace_bundle::Kernel;
use millrace_engine::{FREE_BYTES_MIN, check_smtp, error_chain};
use millrace_model::egress::{Allow, Shared, Target};
use millrace_model::{Clock as _, SystemClock};
use millrace_runner::{RunnerConfig, examine};
use millrace_store::Examined;
use millrace_store_postgres::PostgresOptions;
use serde::Serialize;

use crate::config::{Config, Sandbox, ServeArgs};
use crate::data_dir;
use crate::egress::Surroundings;
use crate::http::{self, DESCRIPTORS_MIN, Descriptors};
use crate::outside;
use crate::serve;

/// Less room than this is little, bytes.
const DISK_BYTES_GOOD: u64 = 2 << 30;
/// How long somebody else's server may take.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Clocks that are further apart mislead timers and leases, milliseconds.
const CLOCKS_APART_MAX_MS: i64 = 5_000;
/// Fewer connections than this are few.
const CONNECTIONS_FEW: u64 = 2_048;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    /// It works, and could be better or safer.
    Warning,
    /// A server would not work.
    Failed,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    status: Status,
    /// What was found.
    found: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Checks(Vec<Check>);

impl Checks {
    pub(crate) fn ok(&mut self, name: &'static str, found: impl Into<String>) {
        self.0.push(Check { name, status: Status::Ok, found: found.into(), mend: None });
    }

    pub(crate) fn warn(&mut self, name: &'static str, found: impl Into<String>, mend: impl Into<String>) {
        self.0.push(Check { name, status: Status::Warning, found: found.into(), mend: Some(mend.into()) });
    }

    fn fail(&mut self, name: &'static str, found: impl Into<String>, mend: impl Into<String>) {
        self.0.push(Check { name, status: Status::Failed, found: found.into(), mend: Some(mend.into()) });
    }
}

/// Looks at everything and prints it. Success where nothing failed.
pub async fn doctor(args: ServeArgs, json: bool) -> ExitCode {
    let mut checks = Checks::default();
    match Config::read(args) {
        Ok(config) => look(&config, &mut checks).await,
        Err(error) => checks.fail("configuration", format!("{error:#}"), "mend the flag, the variable or the line of millrace.toml that it names"),
    }
    print(&checks.0, json);
    if checks.0.iter().any(|c| c.status == Status::Failed) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

async fn look(config: &Config, checks: &mut Checks) {
    checks.ok("configuration", "it can be read");
    user(&config.data_dir, checks);
    let is_running = data_directory(&config.data_dir, checks);
    disk(&config.data_dir, checks);
    database(config, checks).await;
    walls(config, checks).await;
    egress(config, checks).await;
    mail(config, checks).await;
    outside::look(config, checks).await;
    metrics(config, is_running, checks).await;
    listen(config, is_running, checks).await;
    base_url(config, is_running, checks).await;
    clock(checks);
    descriptors(checks);
}

#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn user(data_dir: &Path, checks: &mut Checks) {
    let owner = std::fs::metadata(data_dir).map_or(0, |meta| meta.uid());
    // SAFETY: it cannot fail.
    match unsafe { libc::geteuid() } {
        // The trials of the walls give up root's right to folders of others.
        0 if owner != 0 => checks.warn(
            "user",
            format!("this is root, and `{}` belongs to user {owner}", data_dir.display()),
            format!("ask as that user what stands, `sudo -u '#{owner}' millrace doctor ...`: to root the walls and bundling fail at a folder that is closed to others"),
        ),
        0 => checks.warn("user", "this is root", "run the server as a user of its own: root is needed for nothing, and makes each mistake a large one"),
        id => checks.ok("user", format!("an ordinary user ({id})")),
    }
}

/// Whether a server uses it.
fn data_directory(path: &Path, checks: &mut Checks) -> bool {
    const NAME: &str = "data directory";
    let shown = path.display();
    let meta = match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => meta,
        Ok(_) => {
            checks.fail(NAME, format!("`{shown}` is no folder"), "name another with --data-dir");
            return false;
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            match tempfile::tempdir_in(parent) {
                Ok(_) => checks.ok(NAME, format!("`{shown}` is not there yet, and can be made")),
                Err(error) => checks.fail(
                    NAME,
                    format!("`{shown}` cannot be made: {error}"),
                    format!("make it, and give it to the server's user: `install -d -m 700 -o USER {shown}`"),
                ),
            }
            return false;
        }
        Err(error) => {
            checks.fail(NAME, format!("`{shown}` cannot be read: {error}"), "give it to the server's user");
            return false;
        }
    };
    if let Err(error) = tempfile::tempfile_in(path) {
        checks.fail(NAME, format!("`{shown}` cannot be written in: {error}"), "give it to the server's user, or mend the file system");
        return false;
    }
    let open_to_others = |meta: &std::fs::Metadata| meta.mode() & 0o077 != 0;
    let is_running = data_dir::is_in_use(path);
    let use_of = if is_running { ", and a server uses it" } else { "" };
    match std::fs::metadata(path.join("master.key")) {
        Ok(key) if key.len() != 32 => checks.fail(
            NAME,
            format!("`{shown}/master.key` has {} bytes, a key has 32", key.len()),
            "restore it from a backup: without it stored secrets cannot be opened",
        ),
        Ok(key) if open_to_others(&key) => {
            checks.warn(NAME, format!("`{shown}/master.key` can be read by other users"), format!("chmod 600 {shown}/master.key"))
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            checks.fail(NAME, format!("`{shown}/master.key` cannot be read: {error}"), "give it to the server's user")
        }
        _ if open_to_others(&meta) => checks.warn(NAME, format!("`{shown}` is open to other users{use_of}"), format!("chmod 700 {shown}")),
        _ => checks.ok(NAME, format!("`{shown}` can be written in{use_of}")),
    }
    is_running
}

fn disk(path: &Path, checks: &mut Checks) {
    const NAME: &str = "disk";
    let there = path.ancestors().find(|p| p.exists()).unwrap_or(Path::new("."));
    let found = match rustix::fs::statvfs(there) {
        Ok(found) => found,
        Err(error) => return checks.warn(NAME, format!("the room in `{}` is not known: {error}", there.display()), "look at it yourself: `df`"),
    };
    let (free, files) = (found.f_bavail.saturating_mul(found.f_frsize), found.f_favail);
    let said = format!("{} MiB are free for `{}`", free >> 20, path.display());
    let mend = "make room, or put the data directory elsewhere; a full disk refuses events until there is room again";
    if free < FREE_BYTES_MIN || (found.f_files > 0 && files < 1_000) {
        checks.fail(NAME, format!("{said}, and {files} more files"), mend);
    } else if free < DISK_BYTES_GOOD {
        checks.warn(NAME, said, mend);
    } else {
        checks.ok(NAME, said);
    }
}

async fn database(config: &Config, checks: &mut Checks) {
    const NAME: &str = "database";
    let looked = match &config.database_url {
        Some(url) => {
            let options = PostgresOptions::at(url);
            let Some(place) = options.place() else {
                return checks.fail(
                    NAME,
                    "the value of --database-url is not the address of a Postgres database",
                    "write postgres://user:password@host:port/database",
                );
            };
            let looked = millrace_store_postgres::examine(&options).await;
            looked.map_err(|e| {
                (
                    format!("the Postgres {place} cannot be used: {}", error_chain(&e)),
                    "check that it runs, that --database-url is right, and that its user may connect",
                )
            })
        }
        None => {
            let path = config.data_dir.join("millrace.db");
            if !path.exists() {
                return checks.ok(NAME, "SQLite; the file is made at the first start");
            }
            let looked = millrace_store_sqlite::examine(&path);
            looked.map_err(|e| (format!("`{}` cannot be used: {}", path.display(), error_chain(&e)), "restore it from a backup, with its master.key"))
        }
    };
    match looked {
        Err((found, mend)) => checks.fail(NAME, found, mend),
        Ok(Examined { damage: Some(damage), engine, .. }) => {
            checks.fail(NAME, format!("{engine}: it is damaged: {damage}"), "stop the server and restore a backup, with its master.key")
        }
        Ok(Examined { unfit: Some(unfit), engine, .. }) => checks.fail(NAME, format!("{engine}: {}", unfit.found), unfit.mend),
        Ok(Examined { engine, schema, known, .. }) if schema > known => checks.fail(
            NAME,
            format!("{engine}: its schema is {schema}, this version knows {known}"),
            "start the newer version that made it, or restore a backup of before",
        ),
        Ok(Examined { clock: Some(clock), engine, .. }) if (clock.ms() - SystemClock.now().ms()).abs() > CLOCKS_APART_MAX_MS => {
            let apart = clock.ms() - SystemClock.now().ms();
            checks.warn(NAME, format!("{engine}: its clock is {apart} ms apart from this machine's"), "let both machines take the time from the same servers")
        }
        Ok(Examined { engine, schema, known, .. }) => {
            let state = match schema {
                0 => "empty".to_owned(),
                _ if schema < known => format!("schema {schema}, brought to {known} at the next start"),
                _ => format!("schema {schema}"),
            };
            checks.ok(NAME, format!("{engine}, {state}"));
        }
    }
}

async fn walls(config: &Config, checks: &mut Checks) {
    let scratch_dir = if config.data_dir.is_dir() { config.data_dir.clone() } else { std::env::temp_dir() };
    let runner = RunnerConfig { node: config.node.clone(), scratch_dir, ..RunnerConfig::default() };
    let found = match examine(&runner).await {
        Ok(found) => found,
        Err(error) => return checks.fail("node", error_chain(&error), "install Node.js 20 or newer, or name its binary with --node"),
    };
    checks.ok("node", format!("{} at {}", found.version, found.node));
    let is_required = config.sandbox == Sandbox::Required;
    for tried in found.tried {
        let name = match tried.wall {
            "all together" => "walls",
            _ => "wall",
        };
        match tried.failed {
            // As a start says it: what Landlock keeps in depends on its version.
            None if name == "walls" => checks.ok(name, format!("{}: {}", tried.wall, found.walls)),
            None => checks.ok(name, format!("{}: it stands", tried.wall)),
            Some(why) => {
                let mend = "docs/hardening.md says what each wall needs; --sandbox=best-effort does without it, where every component is trusted";
                let said = format!("{}: {why}", tried.wall);
                if is_required { checks.fail(name, said, mend) } else { checks.warn(name, said, mend) }
            }
        }
    }
    let bundling = tried_bundling(config, &runner.scratch_dir, found.walls.kernel()).await;
    match bundling {
        Ok(()) => checks.ok("bundling", format!("{}, limits of memory, time and files: they hold", found.walls.kernel())),
        Err(why) => {
            let mend = "docs/hardening.md says what each wall needs; --sandbox=best-effort does without it, where every component is trusted";
            if is_required { checks.fail("bundling", why, mend) } else { checks.warn("bundling", why, mend) }
        }
    }
    // They are an addition: where there are none, the other limits stand.
    let groups = match found.groups.as_slice() {
        [] => "none can be made by this process; systemd gives a service its own with Delegate=yes".to_owned(),
        given => format!("each host gets one, with limits of {}", given.join(", ")),
    };
    checks.ok("control groups", groups);
    match config.sandbox {
        Sandbox::Required => {}
        Sandbox::BestEffort => {
            checks.warn("walls", "--sandbox=best-effort: a server starts also where walls are missing", "leave it out where all walls stand")
        }
        Sandbox::Off => checks.warn("walls", "--sandbox=off: no walls are put up", "leave it out, unless every component is trusted"),
    }
}

/// Lets processes that bundle try to get out, with a cache that goes again.
async fn tried_bundling(config: &Config, scratch_dir: &Path, walls: Kernel) -> Result<(), String> {
    let cache = tempfile::Builder::new().prefix("doctor-").tempdir_in(scratch_dir).map_err(|e| format!("no folder can be made: {e}"))?;
    let cache_dir = cache.path().canonicalize().map_err(|e| format!("a folder cannot be found: {e}"))?;
    serve::bundler(config, cache_dir, Shared::default(), walls, None).try_walls().await
}

async fn egress(config: &Config, checks: &mut Checks) {
    const NAME: &str = "egress";
    let database = config.database_url.as_ref().map(|url| PostgresOptions::at(url).hosts()).unwrap_or_default();
    let policy = Surroundings::new(config.egress_allow.clone(), database).look().await;
    for (name, _) in policy.named.iter().filter(|(_, found)| found.is_empty()) {
        checks.warn(
            NAME,
            format!("the name `{name}` of --egress-allow leads nowhere"),
            "mend the name, or the resolver that should know it; until then it stays closed",
        );
    }
    for allow in config.egress_allow.iter().filter(|allow| is_wide(allow)) {
        checks.warn(
            NAME,
            format!("--egress-allow {allow} opens this machine or a whole network to every component"),
            "name the addresses and ports that are needed, such as 10.1.2.3:5432",
        );
    }
    let resolvers: Vec<String> = policy.resolvers.iter().map(ToString::to_string).collect();
    let opened: Vec<String> = config.egress_allow.iter().map(ToString::to_string).collect();
    let opened = if opened.is_empty() { "nothing else".to_owned() } else { opened.join(", ") };
    checks.ok(NAME, format!("components reach public addresses and {opened}; names are asked of {}", resolvers.join(", ")));
}

/// Loopback addresses without a port, or ranges that hold thousands of machines.
fn is_wide(allow: &Allow) -> bool {
    match &allow.to {
        Target::Net { address: IpAddr::V4(v4), bits } => (v4.is_loopback() && allow.port.is_none()) || (*bits < 16 && allow.port.is_none()) || *bits == 0,
        Target::Net { address: IpAddr::V6(v6), bits } => (v6.is_loopback() && allow.port.is_none()) || (*bits < 48 && allow.port.is_none()) || *bits == 0,
        Target::Name(_) => false,
    }
}

async fn mail(config: &Config, checks: &mut Checks) {
    match &config.smtp_url {
        None => checks.ok("mail", "no SMTP server is named: mail stays in the outbox (`millrace mail`)"),
        Some(url) => match check_smtp(url, ANSWER_TIMEOUT).await {
            Ok(()) => checks.ok("mail", "the SMTP server answers"),
            Err(why) => checks.fail(
                "mail",
                format!("the SMTP server cannot be used: {why}"),
                "check --smtp-url (smtp://user:password@host:port, smtps://…) and that the server is reached from here",
            ),
        },
    }
}

async fn listen(config: &Config, is_running: bool, checks: &mut Checks) {
    const NAME: &str = "address";
    if is_running {
        return checks.ok(NAME, "a server runs, and has its own");
    }
    match tokio::net::TcpListener::bind(&config.listen).await {
        Ok(_) => checks.ok(NAME, format!("`{}` is free to listen on", config.listen)),
        Err(error) => checks.fail(NAME, format!("`{}` cannot be listened on: {error}", config.listen), "choose another with --listen ADDRESS:PORT"),
    }
}

/// The address of their own that counts have, where they do.
async fn metrics(config: &Config, is_running: bool, checks: &mut Checks) {
    const NAME: &str = "metrics";
    let Some(address) = config.metrics_listen.as_ref().filter(|_| !is_running) else { return };
    match tokio::net::TcpListener::bind(address).await {
        Ok(_) => checks.ok(NAME, format!("`{address}` is free to listen on")),
        Err(error) => checks.fail(NAME, format!("`{address}` cannot be listened on: {error}"), "choose another with --metrics-listen ADDRESS:PORT"),
    }
}

async fn base_url(config: &Config, is_running: bool, checks: &mut Checks) {
    const NAME: &str = "base URL";
    let Some(base) = &config.base_url else {
        return checks.ok(NAME, format!("none is set: clients are told http://{}", config.listen));
    };
    let is_secure = base.starts_with("https://");
    let host = base.split("://").nth(1).and_then(|rest| rest.split(['/', ':']).next()).unwrap_or("");
    let is_local = host == "localhost" || host.starts_with("127.") || host.starts_with('[');
    if is_running {
        let client = reqwest::Client::builder().timeout(ANSWER_TIMEOUT).build();
        let answered = match client {
            Ok(client) => {
                client.get(format!("{base}/healthz")).send().await.and_then(reqwest::Response::error_for_status).map(drop).map_err(|e| error_chain(&e))
            }
            Err(error) => Err(error_chain(&error)),
        };
        if let Err(why) = answered {
            return checks.fail(NAME, format!("`{base}` does not lead to the server: {why}"), "mend --base-url, or the proxy and the name that lead there");
        }
    }
    if !is_secure && !is_local {
        return checks.warn(
            NAME,
            format!("`{base}` is not encrypted: keys and events can be read on the way"),
            "put a proxy that speaks TLS before the server, and name its https:// address",
        );
    }
    checks.ok(NAME, if is_running { format!("`{base}` leads to the server") } else { format!("`{base}`; no server runs that could be asked there") });
}

#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn clock(checks: &mut Checks) {
    const NAME: &str = "clock";
    /// 2026-01-01: a clock that is before this version's year was never set.
    const EARLIEST_MS: i64 = 1_767_225_600_000;
    /// `STA_UNSYNC`
    const UNSYNCHRONIZED: i32 = 0x0040;
    let now = SystemClock.now();
    if now.ms() < EARLIEST_MS {
        return checks.fail(NAME, format!("it says {}", now.iso()), "set it: timers and leases go by it");
    }
    // SAFETY: all zeros ask without changing anything.
    let (state, status) = unsafe {
        let mut asked: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&raw mut asked), asked.status)
    };
    if state < 0 || status & UNSYNCHRONIZED != 0 {
        checks.warn(
            NAME,
            format!("it says {}; nothing keeps it right", now.iso()),
            "run a time service (chrony, systemd-timesyncd) on this machine or its host",
        );
    } else {
        checks.ok(NAME, format!("it says {}, and is kept right", now.iso()));
    }
}

fn descriptors(checks: &mut Checks) {
    const NAME: &str = "open files";
    const MEND: &str = "raise the limit: `ulimit -n 65536`, or LimitNOFILE=65536 of the systemd unit";
    match http::raise_descriptors() {
        Ok(Descriptors { all, .. }) if all < DESCRIPTORS_MIN => {
            checks.fail(NAME, format!("a process may have {all}, and a server needs {DESCRIPTORS_MIN} at least"), MEND);
        }
        Ok(Descriptors { for_connections, .. }) if for_connections < CONNECTIONS_FEW => {
            checks.warn(NAME, format!("a process may have so few that {for_connections} are left for connections"), MEND);
        }
        Ok(Descriptors { for_connections, .. }) => checks.ok(NAME, format!("{for_connections} are left for connections")),
        Err(error) => checks.warn(NAME, format!("the limit is not known: {error}"), "look at it yourself: `ulimit -n`"),
    }
}

#[expect(clippy::print_stdout, reason = "what was found is what was asked for")]
fn print(checks: &[Check], json: bool) {
    let failed = checks.iter().filter(|c| c.status == Status::Failed).count();
    if json {
        println!("{:#}", serde_json::json!({ "ok": failed == 0, "checks": checks }));
        return;
    }
    for check in checks {
        let mark = match check.status {
            Status::Ok => "ok  ",
            Status::Warning => "warn",
            Status::Failed => "FAIL",
        };
        println!("{mark} {}: {}", check.name, check.found);
        if let Some(mend) = &check.mend {
            println!("     → {mend}");
        }
    }
    let warnings = checks.iter().filter(|c| c.status == Status::Warning).count();
    println!("{} checks: {failed} failed, {warnings} warnings", checks.len());
}
