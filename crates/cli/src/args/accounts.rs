//! Commands for accounts.

use clap::Subcommand;

/// Commands for accounts.
#[derive(Subcommand, Debug)]
pub enum AccountCommand {
    /// List accounts
    #[command(after_help = "Example: millrace accounts list --app stripe")]
    List {
        /// Only those of this app
        #[arg(long, value_name = "SLUG")]
        app: Option<String>,
    },
    /// Connect an account: asks for its fields, or reads them from standard input as a JSON object
    #[command(
        alias = "create",
        after_help = "Example: millrace accounts add stripe < fields.json, where fields.json is such as {\"api_key\": \"…\"}"
    )]
    Add {
        /// The app's slug
        app: String,
        /// A name for the account
        #[arg(long)]
        name: Option<String>,
        /// For an app that is connected in a browser: wait for the connection, and show the account
        #[arg(long)]
        wait: bool,
    },
    /// Show an account, without its credentials
    #[command(after_help = "Example: millrace accounts show apn_Qa8Ium1")]
    Show {
        /// The account's id
        id: String,
    },
    /// Show the workflows and sources that name an account
    #[command(after_help = "Example: millrace accounts uses apn_Qa8Ium1")]
    Uses {
        /// The account's id
        id: String,
    },
    /// Check whether an account works: ask its provider for a token now
    #[command(after_help = "Example: millrace accounts check apn_Qa8Ium1")]
    Check {
        /// The account's id
        id: String,
    },
    /// Rename an account, or without a name give its fields new values
    #[command(after_help = "Example: millrace accounts update apn_Qa8Ium1 --name billing")]
    Update {
        /// The account's id
        id: String,
        /// A new name
        #[arg(long)]
        name: Option<String>,
    },
    /// Disconnect an account
    #[command(after_help = "Example: millrace accounts delete apn_Qa8Ium1")]
    Delete {
        /// The account's id
        id: String,
    },
}
