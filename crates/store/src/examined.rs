//! A look at a database without a server.

use millrace_model::clock::Timestamp;

/// What a look at a database found. Looking changes nothing, and brings no schema up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The engine and its version.
    pub engine: String,
    /// The schema that is there; 0: none yet.
    pub schema: i64,
    /// The newest that this version of Millrace knows.
    pub known: i64,
    /// What is wrong with the data; None where nothing was found.
    pub damage: Option<String>,
    /// Why a server could not work with it as it is; None where nothing was found.
    pub unfit: Option<Unfit>,
    /// The ids of the master keys that its secrets are kept under; more than one while the key is
    /// being changed.
    pub master_ids: Vec<String>,
    /// The database's clock, where it has one of its own.
    pub clock: Option<Timestamp>,
}

/// Why a server could not work with a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// What was found.
    pub found: String,
    /// What to do.
    pub mend: String,
}
