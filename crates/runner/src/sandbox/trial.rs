//! A trial: Node is started within the walls, and tries to get out. It shows that the walls stand and that Node runs within them.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;

use super::Sandbox;
use crate::types::StartError;

/// The longest that it may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Its heap, MiB.
const HEAP_MB: u32 = 64;

/// Starts Node within the walls.
///
/// # Errors
/// `WallsFail` where Node does not run within them, or gets out.
pub(crate) async fn trial(sandbox: &Sandbox) -> Result<(), StartError> {
    let failed = |why: String| StartError::WallsFail { why };
    let (script, outside) = (sandbox.scratch_dir.join("trial.mjs"), sandbox.scratch_dir.join("outside"));
    let code = code(sandbox, &outside);
    let written = async {
        tokio::fs::write(&outside, "x").await?;
        tokio::fs::write(&script, code).await
    };
    written.await.map_err(|source| StartError::Scratch { path: sandbox.scratch_dir.clone(), source })?;
    let tried = tokio::time::timeout(TIMEOUT, run(sandbox, &script)).await;
    for file in [script, outside] {
        // The next start removes it too.
        let _ = tokio::fs::remove_file(file).await;
    }
    match tried {
        Ok(Ok(None)) => Ok(()),
        Ok(Ok(Some(words))) => Err(failed(words)),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!("Node did not answer within {} s", TIMEOUT.as_secs()))),
    }
}

/// What was said, where it did not end well.
async fn run(sandbox: &Sandbox, script: &Path) -> io::Result<Option<String>> {
    let mut launched = sandbox.launch(script, HEAP_MB)?;
    let mut words = Vec::new();
    if let Some(stderr) = launched.child.stderr.take() {
        stderr.take(16 << 10).read_to_end(&mut words).await?;
    }
    let status = launched.child.wait().await?;
    launched.private.remove().await;
    let words = String::from_utf8_lossy(&words);
    let last = words.lines().rev().map(str::trim).find(|l| !l.is_empty()).unwrap_or("");
    Ok((!status.success()).then(|| format!("{status}: {last}")))
}

fn code(sandbox: &Sandbox, outside: &Path) -> String {
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
        code.push_str(&format!("closed('read a file that is not its own', () => fs.readFileSync({outside}));\n"));
    }
    if sandbox.walls.seccomp {
        code.push_str("closed('signal the server', () => process.kill(process.ppid, 0));\n");
    }
    code
}
