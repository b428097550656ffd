//! Limits of a workflow's runs, and its retries (reference 4).

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// Retries of a workflow at most (reference 4).
pub const RETRIES_MAX: u32 = 8;
/// Waits double from this one, milliseconds, so that eight of them take ten hours.
pub const RETRY_FIRST_MS: u64 = 141_000;

/// How often a failed step is run again, with the results of the steps before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// How often, 1 to 8.
    pub max: u32,
    /// The wait before the first, milliseconds; each further one is twice as long.
    pub first_ms: u64,
}

impl Default for Retry {
    fn default() -> Self {
        Self { max: RETRIES_MAX, first_ms: RETRY_FIRST_MS }
    }
}

impl Retry {
    /// How long to wait after that many retries, milliseconds; None: no further one.
    pub fn wait_ms(&self, retries: u32) -> Option<i64> {
        (retries < self.max).then(|| {
            i64::try_from(self.first_ms.saturating_mul(1 << retries.min(RETRIES_MAX)))
                .unwrap_or(i64::MAX)
        })
    }
}

/// So many runs start in each interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    /// Runs; 0: none start.
    pub runs: u32,
    /// The interval, milliseconds.
    pub interval_ms: u64,
}

/// What holds the runs of a workflow back in the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLimits {
    /// Runs at once.
    pub concurrency: Option<u32>,
    /// Runs for each interval.
    pub throttle: Option<Throttle>,
    /// Whether the oldest always starts first: a server that may not run it (another one's client
    /// waits for its answer) starts none that came later.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_order: bool,
}

/// A fixed window of a throttle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// When it began.
    pub began_at: Timestamp,
    /// Runs that started in it.
    pub runs: i64,
}

impl RunLimits {
    /// How many runs may start now, where `running` are under way; and the window that they count
    /// in.
    pub fn room(&self, running: i64, window: Window, now: Timestamp) -> (i64, Window) {
        let free =
            self.concurrency.map_or(i64::MAX, |at_once| (i64::from(at_once) - running).max(0));
        let Some(throttle) = self.throttle else { return (free, window) };
        let interval = i64::try_from(throttle.interval_ms).unwrap_or(i64::MAX);
        // A clock that stepped back does not hold runs for longer than an interval.
        let current = if (0..interval).contains(&now.since(window.began_at)) {
            window
        } else {
            Window { began_at: now, runs: 0 }
        };
        (free.min(i64::from(throttle.runs).saturating_sub(current.runs).max(0)), current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_retries_take_ten_hours() {
        let retry = Retry::default();
        let waits: Vec<i64> = (0..).map_while(|n| retry.wait_ms(n)).collect();
        assert_eq!((waits.len(), waits[0], waits[1]), (8, 141_000, 282_000));
        let hours = waits.iter().sum::<i64>() as f64 / 3_600_000.0;
        assert!((9.9..=10.0).contains(&hours), "{hours}");
        assert_eq!(Retry { max: 1, first_ms: u64::MAX }.wait_ms(0), Some(i64::MAX));
        assert_eq!(Retry { max: 1, first_ms: 1 }.wait_ms(1), None);
    }

    #[test]
    fn room_is_what_is_left_of_both_limits() {
        let window = |ms, runs| Window { began_at: Timestamp(ms), runs };
        let limits = |concurrency, throttle: Option<(u32, u64)>| RunLimits {
            concurrency,
            throttle: throttle.map(|(runs, interval_ms)| Throttle { runs, interval_ms }),
            in_order: false,
        };
        let room =
            |limits: RunLimits, running, window, now| limits.room(running, window, Timestamp(now));
        assert_eq!(room(limits(None, None), 99, window(0, 5), 10), (i64::MAX, window(0, 5)));
        assert_eq!(room(limits(Some(2), None), 1, window(0, 0), 10).0, 1);
        assert_eq!(room(limits(Some(2), None), 5, window(0, 0), 10).0, 0);
        assert_eq!(room(limits(None, Some((3, 100))), 9, window(0, 2), 99), (1, window(0, 2)));
        assert_eq!(room(limits(None, Some((3, 100))), 9, window(0, 3), 100), (3, window(100, 0)));
        assert_eq!(room(limits(None, Some((3, 100))), 9, window(500, 3), 100), (3, window(100, 0)));
        assert_eq!(room(limits(Some(1), Some((3, 100))), 0, window(0, 0), 1).0, 1);
        assert_eq!(room(limits(None, Some((0, 100))), 0, window(0, 0), 500).0, 0);
        // A damaged window.
        assert_eq!(
            room(limits(None, Some((3, 100))), 0, window(i64::MIN, i64::MAX), 500),
            (3, window(500, 0))
        );
        assert_eq!(room(limits(None, Some((3, 100))), 0, window(500, i64::MIN), 500).0, i64::MAX);
    }
}
