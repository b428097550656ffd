//! Fair semaphore: permits shared between tenants and their owners under a [`Policy`], which says
//! who may hold and wait for how much, and whose request is granted next.
//!
//! [`FairSemaphore`] is the one primitive for limits that are fair between organizations. Its state
//! is pure (`state.rs`), so that its promises are tested alone: never more permits than there are,
//! every quota held, every permit returned, and nobody starved.

mod adaptive;
mod counts;
mod policy;
mod queues;
mod semaphore;
mod state;
#[cfg(test)]
mod tests;

use std::hash::Hash;

pub use crate::adaptive::Pressure;
pub use crate::policy::{Adaptive, Class, Order, Policy, Quotas};
pub use crate::semaphore::{FairSemaphore, Permit, Ticket};

/// What names a tenant or an owner.
pub trait Key: Clone + Eq + Hash {}

impl<K: Clone + Eq + Hash> Key for K {}

/// The bounds for waiting requests are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests wait, as many as may")]
pub struct Rejected;
