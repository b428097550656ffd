//! Bound on the reads of streams: a database may have two readers, and ordinary requests would wait
//! for the reads of all streams that are opened together.

use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

/// Streams that read at once.
const READS_MAX: usize = 2;

/// Permits of reads.
#[derive(Clone)]
pub(crate) struct Reads(Arc<Semaphore>);

impl Default for Reads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(READS_MAX)))
    }
}

impl Reads {
    /// Reads under a permit, in a task of its own: a stream whose client takes nothing is not
    /// polled, and would keep a permit from others until it is.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let permits = self.0.clone();
        let reading = AbortOnDropHandle::new(tokio::spawn(async move {
            // They are never closed.
            let _permit = permits.acquire().await.ok();
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_stream_that_is_not_polled_keeps_no_permit() {
        let (reads, done) = (Reads::default(), Arc::new(AtomicUsize::new(0)));
        let read = || {
            let (reads, done) = (reads.clone(), done.clone());
            async move {
                reads
                    .read(async move {
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

    #[tokio::test]
    async fn no_more_streams_read_at_once_and_those_that_go_away_do_not_at_all() {
        let (reads, under_way) = (Reads::default(), Arc::new(AtomicUsize::new(0)));
        let never = || {
            let (reads, under_way) = (reads.clone(), under_way.clone());
            Box::pin(async move {
                reads
                    .read(async move {
                        under_way.fetch_add(1, Ordering::Relaxed);
                        std::future::pending::<()>().await
                    })
                    .await
            })
        };
        let mut all: Vec<_> = (0..3 * READS_MAX).map(|_| never()).collect();
        assert!(all.iter_mut().all(|read| read.now_or_never().is_none()));
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(under_way.load(Ordering::Relaxed), READS_MAX);
        drop(all);
        reads.read(async {}).await;
        assert_eq!(under_way.load(Ordering::Relaxed), READS_MAX);
    }
}
