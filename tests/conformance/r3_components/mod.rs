//! Section 3 of the reference: the component API, sharpened.

mod data_stores;
mod registry;
