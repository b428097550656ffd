//! Commands for workflows.

use std::path::PathBuf;

use clap::Subcommand;

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
