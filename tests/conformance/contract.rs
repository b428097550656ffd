//! The document against the server: schemathesis makes requests of all that the document allows,
//! and of much that it does not. No answer may be a 5xx, or other than the document says.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use millrace_tests::{Client, Server, binary, slow};
use serde_json::{Value, json};

use crate::r2_endpoints::keys::Things;

/// What is installed, to the last digit.
const PACKAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/schemathesis.txt");
/// Seconds that are spent on what the document's bounds give, at most; with all cases, also on
/// requests that are made up.
const SECONDS_MAX: &str = "75";
const SECONDS_OF_ALL: &str = "300";

/// The program in an environment of its own beside the build, made once; none where Python or its
/// index is not there, which is said.
#[expect(clippy::print_stderr, reason = "what was not tested is said")]
fn schemathesis() -> Option<PathBuf> {
    let folder = binary().parent()?.join("schemathesis-4.32.5");
    let program = folder.join("bin/schemathesis");
    let works = |program: &Path| {
        Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    if works(&program) {
        return Some(program);
    }
    let run = |program: &str, args: &[&str]| {
        Command::new(program)
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    let path = folder.to_str()?;
    let made = run("python3", &["-m", "venv", "--clear", path])
        && run(
            folder.join("bin/pip").to_str()?,
            &["install", "--quiet", "--requirement", PACKAGES],
        );
    if made && works(&program) {
        return Some(program);
    }
    eprintln!(
        "skipped: schemathesis could not be installed: it needs Python 3.10 or newer and PyPI"
    );
    None
}

/// The document as it is tried: ids are those of things that are there. `include` and `exclude`
/// leave fields out of answers that the document calls required; the other tests ask with them.
fn tried(server: &Server, things: &Things) -> Value {
    let mut document = Value::clone(&server.document);
    for (template, methods) in document["paths"].as_object_mut().expect("paths") {
        let path = template.trim_start_matches("/v1").to_owned();
        for operation in
            methods.as_object_mut().into_iter().flatten().map(|(_, operation)| operation)
        {
            // It makes no archives: the body of these is empty here, and tested elsewhere.
            if operation["requestBody"]["content"].get("application/gzip").is_some() {
                operation.as_object_mut().expect("an operation").remove("requestBody");
            }
            let parameters = operation["parameters"].as_array_mut().expect("parameters");
            parameters.retain(|p| {
                p["in"] == "path" || (p["name"] != "include" && p["name"] != "exclude")
            });
            for parameter in parameters.iter_mut().filter(|p| p["in"] == "path") {
                let name = format!("{{{}}}", parameter["name"].as_str().unwrap_or(""));
                let mut known = vec![json!("not-there")];
                known.extend(things.of_parameter(&path, &name).map(Value::from));
                parameter["schema"] = json!({ "type": "string", "enum": known });
            }
        }
    }
    document
}

#[expect(clippy::print_stderr, reason = "how much was tested is said")]
fn run(program: &Path, server: &Client, document: &Path, args: &[&str]) {
    let output = Command::new(program)
        .arg("run")
        .arg(document)
        .args(["--url", &server.url, "--header", &format!("Authorization: Bearer {}", server.api_key)])
        .args(["--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"])
        .args(["--request-timeout", "30", "--warnings", "off", "--no-color", "--seed", "1"])
        // Streams have no end.
        .args(["--exclude-path-regex", "/(sse|stream)$"])
        .args(args)
        .current_dir(document.parent().expect("a folder"))
        .output()
        .expect("schemathesis starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("Test cases:"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    eprintln!(
        "{}",
        said.lines().skip_while(|line| !line.contains("SUMMARY")).collect::<Vec<_>>().join("\n")
    );
}

#[tokio::test]
async fn no_request_makes_the_server_fail_or_break_its_word() {
    let Some(program) = schemathesis() else { return };
    let server = Server::start_with(&["--requests-per-minute", "0"]).await;
    let things = Things::of(&server).await;
    let folder = tempfile::tempdir().expect("a folder");
    let document = folder.path().join("openapi.json");
    std::fs::write(&document, tried(&server, &things).to_string()).expect("writes");
    // What deletes comes last, so that the rest meets what is there.
    let run = |args: &[&str]| run(&program, &server, &document, args);
    let kept = ["--exclude-method", "DELETE"];
    if slow::all_cases() {
        let all = ["--phases", "coverage,fuzzing", "--max-examples", "10"];
        run(&[&kept[..], &all, &["--max-time", SECONDS_OF_ALL]].concat());
    } else {
        run(&[&kept[..], &["--phases", "coverage", "--max-time", SECONDS_MAX]].concat());
        run(&[&kept[..], &["--phases", "fuzzing", "--max-examples", "2"]].concat());
    }
    run(&["--phases", "coverage", "--include-method", "DELETE", "--max-time", SECONDS_MAX]);
    assert!(!server.log().contains("a handler panicked"), "{}", server.log());
}
