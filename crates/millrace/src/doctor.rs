//! `millrace doctor`: checks a server's needs, and says what to fix. It changes nothing, also
//! where a server runs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use millrace_api::{Check, CheckStatus, Look};
use millrace_bundle::Kernel;
use millrace_cli::escaped;
use millrace_engine::{check_smtp, error_chain};
use millrace_model::egress::{Allow, Policy, Shared, Target};
use millrace_model::{Clock as _, SystemClock};
use millrace_runner::{RunnerConfig, Shortage, StartError, WebSocketGlobal, examine};
use millrace_store_postgres::PostgresOptions;

use crate::config::{Config, Sandbox, ServeArgs};
use crate::egress::Surroundings;
use crate::http::{self, DESCRIPTORS_MIN, Descriptors};
use crate::outside;
use crate::serve;
use crate::storage;
use crate::tls;

/// How long somebody else's server may take.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Fewer connections than this are few.
const CONNECTIONS_FEW: u64 = 2_048;

#[derive(Debug, Default)]
pub(crate) struct Checks(Vec<Check>);

impl Checks {
    pub(crate) fn ok(&mut self, name: &'static str, found: impl Into<String>) {
        self.0.push(Check { name, status: CheckStatus::Ok, found: found.into(), mend: None });
    }

    pub(crate) fn warn(
        &mut self,
        name: &'static str,
        found: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.0.push(Check {
            name,
            status: CheckStatus::Warning,
            found: found.into(),
            mend: Some(mend.into()),
        });
    }

    pub(crate) fn fail(
        &mut self,
        name: &'static str,
        found: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.0.push(Check {
            name,
            status: CheckStatus::Failed,
            found: found.into(),
            mend: Some(mend.into()),
        });
    }
}

/// Looks at everything and prints it. Success where nothing failed.
pub async fn doctor(args: ServeArgs, json: bool) -> ExitCode {
    let mut checks = Checks::default();
    match Config::read(args) {
        Ok(config) => look(&config, &mut checks).await,
        Err(error) => checks.fail(
            "configuration",
            format!("{error:#}"),
            "fix the flag, the variable or the line of millrace.toml that it names",
        ),
    }
    print(&checks.0, json);
    if checks.0.iter().any(|c| c.status == CheckStatus::Failed) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// What a server that runs looks at when it is asked.
pub(crate) fn look_of(config: &Arc<Config>) -> Look {
    let config = Arc::clone(config);
    Box::new(move || {
        let config = Arc::clone(&config);
        Box::pin(async move {
            let mut checks = Checks::default();
            look(&config, &mut checks).await;
            checks.0
        })
    })
}

async fn look(config: &Config, checks: &mut Checks) {
    checks.ok("configuration", "it can be read");
    user(&config.data_dir, checks);
    let is_running = storage::look(config, checks).await;
    walls(config, checks).await;
    egress(config, checks).await;
    mail(config, checks).await;
    outside::look(config, checks).await;
    metrics(config, is_running, checks).await;
    listen(config, is_running, checks).await;
    encryption(config, checks);
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
            format!("run it as that user, `sudo -u '#{owner}' millrace doctor ...`: to root the walls and bundling fail at a folder that is closed to others"),
        ),
        0 => checks.warn("user", "this is root", "run the server as a user of its own: root is needed for nothing, and makes each mistake a large one"),
        id => checks.ok("user", format!("an ordinary user ({id})")),
    }
}

