//! Organizations, users, keys, apps, accounts.

use millrace_store::tenant_rows;
use rusqlite::Row;

use super::{corrupt, get, json, time};

tenant_rows!(Row<'_>);
