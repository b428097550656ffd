//! A random schedule of kills, the same again for the same seed.

use std::io::Write as _;
use std::time::Duration;

/// The variable that gives the seed.
pub const SEED: &str = "MILLRACE_TORTURE_SEED";

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    Server,
    /// One of the processes that run code.
    Host,
    Database,
    /// The server, for another build of it.
    Upgrade,
}

/// Numbers that look random (SplitMix64).
pub struct Schedule(u64);

impl Schedule {
    /// Of the environment's seed, else of one that is made up; says which, so that it can be given
    /// again.
    pub fn of_environment(test: &str) -> Self {
        let given = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| {
            u64::from(std::process::id()) << 20
                | std::time::UNIX_EPOCH.elapsed().map_or(0, |t| u64::from(t.subsec_micros()))
        });
        // Not `eprintln!`, which is shown only for tests that fail.
        writeln!(std::io::stderr(), "{test}: the schedule of {SEED}={seed}").expect("writes");
        Self(seed)
    }

    pub const fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A wait between two bounds, milliseconds.
    pub fn wait(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.number() % (to - from))
    }

    pub fn victim(&mut self, has_database: bool) -> Victim {
        match self.number() % 10 {
            0..4 => Victim::Host,
            4..6 if has_database => Victim::Database,
            6 => Victim::Upgrade,
            _ => Victim::Server,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_schedule_again() {
        let of = |seed| {
            let mut schedule = Schedule::of(seed);
            (0..20).map(|_| (schedule.wait(5, 50), schedule.victim(true))).collect::<Vec<_>>()
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        assert!(of(7).iter().all(|(wait, _)| (5..50).contains(&wait.as_millis())));
    }
}
