//! Memory and threads of a process, as other processes see them.

/// What a process has taken of the machine.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Threads.
    pub threads: u64,
    /// Memory that belongs to no file, wherever it is by now, and what the kernel needs to know
    /// where it is. KiB.
    pub memory_kib: u64,
    /// Its first thread has ended and others go on, so that the kernel tells neither its memory nor
    /// its files any more.
    pub is_headless: bool,
}

impl Taken {
    /// None where it is gone.
    pub fn of(pid: u32) -> Option<Self> {
        std::fs::read_to_string(format!("/proc/{pid}/status"))
            .ok()
            .map(|status| Self::read(&status))
    }

    fn read(status: &str) -> Self {
        let (mut taken, mut first_has_ended) = (Self::default(), false);
        for line in status.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let number = || value.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0);
            match name {
                "State" => first_has_ended = value.trim().starts_with(['Z', 'X']),
                "Threads" => taken.threads = number(),
                "RssAnon" | "RssShmem" | "VmSwap" | "VmPTE" => taken.memory_kib += number(),
                _ => {}
            }
        }
        // One that ended as a whole has nothing but its first.
        taken.is_headless = first_has_ended && taken.threads > 1;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::Taken;

    #[test]
    fn what_a_process_has_taken_is_read_from_its_status() {
        let status = "Name:\tRssAnon: 7 kB\nVmSize:\t  999 kB\nVmPTE:\t      30 kB\nVmSwap:\t     200 kB\nRssAnon:\t    1000 kB\nRssFile:\t   50000 kB\nRssShmem:\t   4000 kB\nThreads:\t12\n";
        assert_eq!(
            Taken::read(status),
            Taken { threads: 12, memory_kib: 5230, is_headless: false }
        );
        assert!(Taken::read("State:\tZ (zombie)\nThreads:\t2\n").is_headless);
        assert!(
            !Taken::read("State:\tZ (zombie)\nThreads:\t1\n").is_headless
                && !Taken::read("State:\tS (sleeping)\nThreads:\t2\n").is_headless
        );
        assert_eq!(Taken::read(""), Taken::default());
        assert!(
            Taken::of(std::process::id()).is_some_and(|own| own.threads > 0 && own.memory_kib > 0)
        );
    }
}
