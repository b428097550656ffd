//! Bundling in a process of its own: what the server asks, and what the process answers, as JSON over its pipes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use millrace_model::egress::Policy;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::process::Command;

use crate::extract::{self, ComponentFacts};
use crate::{Bundle, BundleError, BundleRequest, Bundler, BundlerConfig, Index};

/// How long one bundle may take, downloads of its packages included.
const TIMEOUT: Duration = Duration::from_secs(180);
/// Of a thread that parses. Only addresses are reserved, not memory.
const STACK_BYTES: usize = 256 << 20;
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
    job: Job,
}

/// Whatever parses strangers' code.
#[derive(Serialize, Deserialize)]
enum Job {
    Bundle(BundleRequest),
    Index(BTreeMap<String, String>, Option<Index>),
    Facts(BTreeMap<String, String>, String),
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Bundle(Bundle),
    Index(Index),
    Facts(Box<Option<ComponentFacts>>),
    Refused(BundleError),
    /// Ours to mend.
    Failed(String),
}

impl WorkerCommand {
    pub(crate) async fn bundle(&self, config: &BundlerConfig, request: BundleRequest) -> Result<Bundle, BundleError> {
        match self.ask(config, Job::Bundle(request)).await? {
            Answer::Bundle(bundle) => Ok(bundle),
            _ => Err(failed("could not understand the bundler", "it answered something else")),
        }
    }

    pub(crate) async fn index(&self, config: &BundlerConfig, files: BTreeMap<String, String>, earlier: Option<Index>) -> Result<Index, BundleError> {
        match self.ask(config, Job::Index(files, earlier)).await? {
            Answer::Index(index) => Ok(index),
            _ => Err(failed("could not understand the bundler", "it answered something else")),
        }
    }

    pub(crate) async fn facts(&self, config: &BundlerConfig, files: BTreeMap<String, String>, path: String) -> Result<Option<ComponentFacts>, BundleError> {
        match self.ask(config, Job::Facts(files, path)).await? {
            Answer::Facts(facts) => Ok(*facts),
            _ => Err(failed("could not understand the bundler", "it answered something else")),
        }
    }

    async fn ask(&self, config: &BundlerConfig, job: Job) -> Result<Answer, BundleError> {
        let question = Question {
            cache_dir: config.cache_dir.clone(),
            registry_url: config.registry_url.clone(),
            metadata_max_age: config.metadata_max_age,
            egress: Policy::clone(&config.egress.get()),
            job,
        };
        let question = serde_json::to_vec(&question).map_err(|e| failed("could not ask the bundler", e))?;
        let (mut answer, mut status) = self.talk(&question).await?;
        if !status.success() {
            // What it was given breaks it each time; what is the machine's, or a race of its threads, hardly twice.
            tracing::warn!(%status, "the bundler's process broke down; it is asked once more");
            (answer, status) = self.talk(&question).await?;
        }
        if !status.success() {
            return Err(BundleError::Build { text: format!("the bundler broke down over it ({status}): is something in it nested thousands of levels deep?") });
        }
        match serde_json::from_slice(&answer).map_err(|e| failed("could not understand the bundler", e))? {
            Answer::Refused(error) => Err(error),
            Answer::Failed(why) => Err(failed("the bundler failed", why)),
            answer => Ok(answer),
        }
    }

    /// Asks a process, and waits for its end.
    async fn talk(&self, question: &[u8]) -> Result<(Vec<u8>, ExitStatus), BundleError> {
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
            let _ = stdin.write_all(question).await;
            drop(stdin);
            let mut answer = Vec::new();
            let read = stdout.read_to_end(&mut answer).await;
            let status = process.wait().await;
            read.and(status).map(|status| (answer, status))
        };
        let Ok(talked) = tokio::time::timeout(TIMEOUT, talk).await else {
            return Err(BundleError::Build { text: format!("it took longer than {} s, the limit; import fewer packages", TIMEOUT.as_secs()) });
        };
        talked.map_err(|e| failed("could not hear the bundler", e))
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
    let Question { cache_dir, registry_url, metadata_max_age, egress, job } =
        serde_json::from_slice(&question).map_err(|e| failed("could not understand the server", e))?;
    let config = BundlerConfig { cache_dir, registry_url, metadata_max_age, platform_modules, egress: egress.into() };
    let done = match job {
        Job::Bundle(request) => match Bundler::here(config) {
            Ok(bundler) => bundler.bundle(request).await.map(Answer::Bundle),
            Err(error) => Err(error),
        },
        Job::Index(files, earlier) => on_a_deep_stack(move || Index::of(&files, earlier.as_ref())).map(Answer::Index),
        Job::Facts(files, path) => on_a_deep_stack(move || extract::component(&files, &path)).map(|facts| Answer::Facts(Box::new(facts))),
    };
    let answer = match done {
        Ok(answer) => answer,
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

/// The parser calls itself once per level of nesting. The process has nothing else to do meanwhile.
fn on_a_deep_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, BundleError> {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).map_err(|e| failed("could not start a thread", e))?;
    thread.join().map_err(|_| failed("the reading broke down", "a thread panicked"))
}
