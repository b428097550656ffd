//! Runner: queues calls, starts hosts for them and ends hosts.

mod events;
mod queued;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use millrace_walls::folders::clear;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::before_egress::BeforeEgress;
use crate::call::UnderWay;
use crate::cpu::CpuAccounting;
use crate::host::exit::{self, lacks_room};
use crate::host::{Blank, ExitReason, HostState};
use crate::host_pool::{End, HostPool, NextHost, Queued, QueuedCall, key};
use crate::node::check_node;
use crate::outgoing;
pub use crate::runner::queued::QueuedRun;
use crate::sandbox::{self, ControlGroups, Sandbox, WallReport, Walls, check, probe, trial};
use crate::types::{
    Call, CallOutcome, EffectSink, IsolateSpec, RunnerConfig, RunnerStats, StartError,
};

/// A timer that is so late is of a server that stood still: it was stopped, or the machine was.
const STOOD_STILL: Duration = Duration::from_secs(1);
/// How long such a server takes to read what came meanwhile.
const CATCH_UP: Duration = Duration::from_secs(1);
/// How often idle hosts are looked for, at least.
const SWEEP: Duration = Duration::from_secs(5);
/// How often the pool looks whether isolates with waiting calls get one more host.
const STAFF_EVERY: Duration = Duration::from_millis(5);
/// The age at which a blank host is replaced.
const BLANK_AGE_MAX: Duration = Duration::from_secs(600);
/// How long shutting down waits until the processes are gone.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs calls in hosts. Cheap to clone.
#[derive(Clone)]
pub struct Runner(Arc<Inner>);

struct Inner {
    config: RunnerConfig,
    script: PathBuf,
    sandbox: Sandbox,
    pool: Mutex<HostPool>,
    refilling: AtomicBool,
    /// Notified when a call begins to wait.
    waits: Notify,
    /// The supervisors of the hosts' processes.
    supervisors: TaskTracker,
    accounting: Arc<CpuAccounting>,
    before_egress: BeforeEgress,
}

