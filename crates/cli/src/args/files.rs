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
    /// Write the content of a file to standard output, or into a local file
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
    /// Put a local file into a store, in place of an existing one
    #[command(after_help = "Example: millrace files put reports june.csv 2026/june.csv")]
    Put {
        /// The store's name; its first file creates the store
        store: String,
        /// The local file
        file: PathBuf,
        /// Its path in the store [default: the local file's name]
        path: Option<String>,
    },
    /// Delete a file, or without a path the whole store
    #[command(after_help = "Example: millrace files delete reports 2026/june.csv")]
    Delete {
        /// The store's name
        store: String,
        /// The file's path in the store
        path: Option<String>,
    },
}
