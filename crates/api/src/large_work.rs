//! Slots for large bodies and pages, which are read and made on blocking threads. Organizations
//! take turns: one that sends many large bodies does not delay those of others.

use std::panic::resume_unwind;

use millrace_fair::{Class, FairSemaphore, Permit, Policy};
use millrace_model::ids::OrgId;

use crate::room::Whose;

/// Bodies and pages at once. One bound for both: each takes a CPU for as long as it has a slot.
const SLOTS: usize = 2;

/// The slots, cheap to clone. All callers whose organization is not known share as one.
#[derive(Clone, Debug)]
pub(crate) struct LargeWork(FairSemaphore<Option<OrgId>>);

impl Default for LargeWork {
    fn default() -> Self {
        Self(FairSemaphore::new(Policy::one_at_a_time(SLOTS)))
    }
}

impl LargeWork {
    /// Does `work` on a blocking thread, once its organization has a slot.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        whose: &Whose,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let slot = self.slot(whose).await;
        // The work goes on where its client goes away, and so its slot goes with it.
        let working = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            work()
        });
        match working.await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The server stops.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// None is rejected: so many may wait as there is memory for.
    async fn slot(&self, whose: &Whose) -> Option<Permit<Option<OrgId>>> {
        self.0.acquire(whose.org().cloned(), (), &Class::UNBOUNDED).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::FutureExt as _;

    use super::*;

    fn whose(org: &str) -> Whose {
        Whose::from(org.parse::<OrgId>().unwrap())
    }

    #[tokio::test]
    async fn a_second_organization_goes_before_the_third_of_a_first_one() {
        let (large, one, another) = (LargeWork::default(), whose("o_1"), whose("o_2"));
        let first = large.slot(&one).now_or_never().expect("it is alone");
        let second = large.slot(&one).now_or_never().expect("it is alone");
        let mut third = pin!(large.slot(&one));
        assert!(third.as_mut().now_or_never().is_none(), "there are two");
        let mut of_another = pin!(large.slot(&another));
        assert!(of_another.as_mut().now_or_never().is_none(), "both are taken");
        drop(first);
        assert!(third.as_mut().now_or_never().is_none(), "another organization waits");
        let of_another = of_another.as_mut().now_or_never().expect("it is next");
        drop(of_another);
        assert!(third.as_mut().now_or_never().is_none(), "one is left to others");
        drop(second);
        assert!(third.as_mut().now_or_never().is_some());
    }

    #[tokio::test]
    async fn work_gives_what_it_made_and_its_slot_back() {
        let large = LargeWork::default();
        for number in 0..2 * SLOTS {
            assert_eq!(large.run(&Whose::default(), move || number).await, number);
        }
        assert_eq!(large.0.held(), 0);
    }
}
