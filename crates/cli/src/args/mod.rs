//! Arguments of the command line. A group of commands has a file of its own.

mod accounts;
mod data_stores;
mod error_groups;
mod files;
mod filled;
mod init;
mod keys;
mod operations;
mod registries;
mod replays;
mod runs;
mod sources;
mod subscriptions;
mod webhooks;
mod workflows;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

pub use accounts::AccountCommand;
pub use data_stores::DataStoreCommand;
pub use error_groups::ErrorGroupCommand;
pub use files::FileCommand;
pub use filled::refuse_empty;
pub use init::{InitArgs, InitKind};
pub use keys::KeyCommand;
pub use operations::{
    AuditArgs, ExportArgs, LogArgs, OauthClientCommand, OrganizationArgs, RetentionArgs, SystemArgs,
};
pub use registries::RegistryCommand;
pub use replays::ReplayCommand;
pub use runs::RunCommand;
pub use sources::SourceCommand;
pub use subscriptions::{SubscriptionArgs, SubscriptionCommand};
pub use webhooks::WebhookCommand;
pub use workflows::{EventArg, WorkflowCommand};

/// Flags of every command.
#[derive(Args, Clone, Debug, Default)]
pub struct GlobalArgs {
    /// Print the server's data as JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// A profile of the configuration file
    #[arg(short, long, global = true, value_name = "NAME", env = "MILLRACE_PROFILE")]
    pub profile: Option<String>,
    /// The server [default: the profile's, else http://127.0.0.1:8787]
    #[arg(long, global = true, env = "MILLRACE_URL")]
    pub url: Option<String>,
    /// The API key; prefer the environment or a profile, a command line can be seen by others
    #[arg(
        long,
        global = true,
        env = "MILLRACE_API_KEY",
        hide_env_values = true,
        value_name = "KEY"
    )]
    pub api_key: Option<String>,
}

