//! Quota of the bytes of files that an organization's endpoints received and that are still stored:
//! anyone who may call its endpoints sends them.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use millrace_model::clock::Timestamp;
use millrace_model::ids::OrgId;
use millrace_model::upload::KEPT_MS;
use parking_lot::Mutex;

use crate::EngineError;

/// What a file takes at least.
pub(crate) const FILE_BYTES_MIN: usize = 4 << 10;
/// What comes within so many milliseconds is counted as one.
const STEP_MS: i64 = 60_000;

/// Counts bytes by organization, since this server began: other servers count their own.
#[derive(Default)]
pub(crate) struct KeptFiles(Mutex<HashMap<OrgId, VecDeque<(Timestamp, u64)>>>);

impl KeptFiles {
    /// Counts bytes that came now.
    ///
    /// # Errors
    /// `FilesFull` where the organization would have more than `max`; nothing is counted then.
    pub(crate) fn take(
        &self,
        org: &OrgId,
        bytes: usize,
        max: u64,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        // What a clock said that was put back is no nearer to its end.
        let keep = |steps: &mut VecDeque<(Timestamp, u64)>| {
            steps.retain(|(end, _)| *end > now && end.ms() <= now.ms() + KEPT_MS + STEP_MS);
            !steps.is_empty()
        };
        let mut all = self.0.lock();
        // Of all of them once an organization comes anew: for each piece of a file its own are
        // enough.
        if !all.get_mut(org).is_some_and(keep) {
            all.retain(|_, steps| keep(steps));
        }
        let steps = all.entry(org.clone()).or_default();
        let (kept, bytes) = (steps.iter().map(|(_, bytes)| bytes).sum::<u64>(), bytes as u64);
        if kept.saturating_add(bytes) > max {
            let wait_ms = steps.front().map_or(STEP_MS, |(end, _)| end.ms() - now.ms());
            return Err(EngineError::FilesFull {
                max_mb: max >> 20,
                wait: Duration::from_millis(wait_ms.unsigned_abs()),
            });
        }
        let end = Timestamp(
            (now.ms() + KEPT_MS).div_euclid(STEP_MS).saturating_add(1).saturating_mul(STEP_MS),
        );
        match steps.back_mut().filter(|(last, _)| *last == end) {
            Some((_, count)) => *count += bytes,
            None => steps.push_back((end, bytes)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use millrace_model::IdSource;

    use super::*;

    const HALF: usize = 1 << 19;

    #[test]
    fn an_organization_has_its_share_until_its_files_went() {
        let (kept, ids) = (KeptFiles::default(), IdSource::of_many());
        let (one, other) = (OrgId::generate(&ids), OrgId::generate(&ids));
        let take = |org, bytes, ms| kept.take(org, bytes, 1 << 20, Timestamp(ms));
        take(&one, HALF, 0).unwrap();
        take(&one, HALF, STEP_MS).unwrap();
        let full = take(&one, 1, STEP_MS).unwrap_err();
        assert_eq!((full.code(), full.retry_after_secs()), ("files_full", Some(1_800)));
        take(&other, 2 * HALF, STEP_MS).unwrap();
        assert!(take(&one, HALF, KEPT_MS).is_err());
        take(&one, HALF, KEPT_MS + STEP_MS).unwrap();
        assert!(take(&one, 1, KEPT_MS + STEP_MS).is_err());
        // What was counted a day from here is not held against anybody for a day.
        take(&one, 2 * HALF, -86_400_000).unwrap();
    }
}
