//! Bundling in processes of its own, which wall themselves in: one that reads code, and, where it
//! needs what is not in the cache, one that fetches. The server starts them, passes on what the
//! first asks of the second, and ends them where they take too much.

mod asker;
mod process;
mod started;
mod trial;
mod wire;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use millrace_walls::taken::Taken;
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub(crate) use self::asker::Asker;
pub use self::process::work;

use self::started::{Ended, Started};
use self::trial::Trial;
use self::wire::{Answer, Asked, Given, Job, Need, Question, Role, Said, failed, line};
use crate::extract::ComponentFacts;
use crate::unpack::remove_left;
use crate::{Bundle, BundleError, BundleRequest, BundlerConfig, Entry, Index, LockedPackage};

/// How often it is looked how much memory a process has.
const LOOK: Duration = Duration::from_millis(50);
/// Lines on their way to a process.
const LINES_MAX: usize = 16;
/// How long a process may take to show that its walls stand.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(30);

/// How a process is started that calls [`work`].
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// How a conversation ended.
enum End {
    Answered(Answer),
    BrokeDown(Ended),
}

/// What was heard of a process at last.
enum Heard {
    Answer(Answer),
    /// It ended.
    Nothing,
    /// The one that fetches for it ended.
    NothingOf(Box<Started>),
}

/// Processes whose memory is looked at: their numbers, and which is which.
type Looked = Mutex<Vec<(u32, Role)>>;

impl WorkerCommand {
    pub(crate) async fn bundle(
        &self,
        config: &BundlerConfig,
        request: BundleRequest,
    ) -> Result<Bundle, BundleError> {
        match self.ask(config, Job::Bundle(request)).await? {
            Answer::Bundle(bundle) => Ok(*bundle),
            _ => Err(misunderstood()),
        }
    }

    /// The index, and the files again: a tree may be too large to have it twice.
    pub(crate) async fn index(
        &self,
        config: &BundlerConfig,
        files: BTreeMap<String, String>,
        earlier: Option<Index>,
    ) -> Result<(Index, BTreeMap<String, String>), BundleError> {
        match self.ask_keeping(config, Job::Index(files, earlier)).await? {
            (Answer::Index(index), Job::Index(files, _)) => Ok((index, files)),
            _ => Err(misunderstood()),
        }
    }

    pub(crate) async fn facts(
        &self,
        config: &BundlerConfig,
        files: BTreeMap<String, String>,
        path: String,
    ) -> Result<Option<ComponentFacts>, BundleError> {
        match self.ask(config, Job::Facts(files, path)).await? {
            Answer::Facts(facts) => Ok(*facts),
            _ => Err(misunderstood()),
        }
    }

    /// Lets a process fetch packages into the store.
    pub(crate) async fn install(
        &self,
        config: &BundlerConfig,
        packages: Vec<(String, LockedPackage)>,
    ) -> Result<(), BundleError> {
        process::make_folders(&config.cache_dir)
            .map_err(|e| failed("could not make the folder of packages", e))?;
        let question = self.question(
            config,
            Job::Fetch(millrace_model::egress::Policy::clone(&config.egress.get()), None),
        )?;
        let mut started = Started::start(self, config, Role::Fetches)?;
        let (Some(mut input), Some(mut output)) = (started.input.take(), started.output.take())
        else {
            return Err(failed("could not start the bundler", "it has no pipes"));
        };
        let talk = async {
            let gone = |e| failed("could not ask the process that fetches", e);
            input.write_all(&started.order).await.map_err(gone)?;
            input.write_all(&question).await.map_err(gone)?;
            for (id, (import_name, package)) in (1..).zip(packages) {
                input
                    .write_all(&line(&Asked { id, need: Need::Package { import_name, package } })?)
                    .await
                    .map_err(gone)?;
                let mut answer = Vec::new();
                output.read_until(b'\n', &mut answer).await.map_err(gone)?;
                let given: Given = millrace_model::json::from_slice(&answer)
                    .map_err(|e| failed("could not understand the process that fetches", e))?;
                given.given.map_err(BundleError::from)?;
            }
            Ok(())
        };
        let time = config.limits.time;
        let talked = tokio::time::timeout(time, talk)
            .await
            .unwrap_or(Err(BundleError::TimedOut { seconds_max: time.as_secs() }));
        started.end().await;
        talked
    }

