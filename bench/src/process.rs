//! CPU time and memory of the server and the processes below it, from `/proc`.

use anyhow::{Context as _, Result};

const TICKS_PER_SECOND: f64 = 100.0;

/// The process and all below it.
fn tree(pid: u32) -> Vec<u32> {
    let mut pids = vec![pid];
    let mut at = 0;
    while let Some(&parent) = pids.get(at) {
        for entry in
            std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten()
        {
            let children =
                std::fs::read_to_string(entry.path().join("children")).unwrap_or_default();
            pids.extend(children.split_whitespace().filter_map(|c| c.parse::<u32>().ok()));
        }
        at += 1;
    }
    pids
}

/// User and system time of the tree, ended children included.
pub fn cpu_seconds(pid: u32) -> Result<f64> {
    // utime, stime, cutime, cstime.
    tree(pid).into_iter().map(|pid| ticks(pid, 4)).sum()
}

/// The same of one process alone.
pub fn own_cpu_seconds(pid: u32) -> Result<f64> {
    ticks(pid, 2)
}

/// The first so many of a process's times, in seconds; nothing of one that has ended.
fn ticks(pid: u32, times: usize) -> Result<f64> {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return Ok(0.0) };
    let fields: Vec<&str> =
        stat.rsplit_once(')').context("a stat line")?.1.split_whitespace().collect();
    // The first field behind the name is the third of the line.
    let ticks: f64 = fields.iter().skip(11).take(times).filter_map(|f| f.parse::<f64>().ok()).sum();
    Ok(ticks / TICKS_PER_SECOND)
}

/// Resident memory of one process.
pub fn rss_mib(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = status
        .lines()
        .find_map(|l| l.strip_prefix("VmRSS:"))
        .and_then(|v| v.trim().trim_end_matches(" kB").trim().parse::<f64>().ok());
    Ok(kib.context("VmRSS")? / 1024.0)
}

/// Resident memory of the tree; shared pages count for each process.
pub fn tree_rss_mib(pid: u32) -> Result<f64> {
    Ok(tree(pid).into_iter().filter_map(|pid| rss_mib(pid).ok()).sum())
}

/// Memory of the tree that no other process shares.
pub fn tree_private_mib(pid: u32) -> Result<f64> {
    let mut kib = 0.0;
    for pid in tree(pid) {
        // One may have ended meanwhile.
        let Ok(rollup) = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else {
            continue;
        };
        let private = rollup
            .lines()
            .filter(|l| l.starts_with("Private_"))
            .filter_map(|l| l.split_whitespace().nth(1)?.parse::<f64>().ok());
        kib += private.sum::<f64>();
    }
    Ok(kib / 1024.0)
}
