//! The pool: which host takes a call, when hosts are started, and when they end.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::call::{Ended, UnderWay};
use crate::death::Death;
use crate::host::{Blank, Host, Load};
use crate::sandbox::{Launch, launch};
use crate::types::{Call, CallFailure, CallOutcome, EffectSink, FailureKind, IsolateSpec, RunnerConfig, RunnerStats, StartError};
use crate::wire;

/// The oldest Node that runs components.
const NODE_MAJOR_MIN: u32 = 20;
/// How long a host has to show that its event loop turns.
const CANCEL_GRACE: Duration = Duration::from_millis(250);
/// The longest time that loading may take.
const LOAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How often idle hosts are looked for.
const SWEEP: Duration = Duration::from_secs(10);

static LAST_CALL: AtomicU64 = AtomicU64::new(0);

/// The newest id given to a call: a host that names a greater one forges it.
pub(crate) fn last_call_id() -> u64 {
    LAST_CALL.load(Ordering::SeqCst)
}

/// Runs calls in hosts. Cheap to clone.
#[derive(Clone)]
pub struct Runner(Arc<Inner>);

struct Inner {
    config: RunnerConfig,
    script: PathBuf,
    pool: Mutex<Pool>,
    closed: AtomicBool,
    refilling: AtomicBool,
}

#[derive(Default)]
struct Pool {
    hosts: HashMap<String, Vec<Arc<Host>>>,
    blanks: Vec<Blank>,
    /// Those who wait until a place is free.
    waiting: VecDeque<oneshot::Sender<()>>,
}

/// What the pool says to one who wants a host.
enum Offer {
    Host(Arc<Host>),
    Start,
    Wait(oneshot::Receiver<()>),
    Full,
}

impl Pool {
    fn count(&self) -> usize {
        self.hosts.values().map(Vec::len).sum()
    }

    /// The idle host unused for longest, of any isolate.
    fn idlest(&self) -> Option<Arc<Host>> {
        let idle = self.hosts.values().flatten().filter(|h| h.taken.load(Ordering::SeqCst) == 0);
        idle.min_by_key(|h| *h.used.lock()).cloned()
    }

    fn remove(&mut self, host: &Arc<Host>) {
        if let Some(hosts) = self.hosts.get_mut(&host.isolate) {
            hosts.retain(|h| !Arc::ptr_eq(h, host));
            if hosts.is_empty() {
                self.hosts.remove(&host.isolate);
            }
        }
    }

    fn wake_one(&mut self) {
        while let Some(waiting) = self.waiting.pop_front() {
            if waiting.send(()).is_ok() {
                return;
            }
        }
    }

    fn offer(&mut self, spec: &IsolateSpec, config: &RunnerConfig) -> Offer {
        let open = self.hosts.get(&spec.id).into_iter().flatten().filter(|h| !h.retiring.load(Ordering::SeqCst));
        let (mut best, mut count) = (None::<&Arc<Host>>, 0);
        for host in open {
            count += 1;
            if best.is_none_or(|b| host.taken.load(Ordering::SeqCst) < b.taken.load(Ordering::SeqCst)) {
                best = Some(host);
            }
        }
        if let Some(host) = best.filter(|h| h.taken.load(Ordering::SeqCst) < spec.calls_max) {
            host.taken.fetch_add(1, Ordering::SeqCst);
            return Offer::Host(host.clone());
        }
        if count < spec.hosts_max as usize {
            if self.count() < config.hosts_max {
                return Offer::Start;
            }
            if let Some(idle) = self.idlest() {
                self.remove(&idle);
                idle.kill(Death::Ended);
                return Offer::Start;
            }
        }
        if self.waiting.len() >= config.waiting_max {
            return Offer::Full;
        }
        let (wake, woken) = oneshot::channel();
        self.waiting.push_back(wake);
        Offer::Wait(woken)
    }
}

impl Runner {
    /// Checks Node, writes the runtime to its file and starts the blank hosts.
    pub async fn start(config: RunnerConfig) -> Result<Self, StartError> {
        let node = check_node(&config.node).await?;
        let scratch = |source| StartError::Scratch { path: config.scratch_dir.clone(), source };
        // What an earlier process left there is of no use.
        let _ = tokio::fs::remove_dir_all(&config.scratch_dir).await;
        tokio::fs::create_dir_all(&config.scratch_dir).await.map_err(scratch)?;
        let script = config.scratch_dir.join("host.mjs");
        tokio::fs::write(&script, &config.host_script).await.map_err(scratch)?;
        let config = RunnerConfig { node, ..config };
        let runner = Self(Arc::new(Inner { config, script, pool: Mutex::default(), closed: AtomicBool::new(false), refilling: AtomicBool::new(false) }));
        runner.refill();
        runner.spawn_sweeper();
        Ok(runner)
    }

