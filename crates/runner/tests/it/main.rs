//! The runner through its public interface: with the real runtime, and with hosts that break the
//! protocol on purpose.

mod ahead;
mod asks;
mod calls;
mod egress;
mod hostile;
mod isolation;
mod limits;
mod one_call;
mod places;
mod start;
mod support;
mod together;
mod walls;
