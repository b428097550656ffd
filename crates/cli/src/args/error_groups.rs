//! Arguments of `millrace error-groups`.

use clap::Subcommand;

/// Commands for one group of errors.
#[derive(Subcommand, Debug)]
pub enum ErrorGroupCommand {
    /// Show a group with the history of its state, and the versions that it was seen in
    #[command(after_help = "Example: millrace error-groups show eg_5f0c1d2e3b4a59687786")]
    Show {
        /// The group's id, as `errors --groups` shows it
        id: String,
    },
    /// Mark it as fixed; if a run accepted later fails with it, it becomes `regressed`
    #[command(
        after_help = "Example: millrace error-groups resolve eg_5f0c1d2e3b4a59687786 --note 'fixed in version 4'"
    )]
    Resolve {
        /// The group's id
        id: String,
        /// What is known about it
        #[arg(long)]
        note: Option<String>,
    },
    /// Send no more mails about it
    #[command(
        after_help = "Example: millrace error-groups ignore eg_5f0c1d2e3b4a59687786 --note 'the shop is closed on Sundays'"
    )]
    Ignore {
        /// The group's id
        id: String,
        /// What is known about it
        #[arg(long)]
        note: Option<String>,
    },
    /// Open it again
    #[command(after_help = "Example: millrace error-groups reopen eg_5f0c1d2e3b4a59687786")]
    Reopen {
        /// The group's id
        id: String,
        /// What is known about it
        #[arg(long)]
        note: Option<String>,
    },
}
