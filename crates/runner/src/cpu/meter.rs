//! The CPU time of a host: whether it is a hog, and what is done about it.
//!
//! A hog gets a lower priority, so that its busy loop does not delay others. An ordinary user
//! cannot raise a priority again: such a host takes no more calls, and ends once it is idle. A host
//! whose organization is throttled gets a lower priority in ways that can be taken back.

use std::time::Duration;

use super::{CpuTime, sched};

/// Between two samples.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);
/// A host that uses this much in each of two samples on end is a hog: a quarter of a CPU, for where
/// many want it nobody gets more ...
const HOG_USES: Duration = Duration::from_millis(250);
/// ... for calls that take this much each: many short ones are what it is there for ...
const FOR_EACH_CALL: Duration = Duration::from_millis(100);
/// ... or more than one thread can use, whatever its calls.
const HOG_USES_IN_ANY_CASE: Duration = Duration::from_millis(1500);
/// Where very many want it, nobody gets that much: then it counts that a process wants half of one,
/// waiting included ...
const HOG_WANTS: Duration = Duration::from_millis(500);
/// ... and gets some of it: a process that is only delayed by others is none.
const HOG_GETS: Duration = Duration::from_millis(20);

/// Samples the CPU time of a host, and throttles it.
pub(crate) struct HostMeter {
    pid: u32,
    /// Since it started.
    time: CpuTime,
    ended: u64,
    /// Whether the last sample was of a hog.
    was_hog: bool,
    is_throttled: bool,
    /// Of its session.
    niceness: i32,
}

/// What a host used between two samples.
pub(crate) struct Sample {
    /// Since the last one.
    pub(crate) time: CpuTime,
    /// Whether a call ended since then, or one is under way and uses a CPU.
    pub(crate) has_worked: bool,
    /// Whether this sample and the one before are of a hog.
    pub(crate) is_hog: bool,
}

impl HostMeter {
    pub(crate) fn new(pid: u32) -> Self {
        Self {
            pid,
            time: CpuTime::default(),
            ended: 0,
            was_hog: false,
            is_throttled: false,
            niceness: 0,
        }
    }

    /// Leaves out what was used until now.
    pub(crate) fn begin(&mut self) {
        self.time = time_of(self.pid).unwrap_or_default();
    }

    /// `ended`: calls that have ended since it started; `under_way`: those that have not. None
    /// where it is gone.
    pub(crate) fn sample(&mut self, ended: u64, under_way: usize) -> Option<Sample> {
        let now = time_of(self.pid)?;
        let (time, calls) = (now - self.time, ended.saturating_sub(self.ended));
        (self.time, self.ended) = (now, ended);
        // A throttled host waits because it is throttled.
        let waited = if self.is_throttled { Duration::ZERO } else { time.waited };
        let is_hog = is_hog(time.used, waited, calls);
        Some(Sample {
            time,
            has_worked: calls > 0 || (under_way > 0 && time.used > Duration::ZERO),
            is_hog: std::mem::replace(&mut self.was_hog, is_hog) && is_hog,
        })
    }

    /// Lowers the priority of all of its threads, and of those that they start: beside them, and,
    /// where the kernel shares the CPU between sessions first (`autogroup`), of the session that a
    /// host is. It cannot be taken back.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    pub(crate) fn lower_priority(&mut self) {
        // SAFETY: a plain system call on a group of ours, whose process is not reaped.
        if unsafe { libc::setpriority(libc::PRIO_PGRP, self.pid, sched::NICE) } < 0 {
            tracing::debug!(error = %std::io::Error::last_os_error(), "the priority of a CPU hog could not be lowered");
        }
        self.set(sched::NICE, sched::NICE, true);
    }

    /// Throttles it or ends that: all of this can be taken back. Whether that changed.
    pub(crate) fn throttle(&mut self, is_throttled: bool) -> bool {
        let niceness = if is_throttled { sched::NICE } else { 0 };
        let changes = std::mem::replace(&mut self.is_throttled, is_throttled) != is_throttled;
        if changes || is_throttled || self.niceness != niceness {
            self.set(sched::own_niceness(), niceness, is_throttled);
        }
        changes
    }

    fn set(&mut self, of_threads: i32, of_session: i32, is_throttled: bool) {
        // Not every kernel has it; it is asked ten times a second at most, and refuses more. What
        // is refused now is done with the next sample.
        if self.niceness != of_session
            && std::fs::write(format!("/proc/{}/autogroup", self.pid), of_session.to_string())
                .is_ok()
        {
            self.niceness = of_session;
        }
        let allowed = sched::allowed_cpus(is_throttled);
        for thread in self.threads() {
            sched::schedule(thread, of_threads, is_throttled);
            if let Some(allowed) = &allowed {
                sched::set_cpus(thread, allowed);
            }
        }
    }

    fn threads(&self) -> impl Iterator<Item = libc::pid_t> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten();
        threads.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
    }
}

