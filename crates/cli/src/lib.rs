//! The command line: a client of `/v1` and nothing else.

mod client;
mod commands;
mod dev;
mod files;
mod printer;
mod profile;
mod stream;
mod workflow_file;

pub use commands::{ClientCommand, GlobalArgs, run};
