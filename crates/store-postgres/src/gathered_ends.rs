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
    tell: oneshot::Sender<StoreResult<()>>,
}

impl GatheredEnds {
    /// Stores a run with its end; `Ok` once both are durable.
    pub(crate) async fn store(self: &Arc<Self>, db: &Arc<Db>, end: Settlement) -> StoreResult<()> {
        let (tell, told) = oneshot::channel();
        let place = {
            let mut state = self.0.lock();
            state.waiting.push(Waiting { end, tell });
            (state.under_way < UNDER_WAY_MAX).then(|| {
                state.under_way += 1;
                Place { ends: self.clone(), is_free: false }
            })
        };
        if let Some(place) = place {
            // Not by the caller: it may go away, and others wait for what it writes.
            tokio::spawn(write_what_waits(db.clone(), place));
        }
        told.await.unwrap_or(Err(StoreError::Closed))
    }
}

/// One of the statements that may be under way.
struct Place {
    ends: Arc<GatheredEnds>,
    is_free: bool,
}

impl Place {
    /// What waits; nothing once the place is given up.
    fn next(&mut self) -> Vec<Waiting> {
        let mut state = self.ends.0.lock();
        if state.waiting.is_empty() && !self.is_free {
            // Whoever comes next begins again.
            self.is_free = true;
            state.under_way -= 1;
        }
        let count = state.waiting.len().min(TOGETHER_MAX);
        state.waiting.drain(..count).collect()
    }
}

impl Drop for Place {
    /// A panic ends the statement as well.
    fn drop(&mut self) {
        if !self.is_free {
            self.ends.0.lock().under_way -= 1;
        }
    }
}

async fn write_what_waits(db: Arc<Db>, mut place: Place) {
    loop {
        let waiting = place.next();
        if waiting.is_empty() {
            return;
        }
        let (ends, tell): (Vec<_>, Vec<_>) =
            waiting.into_iter().map(|one| (one.end, one.tell)).unzip();
        for (tell, result) in tell.into_iter().zip(results(&db, &ends).await) {
            // Whoever asked may have gone away.
            drop(tell.send(result));
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
