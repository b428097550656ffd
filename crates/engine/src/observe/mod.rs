//! What people and tools read of all this: histories, views, metrics, traces.

pub(crate) mod error_groups;
pub(crate) mod events;
pub(crate) mod exports;
pub(crate) mod history;
pub(crate) mod metrics;
pub(crate) mod names;
pub(crate) mod readiness;
pub(crate) mod search;
pub(crate) mod streams;
pub(crate) mod system;
pub(crate) mod traces;
pub(crate) mod views;
