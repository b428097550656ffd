//! Runs: dispatching, execution, requests of their code, pauses and replays.

pub(crate) mod actions;
pub(crate) mod admission;
pub(crate) mod again;
pub(crate) mod asked;
pub(crate) mod asks;
pub(crate) mod begin_order;
mod callbacks;
pub(crate) mod cancel;
pub(crate) mod context;
pub(crate) mod damaged;
pub(crate) mod data_stores;
pub(crate) mod dispatch;
pub(crate) mod execute;
pub(crate) mod files;
pub(crate) mod full_queues;
pub(crate) mod inputs;
mod installed;
pub(crate) mod late;
pub(crate) mod lease_guard;
pub(crate) mod pauses;
pub(crate) mod program;
pub(crate) mod progress;

pub(crate) mod replay_from;
mod replay_plan;
pub(crate) mod replayer;
pub(crate) mod replays;
pub(crate) mod scheduler;
pub(crate) mod shown_keys;
pub(crate) mod sink;
pub(crate) mod so_far;
pub(crate) mod source_program;
pub(crate) mod store_grants;
pub(crate) mod unstored;
mod watched;
pub(crate) mod workflow_tests;
