//! Commands for registries.

mod npm;

use clap::Subcommand;

use self::npm::NpmArgs;

/// Commands for registries.
#[derive(Subcommand, Debug)]
pub enum RegistryCommand {
    /// Add a tree of components; it is read here and sent to the server
    #[command(
        alias = "create",
        after_help = "A tree is laid out as components/<app>/sources/<slug>/<slug>.mjs (or actions).\n\
        Example: millrace registry add https://github.com/acme/components --name acme"
    )]
    Add {
        /// A folder, a git repository's address, the address of a .tar.gz, or npm:PACKAGE
        what: String,
        /// Its name [default: the last part of its origin]
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        npm: NpmArgs,
    },
    /// List registries
    #[command(visible_alias = "ls", after_help = "Example: millrace registry list")]
    List,
    /// Show a registry: its last update, and the files that it could not index
    #[command(visible_alias = "get", after_help = "Example: millrace registry show acme")]
    Show {
        /// Its name
        name: String,
    },
    /// Remove a registry; what was deployed from it keeps running
    #[command(after_help = "Example: millrace registry remove acme")]
    Remove {
        /// Its name
        name: String,
    },
    /// Read a registry again from its origin
    #[command(after_help = "Example: millrace registry update acme")]
    Update {
        /// Its name
        name: String,
        /// Another origin from now on
        what: Option<String>,
        #[command(flatten)]
        npm: NpmArgs,
    },
    /// Search the components of all registries
    #[command(after_help = "Example: millrace registry search new items --app rss --registry acme")]
    Search {
        /// Words of the key, name or description
        words: Vec<String>,
        /// Only of this app
        #[arg(long)]
        app: Option<String>,
        /// Only sources, or only actions
        #[arg(long = "type", value_name = "TYPE", value_parser = ["source", "action"])]
        component_type: Option<String>,
        /// Only those of the registry with this name
        #[arg(long, value_name = "NAME")]
        registry: Option<String>,
        /// Only those that the organization published
        #[arg(long)]
        own: bool,
        /// How many
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,
    },
}
