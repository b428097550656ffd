//! Examination of this machine for hosts: Node, and each wall by itself, tried by a process that
//! tries to get out.

use crate::node::check_node;
use crate::sandbox::{ControlGroups, Sandbox, WallReport, probe, trial};
use crate::types::{RunnerConfig, Shortage, StartError};

/// What was found.
#[derive(Debug)]
pub struct Examined {
    /// The path of Node's binary.
    pub node: String,
    /// Its version, such as `20.20.2`.
    pub version: String,
    /// What the kernel has.
    pub walls: WallReport,
    /// Each wall, and all together.
    pub tried: Vec<Tried>,
    /// What control groups could limit hosts by, were the server in the group that this process is
    /// in: of `memory`, `pids`, `cpu`.
    pub groups: Vec<&'static str>,
}

/// A wall that was tried.
#[derive(Debug)]
pub struct Tried {
    /// Its name.
    pub wall: &'static str,
    /// Why it does not stand, in words.
    pub failed: Option<String>,
    /// What is used up, where that is why, and no wall is to blame.
    pub shortage: Option<Shortage>,
}

/// Looks for Node and tries the walls. Starts nothing that stays; `config.scratch_dir` is where a
/// folder is made and removed again.
///
/// # Errors
/// Where Node is missing or too old, or the folder cannot be made.
pub async fn examine(config: &RunnerConfig) -> Result<Examined, StartError> {
    let node = check_node(&config.node).await?;
    let scratch = |source| StartError::Scratch { path: config.scratch_dir.clone(), source };
    let dir = tempfile::Builder::new()
        .prefix("doctor-")
        .tempdir_in(&config.scratch_dir)
        .map_err(scratch)?;
    let scratch_dir = dir.path().canonicalize().map_err(scratch)?;
    let found = probe();
    let one = |landlock: bool, seccomp: bool, egress: bool| WallReport {
        landlock_abi: found.landlock_abi.filter(|_| landlock),
        seccomp,
        egress,
    };
    let mut tried = Vec::new();
    for (wall, walls, is_there) in [
        ("files (Landlock)", one(true, false, false), found.landlock_abi.is_some()),
        ("system calls (seccomp-bpf)", one(false, true, false), found.seccomp),
        ("connections (egress guard)", one(false, true, true), found.egress),
        ("all together", found, found.missing().is_empty()),
    ] {
        let (failed, shortage) = if is_there {
            let sandbox = Sandbox {
                node: node.clone(),
                walls,
                thread_script: None,
                first_module: None,
                scratch_dir: scratch_dir.clone(),
                file_bytes_max: config.tmp_bytes_max,
                egress: config.egress.clone(),
                groups: None,
            };
            match trial(&sandbox).await {
                Ok(()) => (None, None),
                Err(StartError::WallsFail { why }) => (Some(why), None),
                Err(StartError::TrialLacks { why, shortage, .. }) => {
                    (Some(format!("it could not be tried: {why}")), Some(shortage))
                }
                Err(StartError::Scratch { source, .. }) => {
                    (Some(format!("it could not be tried: {source}")), Shortage::of(&source))
                }
                Err(other) => (Some(other.to_string()), None),
            }
        } else {
            (Some("this machine does not have it".to_owned()), None)
        };
        tried.push(Tried { wall, failed, shortage });
    }
    Ok(Examined {
        node: node.binary.display().to_string(),
        version: node.version,
        walls: found,
        tried,
        groups: ControlGroups::available(),
    })
}
