//! What answers below `/v1`: a module for each kind of record.

pub(crate) mod accounts;
pub(crate) mod api_keys;
pub(crate) mod apps;
pub(crate) mod components;
pub(crate) mod configure;
pub(crate) mod connect;
pub(crate) mod connect_components;
pub(crate) mod data_stores;
pub(crate) mod domains;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod history;
pub(crate) mod mail;
pub(crate) mod members;
pub(crate) mod oauth_clients;
pub(crate) mod registries;
pub(crate) mod replays;
pub(crate) mod run_stream;
pub(crate) mod runs;
pub(crate) mod session;
pub(crate) mod sources;
pub(crate) mod sse;
pub(crate) mod subscriptions;
pub(crate) mod users;
pub(crate) mod webhooks;
pub(crate) mod workflows;
