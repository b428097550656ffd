//! Statistics of runs over time: how many ended how, and the percentiles of their durations, in
//! buckets of one length.

use crate::clock::Timestamp;
use crate::ids::DeploymentId;
use crate::run::RunStatus;

/// One run that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedRun {
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// How it ended.
    pub status: RunStatus,
    /// As [`run_duration_ms`](crate::run::run_duration_ms) defines it; none: it never started.
    pub duration_ms: Option<i64>,
}

/// Live runs of one version of a workflow or source, by how they ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRuns {
    /// The version.
    pub deployment_id: DeploymentId,
    /// Queued, under way or paused.
    pub unfinished: i64,
    /// As `succeeded`.
    pub succeeded: i64,
    /// As `failed`.
    pub failed: i64,
    /// As `cancelled`.
    pub cancelled: i64,
}

/// Buckets of a range of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buckets {
    /// The beginning of the first.
    pub from: Timestamp,
    /// The end of the last, which may be shorter than the others.
    pub to: Timestamp,
    /// The length of each, milliseconds.
    pub length_ms: i64,
}

/// Runs that ended, by how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// As `succeeded`.
    pub succeeded: u64,
    /// As `failed`.
    pub failed: u64,
    /// As `cancelled`.
    pub cancelled: u64,
    /// Half of those that succeeded or failed took no longer, milliseconds.
    pub p50_ms: Option<i64>,
    /// The same of 95 in a hundred.
    pub p95_ms: Option<i64>,
}

/// Why there are no such buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BucketsError {
    /// The end is not behind the beginning.
    #[error("`to` is not after `from`")]
    Empty,
    /// A bucket is too short.
    #[error("`bucket_ms` is less than {}, the shortest bucket", Buckets::LENGTH_MIN_MS)]
    TooShort,
    /// There would be too many.
    #[error(
        "the range has more than {} buckets; give a longer `bucket_ms`, or a shorter range",
        Buckets::MAX
    )]
    TooMany,
}

impl Buckets {
    /// The most buckets of one range.
    pub const MAX: i64 = 500;
    /// The shortest bucket.
    pub const LENGTH_MIN_MS: i64 = 1_000;
    /// How many there are where no length is given.
    const USUAL: i64 = 24;

    /// Buckets of this length, or 24 of them.
    pub fn of(
        from: Timestamp,
        to: Timestamp,
        length_ms: Option<i64>,
    ) -> Result<Self, BucketsError> {
        let range =
            to.ms().checked_sub(from.ms()).filter(|range| *range > 0).ok_or(BucketsError::Empty)?;
        let length_ms = length_ms.unwrap_or((range / Self::USUAL).max(Self::LENGTH_MIN_MS));
        if length_ms < Self::LENGTH_MIN_MS {
            return Err(BucketsError::TooShort);
        }
        if (range - 1) / length_ms >= Self::MAX {
            return Err(BucketsError::TooMany);
        }
        Ok(Self { from, to, length_ms })
    }

    /// The counts of all runs within, and of each bucket with its beginning.
    pub fn count(&self, runs: &[EndedRun]) -> (RunCounts, Vec<(Timestamp, RunCounts)>) {
        let number =
            usize::try_from((self.to.ms() - self.from.ms() - 1) / self.length_ms + 1).unwrap_or(0);
        let mut parts: Vec<Vec<&EndedRun>> = vec![Vec::new(); number];
        for run in
            runs.iter().filter(|run| run.accepted_at >= self.from && run.accepted_at < self.to)
        {
            let at = usize::try_from((run.accepted_at.ms() - self.from.ms()) / self.length_ms)
                .unwrap_or(0);
            if let Some(part) = parts.get_mut(at) {
                part.push(run);
            }
        }
        let total = counts(parts.iter().flatten().copied());
        let begin =
            |n: usize| Timestamp(self.from.ms() + self.length_ms * i64::try_from(n).unwrap_or(0));
        (
            total,
            parts
                .iter()
                .enumerate()
                .map(|(n, part)| (begin(n), counts(part.iter().copied())))
                .collect(),
        )
    }
}

fn counts<'r>(runs: impl Iterator<Item = &'r EndedRun>) -> RunCounts {
    let (mut counts, mut durations) = (RunCounts::default(), Vec::new());
    for run in runs {
        match run.status {
            RunStatus::Succeeded => counts.succeeded += 1,
            RunStatus::Failed => counts.failed += 1,
            RunStatus::Cancelled => counts.cancelled += 1,
            RunStatus::Queued | RunStatus::Running | RunStatus::Paused => continue,
        }
        if run.status != RunStatus::Cancelled {
            durations.extend(run.duration_ms);
        }
    }
    durations.sort_unstable();
    (counts.p50_ms, counts.p95_ms) = (percentile(&durations, 50), percentile(&durations, 95));
    counts
}

/// The nearest rank: the smallest of the values that so many of a hundred do not exceed.
fn percentile(sorted: &[i64], percent: usize) -> Option<i64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(at: i64, status: RunStatus, duration_ms: i64) -> EndedRun {
        EndedRun { accepted_at: Timestamp(at), status, duration_ms: Some(duration_ms) }
    }

    #[test]
    fn runs_are_counted_where_they_were_accepted() {
        let buckets =
            Buckets::of(Timestamp(10_000), Timestamp(12_500), Some(1_000)).expect("buckets");
        let runs = [
            run(9_999, RunStatus::Failed, 1),
            run(10_000, RunStatus::Succeeded, 30),
            run(10_999, RunStatus::Failed, 10),
            run(11_000, RunStatus::Cancelled, 900),
            run(12_499, RunStatus::Succeeded, 20),
            run(12_500, RunStatus::Succeeded, 1),
        ];
        let (total, parts) = buckets.count(&runs);
        assert_eq!(
            total,
            RunCounts { succeeded: 2, failed: 1, cancelled: 1, p50_ms: Some(20), p95_ms: Some(30) }
        );
        let first =
            RunCounts { succeeded: 1, failed: 1, cancelled: 0, p50_ms: Some(10), p95_ms: Some(30) };
        let second = RunCounts { cancelled: 1, ..RunCounts::default() };
        let third =
            RunCounts { succeeded: 1, p50_ms: Some(20), p95_ms: Some(20), ..RunCounts::default() };
        assert_eq!(
            parts,
            [(Timestamp(10_000), first), (Timestamp(11_000), second), (Timestamp(12_000), third)]
        );
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<i64> = (1..=100).collect();
        assert_eq!((percentile(&values, 50), percentile(&values, 95)), (Some(50), Some(95)));
        assert_eq!(
            (percentile(&[7], 50), percentile(&[7], 95), percentile(&[], 50)),
            (Some(7), Some(7), None)
        );
        assert_eq!(percentile(&[1, 2], 50), Some(1));
    }

    #[test]
    fn there_are_not_too_many_buckets() {
        let of = |to, length| {
            Buckets::of(Timestamp(0), Timestamp(to), length).map(|buckets| buckets.length_ms)
        };
        assert_eq!(of(24 * 3_600_000, None), Ok(3_600_000));
        assert_eq!(of(5, None), Ok(1_000));
        assert_eq!(of(500_000, Some(1_000)), Ok(1_000));
        assert_eq!(of(500_001, Some(1_000)), Err(BucketsError::TooMany));
        assert_eq!(
            (of(0, None), of(10, Some(999))),
            (Err(BucketsError::Empty), Err(BucketsError::TooShort))
        );
        assert_eq!(
            Buckets::of(Timestamp(i64::MIN), Timestamp(i64::MAX), None),
            Err(BucketsError::Empty)
        );
    }
}
