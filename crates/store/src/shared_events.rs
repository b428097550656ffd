//! Events that several runs have: a large one is stored once, and its runs refer to it.

use std::collections::HashMap;
use std::sync::Arc;

use millrace_model::run::NewRun;

/// Bytes from which an event is worth a row of its own.
pub const SHARED_EVENT_BYTES_MIN: usize = 4 << 10;

/// The event of a run, as both engines read it: its own, or the one that it shares. Where a run is
/// read, its table or its alias is `runs`.
pub const RUN_EVENT: &str = "CASE WHEN runs.shared_event IS NULL THEN runs.event ELSE (SELECT shared_events.event FROM shared_events WHERE shared_events.id = runs.shared_event) END";

/// For each run the id of the event that it shares with others of these runs; none where its event
/// is its own, or is small. The id is that of the first run that has the event. Events are the same
/// where they are one text in memory: equal texts are not looked for.
pub fn shared_events(runs: &[NewRun]) -> Vec<Option<&str>> {
    let mut users: HashMap<*const u8, (usize, &str)> = HashMap::new();
    if runs.len() > 1 {
        for run in runs.iter().filter(|run| run.event.len() >= SHARED_EVENT_BYTES_MIN) {
            users.entry(Arc::as_ptr(&run.event).cast()).or_insert((0, run.id.as_str())).0 += 1;
        }
    }
    let shared = |run: &NewRun| {
        let (count, id) = users.get(&Arc::as_ptr(&run.event).cast::<u8>())?;
        (*count > 1).then_some(*id)
    };
    runs.iter().map(shared).collect()
}
