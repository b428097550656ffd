//! Host pool: the isolates with their hosts, and the rules by which an isolate gets the next
//! process.
//!
//! A call never waits for a particular host. Calls of one isolate wait in one queue, and the host
//! that is ready first takes the oldest: they begin in the order in which they came, also while the
//! first host starts.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::call::UnderWay;
use crate::host::{Ahead, Blank, DrainReason, ExitReason, Host, HostState};
use crate::isolate::Isolate;
use crate::types::{CallFailure, IsolateSpec, RunnerConfig};

/// How long a host must have been idle before it is ended for another isolate: starting one costs
/// more than waiting that long.
pub(crate) const IDLE: Duration = Duration::from_millis(100);
/// How long a call waits before a busy host is retired for it, and how long such a host has then
/// been in use: the time slice of hosts.
const TIME_SLICE: Duration = Duration::from_secs(2);
/// Between two retirements of busy hosts.
const PAUSE: Duration = Duration::from_millis(250);
/// How long the pool believes that the machine has no room for more processes than there were when
/// one could not be started.
const NO_ROOM: Duration = Duration::from_secs(10);
/// The same for an isolate that has fewer hosts than there are CPUs.
pub(crate) const PATIENCE_FIRST: Duration = Duration::from_millis(2);

/// All hosts of a runner, and the calls that wait for one.
pub(crate) struct HostPool {
    /// By organization and id: two organizations share no host, even if a mistake elsewhere gives
    /// them one id.
    pub(crate) isolates: HashMap<IsolateKey, Isolate>,
    pub(crate) blanks: Vec<Blank>,
    waiting_count: usize,
    next_ticket: u64,
    /// When a busy host was last retired for others.
    retired: Option<Instant>,
    /// How many hosts there were when the machine had no room for another, and when that was.
    no_room: Option<(usize, Instant)>,
    /// CPUs that hosts may use.
    cpus: usize,
    /// How long a call may be expected to wait ahead.
    ahead_wait: Duration,
    /// No host starts any more.
    pub(crate) closed: bool,
}

/// Organization and id of an isolate.
pub(crate) type IsolateKey = (String, String);

pub(crate) fn key(spec: &IsolateSpec) -> IsolateKey {
    (spec.organization.clone(), spec.id.clone())
}

/// The isolate, which is made where there is none.
fn of<'a>(
    isolates: &'a mut HashMap<IsolateKey, Isolate>,
    spec: &Arc<IsolateSpec>,
) -> &'a mut Isolate {
    isolates.entry(key(spec)).or_insert_with(|| Isolate::new(spec.clone()))
}

/// A call that waits for a host.
pub(crate) struct QueuedCall {
    pub(crate) since: Instant,
    /// The fields of its frame, after `deadline_ms`.
    pub(crate) fields: Bytes,
    pub(crate) timeout: Duration,
    pub(crate) under_way: UnderWay,
    /// Notified when a host has the call.
    pub(crate) begun: oneshot::Sender<Begun>,
}

/// How the wait of a call ended.
pub(crate) type Begun = Result<(Arc<Host>, u64), CallFailure>;

/// What becomes of a call that asks for a host.
pub(crate) enum Queued {
    /// A host has it.
    Begun,
    /// It waits under this ticket.
    Waits(u64),
    /// Too many calls wait.
    Full,
    Closed,
}

/// What the pool says of the next process.
pub(crate) enum NextHost {
    /// There is room for a host of this isolate.
    Start(Arc<IsolateSpec>),
    /// There is, once a process has ended.
    StartAfter(Arc<IsolateSpec>, End),
    Nothing,
}

/// The end of a process, which then gives back all that it had.
pub(crate) enum End {
    Host(Arc<Host>),
    Blank(Box<Blank>),
}

impl End {
    pub(crate) async fn come(self) {
        match self {
            Self::Host(host) => host.exited().await,
            Self::Blank(blank) => blank.end().await,
        }
    }
}

impl HostPool {
    pub(crate) fn new(cpus: usize, ahead_wait: Duration) -> Self {
        Self {
            isolates: HashMap::new(),
            blanks: Vec::new(),
            waiting_count: 0,
            next_ticket: 0,
            retired: None,
            no_room: None,
            cpus,
            ahead_wait,
            closed: false,
        }
    }

