//! Client of an export: how much it has taken, and how long it may still be waited for.

use std::pin::pin;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::EngineError;

/// How long an export may wait for its client, and how many bytes that it takes bring a second of
/// it back.
pub(super) const TAKING_GRACE: Duration = Duration::from_secs(60);
pub(super) const TAKEN_PER_SECOND: u64 = 64 << 10;

/// How many bytes of an export its client has taken, as told by whoever hands them over.
#[derive(Clone, Debug, Default)]
pub struct Taken(watch::Sender<u64>);

/// Who takes an export, and how long it may still be waited for.
pub(super) struct Client {
    taken: watch::Receiver<u64>,
    /// Bytes that `left` tells of.
    pub(super) counted: u64,
    pub(super) left: Duration,
}

impl Taken {
    /// The client has taken so many bytes more.
    pub fn add(&self, bytes: usize) {
        self.0.send_modify(|taken| *taken += bytes as u64);
    }

    /// Waits until it has taken so many bytes in all.
    pub async fn reach(&self, bytes: u64) {
        // It does not fail: this is a sender.
        let _ = self.0.subscribe().wait_for(|taken| *taken >= bytes).await;
    }
}

impl Client {
    pub(super) fn of(taken: &Taken) -> Self {
        Self { taken: taken.0.subscribe(), counted: 0, left: TAKING_GRACE }
    }

    /// Waits for what the client lets happen. None where it is gone; [`EngineError::ExportTooSlow`]
    /// where it may be waited for no longer.
    pub(super) async fn lets<T>(
        &mut self,
        happen: impl Future<Output = T>,
    ) -> Result<Option<T>, EngineError> {
        let mut happen = pin!(happen);
        loop {
            self.count(Duration::ZERO);
            let began = Instant::now();
            let happened = tokio::select! {
                biased;
                happened = &mut happen => Some(happened),
                more = self.taken.changed() => {
                    if more.is_err() {
                        return Ok(None);
                    }
                    None
                }
                () = tokio::time::sleep(self.left) => return Err(EngineError::ExportTooSlow { bytes: self.counted }),
            };
            self.count(began.elapsed());
            if happened.is_some() {
                return Ok(happened);
            }
        }
    }

    fn count(&mut self, waited: Duration) {
        let taken = *self.taken.borrow_and_update();
        self.left = patience(self.left, waited, taken - self.counted);
        self.counted = taken;
    }
}

/// How long a client may still be waited for that could be waited for so long, was, and took so
/// many bytes meanwhile. What it took long ago buys nothing: the database keeps all that changes
/// while an export reads it.
pub(super) fn patience(left: Duration, waited: Duration, bytes: u64) -> Duration {
    let regained = Duration::from_micros(bytes.saturating_mul(1_000_000) / TAKEN_PER_SECOND);
    left.saturating_sub(waited).saturating_add(regained).min(TAKING_GRACE)
}
