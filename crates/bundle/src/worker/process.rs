//! Bundling processes' side: each confines itself, reads one job, and answers it.

use std::io::{BufRead, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use millrace_model::npm_registry::NpmRegistry;
use millrace_walls::Kernel;
use millrace_walls::landlock::Files;
use millrace_walls::own::{Confinement, confine};
use millrace_walls::readable::READABLE;
use millrace_walls::seccomp::Profile;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, mpsc};

use super::asker::Asker;
use super::wire::{
    Answer, Asked, Given, Job, Need, Order, Question, Role, Said, Wrong, failed, line,
};
use crate::packages::{PACKAGES, Packages};
use crate::reach::{self, Reach};
use crate::registry::{DOCUMENTS, Outside, Registry};
use crate::remote_files::{RemoteFiles, is_beside};
use crate::unpack::LARGEST;
use crate::workshop::{BLOCKING_MAX, STACK_BYTES, Workshop};
use crate::{BUNDLES_MAX, BundleError, BundlerConfig, Entry, Index, Limits, extract};

/// Descriptors that are open at once.
const DESCRIPTORS_MAX: u64 = 1024;
/// Beside the memory that it may have, the addresses of a process that bundles hold deep stacks, of
/// which it uses little: those of its threads, and one more for what is read without bundling.
const STACKS_BYTES: u64 = (BUNDLES_MAX + BLOCKING_MAX + 1) as u64 * STACK_BYTES as u64;
/// Needs under way at once.
const NEEDS_MAX: usize = 256;

/// The process's side: walls itself in, reads one question from standard input, and answers it on
/// standard output. The platform's modules are those of the process. To be called while the process
/// has one thread.
///
/// # Errors
/// Where the server cannot be heard or answered: a question that cannot be answered is no error.
pub fn work(platform_modules: &'static [(&'static str, &'static str)]) -> Result<(), BundleError> {
    let mut input = std::io::stdin().lock();
    let order: Order = read(&mut input)?;
    if let Err(error) = wall_in(&order) {
        return say(Wrong::Failed(format!(
            "a wall around the bundler's process cannot be put up: {error}"
        )));
    }
    let Question { cache_dir, registry, metadata_max_age, node_version, job } = read(&mut input)?;
    drop(input);
    let config = |egress| BundlerConfig {
        registry,
        metadata_max_age,
        node_version,
        egress,
        ..BundlerConfig::at(cache_dir, platform_modules)
    };
    let answer = match job {
        Job::Bundle(request) => {
            let asker = Asker::start()?;
            let workshop = Workshop::closed(&config(Default::default()), asker);
            workshop
                .and_then(|workshop| workshop.bundle_blocking(request))
                .map(|bundle| Answer::Bundle(Box::new(bundle)))
        }
        Job::Index(files, earlier) => {
            on_a_deep_stack(move || Index::of(&files, earlier.as_ref())).map(Answer::Index)
        }
        Job::Facts(files, path) => on_a_deep_stack(move || extract::component(&files, &path))
            .map(|facts| Answer::Facts(Box::new(facts))),
        Job::Try(trial) => Ok(Answer::Tried(trial.run())),
        Job::Fetch(egress, entry) => return fetch(&config(egress.into()), entry),
    };
    match answer {
        Ok(answer) => say_line(&Said::Done(answer)),
        Err(error) => say(Wrong::from(error)),
    }
}

fn wall_in(order: &Order) -> std::io::Result<()> {
    let path = |name: &str| -> PathBuf { order.cache_dir.join(name) };
    let folders = vec![path(PACKAGES), path(DOCUMENTS)];
    let (files, profile, stacks, file_bytes_max) = match order.role {
        Role::Bundles => {
            (Files { read: folders, ..Files::default() }, Profile::Computes, STACKS_BYTES, 0)
        }
        Role::Fetches => {
            let read = READABLE.iter().map(PathBuf::from).chain(certificates()).collect();
            (
                Files { read, write: folders, connects: true, ..Files::default() },
                Profile::Fetches,
                0,
                LARGEST.bytes,
            )
        }
    };
    confine(&Confinement {
        walls: Kernel { landlock_abi: order.landlock.then_some(1), seccomp: order.seccomp },
        files,
        profile,
        data_bytes_max: order.memory_bytes + stacks,
        file_bytes_max,
        descriptors_max: DESCRIPTORS_MAX,
        cpu_seconds_max: order.cpu_seconds,
    })
}

/// Where the operator keeps certificates of their own.
fn certificates() -> impl Iterator<Item = PathBuf> {
    ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(std::env::var_os).map(PathBuf::from)
}

fn read<T: DeserializeOwned>(input: &mut impl BufRead) -> Result<T, BundleError> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line).map_err(|e| failed("could not read from the server", e))?;
    millrace_model::json::from_slice(&line)
        .map_err(|e| failed("could not understand the server", e))
}

fn say(wrong: Wrong) -> Result<(), BundleError> {
    say_line(&Said::Done(Answer::Wrong(wrong)))
}

fn say_line(said: &impl serde::Serialize) -> Result<(), BundleError> {
    let mut output = std::io::stdout().lock();
    output
        .write_all(&line(said)?)
        .and_then(|()| output.flush())
        .map_err(|e| failed("could not answer the server", e))
}

/// The parser calls itself once per level of nesting. The process has nothing else to do meanwhile.
fn on_a_deep_stack<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BundleError> {
    let thread = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(work)
        .map_err(|e| failed("could not start a thread", e))?;
    thread.join().map_err(|_| failed("the reading broke down", "a thread panicked"))
}