/// Commands that speak to a server.
#[derive(Subcommand, Debug)]
pub enum ClientCommand {
    /// Store a server's address and key in the configuration file
    #[command(
        after_help = "Asks on a terminal; otherwise reads the key from standard input, and the address if it is on a line of its own.\n\
        Example: millrace login --url http://127.0.0.1:8787 < key.txt"
    )]
    Login,
    /// Remove a stored key
    #[command(after_help = "Example: millrace logout --profile work")]
    Logout,
    /// Stored servers and keys, by name
    #[command(
        subcommand,
        after_help = "Example: millrace login --profile work && millrace profile use work"
    )]
    Profile(ProfileCommand),
    /// Write a first version of a source, action or app
    #[command(
        after_help = "Examples:\n  millrace init source \"New Things\" --http --db\n  millrace init action \"Say Hello\"\n  millrace init app acme\n\
        A workflow: millrace workflows init NAME"
    )]
    Init(InitArgs),
    /// Deploy a source from a file, an address, a saved component, or the key of a published or
    /// registry component
    #[command(
        after_help = "Example: millrace deploy rss.mjs --prop url=https://example.com/feed.xml --prop timer='{\"intervalSeconds\": 60}'"
    )]
    Deploy {
        /// A file, an http(s) address, an `sc_` id or a key; if it is missing, a terminal asks for
        /// it
        what: Option<String>,
        /// The source's name
        #[arg(long)]
        name: Option<String>,
        /// A prop's value: JSON if it is an object, array, number, true or false; otherwise text
        #[arg(long = "prop", value_name = "NAME=VALUE")]
        props: Vec<String>,
        #[command(flatten)]
        parallel: Parallel,
    },
    /// Publish an action or source under its key
    #[command(after_help = "Example: millrace publish say-hello.mjs")]
    Publish {
        /// The component's file
        file: PathBuf,
    },
    /// Unpublish a component
    #[command(after_help = "Example: millrace unpublish component acme-say-hello")]
    Unpublish {
        /// The key; the word `component` before it is optional
        #[arg(required = true, num_args = 1..=2, value_name = "KEY")]
        key: Vec<String>,
    },
    /// Deploy a source or a workflow's folder, redeploy it on each save, show its events or runs,
    /// and logs
    #[command(
        after_help = "Examples:\n  millrace dev my-source.mjs --prop timer='{\"intervalSeconds\": 5}'\n  millrace dev my-source.mjs --dc my-source\n  millrace dev order-mail"
    )]
    Dev {
        /// The source's file, or the workflow's folder
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// A deployed source to attach to, by id or name
        #[arg(long, value_name = "ID")]
        dc: Option<String>,
        /// A prop's value: NAME=VALUE
        #[arg(long = "prop", value_name = "NAME=VALUE")]
        props: Vec<String>,
    },
    /// Deploy a project: show the plan, ask, then create, update and delete
    #[command(
        after_help = "A project is laid out as workflows/NAME/workflow.yaml, sources/NAME.mjs (with NAME.yaml for its props), and millrace.yaml with `project: NAME`.\n\
        Examples:\n  millrace apply --dry-run\n  millrace apply ./shop --yes --prune"
    )]
    Apply {
        /// The project's folder
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// Show the plan only
        #[arg(long)]
        dry_run: bool,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
        /// Delete what the project made earlier and is no longer in the folder
        #[arg(long)]
        prune: bool,
        /// Take over existing records of the same name that others made
        #[arg(long)]
        adopt: bool,
        /// Also update what has not changed, for example after a variable of the environment has
        #[arg(long)]
        force: bool,
    },
    /// Show what a source or workflow emitted, oldest first, a JSON line for each
    #[command(
        after_help = "Examples:\n  millrace events my-source -n 20\n  millrace events -f my-source | jq ."
    )]
    Events {
        /// Id or name
        name: String,
        /// How many
        #[arg(short, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
        n: u32,
        /// Only events with this text in their data, id or summary, of the newest 2,000
        #[arg(long, value_name = "TEXT", conflicts_with = "follow")]
        text: Option<String>,
        /// Keep showing new ones as they arrive
        #[arg(short, long)]
        follow: bool,
    },
    /// Show a source's or workflow's logs
    #[command(
        after_help = "Examples:\n  millrace logs -f my-source\n  millrace logs orders --level warn,error --text ORD-1182 -n 20"
    )]
    Logs(LogArgs),
    /// Find workflows, sources, components, accounts and other records by words of their names, or
    /// any record by its id
    #[command(
        after_help = "Examples:\n  millrace find orders\n  millrace find run_3MPlbwmoIbRQQTJuWs6qvEHMdKv"
    )]
    Find {
        /// The words, all of them
        #[arg(required = true)]
        words: Vec<String>,
        /// How many at most
        #[arg(short, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
        n: u32,
    },
    /// Show the server: its version, database, disk, queue, processes and walls
    #[command(after_help = "Examples:\n  millrace system\n  millrace system --checks")]
    System(SystemArgs),
    /// List sources, components, workflows, or streams (what emits events)
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  millrace list sources\n  millrace ls wf\n  millrace list streams"
    )]
    List {
        /// What to list; if it is missing, a terminal asks for it
        what: Option<Listed>,
    },
    /// Show a source or workflow
    #[command(after_help = "Example: millrace describe my-source")]
    Describe {
        /// Id or name
        name: String,
    },
    /// Change a source, or a workflow's name or state
    #[command(
        after_help = "Examples:\n  millrace update my-source --code my-source.mjs --prop n=2\n  millrace update my-source --deactivate"
    )]
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
        #[command(flatten)]
        parallel: Parallel,
    },
    /// Delete a source or workflow
    #[command(
        after_help = "Examples:\n  millrace delete my-source --dry-run\n  millrace delete my-source"
    )]
    Delete {
        /// Id or name
        name: String,
        /// Delete nothing, and show what would be deleted with it
        #[arg(long)]
        dry_run: bool,
    },
    /// Run a source or workflow now
    #[command(
        after_help = "Examples:\n  millrace run my-source\n  millrace run my-source --event @event.json"
    )]
    Run {
        /// Id or name
        name: String,
        /// The event: JSON, `@FILE` for a file's, `-` for standard input
        #[arg(long, value_name = "JSON")]
        event: Option<String>,
    },
    /// Workflows, from files
    #[command(
        subcommand,
        visible_alias = "wf",
        after_help = "Example: millrace workflows init order-mail && millrace dev order-mail"
    )]
    Workflows(WorkflowCommand),
    /// Registries: trees of components that are deployed by key
    #[command(
        subcommand,
        after_help = "Example: millrace registry add https://github.com/acme/components && millrace registry search new items"
    )]
    Registry(RegistryCommand),
    /// Versions of sources, and events sent by hand
    #[command(subcommand, after_help = "Example: millrace sources rollback new-orders")]
    Sources(SourceCommand),
    /// Runs of workflows and sources
    #[command(subcommand, after_help = "Example: millrace runs list order-mail --status failed")]
    Runs(RunCommand),
    /// Subscriptions: which listeners run on which events
    #[command(
        subcommand,
        after_help = "Example: millrace subscriptions add order-mail error-handler '$errors'"
    )]
    Subscriptions(SubscriptionCommand),
    /// Accounts of the services that components connect to
    #[command(subcommand, after_help = "Example: millrace accounts add stripe < fields.json")]
    Accounts(AccountCommand),
    /// Find the slug of an app
    #[command(after_help = "Example: millrace apps google sheets")]
    Apps {
        /// Words of its name
        query: Vec<String>,
    },
    /// Webhooks: addresses that events are sent to
    #[command(subcommand, after_help = "Example: millrace webhooks add https://example.com/hook")]
    Webhooks(WebhookCommand),
    /// API keys of the organization
    #[command(
        subcommand,
        after_help = "Example: millrace keys create ci --scope deploy --expires-in 90d"
    )]
    Keys(KeyCommand),
    /// Make a link with which a person sets a password, for the first visit or after forgetting one
    #[command(after_help = "Example: millrace setup-link mara@example.com")]
    SetupLink {
        /// A member's address [default: that of the user the key acts for]
        email: Option<String>,
    },
    /// List the errors of a workflow or source, oldest first
    #[command(after_help = "Example: millrace errors orders --groups")]
    Errors {
        /// Id or name; optional with --groups
        #[arg(required_unless_present = "groups")]
        name: Option<String>,
        /// Group them by class, step and place in the code, with their number; the last seen first
        #[arg(long)]
        groups: bool,
        /// Only groups in one of these states, with commas between them
        #[arg(long, requires = "groups", value_name = "STATE", value_parser = operations::states)]
        state: Option<String>,
    },
    /// One group of errors: its history, and whether it is resolved or ignored
    #[command(
        subcommand,
        after_help = "Example: millrace error-groups resolve eg_5f0c1d2e3b4a59687786 --note 'fixed in version 4'"
    )]
    ErrorGroups(ErrorGroupCommand),
    /// Replay many runs, as a job that a restart of the server does not end
    #[command(
        subcommand,
        after_help = "Example: millrace replays start order-mail --class TypeError --from-failed"
    )]
    Replays(ReplayCommand),
    /// Data stores: values that workflows and sources share
    #[command(
        subcommand,
        visible_alias = "ds",
        after_help = "Example: millrace data-stores set orders last-seen 42"
    )]
    DataStores(DataStoreCommand),
    /// File stores: files that steps and sources find in /tmp and leave there
    #[command(subcommand, after_help = "Example: millrace files put reports june.csv")]
    Files(FileCommand),
    /// OAuth clients: programs that get short-lived tokens for their id and secret
    #[command(subcommand, after_help = "Example: millrace oauth-clients list")]
    OauthClients(OauthClientCommand),
    /// Write runs, logs and events as they are at one moment, a JSON line for each
    #[command(after_help = "Example: millrace export --from 2026-01-01 --output january.ndjson")]
    Export(ExportArgs),
    /// Show or set how much history of a workflow or source is kept
    #[command(after_help = "Example: millrace retention orders --days 7 --count 10000")]
    Retention(RetentionArgs),
    /// Show or change the organization: its name, and who gets mails about errors
    #[command(
        after_help = "Workflows with `error_recipients` of their own keep these; without any, mails go to the owner.\n\
        Example: millrace organization --error-recipient ops@example.com --error-recipient me@example.com"
    )]
    Organization(OrganizationArgs),
    /// Show who changed what, oldest first
    #[command(
        after_help = "Examples:\n  millrace audit -n 50\n  millrace audit --target dc_Qa8Ium1 --from 2026-01-31"
    )]
    Audit(AuditArgs),
    /// Show the outbox, newest first, or one message of it
    #[command(
        after_help = "Examples:\n  millrace mail -n 20\n  millrace mail mail_Qa8Ium1\n  millrace mail mail_Qa8Ium1 --send"
    )]
    Mail {
        /// A message's id
        id: Option<String>,
        /// Send the message now, also if it was sent before
        #[arg(long, requires = "id")]
        send: bool,
        /// How many
        #[arg(short, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
        n: u32,
    },
}

