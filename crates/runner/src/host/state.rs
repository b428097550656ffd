//! State of a host: ready for calls, or the reason why it takes no more.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;

/// A host goes through these states in this order; it may skip some and goes back to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostState {
    /// Its modules load.
    Loading,
    /// It takes calls.
    Serving,
    /// It takes no more calls, and ends after those it has.
    Draining(DrainReason),
    /// Its process is gone.
    Exited,
}

/// Why a host takes no more calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrainReason {
    /// It was a CPU hog and got less CPU for good.
    Hog,
    /// Calls of other isolates wait for its place in the pool.
    Replaced,
    /// It was evicted, lost a call, or is being killed.
    Retired,
    /// Its modules do not load.
    LoadFailed,
}

/// All states, in their order.
const ORDER: [HostState; 7] = [
    HostState::Loading,
    HostState::Serving,
    HostState::Draining(DrainReason::Hog),
    HostState::Draining(DrainReason::Replaced),
    HostState::Draining(DrainReason::Retired),
    HostState::Draining(DrainReason::LoadFailed),
    HostState::Exited,
];

impl HostState {
    const fn rank(self) -> u8 {
        match self {
            Self::Loading => 0,
            Self::Serving => 1,
            Self::Draining(DrainReason::Hog) => 2,
            Self::Draining(DrainReason::Replaced) => 3,
            Self::Draining(DrainReason::Retired) => 4,
            Self::Draining(DrainReason::LoadFailed) => 5,
            Self::Exited => 6,
        }
    }

    /// Whether it has its place in the pool: it takes calls, or will, or serves its last ones with
    /// less CPU.
    pub(crate) const fn is_open(self) -> bool {
        matches!(self, Self::Loading | Self::Serving | Self::Draining(DrainReason::Hog))
    }
}

/// The state of one host, which every thread may read and advance without a lock.
pub(crate) struct StateCell {
    rank: AtomicU8,
    advanced: Notify,
}

impl StateCell {
    /// A host that loads.
    pub(crate) fn new() -> Self {
        Self { rank: AtomicU8::new(HostState::Loading.rank()), advanced: Notify::new() }
    }

    pub(crate) fn get(&self) -> HostState {
        ORDER[usize::from(self.rank.load(Ordering::SeqCst))]
    }

    /// Advances to `next`, unless the state is past it; gives the state before.
    pub(crate) fn advance(&self, next: HostState) -> HostState {
        let before = self.rank.fetch_max(next.rank(), Ordering::SeqCst);
        if before < next.rank() {
            self.advanced.notify_waiters();
        }
        ORDER[usize::from(before)]
    }

    /// Waits until the state is past `state`.
    pub(crate) async fn past(&self, state: HostState) {
        loop {
            let mut advanced = std::pin::pin!(self.advanced.notified());
            advanced.as_mut().enable();
            if self.get().rank() > state.rank() {
                return;
            }
            advanced.await;
        }
    }

    /// Waits until the process is gone.
    pub(crate) async fn exited(&self) {
        self.past(HostState::Draining(DrainReason::LoadFailed)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_ranked_in_their_order() {
        for (rank, state) in ORDER.iter().enumerate() {
            assert_eq!(usize::from(state.rank()), rank);
        }
        let open: Vec<_> = ORDER.into_iter().filter(|state| state.is_open()).collect();
        assert_eq!(open, ORDER[..3], "a hog that drains has its place still");
    }

    #[test]
    fn a_state_advances_and_never_goes_back() {
        let cell = StateCell::new();
        assert_eq!(cell.advance(HostState::Serving), HostState::Loading);
        assert_eq!(cell.advance(HostState::Draining(DrainReason::Replaced)), HostState::Serving);
        for earlier in [HostState::Serving, HostState::Draining(DrainReason::Hog)] {
            assert_eq!(cell.advance(earlier), HostState::Draining(DrainReason::Replaced));
        }
        assert_eq!(cell.get(), HostState::Draining(DrainReason::Replaced));
        assert_eq!(cell.advance(HostState::Exited), HostState::Draining(DrainReason::Replaced));
        assert_eq!(cell.advance(HostState::Draining(DrainReason::Retired)), HostState::Exited);
    }

    #[tokio::test]
    async fn whoever_waits_is_notified() {
        let cell = std::sync::Arc::new(StateCell::new());
        let waits = |state| {
            let cell = cell.clone();
            tokio::spawn(async move { cell.past(state).await })
        };
        let (loaded, exited) = (waits(HostState::Loading), {
            let cell = cell.clone();
            tokio::spawn(async move { cell.exited().await })
        });
        tokio::task::yield_now().await;
        cell.advance(HostState::Serving);
        loaded.await.expect("it has loaded");
        assert!(!exited.is_finished());
        cell.advance(HostState::Exited);
        exited.await.expect("it has exited");
    }
}
