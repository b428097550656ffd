//! Commands for workflows.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Commands for workflows.
#[derive(Subcommand, Debug)]
pub enum WorkflowCommand {
    /// Write a folder with a first workflow
    #[command(
        after_help = "Example: millrace workflows init order-mail && millrace dev order-mail"
    )]
    Init {
        /// Its name; the folder is named after it
        name: String,
        /// Start it by a timer, not over HTTP
        #[arg(long)]
        timer: bool,
    },
    /// Make a workflow from a folder, or update the one made from it before, and deploy it
    #[command(
        after_help = "Examples:\n  millrace workflows deploy order-mail\n  cd order-mail && millrace workflows deploy"
    )]
    Deploy {
        /// The folder with workflow.yaml, or a workflow file (YAML or JSON)
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// A note on the version, shown by `deployments`
        #[arg(long, short, value_name = "TEXT")]
        message: Option<String>,
    },
    /// Write the live version into a folder
    #[command(
        after_help = "Examples:\n  millrace workflows pull order-mail\n  millrace workflows pull order-mail --to flows/orders --force"
    )]
    Pull {
        /// Id or name
        name: String,
        /// The folder [default: the workflow's slug]
        #[arg(long, value_name = "FOLDER")]
        to: Option<PathBuf>,
        /// Overwrite existing files
        #[arg(long)]
        force: bool,
    },
    /// Show the differences between a folder and the live version; exit status 1 if there are any
    #[command(
        after_help = "Examples:\n  millrace workflows diff order-mail\n  millrace workflows diff . order-mail-2"
    )]
    Diff {
        /// The folder with workflow.yaml, or a workflow file
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// The workflow to compare with [default: the one that was made from the folder, or has its
        /// name]
        name: Option<String>,
    },
    /// List workflows
    #[command(visible_alias = "ls", after_help = "Example: millrace workflows list")]
    List,
    /// Show a workflow
    #[command(after_help = "Example: millrace workflows describe order-mail")]
    Describe {
        /// Id, name or folder
        name: String,
    },
    /// Delete a workflow; its history stays
    #[command(after_help = "Example: millrace workflows delete order-mail")]
    Delete {
        /// Id, name or folder
        name: String,
    },
    /// Start a live run with an event, and show its steps as they end
    #[command(
        after_help = "Examples:\n  millrace workflows run order-mail --event '{\"order\": 7}'\n  millrace workflows run order-mail --event @order.json\n  \
        curl -s https://example.com/order.json | millrace workflows run order-mail --event -"
    )]
    Run {
        /// Id, name or folder
        name: String,
        #[command(flatten)]
        event: EventArg,
        /// Print the run's id and do not wait for its end
        #[arg(long)]
        no_wait: bool,
    },
    /// Test a workflow with an event: a folder's code as it is now, deployed or not, or a
    /// workflow's newest steps. It sends nothing to `$errors`, and no mail
    #[command(
        after_help = "Examples:\n  millrace workflows test order-mail --event @order.json\n  millrace workflows test ./order-mail --up-to check"
    )]
    Test {
        /// A folder, else an id or name
        name: String,
        #[command(flatten)]
        event: EventArg,
        /// The last step to run
        #[arg(long, value_name = "STEP")]
        up_to: Option<String>,
        /// Test with the event of this run
        #[arg(long, value_name = "RUN", conflicts_with = "event")]
        event_of: Option<String>,
        /// The first step to run; earlier steps keep their results of --results-of
        #[arg(long, value_name = "STEP", requires = "results_of")]
        from_step: Option<String>,
        /// The run from which --from-step takes the results of earlier steps
        #[arg(long, value_name = "RUN", requires = "from_step")]
        results_of: Option<String>,
        /// A step that does not run, with what it exports: STEP={"$return_value": …}; may be
        /// repeated
        #[arg(long = "pin", value_name = "STEP=JSON")]
        pins: Vec<String>,
    },
    /// List a workflow's runs, newest first
    #[command(after_help = "Example: millrace workflows runs order-mail -n 500")]
    Runs {
        /// Id, name or folder
        name: String,
        /// How many
        #[arg(short, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        n: u32,
    },
    /// List a workflow's deployments
    #[command(after_help = "Example: millrace workflows deployments order-mail")]
    Deployments {
        /// Id, name or folder
        name: String,
    },
    /// Make an earlier deployment live again
    #[command(
        after_help = "Examples:\n  millrace workflows rollback order-mail\n  millrace workflows rollback order-mail 3\n  millrace workflows rollback order-mail d_Qa8Ium1"
    )]
    Rollback {
        /// Id, name or folder
        name: String,
        /// The deployment's id or version [default: the one before the live one]
        deployment: Option<String>,
        /// A note on the new version [default: the version it goes back to]
        #[arg(long, short, value_name = "TEXT")]
        message: Option<String>,
    },
    /// Print the JSON Schema of workflow.yaml
    #[command(after_help = "Example: millrace workflows schema > workflow.schema.json")]
    Schema,
}

/// An event to run with.
#[derive(Args, Clone, Debug)]
pub struct EventArg {
    /// The event: JSON, `@FILE` for a file's, `-` for standard input
    #[arg(long, default_value = "{}", value_name = "JSON")]
    pub event: String,
}
