//! Admission control of runs: the policy by which accepted and claimed runs get a run slot, and the
//! watch that limits owners while the server's threads wait for CPU.

use std::time::Duration;

use millrace_fair::{Adaptive, Class, FairSemaphore, Policy, Pressure, Quotas, Rejected, Ticket};
use millrace_model::ids::OrgId;
use millrace_model::source::Owner;
use millrace_runner::{CpuTime, OwnMeter};
use tokio::time::Instant;

use crate::background::{Activation, Background, Next, Task};
use crate::{Engine, EngineError};

/// How often limits are adjusted.
const ADJUST_EVERY: Duration = Duration::from_millis(250);

/// Limits of owners, not of organizations: one that has many workflows has more of them than
/// processes (`hosts_max`). With fewer slots these would be idle in between and be evicted for each
/// other, and starting them costs more than was saved (`bench/NEIGHBOURS.md`).
const ADAPTIVE: Adaptive = Adaptive { floor: 8, active: Duration::from_secs(10) };

/// Run slots, shared by organization and owner.
pub(crate) struct Admission {
    pub(crate) slots: FairSemaphore<OrgId, Owner>,
    /// Bounds of accepted runs that wait for a slot; their weight is the bytes of their events,
    /// which are kept in memory.
    accepted: Class,
}

impl Admission {
    pub(crate) fn new(running_max: usize, waiting_max: usize, waiting_bytes_max: usize) -> Self {
        let policy =
            Policy { adaptive: Some(ADAPTIVE), ..Policy::fewest_held(Quotas::shared(running_max)) };
        let accepted = Class {
            permits: Quotas::UNBOUNDED,
            waiting: Quotas::shared(waiting_max),
            weight: Quotas::shared(waiting_bytes_max),
        };
        Self { slots: FairSemaphore::new(policy), accepted }
    }

    /// Admits a run that is about to be accepted, whose event has so many bytes.
    ///
    /// # Errors
    /// `Overloaded` where too many wait.
    pub(crate) fn admit(
        &self,
        org: &OrgId,
        owner: &Owner,
        bytes: usize,
    ) -> Result<Ticket<OrgId, Owner>, EngineError> {
        let ticket = self.slots.admit(org.clone(), owner.clone(), &self.accepted, bytes);
        ticket.map_err(|Rejected| EngineError::Overloaded)
    }

    /// Admits a run claimed from the queue: the dispatcher bounds how many it claims.
    pub(crate) fn admit_claimed(&self, org: &OrgId, owner: &Owner) -> Ticket<OrgId, Owner> {
        self.slots.admit_exempt(org.clone(), owner.clone())
    }
}

/// How short CPU is, by what the server's threads used of it and how long they waited for it. A
/// request wakes several threads one after the other: where they wait nearly as long as they work,
/// it takes twice the time.
fn pressure(time: CpuTime) -> Pressure {
    match time {
        CpuTime { used, waited } if waited >= used * 4 / 5 && !used.is_zero() => Pressure::High,
        CpuTime { used, waited } if waited >= used * 3 / 5 && !used.is_zero() => Pressure::Moderate,
        _ => Pressure::Low,
    }
}

/// Adjusts the limits of owners, by how short CPU is.
pub(crate) struct PressureWatch {
    pub(crate) engine: Engine,
    pub(crate) meter: OwnMeter,
}

impl Background for PressureWatch {
    const TASK: Task = Task::ConcurrencyLimiter;
    // Others stop before, and runs that wait then have all slots again.
    const TO_THE_END: bool = true;
    const DELAY: Duration = ADJUST_EVERY;

    async fn activate(&mut self, _: &Activation) -> Next {
        // Where the kernel does not report how long threads wait, no owner is limited.
        let pressure = self.meter.sample().map_or(Pressure::Low, pressure);
        self.engine.0.admission.slots.adapt(pressure, Instant::now());
        Next::After(ADJUST_EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_as_long_as_working_is_too_long() {
        let of = |used, waited| {
            pressure(CpuTime {
                used: Duration::from_millis(used),
                waited: Duration::from_millis(waited),
            })
        };
        assert_eq!(
            (of(100, 80), of(100, 79), of(100, 60), of(100, 59)),
            (Pressure::High, Pressure::Moderate, Pressure::Moderate, Pressure::Low)
        );
        assert_eq!((of(0, 0), of(0, 10)), (Pressure::Low, Pressure::Low));
    }

    #[test]
    fn an_accepted_run_is_bounded_by_count_and_bytes_and_a_claimed_one_is_not() {
        let admission = Admission::new(1, 4, 100);
        let (org, owner) =
            (OrgId::from_row("o_a".to_owned()), Owner::from_row("p_flood".to_owned()));
        let _claimed = admission.admit_claimed(&org, &owner);
        let first = admission.admit(&org, &owner, 50).expect("may wait");
        assert!(admission.admit(&org, &owner, 1).is_err(), "one claimed and one accepted wait");
        let _more: Vec<_> = (0..10).map(|_| admission.admit_claimed(&org, &owner)).collect();
        drop((first, _more));
        assert!(admission.admit(&org, &owner, 50).is_ok());
    }
}