async fn walls(config: &Config, checks: &mut Checks) {
    let scratch_dir =
        if config.data_dir.is_dir() { config.data_dir.clone() } else { std::env::temp_dir() };
    let runner = RunnerConfig { node: config.node.clone(), scratch_dir, ..RunnerConfig::default() };
    let found = match examine(&runner).await {
        Ok(found) => found,
        Err(error @ StartError::Scratch { .. }) => {
            return checks.fail(
                "walls",
                error_chain(&error),
                "let the server's user write there: the walls are tried in it",
            );
        }
        Err(error) => {
            return checks.fail(
                "node",
                error_chain(&error),
                "install Node.js 20 or newer, or name its binary with --node",
            );
        }
    };
    let node = format!("{} at {}", found.version, found.node);
    match WebSocketGlobal::of(&found.version) {
        WebSocketGlobal::Missing => checks.warn(
            "node",
            format!("{node} has no `WebSocket`, which some packages need"),
            "use Node 20.10 or newer",
        ),
        WebSocketGlobal::Present | WebSocketGlobal::BehindFlag(_) => checks.ok("node", node),
    }
    let is_required = config.sandbox == Sandbox::Required;
    for tried in found.tried {
        let name = match tried.wall {
            "all together" => "walls",
            _ => "wall",
        };
        match tried.failed {
            // As a start says it: what Landlock keeps in depends on its version.
            None if name == "walls" => checks.ok(name, format!("{}: {}", tried.wall, found.walls)),
            None => checks.ok(name, format!("{}: it holds", tried.wall)),
            Some(why) if let Some(shortage) = tried.shortage => {
                checks.fail(name, format!("{}: {why}", tried.wall), shortage.to_string())
            }
            Some(why) => {
                let mend = "docs/operate/hardening.md says what each wall needs; --sandbox=best-effort does without it, where every component is trusted";
                let said = format!("{}: {why}", tried.wall);
                if is_required {
                    checks.fail(name, said, mend)
                } else {
                    checks.warn(name, said, mend)
                }
            }
        }
    }
    let bundling = tried_bundling(config, &runner.scratch_dir, found.walls.kernel()).await;
    match bundling {
        Ok(()) => checks.ok(
            "bundling",
            format!("{}, limits of memory, time and files: they hold", found.walls.kernel()),
        ),
        Err(why) if let Some((_, shortage)) = Shortage::of_words(&why) => {
            checks.fail("bundling", format!("it could not be tried: {why}"), shortage.to_string())
        }
        Err(why) => {
            let mend = "docs/operate/hardening.md says what each wall needs; --sandbox=best-effort does without it, where every component is trusted";
            if is_required {
                checks.fail("bundling", why, mend)
            } else {
                checks.warn("bundling", why, mend)
            }
        }
    }
    // They are an addition: where there are none, the other limits stand.
    let groups = match found.groups.as_slice() {
        [] => "none can be made by this process; systemd gives a service its own with Delegate=yes"
            .to_owned(),
        given => format!("each host gets one, with limits of {}", given.join(", ")),
    };
    checks.ok("control groups", groups);
    match config.sandbox {
        Sandbox::Required => {}
        Sandbox::BestEffort => checks.warn(
            "walls",
            "--sandbox=best-effort: a server starts also where walls are missing",
            "leave it out where all walls hold",
        ),
        Sandbox::Off => checks.warn(
            "walls",
            "--sandbox=off: no walls are put up",
            "leave it out, unless every component is trusted",
        ),
    }
}

/// Lets processes that bundle try to get out, with a cache that goes again.
async fn tried_bundling(config: &Config, scratch_dir: &Path, walls: Kernel) -> Result<(), String> {
    let cache = tempfile::Builder::new()
        .prefix("doctor-")
        .tempdir_in(scratch_dir)
        .map_err(|e| format!("no folder can be made: {e}"))?;
    let cache_dir =
        cache.path().canonicalize().map_err(|e| format!("a folder cannot be found: {e}"))?;
    serve::bundler(config, "", cache_dir, Shared::default(), walls, None).try_walls().await
}

