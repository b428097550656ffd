//! Defaults that follow the memory of the machine.

/// How many hosts there may be: one for each 64 MiB of the machine's memory (`/proc/meminfo`), 32
/// to 128. A host of a small component has 8 MiB of its own.
pub(crate) fn hosts_max(meminfo: &str) -> usize {
    (memory_kib(meminfo).unwrap_or(0) / (64 << 10)).clamp(32, 128)
}

/// The most that a workflow may ask for, MiB: half of the machine's memory, 256 to 10240.
pub(crate) fn memory_mb_max(meminfo: &str) -> u32 {
    memory_kib(meminfo)
        .map_or(10_240, |kib| u32::try_from(kib >> 11).unwrap_or(u32::MAX).clamp(256, 10_240))
}

fn memory_kib(meminfo: &str) -> Option<usize> {
    meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse().ok())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_number_of_hosts_follows_the_memory_of_the_machine() {
        let of = |kib: u64| super::hosts_max(&format!("MemTotal:       {kib} kB\nMemFree: 1 kB\n"));
        assert_eq!(
            [of(1 << 20), of(4 << 20), of(64 << 20), super::hosts_max("")],
            [32, 64, 128, 32]
        );
        let of = |kib: u64| super::memory_mb_max(&format!("MemTotal: {kib} kB\n"));
        assert_eq!(
            [of(1 << 18), of(4 << 20), of(64 << 20), super::memory_mb_max("")],
            [256, 2048, 10_240, 10_240]
        );
    }
}
