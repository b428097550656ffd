//! Score of a process for the kernel's out-of-memory killer, which ends the process with the
//! highest score.

/// How much likelier than the server such a child is to be ended, of 1000.
const ABOVE: i32 = 500;

/// Raises a child's score above the server's own, so that the child is ended and not the server.
/// Where the score cannot be set the child goes on with the server's.
pub fn prefer(pid: u32) {
    let own = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default();
    let score = own.trim().parse::<i32>().unwrap_or(0).saturating_add(ABOVE).clamp(-1000, 1000);
    let _ = std::fs::write(format!("/proc/{pid}/oom_score_adj"), score.to_string());
}
