//! CPU: what hosts use, and who gets how much of it.
//!
//! Each second a sample is taken of every host (`meter`). A host that keeps a CPU busy for few
//! calls is a hog: it gets a lower priority and no more calls. The samples of an organization's
//! hosts are added up (`accounting`); while CPU is short, an organization that uses more than its
//! share is throttled. `sched` is what is asked of the kernel for both; `own` samples the server
//! itself.

mod accounting;
mod meter;
mod own;
mod sched;

use std::ops::{Add, Sub};
use std::time::Duration;

pub(crate) use accounting::CpuAccounting;
pub(crate) use meter::{HostMeter, INTERVAL, sleeps, used};
pub use own::OwnMeter;
pub use sched::{use_long_time_slices, use_short_time_slices};

/// The CPU time of some process or thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// How long it had a CPU.
    pub used: Duration,
    /// How long it was ready to run and waited for one.
    pub waited: Duration,
}

impl Add for CpuTime {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { used: self.used + other.used, waited: self.waited + other.waited }
    }
}

impl Sub for CpuTime {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            used: self.used.saturating_sub(other.used),
            waited: self.waited.saturating_sub(other.waited),
        }
    }
}
