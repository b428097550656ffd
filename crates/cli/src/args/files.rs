//! Commands for file stores.

use std::path::PathBuf;

use clap::Subcommand;

/// Commands for file stores.
#[derive(Subcommand, Debug)]
pub enum FileCommand {
    /// List file stores, or the files of one
    #[command(after_help = "Examples:\n  millrace files list\n  millrace files list reports")]
    List {
        /// The store's name
        store: Option<String>,
    },
    /// Write what is in a file to standard output, or into a local file
    #[command(after_help = "Example: millrace files get reports 2026/june.csv --output june.csv")]
    Get {
        /// The store's name
        store: String,
        /// The file's path in the store
        path: String,
        /// The local file to write; `-` is standard output
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Put a local file into a store, in the place of one that is there
    #[command(after_help = "Example: millrace files put reports june.csv 2026/june.csv")]
    Put {
        /// The store's name; it begins with its first file
        store: String,
        /// The local file
        file: PathBuf,
        /// Its path in the store; the local file's name where it is not given
        path: Option<String>,
    },
    /// Delete a file, or without a path the store with all it holds
    #[command(after_help = "Example: millrace files delete reports 2026/june.csv")]
    Delete {
        /// The store's name
        store: String,
        /// The file's path in the store
        path: Option<String>,
    },
}
