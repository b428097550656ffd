//! Client of a bundling process, which asks the server for packages that it may not fetch.

use std::collections::HashMap;
use std::io::{BufRead, Stdout, Write as _};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::wire::{Asked, Given, Need, Said, Wrong, failed, line};
use crate::{BundleError, LockedPackage};

/// What answers a need.
type Answered = oneshot::Sender<Result<Option<String>, Wrong>>;

/// Asks for packages and files, many at once.
pub(crate) struct Asker {
    output: Mutex<Stdout>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    asked: HashMap<u64, Answered>,
    /// Nobody answers any more.
    is_over: bool,
}

impl Asker {
    /// Answers come in by a thread of their own, so that nothing here waits for them but who asked.
    pub(super) fn start() -> Result<Arc<Self>, BundleError> {
        let asker =
            Arc::new(Self { output: Mutex::new(std::io::stdout()), waiting: Mutex::default() });
        let hearing = asker.clone();
        let thread = std::thread::Builder::new()
            .name("millrace-answers".into())
            .spawn(move || hearing.hear(std::io::stdin().lock()));
        thread.map_err(|e| failed("could not start a thread", e))?;
        Ok(asker)
    }

    pub(crate) async fn document(&self, name: &str, importer: &str) -> Result<(), BundleError> {
        self.ask(Need::Document { name: name.into(), importer: importer.into() }).await.map(drop)
    }

    pub(crate) async fn install(
        &self,
        import_name: &str,
        package: &LockedPackage,
    ) -> Result<(), BundleError> {
        self.ask(Need::Package { import_name: import_name.into(), package: package.clone() })
            .await
            .map(drop)
    }

    pub(crate) async fn page(&self, url: &str) -> Result<Option<String>, BundleError> {
        self.ask(Need::Page { url: url.into() }).await
    }

    pub(super) fn say(&self, said: &Said) -> Result<(), BundleError> {
        let line = line(said)?;
        let mut output = self.output.lock();
        output
            .write_all(&line)
            .and_then(|()| output.flush())
            .map_err(|e| failed("could not answer the server", e))
    }

    async fn ask(&self, need: Need) -> Result<Option<String>, BundleError> {
        let (answered, answer) = oneshot::channel();
        let id = {
            let mut waiting = self.waiting.lock();
            if waiting.is_over {
                return Err(failed("could not read from the server", "it is gone"));
            }
            waiting.next += 1;
            let id = waiting.next;
            waiting.asked.insert(id, answered);
            id
        };
        self.say(&Said::Asked(Asked { id, need }))?;
        let given =
            answer.await.map_err(|_| failed("could not read from the server", "it is gone"))?;
        given.map_err(BundleError::from)
    }

    fn hear(&self, mut input: impl BufRead) {
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if let Ok(Given { id, given }) = millrace_model::json::from_slice(&line)
                && let Some(answered) = self.waiting.lock().asked.remove(&id)
            {
                // Whoever asked may have given up.
                let _ = answered.send(given);
            }
            line.clear();
        }
        let mut waiting = self.waiting.lock();
        waiting.is_over = true;
        waiting.asked.clear();
    }
}