    /// Lets a process of each kind try to get out.
    ///
    /// # Errors
    /// In words: what was open.
    pub(crate) async fn try_walls(&self, config: &BundlerConfig) -> Result<(), String> {
        let words = |e: std::io::Error| e.to_string();
        process::make_folders(&config.cache_dir).map_err(words)?;
        let outside = config.cache_dir.join(format!("outside-{}", std::process::id()));
        std::fs::write(&outside, "x").map_err(words)?;
        let listener = TcpListener::bind("127.0.0.1:0").map_err(words)?;
        let address = listener.local_addr().map_err(words)?;
        let attempt = async |role| {
            let inside = config
                .cache_dir
                .join(crate::packages::PACKAGES)
                .join(format!(".trial-{}", std::process::id()));
            let (landlock, seccomp) = (config.walls.landlock_abi.is_some(), config.walls.seccomp);
            let question = self.question(
                config,
                Job::Try(Trial {
                    role,
                    landlock,
                    seccomp,
                    outside: outside.clone(),
                    inside,
                    address,
                }),
            );
            match tokio::time::timeout(
                TRIAL_TIMEOUT,
                self.talk(config, role, &question.map_err(said)?, None),
            )
            .await
            {
                Err(_) => Err(format!(
                    "the bundler's process did not answer within {} s",
                    TRIAL_TIMEOUT.as_secs()
                )),
                Ok(Err(error)) => Err(said(error)),
                Ok(Ok(End::Answered(Answer::Tried(wrong)))) if wrong.is_empty() => Ok(()),
                Ok(Ok(End::Answered(Answer::Tried(wrong)))) => Err(wrong.join("; ")),
                Ok(Ok(End::Answered(Answer::Wrong(wrong)))) => Err(said(wrong.into())),
                Ok(Ok(End::Answered(_))) => Err(said(misunderstood())),
                Ok(Ok(End::BrokeDown(ended))) => {
                    Err(format!("the bundler's process broke down: {ended}"))
                }
            }
        };
        let tried = tokio::try_join!(attempt(Role::Bundles), attempt(Role::Fetches)).map(drop);
        // A cache: what stays is of no harm.
        let _ = std::fs::remove_file(&outside);
        tried
    }

    fn question(&self, config: &BundlerConfig, job: Job) -> Result<Vec<u8>, BundleError> {
        line(&Question::of(config, job))
    }

    async fn ask(&self, config: &BundlerConfig, job: Job) -> Result<Answer, BundleError> {
        self.ask_keeping(config, job).await.map(|(answer, _)| answer)
    }

    /// The answer, and what was asked.
    async fn ask_keeping(
        &self,
        config: &BundlerConfig,
        job: Job,
    ) -> Result<(Answer, Job), BundleError> {
        process::make_folders(&config.cache_dir)
            .map_err(|e| failed("could not make the folder of packages", e))?;
        let fetching = match &job {
            // What it bundles is not for the process that fetches.
            Job::Bundle(request) => {
                let entry =
                    matches!(request.entry, Entry::Url { .. }).then(|| request.entry.clone());
                Some(self.question(
                    config,
                    Job::Fetch(millrace_model::egress::Policy::clone(&config.egress.get()), entry),
                )?)
            }
            _ => None,
        };
        let question = Question::of(config, job);
        // A tree is long as JSON: other tasks go on meanwhile.
        let written =
            tokio::task::spawn_blocking(move || line(&question).map(|line| (line, question.job)));
        let (question, job) =
            written.await.map_err(|e| failed("could not write to the bundler's process", e))??;
        let mut end = self.talk_in_time(config, &question, fetching.as_deref()).await?;
        if let End::BrokeDown(ended) = &end {
            // What it was given breaks it each time; what is the machine's, or a race of its
            // threads, hardly twice.
            tracing::warn!(%ended, "the bundler's process broke down; it is asked once more");
            end = self.talk_in_time(config, &question, fetching.as_deref()).await?;
        }
        match end {
            End::Answered(Answer::Wrong(wrong)) => Err(wrong.into()),
            End::Answered(answer) => Ok((answer, job)),
            End::BrokeDown(ended) => Err(BundleError::Build {
                text: format!(
                    "the bundler broke down over it ({ended}): is something in it nested thousands of levels deep?"
                ),
            }),
        }
    }

    async fn talk_in_time(
        &self,
        config: &BundlerConfig,
        question: &[u8],
        fetching: Option<&[u8]>,
    ) -> Result<End, BundleError> {
        let time = config.limits.time;
        let talk = self.talk(config, Role::Bundles, question, fetching);
        tokio::time::timeout(time, talk)
            .await
            .unwrap_or(Err(BundleError::TimedOut { seconds_max: time.as_secs() }))
    }

