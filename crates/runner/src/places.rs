//! Who gets which host: the hosts there are, and those who wait for a place in one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::death::Death;
use crate::host::{Blank, Host, Load};
use crate::types::{IsolateSpec, RunnerConfig};

/// How long a host has to have had nothing to do before it makes room for another's: to start one costs more than to wait that long.
pub(crate) const IDLE: Duration = Duration::from_millis(100);
/// Where none has nothing to do: how long one waits until another makes room for it, and how long that one has then had its own.
const TURN: Duration = Duration::from_secs(2);
/// Between two that make room.
const PAUSE: Duration = Duration::from_millis(250);
/// How long it is believed that the machine has no room for more hosts than there were when another could not be started.
const NO_ROOM: Duration = Duration::from_secs(10);

/// All hosts of a runner.
#[derive(Default)]
pub(crate) struct Pool {
    /// By isolate.
    pub(crate) hosts: HashMap<String, Vec<Arc<Host>>>,
    pub(crate) blanks: Vec<Blank>,
    /// By isolate, so that a place goes to one who can use it.
    waiting: HashMap<String, Queue>,
    waiting_count: usize,
    next_ticket: u64,
    /// When a busy host was last told to make room.
    made_room: Option<Instant>,
    /// Those who were woken and have yet to look, and their organizations: what is free is theirs.
    woken: HashMap<u64, String>,
    /// How many there were when the machine had no room for another, and when that was.
    no_room: Option<(usize, Instant)>,
    /// Nothing starts any more.
    pub(crate) closed: bool,
}

/// Those who wait for a place in a host of one isolate, by ticket: the oldest first.
struct Queue {
    spec: Arc<IsolateSpec>,
    tickets: BTreeMap<u64, oneshot::Sender<()>>,
}

/// What the pool says to one who wants a host.
pub(crate) enum Offer {
    /// A place in it is taken.
    Host(Arc<Host>),
    /// There is room for another host.
    Start,
    /// There is for the holder of this ticket, once a process has ended that makes room for it.
    StartAfter(u64, End),
    /// To be woken; the ticket keeps the turn of one who is woken in vain.
    Wait(u64, oneshot::Receiver<()>),
    Full,
    Closed,
}

/// The end of a process, which then gives back all that it had.
pub(crate) enum End {
    Host(watch::Receiver<Load>),
    Blank(Box<Blank>),
}

impl End {
    pub(crate) async fn come(self) {
        match self {
            // Its life holds the sender to the last.
            Self::Host(mut load) => while load.changed().await.is_ok() {},
            Self::Blank(blank) => blank.end().await,
        }
    }
}

impl Pool {
    pub(crate) fn count(&self) -> usize {
        self.hosts.values().map(Vec::len).sum()
    }