async fn egress(config: &Config, checks: &mut Checks) {
    const NAME: &str = "egress";
    let database = config
        .database_url
        .as_ref()
        .map(|url| PostgresOptions::at(url).hosts())
        .unwrap_or_default();
    let policy = Surroundings::new(config.egress_allow.clone(), database).look().await;
    for (name, _) in policy.named.iter().filter(|(_, found)| found.is_empty()) {
        checks.warn(
            NAME,
            format!("the name `{name}` of --egress-allow leads nowhere"),
            "fix the name, or the resolver that should know it; until then it stays closed",
        );
    }
    for allow in config.egress_allow.iter().filter(|allow| is_wide(allow)) {
        checks.warn(
            NAME,
            format!(
                "--egress-allow {allow} opens this machine or a whole network to every component"
            ),
            "name the addresses and ports that are needed, such as 10.1.2.3:5432",
        );
    }
    for allow in config.egress_allow.iter().filter(|allow| opens_metadata(allow, &policy)) {
        checks.warn(
            NAME,
            format!("--egress-allow {allow} opens addresses at which a cloud gives the keys of this machine (169.254.169.254 and the like) to every component"),
            "name the addresses and ports that are needed, and none of 169.254.0.0/16 or fd00:ec2::254",
        );
    }
    if config.sandbox == Sandbox::Off {
        return checks.warn(
            NAME,
            "--sandbox=off: components reach everything that this machine does, itself and its database too",
            "leave it out, unless every component is trusted",
        );
    }
    let resolvers: Vec<String> = policy.resolvers.iter().map(ToString::to_string).collect();
    let opened: Vec<String> = config.egress_allow.iter().map(ToString::to_string).collect();
    let opened = if opened.is_empty() { "nothing else".to_owned() } else { opened.join(", ") };
    checks.ok(
        NAME,
        format!(
            "components reach public addresses and {opened}; names are asked of {}",
            resolvers.join(", ")
        ),
    );
}

/// Whether it leads to where clouds answer their machines. Names are asked there too, at port 53,
/// which is no harm.
fn opens_metadata(allow: &Allow, policy: &Policy) -> bool {
    /// Of AWS and of Google, by IPv6; of Alibaba.
    const OTHERS: [IpAddr; 3] = [
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
        IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
        IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    ];
    let link_local =
        |ip: &IpAddr| matches!(ip.to_canonical(), IpAddr::V4(v4) if v4.is_link_local());
    allow.port != Some(53)
        && match &allow.to {
            Target::Net { address, .. } => {
                link_local(address)
                    || allow.to.contains(Ipv4Addr::new(169, 254, 0, 0).into())
                    || OTHERS.iter().any(|ip| allow.to.contains(*ip))
            }
            Target::Name(name) => policy.named.get(name).is_some_and(|found| {
                found.iter().any(|ip| link_local(ip) || OTHERS.contains(&ip.to_canonical()))
            }),
        }
}

/// Loopback addresses without a port, or ranges that hold thousands of machines.
fn is_wide(allow: &Allow) -> bool {
    match &allow.to {
        Target::Net { address: IpAddr::V4(v4), bits } => {
            (v4.is_loopback() && allow.port.is_none())
                || (*bits < 16 && allow.port.is_none())
                || *bits == 0
        }
        Target::Net { address: IpAddr::V6(v6), bits } => {
            (v6.is_loopback() && allow.port.is_none())
                || (*bits < 48 && allow.port.is_none())
                || *bits == 0
        }
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
        Err(error) => checks.fail(
            NAME,
            format!("`{}` cannot be listened on: {error}", config.listen),
            "choose another with --listen ADDRESS:PORT",
        ),
    }
}

/// The address of their own that counts have, where they do.
fn encryption(config: &Config, checks: &mut Checks) {
    const NAME: &str = "TLS";
    let Some(files) = &config.tls else { return };
    match tls::acceptor(files.clone()) {
        Ok(_) => checks.ok(
            NAME,
            format!("the certificate `{}` and its key can be used", files.cert.display()),
        ),
        Err(error) => checks.fail(
            NAME,
            format!("{error:#}"),
            "name a certificate and its key, both PEM and readable for the server's user",
        ),
    }
}

