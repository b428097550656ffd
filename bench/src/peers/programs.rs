//! The programs of others: how each is installed, set up and started.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;

use crate::load;

/// How long one may take until it answers.
const READY: Duration = Duration::from_secs(180);
/// Node as npm's package `node` brings it, for those that ask for a newer one than the machine's.
const NEWER_NODE: &str = "node_modules/node/bin/node";

/// A platform of others, or what bounds them all.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) keeps: &'static str,
    /// Its folder in `bench/peers`, with its `package.json`.
    folder: &'static str,
    start: fn(&Place) -> Started,
}

/// Its processes, the first of which is the platform, and where it answers.
type Started = Result<(Vec<Child>, String)>;

/// The name of what bounds them all.
pub(super) const BARE: &str = "Node alone";

pub(super) const KINDS: &[Kind] = &[
    Kind { name: "Node-RED 4.1", keeps: "nothing", folder: "node-red", start: node_red },
    Kind {
        name: "Restate 1.7",
        keeps: "every run and its step, in a log of its own",
        folder: "restate",
        start: restate,
    },
    Kind {
        name: BARE,
        keeps: "nothing: no platform, what bounds them all",
        folder: "bare",
        start: bare,
    },
];

/// Where one is installed, and where it keeps what it has; both new for each run but for what npm
/// installed.
struct Place {
    installed: PathBuf,
    data: tempfile::TempDir,
    log: PathBuf,
}

/// One that runs; ended when dropped.
pub(super) struct Program {
    children: Vec<Child>,
    pub(super) url: String,
    place: Place,
}

impl Program {
    /// Installs it where that was not done, starts it, and waits until it answers as it should.
    pub(super) async fn start(kind: &Kind) -> Result<Self> {
        let installed = install(kind.folder)?;
        let data = tempfile::tempdir()?;
        let log = std::env::temp_dir().join(format!("millrace-bench-{}.log", kind.folder));
        let place = Place { installed, data, log };
        let (children, url) = (kind.start)(&place)?;
        let program = Self { children, url, place };
        if kind.folder == "restate" {
            register(&program.url).await?;
        }
        let deadline = Instant::now() + READY;
        loop {
            match load::check(&program.url).await {
                Ok(()) => return Ok(program),
                Err(error) if Instant::now() > deadline => {
                    return Err(error.context(format!(
                        "it does not answer; see {}",
                        program.place.log.display()
                    )));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It may be gone already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A copy of its folder below `target`, with its packages.
fn install(folder: &str) -> Result<PathBuf> {
    let from = Path::new("bench/peers").join(folder);
    let to = std::path::absolute("target/bench-peers")?.join(folder);
    std::fs::create_dir_all(&to)?;
    for entry in std::fs::read_dir(&from).with_context(|| {
        format!("could not read `{}`; run from the root of the checkout", from.display())
    })? {
        let entry = entry?;
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    if to.join("package.json").exists() {
        let status = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(&to)
            .stdout(Stdio::null())
            .status();
        ensure!(
            status.context("could not start `npm`")?.success(),
            "`npm install` failed in `{}`",
            to.display()
        );
    }
    Ok(to)
}

impl Place {
    fn spawn(&self, program: &str, args: &[&str], env: &[(&str, String)]) -> Result<Child> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(&self.log)?;
        // A path of the package, or a program of the machine.
        let program = if program.contains('/') {
            self.installed.join(program)
        } else {
            PathBuf::from(program)
        };
        let mut command = Command::new(&program);
        command
            .args(args)
            .envs(env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.installed);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        command.spawn().with_context(|| format!("could not start `{}`", program.display()))
    }

    fn data(&self) -> String {
        self.data.path().display().to_string()
    }
}

/// A port that nobody listens on.
fn port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn bare(place: &Place) -> Started {
    let port = port()?;
    let child = place.spawn("node", &["server.mjs"], &[("PORT", port.to_string())])?;
    Ok((vec![child], format!("http://127.0.0.1:{port}/")))
}

fn node_red(place: &Place) -> Started {
    let port = port()?;
    for file in ["settings.js", "flows.json"] {
        std::fs::copy(place.installed.join(file), place.data.path().join(file))?;
    }
    let child = place.spawn(
        "node",
        &["node_modules/node-red/red.js", "--userDir", &place.data()],
        &[("PORT", port.to_string())],
    )?;
    Ok((vec![child], format!("http://127.0.0.1:{port}/hook")))
}

/// Its server, and the process that runs the code.
fn restate(place: &Place) -> Started {
    // Next to each other, so that `register` knows the others from the first.
    let ingress = (0..100).find_map(|_| {
        port().ok().filter(|p| (1..4).all(|n| TcpListener::bind(("127.0.0.1", p + n)).is_ok()))
    });
    let ingress = ingress.context("no four free ports next to each other")?;
    let [admin, node, service] = [1, 2, 3].map(|n| ingress + n);
    let code = place.spawn(NEWER_NODE, &["service.mjs"], &[("PORT", service.to_string())])?;
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => bail!("npm has no Restate for {other}"),
    };
    let env = [
        ("RESTATE_INGRESS__BIND_ADDRESS", format!("127.0.0.1:{ingress}")),
        ("RESTATE_ADMIN__BIND_ADDRESS", format!("127.0.0.1:{admin}")),
        ("RESTATE_BIND_ADDRESS", format!("127.0.0.1:{node}")),
        ("RESTATE_DISABLE_TELEMETRY", "true".to_owned()),
    ];
    let binary =
        format!("node_modules/@restatedev/restate-server-linux-{machine}/bin/restate-server");
    let server = place.spawn(
        &binary,
        &["--listen-mode", "tcp", "--no-logo", "--base-dir", &place.data()],
        &env,
    )?;
    Ok((vec![server, code], format!("http://127.0.0.1:{ingress}/bench/hook")))
}

/// Tells Restate where the code is, once it listens.
async fn register(url: &str) -> Result<()> {
    let ingress: u16 =
        url.split(':').nth(2).and_then(|rest| rest.split('/').next()).context("a port")?.parse()?;
    let (http, deadline) = (reqwest::Client::new(), Instant::now() + READY);
    loop {
        let body = json!({ "uri": format!("http://127.0.0.1:{}", ingress + 3) });
        match http
            .post(format!("http://127.0.0.1:{}/deployments", ingress + 1))
            .json(&body)
            .send()
            .await
        {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            _ if Instant::now() > deadline => bail!("it does not take the service"),
            _ => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}
