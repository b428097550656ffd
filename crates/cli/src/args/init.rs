//! Arguments of `init`.

use clap::{Args, ValueEnum};

/// What `init` writes.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// The kind of component
    pub kind: InitKind,
    /// Its name, such as "New Things"; the file is named after it
    pub name: String,
    /// Give the source `$.service.db`
    #[arg(long)]
    pub db: bool,
    /// Give the source an endpoint
    #[arg(long)]
    pub http: bool,
    /// Give the source a timer (a source without --http has one)
    #[arg(long)]
    pub timer: bool,
}

/// A kind of component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InitKind {
    /// Emits events
    Source,
    /// Runs as a step of workflows
    Action,
    /// What components of a service share: its accounts and requests
    App,
}
