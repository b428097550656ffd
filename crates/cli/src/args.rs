//! What can be typed. A group of commands has a file of its own.

mod accounts;
mod data_stores;
mod keys;
mod registries;
mod replays;
mod runs;
mod subscriptions;
mod workflows;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

pub use accounts::AccountCommand;
pub use data_stores::DataStoreCommand;
pub use keys::KeyCommand;
pub use registries::RegistryCommand;
pub use replays::ReplayCommand;
pub use runs::RunCommand;
pub use subscriptions::{SubscriptionArgs, SubscriptionCommand};
pub use workflows::WorkflowCommand;

/// Flags of every command.
#[derive(Args, Clone, Debug, Default)]
pub struct GlobalArgs {
    /// Print the server's data as JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// A profile of the configuration file
    #[arg(short, long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// The server [default: the profile's, else http://127.0.0.1:8787]
    #[arg(long, global = true, env = "MILLRACE_URL")]
    pub url: Option<String>,
    /// The API key; prefer the environment or a profile, a command line can be seen by others
    #[arg(long, global = true, env = "MILLRACE_API_KEY", hide_env_values = true, value_name = "KEY")]
    pub api_key: Option<String>,
}

/// Commands that speak to a server.
#[derive(Subcommand, Debug)]
pub enum ClientCommand {
    /// Keep a server's address and key in the configuration file
    #[command(after_help = "Asks on a terminal; else reads the key, and the address if it stands on a line of its own, from standard input.\n\
        Example: millrace login --url http://127.0.0.1:8787 < key.txt")]
    Login,
    /// Forget a kept key
    Logout,
    /// Write a source or action to begin with
    Init(InitArgs),
    /// Deploy a source from a file, an address, a saved component or a key, published or of a registry
    #[command(after_help = "Example: millrace deploy rss.mjs --prop url=https://example.com/feed.xml --prop timer='{\"intervalSeconds\": 60}'")]
    Deploy {
        /// A file, an http(s) address, an `sc_` id or a key
        what: String,
        /// The source's name
        #[arg(long)]
        name: Option<String>,
        /// A prop's value: JSON where it is an object, array, number or true, false, else text
        #[arg(long = "prop", value_name = "NAME=VALUE")]
        props: Vec<String>,
    },
    /// Publish an action or source under its key
    Publish {
        /// The component's file
        file: PathBuf,
    },
    /// Take a published key away
    Unpublish {
        /// The key
        key: String,
    },
    /// Deploy a source, redeploy it on each save, show its events and logs
    Dev {
        /// The source's file
        file: PathBuf,
        /// A deployed source to attach to, by id or name
        #[arg(long, value_name = "ID")]
        dc: Option<String>,
        /// A prop's value: NAME=VALUE
        #[arg(long = "prop", value_name = "NAME=VALUE")]
        props: Vec<String>,
    },
    /// Show what a source or workflow emitted, oldest first, a JSON line for each
    Events {
        /// Id or name
        name: String,
        /// How many
        #[arg(short, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
        n: u32,
        /// Go on as they come
        #[arg(short, long)]
        follow: bool,
    },
    /// Show a source's or workflow's logs
    Logs {
        /// Id or name
        name: String,
        /// Go on as they come
        #[arg(short, long)]
        follow: bool,
    },
    /// List sources, components or workflows
    #[command(visible_alias = "ls")]
    List {
        /// What to list
        what: Listed,
    },
    /// Show a source or workflow
    Describe {
        /// Id or name
        name: String,
    },
    /// Change a source; a workflow's name or state
    Update {
        /// Id or name
        name: String,
        /// New code: a file, an http(s) address, an `sc_` id or a key
        #[arg(long)]
        code: Option<String>,
        /// A new name
        #[arg(long = "name", value_name = "NAME")]
        new_name: Option<String>,
        /// Make it active
        #[arg(long, conflicts_with = "deactivate")]
        activate: bool,
        /// Make it inactive
        #[arg(long)]
        deactivate: bool,
        /// A prop's value: NAME=VALUE; the others keep theirs
        #[arg(long = "prop", value_name = "NAME=VALUE")]
        props: Vec<String>,
    },
    /// Delete a source or workflow
    Delete {
        /// Id or name
        name: String,
    },
    /// Run a source now
    Run {
        /// Id or name
        name: String,
        /// The event, JSON
        #[arg(long, value_name = "JSON")]
        event: Option<String>,
    },
    /// Workflows, from files
    #[command(subcommand, visible_alias = "wf")]
    Workflows(WorkflowCommand),
    /// Trees of components to deploy from by key
    #[command(subcommand)]
    Registry(RegistryCommand),
    /// Runs of workflows and sources
    #[command(subcommand)]
    Runs(RunCommand),
    /// Who listens to what
    #[command(subcommand)]
    Subscriptions(SubscriptionCommand),
    /// Accounts of the services that components connect to
    #[command(subcommand)]
    Accounts(AccountCommand),
    /// Find the slug of an app
    Apps {
        /// Words of its name
        query: Vec<String>,
    },
    /// API keys of the organization
    #[command(subcommand)]
    Keys(KeyCommand),
    /// List the errors of a workflow or source, oldest first
    #[command(after_help = "Example: millrace errors orders --groups")]
    Errors {
        /// Id or name; with --groups it may be left out
        #[arg(required_unless_present = "groups")]
        name: Option<String>,
        /// By class, step and place in the code, with how many there were; the last seen first
        #[arg(long)]
        groups: bool,
    },
    /// Replay many runs, as a job that outlives the server
    #[command(subcommand)]
    Replays(ReplayCommand),
    /// Data stores: values that workflows and sources share
    #[command(subcommand, visible_alias = "ds")]
    DataStores(DataStoreCommand),
    /// Show the outbox, or one message of it
    Mail {
        /// A message's id
        id: Option<String>,
    },
}

/// What `list` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Deployed sources
    #[value(alias = "so", alias = "source")]
    Sources,
    /// Saved components
    #[value(alias = "co", alias = "component")]
    Components,
    /// Workflows
    #[value(alias = "wf", alias = "workflow")]
    Workflows,
}

/// What `init` writes.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// What to begin
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
}
