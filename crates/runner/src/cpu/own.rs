//! CPU accounting of this process: time used, and time waited for a CPU.

use std::collections::HashMap;
use std::time::Duration;

use super::CpuTime;

/// Samples the threads of this process.
#[derive(Debug, Default)]
pub struct OwnMeter {
    threads: HashMap<String, CpuTime>,
}

impl OwnMeter {
    /// What those threads used since the last sample that were there then. None where the kernel
    /// does not tell.
    pub fn sample(&mut self) -> Option<CpuTime> {
        let tasks = std::fs::read_dir("/proc/self/task").ok()?.flatten();
        let now = tasks.filter_map(|task| {
            Some((
                task.file_name().into_string().ok()?,
                time_of(&std::fs::read_to_string(task.path().join("schedstat")).ok()?)?,
            ))
        });
        let now: HashMap<String, CpuTime> = now.collect();
        if now.is_empty() {
            return None;
        }
        let since = now
            .iter()
            .filter_map(|(thread, time)| Some(*time - *self.threads.get(thread)?))
            .fold(CpuTime::default(), |all, one| all + one);
        self.threads = now;
        Some(since)
    }
}

/// Of a line of three numbers: nanoseconds with a CPU, nanoseconds that it waited for one, and how
/// often it had one.
fn time_of(schedstat: &str) -> Option<CpuTime> {
    let mut fields =
        schedstat.split_ascii_whitespace().map(|ns| ns.parse().map(Duration::from_nanos));
    let mut next = || fields.next()?.ok();
    Some(CpuTime { used: next()?, waited: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_used_is_read_and_added_up() {
        assert_eq!(
            time_of("1500 20 3\n"),
            Some(CpuTime { used: Duration::from_nanos(1500), waited: Duration::from_nanos(20) })
        );
        assert_eq!((time_of("1500"), time_of("x 20 3")), (None, None));
        let mut meter = OwnMeter::default();
        assert_eq!(meter.sample(), Some(CpuTime::default()), "nothing was seen before");
        let mut sum = 0_u64;
        while meter.sample().expect("Linux tells").used.is_zero() {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
    }
}