/// Commands for profiles.
#[derive(Subcommand, Debug)]
pub enum ProfileCommand {
    /// List profiles
    #[command(visible_alias = "ls", after_help = "Example: millrace profile list")]
    List,
    /// Use a profile when none is named
    #[command(
        after_help = "Examples:\n  millrace profile use work\n  millrace profile use default"
    )]
    Use {
        /// Its name; `default` for the one without a name
        name: String,
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
    /// What emits events, with the address of its stream
    #[value(alias = "st", alias = "stream")]
    Streams,
}

/// How many runs of a source go on at the same time.
#[derive(Args, Clone, Debug, Default)]
pub struct Parallel {
    /// Runs at the same time, or `default`: 1 for a source with a $.service.db, otherwise no limit
    #[arg(long, value_name = "N", value_parser = number_or_default)]
    pub concurrency: Option<Value>,
    /// Runs that share a process, or `default`: 1. With more, data of one customer may reach the
    /// run of another
    #[arg(long, value_name = "N", value_parser = number_or_default)]
    pub calls_per_isolate: Option<Value>,
}

fn number_or_default(text: &str) -> Result<Value, String> {
    if text == "default" {
        return Ok(Value::Bool(false));
    }
    text.parse::<u32>().map(Value::from).map_err(|_| "it is a whole number, or `default`".into())
}

impl Parallel {
    /// Whether anything is said.
    pub fn is_some(&self) -> bool {
        self.concurrency.is_some() || self.calls_per_isolate.is_some()
    }

    /// Adds what is said to the body of a request.
    pub fn add_to(self, body: &mut Value) {
        for (field, value) in
            [("concurrency", self.concurrency), ("calls_per_isolate", self.calls_per_isolate)]
        {
            if let Some(value) = value {
                body[field] = value;
            }
        }
    }
}
