//! CPU scheduling of hosts: a CPU hog gets a lower priority, so that its busy loop does not delay
//! others.
//!
//! An ordinary user cannot raise a priority again: a throttled host is not reused once it is idle.
//!
//! A lower priority alone still delays others: a process that wakes up waits until the time slice
//! of the hog is over. So time slices are short, except those of CPU hogs: Linux prefers the
//! process with the shorter slice, as far as its share allows (since 6.12; earlier kernels ignore
//! the length).

use std::time::Duration;

use crate::shares::Taken;

/// How often it is looked how much of the processor a host uses.
pub(crate) const LOOK: Duration = Duration::from_secs(1);
/// Of each of two seconds on end, so much makes a host one that burns: a quarter of a processor,
/// for where many want it nobody gets more ...
const BURNS: Duration = Duration::from_millis(250);
/// ... for calls that take this much each: many short ones are what it is there for ...
const FOR_EACH_CALL: Duration = Duration::from_millis(100);
/// ... or more than one thread can use, whatever its calls.
const BURNS_IN_ANY_CASE: Duration = Duration::from_millis(1500);
/// Where very many want it, nobody gets that much: then it counts that a process wants half of one,
/// waiting included ...
const WANTS: Duration = Duration::from_millis(500);
/// ... and gets some of it: who is only delayed by others does not burn.
const GETS: Duration = Duration::from_millis(20);
/// What a host that burns is set to, of 19: a ninth of others' share, where they want it.
pub(crate) const NICE: i32 = 10;
/// The turn of whoever does not burn; the kernel takes 0.1 ms to 100 ms.
const TURN: Duration = Duration::from_micros(500);
/// The turn of a host that burns, and of one that keeps back.
const TURN_OF_BURNING: Duration = Duration::from_millis(100);

/// Gives the calling thread, and all threads and processes that it starts from now on, short turns:
/// to be called before there are others.
pub fn take_short_turns() {
    set_turn(0, own_niceness(), TURN);
}

/// Lets the calling thread, and all threads and processes that it starts from now on, wait for
/// those with short turns.
pub fn take_long_turns() {
    set_turn(0, own_niceness(), TURN_OF_BURNING);
}

/// What a host has used of the processor.
pub(crate) struct Meter {
    pid: u32,
    /// Since it began.
    taken: Taken,
    ended: u64,
    /// At the last look.
    burned: bool,
    keeps_back: bool,
    /// Of its session.
    niceness: i32,
}

/// What was seen of a host at a look.
pub(crate) struct Seen {
    /// Since the last one.
    pub(crate) taken: Taken,
    /// Whether a call ended since then, or one is under way and uses the processor.
    pub(crate) has_worked: bool,
    /// Whether it burned at this one and at the one before.
    pub(crate) burns: bool,
}

impl Meter {
    pub(crate) fn new(pid: u32) -> Self {
        Self {
            pid,
            taken: Taken::default(),
            ended: 0,
            burned: false,
            keeps_back: false,
            niceness: 0,
        }
    }

    /// What was taken until now is not looked at.
    pub(crate) fn begin(&mut self) {
        self.taken = taken(self.pid).unwrap_or_default();
    }

    /// `ended`: calls that have ended since it began; `under_way`: those that have not. None where
    /// it is gone.
    pub(crate) fn look(&mut self, ended: u64, under_way: usize) -> Option<Seen> {
        let now = taken(self.pid)?;
        let (taken, calls) = (now - self.taken, ended.saturating_sub(self.ended));
        (self.taken, self.ended) = (now, ended);
        // While it keeps back it waits for that, and not for want of what it burns.
        let burned =
            burns(taken.used, if self.keeps_back { Duration::ZERO } else { taken.waited }, calls);
        Some(Seen {
            taken,
            has_worked: calls > 0 || (under_way > 0 && taken.used > Duration::ZERO),
            burns: std::mem::replace(&mut self.burned, burned) && burned,
        })
    }

