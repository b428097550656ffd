//! `docs/dev/conformance.md`: which clause of the interface is held by which test, and whether that
//! passes. Made of the tests themselves: a test names its clause, `s6_4_…` one of the spec, `r3_…`
//! one of the reference, `f5_7_…` one of the registry facts, or its doc comment does (`spec 6.4`).
//! Tests of the runtime that begin with a number are of that point of the registry facts'
//! section 5.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::{cargo_program, command};

const DOCUMENT: &str = "docs/dev/conformance.md";
/// Folders of tests that speak through the public interface.
const FOLDERS: &[&str] = &["tests/conformance", "tests/crash", "tests/security"];
const RUNTIME: &str = "runtime/test/component_api.test.mjs";

/// The clauses, in our words. What no test names stands in the table all the same, and says so.
const CLAUSES: &[(&str, &str)] = &[
    ("spec 1", "what the service does"),
    ("spec 2.1", "a subscription"),
    ("spec 2.2", "an error event's summary"),
    ("spec 2.3", "an error event's body"),
    ("spec 2.4", "an event's metadata"),
    ("spec 2.5", "page info"),
    ("spec 2.6", "a component"),
    ("spec 2.7", "props"),
    ("spec 2.7.1", "user input, options, dynamic props"),
    ("spec 2.7.2", "timers"),
    ("spec 2.7.3", "HTTP interfaces"),
    ("spec 2.7.4", "the component's own store"),
    ("spec 2.7.5", "apps and accounts"),
    ("spec 2.8", "saved and deployed components"),
    ("spec 2.9", "what a step gets as `$`"),
    ("spec 3.1", "states of a component, hooks"),
    ("spec 3.2", "how a source is triggered"),
    ("spec 3.3", "when an error is told"),
    ("spec 4.1", "creating a subscription"),
    ("spec 4.2", "recent errors of a workflow"),
    ("spec 4.3", "other operations"),
    ("spec 4.4", "the endpoint of a source"),
    ("spec 4.5", "addresses that deploy a source"),
    ("spec 4.6", "the command line"),
    ("spec 5", "authentication"),
    ("spec 6.1", "the stream of errors"),
    ("spec 6.2", "live and test"),
    ("spec 6.3", "one notice for an error and day"),
    ("spec 6.4", "emitted events and dedupe"),
    ("spec 7", "errors"),
    ("spec 8", "limits and imports"),
    ("spec 9", "versions"),
    ("reference 1", "conventions of the API"),
    ("reference 2", "endpoints of the API"),
    ("reference 3", "components, sharpened"),
    ("reference 4", "workflows, sharpened"),
    ("reference 5", "the command line, sharpened"),
];
/// Points of the registry facts' section 5.
const POINTS: u32 = 25;

/// A test that holds clauses.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    /// Such as `spec 6.4`.
    clauses: Vec<String>,
    file: String,
    name: String,
}

impl Held {
    fn key(&self) -> String {
        if self.file.ends_with(".rs") { key(&self.file, &self.name) } else { self.name.clone() }
    }
}

/// Writes the document, after running the tests. `log`: what a run of them printed, in place of
/// another run.
pub fn write(root: &Path, log: Option<&Path>) -> Result<()> {
    let tests = tests(root)?;
    let mut states = match log {
        Some(log) => of_cargo(
            &std::fs::read_to_string(log)
                .with_context(|| format!("could not read `{}`", log.display()))?,
        ),
        None => run(root)?,
    };
    states.extend(of_node(root)?);
    let failed: Vec<&str> = tests
        .iter()
        .filter(|t| states.get(&t.key()) == Some(&false))
        .map(|t| t.name.as_str())
        .collect();
    std::fs::write(root.join(DOCUMENT), document(&tests, |test| states.get(&test.key()).copied()))
        .with_context(|| format!("could not write `{DOCUMENT}`"))?;
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("{DOCUMENT} was written; these fail: {}", failed.join(", "))
    }
}

