//! Servers that share the database.

use millrace_store::Nodes;

use crate::SqliteStore;

impl Nodes for SqliteStore {}
