//! The suite every engine passes: each clause of [`crate::Store`], through its interface and
//! nothing else.
//!
//! An engine's tests hold `millrace_store::suite!(crate::fresh);`, where `fresh` is an
//! `async fn() -> Option<impl Database>` that gives a database of its own to each test, or `None`
//! where it says why it cannot.

#![expect(
    clippy::cloned_ref_to_slice_refs,
    reason = "a list of one is written as a list of many is"
)]

pub mod accounts;
pub mod audit;
pub mod clock;
pub mod components;
pub mod data_stores;
pub mod deliveries;
pub mod errors;
pub mod exports;
pub mod forms;
pub mod history;
pub mod interfaces;
pub mod lifecycle;
pub mod limits;
pub mod listing;
pub mod mail;
pub mod many;
pub mod names;
pub mod oauth_clients;
pub mod pauses;
pub mod people;
pub mod registries;
pub mod replays;
pub mod retention;
pub mod run_lists;
pub mod runs;
mod sample;
pub mod search;
pub mod settle;
pub mod shared_events;
pub mod sources;
pub mod stored_files;
pub mod subscriptions;
mod suite;
pub mod tenants;
pub mod uploads;
pub mod webhook_attempts;
pub mod webhooks;
pub mod workflows;

use std::sync::Arc;

use async_trait::async_trait;

use crate::Store;

pub use sample::settlement;

/// A database that is empty at first, and goes with this value.
#[async_trait]
pub trait Database: Send + Sync {
    /// Opens it; again after an earlier store was closed, with all that was acknowledged.
    async fn open(&self) -> Arc<dyn Store>;
}
