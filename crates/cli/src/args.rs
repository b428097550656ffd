//! What can be typed.

mod operations;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

pub use operations::{ExportArgs, OauthClientCommand, RetentionArgs};

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
    /// List a workflow's errors, oldest first
    Errors {
        /// Id or name
        name: String,
    },
    /// Data stores: values that workflows and sources share
    #[command(subcommand, visible_alias = "ds")]
    DataStores(DataStoreCommand),
    /// OAuth clients: programs that get short-lived tokens for their id and secret
    #[command(subcommand)]
    OauthClients(OauthClientCommand),
    /// Write runs, logs and events as they are at one moment, a JSON line for each
    #[command(after_help = "Example: millrace export --from 2026-01-01 --output january.ndjson")]
    Export(ExportArgs),
    /// Show or set how much history of a workflow or source is kept
    #[command(after_help = "Example: millrace retention orders --days 7 --count 10000")]
    Retention(RetentionArgs),
    /// Show who changed what, oldest first
    Audit {
        /// How many
        #[arg(short, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
        n: u32,
    },
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

/// Commands for workflows.
#[derive(Subcommand, Debug)]
pub enum WorkflowCommand {
    /// Make a workflow from a file, or update the one made from it before, and deploy it
    Deploy {
        /// A workflow file (JSON or YAML)
        file: PathBuf,
    },
    /// List workflows
    List,
    /// Show a workflow
    Describe {
        /// Id or name
        name: String,
    },
    /// Delete a workflow
    Delete {
        /// Id or name
        name: String,
    },
    /// Run a workflow's newest steps on an event as a test
    Test {
        /// Id or name
        name: String,
        /// The event, JSON
        #[arg(long, default_value = "{}", value_name = "JSON")]
        event: String,
        /// The last step to run
        #[arg(long, value_name = "STEP")]
        up_to: Option<String>,
    },
    /// List a workflow's runs
    Runs {
        /// Id or name
        name: String,
    },
    /// List a workflow's deployments
    Deployments {
        /// Id or name
        name: String,
    },
    /// Make an earlier deployment live again
    Rollback {
        /// Id or name
        name: String,
        /// The deployment's id
        deployment: String,
    },
}

/// Commands for accounts.
#[derive(Subcommand, Debug)]
pub enum AccountCommand {
    /// List accounts
    List {
        /// Only those of this app
        #[arg(long, value_name = "SLUG")]
        app: Option<String>,
    },
    /// Connect an account: asks for its fields, or reads them from standard input as a JSON object
    #[command(after_help = "Example: millrace accounts add stripe < fields.json, where fields.json is such as {\"api_key\": \"…\"}")]
    Add {
        /// The app's slug
        app: String,
        /// A name to tell it by
        #[arg(long)]
        name: Option<String>,
    },
    /// Show an account, without its credentials
    Show {
        /// The account's id
        id: String,
    },
    /// Give an account a new name, or without one new values of its fields
    Update {
        /// The account's id
        id: String,
        /// A new name
        #[arg(long)]
        name: Option<String>,
    },
    /// Disconnect an account
    Delete {
        /// The account's id
        id: String,
    },
}

/// Commands for registries.
#[derive(Subcommand, Debug)]
pub enum RegistryCommand {
    /// Add a tree of components; it is read here and sent to the server
    #[command(after_help = "A tree is laid out as components/<app>/sources/<slug>/<slug>.mjs (or actions).\n\
        Example: millrace registry add https://github.com/acme/components --name acme")]
    Add {
        /// A folder, a git repository's address, the address of a .tar.gz, or npm:PACKAGE
        what: String,
        /// Its name [default: the last part of where it comes from]
        #[arg(long)]
        name: Option<String>,
    },
    /// List registries
    #[command(visible_alias = "ls")]
    List,
    /// Remove a registry; what was deployed from it goes on
    Remove {
        /// Its name
        name: String,
    },
    /// Read a registry again from where it came
    Update {
        /// Its name
        name: String,
        /// From somewhere else from now on
        what: Option<String>,
    },
    /// Search the components of all registries
    Search {
        /// Words of the key, name or description
        words: Vec<String>,
        /// Only of this app
        #[arg(long)]
        app: Option<String>,
        /// How many
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,
    },
}

