//! The background task that takes the steps of replays.

use std::time::Duration;

use crate::Engine;
use crate::background::{Activation, Background, Next, Task};

/// How often replays are looked at though nothing woke the task.
const POLL: Duration = Duration::from_millis(500);
/// Replays that go on at once.
const RUNNING_MAX: u32 = 16;

/// Takes the steps of replays that are under way.
pub(crate) struct Replayer {
    engine: Engine,
    /// The id of the last that had its turn: many that have no room take no turn of others.
    last: String,
}

impl Replayer {
    pub(crate) const fn new(engine: Engine) -> Self {
        Self { engine, last: String::new() }
    }
}

impl Background for Replayer {
    const TASK: Task = Task::Replayer;

    /// A step of each replay that has room.
    async fn activate(&mut self, now: &Activation) -> Next {
        let running = match self.engine.0.store.running_replays(&self.last, RUNNING_MAX).await {
            Ok(running) => running,
            Err(error) => {
                now.failed("could not read the replays; trying again", &error);
                return Next::Woken(POLL);
            }
        };
        let mut more = false;
        for replay in running {
            let id = replay.id.clone();
            id.as_str().clone_into(&mut self.last);
            match self.engine.step_replay(replay).await {
                Ok(goes_on) => more |= goes_on,
                Err(error) => {
                    now.failed(&format!("the replay `{id}` could not go on; trying again"), &error);
                }
            }
        }
        if more { Next::Now } else { Next::Woken(POLL) }
    }
}
