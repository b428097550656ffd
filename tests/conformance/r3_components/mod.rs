//! Section 3 of the reference: the component API, sharpened.

mod app_hooks;
mod data_stores;
mod files;
mod registry;
mod uploads;