    /// Asks a process, and waits for its answer or its end. `fetching`: what one is asked that
    /// fetches for it, where it may ask for that.
    async fn talk(
        &self,
        config: &BundlerConfig,
        role: Role,
        question: &[u8],
        fetching: Option<&[u8]>,
    ) -> Result<End, BundleError> {
        let looked = Looked::default();
        let mut started = Started::start(self, config, role)?;
        looked.lock().push((started.pid, role));
        let (Some(mut input), Some(mut output)) = (started.input.take(), started.output.take())
        else {
            return Err(failed("could not start the bundler", "it has no pipes"));
        };
        let (give, mut given) = mpsc::channel::<Vec<u8>>(LINES_MAX);
        let feed = async {
            // A process that ends early is seen by its answer.
            if input.write_all(&started.order).await.and(input.write_all(question).await).is_ok() {
                while let Some(line) = given.recv().await {
                    if input.write_all(&line).await.is_err() {
                        break;
                    }
                }
            }
            std::future::pending::<()>().await
        };
        let hear = self.hear(config, &mut output, fetching, give, &looked);
        let heard = tokio::select! {
            heard = hear => heard?,
            () = feed => Heard::Nothing,
            role = too_much(&looked, config) => return Err(out_of_memory(role, config)),
        };
        let (role, ended) = match heard {
            Heard::Answer(answer) => {
                started.end().await;
                return Ok(End::Answered(answer));
            }
            Heard::Nothing => (role, started.ended().await),
            Heard::NothingOf(fetcher) => (Role::Fetches, fetcher.ended().await),
        };
        if ended.is_out_of_time() {
            let seconds_max = config.limits.cpu_time.as_secs();
            Err(BundleError::TooMuchComputed { what: role.job().into(), seconds_max })
        } else if ended.is_out_of_memory {
            Err(out_of_memory(role, config))
        } else {
            Ok(End::BrokeDown(ended))
        }
    }

    /// Hears a process until it answers or ends, and passes on what it asks for.
    async fn hear(
        &self,
        config: &BundlerConfig,
        output: &mut started::Output,
        fetching: Option<&[u8]>,
        give: mpsc::Sender<Vec<u8>>,
        looked: &Looked,
    ) -> Result<Heard, BundleError> {
        let (mut line, mut fetcher) = (Vec::new(), None::<Started>);
        // Ends with this conversation.
        let mut passing = JoinSet::new();
        loop {
            let read = tokio::select! {
                read = output.read_until(b'\n', &mut line) => read.map_err(|e| failed("could not read from the bundler", e))?,
                Some(_) = passing.join_next() => return Ok(fetcher.map_or(Heard::Nothing, |fetcher| Heard::NothingOf(Box::new(fetcher)))),
            };
            if read == 0 {
                return Ok(Heard::Nothing);
            }
            let asked = match millrace_model::json::from_slice(&line)
                .map_err(|e| failed("could not understand the bundler", e))?
            {
                Said::Done(answer) => return Ok(Heard::Answer(answer)),
                Said::Asked(asked) => asked,
            };
            line.clear();
            let Some(fetching) = fetching else { return Err(misunderstood()) };
            if fetcher.is_none() {
                let cache_dir = config.cache_dir.clone();
                tokio::task::spawn_blocking(move || remove_left(&cache_dir))
                    .await
                    .map_err(|e| failed("could not look through the cache of packages", e))?;
                let mut started = Started::start(self, config, Role::Fetches)?;
                looked.lock().push((started.pid, Role::Fetches));
                if let Some(input) = &mut started.input {
                    // One that ends early is seen by its output.
                    let _ =
                        input.write_all(&started.order).await.and(input.write_all(fetching).await);
                }
                if let Some(output) = started.output.take() {
                    passing.spawn(pass_on(output, give.clone()));
                }
                fetcher = Some(started);
            }
            if let Some(input) = fetcher.as_mut().and_then(|fetcher| fetcher.input.as_mut()) {
                let _ = input.write_all(&wire::line(&asked)?).await;
            }
        }
    }
}

/// Passes on what a process gives, until it ends.
async fn pass_on(mut from: started::Output, to: mpsc::Sender<Vec<u8>>) {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        if to.send(std::mem::take(&mut line)).await.is_err() {
            return;
        }
    }
}

/// Ends once a process has more memory than it may: the kernel's limit is on addresses, of which
/// deep stacks take many.
async fn too_much(looked: &Looked, config: &BundlerConfig) -> Role {
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let full = |(pid, _): &(u32, Role)| {
            Taken::of(*pid).is_some_and(|taken| taken.memory_kib >> 10 >= config.limits.memory_mb)
        };
        if let Some((_, role)) = looked.lock().iter().copied().find(full) {
            return role;
        }
    }
}

fn out_of_memory(role: Role, config: &BundlerConfig) -> BundleError {
    BundleError::OutOfMemory { what: role.job().into(), mib_max: config.limits.memory_mb }
}

fn misunderstood() -> BundleError {
    failed("could not understand the bundler", "it answered something else")
}

/// With what caused it.
fn said(error: BundleError) -> String {
    match error {
        BundleError::Internal { what, source } => format!("{what}: {source}"),
        error => error.to_string(),
    }
}