    /// Lets all of its threads, and those that they start, wait for others: beside them, and, where
    /// the kernel shares the processor between sessions first (`autogroup`), as the session that a
    /// host is.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    pub(crate) fn slow_down(&mut self) {
        // SAFETY: a plain system call on a group of ours, whose process is not reaped.
        if unsafe { libc::setpriority(libc::PRIO_PGRP, self.pid, NICE) } < 0 {
            tracing::debug!(error = %std::io::Error::last_os_error(), "a process that keeps the processor busy could not be slowed down");
        }
        self.set(NICE, NICE, TURN_OF_BURNING, true);
    }

    /// Lets it wait for others until it need not any more: all of this can be taken back. Whether
    /// that changed.
    pub(crate) fn keep_back(&mut self, keeps_back: bool) -> bool {
        let niceness = if keeps_back { NICE } else { 0 };
        let changes = std::mem::replace(&mut self.keeps_back, keeps_back) != keeps_back;
        if changes || keeps_back || self.niceness != niceness {
            self.set(
                own_niceness(),
                niceness,
                if keeps_back { TURN_OF_BURNING } else { TURN },
                keeps_back,
            );
        }
        changes
    }

    fn set(&mut self, nice: i32, niceness: i32, turn: Duration, is_kept_off: bool) {
        // Not every kernel has it; it is asked ten times a second at most, and refuses more. What
        // is refused now is done at the next look.
        if self.niceness != niceness
            && std::fs::write(format!("/proc/{}/autogroup", self.pid), niceness.to_string()).is_ok()
        {
            self.niceness = niceness;
        }
        let allowed = allowed_processors(is_kept_off);
        for thread in self.threads() {
            set_turn(thread, nice, turn);
            if let Some(allowed) = &allowed {
                set_processors(thread, allowed);
            }
        }
    }

    fn threads(&self) -> impl Iterator<Item = libc::pid_t> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten();
        threads.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
    }
}

/// The server's own processors; where there are several, all but one of them for hosts that are
/// kept off it. A share of each is not enough, for whoever wakes up on one that is busy waits until
/// the kernel next looks whose turn it is, some milliseconds each time.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
fn allowed_processors(is_kept_off: bool) -> Option<libc::cpu_set_t> {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: all zeros is the empty set.
    let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is as large as it is said to be. Machines with more processors than it holds
    // answer with an error.
    if unsafe { libc::sched_getaffinity(0, size, &raw mut allowed) } < 0 {
        return None;
    }
    if !is_kept_off {
        return Some(allowed);
    }
    // SAFETY: it counts, and looks up what is in the set; the index is below its size.
    let (count, first) = unsafe {
        (
            libc::CPU_COUNT(&allowed),
            (0..libc::CPU_SETSIZE as usize).find(|cpu| libc::CPU_ISSET(*cpu, &allowed)),
        )
    };
    let (Some(first), 2..) = (first, count) else { return None };
    // SAFETY: as above.
    unsafe { libc::CPU_CLR(first, &mut allowed) };
    Some(allowed)
}

/// A thread that is gone by now is an error, which is no matter.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn set_processors(thread: libc::pid_t, allowed: &libc::cpu_set_t) {
    // SAFETY: a plain system call, about a set that lives as long.
    unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), allowed) };
}

#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn own_niceness() -> i32 {
    // SAFETY: it only answers a question, which cannot fail about the calling thread.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// Sets the length of a thread's turns (0: of the calling one's), and its niceness, which the same
/// call is about. One that is gone, or of a policy of its own, is left as it is: whoever goes on
/// with the kernel's turns is slower, not wrong.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn set_turn(thread: libc::pid_t, nice: i32, turn: Duration) {
    // SAFETY: all zeros are times of the kernel's choice.
    let mut how: libc::sched_attr = unsafe { std::mem::zeroed() };
    how.size = size_of::<libc::sched_attr>() as u32;
    how.sched_flags = libc::SCHED_FLAG_KEEP_POLICY as u64;
    how.sched_nice = nice;
    how.sched_runtime = turn.as_nanos() as u64;
    // SAFETY: the structure lives as long as the call and says its own size.
    unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const how, 0) };
}

fn burns(used: Duration, waited: Duration, ended: u64) -> bool {
    let wants = used + waited;
    let takes_much = used >= BURNS || (used >= GETS && wants >= WANTS);
    used >= BURNS_IN_ANY_CASE
        || (takes_much && wants / u32::try_from(ended.max(1)).unwrap_or(u32::MAX) > FOR_EACH_CALL)
}

/// What a process has taken since it began; None where it is gone.
fn taken(pid: u32) -> Option<Taken> {
    Some(Taken { used: used(pid)?, waited: waited(pid) })
}

/// The time that the main thread of a process, where code runs, waited for a processor; none where
/// the kernel does not tell.
fn waited(pid: u32) -> Duration {
    let told = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    told.split_ascii_whitespace()
        .nth(1)
        .and_then(|ns| ns.parse().ok())
        .map_or(Duration::ZERO, Duration::from_nanos)
}

/// The time that all threads of a process, those that ended too, had the processor; None where it
/// is gone.
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

/// Whether a process waits for something else than a processor.
pub(crate) fn sleeps(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Its name, in parentheses, may hold anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['S', 'D']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_burns_is_told_from_who_serves_many() {
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
            // One of 24 that burn on two processors, and one that is delayed by them.
            (ms(83), ms(917), 0, true),
            (ms(83), ms(300), 0, false),
            (ms(10), ms(900), 0, false),
            (ms(83), ms(900), 30, false),
        ] {
            assert_eq!(
                burns(used, waited, ended),
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
