//! Reject delay: an event that is rejected because too many wait is answered after a moment.
//! Clients that retry at once would otherwise take as much CPU by being rejected as by being
//! served.

use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How long: as long as the answer says to wait (`Retry-After`).
const HELD: Duration = Duration::from_secs(1);
/// Held at once; what is refused beyond that is answered at once.
const HELD_MAX: usize = 1024;
/// Events that are larger were counted in the room of bodies, which others need.
const BYTES_MAX: usize = 16 << 10;

pub(crate) struct Refusals(Semaphore);

impl Default for Refusals {
    fn default() -> Self {
        Self(Semaphore::new(HELD_MAX))
    }
}

impl Refusals {
    /// Waits, where the refused event has so many `bytes`, until the answer is to go out; no longer
    /// than until `stop`.
    pub(crate) async fn hold(&self, bytes: usize, stop: &CancellationToken) {
        if bytes > BYTES_MAX {
            return;
        }
        let Ok(_held) = self.0.try_acquire() else { return };
        // Ending early is no failure: the server stops.
        let _ = tokio::time::timeout(HELD, stop.cancelled()).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_held_for_a_moment_where_that_costs_nobody_anything() {
        let (refusals, stop, began) =
            (Refusals::default(), CancellationToken::new(), Instant::now());
        refusals.hold(BYTES_MAX + 1, &stop).await;
        assert_eq!(began.elapsed(), Duration::ZERO, "it takes room");
        refusals.hold(BYTES_MAX, &stop).await;
        assert!(began.elapsed() >= HELD);
        let (again, all) = (
            Instant::now(),
            refusals.0.try_acquire_many(u32::try_from(HELD_MAX).unwrap()).unwrap(),
        );
        refusals.hold(1, &stop).await;
        assert_eq!(again.elapsed(), Duration::ZERO, "as many as may be are held");
        drop(all);
        stop.cancel();
        refusals.hold(1, &stop).await;
        assert_eq!(again.elapsed(), Duration::ZERO, "the server stops");
    }
}