fn is_hog(used: Duration, waited: Duration, ended: u64) -> bool {
    let wants = used + waited;
    let is_much = used >= HOG_USES || (used >= HOG_GETS && wants >= HOG_WANTS);
    used >= HOG_USES_IN_ANY_CASE
        || (is_much && wants / u32::try_from(ended.max(1)).unwrap_or(u32::MAX) > FOR_EACH_CALL)
}

/// The CPU time of a process since it started; None where it is gone.
fn time_of(pid: u32) -> Option<CpuTime> {
    Some(CpuTime { used: used(pid)?, waited: waited(pid) })
}

/// The time that the main thread of a process, where code runs, waited for a CPU; none where the
/// kernel does not tell.
fn waited(pid: u32) -> Duration {
    let told = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    told.split_ascii_whitespace()
        .nth(1)
        .and_then(|ns| ns.parse().ok())
        .map_or(Duration::ZERO, Duration::from_nanos)
}

/// The time that all threads of a process, those that ended too, had a CPU; None where it is
/// gone.
pub(crate) fn used(pid: u32) -> Option<Duration> {
    ticks(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
        .map(|ticks| Duration::from_millis(ticks * 1000 / ticks_per_second()))
}

/// The fields `utime` and `stime`. The second is a name in brackets, which is the process's own
/// choice.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn ticks_per_second() -> u64 {
    // SAFETY: it only answers a question.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) })
        .ok()
        .filter(|ticks| *ticks > 0)
        .unwrap_or(100)
}

/// Whether a process waits for something else than a CPU.
pub(crate) fn sleeps(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Its name, in parentheses, may hold anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['S', 'D']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hog_is_told_from_a_host_that_serves_many() {
        let ms = Duration::from_millis;
        for (used, waited, ended, expected) in [
            (ms(1000), ms(0), 0, true),
            (ms(250), ms(0), 0, true),
            (ms(249), ms(0), 0, false),
            (ms(900), ms(0), 3, true),
            // Much work of many.
            (ms(1000), ms(0), 10, false),
            (ms(1400), ms(0), 1000, false),
            (ms(1500), ms(0), 1_000_000, true),
            (ms(0), ms(0), 0, false),
            // One hog of 24 on two CPUs, and one that is delayed by them.
            (ms(83), ms(917), 0, true),
            (ms(83), ms(300), 0, false),
            (ms(10), ms(900), 0, false),
            (ms(83), ms(900), 30, false),
        ] {
            assert_eq!(
                is_hog(used, waited, ended),
                expected,
                "{used:?} of {waited:?} more for {ended}"
            );
        }
    }

    #[test]
    fn the_name_of_a_process_is_no_number() {
        let stat = |name: &str| {
            format!("7 ({name}) S 1 7 7 0 -1 4194560 100 0 0 0 31 11 0 0 20 0 8 0 100 0 0")
        };
        assert_eq!(ticks(&stat("node")), Some(42));
        assert_eq!(ticks(&stat("a) S 1 7 7 0 -1 4194560 100 0 0 0 0 0 0")), Some(42));
        assert_eq!(ticks("7 (node"), None);
        assert!(used(std::process::id()).is_some() && used(u32::MAX).is_none());
    }
}
