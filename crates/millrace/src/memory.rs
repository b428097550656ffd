//! Return of free memory to the system: the allocator keeps free memory between live values, and a
//! server that was once flooded with large bodies would hold more than a gigabyte for ever.

use std::time::Duration;

/// How often it is looked.
const LOOK: Duration = Duration::from_secs(10);
/// So much that nobody uses is left as it is: it is soon used again.
const KEPT_BYTES: u64 = 64 << 20;

/// Gives free memory back to the system from time to time. Never ends.
pub async fn give_back() {
    let mut was_free = false;
    loop {
        tokio::time::sleep(LOOK).await;
        let work = move || {
            let is_free = free_bytes() > KEPT_BYTES;
            // What is free at one look only is used again at once.
            if is_free && was_free {
                trim();
            }
            is_free
        };
        // Both take milliseconds where there is much, in which whoever needs memory may have to
        // wait.
        was_free = tokio::task::spawn_blocking(work).await.unwrap_or(false);
    }
}

/// Resident, and used by nobody.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "a function without a safe wrapper")]
fn free_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let resident = line
        .and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok())
        .unwrap_or(0)
        << 10;
    if resident <= KEPT_BYTES {
        return 0;
    }
    // SAFETY: it only counts, under the allocator's own locks.
    let told = unsafe { libc::mallinfo2() };
    resident.saturating_sub((told.uordblks + told.hblkhd) as u64)
}

#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "a function without a safe wrapper")]
fn trim() {
    // SAFETY: it touches nothing that is in use, under the allocator's own locks.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators keep less.
#[cfg(not(target_env = "gnu"))]
fn free_bytes() -> u64 {
    0
}

#[cfg(not(target_env = "gnu"))]
fn trim() {}
