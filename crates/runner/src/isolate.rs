//! Isolate: the hosts of one version of code, the calls that wait for them, and which host takes
//! the next one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::host::{Host, HostState};
use crate::host_pool::{HostPool, PATIENCE_FIRST, QueuedCall};
use crate::types::IsolateSpec;

/// How long the oldest call waits before an isolate that has as many hosts as there are CPUs
/// gets one more.
const PATIENCE: Duration = Duration::from_millis(10);
/// Hosts of one isolate that start at the same time, for each CPU.
const STARTING_PER_CPU: usize = 4;
/// Hosts that an isolate may have beyond the number of CPUs, for each host that waits in an
/// `await`: so a burst of such calls doubles them again and again.
const PER_AWAITING: usize = 4;

/// The hosts of one isolate and the calls that wait for them.
pub(crate) struct Isolate {
    pub(crate) spec: Arc<IsolateSpec>,
    pub(crate) hosts: Vec<Arc<Host>>,
    /// Hosts that start once a process has ended that makes room for them.
    pub(crate) promised: usize,
    /// By ticket, the oldest first.
    pub(crate) waiting: BTreeMap<u64, QueuedCall>,
}

impl Isolate {
    pub(crate) const fn new(spec: Arc<IsolateSpec>) -> Self {
        Self { spec, hosts: Vec::new(), promised: 0, waiting: BTreeMap::new() }
    }

    /// Hosts that take calls, or will.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Arc<Host>> {
        self.hosts.iter().filter(|host| host.state().is_open())
    }

    /// The host used last of those that can take a call, so that surplus hosts become idle and are
    /// ended. None where calls begin in order and the last one has yet to begin.
    pub(crate) fn free(&self) -> Option<Arc<Host>> {
        if self.spec.in_order && self.hosts.iter().any(|host| host.is_entering()) {
            return None;
        }
        self.hosts
            .iter()
            .filter(|host| host.is_free(self.spec.calls_per_isolate))
            .max_by_key(|host| *host.used.lock())
            .cloned()
    }

    /// The host that takes the next call, once this one was freed.
    pub(crate) fn next_after(&self, freed: &Arc<Host>) -> Option<Arc<Host>> {
        if self.spec.in_order {
            return self.free();
        }
        freed.is_free(self.spec.calls_per_isolate).then(|| freed.clone())
    }

    /// Whether one more host would serve those that wait sooner. Short calls are served by as many
    /// hosts as there are CPUs; more are started for each host that waits itself, in an
    /// `await`.
    pub(crate) fn wants_host(&self, cpus: usize, now: Instant) -> bool {
        let Some((_, oldest)) = self.waiting.first_key_value() else { return false };
        let waited = now.duration_since(oldest.since);
        let there = self.promised + self.open().count();
        if there == 0 {
            return true;
        }
        let loading = self.hosts.iter().filter(|host| host.state() == HostState::Loading).count();
        let starting = self.promised + loading;
        let patience = if there < cpus && starting == 0 { PATIENCE_FIRST } else { PATIENCE };
        if waited < patience
            || there >= self.spec.isolates_max as usize
            || starting >= self.waiting.len().min(cpus * STARTING_PER_CPU)
        {
            return false;
        }
        // How many hosts must be waiting; each is looked at in /proc, so no more than that are.
        let needed = (there + 1).saturating_sub(cpus).div_ceil(PER_AWAITING);
        self.open().filter(|host| host.awaits()).take(needed).count() == needed
    }

    /// Gives calls that wait to busy hosts ahead, as far as these take them; how many. To the one
    /// that has the fewest first.
    pub(crate) fn give_ahead(&mut self, wait_max: Duration) -> usize {
        if self.spec.in_order || self.spec.calls_per_isolate != 1 {
            return 0;
        }
        let mut given = 0;
        while let Some(oldest) = self.waiting.first_entry() {
            let taking = self
                .hosts
                .iter()
                .filter_map(|host| Some((host.takes_ahead(oldest.get(), wait_max)?, host)));
            let Some((_, host)) = taking.min_by_key(|(there, _)| *there) else { break };
            let (ticket, call) = oldest.remove_entry();
            if let Some(back) = host.begin_next(ticket, call) {
                self.waiting.insert(ticket, back);
                break;
            }
            given += 1;
        }
        given
    }

    pub(crate) fn oldest(&self) -> u64 {
        self.waiting.first_key_value().map_or(u64::MAX, |(ticket, _)| *ticket)
    }

    pub(crate) fn is_unused(&self) -> bool {
        self.hosts.is_empty() && self.waiting.is_empty() && self.promised == 0
    }
}

impl HostPool {
    /// Gives calls that must begin in order to free hosts once the call before has had its time to
    /// begin (`ENTERING_MAX`): no event of a host reports that.
    pub(crate) fn serve_in_order(&mut self) {
        if self.waiting() == 0 {
            return;
        }
        let waits = |isolate: &&Isolate| isolate.spec.in_order && !isolate.waiting.is_empty();
        let free: Vec<_> = self.isolates.values().filter(waits).filter_map(Isolate::free).collect();
        for host in free {
            self.serve(&host);
        }
    }
}
