//! Child programs of the command line: each with a time limit, and the end of its output.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

/// What is shown of a program that failed, bytes.
const SAID_BYTES_MAX: usize = 4 << 10;

/// Runs a program to its end, or ends it when its time is over; gives its status, and the end of
/// what it wrote to standard error. git passes on what the other side writes, which may be of any
/// length, and waits for as long as the other side keeps the connection.
pub(crate) async fn said_at_its_end(
    mut command: Command,
    time: Duration,
) -> std::io::Result<(ExitStatus, String)> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let to_its_end = async {
        let (mut end, mut piece) = (Vec::new(), [0; 4 << 10]);
        if let Some(mut stderr) = child.stderr.take() {
            loop {
                match stderr.read(&mut piece).await? {
                    0 => break,
                    count => end.extend_from_slice(&piece[..count]),
                }
                end.drain(..end.len().saturating_sub(SAID_BYTES_MAX));
            }
        }
        Ok((child.wait().await?, String::from_utf8_lossy(&end).trim().to_owned()))
    };
    tokio::time::timeout(time, to_its_end).await.unwrap_or_else(|_| {
        let seconds = time.as_secs();
        Err(std::io::Error::other(format!("it did not end within {seconds} s and was ended")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn said(script: &str, seconds: u64) -> std::io::Result<(ExitStatus, String)> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        said_at_its_end(command, Duration::from_secs(seconds)).await
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_is_ended() {
        for script in ["exec sleep 1000", "exec 2>&-; exec sleep 1000"] {
            let error = said(script, 1).await.expect_err("it was ended");
            assert_eq!(error.to_string(), "it did not end within 1 s and was ended");
        }
    }

    #[tokio::test]
    async fn of_what_a_program_says_the_end_is_kept() {
        let said = async |script: &str| said(script, 100).await.expect("runs");
        let (status, text) = said("echo fatal: no such repository >&2; exit 128").await;
        assert_eq!((status.code(), text.as_str()), (Some(128), "fatal: no such repository"));
        let (_, text) = said("yes remote: | head -c 3000000 >&2; echo end >&2").await;
        assert!(text.len() <= SAID_BYTES_MAX && text.ends_with("end"), "{}", text.len());
    }
}