    /// All hosts with an isolate.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &Arc<Host>> {
        self.isolates.values().flat_map(|isolate| &isolate.hosts)
    }

    /// Hosts that there are or will be.
    pub(crate) fn count(&self) -> usize {
        self.isolates.values().map(|isolate| isolate.hosts.len() + isolate.promised).sum()
    }

    /// Calls that wait for a host.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting_count
    }

    /// Gives a call to a free host of its isolate, or queues it behind those that wait.
    pub(crate) fn enqueue(
        &mut self,
        spec: &Arc<IsolateSpec>,
        call: QueuedCall,
        config: &RunnerConfig,
    ) -> Queued {
        if self.closed {
            return Queued::Closed;
        }
        let isolate = of(&mut self.isolates, spec);
        isolate.spec = spec.clone();
        let mut call = call;
        if isolate.waiting.is_empty() {
            while let Some(host) = isolate.free() {
                match host.begin(call) {
                    None => return Queued::Begun,
                    // It ends; it was free a moment ago.
                    Some(back) => call = back,
                }
            }
        }
        if self.waiting_count >= config.waiting_max {
            return Queued::Full;
        }
        self.next_ticket += 1;
        self.waiting_count += 1;
        isolate.waiting.insert(self.next_ticket, call);
        self.waiting_count -= isolate.give_ahead(self.ahead_wait);
        Queued::Waits(self.next_ticket)
    }

    /// Puts a call back into its queue that a host had ahead and did not begin. It keeps its place
    /// there.
    pub(crate) fn requeue(&mut self, host: &Arc<Host>, back: Ahead) {
        // Its caller may have gone away.
        if self.closed || back.call.begun.is_closed() {
            return;
        }
        let spec = host.spec();
        let isolate = of(&mut self.isolates, spec);
        self.waiting_count += 1;
        isolate.waiting.insert(back.ticket, back.call);
        if let Some(free) = isolate.free() {
            self.serve(&free);
        }
    }

    /// Takes a call out of its queue: its caller is gone.
    pub(crate) fn leave(&mut self, isolate: &IsolateKey, ticket: u64) {
        if let Some(of) = self.isolates.get_mut(isolate) {
            match of.waiting.remove(&ticket) {
                Some(_) => self.waiting_count -= 1,
                None => of.hosts.iter().for_each(|host| host.ask_back(ticket)),
            }
            if of.is_unused() {
                self.isolates.remove(isolate);
            }
        }
    }

    /// A host can take calls: it takes the oldest that wait. Where calls begin in order, the call
    /// before them may have begun in it, or never will: then any host takes the oldest.
    pub(crate) fn serve(&mut self, host: &Arc<Host>) {
        let Some(isolate) = self.isolates.get_mut(&host.isolate) else { return };
        while !isolate.waiting.is_empty()
            && let Some(host) = isolate.next_after(host)
        {
            let Some((ticket, call)) = isolate.waiting.pop_first() else { return };
            match host.begin(call) {
                None => self.waiting_count -= 1,
                Some(back) => {
                    isolate.waiting.insert(ticket, back);
                    return;
                }
            }
        }
        self.waiting_count -= isolate.give_ahead(self.ahead_wait);
    }

    /// Fails all calls that wait for an isolate.
    pub(crate) fn fail(&mut self, isolate: &IsolateKey, failure: &CallFailure) {
        let Some(of) = self.isolates.get_mut(isolate) else { return };
        for call in std::mem::take(&mut of.waiting).into_values() {
            self.waiting_count -= 1;
            // Its caller may be gone.
            let _ = call.begun.send(Err(failure.clone()));
        }
        if of.is_unused() {
            self.isolates.remove(isolate);
        }
    }

    pub(crate) fn remove(&mut self, host: &Arc<Host>) {
        if let Some(isolate) = self.isolates.get_mut(&host.isolate) {
            isolate.hosts.retain(|h| !Arc::ptr_eq(h, host));
            if isolate.is_unused() {
                self.isolates.remove(&host.isolate);
            }
        }
    }

    /// Takes hosts out of the pool that take no more calls: those with a call end with it, the
    /// others at once.
    pub(crate) fn retire(&mut self, host: &Arc<Host>) {
        self.remove(host);
        host.drain(DrainReason::Retired);
        if host.is_idle() {
            host.kill(ExitReason::Ended);
        }
    }

    /// Adds a host that starts.
    pub(crate) fn add(&mut self, spec: &Arc<IsolateSpec>, host: Arc<Host>) {
        let isolate = of(&mut self.isolates, spec);
        isolate.hosts.push(host);
    }

    /// Ends a promise of [`NextHost::StartAfter`].
    pub(crate) fn promise_over(&mut self, isolate: &IsolateKey) {
        if let Some(of) = self.isolates.get_mut(isolate) {
            of.promised = of.promised.saturating_sub(1);
            if of.is_unused() {
                self.isolates.remove(isolate);
            }
        }
    }

    /// The idle host unused for longest, of any isolate, or of those of one organization.
    fn idlest(&self, organization: Option<&str>) -> Option<Arc<Host>> {
        let hosts = self.hosts().filter(|h| organization.is_none_or(|o| h.organization == o));
        hosts
            .filter(|h| {
                h.state() != HostState::Loading && h.is_idle() && h.used.lock().elapsed() >= IDLE
            })
            .min_by_key(|h| *h.used.lock())
            .cloned()
    }

    /// Retires a busy host for those that wait: the one that has been in use for longest, of the
    /// organization given, or of the one with the most hosts. No more of them at once than isolates
    /// wait, nor than a quarter. Gives one that is idle already.
    fn retire_busy(&mut self, organization: Option<&str>, now: Instant) -> Option<Arc<Host>> {
        if self.retired.is_some_and(|at| now.duration_since(at) < PAUSE) {
            return None;
        }
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for host in self.hosts() {
            *counts.entry(&host.organization).or_default() += 1;
        }
        let most = || counts.iter().max_by_key(|(_, count)| **count).map(|(of, _)| *of);
        let of = organization.or_else(most)?;
        let leaving = self
            .hosts()
            .filter(|h| {
                h.organization == of && h.state() == HostState::Draining(DrainReason::Replaced)
            })
            .count();
        let own = counts.get(of).copied().unwrap_or_default();
        let waiting = self.isolates.values().filter(|isolate| !isolate.waiting.is_empty()).count();
        if leaving >= waiting || leaving >= (own / 4).max(1) {
            return None;
        }
        let may = self
            .hosts()
            .filter(|h| h.organization == of)
            .filter_map(|h| Some((h.replaceable_since()?, h)));
        let host = may
            .filter(|(since, _)| now.duration_since(*since) >= TIME_SLICE)
            .min_by_key(|(since, _)| *since)
            .map(|(_, host)| host.clone())?;
        self.retired = Some(now);
        host.drain(DrainReason::Replaced);
        host.is_idle().then_some(host)
    }

    fn hosts_of(&self, organization: &str) -> usize {
        let of = self.isolates.values().filter(|isolate| isolate.spec.organization == organization);
        of.map(|isolate| isolate.hosts.len() + isolate.promised).sum()
    }

    /// The machine has no room for another host: for a while there are no more than there are now.
    pub(crate) fn no_more_room(&mut self) {
        self.no_room = Some((self.count(), Instant::now()));
    }

    /// How many hosts the machine has room for, where it had none for more a short time ago.
    pub(crate) fn has_no_more_room(&self) -> Option<usize> {
        self.no_room.filter(|(_, at)| at.elapsed() < NO_ROOM).map(|(count, _)| count)
    }

    /// How many hosts there may be.
    fn room(&self, config: &RunnerConfig) -> usize {
        self.has_no_more_room().map_or(config.hosts_max, |count| count.clamp(1, config.hosts_max))
    }

    /// Whether there is no room for another host of an organization, and whose idle host would make
    /// room: anybody's, or one of its own, where it has all that it may have. A quarter of all
    /// hosts is kept for others.
    fn is_full<'a>(&self, organization: &'a str, config: &RunnerConfig) -> (bool, Option<&'a str>) {
        let is_own_full = self.hosts_of(organization) >= config.hosts_max - config.hosts_max / 4;
        (is_own_full || self.count() >= self.room(config), is_own_full.then_some(organization))
    }

    /// The isolate that gets the next host: of those that want one, first of the organizations with
    /// the fewest hosts, then the one whose call waits for longest.
    pub(crate) fn next_host(&mut self, config: &RunnerConfig) -> NextHost {
        if self.closed {
            return NextHost::Nothing;
        }
        let now = Instant::now();
        let wanting = self.isolates.values().filter(|isolate| isolate.wants_host(self.cpus, now));
        let mut wanting: Vec<_> = wanting
            .map(|i| (self.hosts_of(&i.spec.organization), i.oldest(), i.spec.clone()))
            .collect();
        wanting.sort_by_key(|(hosts, oldest, _)| (*hosts, *oldest));
        for (_, oldest, spec) in wanting {
            let (is_full, whose) = self.is_full(&spec.organization, config);
            if !is_full {
                return NextHost::Start(spec);
            }
            let has_waited = self
                .isolates
                .get(&key(&spec))
                .and_then(|i| i.waiting.get(&oldest))
                .is_some_and(|call| now.duration_since(call.since) >= TIME_SLICE);
            let ending = self
                .idlest(whose)
                .or_else(|| if has_waited { self.retire_busy(whose, now) } else { None });
            if let Some(ending) = ending {
                self.retire(&ending);
                if self.has_no_more_room().is_none() {
                    return NextHost::Start(spec);
                }
                return self.start_after(&spec, End::Host(ending.clone()));
            }
        }
        NextHost::Nothing
    }

    /// Promises a host that starts once a process has ended.
    pub(crate) fn start_after(&mut self, spec: &Arc<IsolateSpec>, end: End) -> NextHost {
        if let Some(isolate) = self.isolates.get_mut(&key(spec)) {
            isolate.promised += 1;
        }
        NextHost::StartAfter(spec.clone(), end)
    }

    /// Nobody waits any more: their receivers end.
    pub(crate) fn close(&mut self) -> (Vec<Arc<Host>>, Vec<Blank>) {
        self.closed = true;
        self.waiting_count = 0;
        let hosts = std::mem::take(&mut self.isolates)
            .into_values()
            .flat_map(|isolate| isolate.hosts)
            .collect();
        (hosts, std::mem::take(&mut self.blanks))
    }
}
