//! Components, sources and workflows: what is checked and built before they are stored.

pub(crate) mod artifact_files;
mod brought_back;
pub(crate) mod bundle_error;
pub(crate) mod components;
pub(crate) mod configure;
pub(crate) mod form_answers;
pub(crate) mod forms;
pub(crate) mod hooks;
pub(crate) mod language;
pub(crate) mod marks;
pub(crate) mod new_records;
pub(crate) mod precondition;
pub(crate) mod registries;
pub(crate) mod requests;
mod responses;
pub(crate) mod search_index;
mod served_apps;
pub(crate) mod settings;
pub(crate) mod source_settings;
pub(crate) mod sources;
mod step_views;
pub(crate) mod subscriptions;
mod ticks;
pub(crate) mod values;
pub(crate) mod workflow_changes;
pub(crate) mod workflow_parts;
pub(crate) mod workflows;
