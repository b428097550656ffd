//! Workflows as folders: their form, deploys, and differences from the live version.

pub(crate) mod deploy;
pub(crate) mod diff;
pub(crate) mod file;
pub(crate) mod ids;
pub(crate) mod init;
pub(crate) mod own_sources;
pub(crate) mod served;
