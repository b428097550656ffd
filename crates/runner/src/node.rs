//! Finding Node.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;

use crate::sandbox::NodeFiles;
use crate::types::StartError;

/// The oldest Node that runs components.
const NODE_MAJOR_MIN: u32 = 20;
/// The longest that Node may take to tell its version.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Tells the version, the binary and the files that it has mapped.
const QUESTION: &str = "process.version + '\\n' + process.execPath + '\\n' + require('fs').readFileSync('/proc/self/maps', 'utf8')";

/// Finds Node's real path (hosts get no PATH) and checks its version.
///
/// # Errors
/// `NodeMissing` where nothing that tells a version is there, `NodeTooOld` where it is not new enough.
pub(crate) async fn check_node(node: &Path) -> Result<NodeFiles, StartError> {
    let missing = || StartError::NodeMissing { node: node.display().to_string() };
    let mut command = Command::new(node);
    command.arg("-p").arg(QUESTION).env_remove("NODE_OPTIONS").kill_on_drop(true);
    let output = tokio::time::timeout(ANSWER_TIMEOUT, command.output()).await.map_err(|_| missing())?.map_err(|_| missing())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines();
    let (version, path) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let major = version.trim_start_matches('v').split('.').next().and_then(|m| m.parse::<u32>().ok());
    match major {
        Some(major) if major >= NODE_MAJOR_MIN && !path.is_empty() => {
            Ok(NodeFiles::new(PathBuf::from(path), version.trim_start_matches('v'), lines.filter_map(mapped_file)))
        }
        Some(_) => Err(StartError::NodeTooOld { node: node.display().to_string(), found: version.trim_start_matches('v').into() }),
        None => Err(missing()),
    }
}

/// The file of a line of /proc/self/maps.
fn mapped_file(line: &str) -> Option<PathBuf> {
    line.find('/').map(|at| PathBuf::from(&line[at..]))
}