    /// How many wait for a place.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting_count
    }

    /// The idle host unused for longest, of any isolate, or of those of one organization.
    fn idlest(&self, organization: Option<&str>) -> Option<Arc<Host>> {
        let hosts = self.hosts.values().flatten().filter(|h| organization.is_none_or(|o| h.organization == o));
        let idle = hosts.filter(|h| h.taken.load(Ordering::SeqCst) == 0 && h.used.lock().elapsed() >= IDLE);
        idle.min_by_key(|h| *h.used.lock()).cloned()
    }

    /// However busy all are, one after the other makes room for those that wait: whoever has had its room for longest takes no new calls, and ends with
    /// those that it has. Of the organization, or of the one with the most hosts; no more of them at once than are waited for, nor than a quarter. Gives one
    /// that had none, and ends at once.
    fn make_room(&mut self, organization: Option<&str>) -> Option<Arc<Host>> {
        let now = Instant::now();
        if self.made_room.is_some_and(|at| now.duration_since(at) < PAUSE) {
            return None;
        }
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for host in self.hosts.values().flatten() {
            *counts.entry(&host.organization).or_default() += 1;
        }
        let most = || counts.iter().max_by_key(|(_, count)| **count).map(|(organization, _)| *organization);
        let of = organization.or_else(most)?;
        let of_all = self.hosts.values().flatten().filter(|h| h.organization == of);
        let leaving = of_all.clone().filter(|h| h.makes_room.load(Ordering::SeqCst)).count();
        let own = counts.get(of).copied().unwrap_or_default();
        // Whoever asks is not among those that wait.
        if leaving > self.waiting.len() || leaving >= (own / 4).max(1) {
            return None;
        }
        let longest =
            of_all.filter_map(|h| Some((h.may_make_room()?, h))).filter(|(since, _)| now.duration_since(*since) >= TURN).min_by_key(|(since, _)| *since);
        let host = longest.map(|(_, host)| host.clone())?;
        self.made_room = Some(now);
        host.makes_room.store(true, Ordering::SeqCst);
        host.retiring.store(true, Ordering::SeqCst);
        (host.taken.load(Ordering::SeqCst) == 0).then_some(host)
    }

    pub(crate) fn remove(&mut self, host: &Arc<Host>) {
        if let Some(hosts) = self.hosts.get_mut(&host.isolate) {
            hosts.retain(|h| !Arc::ptr_eq(h, host));
            if hosts.is_empty() {
                self.hosts.remove(&host.isolate);
            }
        }
    }

    /// The open host of an isolate with the fewest calls, and how many open ones there are.
    fn best(&self, spec: &IsolateSpec) -> (Option<&Arc<Host>>, usize) {
        // The organization is compared although ids of isolates are unique: no mistake elsewhere may let two share a process.
        let open = self.hosts.get(&spec.id).into_iter().flatten();
        let open = open.filter(|h| !h.retiring.load(Ordering::SeqCst) && h.organization == spec.organization);
        let (mut best, mut count) = (None::<&Arc<Host>>, 0);
        for host in open {
            count += 1;
            if best.is_none_or(|b| host.taken.load(Ordering::SeqCst) < b.taken.load(Ordering::SeqCst)) {
                best = Some(host);
            }
        }
        (best.filter(|h| h.taken.load(Ordering::SeqCst) < spec.calls_max), count)
    }

    fn hosts_of(&self, organization: &str) -> usize {
        self.hosts.values().flatten().filter(|h| h.organization == organization).count()
    }

    /// The machine has no room for another host: what idle ones have is all that there is, for a while.
    pub(crate) fn no_more_room(&mut self) {
        self.no_room = Some((self.count(), Instant::now()));
    }

    /// Whether that is believed, and of how many.
    pub(crate) fn has_no_more_room(&self) -> Option<usize> {
        self.no_room.filter(|(_, at)| at.elapsed() < NO_ROOM).map(|(count, _)| count)
    }

    /// How many hosts there may be.
    fn room(&self, config: &RunnerConfig) -> usize {
        self.has_no_more_room().map_or(config.hosts_max, |count| count.clamp(1, config.hosts_max))
    }

    /// Whether there is no room for another host of this isolate; and whose idle host would make room: anybody's, or one of its organization's,
    /// which has all that it may have. A quarter of all hosts is kept for others.
    fn is_full<'a>(&self, spec: &'a IsolateSpec, config: &RunnerConfig) -> (bool, Option<&'a str>) {
        let own = self.hosts_of(&spec.organization) + self.woken.values().filter(|o| **o == spec.organization).count();
        let is_own_full = own >= config.hosts_max - config.hosts_max / 4;
        (is_own_full || self.count() + self.woken.len() >= self.room(config), is_own_full.then_some(spec.organization.as_str()))
    }

    /// Whether one who wants a host of this isolate would get one.
    fn has_place(&self, spec: &IsolateSpec, config: &RunnerConfig) -> bool {
        let (best, count) = self.best(spec);
        best.is_some() || (count < spec.hosts_max as usize && (!self.is_full(spec, config).0 || self.idlest(self.is_full(spec, config).1).is_some()))
    }

    /// `ticket`: of one who waited already, since then, and keeps its turn.
    pub(crate) fn offer(&mut self, spec: &Arc<IsolateSpec>, config: &RunnerConfig, ticket: Option<(u64, Instant)>) -> Offer {
        if self.closed {
            return Offer::Closed;
        }
        if let Some((ticket, _)) = ticket {
            self.leave(&spec.id, ticket);
        }
        // A newcomer does not overtake those who wait for the same isolate.
        let behind = ticket.is_none() && self.waiting.contains_key(&spec.id);
        if !behind {
            let (best, count) = self.best(spec);
            if let Some(host) = best {
                host.taken.fetch_add(1, Ordering::SeqCst);
                return Offer::Host(host.clone());
            }
            if count < spec.hosts_max as usize {
                let (is_full, whose) = self.is_full(spec, config);
                if !is_full {
                    return Offer::Start;
                }
                let has_waited = ticket.is_some_and(|(_, since)| since.elapsed() >= TURN);
                let ending = self.idlest(whose).or_else(|| if has_waited { self.make_room(whose) } else { None });
                if let Some(ending) = ending {
                    self.remove(&ending);
                    ending.kill(Death::Ended);
                    if self.has_no_more_room().is_none() {
                        return Offer::Start;
                    }
                    return self.start_after(spec, ticket, End::Host(ending.load.clone()));
                }
            }
        }
        if ticket.is_none() && self.waiting_count >= config.waiting_max {
            return Offer::Full;
        }
        let ticket = self.ticket(ticket);
        let (wake, woken) = oneshot::channel();
        let queue = self.waiting.entry(spec.id.clone()).or_insert_with(|| Queue { spec: spec.clone(), tickets: BTreeMap::new() });
        queue.tickets.insert(ticket, wake);
        self.waiting_count += 1;
        if behind {
            self.wake_one(config);
        }
        Offer::Wait(ticket, woken)
    }

    /// What ends is in the way no longer, and its room is for whoever this is said to.
    pub(crate) fn start_after(&mut self, spec: &IsolateSpec, ticket: Option<(u64, Instant)>, end: End) -> Offer {
        let ticket = self.ticket(ticket);
        self.woken.insert(ticket, spec.organization.clone());
        Offer::StartAfter(ticket, end)
    }

    /// The one that somebody has already, or a new one.
    fn ticket(&mut self, ticket: Option<(u64, Instant)>) -> u64 {
        ticket.map_or_else(
            || {
                self.next_ticket += 1;
                self.next_ticket
            },
            |(ticket, _)| ticket,
        )
    }

    /// Whether nobody has waited for the isolate for longer.
    pub(crate) fn is_first(&self, isolate: &str, ticket: u64) -> bool {
        self.waiting.get(isolate).and_then(|queue| queue.tickets.first_key_value()).is_some_and(|(first, _)| *first == ticket)
    }

    /// Takes a ticket out of its queue: who held it got a place or gave up.
    pub(crate) fn leave(&mut self, isolate: &str, ticket: u64) {
        self.woken.remove(&ticket);
        if let Some(queue) = self.waiting.get_mut(isolate) {
            if queue.tickets.remove(&ticket).is_some() {
                self.waiting_count -= 1;
            }
            if queue.tickets.is_empty() {
                self.waiting.remove(isolate);
            }
        }
    }

    /// Wakes the one who waited longest of those for whom there is a place, first of the organizations with the fewest hosts: a place in one isolate's
    /// host is of no use to another's call.
    pub(crate) fn wake_one(&mut self, config: &RunnerConfig) {
        loop {
            let oldest = |queue: &Queue| queue.tickets.first_key_value().map_or(u64::MAX, |(ticket, _)| *ticket);
            let servable = self.waiting.values().filter(|q| self.has_place(&q.spec, config));
            let turns = servable.map(|q| (self.hosts_of(&q.spec.organization), oldest(q), q.spec.clone()));
            let Some((_, ticket, spec)) = turns.min_by_key(|(hosts, ticket, _)| (*hosts, *ticket)) else { return };
            let wake = self.waiting.get_mut(&spec.id).and_then(|q| q.tickets.remove(&ticket));
            if wake.is_some() {
                self.waiting_count -= 1;
            }
            self.leave(&spec.id, ticket);
            if wake.is_some_and(|w| w.send(()).is_ok()) {
                self.woken.insert(ticket, spec.organization.clone());
                return;
            }
        }
    }

    /// Nobody waits any more: their receivers end, and they find the pool closed.
    pub(crate) fn close(&mut self) -> (Vec<Arc<Host>>, Vec<Blank>) {
        self.closed = true;
        self.waiting.clear();
        self.woken.clear();
        self.waiting_count = 0;
        (std::mem::take(&mut self.hosts).into_values().flatten().collect(), std::mem::take(&mut self.blanks))
    }
}