impl Runner {
    /// Checks Node and the walls, writes the runtime to its file and starts the blank hosts.
    ///
    /// # Errors
    /// Where Node is missing or too old, the scratch folder cannot be written, a required wall is
    /// missing, or Node does not run within them.
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
        let [script, thread_script, first_module] =
            sandbox::write_scripts(&scratch_dir, &config).await.map_err(scratch)?;
        let groups =
            if config.walls == Walls::Off { None } else { ControlGroups::find().map(Arc::new) };
        if let Some(groups) = &groups {
            tracing::info!(limits = groups.limits().join(", "), "each host gets a control group");
        }
        let mut sandbox = Sandbox {
            node,
            walls,
            thread_script: Some(thread_script),
            first_module: Some(first_module),
            scratch_dir,
            file_bytes_max: config.tmp_bytes_max,
            egress: config.egress.clone(),
            groups,
        };
        if config.walls != Walls::Off {
            let tried = trial(&sandbox).await;
            if tried.is_err() && config.walls == Walls::BestEffort && sandbox.walls.egress {
                // The kernel has what the guard needs, but what confines this server may keep it
                // from looking into its hosts.
                sandbox.walls.egress = false;
                trial(&sandbox).await?;
            } else {
                tried?;
            }
        }
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let ahead_wait = config.ahead_wait;
        let runner = Self(Arc::new(Inner {
            config,
            script,
            sandbox,
            pool: Mutex::new(HostPool::new(cpus, ahead_wait)),
            refilling: AtomicBool::new(false),
            waits: Notify::new(),
            supervisors: TaskTracker::new(),
            accounting: Arc::default(),
            before_egress: BeforeEgress::default(),
        }));
        runner.refill();
        runner.spawn_sweeper();
        runner.spawn_host_starter();
        Ok(runner)
    }

    /// The version of the Node that hosts run, such as `20.20.2`.
    pub fn node_version(&self) -> &str {
        &self.0.sandbox.node.version
    }

    /// The walls that stand around hosts.
    pub fn walls(&self) -> WallReport {
        self.0.sandbox.walls
    }

    /// From now on `ask` is asked before the code of a host sends anything to the outside for the
    /// first time, in a thread of that host's own, and may keep it waiting; false refuses it.
    pub fn before_it_leaves(&self, ask: impl Fn(&IsolateSpec) -> bool + Send + Sync + 'static) {
        self.0.before_egress.set(Box::new(ask));
    }

    /// Where control groups are made, if anywhere: for other processes that strangers' code is read
    /// in.
    pub fn control_groups(&self) -> Option<Arc<ControlGroups>> {
        self.0.sandbox.groups.clone()
    }

    /// Runs a call in a host of its isolate; waits for one where all are busy. The wait does not
    /// count into the call's time.
    pub async fn call(
        &self,
        isolate: Arc<IsolateSpec>,
        call: Call,
        sink: Arc<dyn EffectSink>,
    ) -> CallOutcome {
        self.enqueue(isolate, call, sink).outcome().await
    }

    /// Queues a call. Calls of one isolate begin in the order in which they are queued.
    pub fn enqueue(
        &self,
        isolate: Arc<IsolateSpec>,
        call: Call,
        sink: Arc<dyn EffectSink>,
    ) -> QueuedRun {
        let config = &self.0.config;
        let (end, ended) = oneshot::channel();
        let (begun, begins) = oneshot::channel();
        let queued = QueuedCall {
            since: Instant::now(),
            fields: outgoing::fields(call.body),
            timeout: call.timeout,
            under_way: UnderWay::new(
                sink,
                end,
                call.steps,
                config.log_bytes_max,
                config.result_bytes_max,
            ),
            begun,
        };
        let mut run = QueuedRun {
            runner: self.clone(),
            isolate: key(&isolate),
            ticket: None,
            refused: None,
            begins: Some(begins),
            ended: Some(ended),
            serving: None,
            timeout: call.timeout,
        };
        match self.0.pool.lock().enqueue(&isolate, queued, config) {
            Queued::Begun => {}
            Queued::Waits(ticket) => run.ticket = Some(ticket),
            Queued::Full => run.refused = Some(exit::overloaded()),
            Queued::Closed => run.refused = Some(ExitReason::Ended.failure(None)),
        }
        if run.ticket.is_some() {
            // An isolate without a host gets its first at once.
            self.start_hosts();
            self.0.waits.notify_one();
        }
        run
    }

    /// Starts the hosts that calls wait for, as far as there is room.
    fn start_hosts(&self) {
        let mut pool = self.0.pool.lock();
        loop {
            let next = pool.next_host(&self.0.config);
            let (spec, end) = match next {
                NextHost::Nothing => return,
                NextHost::StartAfter(spec, end) => (spec, Some(end)),
                NextHost::Start(spec) => match self.start_host(&mut pool, &spec) {
                    Ok(()) => continue,
                    Err(error) => match self.make_room(&mut pool, &spec, &error) {
                        Some(NextHost::StartAfter(spec, end)) => (spec, Some(end)),
                        _ => return,
                    },
                },
            };
            if let Some(end) = end {
                let runner = self.clone();
                tokio::spawn(async move {
                    end.come().await;
                    let mut pool = runner.0.pool.lock();
                    pool.promise_over(&key(&spec));
                    if !pool.closed
                        && let Err(error) = runner.start_host(&mut pool, &spec)
                    {
                        tracing::debug!(%error, "a host could not be started in the place of another");
                    }
                });
            }
        }
    }

    /// A host could not be started. Where the machine has no room for another process, a blank host
    /// ends for it, or idle ones must; other failures are those of all calls that wait for it.
    fn make_room(
        &self,
        pool: &mut HostPool,
        spec: &Arc<IsolateSpec>,
        error: &std::io::Error,
    ) -> Option<NextHost> {
        if lacks_room(error) {
            if let Some(blank) = pool.blanks.pop() {
                return Some(pool.start_after(spec, End::Blank(Box::new(blank))));
            }
            let hosts = pool.count();
            if hosts > 0 {
                if pool.has_no_more_room().is_none() {
                    tracing::warn!(
                        %error,
                        hosts,
                        "the machine has no room for another process; idle hosts are ended for others, and runs may wait: raise what is short, \
                         descriptors (`ulimit -n`), processes (`ulimit -u`) or memory"
                    );
                }
                pool.no_more_room();
                return None;
            }
        }
        pool.fail(&key(spec), &ExitReason::not_started(error).failure(None));
        None
    }

    fn start_host(&self, pool: &mut HostPool, spec: &Arc<IsolateSpec>) -> std::io::Result<()> {
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
        let runner = self.clone();
        let host = blank.assign(
            spec,
            &self.0.config,
            &self.0.supervisors,
            &self.0.accounting,
            &self.0.before_egress,
            move |host, event| runner.on_event(host, event),
        );
        pool.add(spec, host);
        self.refill();
        Ok(())
    }

    fn start_blank(&self, heap_mb: u32) -> std::io::Result<Blank> {
        Ok(Blank::new(self.0.sandbox.launch(&self.0.script, heap_mb)?, heap_mb))
    }

    /// Starts blank hosts, a little later than they are missed, so that the call which took one
    /// goes first.
    fn refill(&self) {
        if self.0.refilling.swap(true, Ordering::SeqCst) {
            return;
        }
        let runner = self.clone();
        tokio::spawn(async move {
            // Where the machine has no room for more, what there is goes to the calls that wait.
            let missing = |pool: &HostPool| {
                !pool.closed
                    && pool.blanks.len() < runner.0.config.blank_hosts
                    && pool.has_no_more_room().is_none()
            };
            loop {
                tokio::time::sleep(Duration::from_millis(20)).await;
                {
                    // Set under the lock: a call that takes a blank host afterwards starts another
                    // refill.
                    let pool = runner.0.pool.lock();
                    if !missing(&pool) {
                        runner.0.refilling.store(false, Ordering::SeqCst);
                        return;
                    }
                    // Calls that wait start hosts themselves: a blank one beside them would only
                    // take their CPUs.
                    if pool.waiting() > 0 {
                        continue;
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

    /// Ends the hosts of an isolate: those with calls when these are over; none takes new ones.
    pub async fn evict(&self, isolate_id: &str) {
        {
            let mut pool = self.0.pool.lock();
            let hosts: Vec<_> =
                pool.hosts().filter(|host| host.isolate.1 == isolate_id).cloned().collect();
            for host in &hosts {
                pool.retire(host);
            }
        }
        self.start_hosts();
    }

    /// Starts hosts for calls that wait for longer than they should.
    fn spawn_host_starter(&self) {
        let inner = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            loop {
                let Some(runner) = inner.upgrade().map(Self) else { return };
                let (waiting, closed) = {
                    let mut pool = runner.0.pool.lock();
                    pool.serve_in_order();
                    (pool.waiting(), pool.closed)
                };
                if closed {
                    return;
                }
                if waiting > 0 {
                    runner.start_hosts();
                    tokio::time::sleep(STAFF_EVERY).await;
                } else {
                    // Not for ever: a runner that nobody uses any more is dropped.
                    let _ = tokio::time::timeout(Duration::from_secs(1), runner.0.waits.notified())
                        .await;
                }
            }
        });
    }

    /// Ends hosts that are unused for long. Blank ones are made anew from time to time: what they
    /// may read is fixed when they start, and a file such as /etc/resolv.conf may be another one by
    /// then.
    fn spawn_sweeper(&self) {
        let inner = Arc::downgrade(&self.0);
        let pause = SWEEP
            .min(self.0.config.idle_evict.min(self.0.config.surplus_idle) / 2)
            .max(Duration::from_millis(1));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(inner) = inner.upgrade() else { return };
                let old: Vec<_> = {
                    let mut pool = inner.pool.lock();
                    if pool.closed {
                        return;
                    }
                    let mut unused = Vec::new();
                    for isolate in pool.isolates.values() {
                        let mut idle: Vec<_> = isolate
                            .hosts
                            .iter()
                            .filter(|h| h.state() != HostState::Loading && h.is_idle())
                            .collect();
                        idle.sort_by_key(|host| std::cmp::Reverse(*host.used.lock()));
                        // The one used last, where the others are busy too, stays for longer.
                        let spare = usize::from(idle.len() == isolate.hosts.len());
                        for (n, host) in idle.into_iter().enumerate() {
                            let age_max = if n < spare {
                                inner.config.idle_evict
                            } else {
                                inner.config.surplus_idle
                            };
                            if host.used.lock().elapsed() > age_max {
                                unused.push(host.clone());
                            }
                        }
                    }
                    for host in &unused {
                        pool.retire(host);
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
            hosts: pool.hosts().count(),
            blank_hosts: pool.blanks.len(),
            calls: pool.hosts().map(|h| h.calls()).sum(),
            waiting: pool.waiting() + pool.hosts().map(|h| h.ahead()).sum::<usize>(),
        }
    }

    /// Ends all hosts, and waits until their processes are gone. Calls under way are lost with
    /// them.
    pub async fn shutdown(&self) {
        let (hosts, blanks) = self.0.pool.lock().close();
        self.0.waits.notify_one();
        for host in hosts {
            host.kill(ExitReason::Ended);
        }
        for blank in blanks {
            blank.end().await;
        }
        self.0.supervisors.close();
        if tokio::time::timeout(END_TIMEOUT, self.0.supervisors.wait()).await.is_err() {
            tracing::warn!("hosts did not end in time; the kernel ends them with the server");
        }
    }
}

/// Waits so long; None: it did not come. A server that stood still meanwhile first reads what has
/// come: code that ended in its time has not run over it.
pub(crate) async fn in_time<T>(limit: Duration, what: impl Future<Output = T>) -> Option<T> {
    let until = Instant::now() + limit;
    let mut what = std::pin::pin!(what);
    match tokio::time::timeout_at(until, &mut what).await {
        Ok(came) => Some(came),
        Err(_) if until.elapsed() < STOOD_STILL => None,
        Err(_) => tokio::time::timeout(CATCH_UP, what).await.ok(),
    }
}
