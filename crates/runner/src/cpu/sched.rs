//! Scheduling of threads by the kernel: their time slices, their niceness and the CPUs that they
//! may use.
//!
//! A lower priority alone still delays others: a process that wakes up waits until the time slice
//! of the one that runs is over. So time slices are short, except those of throttled hosts: Linux
//! prefers the process with the shorter slice, as far as its share allows (since 6.12; earlier
//! kernels ignore the length).

use std::time::Duration;

/// The niceness of a throttled host, of 19: a ninth of others' share, where they want it.
pub(crate) const NICE: i32 = 10;
/// The time slice of a process that is not throttled; the kernel takes 0.1 ms to 100 ms.
const TIME_SLICE: Duration = Duration::from_micros(500);
/// The time slice of a throttled host.
const TIME_SLICE_THROTTLED: Duration = Duration::from_millis(100);

/// Gives the calling thread, and all threads and processes that it starts from now on, short time
/// slices: to be called before there are others.
pub fn use_short_time_slices() {
    set_time_slice(0, own_niceness(), TIME_SLICE);
}

/// Lets the calling thread, and all threads and processes that it starts from now on, wait for
/// those with short time slices.
pub fn use_long_time_slices() {
    set_time_slice(0, own_niceness(), TIME_SLICE_THROTTLED);
}

/// Schedules a thread as one of a throttled host, or as one that is not.
pub(crate) fn schedule(thread: libc::pid_t, niceness: i32, is_throttled: bool) {
    let slice = if is_throttled { TIME_SLICE_THROTTLED } else { TIME_SLICE };
    set_time_slice(thread, niceness, slice);
}

/// The CPUs of this process; where there are several, all but one of them for hosts that are kept
/// off it. A share of each is not enough, for a process that wakes up on a busy CPU waits until the
/// kernel next schedules, some milliseconds each time.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
pub(crate) fn allowed_cpus(is_kept_off: bool) -> Option<libc::cpu_set_t> {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: all zeros is the empty set.
    let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is as large as it is said to be. Machines with more CPUs than it holds
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
pub(crate) fn set_cpus(thread: libc::pid_t, allowed: &libc::cpu_set_t) {
    // SAFETY: a plain system call, about a set that lives as long.
    unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), allowed) };
}

#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
pub(crate) fn own_niceness() -> i32 {
    // SAFETY: it only answers a question, which cannot fail about the calling thread.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// Sets the length of a thread's time slices (0: of the calling one's), and its niceness, which the
/// same call is about. One that is gone, or of a policy of its own, is left as it is: a thread that
/// goes on with the kernel's time slices is slower, not wrong.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn set_time_slice(thread: libc::pid_t, nice: i32, slice: Duration) {
    // SAFETY: all zeros are times of the kernel's choice.
    let mut how: libc::sched_attr = unsafe { std::mem::zeroed() };
    how.size = size_of::<libc::sched_attr>() as u32;
    how.sched_flags = libc::SCHED_FLAG_KEEP_POLICY as u64;
    how.sched_nice = nice;
    how.sched_runtime = slice.as_nanos() as u64;
    // SAFETY: the structure lives as long as the call and says its own size.
    unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const how, 0) };
}
