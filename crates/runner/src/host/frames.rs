//! Frames of a host: their effects, and the order that they must keep.

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use crate::call::After;
use crate::host::state::{DrainReason, HostState};
use crate::host::{ExitReason, Host, HostEvent, PROTOCOL};
use crate::reported::thrown;
use crate::types::{CallFailure, FailureKind};
use crate::wire::{self, FromHost, WireError};

/// How far a host's frames are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Silent,
    Greeted,
    /// It said whether its modules loaded.
    Loaded,
}

impl Host {
    /// Handles one frame of a call or of loading.
    pub(crate) fn frame(
        self: &Arc<Self>,
        bytes: &Bytes,
        phase: &mut Phase,
    ) -> Result<Option<HostEvent>, WireError> {
        let frame = wire::parse(bytes)?;
        if matches!(frame, FromHost::Hello { .. }) != (*phase == Phase::Silent) {
            return Err(WireError::OutOfOrder("`hello` comes first, and once"));
        }
        let id = match &frame {
            FromHost::Hello { protocol } if *protocol == PROTOCOL => {
                *phase = Phase::Greeted;
                return Ok(None);
            }
            FromHost::Hello { .. } => {
                return Err(WireError::OutOfOrder("another version of the protocol"));
            }
            FromHost::Loaded | FromHost::LoadFailed { .. } if *phase != Phase::Greeted => {
                return Err(WireError::OutOfOrder("loaded twice"));
            }
            FromHost::Loaded => {
                *phase = Phase::Loaded;
                self.state.advance(HostState::Serving);
                return Ok(Some(HostEvent::Freed));
            }
            FromHost::LoadFailed { error } => {
                let failure =
                    CallFailure { kind: FailureKind::LoadFailed, ..thrown(error.clone(), None) };
                *phase = Phase::Loaded;
                self.drain(DrainReason::LoadFailed);
                return Ok(Some(HostEvent::LoadFailed(failure)));
            }
            FromHost::Cancelled { id } => {
                let told = self.cancels.lock().remove(id).ok_or(WireError::UnknownCall)?;
                // Whoever asked may have gone away.
                let _ = told.send(());
                return Ok(None);
            }
            FromHost::Quiet => {
                let mut calls = self.calls.lock();
                if !std::mem::take(&mut calls.left_running) {
                    return Err(WireError::OutOfOrder(
                        "`quiet` without a call that left something running",
                    ));
                }
                // What it did not give back reaches it only now.
                calls.advance(self);
                return Ok(Some(HostEvent::Freed));
            }
            FromHost::Back { id } => {
                let mut calls = self.calls.lock();
                let position = calls.ahead.iter().position(|ahead| ahead.id == *id);
                calls.gave_back = true;
                let back = position
                    .and_then(|position| calls.ahead.remove(position))
                    .ok_or(WireError::UnknownCall)?;
                return Ok(Some(HostEvent::GaveBack(back)));
            }
            FromHost::Awaits { id }
            | FromHost::Entered { id }
            | FromHost::Log { id, .. }
            | FromHost::Emit { id, .. }
            | FromHost::Db { id, .. }
            | FromHost::Respond { id, .. }
            | FromHost::Step { id, .. }
            | FromHost::Send { id, .. }
            | FromHost::Ask { id, .. }
            | FromHost::Done { id, .. } => *id,
        };
        self.frame_of_call(id, frame, bytes.len())
    }

    fn frame_of_call(
        self: &Arc<Self>,
        id: u64,
        frame: FromHost<'_>,
        bytes: usize,
    ) -> Result<Option<HostEvent>, WireError> {
        // Held while the frame is handled: a call is given up before a frame of it or after, and
        // one whose frame is a violation ends as its host does.
        let mut calls = self.calls.lock();
        let frame = match frame {
            FromHost::Log { late: true, level, text, ts, .. } => {
                return calls.late_line(id, &level, text, ts, bytes).map(|()| None);
            }
            frame => frame,
        };
        let Some(call) = calls.under_way.get_mut(&id) else {
            // Frames of a call that we gave up are late, until it is done; all others are forged,
            // or follow an end.
            if !calls.late.contains(&id) {
                return Err(WireError::UnknownCall);
            }
            calls.count_given_up(bytes)?;
            if matches!(frame, FromHost::Done { .. }) {
                calls.late.remove(&id);
            }
            return Ok(None);
        };
        let left_running = matches!(&frame, FromHost::Done { left_running: true, .. });
        let after = match frame {
            FromHost::Awaits { .. } => return call.awaits_now().map(|()| None),
            FromHost::Entered { .. } => {
                call.entered_now()?;
                return Ok(self.spec.in_order.then_some(HostEvent::Entered));
            }
            FromHost::Ask { ask, kind, payload, .. } => {
                call.ask(&self.answers, id, ask, kind, payload, bytes)?
            }
            frame => call.frame(frame, bytes)?,
        };
        let (ended, with_host) = match after {
            After::GoesOn => return Ok(None),
            After::Over(ended) => (ended, false),
            After::OverWithHost(failure) => (Err(failure), true),
        };
        calls.left_running = left_running;
        calls.finish(id, ended);
        if !left_running && !with_host && calls.under_way.is_empty() {
            calls.advance(self);
        }
        drop(calls);
        *self.used.lock() = Instant::now();
        if with_host {
            self.kill(ExitReason::Ended);
            return Ok(None);
        }
        Ok(Some(if left_running { HostEvent::LeftRunning } else { HostEvent::Freed }))
    }
}
