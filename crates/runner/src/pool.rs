//! The runner: it gives calls to hosts, starts hosts, and ends them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use millrace_walls::folders::clear;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::call::{Ended, UnderWay};
use crate::death::{self, Death, lacks_room};
use crate::host::{Blank, Host, Load, NotGiven};
use crate::node::check_node;
use crate::outgoing::{self, Outgoing};
use crate::places::{End, IDLE, Offer, Pool};
use crate::sandbox::{ControlGroups, Sandbox, WallReport, Walls, check, probe, trial};
use crate::shares::Shares;
use crate::types::{Call, CallFailure, CallOutcome, EffectSink, IsolateSpec, RunnerConfig, RunnerStats, StartError};
use crate::wire;

/// How long a host has to show that its event loop turns.
const CANCEL_GRACE: Duration = Duration::from_millis(250);
/// A timer that is so late is of a server that stood still: it was stopped, or the machine was.
const STOOD_STILL: Duration = Duration::from_secs(1);
/// How long such a server takes to read what came meanwhile.
const CATCH_UP: Duration = Duration::from_secs(1);
/// How often idle hosts are looked for, at least.
const SWEEP: Duration = Duration::from_secs(10);
/// The age at which a blank host is replaced.
const BLANK_AGE_MAX: Duration = Duration::from_secs(600);
/// How often another host is tried for a call whose host died before it had the call.
const HOSTS_TRIED: u32 = 3;
/// How long shutting down waits until the processes are gone.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs calls in hosts. Cheap to clone.
#[derive(Clone)]
pub struct Runner(Arc<Inner>);

struct Inner {
    config: RunnerConfig,
    script: PathBuf,
    sandbox: Sandbox,
    pool: Mutex<Pool>,
    refilling: AtomicBool,
    /// The lives of the hosts' processes.
    lives: TaskTracker,
    shares: Arc<Shares>,
}

impl Runner {
    /// Checks Node and the walls, writes the runtime to its file and starts the blank hosts.
    ///
    /// # Errors
    /// Where Node is missing or too old, the scratch folder cannot be written, a required wall is missing, or Node does not run within them.
    pub async fn start(config: RunnerConfig) -> Result<Self, StartError> {
        let walls = check(config.walls, probe())?;
        let node = check_node(&config.node).await?;
        let scratch = |source| StartError::Scratch { path: config.scratch_dir.clone(), source };
        // What an earlier process left there is of no use.
        let left = config.scratch_dir.clone();
        let _ = tokio::task::spawn_blocking(move || clear(&left)).await;
        tokio::fs::create_dir_all(&config.scratch_dir).await.map_err(scratch)?;
        // Hosts have another working directory.
        let scratch_dir = tokio::fs::canonicalize(&config.scratch_dir).await.map_err(scratch)?;
        let script = scratch_dir.join("host.mjs");
        tokio::fs::write(&script, &config.host_script).await.map_err(scratch)?;
        let thread_script = scratch_dir.join("worker.cjs");
        tokio::fs::write(&thread_script, &config.thread_script).await.map_err(scratch)?;
        let groups = if config.walls == Walls::Off { None } else { ControlGroups::find().map(Arc::new) };
        if let Some(groups) = &groups {
            tracing::info!(limits = groups.limits().join(", "), "each host gets a control group");
        }
        let mut sandbox = Sandbox {
            node,
            walls,
            thread_script: Some(thread_script),
            scratch_dir,
            file_bytes_max: config.tmp_bytes_max,
            egress: config.egress.clone(),
            groups,
        };
        if config.walls != Walls::Off {
            let tried = trial(&sandbox).await;
            if tried.is_err() && config.walls == Walls::BestEffort && sandbox.walls.egress {
                // The kernel has what the guard needs, but what confines this server may keep it from looking into its hosts.
                sandbox.walls.egress = false;
                trial(&sandbox).await?;
            } else {
                tried?;
            }
        }
        let inner =
            Inner { config, script, sandbox, pool: Mutex::default(), refilling: AtomicBool::new(false), lives: TaskTracker::new(), shares: Arc::default() };
        let runner = Self(Arc::new(inner));
        runner.refill();
        runner.spawn_sweeper();
        Ok(runner)
    }

    /// The walls that stand around hosts.
    pub fn walls(&self) -> WallReport {
        self.0.sandbox.walls
    }

    /// Where control groups are made, if anywhere: for other processes that strangers' code is read in.
    pub fn control_groups(&self) -> Option<Arc<ControlGroups>> {
        self.0.sandbox.groups.clone()
    }

