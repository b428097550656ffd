//! The command line, as a person uses it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::{Client, binary};

/// What a command did.
#[derive(Debug)]
pub struct Done {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// The standard output of a success.
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.stdout
    }

    /// The standard output of a success, as JSON.
    pub fn json(self) -> Value {
        let text = self.ok();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }

    /// The standard error of a command that ended with this status.
    pub fn fails(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        self.stderr
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

/// A folder to work in, with a home of its own.
pub struct Shell {
    dir: tempfile::TempDir,
    url: String,
    api_key: String,
}

impl Shell {
    pub fn new(server: &Client) -> Self {
        Self {
            dir: tempfile::tempdir().expect("a temporary folder"),
            url: server.url.clone(),
            api_key: server.api_key.clone(),
        }
    }

    /// Of no server.
    pub fn alone() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a temporary folder"),
            url: String::new(),
            api_key: String::new(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes files, with their folders.
    pub fn write(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = self.path(name);
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
            std::fs::write(path, text).expect("writes");
        }
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// A command that can be changed before it runs.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(args)
            .current_dir(self.dir.path())
            .env_clear()
            .env("HOME", self.dir.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        if !self.url.is_empty() {
            command.env("MILLRACE_URL", &self.url).env("MILLRACE_API_KEY", &self.api_key);
        }
        command.stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Done {
        self.command(args).output().expect("runs").into()
    }

    /// With something on standard input.
    pub fn run_with(&self, args: &[&str], input: &str) -> Done {
        self.write(&[(".input", input)]);
        let input = std::fs::File::open(self.path(".input")).expect("opens");
        self.command(args).stdin(input).output().expect("runs").into()
    }
}
