//! A trial: Node is started within the walls, and tries to get out. It shows that the walls stand
//! and that Node runs within them.

use std::fmt;
use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use millrace_model::egress::{Allow, Policy, Shared, Target};
use tokio::io::AsyncReadExt as _;

use super::Sandbox;
use crate::types::{Shortage, StartError};

/// The longest that it may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Its heap, MiB.
const HEAP_MB: u32 = 64;

/// Starts Node within the walls.
///
/// # Errors
/// `WallsFail` where Node does not run within them, or gets out; `TrialLacks` where it could not be
/// tried.
pub(crate) async fn trial(sandbox: &Sandbox) -> Result<(), StartError> {
    let failed = |why: String| StartError::WallsFail { why };
    let lacks = |why: String, shortage| StartError::TrialLacks {
        path: sandbox.scratch_dir.clone(),
        why,
        shortage,
    };
    let refused = |what: &str, error: io::Error| match Shortage::of(&error) {
        Some(shortage) => lacks(format!("{what}{error}"), shortage),
        None => failed(format!("{what}{error}")),
    };
    let (script, outside) =
        (sandbox.scratch_dir.join("trial.mjs"), sandbox.scratch_dir.join("outside"));
    // One is open to it and one is not: a guard that refuses all is no guard either.
    let ports = TcpListener::bind("127.0.0.1:0")
        .and_then(|open| Ok((open, TcpListener::bind("127.0.0.1:0")?)));
    let (open, shut) = ports.map_err(|e| refused("could not listen on 127.0.0.1: ", e))?;
    let address = |listener: &TcpListener| listener.local_addr().map_err(|e| failed(e.to_string()));
    let (open_at, shut_at) = (address(&open)?, address(&shut)?);
    let allow =
        Allow { to: Target::Net { address: open_at.ip(), bits: 32 }, port: Some(open_at.port()) };
    let egress = Shared::from(Policy { allow: vec![allow], ..Policy::default() });
    let code = code(sandbox, &outside, open_at.port(), shut_at.port());
    let written = async {
        tokio::fs::write(&outside, "x").await?;
        tokio::fs::write(&script, code).await
    };
    written
        .await
        .map_err(|source| StartError::Scratch { path: sandbox.scratch_dir.clone(), source })?;
    let tried = tokio::time::timeout(TIMEOUT, run(sandbox, &egress, &script)).await;
    for file in [script, outside] {
        // The next start removes it too.
        let _ = tokio::fs::remove_file(file).await;
    }
    match tried {
        Ok(Ok(None)) => Ok(()),
        Ok(Ok(Some(ended))) => Err(match Shortage::of_words(&ended.words) {
            Some((line, shortage)) => lacks(format!("{}: {line}", ended.status), shortage),
            None => failed(ended.to_string()),
        }),
        Ok(Err(error)) => Err(refused("", error)),
        Err(_) => Err(failed(format!("Node did not answer within {} s", TIMEOUT.as_secs()))),
    }
}

/// How Node ended, and what it said.
struct Ended {
    status: ExitStatus,
    words: String,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.words.lines().rev().map(str::trim).find(|l| !l.is_empty()).unwrap_or("");
        write!(f, "{}: {last}", self.status)
    }
}

/// What was said, where it did not end well.
async fn run(sandbox: &Sandbox, egress: &Shared, script: &Path) -> io::Result<Option<Ended>> {
    let mut launched = sandbox.launch_under(egress, script, HEAP_MB)?;
    let mut words = Vec::new();
    if let Some(stderr) = launched.child.stderr.take() {
        stderr.take(16 << 10).read_to_end(&mut words).await?;
    }
    let status = launched.child.wait().await?;
    launched.private.remove().await;
    Ok((!status.success())
        .then(|| Ended { status, words: String::from_utf8_lossy(&words).into_owned() }))
}

fn code(sandbox: &Sandbox, outside: &Path, open: u16, shut: u16) -> String {
    let outside = serde_json::Value::from(outside.to_string_lossy());
    let mut code = String::from(
        "import fs from 'node:fs';
const closed = (what, attempt) => {
  try { attempt(); } catch (error) { if (['EACCES', 'EPERM'].includes(error.code)) return; throw error; }
  process.stderr.write(`a host could ${what}\\n`);
  process.exit(3);
};
fs.writeFileSync('probe', 'x');
process.memoryUsage();
",
    );
    if sandbox.walls.landlock_abi.is_some() {
        code.push_str(&format!(
            "closed('read a file that is not its own', () => fs.readFileSync({outside}));\n"
        ));
    }
    if sandbox.walls.seccomp {
        code.push_str("closed('signal the server', () => process.kill(process.ppid, 0));\n");
    }
    if sandbox.walls.egress {
        code.push_str(&format!(
            "const net = await import('node:net');
const connect = (port) => new Promise((y) => {{ const s = net.connect(port, '127.0.0.1'); s.on('connect', () => {{ s.destroy(); y(); }}).on('error', (e) => y(e.code)); }});
const [open, shut] = [await connect({open}), await connect({shut})];
if (open) {{ process.stderr.write(`the egress guard lets no connection out: ${{open}}; may this server look into its processes (ptrace)?\\n`); process.exit(3); }}
if (shut !== 'EACCES') {{ process.stderr.write(`a host could reach a closed address: ${{shut}}\\n`); process.exit(3); }}
"
        ));
    }
    code
}
