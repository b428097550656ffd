//! Section 2 of the reference: the endpoints of the REST API, by the rows of its table.

mod apps;
pub(crate) mod files;
mod keys;
mod records;
mod registries;
mod replays;
mod runs;
mod webhooks;
