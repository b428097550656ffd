//! Section 2 of the reference: the endpoints of the REST API, by the rows of its table.

mod keys;
mod registries;
mod webhooks;
