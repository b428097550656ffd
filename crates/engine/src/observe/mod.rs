//! Histories, views, metrics and traces of events and runs, for people and tools.

pub(crate) mod error_groups;
pub(crate) mod events;
pub(crate) mod export_client;
pub(crate) mod exports;
pub(crate) mod metrics;
pub(crate) mod readiness;
pub(crate) mod retention;
pub(crate) mod runs;
pub(crate) mod search;
pub(crate) mod streams;
pub(crate) mod traces;
pub(crate) mod views;
