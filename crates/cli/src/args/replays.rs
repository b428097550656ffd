//! Commands for replays of many runs.

use clap::Subcommand;

/// Commands for replays of many runs.
#[derive(Subcommand, Debug)]
pub enum ReplayCommand {
    /// Replay runs that failed, and show the progress
    #[command(
        after_help = "Example: millrace replays start orders --class TypeError --from 2026-01-31T00:00:00Z --from-failed"
    )]
    Start {
        /// Id or name of the workflow or source
        name: String,
        /// A run to replay, instead of all that failed; may be repeated
        #[arg(long = "run", value_name = "RUN", conflicts_with_all = ["class", "group", "from", "to"])]
        runs: Vec<String>,
        /// Only errors of this class
        #[arg(long)]
        class: Option<String>,
        /// Only errors of this group (`millrace errors --groups`)
        #[arg(long)]
        group: Option<String>,
        /// Only runs accepted at or after: a date such as 2026-01-31, a time such as
        /// 2026-01-31T12:00:00Z, or epoch milliseconds
        #[arg(long, value_name = "TIME", value_parser = crate::commands::time_ms)]
        from: Option<i64>,
        /// Only runs accepted before
        #[arg(long, value_name = "TIME", value_parser = crate::commands::time_ms)]
        to: Option<i64>,
        /// The step that each begins with
        #[arg(long, value_name = "STEP", conflicts_with = "from_failed")]
        from_step: Option<String>,
        /// Each begins with the step that failed
        #[arg(long)]
        from_failed: bool,
        /// Instead of all that failed, every run with this status, including replays; may be
        /// repeated
        #[arg(long, value_parser = ["succeeded", "failed", "cancelled"], conflicts_with = "runs")]
        status: Vec<String>,
        /// The version that runs: the live one, or the one that each run had
        #[arg(long, value_name = "VERSION", default_value = "live", value_parser = ["live", "original"])]
        with_version: String,
        /// Another event in place of each run's: JSON, `@FILE` for a file's, `-` for standard input
        #[arg(long, value_name = "JSON")]
        event: Option<String>,
        /// Only count the runs
        #[arg(long)]
        dry_run: bool,
        /// Do not wait for its end
        #[arg(long)]
        detach: bool,
    },
    /// List replays
    #[command(after_help = "Example: millrace replays list")]
    List,
    /// Show a replay and what became of its runs
    #[command(after_help = "Example: millrace replays show rpl_Qa8Ium1")]
    Show {
        /// The replay's id
        id: String,
    },
    /// List the runs that a replay made
    #[command(after_help = "Example: millrace replays runs rpl_Qa8Ium1")]
    Runs {
        /// The replay's id
        id: String,
        /// How many
        #[arg(short, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
        n: u32,
    },
    /// Queue no more runs until it is resumed
    #[command(after_help = "Example: millrace replays pause rpl_Qa8Ium1")]
    Pause {
        /// The replay's id
        id: String,
    },
    /// Resume a replay
    #[command(after_help = "Example: millrace replays resume rpl_Qa8Ium1")]
    Resume {
        /// The replay's id
        id: String,
    },
    /// Cancel a replay; the runs that it queued stay queued
    #[command(after_help = "Example: millrace replays cancel rpl_Qa8Ium1")]
    Cancel {
        /// The replay's id
        id: String,
    },
}
