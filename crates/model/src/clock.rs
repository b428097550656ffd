//! Clock: everything that needs the current time is given a [`Clock`].

use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl schemars::JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EpochMs".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer" })
    }
}

impl Timestamp {
    /// Milliseconds since the epoch.
    pub const fn ms(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch (records carry seconds: reference 1).
    pub const fn secs(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// ISO 8601 with milliseconds in UTC, as in `original_context.ts` (spec 2.3).
    pub fn iso(self) -> String {
        self.datetime().to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    /// Reads a date and time with its offset (RFC 3339); None where the text is none.
    pub fn parse_iso(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok().map(|at| Self(at.timestamp_millis()))
    }

    /// Reads a date of HTTP or mail (RFC 2822); None where the text is none.
    pub fn parse_http(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc2822(text).ok().map(|at| Self(at.timestamp_millis()))
    }

    /// As a calendar date and time in UTC; out of range values become the epoch.
    pub fn datetime(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or_default()
    }

    /// Milliseconds from another time to this one. A stored time may be damaged: what lies beyond
    /// all numbers is the farthest.
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This time and `ms` milliseconds more.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

/// Where the current time comes from.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(Utc::now().timestamp_millis())
    }
}

/// A clock that a test holds.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `at`.
    pub const fn at(at: Timestamp) -> Self {
        Self(AtomicI64::new(at.0))
    }

    /// Moves the clock by `ms`, in either direction.
    pub fn advance_ms(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}
