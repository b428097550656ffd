//! Bundling in a process of its own: what the server asks, and what the process answers, as JSON over its pipes.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use millrace_model::egress::Policy;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::process::Command;

use crate::{Bundle, BundleError, BundleRequest, Bundler, BundlerConfig};

/// How long one bundle may take, downloads of its packages included.
const TIMEOUT: Duration = Duration::from_secs(180);
/// Settings of the server hold secrets that bundling has no use for.
const SERVER_SETTINGS: &str = "MILLRACE_";

/// How a process is started that calls [`work`] with its standard input and output.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Question {
    cache_dir: PathBuf,
    registry_url: String,
    metadata_max_age: Duration,
    egress: Policy,
    request: BundleRequest,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Bundle(Bundle),
    Refused(BundleError),
    /// Ours to mend.
    Failed(String),
}

impl WorkerCommand {
    pub(crate) async fn bundle(&self, config: &BundlerConfig, request: BundleRequest) -> Result<Bundle, BundleError> {
        let question = Question {
            cache_dir: config.cache_dir.clone(),
            registry_url: config.registry_url.clone(),
            metadata_max_age: config.metadata_max_age,
            egress: Policy::clone(&config.egress.get()),
            request,
        };
        let question = serde_json::to_vec(&question).map_err(|e| failed("could not ask the bundler", e))?;
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with(SERVER_SETTINGS)) {
            command.env_remove(name);
        }
        let mut process = command.spawn().map_err(|e| failed("could not start the bundler", e))?;
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        let (Some(mut stdin), Some(mut stdout)) = (stdin, stdout) else { return Err(failed("could not start the bundler", "it has no pipes")) };
        let talk = async {
            // A process that ends early is seen by its answer.
            let _ = stdin.write_all(&question).await;
            drop(stdin);
            let mut answer = Vec::new();
            let read = stdout.read_to_end(&mut answer).await;
            let status = process.wait().await;
            read.and(status).map(|status| (answer, status))
        };
        let Ok(talked) = tokio::time::timeout(TIMEOUT, talk).await else {
            return Err(BundleError::Build { text: format!("it took longer than {} s, the limit; import fewer packages", TIMEOUT.as_secs()) });
        };
        let (answer, status) = talked.map_err(|e| failed("could not hear the bundler", e))?;
        if !status.success() {
            return Err(BundleError::Build { text: format!("the bundler broke down over it ({status}): is something in it nested thousands of levels deep?") });
        }
        match serde_json::from_slice(&answer).map_err(|e| failed("could not understand the bundler", e))? {
            Answer::Bundle(bundle) => Ok(bundle),
            Answer::Refused(error) => Err(error),
            Answer::Failed(why) => Err(failed("the bundler failed", why)),
        }
    }
}

/// The process's side: reads one question, bundles, answers. The platform's modules are those of the process.
pub async fn work(
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    platform_modules: &'static [(&'static str, &'static str)],
) -> Result<(), BundleError> {
    let mut question = Vec::new();
    input.read_to_end(&mut question).await.map_err(|e| failed("could not hear the server", e))?;
    let Question { cache_dir, registry_url, metadata_max_age, egress, request } =
        serde_json::from_slice(&question).map_err(|e| failed("could not understand the server", e))?;
    let bundled = match Bundler::here(BundlerConfig { cache_dir, registry_url, metadata_max_age, platform_modules, egress: egress.into() }) {
        Ok(bundler) => bundler.bundle(request).await,
        Err(error) => Err(error),
    };
    let answer = match bundled {
        Ok(bundle) => Answer::Bundle(bundle),
        Err(BundleError::Internal { what, source }) => Answer::Failed(format!("{what}: {source}")),
        Err(error) => Answer::Refused(error),
    };
    let answer = serde_json::to_vec(&answer).map_err(|e| failed("could not answer the server", e))?;
    output.write_all(&answer).await.map_err(|e| failed("could not answer the server", e))?;
    output.flush().await.map_err(|e| failed("could not answer the server", e))
}

fn failed(what: &'static str, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> BundleError {
    BundleError::Internal { what, source: why.into() }
}