/// Fetches what another process asks for, until its needs end. What it asks for is a stranger's,
/// should that process have been taken over.
fn fetch(config: &BundlerConfig, entry: Option<Entry>) -> Result<(), BundleError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(BUNDLES_MAX).max_blocking_threads(16).enable_all();
    let threads = builder.build().map_err(|e| failed("could not start threads", e))?;
    threads.block_on(async {
        let source = Arc::new(Source {
            packages: Packages::new(
                Registry::new(Outside::Http(reach::http()?), config),
                &config.cache_dir,
            ),
            pages: RemoteFiles::own(Reach::new(config.egress.get())),
            entry,
        });
        let (heard, mut needs) = mpsc::channel::<Asked>(1);
        std::thread::spawn(move || {
            let mut input = std::io::stdin().lock();
            while let Ok(asked) = read(&mut input) {
                if heard.blocking_send(asked).is_err() {
                    break;
                }
            }
        });
        let (places, output) = (Arc::new(Semaphore::new(NEEDS_MAX)), Arc::new(Mutex::new(())));
        while let Some(Asked { id, need }) = needs.recv().await {
            let Ok(place) = places.clone().acquire_owned().await else { break };
            let (source, output) = (source.clone(), output.clone());
            tokio::spawn(async move {
                let given = source.give(need).await.map_err(Wrong::from);
                let _one_at_a_time = output.lock();
                // A server that is gone needs nothing.
                let _ = say_line(&Given { id, given });
                drop(place);
            });
        }
        Ok(())
    })
}

/// What a process that fetches fetches from.
struct Source {
    packages: Packages,
    pages: RemoteFiles,
    /// The entry that the files it asks for are beside.
    entry: Option<Entry>,
}

impl Source {
    async fn give(&self, need: Need) -> Result<Option<String>, BundleError> {
        match need {
            Need::Document { name, importer } => {
                self.packages.refresh(&name, &importer).await.map(|()| None)
            }
            Need::Package { import_name, package } => {
                self.packages.install_for_another(&import_name, &package).await.map(|()| None)
            }
            Need::Page { url }
                if self.entry.as_ref().is_some_and(|entry| is_beside(&url, entry)) =>
            {
                self.pages.fetch(&url).await
            }
            Need::Page { url } => Err(BundleError::Fetch {
                url: url.chars().take(200).collect(),
                reason: "it is not of the same origin as the component".into(),
            }),
        }
    }
}

/// Folders that both kinds of processes need before they are walled in.
pub(super) fn make_folders(cache_dir: &Path) -> std::io::Result<()> {
    [PACKAGES, DOCUMENTS].iter().try_for_each(|name| std::fs::create_dir_all(cache_dir.join(name)))
}

impl BundlerConfig {
    /// One whose other parts are the usual.
    fn at(cache_dir: PathBuf, platform_modules: &'static [(&'static str, &'static str)]) -> Self {
        Self {
            cache_dir,
            registry: NpmRegistry::new("", None),
            metadata_max_age: std::time::Duration::ZERO,
            node_version: String::new(),
            platform_modules,
            egress: Default::default(),
            limits: Limits::default(),
            walls: Kernel::NONE,
            groups: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockedPackage;

    /// A process that bundles, and was taken over, asks for what it likes.
    #[tokio::test]
    async fn what_is_asked_for_is_looked_at() {
        let dir = tempfile::tempdir().expect("a folder");
        // Nobody listens there, so that what is let through is not reached.
        let config = BundlerConfig {
            registry: NpmRegistry::new("http://127.0.0.1:9", None),
            ..BundlerConfig::at(dir.path().join("cache"), &[])
        };
        let source = Source {
            packages: Packages::new(
                Registry::new(Outside::Http(reach::http().expect("a client")), &config),
                &config.cache_dir,
            ),
            pages: RemoteFiles::own(Reach::new(config.egress.get())),
            entry: Some(Entry::Url { url: "https://example.test/a/b.mjs".into() }),
        };
        let page = |url: &str| Need::Page { url: url.into() };
        let document = |name: &str| Need::Document { name: name.into(), importer: "x".into() };
        let package = |import_name: &str, name: &str, version: &str| {
            let package = LockedPackage {
                name: name.into(),
                version: version.into(),
                integrity: String::new(),
            };
            Need::Package { import_name: import_name.into(), package }
        };
        for (need, code) in [
            (page("http://example.test/a/c.mjs"), "fetch_failed"),
            (page("https://example.test:444/"), "fetch_failed"),
            (page("https://other.test/?secret"), "fetch_failed"),
            (page("file:///etc/passwd"), "fetch_failed"),
            (document("../../x"), "package_not_found"),
            (document("x?y"), "package_not_found"),
            (document("x/y"), "package_not_found"),
            (document("ms"), "registry_unreachable"),
            (package("../../../x", "ms", "1.0.0"), "import_unsupported"),
            (package("ms", "../x", "1.0.0"), "import_unsupported"),
            (package("ms", "ms/../../x", "1.0.0"), "import_unsupported"),
            (package("ms", "ms", "1.0.0/../../../x"), "import_unsupported"),
            (package("ms", "ms", ".."), "import_unsupported"),
            (package("ms", "ms", "1.0.0?x"), "import_unsupported"),
            (package("ms", "ms", ""), "import_unsupported"),
            (package("ms", "@scope/ms", "1.0.0-rc.1+b"), "registry_unreachable"),
        ] {
            let asked = serde_json::to_string(&need).expect("JSON");
            let error = source.give(need).await.expect_err(&asked);
            assert_eq!(error.code(), code, "{asked}: {error}");
            let is_refused_here = code == "fetch_failed";
            assert!(
                !is_refused_here || error.to_string().contains("same origin"),
                "{asked}: {error}"
            );
        }
        assert!(
            std::fs::read_dir(dir.path().join("cache/packages")).expect("reads").next().is_none()
        );
    }
}
