//! Section 2 of the reference: the endpoints of the REST API, by the rows of its table.

mod apps;
mod asked_for;
mod bounded;
pub(crate) mod events;
mod fields;
mod fields_named;
pub(crate) mod files;
mod forms;
pub(crate) mod keys;
mod looking;
mod records;
pub(crate) mod registries;
mod registry_updates;
mod replays;
mod run_lists;
mod runs;
mod slow_streams;
mod source_versions;
mod sources;
mod streams;
mod unknown_fields;
mod walls;
mod webhook_attempts;
mod webhook_credentials;
mod webhooks;
