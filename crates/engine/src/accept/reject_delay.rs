//! Reject delay: an event that is rejected because too many wait is answered after a moment.
//! Clients that retry at once would otherwise take as much CPU by being rejected as by being
//! served.

use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How long: as long as the answer says to wait (`Retry-After`).
const DELAY: Duration = Duration::from_secs(1);
/// ClaimedRun at once; what is refused beyond that is answered at once.
const DELAYED_MAX: usize = 1024;
/// Events that are larger were counted in the room of bodies, which others need.
const BYTES_MAX: usize = 16 << 10;

pub(crate) struct RejectDelay(Semaphore);

impl Default for RejectDelay {
    fn default() -> Self {
        Self(Semaphore::new(DELAYED_MAX))
    }
}

impl RejectDelay {
    /// Waits, where the rejected event has so many `bytes`, until the answer is to go out; no
    /// longer than until `stop`.
    pub(crate) async fn wait(&self, bytes: usize, stop: &CancellationToken) {
        if bytes > BYTES_MAX {
            return;
        }
        let Ok(_permit) = self.0.try_acquire() else { return };
        // Ending early is no failure: the server stops.
        let _ = tokio::time::timeout(DELAY, stop.cancelled()).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_rejection_is_delayed_for_a_moment_where_that_costs_nobody_anything() {
        let (delay, stop, began) =
            (RejectDelay::default(), CancellationToken::new(), Instant::now());
        delay.wait(BYTES_MAX + 1, &stop).await;
        assert_eq!(began.elapsed(), Duration::ZERO, "it takes room");
        delay.wait(BYTES_MAX, &stop).await;
        assert!(began.elapsed() >= DELAY);
        let (again, all) = (
            Instant::now(),
            delay.0.try_acquire_many(u32::try_from(DELAYED_MAX).unwrap()).unwrap(),
        );
        delay.wait(1, &stop).await;
        assert_eq!(again.elapsed(), Duration::ZERO, "as many as may be are delayed");
        drop(all);
        stop.cancel();
        delay.wait(1, &stop).await;
        assert_eq!(again.elapsed(), Duration::ZERO, "the server stops");
    }
}