/// Writes the document of the tests that there are, without running them: CI, which runs all, fails
/// where one does not pass.
pub fn write_names(root: &Path) -> Result<()> {
    std::fs::write(root.join(DOCUMENT), document(&tests(root)?, |_| Some(true)))
        .with_context(|| format!("could not write `{DOCUMENT}`"))
}

/// That the document names the tests that there are, each as passing.
pub fn check(root: &Path) -> Result<()> {
    let text = std::fs::read_to_string(root.join(DOCUMENT))
        .with_context(|| format!("could not read `{DOCUMENT}`"))?;
    let rows = |text: &str| {
        text.lines()
            .filter(|line| line.starts_with("| "))
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    let (there, expected) = (rows(&text), rows(&document(&tests(root)?, |_| Some(true))));
    let lines: Vec<String> = expected
        .difference(&there)
        .map(|l| format!("missing: {l}"))
        .chain(there.difference(&expected).map(|l| format!("not so: {l}")))
        .collect();
    if lines.is_empty() {
        Ok(())
    } else {
        bail!(
            "{DOCUMENT} is not of these tests; `cargo xtask conformance` writes it\n  {}",
            lines.join("\n  ")
        )
    }
}

fn tests(root: &Path) -> Result<Vec<Held>> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        for path in files_below(&root.join(folder))? {
            let text = std::fs::read_to_string(&path)?;
            let file = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            found.extend(of_rust(&text).into_iter().map(|(clauses, name)| Held {
                clauses,
                file: file.clone(),
                name,
            }));
        }
    }
    let text = std::fs::read_to_string(root.join(RUNTIME))?;
    found.extend(of_runtime(&text).into_iter().map(|(clauses, name)| Held {
        clauses,
        file: RUNTIME.into(),
        name,
    }));
    Ok(found)
}

/// Rust files of a folder and the folders in it, in the order of their paths.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// What tells a test from others of its name: the module it is in.
fn key(file: &str, name: &str) -> String {
    let mut parts = file.trim_end_matches(".rs").rsplit('/');
    match parts.next() {
        Some("main") | None => name.to_owned(),
        Some("mod") => format!("{}::{name}", parts.next().unwrap_or_default()),
        Some(module) => format!("{module}::{name}"),
    }
}

/// Test functions with the clauses that their names and doc comments name.
fn of_rust(text: &str) -> Vec<(Vec<String>, String)> {
    let (mut found, mut comment, mut is_test) = (Vec::new(), String::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            comment.push_str(words);
        } else if line.starts_with("#[tokio::test") || line.starts_with("#[test]") {
            is_test = true;
        } else if line.starts_with("#[ignore") {
            // A measurement shows nothing.
            is_test = false;
        } else if !line.starts_with("#[") {
            let function = line
                .strip_prefix("async fn ")
                .or_else(|| line.strip_prefix("fn "))
                .and_then(|rest| rest.split('(').next());
            if let (Some(name), true) = (function, is_test) {
                let mut clauses = named(name);
                clauses.extend(mentioned(&comment));
                clauses.sort();
                clauses.dedup();
                found.push((clauses, name.to_owned()));
            }
            (comment, is_test) = (String::new(), false);
        }
    }
    found
}

fn of_runtime(text: &str) -> Vec<(Vec<String>, String)> {
    let names = text.lines().filter_map(|line| line.strip_prefix("test(\"")?.split("\",").next());
    let point = |name: &str| {
        name.split_once(": ")
            .and_then(|(point, _)| point.parse::<u32>().ok())
            .map(|point| format!("registry facts 5.{point}"))
    };
    names.filter_map(|name| Some((vec![point(name)?], name.to_owned()))).collect()
}

