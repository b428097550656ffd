//! Artifact and event to effects: hosts and isolates, the wire protocol (`runtime/PROTOCOL.md`),
//! limits, exit reasons.
//!
//! Nothing that a host sends is trusted. Start at [`Runner::call`].

mod ask;
mod before_egress;
mod call;
mod cpu;
mod egress;
mod ended_call;
mod examine;
mod host;
mod host_pool;
mod isolate;
mod node;
mod outgoing;
mod reported;
mod runner;
mod sandbox;
mod types;
mod wire;

/// Whether the bytes are a frame of a host. The benchmark of frames (`bench/benches/parts.rs`) is
/// its only user.
#[doc(hidden)]
pub fn is_frame(bytes: &[u8]) -> bool {
    wire::parse(bytes).is_ok()
}

pub use ask::{Ask, AskError, AskResult};
pub use cpu::{CpuTime, OwnMeter, use_long_time_slices, use_short_time_slices};
pub use examine::{Examined, Tried, examine};
pub use node::WebSocketGlobal;
pub use runner::{QueuedRun, Runner};
pub use sandbox::{WallReport, Walls, probe};
pub use types::*;
