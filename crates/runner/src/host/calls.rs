//! Calls of a host: those under way, those it has ahead, and the late frames of those that ended.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use millrace_model::egress::Refusal;
use tokio::time::Instant;

use crate::call::{Ended, UnderWay};
use crate::ended_call::EndedCall;
use crate::host::Host;
use crate::host_pool::QueuedCall;
use crate::wire::WireError;

/// Lines that may come of a call after its end; the runtime sends no more.
const LATE_LINES_MAX: u64 = 100;
/// Bytes of frames with lines of one call after its end, and of all frames of calls that were given
/// up: as much as a call may write.
const LATE_BYTES_MAX: usize = 64 << 20;
/// Each of them counts so much beside its bytes: an empty one has to be read too.
const LATE_FRAME_BYTES: usize = 64;
/// Calls whose lines after their end are kept: the latest of a host.
const ENDED_KEPT: usize = 64;
/// How long calls of a host are taken to be that has served none: too long to give it another one
/// ahead.
const UNKNOWN: Duration = Duration::from_millis(10);
/// Calls over which the mean of their times is taken, about.
const MEAN_OVER: u32 = 32;

/// The calls that a host was given.
pub(super) struct Calls {
    pub(super) under_way: HashMap<u64, UnderWay>,
    /// Calls that it has ahead, the oldest first: it begins one when the one before is done and
    /// left nothing running.
    pub(super) ahead: VecDeque<Ahead>,
    /// It gave calls back: what is under way takes longer than was thought.
    pub(super) gave_back: bool,
    /// When the call under way began, where it is the only one.
    pub(super) began: Instant,
    /// What its calls take, about.
    pub(super) mean: Duration,
    /// The newest id. Ids count from 1 in each host: one host's ids say nothing about another's.
    pub(super) newest: u64,
    /// Calls that we gave up and whose frames may still come.
    pub(super) late: HashSet<u64>,
    /// Lines that came of calls after their end.
    late_lines: u64,
    /// Bytes of their frames, and of those of calls that we gave up.
    late_bytes: usize,
    given_up_bytes: usize,
    /// The latest calls that ended, the oldest first, by id.
    pub(super) ended: VecDeque<(u64, EndedCall)>,
    /// Connections that were refused while it had no call: the log of its next call shows them.
    pub(super) refused: BTreeSet<Refusal>,
    /// What its last call started goes on: it takes no other one until that has ended.
    pub(super) left_running: bool,
}

/// A call that a busy host has ahead.
pub(crate) struct Ahead {
    pub(super) id: u64,
    pub(crate) ticket: u64,
    pub(crate) call: QueuedCall,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            under_way: HashMap::new(),
            ahead: VecDeque::new(),
            gave_back: false,
            began: Instant::now(),
            mean: UNKNOWN,
            newest: 0,
            late: HashSet::new(),
            late_lines: 0,
            late_bytes: 0,
            given_up_bytes: 0,
            ended: VecDeque::new(),
            refused: BTreeSet::new(),
            left_running: false,
        }
    }
}

impl Calls {
    /// A line of a call that is over: of the latest it is handed on, of others dropped.
    /// How many come is counted for all calls, which needs no memory of each.
    pub(super) fn late_line(
        &mut self,
        id: u64,
        level: &str,
        text: String,
        ts_ms: i64,
        bytes: usize,
    ) -> Result<(), WireError> {
        if id == 0
            || id > self.newest
            || self.under_way.contains_key(&id)
            || self.ahead.iter().any(|ahead| ahead.id == id)
        {
            return Err(WireError::UnknownCall);
        }
        self.late_lines += 1;
        self.late_bytes = self.late_bytes.saturating_add(bytes);
        let calls = usize::try_from(self.newest).unwrap_or(usize::MAX);
        if self.late_lines > self.newest.saturating_mul(LATE_LINES_MAX)
            || self.late_bytes > calls.saturating_mul(LATE_BYTES_MAX)
        {
            return Err(WireError::OutOfOrder("more lines after the end of calls than allowed"));
        }
        if let Some((_, ended)) = self.ended.iter_mut().find(|(ended, _)| *ended == id) {
            ended.line(level, text, ts_ms);
        }
        Ok(())
    }

    /// Counts a frame of a call that was given up.
    pub(super) fn count_given_up(&mut self, bytes: usize) -> Result<(), WireError> {
        self.given_up_bytes = self.given_up_bytes.saturating_add(bytes + LATE_FRAME_BYTES);
        if self.given_up_bytes > LATE_BYTES_MAX {
            return Err(WireError::OutOfOrder("more of runs that are over than allowed"));
        }
        Ok(())
    }

    /// Ends a call whose last frame came.
    pub(super) fn finish(&mut self, id: u64, ended: Ended) {
        let Some(call) = self.under_way.remove(&id) else { return };
        if let Some(late) = call.late() {
            if self.ended.len() >= ENDED_KEPT {
                self.ended.pop_front();
            }
            self.ended.push_back((id, late));
        }
        call.end(ended);
        self.gave_back = false;
        self.mean = (self.mean * (MEAN_OVER - 1) + self.began.elapsed()) / MEAN_OVER;
    }

    /// The oldest call that the host has ahead is under way.
    pub(super) fn advance(&mut self, host: &Arc<Host>) {
        if let Some(Ahead { id, call, .. }) = self.ahead.pop_front() {
            self.began(host, id, call);
        }
    }

    pub(super) fn began(&mut self, host: &Arc<Host>, id: u64, call: QueuedCall) {
        let QueuedCall { mut under_way, begun, .. } = call;
        under_way.began();
        for refusal in std::mem::take(&mut self.refused) {
            under_way.refused(&refusal);
        }
        self.began = Instant::now();
        self.under_way.insert(id, under_way);
        // Whoever waited may be gone; the call's end is waited for all the same.
        let _ = begun.send(Ok((host.clone(), id)));
    }
}
