//! The command line: a client of `/v1` and nothing else.
//!
//! [`ClientCommand`] is what a person types, `commands` what it does, `client` the requests, `printer` the only door to
//! the terminal. `workflow_file` and `schema` are the form of workflow folders. Exit status: 0 done, 1 refused or failed, 2 wrong use.

mod args;
mod client;
mod commands;
mod dev;
mod dev_workflow;
mod error;
mod files;
mod init;
mod printer;
mod profile;
mod project;
mod prompt;
mod schema;
mod stream;
mod tree;
mod workflow_deploy;
mod workflow_diff;
mod workflow_file;
mod workflow_init;
mod yaml;

pub use args::{
    ClientCommand, EventArg, GlobalArgs, InitArgs, InitKind, Listed, ProfileCommand, RunCommand, SubscriptionArgs, SubscriptionCommand, WorkflowCommand,
};
pub use commands::run;
