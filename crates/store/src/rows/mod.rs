//! Mapping of rows to the product's records, written once for both engines: macros, as a column is
//! read by the functions of the engine's own driver.

mod components;
mod owners;
mod runs;
mod sends;
mod stored;
mod tenants;
