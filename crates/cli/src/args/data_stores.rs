//! Commands for data stores.

use clap::Subcommand;

/// Commands for data stores.
#[derive(Subcommand, Debug)]
pub enum DataStoreCommand {
    /// List data stores
    #[command(after_help = "Example: millrace data-stores list")]
    List,
    /// Create a data store
    #[command(alias = "add", after_help = "Example: millrace data-stores create orders")]
    Create {
        /// Its name
        name: String,
    },
    /// Show a data store and its first keys
    #[command(
        after_help = "Examples:\n  millrace data-stores show orders\n  millrace data-stores show orders --prefix 2026- --values"
    )]
    Show {
        /// Id or name
        store: String,
        /// How many keys
        #[arg(short, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
        n: u32,
        /// Only keys with this prefix
        #[arg(long, default_value = "")]
        prefix: String,
        /// Show their values too, large ones shortened
        #[arg(long)]
        values: bool,
    },
    /// Print the value of a key
    #[command(after_help = "Example: millrace data-stores get orders last-seen")]
    Get {
        /// Id or name
        store: String,
        /// The key
        key: String,
    },
    /// Write a value
    #[command(after_help = "Example: millrace data-stores set orders last-seen 42 --ttl 3600")]
    Set {
        /// Id or name
        store: String,
        /// The key
        key: String,
        /// JSON if it is an object, array, number, true, false or null; otherwise text
        value: String,
        /// Seconds until the value expires [default: never]
        #[arg(long, value_name = "SECONDS", value_parser = ttl)]
        ttl: Option<f64>,
    },
    /// Delete a key, or without one the whole data store
    #[command(after_help = "Example: millrace data-stores delete orders last-seen")]
    Delete {
        /// Id or name
        store: String,
        /// The key
        key: Option<String>,
    },
}

fn ttl(text: &str) -> Result<f64, &'static str> {
    text.parse().map_err(|_| "it is a number of seconds, such as 3600")
}
