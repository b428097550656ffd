//! `cargo xtask up`: a running platform with an example source and workflow, and what to try next.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use crate::{Profile, build, root};

const DATA_DIR: &str = ".millrace";
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// The server drains for at most 20 s.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// Builds, starts, deploys, explains; stays until Ctrl-C or SIGTERM.
pub fn up(profile: Profile) -> Result<()> {
    build(profile)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("could not start")?;
    runtime.block_on(stay(profile))
}

async fn stay(profile: Profile) -> Result<()> {
    let root = root();
    let binary = profile.program("millrace");
    let listen = std::env::var("MILLRACE_LISTEN").unwrap_or_else(|_| "127.0.0.1:8787".into());
    // From here on a signal is for the server first, and then for us.
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut server = Server::start(&binary, &root, &listen)?;
    server.wait_until_ready(&listen)?;
    let client = Client::new(binary, &root)?;
    let try_next = client.deploy_examples()?;
    println!("{try_next}");
    loop {
        tokio::select! {
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            () = tokio::time::sleep(POLL * 4) => {
                if let Some(status) = server.ended()? {
                    bail!("the server ended with {status}");
                }
            }
        }
    }
    server.stop().await
}

/// The server; ends with this process, whatever happens.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    fn start(binary: &Path, root: &Path, listen: &str) -> Result<Self> {
        let mut command = Command::new(binary);
        command
            .args(["serve", "--data-dir", DATA_DIR, "--listen", listen])
            .current_dir(root)
            .stdin(Stdio::null());
        Ok(Self(
            command.spawn().with_context(|| format!("could not start `{}`", binary.display()))?,
        ))
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.0.try_wait().context("could not look after the server")
    }

    fn wait_until_ready(&mut self, listen: &str) -> Result<()> {
        let deadline = Instant::now() + READY_TIMEOUT;
        while Instant::now() < deadline {
            std::thread::sleep(POLL);
            if let Some(status) = self.ended()? {
                bail!(
                    "the server ended with {status}; MILLRACE_LISTEN=127.0.0.1:PORT chooses another address"
                );
            }
            if is_ready(listen) {
                return Ok(());
            }
        }
        bail!("the server was not ready at http://{listen} after {} s", READY_TIMEOUT.as_secs())
    }

    /// Asks the server to drain and end. After Ctrl-C on a terminal it knows already.
    async fn stop(mut self) -> Result<()> {
        let asked = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status();
        asked.context("could not start `kill`")?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        while Instant::now() < deadline {
            match self.ended()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => bail!("the server ended with {status}"),
                None => tokio::time::sleep(POLL).await,
            }
        }
        bail!("the server did not end within {} s and was killed", STOP_TIMEOUT.as_secs())
    }
}

/// Whether `/readyz` answers 200.
fn is_ready(listen: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(listen)?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(
            format!("GET /readyz HTTP/1.1\r\nhost: {listen}\r\nconnection: close\r\n\r\n")
                .as_bytes(),
        )?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        Ok(&status == b"HTTP/1.1 200")
    };
    ask().unwrap_or(false)
}

/// The command line that was built, with the key of the first start.
struct Client<'a> {
    binary: PathBuf,
    root: &'a Path,
    credentials: Value,
}

impl<'a> Client<'a> {
    fn new(binary: PathBuf, root: &'a Path) -> Result<Self> {
        let path = root.join(DATA_DIR).join("credentials.json");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("could not read `{}`", path.display()))?;
        let credentials =
            text.parse::<Value>().with_context(|| format!("`{}` is not JSON", path.display()))?;
        Ok(Self { binary, root, credentials })
    }

    fn credential(&self, name: &str) -> Result<&str> {
        self.credentials[name]
            .as_str()
            .with_context(|| format!("`{DATA_DIR}/credentials.json` has no `{name}`"))
    }

    /// What a command prints.
    fn run(&self, args: &[&str]) -> Result<Value> {
        let output = Command::new(&self.binary)
            .arg("--json")
            .args(args)
            .current_dir(self.root)
            .env("MILLRACE_URL", self.credential("url")?)
            .env("MILLRACE_API_KEY", self.credential("api_key")?)
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("could not start `{}`", self.binary.display()))?;
        if !output.status.success() {
            bail!("`millrace {}` failed", args.join(" "));
        }
        String::from_utf8_lossy(&output.stdout)
            .parse()
            .with_context(|| format!("`millrace {}` did not print JSON", args.join(" ")))
    }

    /// Deploys what is not there yet, updates what is; says what to try.
    fn deploy_examples(&self) -> Result<String> {
        const SOURCE: &str = "components/http/sources/new-requests/new-requests.mjs";
        let sources = self.run(&["list", "sources"])?;
        let is_there =
            sources.as_array().is_some_and(|s| s.iter().any(|s| s["name_slug"] == "new-requests"));
        let source = if is_there {
            self.run(&["update", "new-requests", "--code", SOURCE])?
        } else {
            self.run(&["deploy", SOURCE])?
        };
        let hello =
            self.run(&["workflows", "deploy", "components/workflows/hello/workflow.json"])?;
        let handler =
            self.run(&["workflows", "deploy", "components/workflows/error-handler/workflow.json"])?;
        let handler = handler["id"].as_str().context("the error handler has no id")?;
        self.run(&["subscriptions", "add", self.credential("org_id")?, handler, "$errors"])?;
        let endpoint = |record: &Value| record["endpoint_url"].as_str().map(str::to_owned);
        let hello = hello["triggers"]
            .as_array()
            .into_iter()
            .flatten()
            .find_map(endpoint)
            .context("the workflow has no endpoint")?;
        let source =
            endpoint(&source["configured_props"]["http"]).context("the source has no endpoint")?;
        self.try_next(&hello, &source)
    }

    fn try_next(&self, hello: &str, source: &str) -> Result<String> {
        let millrace = self.binary.strip_prefix(self.root).unwrap_or(&self.binary).display();
        Ok(format!(
            "
Millrace runs at {url}; its data is in {DATA_DIR}/. Try, in another terminal here:

  export MILLRACE_URL={url} MILLRACE_API_KEY=$(node -p 'require(\"./{DATA_DIR}/credentials.json\").api_key')

  curl '{hello}?name=Ada'       # a workflow answers
  curl '{hello}?fail=1'         # a step throws; see what becomes of it:
  {millrace} errors hello          #   the error and the event that caused it
  {millrace} logs error-handler    #   its listener ran
  {millrace} mail                  #   the owner's mailbox

  curl '{source}/any/path' -d 'x=1'      # a source emits the request
  {millrace} events new-requests

Ctrl-C ends it.",
            url = self.credential("url")?
        ))
    }
}
