//! Data stores and files.

use millrace_store::stored_rows;
use rusqlite::Row;

use super::{get, time, utf8};

stored_rows!(Row<'_>);