    /// Runs a call in a host of its isolate; waits for one where all are busy.
    pub async fn call(&self, isolate: Arc<IsolateSpec>, call: Call, sink: Arc<dyn EffectSink>) -> CallOutcome {
        let host = match self.take_host(&isolate).await {
            Ok(host) => host,
            Err(failure) => return CallOutcome { result: Err(failure), duration: Duration::ZERO },
        };
        let place = Place { runner: self, host };
        if let Err(failure) = loaded(&place.host).await {
            place.host.kill(Death::Ended);
            return CallOutcome { result: Err(failure), duration: Duration::ZERO };
        }
        let started = Instant::now();
        let result = self.call_in(&place.host, call, sink).await;
        *place.host.used.lock() = Instant::now();
        CallOutcome { result, duration: started.elapsed() }
    }

    async fn call_in(&self, host: &Arc<Host>, call: Call, sink: Arc<dyn EffectSink>) -> Ended {
        let config = &self.0.config;
        let id = LAST_CALL.fetch_add(1, Ordering::SeqCst) + 1;
        let (end, ended) = oneshot::channel();
        let under_way = UnderWay::new(sink, end, config.log_bytes_max, config.result_bytes_max);
        let tail = call.body.get().trim_start().strip_prefix('{').unwrap_or("}");
        let head = format!(r#"{{"t":"call","id":{id},"deadline_ms":{},"#, call.timeout.as_millis());
        host.start(id, under_way, wire::frame(&[&head, tail])).await;
        match tokio::time::timeout(call.timeout, ended).await {
            Ok(Ok(ended)) => ended,
            Ok(Err(_)) => Err(Death::Ended.failure(None)),
            Err(_) => {
                // It may have ended in this very moment: then its end was lost with the receiver, and it counts as late.
                let step = host.give_up(id).and_then(|c| c.step());
                self.retire_after_timeout(host, id).await;
                Err(timed_out(call.timeout, step))
            }
        }
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

    async fn take_host(&self, spec: &IsolateSpec) -> Result<Arc<Host>, CallFailure> {
        loop {
            if self.0.closed.load(Ordering::SeqCst) {
                return Err(Death::Ended.failure(None));
            }
            let offer = {
                let mut pool = self.0.pool.lock();
                match pool.offer(spec, &self.0.config) {
                    Offer::Start => match self.start_host(&mut pool, spec) {
                        Ok(host) => Offer::Host(host),
                        Err(error) => return Err(Death::NotStarted(error.to_string()).failure(None)),
                    },
                    other => other,
                }
            };
            match offer {
                Offer::Host(host) => return Ok(host),
                // A waiter that is woken looks again.
                Offer::Wait(woken) => drop(woken.await),
                Offer::Full | Offer::Start => return Err(overloaded()),
            }
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
        let host = blank.assign(spec, &self.0.config, move || runner.host_ended(&isolate));
        pool.hosts.entry(spec.id.clone()).or_default().push(host.clone());
        self.refill();
        Ok(host)
    }

    fn start_blank(&self, heap_mb: u32) -> std::io::Result<Blank> {
        let config = &self.0.config;
        let launched = launch(&Launch { node: &config.node, script: &self.0.script, scratch_dir: &config.scratch_dir, heap_mb })?;
        Ok(Blank::new(launched, heap_mb))
    }

    /// Starts blank hosts, a little later than they are missed, so that the call which took one goes first.
    fn refill(&self) {
        if self.0.refilling.swap(true, Ordering::SeqCst) {
            return;
        }
        let runner = self.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(20)).await;
                let missing = runner.0.pool.lock().blanks.len() < runner.0.config.blank_hosts;
                if !missing || runner.0.closed.load(Ordering::SeqCst) {
                    break;
                }
                match runner.start_blank(runner.0.config.heap_mb_default) {
                    Ok(blank) => runner.0.pool.lock().blanks.push(blank),
                    Err(error) => {
                        tracing::warn!(error = %error, "could not start a host");
                        break;
                    }
                }
            }
            runner.0.refilling.store(false, Ordering::SeqCst);
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
        pool.wake_one();
    }

    /// Ends the hosts of an isolate: those with calls when these are over; none takes new ones.
    pub async fn evict(&self, isolate_id: &str) {
        let hosts = self.0.pool.lock().hosts.remove(isolate_id).unwrap_or_default();
        for host in hosts {
            host.retiring.store(true, Ordering::SeqCst);
            if host.taken.load(Ordering::SeqCst) == 0 {
                host.kill(Death::Ended);
            }
        }
    }

    fn spawn_sweeper(&self) {
        let inner = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP).await;
                let Some(inner) = inner.upgrade().filter(|i| !i.closed.load(Ordering::SeqCst)) else { return };
                let mut pool = inner.pool.lock();
                let idle: Vec<_> = pool
                    .hosts
                    .values()
                    .flatten()
                    .filter(|h| h.taken.load(Ordering::SeqCst) == 0 && h.used.lock().elapsed() > inner.config.idle_evict)
                    .cloned()
                    .collect();
                for host in idle {
                    pool.remove(&host);
                    host.kill(Death::Ended);
                }
            }
        });
    }

    /// What is going on.
    pub fn stats(&self) -> RunnerStats {
        let pool = self.0.pool.lock();
        RunnerStats { hosts: pool.count(), blank_hosts: pool.blanks.len(), calls: pool.hosts.values().flatten().map(|h| h.calls()).sum() }
    }

    /// Ends all hosts.
    pub async fn shutdown(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
        let (hosts, blanks, waiting) = {
            let mut pool = self.0.pool.lock();
            (std::mem::take(&mut pool.hosts), std::mem::take(&mut pool.blanks), std::mem::take(&mut pool.waiting))
        };
        drop((blanks, waiting));
        for host in hosts.into_values().flatten() {
            host.kill(Death::Ended);
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
        if left == 0 && self.host.retiring.load(Ordering::SeqCst) {
            pool.remove(&self.host);
            self.host.kill(Death::Ended);
        }
        pool.wake_one();
    }
}

