//! The vocabulary of Millrace and its pure rules.
//!
//! No I/O, no async, no clock of its own: whatever a rule needs is passed in. Start at
//! [`run::Run`], then [`dedupe`], [`schedule`] and [`props`].

pub mod account;
pub mod audit;
pub mod bounded_body;
pub mod clock;
pub mod component;
pub mod credential_names;
pub mod data_store;
pub mod dedupe;
pub mod domain;
pub mod egress;
mod error_chain;
pub mod error_event;
pub mod event;
pub mod file;
pub mod form;
pub mod http;
pub mod ids;
pub mod integrity;
pub mod json;
pub mod limits;
pub mod made_from;
pub mod names;
pub mod npm_registry;
pub mod own_files;
pub mod page;
pub mod pause;
pub mod people;
pub mod prop_type;
pub mod props;
pub mod proxies;
pub mod rate;
pub mod record_tag;
pub mod registry;
pub mod replay;
pub mod retention;
pub mod run;
pub mod run_filter;
pub mod run_stats;
pub mod schedule;
pub mod search;
mod shown;
pub mod slug;
pub mod source;
pub mod source_paths;
pub mod step_result;
pub mod subscription;
pub mod tenant;
pub mod tsconfig;
pub mod upload;
pub mod webhook;
pub mod workflow;
mod workflow_tag;

pub use clock::{Clock, ManualClock, SystemClock, Timestamp};
pub use error_chain::error_chain;
pub use ids::IdSource;
pub use shown::{bound_details, bounded_message, shown};
