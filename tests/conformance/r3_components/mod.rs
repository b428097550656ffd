//! Section 3 of the reference: the component API, sharpened.

mod app_hooks;
mod bodies;
mod data_stores;
mod files;
mod forms;
mod multipart;
mod registry;
mod uploads;
mod websockets;