    /// Runs a call in a host of its isolate; waits for one where all are busy. The wait does not count into the call's time.
    pub async fn call(&self, isolate: Arc<IsolateSpec>, call: Call, sink: Arc<dyn EffectSink>) -> CallOutcome {
        let failed = |failure| CallOutcome { result: Err(failure), duration: Duration::ZERO };
        let (mut fields, mut tried) = (outgoing::fields(call.body), 0);
        while tried < HOSTS_TRIED {
            let host = match self.take_host(&isolate).await {
                Ok(host) => host,
                Err(failure) => return failed(failure),
            };
            let place = Place { runner: self, host };
            if let Err(failure) = loaded(&place.host, self.0.config.load_timeout).await {
                place.host.kill(Death::Ended);
                return failed(failure);
            }
            let started = Instant::now();
            // A host may die between two calls, or be evicted while it loads: then the next call has lost nothing, and goes to another one.
            match self.call_in(&place.host, &mut fields, call.timeout, sink.clone()).await {
                Ok(result) => {
                    *place.host.used.lock() = Instant::now();
                    return CallOutcome { result, duration: started.elapsed() };
                }
                Err(NotGiven::Gone) => tried += 1,
                Err(NotGiven::Evicted) => {}
            }
        }
        failed(Death::Ended.failure(None))
    }