async fn loaded(host: &Host) -> Result<(), CallFailure> {
    let mut load = host.load.clone();
    let state = tokio::time::timeout(LOAD_TIMEOUT, load.wait_for(|l| !matches!(l, Load::Pending))).await;
    match state {
        Ok(Ok(state)) => match &*state {
            Load::Failed(failure) => Err(failure.clone()),
            _ => Ok(()),
        },
        Ok(Err(_)) => Err(Death::Ended.failure(None)),
        Err(_) => {
            let message = format!("the code was not loaded within {} s; its top level must not wait or loop", LOAD_TIMEOUT.as_secs());
            Err(CallFailure { kind: FailureKind::LoadFailed, code: "Timeout".into(), stack: format!("Timeout: {message}"), message, namespace: None })
        }
    }
}

fn timed_out(limit: Duration, namespace: Option<String>) -> CallFailure {
    let message =
        format!("the run did not end within its limit of {} ms; raise `settings.timeout_ms` of the workflow, or do less in one run", limit.as_millis());
    CallFailure { kind: FailureKind::Timeout, code: "Timeout".into(), stack: format!("Timeout: {message}"), message, namespace }
}

fn overloaded() -> CallFailure {
    let message = "too many runs wait for a process".to_owned();
    CallFailure { kind: FailureKind::Overloaded, code: "InternalFailure".into(), stack: format!("InternalFailure: {message}"), message, namespace: None }
}

/// Finds Node's real path (hosts get no PATH) and checks its version.
async fn check_node(node: &std::path::Path) -> Result<PathBuf, StartError> {
    let missing = || StartError::NodeMissing { node: node.display().to_string() };
    let output =
        Command::new(node).arg("-p").arg("process.version + '\\n' + process.execPath").env_remove("NODE_OPTIONS").output().await.map_err(|_| missing())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines();
    let (version, path) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let major = version.trim_start_matches('v').split('.').next().and_then(|m| m.parse::<u32>().ok());
    match major {
        Some(major) if major >= NODE_MAJOR_MIN && !path.is_empty() => Ok(PathBuf::from(path)),
        Some(_) => Err(StartError::NodeTooOld { node: node.display().to_string(), found: version.trim_start_matches('v').into() }),
        None => Err(missing()),
    }
}
