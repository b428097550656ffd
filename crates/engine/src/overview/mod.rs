//! Overview: what is read across the parts of the engine.

mod live;
mod metrics_text;
pub(crate) mod names;
pub(crate) mod system;