async fn metrics(config: &Config, is_running: bool, checks: &mut Checks) {
    const NAME: &str = "metrics";
    let Some(address) = config.metrics_listen.as_ref().filter(|_| !is_running) else { return };
    match tokio::net::TcpListener::bind(address).await {
        Ok(_) => checks.ok(NAME, format!("`{address}` is free to listen on")),
        Err(error) => checks.fail(
            NAME,
            format!("`{address}` cannot be listened on: {error}"),
            "choose another with --metrics-listen ADDRESS:PORT",
        ),
    }
}

async fn base_url(config: &Config, is_running: bool, checks: &mut Checks) {
    const NAME: &str = "base URL";
    let Some(base) = &config.base_url else {
        return checks.ok(
            NAME,
            format!(
                "none is set: clients are told {}://{}",
                if config.tls.is_some() { "https" } else { "http" },
                config.listen
            ),
        );
    };
    let is_secure = base.starts_with("https://");
    let host =
        base.split("://").nth(1).and_then(|rest| rest.split(['/', ':']).next()).unwrap_or("");
    let is_local = host == "localhost" || host.starts_with("127.") || host.starts_with('[');
    if is_running {
        let client = reqwest::Client::builder().timeout(ANSWER_TIMEOUT).build();
        let answered = match client {
            Ok(client) => client
                .get(format!("{base}/healthz"))
                .send()
                .await
                .and_then(reqwest::Response::error_for_status)
                .map(drop)
                .map_err(|e| error_chain(&e)),
            Err(error) => Err(error_chain(&error)),
        };
        if let Err(why) = answered {
            return checks.fail(
                NAME,
                format!("`{base}` does not lead to the server: {why}"),
                "fix --base-url, or the proxy and the name that lead there",
            );
        }
    }
    if !is_secure && !is_local {
        return checks.warn(
            NAME,
            format!("`{base}` is not encrypted: keys and events can be read on the way"),
            "give the server a certificate (--tls-cert, --tls-key), or put a proxy that speaks TLS before it, and name its https:// address",
        );
    }
    checks.ok(
        NAME,
        if is_running {
            format!("`{base}` leads to the server")
        } else {
            format!("`{base}`; no server runs that could be asked there")
        },
    );
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
        return checks.fail(
            NAME,
            format!("it says {}", now.iso()),
            "set it: timers and leases go by it",
        );
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
    const MEND: &str =
        "raise the limit: `ulimit -n 65536`, or LimitNOFILE=65536 of the systemd unit";
    match http::raise_descriptors() {
        Ok(Descriptors { all, .. }) if all < DESCRIPTORS_MIN => {
            checks.fail(
                NAME,
                format!("a process may have {all}, and a server needs {DESCRIPTORS_MIN} at least"),
                MEND,
            );
        }
        Ok(Descriptors { for_connections, .. }) if for_connections < CONNECTIONS_FEW => {
            checks.warn(
                NAME,
                format!(
                    "a process may have so few that {for_connections} are left for connections"
                ),
                MEND,
            );
        }
        Ok(Descriptors { for_connections, .. }) => {
            checks.ok(NAME, format!("{for_connections} are left for connections"))
        }
        Err(error) => checks.warn(
            NAME,
            format!("the limit is not known: {error}"),
            "look at it yourself: `ulimit -n`",
        ),
    }
}

#[expect(clippy::print_stdout, reason = "what was found is what was asked for")]
fn print(checks: &[Check], json: bool) {
    let failed = checks.iter().filter(|c| c.status == CheckStatus::Failed).count();
    if json {
        println!(
            "{}",
            escaped(&format!("{:#}", serde_json::json!({ "ok": failed == 0, "checks": checks })))
        );
        return;
    }
    for check in checks {
        let mark = match check.status {
            CheckStatus::Ok => "ok  ",
            CheckStatus::Warning => "warn",
            CheckStatus::Failed => "FAIL",
        };
        println!("{mark} {}: {}", check.name, escaped(&check.found));
        if let Some(mend) = &check.mend {
            println!("     → {}", escaped(mend));
        }
    }
    let warnings = checks.iter().filter(|c| c.status == CheckStatus::Warning).count();
    println!("{} checks: {failed} failed, {warnings} warnings", checks.len());
}
