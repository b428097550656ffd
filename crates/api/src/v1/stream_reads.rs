//! Bounds on streams: how many an organization has open, and on their reads. A database may have
//! two readers, and ordinary requests would wait for the reads of all streams that are opened
//! together. Organizations take turns.

use std::panic::resume_unwind;

use millrace_engine::EngineError;
use millrace_fair::{Class, FairSemaphore, Order, Permit, Policy, Quotas};
use millrace_model::ids::OrgId;
use tokio_util::task::AbortOnDropHandle;

/// Streams that an organization has open on this server: each writes all that it sends by itself.
const OPEN_MAX: usize = 200;

/// Streams that are open.
#[derive(Clone)]
pub(crate) struct OpenStreams(FairSemaphore<OrgId>);

impl Default for OpenStreams {
    fn default() -> Self {
        let all = Quotas::UNBOUNDED.tenant(OPEN_MAX);
        Self(FairSemaphore::new(Policy::fewest_held(all)))
    }
}

impl OpenStreams {
    /// Counts another stream of the organization until the permit is dropped.
    pub(crate) fn open(&self, org: &OrgId) -> Result<Permit<OrgId>, EngineError> {
        self.0.try_acquire(org.clone(), ()).ok_or_else(|| EngineError::Conflict {
            code: "quota_exceeded",
            message: format!(
                "an organization has at most {OPEN_MAX} streams open on one server; close one first"
            ),
        })
    }
}

/// Streams that read at once.
const READS_MAX: usize = 2;
/// Of them one organization has one: its slow reads leave the other to the rest.
const READS: Policy =
    Policy { order: Order::RoundRobin, ..Policy::fewest_held(Quotas::of(READS_MAX).tenant(1)) };

/// Permits of reads.
#[derive(Clone)]
pub(crate) struct Reads(FairSemaphore<OrgId>);

impl Default for Reads {
    fn default() -> Self {
        Self(FairSemaphore::new(READS))
    }
}

impl Reads {
    /// Reads under a permit, in a task of its own: a stream whose client takes nothing is not
    /// polled, and would keep a permit from others until it is.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        org: &OrgId,
        read: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let (permits, org) = (self.0.clone(), org.clone());
        let reading = AbortOnDropHandle::new(tokio::spawn(async move {
            // None is rejected: so many may wait as there are streams.
            let _permit = permits.acquire(org, (), &Class::UNBOUNDED).await.ok();
            read.await
        }));
        match reading.await {
            Ok(read) => read,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The server stops.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt as _;

    use super::*;

    fn org(number: usize) -> OrgId {
        format!("o_{number}").parse().unwrap()
    }

    #[test]
    fn an_organization_has_so_many_streams_open_and_another_one_its_own() {
        let open = OpenStreams::default();
        let mut all: Vec<_> = (0..OPEN_MAX).map(|_| open.open(&org(1)).expect("opens")).collect();
        assert!(open.open(&org(1)).is_err() && open.open(&org(2)).is_ok());
        all.pop();
        assert!(open.open(&org(1)).is_ok());
    }

    #[tokio::test]
    async fn a_stream_that_is_not_polled_keeps_no_permit() {
        let (reads, done) = (Reads::default(), Arc::new(AtomicUsize::new(0)));
        let read = || {
            let (reads, done) = (reads.clone(), done.clone());
            async move {
                reads
                    .read(&org(1), async move {
                        tokio::task::yield_now().await;
                        done.fetch_add(1, Ordering::Relaxed);
                    })
                    .await
            }
        };
        let mut slow: Vec<_> = (0..3 * READS_MAX).map(|_| Box::pin(read())).collect();
        // Polled once, and never again.
        assert!(slow.iter_mut().all(|read| read.now_or_never().is_none()));
        read().await;
        assert_eq!(done.load(Ordering::Relaxed), slow.len() + 1);
    }

    /// Reads that never end, of these organizations, begun in this order.
    fn endless(
        reads: &Reads,
        orgs: &[usize],
        under_way: &Arc<AtomicUsize>,
    ) -> Vec<impl Future<Output = ()> + Unpin + use<>> {
        let never = |&number: &usize| {
            let (reads, under_way) = (reads.clone(), under_way.clone());
            let never = async move {
                under_way.fetch_add(1, Ordering::Relaxed);
                std::future::pending::<()>().await
            };
            Box::pin(async move { reads.read(&org(number), never).await })
        };
        let mut all: Vec<_> = orgs.iter().map(never).collect();
        assert!(all.iter_mut().all(|read| read.now_or_never().is_none()));
        all
    }

    async fn settle() {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn no_more_streams_read_at_once_and_those_that_go_away_do_not_at_all() {
        let (reads, under_way) = (Reads::default(), Arc::new(AtomicUsize::new(0)));
        let all = endless(&reads, &[0, 1, 2, 3, 4, 5], &under_way);
        settle().await;
        assert_eq!(under_way.load(Ordering::Relaxed), READS_MAX);
        drop(all);
        reads.read(&org(0), async {}).await;
        assert_eq!(under_way.load(Ordering::Relaxed), READS_MAX);
    }

    #[tokio::test]
    async fn reads_of_one_organization_that_do_not_end_hold_up_no_other() {
        let (reads, under_way) = (Reads::default(), Arc::new(AtomicUsize::new(0)));
        let all = endless(&reads, &[1; 20], &under_way);
        settle().await;
        assert_eq!(under_way.load(Ordering::Relaxed), 1);
        reads.read(&org(2), async {}).await;
        drop(all);
    }
}