    async fn call_in(&self, host: &Arc<Host>, fields: &mut Bytes, timeout: Duration, sink: Arc<dyn EffectSink>) -> Result<Ended, NotGiven> {
        let config = &self.0.config;
        let (end, ended) = oneshot::channel();
        let under_way = UnderWay::new(sink.clone(), end, config.log_bytes_max, config.result_bytes_max);
        let rest = fields.clone();
        let frame = |id: u64| Outgoing::new(wire::head(&format!(r#"{{"t":"call","id":{id},"deadline_ms":{},"#, timeout.as_millis()), rest.len()), rest);
        // Said first: from the moment in which the host takes it, none that begins may overlook it.
        sink.given();
        let id = match host.start(under_way, frame).await {
            Ok(id) => {
                // The host has it: a call may take minutes.
                *fields = Bytes::new();
                id
            }
            Err(not_given) => {
                sink.taken_back();
                return Err(not_given);
            }
        };
        Ok(match in_time(timeout, ended).await {
            Some(Ok(ended)) => ended,
            Some(Err(_)) => Err(Death::Ended.failure(None)),
            None => {
                // It may have ended in this very moment: then its end was lost with the receiver, and it counts as late.
                let step = host.give_up(id).and_then(|c| c.step());
                self.retire_after_timeout(host, id).await;
                Err(death::timed_out(timeout, step))
            }
        })
    }

    /// A host with a call that never ended takes no new ones; it is ended at once if its event loop is blocked or nobody else is in it.
    async fn retire_after_timeout(&self, host: &Arc<Host>, id: u64) {
        host.retiring.store(true, Ordering::SeqCst);
        if host.calls() == 0 {
            host.kill(Death::Ended);
            return;
        }
        let answered = host.cancel(id).await;
        if tokio::time::timeout(CANCEL_GRACE, answered).await.is_err() {
            host.kill(Death::Blocked);
        }
    }

    async fn take_host(&self, spec: &Arc<IsolateSpec>) -> Result<Arc<Host>, CallFailure> {
        let mut turn = Turn { runner: self, isolate: &spec.id, ticket: None };
        let since = Instant::now();
        loop {
            let offer = {
                let mut pool = self.0.pool.lock();
                let ticket = turn.ticket.take().map(|ticket| (ticket, since));
                match pool.offer(spec, &self.0.config, ticket) {
                    Offer::Start => self.start_host_or_wait(&mut pool, spec, ticket)?,
                    other => other,
                }
            };
            match offer {
                Offer::Host(host) => return Ok(host),
                Offer::Wait(ticket, mut woken) => {
                    turn.ticket = Some(ticket);
                    // Who is woken looks again, also where the pool was closed; and so does the first, for a host becomes idle by the clock alone.
                    while tokio::time::timeout(IDLE, &mut woken).await.is_err() && !self.0.pool.lock().is_first(&spec.id, ticket) {}
                }
                Offer::StartAfter(ticket, end) => {
                    turn.ticket = Some(ticket);
                    end.come().await;
                }
                Offer::Full | Offer::Start => return Err(death::overloaded()),
                Offer::Closed => return Err(Death::Ended.failure(None)),
            }
        }
    }

    /// Where the machine has no room for another host, those that are not needed make it: a blank one, which would be of no use for this isolate, or one that
    /// has nothing to do.
    fn start_host_or_wait(&self, pool: &mut Pool, spec: &Arc<IsolateSpec>, ticket: Option<(u64, Instant)>) -> Result<Offer, CallFailure> {
        match self.start_host(pool, spec) {
            Ok(host) => Ok(Offer::Host(host)),
            Err(error) if lacks_room(&error) => match pool.blanks.pop() {
                Some(blank) => Ok(pool.start_after(spec, ticket, End::Blank(Box::new(blank)))),
                None if pool.count() > 0 => {
                    if pool.has_no_more_room().is_none() {
                        let hosts = pool.count();
                        tracing::warn!(
                            %error,
                            hosts,
                            "the machine has no room for another process; those with nothing to do make room, and runs may wait: raise what is short, \
                             descriptors (`ulimit -n`), processes (`ulimit -u`) or memory"
                        );
                    }
                    pool.no_more_room();
                    Ok(pool.offer(spec, &self.0.config, ticket))
                }
                None => Err(Death::not_started(&error).failure(None)),
            },
            Err(error) => Err(Death::not_started(&error).failure(None)),
        }
    }

    fn start_host(&self, pool: &mut Pool, spec: &IsolateSpec) -> std::io::Result<Arc<Host>> {
        let heap_mb = spec.memory_mb.unwrap_or(self.0.config.heap_mb_default);
        let mut blank = None;
        while let Some(position) = pool.blanks.iter().position(|b| b.heap_mb == heap_mb) {
            let mut candidate = pool.blanks.swap_remove(position);
            if candidate.alive() {
                blank = Some(candidate);
                break;
            }
        }
        let blank = match blank {
            Some(blank) => blank,
            None => self.start_blank(heap_mb)?,
        };
        let (runner, isolate) = (self.clone(), spec.id.clone());
        let host = blank.assign(spec, &self.0.config, &self.0.lives, &self.0.shares, move || runner.host_ended(&isolate));
        pool.hosts.entry(spec.id.clone()).or_default().push(host.clone());
        self.refill();
        Ok(host)
    }

    fn start_blank(&self, heap_mb: u32) -> std::io::Result<Blank> {
        Ok(Blank::new(self.0.sandbox.launch(&self.0.script, heap_mb)?, heap_mb))
    }

    /// Starts blank hosts, a little later than they are missed, so that the call which took one goes first.
    fn refill(&self) {
        if self.0.refilling.swap(true, Ordering::SeqCst) {
            return;
        }
        let runner = self.clone();
        tokio::spawn(async move {
            // Where the machine has no room for more, what there is goes to those who wait for it.
            let missing = |pool: &Pool| !pool.closed && pool.blanks.len() < runner.0.config.blank_hosts && pool.has_no_more_room().is_none();
            loop {
                tokio::time::sleep(Duration::from_millis(20)).await;
                {
                    // Said under the lock: who takes a blank afterwards starts another refill.
                    let pool = runner.0.pool.lock();
                    if !missing(&pool) {
                        runner.0.refilling.store(false, Ordering::SeqCst);
                        return;
                    }
                }
                match runner.start_blank(runner.0.config.heap_mb_default) {
                    Ok(blank) => {
                        let mut pool = runner.0.pool.lock();
                        if missing(&pool) {
                            pool.blanks.push(blank);
                        }
                    }
                    Err(error) => {
                        tracing::warn!(error = %error, "could not start a host");
                        runner.0.refilling.store(false, Ordering::SeqCst);
                        return;
                    }
                }
            }
        });
    }

    fn host_ended(&self, isolate: &str) {
        let mut pool = self.0.pool.lock();
        if let Some(hosts) = pool.hosts.get_mut(isolate) {
            hosts.retain(|h| !h.retiring.load(Ordering::SeqCst) || h.taken.load(Ordering::SeqCst) > 0);
            if hosts.is_empty() {
                pool.hosts.remove(isolate);
            }
        }
        pool.wake_one(&self.0.config);
    }

    /// Ends the hosts of an isolate: those with calls when these are over; none takes new ones.
    pub async fn evict(&self, isolate_id: &str) {
        self.evict_those(isolate_id, |_| true);
    }

    /// As [`Self::evict`], but leaves hosts that have yet to ask for what is stored.
    pub async fn evict_begun(&self, isolate_id: &str) {
        self.evict_those(isolate_id, |host| !matches!(*host.load.borrow(), Load::Waiting));
    }

    fn evict_those(&self, isolate_id: &str, which: impl Fn(&Host) -> bool) {
        let mut pool = self.0.pool.lock();
        let of_isolate = pool.hosts.get(isolate_id).into_iter().flatten();
        let evicted: Vec<Arc<Host>> = of_isolate.filter(|host| which(host)).cloned().collect();
        for host in evicted {
            pool.remove(&host);
            host.evicted.store(true, Ordering::SeqCst);
            host.retiring.store(true, Ordering::SeqCst);
            if host.taken.load(Ordering::SeqCst) == 0 {
                host.kill(Death::Ended);
            }
        }
        pool.wake_one(&self.0.config);
    }

    /// Ends hosts that are unused for long. Blank ones are made anew from time to time: what they may read is fixed when they start, and a file
    /// such as /etc/resolv.conf may be another one by then.
    fn spawn_sweeper(&self) {
        let inner = Arc::downgrade(&self.0);
        let pause = SWEEP.min(self.0.config.idle_evict / 2).max(Duration::from_millis(1));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(inner) = inner.upgrade() else { return };
                let old: Vec<_> = {
                    let mut pool = inner.pool.lock();
                    if pool.closed {
                        return;
                    }
                    let unused = |h: &&Arc<Host>| h.taken.load(Ordering::SeqCst) == 0 && h.used.lock().elapsed() > inner.config.idle_evict;
                    let idle: Vec<_> = pool.hosts.values().flatten().filter(unused).cloned().collect();
                    for host in idle {
                        pool.remove(&host);
                        host.kill(Death::Ended);
                    }
                    pool.blanks.extract_if(.., |b| b.since.elapsed() > BLANK_AGE_MAX).collect()
                };
                if !old.is_empty() {
                    for blank in old {
                        blank.end().await;
                    }
                    Self(inner).refill();
                }
            }
        });
    }

