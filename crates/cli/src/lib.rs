//! The command line: a client of `/v1` and nothing else.
//!
//! [`ClientCommand`] is what a person types, `commands` what it does, `client` the requests, `printer` the only door to
//! the terminal. Exit status: 0 done, 1 refused or failed, 2 wrong use.

mod args;
mod client;
mod commands;
mod dev;
mod error;
mod files;
mod init;
mod printer;
mod profile;
mod prompt;
mod stream;
mod tree;
mod workflow_file;

pub use args::{ClientCommand, GlobalArgs, InitArgs, InitKind, Listed, RunCommand, SubscriptionArgs, SubscriptionCommand, WorkflowCommand};
pub use commands::run;
