//! A clock that a test moves: the machine's, and as many milliseconds more or less as a file says. Not part of releases.

use std::path::PathBuf;

use millrace_model::{Clock, SystemClock, Timestamp};

/// Names the file.
const VARIABLE: &str = "MILLRACE_CLOCK_SKEW_FILE";

pub struct SkewedClock(Option<PathBuf>);

impl SkewedClock {
    pub fn of_environment() -> Self {
        Self(std::env::var_os(VARIABLE).map(PathBuf::from))
    }
}

impl Clock for SkewedClock {
    fn now(&self) -> Timestamp {
        let skew = self.0.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).and_then(|text| text.trim().parse().ok());
        SystemClock.now().plus_ms(skew.unwrap_or(0))
    }
}
