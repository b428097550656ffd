//! Commands for runs.

use clap::Subcommand;

/// Commands for runs.
#[derive(Subcommand, Debug)]
pub enum RunCommand {
    /// List the runs of a workflow or source, newest first
    #[command(after_help = "Example: millrace runs list order-mail --status failed -n 500")]
    List {
        /// Id or name
        name: String,
        /// Only runs in this state
        #[arg(long, value_parser = ["queued", "running", "paused", "succeeded", "failed", "cancelled"])]
        status: Option<String>,
        /// How many
        #[arg(short, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        n: u32,
    },
    /// Search the runs of all workflows and sources, newest first, by words of their errors, events
    /// and results
    #[command(after_help = "Example: millrace runs search 'ORD-1182 cust*' --status failed")]
    Search {
        /// Words that a run has, all of them; `order*` matches each word that begins with it
        text: String,
        /// Only runs in this state
        #[arg(long, value_parser = ["queued", "running", "paused", "succeeded", "failed", "cancelled"])]
        status: Option<String>,
        /// How many
        #[arg(short, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        n: u32,
    },
    /// Show a run with its steps, error and logs
    #[command(after_help = "Example: millrace runs show run_3MPlbwmoIbRQQTJuWs6qvEHMdKv")]
    Show {
        /// The run's id
        id: String,
    },
    /// Run the same event again, or another one, as a new run
    #[command(
        after_help = "Examples:\n  millrace runs replay run_3MPlbwmoIbRQQTJuWs6qvEHMdKv --from-step charge\n  \
        millrace runs replay run_3MPlbwmoIbRQQTJuWs6qvEHMdKv --with-version original --event @order.json"
    )]
    Replay {
        /// The run's id
        id: String,
        /// The step to begin with; the steps before keep their results
        #[arg(long, conflicts_with = "from_failed")]
        from_step: Option<String>,
        /// Begin with the step that failed
        #[arg(long)]
        from_failed: bool,
        /// The version that runs: the live one, the one that the run had, or the draft as a test
        #[arg(long, value_name = "VERSION", default_value = "live", value_parser = ["live", "original", "draft"])]
        with_version: String,
        /// Another event in place of the run's: JSON, `@FILE` for a file's, `-` for standard input
        #[arg(long, value_name = "JSON")]
        event: Option<String>,
    },
    /// Resume a paused run before its time
    #[command(
        after_help = "Example: millrace runs resume run_3MPlbwmoIbRQQTJuWs6qvEHMdKv --data '{\"approved\": true}'"
    )]
    Resume {
        /// The run's id
        id: String,
        /// What its code finds as `$resume_data.body`: JSON, `@FILE` for a file's, `-` for standard
        /// input
        #[arg(long, value_name = "JSON")]
        data: Option<String>,
    },
    /// Cancel a run that is queued or paused
    #[command(after_help = "Example: millrace runs cancel run_3MPlbwmoIbRQQTJuWs6qvEHMdKv")]
    Cancel {
        /// The run's id
        id: String,
    },
    /// Cancel the runs of a workflow or source that are queued or paused, at most 1,000 at once
    #[command(
        after_help = "Example: millrace runs cancel-waiting orders --status paused --to 2026-01-31T12:00:00Z --dry-run"
    )]
    CancelWaiting {
        /// Id or name of the workflow or source
        name: String,
        /// Only runs in this state
        #[arg(long, value_parser = ["queued", "paused"])]
        status: Option<String>,
        /// Only runs accepted at or after: a date such as 2026-01-31, a time such as
        /// 2026-01-31T12:00:00Z, or epoch milliseconds
        #[arg(long, value_name = "TIME", value_parser = crate::commands::time_ms)]
        from: Option<i64>,
        /// Only runs accepted before
        #[arg(long, value_name = "TIME", value_parser = crate::commands::time_ms)]
        to: Option<i64>,
        /// Only count them
        #[arg(long)]
        dry_run: bool,
    },
}