/// `s6_4_words`, `s2_2_to_2_5_words`, `r3_words`, `f5_21_words`.
fn named(name: &str) -> Vec<String> {
    let (kind, rest) = match name.split_at(1) {
        ("s", rest) => ("spec", rest),
        ("r", rest) => ("reference", rest),
        ("f", rest) => ("registry facts", rest),
        _ => return Vec::new(),
    };
    let mut parts = rest.split('_').peekable();
    let mut numbers = || -> Vec<u32> {
        std::iter::from_fn(|| parts.next_if(|part| part.parse::<u32>().is_ok()))
            .filter_map(|part| part.parse().ok())
            .collect()
    };
    let first = numbers();
    let (Some((last, head)), true) =
        (first.split_last(), rest.starts_with(|c: char| c.is_ascii_digit()))
    else {
        return Vec::new();
    };
    let clause = |numbers: &[u32]| {
        format!("{kind} {}", numbers.iter().map(u32::to_string).collect::<Vec<_>>().join("."))
    };
    if parts.next_if_eq(&"to").is_some() {
        let end: Vec<u32> =
            std::iter::from_fn(|| parts.next_if(|part| part.parse::<u32>().is_ok()))
                .filter_map(|part| part.parse().ok())
                .collect();
        if let Some((end, end_head)) = end.split_last()
            && end_head == head
        {
            return (*last..=*end).map(|n| clause(&[head, &[n]].concat())).collect();
        }
    }
    vec![clause(&first)]
}

/// Clauses that a comment names: `spec 6.4`, `reference 3`, `registry facts 5.7`.
fn mentioned(comment: &str) -> Vec<String> {
    let mut found = Vec::new();
    for kind in ["spec", "reference", "registry facts"] {
        for (at, _) in comment.match_indices(kind) {
            let rest = comment[at + kind.len()..].strip_prefix(' ').unwrap_or("");
            let number: String =
                rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            let number = number.trim_end_matches('.');
            if !number.is_empty() {
                found.push(format!("{kind} {number}"));
            }
        }
    }
    found
}

