//! Retention of history: bounds by age and number.

use crate::clock::Timestamp;

/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 3600 * 1000;

/// How much history is kept: of the server, or of one workflow or source in its place. What is
/// absent is not bounded, or as the server says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Days after which settled runs with their logs, and events, go.
    pub keep_days: Option<u32>,
    /// The newest runs, and the newest events, that stay.
    pub keep_count: Option<u32>,
}

impl Retention {
    /// The most days that may be asked for.
    pub const DAYS_MAX: u32 = 36_500;
    /// The most runs or events that may be asked for: what is kept is counted at each pruning.
    pub const COUNT_MAX: u32 = 1_000_000;

    /// This, and where it says nothing, the other.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            keep_days: self.keep_days.or(other.keep_days),
            keep_count: self.keep_count.or(other.keep_count),
        }
    }

    /// This, and no more than `max`.
    #[must_use]
    pub fn at_most(self, max: Self) -> Self {
        let least = |own: Option<u32>, max: Option<u32>| match (own, max) {
            (Some(own), Some(max)) => Some(own.min(max)),
            (own, max) => own.or(max),
        };
        Self {
            keep_days: least(self.keep_days, max.keep_days),
            keep_count: least(self.keep_count, max.keep_count),
        }
    }

    /// What was accepted before is old; none: nothing is.
    pub fn cut(self, now: Timestamp) -> Option<Timestamp> {
        self.keep_days.map(|days| now.plus_ms(-i64::from(days) * DAY_MS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_one_wins_over_what_is_said_of_all() {
        let retention = |keep_days, keep_count| Retention { keep_days, keep_count };
        assert_eq!(
            retention(Some(1), None).or(retention(Some(30), Some(9))),
            retention(Some(1), Some(9))
        );
        assert_eq!(
            retention(Some(9), None).at_most(retention(Some(7), Some(5))),
            retention(Some(7), Some(5))
        );
        assert_eq!(
            retention(Some(3), Some(4)).at_most(retention(Some(7), None)),
            retention(Some(3), Some(4))
        );
        assert_eq!(retention(None, None).cut(Timestamp(5)), None);
        assert_eq!(retention(Some(2), None).cut(Timestamp(2 * DAY_MS + 7)), Some(Timestamp(7)));
    }
}
