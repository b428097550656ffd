//! Rate limit of a key: a token bucket that holds a minute's requests and fills in a minute.

use crate::clock::Timestamp;

/// Milliseconds of a minute, the unit in which a request is counted: a request costs so many, and
/// each millisecond that passes brings as many as requests are allowed in a minute. Whole numbers,
/// so that nothing is lost in rounding.
const COST: i64 = 60_000;

/// The bucket of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    left: i64,
    at: Timestamp,
}

impl Bucket {
    /// A full one.
    pub fn new(per_minute: u32, now: Timestamp) -> Self {
        Self { left: full(per_minute), at: now }
    }

    /// Takes a request out; where there is none left, the milliseconds until there is.
    pub fn take(&mut self, per_minute: u32, now: Timestamp) -> Result<(), i64> {
        let per_minute_i = i64::from(per_minute.max(1));
        // A clock that steps back brings nothing.
        let passed = (now.ms() - self.at.ms()).clamp(0, COST);
        self.left = (self.left + passed * per_minute_i).min(full(per_minute));
        self.at = now;
        if self.left >= COST {
            self.left -= COST;
            return Ok(());
        }
        Err((COST - self.left + per_minute_i - 1) / per_minute_i)
    }

    /// Whether it is as good as a new one by now: a minute fills any bucket.
    pub fn is_full_again(&self, now: Timestamp) -> bool {
        now.ms() - self.at.ms() >= COST
    }
}

fn full(per_minute: u32) -> i64 {
    i64::from(per_minute.max(1)) * COST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minutes_worth_at_once_then_its_share() {
        let mut bucket = Bucket::new(60, Timestamp(0));
        for _ in 0..60 {
            assert_eq!(bucket.take(60, Timestamp(0)), Ok(()));
        }
        assert_eq!(bucket.take(60, Timestamp(0)), Err(1000));
        assert_eq!(bucket.take(60, Timestamp(999)), Err(1));
        assert_eq!(bucket.take(60, Timestamp(1000)), Ok(()));
        assert_eq!(bucket.take(60, Timestamp(1000)), Err(1000));
    }

    #[test]
    fn waiting_brings_no_more_than_a_minutes_worth_and_a_clock_may_step_back() {
        let mut bucket = Bucket::new(2, Timestamp(0));
        assert!(
            !bucket.is_full_again(Timestamp(59_999)) && bucket.is_full_again(Timestamp(60_000))
        );
        assert_eq!(
            (bucket.take(2, Timestamp(1 << 40)), bucket.take(2, Timestamp(1 << 40))),
            (Ok(()), Ok(()))
        );
        assert_eq!(bucket.take(2, Timestamp(5)), Err(30_000));
        assert_eq!(bucket.take(2, Timestamp(30_005)), Ok(()));
    }
}
