//! The test suites in Rust, one after the other, and the second try of what failed.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::{cargo_program, command, root};

/// More failures than this in one suite are no accident: nothing is tried again.
const SECOND_TRIES_MAX: usize = 4;

/// A suite: what cargo runs, and how many of its tests run at once for each CPU.
struct Suite {
    name: &'static str,
    targets: &'static [&'static str],
    threads: Option<usize>,
}

/// Most tests of the conformance and crash suites wait for a server much of their time: two for
/// each CPU run at once. With more, servers wait so long for a CPU that leases and
/// deadlines run out. What looks at neighbours and limits needs a quieter machine.
const SUITES: [Suite; 5] = [
    Suite {
        name: "units",
        targets: &["--lib", "--bins", "--test", "it", "--test", "native"],
        threads: None,
    },
    Suite { name: "documents", targets: &["--doc"], threads: None },
    Suite { name: "conformance", targets: &["--test", "conformance"], threads: Some(2) },
    Suite { name: "crash", targets: &["--test", "crash"], threads: Some(2) },
    Suite { name: "security", targets: &["--test", "security"], threads: Some(1) },
];

/// Runs every suite, whatever becomes of the one before.
pub fn rust_tests() -> Result<()> {
    if !cargo_test(&["--no-run"]).status()?.success() {
        bail!("the tests do not build");
    }
    let mut failed = Vec::new();
    for suite in &SUITES {
        if !passes(suite)? {
            failed.push(suite.name);
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("tests failed: {}", failed.join(", ")) }
}

/// Of the whole workspace each time: for a part of it, cargo would build the dependencies with
/// other features again.
fn cargo_test(args: &[&str]) -> Command {
    let mut command = command(&cargo_program());
    command.args(["test", "--workspace", "--no-fail-fast"]).args(args).current_dir(root());
    command
}

/// A test that failed is run once more, alone. One that passes then failed by what else the machine
/// did: it is listed as flaky, which is a fault of the test or of what it tests, and does not hold
/// up everybody else's work.
fn passes(suite: &Suite) -> Result<bool> {
    let cpus = std::thread::available_parallelism().map_or(2, usize::from);
    let threads =
        suite.threads.map(|each| ["--test-threads".to_owned(), (each * cpus).to_string()]);
    let mut command = cargo_test(suite.targets);
    if let Some(threads) = &threads {
        command.arg("--").args(threads);
    }
    let (succeeded, output) = run_and_keep(&mut command)?;
    if succeeded {
        return Ok(true);
    }
    let failed = failures(&output);
    if failed.is_empty() || failed.len() > SECOND_TRIES_MAX {
        return Ok(false);
    }
    let mut passed = true;
    for name in failed {
        eprintln!("second try: {name}");
        let again = run_and_keep(cargo_test(suite.targets).args([
            "--",
            "--exact",
            &name,
            "--test-threads",
            "1",
        ]))?
        .0;
        if again {
            println!("flaky: {name}");
        }
        passed &= again;
    }
    Ok(passed)
}

/// Runs a command whose standard output is shown as it comes, and kept.
fn run_and_keep(command: &mut Command) -> Result<(bool, String)> {
    eprintln!("$ {command:?}");
    let mut child = command.stdout(Stdio::piped()).spawn().context("could not start `cargo`")?;
    let mut kept = String::new();
    let mut lines = BufReader::new(child.stdout.take().context("no output")?);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        kept.push_str(&text);
        line.clear();
    }
    Ok((child.wait()?.success(), kept))
}

/// The names in the lists `failures:` at the ends of the test programs, in their order, each once.
fn failures(output: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut is_list = false;
    for line in output.lines() {
        match line.strip_prefix("    ") {
            Some(name) if is_list && !name.is_empty() && !name.contains(' ') => {
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
            _ => is_list = line == "failures:",
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::failures;

    #[test]
    fn failed_tests_are_read_from_the_list_at_the_end() {
        let output = "test a::one ... FAILED\ntest b ... ok\n\nfailures:\n\n---- a::one stdout ----\nfailures: none\n    a::two\n\nfailures:\n    a::one\n    c\n\ntest result: FAILED. 1 passed; 2 failed\nfailures:\n    c\n";
        assert_eq!(failures(output), ["a::one", "c"]);
        assert!(failures("test result: ok. 3 passed; 0 failed").is_empty());
    }
}
