//! The command line: a client of `/v1` and nothing else.
//!
//! [`ClientCommand`] is what a person types, `commands` what it does, `client` the requests,
//! `terminal` the only door to a person. `workflow` and `files` are the form of folders. Exit
//! status: 0 done, 1 refused or failed, 2 wrong use.

mod args;
mod client;
mod commands;
mod dev;
mod error;
mod files;
mod prop_hints;
mod reasons;
mod terminal;
mod workflow;

pub use args::{
    ClientCommand, EventArg, GlobalArgs, InitArgs, InitKind, Listed, ProfileCommand, RunCommand,
    SubscriptionArgs, SubscriptionCommand, WorkflowCommand, refuse_empty,
};
pub use commands::run;
pub use terminal::line::escaped;
