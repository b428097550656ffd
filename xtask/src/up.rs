//! `cargo xtask up`: a running platform with an example source and workflow, and what to try next.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::{build, root};

const DATA_DIR: &str = ".millrace";

/// Ends the server with this process, whatever happens.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn up() -> Result<()> {
    build()?;
    let root = root();
    let binary = root.join("target/debug/millrace");
    let listen = std::env::var("MILLRACE_LISTEN").unwrap_or_else(|_| "127.0.0.1:8787".into());
    let child = Command::new(&binary)
        .args(["serve", "--data-dir", DATA_DIR, "--listen", &listen])
        .current_dir(&root)
        .stdin(Stdio::null())
        .spawn()
        .context("could not start the server")?;
    let mut server = Server(child);
    let url = format!("http://{listen}");
    wait_until_ready(&mut server.0, &root, &url)?;
    let client = Client { binary: &binary, root: &root, key: credential(&root, "api_key")?, url: url.clone() };
    if !client.run(&["list", "sources"])?.contains("new-requests") {
        client.run(&["deploy", "components/http/sources/new-requests/new-requests.mjs"])?;
    }
    client.run(&["workflows", "deploy", "components/workflows/hello/workflow.json"])?;
    client.run(&["workflows", "deploy", "components/workflows/error-handler/workflow.json"])?;
    let handler = field(&client.run(&["describe", "error-handler"])?, "id: ")?;
    client.run(&["subscribe", &credential(&root, "org_id")?, &handler, "$errors"])?;
    let hello = between(&client.run(&["describe", "hello"])?, "\"endpoint_url\":\"", "\"")?;
    let source = between(&client.run(&["describe", "new-requests"])?, "\"endpoint_url\":\"", "\"")?;
    println!("\nMillrace runs at {url}; its data is in {DATA_DIR}/. Try, in another terminal:\n");
    println!("  export MILLRACE_URL={url} MILLRACE_API_KEY=$(node -p 'require(\"./{DATA_DIR}/credentials.json\").api_key')\n");
    println!("  curl '{hello}?name=Ada'                 # a workflow answers");
    println!("  curl '{hello}?fail'                     # a step throws; see what becomes of it:");
    println!("  target/debug/millrace errors hello          #   the error and its event");
    println!("  target/debug/millrace logs error-handler    #   its listener ran");
    println!("  target/debug/millrace mail                  #   the owner's mailbox");
    println!("  curl {source}/anything -d 'x=1'     # a source emits");
    println!("  target/debug/millrace events -f new-requests\n");
    println!("Ctrl-C ends it.");
    let status = server.0.wait()?;
    if status.success() { Ok(()) } else { bail!("the server ended with {status}") }
}

fn wait_until_ready(server: &mut Child, root: &Path, url: &str) -> Result<()> {
    let address = url.trim_start_matches("http://");
    let deadline = Instant::now() + Duration::from_secs(30);
    while Instant::now() < deadline {
        if let Some(status) = server.try_wait()? {
            bail!("the server ended with {status}");
        }
        if std::net::TcpStream::connect(address).is_ok() && root.join(DATA_DIR).join("credentials.json").exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("the server did not become ready at {url}")
}

struct Client<'a> {
    binary: &'a Path,
    root: &'a Path,
    key: String,
    url: String,
}

impl Client<'_> {
    fn run(&self, args: &[&str]) -> Result<String> {
        let output = Command::new(self.binary)
            .args(args)
            .current_dir(self.root)
            .env("MILLRACE_URL", &self.url)
            .env("MILLRACE_API_KEY", &self.key)
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            bail!("`millrace {}` failed", args.join(" "));
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

fn credential(root: &Path, name: &str) -> Result<String> {
    let text = std::fs::read_to_string(root.join(DATA_DIR).join("credentials.json"))?;
    between(&text, &format!("\"{name}\": \""), "\"")
}

fn between(text: &str, start: &str, end: &str) -> Result<String> {
    let found = text.split_once(start).and_then(|(_, rest)| rest.split_once(end)).map(|(found, _)| found.to_owned());
    found.with_context(|| format!("`{start}` was not found in an answer of the server"))
}

fn field(text: &str, name: &str) -> Result<String> {
    text.lines().find_map(|l| l.strip_prefix(name)).map(str::to_owned).with_context(|| format!("`{name}` was not found in an answer of the server"))
}
