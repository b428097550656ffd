//! Workflows as folders: their form, deploying them, and how they differ from what is live.

pub(crate) mod deploy;
pub(crate) mod diff;
pub(crate) mod file;
pub(crate) mod ids;
pub(crate) mod init;
pub(crate) mod served;
