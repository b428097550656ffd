//! Trial of the walls: each kind of process is started as always, and tries to get out. It shows
//! that the walls stand and that the program runs within them.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::wire::Role;

/// What a process tries.
#[derive(Serialize, Deserialize)]
pub(super) struct Trial {
    pub(super) role: Role,
    pub(super) landlock: bool,
    pub(super) seccomp: bool,
    /// A file that is not its own.
    pub(super) outside: PathBuf,
    /// A file that it may make, or may not.
    pub(super) inside: PathBuf,
    /// Where somebody listens.
    pub(super) address: SocketAddr,
}

impl Trial {
    /// What was open that should be closed, and the other way about.
    pub(super) fn run(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut closed = |what: &str, attempt: std::io::Result<()>| match attempt {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            Err(error) => wrong.push(format!("to {what} failed otherwise than it should: {error}")),
            Ok(()) => wrong.push(format!("it could {what}")),
        };
        if self.landlock {
            closed("read a file that is not its own", std::fs::read(&self.outside).map(drop));
            if self.role == Role::Bundles {
                closed("write into the cache of packages", std::fs::write(&self.inside, "x"));
            }
        }
        if self.seccomp {
            let program = Command::new("/proc/self/exe")
                .arg("--version")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            closed("start a program", program.map(drop));
            if self.role == Role::Bundles {
                closed("connect", TcpStream::connect(self.address).map(drop));
            }
        }
        if self.role == Role::Fetches {
            let written =
                std::fs::write(&self.inside, "x").and_then(|()| std::fs::remove_file(&self.inside));
            if let Err(error) = written.and_then(|()| TcpStream::connect(self.address).map(drop)) {
                wrong.push(format!("it could not do its work: {error}"));
            }
        }
        wrong
    }
}
