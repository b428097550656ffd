//! Owners whose queues hold as many runs as the operator allows. They are read from the store every
//! few seconds, so that accepting an event takes a look at memory and counts nothing.

use std::collections::HashSet;
use std::time::Duration;

use parking_lot::RwLock;

use crate::Engine;
use crate::background::{Activation, Background, Next, Task};

/// How often they are read: in between, more are accepted than may wait.
const READ_EVERY: Duration = Duration::from_secs(2);

/// Owners whose queue is full.
#[derive(Default)]
pub(crate) struct FullQueues(RwLock<HashSet<String>>);

impl FullQueues {
    pub(crate) fn contains(&self, owner: &str) -> bool {
        let full = self.0.read();
        !full.is_empty() && full.contains(owner)
    }
}

/// Reads which queues are full.
pub(crate) struct QueueWatch {
    engine: Engine,
}

impl Background for QueueWatch {
    const TASK: Task = Task::QueueWatch;

    async fn activate(&mut self, now: &Activation) -> Next {
        let inner = &self.engine.0;
        match inner.store.full_queues(inner.config.waiting_runs_max).await {
            Ok(owners) => {
                let full: HashSet<String> = owners.into_iter().collect();
                for owner in full.iter().filter(|owner| !inner.full_queues.contains(owner)) {
                    tracing::warn!(
                        owner.id = owner.as_str(),
                        waiting_runs_max = inner.config.waiting_runs_max,
                        "as many runs wait as may: further events are refused or not passed on"
                    );
                }
                *inner.full_queues.0.write() = full;
            }
            Err(error) => now.warned("could not read which queues are full", &error),
        }
        Next::After(READ_EVERY)
    }
}

impl Engine {
    pub(crate) fn queue_watch(&self) -> QueueWatch {
        QueueWatch { engine: self.clone() }
    }
}
