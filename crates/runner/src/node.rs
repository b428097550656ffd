//! Discovery of Node.

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

/// The global `WebSocket` of a Node, which packages of the registry expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebSocketGlobal {
    /// It is there (Node 22 and newer).
    Present,
    /// It is there with a flag.
    BehindFlag(&'static str),
    /// There is none (before Node 20.10).
    Missing,
}

impl WebSocketGlobal {
    /// The one of a version such as `20.20.2`.
    pub fn of(version: &str) -> Self {
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
        match (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) {
            (22.., _) => Self::Present,
            // Newer versions need not know the flag, and Node refuses to start with one that it
            // does not know.
            (21, _) | (20, 10..) => Self::BehindFlag("--experimental-websocket"),
            _ => Self::Missing,
        }
    }
}

/// Finds Node's real path (hosts get no PATH) and checks its version.
///
/// # Errors
/// `NodeMissing` where nothing is there, `NodeFailed` where it tells no version, `NodeTooOld` where
/// it is not new enough.
pub(crate) async fn check_node(node: &Path) -> Result<NodeFiles, StartError> {
    let failed = |said: String| StartError::NodeFailed { node: node.display().to_string(), said };
    let mut command = Command::new(node);
    command.arg("-p").arg(QUESTION).env_remove("NODE_OPTIONS").kill_on_drop(true);
    let output = match tokio::time::timeout(ANSWER_TIMEOUT, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(StartError::NodeMissing { node: node.display().to_string() });
        }
        Ok(Err(error)) => return Err(failed(error.to_string())),
        Err(_) => {
            return Err(failed(format!("it took longer than {} s", ANSWER_TIMEOUT.as_secs())));
        }
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines();
    let (version, path) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let major =
        version.trim_start_matches('v').split('.').next().and_then(|m| m.parse::<u32>().ok());
    match major {
        Some(major) if major >= NODE_MAJOR_MIN && !path.is_empty() => Ok(NodeFiles::new(
            PathBuf::from(path),
            version.trim_start_matches('v'),
            lines.filter_map(mapped_file),
        )),
        Some(_) => Err(StartError::NodeTooOld {
            node: node.display().to_string(),
            found: version.trim_start_matches('v').into(),
        }),
        None => Err(failed(format!("{}, {}", output.status, first_words(&output.stderr)))),
    }
}

/// The first line with words of an error; what follows is mostly a trace.
fn first_words(stderr: &[u8]) -> String {
    const CHARS_MAX: usize = 200;
    let text = String::from_utf8_lossy(stderr);
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| line.chars().any(char::is_alphabetic))
        .unwrap_or("nothing on standard error");
    line.chars().take(CHARS_MAX).collect()
}

/// The file of a line of /proc/self/maps.
fn mapped_file(line: &str) -> Option<PathBuf> {
    line.find('/').map(|at| PathBuf::from(&line[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_websocket_of_a_version_is() {
        let flag = WebSocketGlobal::BehindFlag("--experimental-websocket");
        for (version, expected) in [
            ("20.9.0", WebSocketGlobal::Missing),
            ("20.10.0", flag),
            ("20.20.2", flag),
            ("21.0.0", flag),
            ("22.0.0", WebSocketGlobal::Present),
            ("26.1.0-nightly", WebSocketGlobal::Present),
        ] {
            assert_eq!(WebSocketGlobal::of(version), expected, "{version}");
        }
    }
}
