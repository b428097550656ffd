//! Commands for sources.

use clap::Subcommand;

/// Commands for sources.
#[derive(Subcommand, Debug)]
pub enum SourceCommand {
    /// List a source's deployments
    #[command(after_help = "Example: millrace sources deployments new-orders")]
    Deployments {
        /// Id or name
        name: String,
    },
    /// Make an earlier deployment of a source live again
    #[command(
        after_help = "Examples:\n  millrace sources rollback new-orders\n  millrace sources rollback new-orders 3"
    )]
    Rollback {
        /// Id or name
        name: String,
        /// The deployment's id or version [default: the one before the live one]
        deployment: Option<String>,
        /// A note on the new version [default: the version it goes back to]
        #[arg(long, short, value_name = "TEXT")]
        message: Option<String>,
    },
    /// Emit an event to the listeners of a source, without a run of its code
    #[command(
        after_help = "Example: millrace sources emit new-orders --event '{\"id\": 7}' --summary 'Order 7'"
    )]
    Emit {
        /// Id or name
        name: String,
        /// The event: JSON, `@FILE` for a file's, `-` for standard input
        #[arg(long, value_name = "JSON")]
        event: String,
        /// The channel [default: the source's default one]
        #[arg(long, value_name = "NAME")]
        channel: Option<String>,
        /// A summary, shown in lists of events
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
    },
    /// Send a recorded event again, to the present listeners
    #[command(
        after_help = "Example: millrace sources resend new-orders 1767182400000-0 --to order-mail"
    )]
    Resend {
        /// Id or name
        name: String,
        /// The event's id, as `millrace --json events` shows it
        event: String,
        /// Only to this workflow, source or webhook: id or name
        #[arg(long, value_name = "LISTENER")]
        to: Option<String>,
    },
}
