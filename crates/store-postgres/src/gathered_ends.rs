//! Ends of runs that come while others are being written wait, and go together as one statement
//! ("group commit"): a statement for each would cost Postgres a process that wakes, a plan and a
//! flush.

use std::sync::Arc;

use millrace_store::{Settlement, StoreError, StoreResult};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::db::{Db, statement};
use crate::runs;

/// Statements under way at once: with one, the next would be gathered for as long as the network
/// and the disk take.
const UNDER_WAY_MAX: usize = 2;
/// Ends in one statement.
const TOGETHER_MAX: usize = 64;
/// Bytes of their events and results, beyond which no further one goes with them.
const TOGETHER_BYTES_MAX: usize = 1 << 20;

/// Ends of runs that were not stored before, and leave nothing else.
#[derive(Default)]
pub(crate) struct GatheredEnds(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: Vec<Waiting>,
    under_way: usize,
}

struct Waiting {
    end: Settlement,
    sender: oneshot::Sender<StoreResult<()>>,
}

impl Waiting {
    fn bytes(&self) -> usize {
        let event = self.end.unstored.as_ref().map_or(0, |unstored| unstored.run.event.len());
        event + self.end.result.len()
    }
}

impl GatheredEnds {
    /// Stores a run with its end; `Ok` once both are durable.
    pub(crate) async fn store(self: &Arc<Self>, db: &Arc<Db>, end: Settlement) -> StoreResult<()> {
        let (sender, receiver) = oneshot::channel();
        let begins = {
            let mut state = self.0.lock();
            state.waiting.push(Waiting { end, sender });
            let begins = state.under_way < UNDER_WAY_MAX;
            state.under_way += usize::from(begins);
            begins
        };
        if begins {
            // Not by the caller: it may go away, and others wait for what it writes.
            tokio::spawn(self.clone().write_what_waits(db.clone()));
        }
        receiver.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Takes the ends of the next statement. Where none waits, the statement that was under way is
    /// over, and the next end begins another.
    fn next(&self) -> Vec<Waiting> {
        let mut state = self.0.lock();
        if state.waiting.is_empty() {
            state.under_way -= 1;
        }
        let mut bytes = 0;
        let fits = |waiting: &&Waiting| {
            bytes += waiting.bytes();
            bytes <= TOGETHER_BYTES_MAX
        };
        let count = state.waiting.iter().take(TOGETHER_MAX).take_while(fits).count();
        let count = count.max(1).min(state.waiting.len());
        state.waiting.drain(..count).collect()
    }

    async fn write_what_waits(self: Arc<Self>, db: Arc<Db>) {
        loop {
            let waiting = self.next();
            if waiting.is_empty() {
                return;
            }
            let db = db.clone();
            let written = tokio::spawn(async move {
                let (ends, senders): (Vec<_>, Vec<_>) =
                    waiting.into_iter().map(|one| (one.end, one.sender)).unzip();
                for (sender, result) in senders.into_iter().zip(results(&db, &ends).await) {
                    // Whoever asked may have gone away.
                    drop(sender.send(result));
                }
            });
            // A panic is that of these ends; others wait.
            drop(written.await);
        }
    }
}

/// Stores them, and gives what became of each.
async fn results(db: &Db, ends: &[Settlement]) -> Vec<StoreResult<()>> {
    let Err(error) = insert(db, ends).await else { return ends.iter().map(|_| Ok(())).collect() };
    if ends.len() == 1 {
        return vec![Err(error)];
    }
    if let Some(results) = ends.iter().map(|_| error.of_all().map(Err)).collect() {
        return results;
    }
    // One of them is in the way of the others.
    let mut results = Vec::with_capacity(ends.len());
    for end in ends {
        results.push(insert(db, std::slice::from_ref(end)).await);
    }
    results
}

async fn insert(db: &Db, ends: &[Settlement]) -> StoreResult<()> {
    statement!(db, "settle", |c| runs::insert_ended(&c, ends))
}