/// Commands for runs.
#[derive(Subcommand, Debug)]
pub enum RunCommand {
    /// List the runs of a workflow or source
    List {
        /// Id or name
        name: String,
        /// Only runs in this state
        #[arg(long, value_parser = ["queued", "running", "paused", "succeeded", "failed", "cancelled"])]
        status: Option<String>,
    },
    /// Show a run with its steps, error and logs
    Show {
        /// The run's id
        id: String,
    },
    /// Run the same event again, as a new run
    #[command(after_help = "Example: millrace runs replay run_3MPlbwmoIbRQQTJuWs6qvEHMdKv --from-step charge")]
    Replay {
        /// The run's id
        id: String,
        /// The step to begin with; the steps before keep their results
        #[arg(long, conflicts_with = "from_failed")]
        from_step: Option<String>,
        /// Begin with the step that failed
        #[arg(long)]
        from_failed: bool,
    },
    /// Cancel a run that is queued or paused
    Cancel {
        /// The run's id
        id: String,
    },
}

/// Commands for data stores.
#[derive(Subcommand, Debug)]
pub enum DataStoreCommand {
    /// List data stores
    List,
    /// Make a data store
    Create {
        /// Its name
        name: String,
    },
    /// Show a data store and its first keys
    Show {
        /// Id or name
        store: String,
    },
    /// Print what a data store holds under a key
    Get {
        /// Id or name
        store: String,
        /// The key
        key: String,
    },
    /// Write a value
    #[command(after_help = "Example: millrace data-stores set orders last-seen 42 --ttl 3600")]
    Set {
        /// Id or name
        store: String,
        /// The key
        key: String,
        /// JSON where it is an object, array, number or true, false, null, else text
        value: String,
        /// Seconds until it ends; never where absent
        #[arg(long, value_name = "SECONDS")]
        ttl: Option<f64>,
    },
    /// Delete a key, or without one the data store with all it holds
    Delete {
        /// Id or name
        store: String,
        /// The key
        key: Option<String>,
    },
}

/// Commands for API keys.
#[derive(Subcommand, Debug)]
pub enum KeyCommand {
    /// List keys; never the keys themselves
    List,
    /// Make a key; it is shown this once
    #[command(after_help = "Example: millrace keys create ci --scope deploy --expires-in 90d")]
    Create {
        /// What it is for
        name: String,
        /// What it may do; everything where nothing is said
        #[arg(long = "scope", value_name = "SCOPE", value_parser = ["full", "read", "deploy", "invoke"])]
        scopes: Vec<String>,
        /// When it ends, such as 12h or 90d; never where nothing is said
        #[arg(long, value_name = "DURATION", value_parser = crate::commands::seconds)]
        expires_in: Option<i64>,
        /// Requests a minute [default: the server's setting]
        #[arg(long, value_name = "COUNT")]
        rate: Option<u32>,
    },
    /// End a key at once
    Revoke {
        /// The key's id
        id: String,
    },
    /// Put a new key in the place of one; it is shown this once
    Rotate {
        /// The key's id
        id: String,
        /// How long the key before is still taken, such as 24h; not at all where nothing is said
        #[arg(long, value_name = "DURATION", value_parser = crate::commands::seconds)]
        grace: Option<i64>,
    },
}

/// Commands for subscriptions.
#[derive(Subcommand, Debug)]
pub enum SubscriptionCommand {
    /// Let a listener run on what an emitter emits
    #[command(after_help = "Example: millrace subscriptions add o_Qa8Ium1 error-handler '$errors'")]
    Add(SubscriptionArgs),
    /// End a subscription
    Delete(SubscriptionArgs),
    /// List subscriptions
    List,
}

/// What names a subscription.
#[derive(Args, Debug)]
pub struct SubscriptionArgs {
    /// Id or name of a source or workflow, an organization's id, or `p_*`, `dc_*`
    pub emitter: String,
    /// Id or name of a workflow or source, or a webhook's id
    pub listener: String,
    /// The channel, such as `$errors`; the default channel where absent
    #[arg(default_value = "")]
    pub event_name: String,
}