    /// What is going on.
    pub fn stats(&self) -> RunnerStats {
        let pool = self.0.pool.lock();
        RunnerStats {
            hosts: pool.count(),
            blank_hosts: pool.blanks.len(),
            calls: pool.hosts.values().flatten().map(|h| h.calls()).sum(),
            waiting: pool.waiting(),
        }
    }

    /// Ends all hosts, and waits until their processes are gone. Calls under way are lost with them.
    pub async fn shutdown(&self) {
        let (hosts, blanks) = self.0.pool.lock().close();
        for host in hosts {
            host.kill(Death::Ended);
        }
        for blank in blanks {
            blank.end().await;
        }
        self.0.lives.close();
        if tokio::time::timeout(END_TIMEOUT, self.0.lives.wait()).await.is_err() {
            tracing::warn!("hosts did not end in time; the kernel ends them with the server");
        }
    }
}

/// The turn of one who waits; given up when dropped, so that no wake is lost with one who went away.
struct Turn<'a> {
    runner: &'a Runner,
    isolate: &'a str,
    ticket: Option<u64>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let mut pool = self.runner.0.pool.lock();
            pool.leave(self.isolate, ticket);
            pool.wake_one(&self.runner.0.config);
        }
    }
}

/// A place taken in a host; given back when dropped, also where the caller gives up.
struct Place<'a> {
    runner: &'a Runner,
    host: Arc<Host>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut pool = self.runner.0.pool.lock();
        let left = self.host.taken.fetch_sub(1, Ordering::SeqCst) - 1;
        if left == 0 && (self.host.retiring.load(Ordering::SeqCst) || self.host.slowed.load(Ordering::SeqCst)) {
            pool.remove(&self.host);
            self.host.kill(Death::Ended);
        }
        pool.wake_one(&self.runner.0.config);
    }
}

/// Waits so long; None: it did not come. A server that stood still meanwhile first reads what has come: code that ended in its time has not run over it.
async fn in_time<T>(limit: Duration, what: impl Future<Output = T>) -> Option<T> {
    let until = Instant::now() + limit;
    let mut what = std::pin::pin!(what);
    match tokio::time::timeout_at(until, &mut what).await {
        Ok(came) => Some(came),
        Err(_) if until.elapsed() < STOOD_STILL => None,
        Err(_) => tokio::time::timeout(CATCH_UP, what).await.ok(),
    }
}

async fn loaded(host: &Host, limit: Duration) -> Result<(), CallFailure> {
    let mut load = host.load.clone();
    // As long as it takes: a slow disk is not the code's fault, and what waits here goes on once it has caught up.
    if load.wait_for(|load| !matches!(load, Load::Waiting)).await.is_err() {
        return Err(Death::Ended.failure(None));
    }
    let over = async {
        load.wait_for(Load::is_over).await.map(|load| match &*load {
            Load::Failed(failure) => Err(failure.clone()),
            _ => Ok(()),
        })
    };
    match in_time(limit, over).await {
        Some(Ok(loaded)) => loaded,
        Some(Err(_)) => Err(Death::Ended.failure(None)),
        None => Err(death::not_loaded(limit)),
    }
}
