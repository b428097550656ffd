//! Hosts that burn the processor get less of it than others, so that one's busy loop is not everybody's delay.
//!
//! What is lowered can be raised again by no ordinary user: a host that was slowed is not kept once it has nothing to do.

use std::time::Duration;

/// How often it is looked how much of the processor a host uses.
pub(crate) const LOOK: Duration = Duration::from_secs(1);
/// Of each of two seconds on end, so much makes a host one that burns: a quarter of a processor, for where many want it nobody gets more ...
const BURNS: Duration = Duration::from_millis(250);
/// ... for calls that take this much each: many short ones are what it is there for ...
const FOR_EACH_CALL: Duration = Duration::from_millis(100);
/// ... or more than one thread can use, whatever its calls.
const BURNS_IN_ANY_CASE: Duration = Duration::from_millis(1500);
/// What a host that burns is set to, of 19: a ninth of others' share, where they want it.
pub(crate) const NICE: i32 = 10;
/// As a weight of control groups, of the usual 100.
pub(crate) const WEIGHT: u32 = 10;

/// What a host has used of the processor.
pub(crate) struct Meter {
    pid: u32,
    used: Duration,
    ended: u64,
    /// At the last look.
    burned: bool,
}

impl Meter {
    pub(crate) fn new(pid: u32) -> Self {
        Self { pid, used: used(pid).unwrap_or_default(), ended: 0, burned: false }
    }

    /// Whether it burned at the last two looks. `ended`: calls that have ended since it began.
    pub(crate) fn burns(&mut self, ended: u64) -> bool {
        let Some(now) = used(self.pid) else { return false };
        let burned = burns(now.saturating_sub(self.used), ended.saturating_sub(self.ended));
        (self.used, self.ended) = (now, ended);
        std::mem::replace(&mut self.burned, burned) && burned
    }

    /// Lets all of its threads, and those that they start, wait for others: beside them, and, where the kernel shares the processor between sessions
    /// first (`autogroup`), as the session that a host is.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    pub(crate) fn slow_down(&self) {
        // SAFETY: a plain system call on a group of ours, whose process is not reaped.
        if unsafe { libc::setpriority(libc::PRIO_PGRP, self.pid, NICE) } < 0 {
            tracing::debug!(error = %std::io::Error::last_os_error(), "a host that burns the processor could not be slowed down");
        }
        // Not every kernel has it; it is asked ten times a second at most, and refuses more. What is refused now is done at the next look.
        let _ = std::fs::write(format!("/proc/{}/autogroup", self.pid), NICE.to_string());
        self.leave_one_processor();
    }

    /// Keeps its threads, and those that they start, off one of the processors, where there are several: a share of each is not enough, for whoever wakes
    /// up on one that is busy waits until the kernel next looks whose turn it is, some milliseconds each time.
    #[expect(unsafe_code, reason = "system calls without a safe wrapper")]
    fn leave_one_processor(&self) {
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: all zeros is the empty set.
        let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set is as large as it is said to be. Machines with more processors than it holds answer with an error.
        if unsafe { libc::sched_getaffinity(0, size, &raw mut allowed) } < 0 {
            return;
        }
        // SAFETY: it counts, looks up and clears what is in the set; the index is below its size.
        let (count, first) = unsafe { (libc::CPU_COUNT(&allowed), (0..libc::CPU_SETSIZE as usize).find(|cpu| libc::CPU_ISSET(*cpu, &allowed))) };
        let (Some(first), 2..) = (first, count) else { return };
        // SAFETY: as above.
        unsafe { libc::CPU_CLR(first, &mut allowed) };
        let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", self.pid)) else { return };
        for thread in threads.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<libc::pid_t>().ok()) {
            // SAFETY: a plain system call. A thread that is gone by now is an error, which is no matter.
            unsafe { libc::sched_setaffinity(thread, size, &raw const allowed) };
        }
    }
}

fn burns(used: Duration, ended: u64) -> bool {
    let for_each = used / u32::try_from(ended.max(1)).unwrap_or(u32::MAX);
    used >= BURNS_IN_ANY_CASE || (used >= BURNS && for_each > FOR_EACH_CALL)
}

/// The time that all threads of a process, those that ended too, had the processor; None where it is gone.
fn used(pid: u32) -> Option<Duration> {
    ticks(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?).map(|ticks| Duration::from_millis(ticks * 1000 / ticks_per_second()))
}

/// The fields `utime` and `stime`. The second is a name in brackets, which is the process's own choice.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn ticks_per_second() -> u64 {
    // SAFETY: it only answers a question.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|ticks| *ticks > 0).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_burns_is_told_from_who_serves_many() {
        let ms = Duration::from_millis;
        for (used, ended, expected) in [
            (ms(1000), 0, true),
            (ms(250), 0, true),
            (ms(249), 0, false),
            (ms(900), 3, true),
            // Much work of many.
            (ms(1000), 10, false),
            (ms(1400), 1000, false),
            (ms(1500), 1_000_000, true),
            (ms(0), 0, false),
        ] {
            assert_eq!(burns(used, ended), expected, "{used:?} for {ended}");
        }
    }

    #[test]
    fn the_name_of_a_process_is_no_number() {
        let stat = |name: &str| format!("7 ({name}) S 1 7 7 0 -1 4194560 100 0 0 0 31 11 0 0 20 0 8 0 100 0 0");
        assert_eq!(ticks(&stat("node")), Some(42));
        assert_eq!(ticks(&stat("a) S 1 7 7 0 -1 4194560 100 0 0 0 0 0 0")), Some(42));
        assert_eq!(ticks("7 (node"), None);
        assert!(used(std::process::id()).is_some() && used(u32::MAX).is_none());
    }
}