/// Runs the tests: whether each passed, by its name.
fn run(root: &Path) -> Result<BTreeMap<String, bool>> {
    let args = ["test", "--package", "millrace-tests", "--no-fail-fast"];
    eprintln!("$ cargo {}", args.join(" "));
    let output = command(&cargo_program())
        .args(args)
        .current_dir(root)
        .output()
        .context("could not start cargo")?;
    let states = of_cargo(&String::from_utf8_lossy(&output.stdout));
    if states.is_empty() {
        bail!("the tests did not run: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(states)
}

fn of_cargo(log: &str) -> BTreeMap<String, bool> {
    let lines = log.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let module = |path: &str| match path.rsplit_once("::") {
        Some((module, name)) => format!("{}::{name}", module.rsplit("::").next().unwrap_or(module)),
        None => path.to_owned(),
    };
    lines.map(|(path, state)| (module(path), state == "ok")).collect()
}

fn of_node(root: &Path) -> Result<BTreeMap<String, bool>> {
    let output = command("node")
        .args(["--test", "--test-reporter=tap"])
        .arg(RUNTIME)
        .current_dir(root)
        .output()
        .context("could not start node")?;
    let mut states = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines().map(str::trim_start) {
        let passed = line.starts_with("ok ");
        if let Some((_, name)) =
            line.split_once(" - ").filter(|_| passed || line.starts_with("not ok "))
        {
            states.insert(name.to_owned(), passed);
        }
    }
    Ok(states)
}

fn document(tests: &[Held], state: impl Fn(&Held) -> Option<bool>) -> String {
    let points = (1..=POINTS).map(|point| (format!("registry facts 5.{point}"), ""));
    let known: Vec<(String, &str)> = CLAUSES
        .iter()
        .map(|(clause, words)| ((*clause).to_owned(), *words))
        .chain(points)
        .collect();
    // A clause finer than those stands below the one that it is a part of.
    let place = |clause: &str| {
        let mut part = clause;
        loop {
            if let Some(at) = known.iter().position(|(known, _)| known == part) {
                return at;
            }
            match part.rsplit_once('.') {
                Some((whole, _)) => part = whole,
                None => return usize::MAX,
            }
        }
    };
    let mut rows: Vec<(usize, String)> = Vec::new();
    let shown = |test: &Held| match state(test) {
        Some(true) => "passes",
        Some(false) => "**fails**",
        None => "**not run**",
    };
    let mut beyond = Vec::new();
    for test in tests {
        for clause in &test.clauses {
            rows.push((
                place(clause),
                format!(
                    "| {clause} | `{}` ({}) | {} |",
                    test.name.replace('|', "\\|"),
                    test.file,
                    shown(test)
                ),
            ));
        }
        if test.clauses.is_empty() {
            beyond.push(format!("| – | `{}` ({}) | {} |", test.name, test.file, shown(test)));
        }
    }
    for (at, (clause, _)) in known.iter().enumerate() {
        if rows.iter().all(|(place, _)| *place != at) {
            rows.push((at, format!("| {clause} | – | **no test names it** |")));
        }
    }
    rows.sort();
    let mut text = String::from(
        "# Conformance\n\nWhich clause of the interface is held by which test. Written by `cargo xtask conformance`, which runs them; `cargo xtask check` holds it against the tests.\n\n## Clauses\n\n",
    );
    for (clause, words) in known.iter().filter(|(_, words)| !words.is_empty()) {
        text.push_str(&format!("{clause}: {words}. "));
    }
    text.push_str("Registry facts 5.1 to 5.25: what a naive runtime breaks on.\n\n| clause | test | state |\n| --- | --- | --- |\n");
    for (_, row) in rows {
        text.push_str(&row);
        text.push('\n');
    }
    text.push_str("\n## Beyond the clauses\n\n| | test | state |\n| --- | --- | --- |\n");
    for row in beyond {
        text.push_str(&row);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_comments_tell_their_clauses() {
        assert_eq!(named("s6_4_last_emits"), ["spec 6.4"]);
        assert_eq!(named("s2_2_to_2_5_an_error"), ["spec 2.2", "spec 2.3", "spec 2.4", "spec 2.5"]);
        assert_eq!(named("s8_two_versions"), ["spec 8"]);
        assert_eq!(
            (named("r3_files_of_a_form"), named("f5_21_fixed")),
            (vec!["reference 3".to_owned()], vec!["registry facts 5.21".to_owned()])
        );
        assert!(
            named("requests_that_cannot_be").is_empty()
                && named("said").is_empty()
                && named("r_2").is_empty()
        );
        assert_eq!(mentioned(" Holds (spec 2.7.1; reference 3.)"), ["spec 2.7.1", "reference 3"]);
        let text = "/// As spec 9 says.\n#[tokio::test]\nasync fn s8_a() {}\nasync fn helper() {}\n#[test]\nfn plain() {}\n";
        assert_eq!(
            of_rust(text),
            [
                (vec!["spec 8".to_owned(), "spec 9".to_owned()], "s8_a".to_owned()),
                (vec![], "plain".to_owned())
            ]
        );
        assert_eq!(
            of_runtime("test(\"7: it may\", async () => {\ntest(\"no number\", () => {"),
            [(vec!["registry facts 5.7".to_owned()], "7: it may".to_owned())]
        );
    }

    #[test]
    fn a_test_is_told_from_others_of_its_name_by_its_module() {
        assert_eq!(key("tests/conformance/r3_components/uploads.rs", "a"), "uploads::a");
        assert_eq!(
            (key("tests/crash/main.rs", "a"), key("tests/conformance/x/mod.rs", "a")),
            ("a".to_owned(), "x::a".to_owned())
        );
        let states =
            of_cargo("test r3_components::uploads::a ... ok\ntest a ... FAILED\nrunning 2 tests\n");
        assert_eq!((states.get("uploads::a"), states.get("a")), (Some(&true), Some(&false)));
    }

    #[test]
    fn a_clause_without_a_test_and_a_test_that_fails_say_so() {
        let held = |clause: &str, name: &str| Held {
            clauses: vec![clause.into()],
            file: "f.rs".into(),
            name: name.into(),
        };
        let text = document(&[held("spec 6.4", "good"), held("spec 6.4.1", "bad")], |test| {
            Some(test.name == "good")
        });
        assert!(
            text.contains("| spec 6.4 | `good` (f.rs) | passes |\n| spec 6.4.1 | `bad` (f.rs) | **fails** |\n| spec 7 | – | **no test names it** |"),
            "{text}"
        );
    }
}
