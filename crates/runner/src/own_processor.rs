//! CPU accounting of this process: time used, and time waited for a CPU.

use std::collections::HashMap;
use std::time::Duration;

use crate::shares::Taken;

/// Looks at the threads of this process.
#[derive(Debug, Default)]
pub struct OwnMeter {
    threads: HashMap<String, Taken>,
}

impl OwnMeter {
    /// What those threads took since the last look that were there then. None where the kernel does
    /// not tell.
    pub fn look(&mut self) -> Option<Taken> {
        let tasks = std::fs::read_dir("/proc/self/task").ok()?.flatten();
        let now = tasks.filter_map(|task| {
            Some((
                task.file_name().into_string().ok()?,
                taken(&std::fs::read_to_string(task.path().join("schedstat")).ok()?)?,
            ))
        });
        let now: HashMap<String, Taken> = now.collect();
        if now.is_empty() {
            return None;
        }
        let since = now
            .iter()
            .filter_map(|(thread, taken)| Some(*taken - *self.threads.get(thread)?))
            .fold(Taken::default(), |all, one| all + one);
        self.threads = now;
        Some(since)
    }
}

/// Of a line of three numbers: nanoseconds at work, nanoseconds that it could have been, and turns.
fn taken(schedstat: &str) -> Option<Taken> {
    let mut fields =
        schedstat.split_ascii_whitespace().map(|ns| ns.parse().map(Duration::from_nanos));
    let mut next = || fields.next()?.ok();
    Some(Taken { used: next()?, waited: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_took_is_read_and_added_up() {
        assert_eq!(
            taken("1500 20 3\n"),
            Some(Taken { used: Duration::from_nanos(1500), waited: Duration::from_nanos(20) })
        );
        assert_eq!((taken("1500"), taken("x 20 3")), (None, None));
        let mut meter = OwnMeter::default();
        assert_eq!(meter.look(), Some(Taken::default()), "nothing was seen before");
        let mut sum = 0_u64;
        while meter.look().expect("Linux tells").used.is_zero() {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
    }
}
