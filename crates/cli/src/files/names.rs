//! Names that a server gives to what is written on this machine: the one place that decides which
//! are taken.
//!
//! The server, or another holder of a key for it, must not decide what tools of this machine read
//! or run: `.git/config`, `.husky/…`, `.envrc`, `node_modules/…`, `package.json`, another
//! workflow's or source's file, a link that leads elsewhere, a file that is executable already.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use millrace_model::own_files::{is_data, problem_of_part};

use crate::error::CliError;
use crate::files::tools::is_found_by_a_tool;
use crate::files::tree::ENDINGS;

/// The file of a workflow, which has another ending than code.
pub(crate) const WORKFLOW_FILE: &str = "workflow.yaml";

/// The name of a folder, such as a slug.
pub(crate) fn folder(name: &str) -> Result<PathBuf, CliError> {
    match problem_of_part(name).or(read_by_a_shell(name)) {
        None => Ok(PathBuf::from(name)),
        Some(why) => Err(CliError::BadName { name: name.to_owned(), why }),
    }
}

/// Why a part of a path is more than a name to a shell or a program that gets it as an argument, or
/// another name on another system.
fn read_by_a_shell(part: &str) -> Option<&'static str> {
    let is_read = |c| "$`\"'*?<>|;:".contains(c);
    match part {
        _ if part.starts_with('-') => Some("a part of it begins with a dash, as an option does"),
        _ if part.starts_with('~') => Some("a part of it begins with `~`, as a home folder does"),
        _ if part.contains(is_read) => {
            Some("it has a character that is special to a shell or another system")
        }
        _ if part.ends_with(['.', ' ']) => Some("a part of it ends with a dot or a space"),
        _ => None,
    }
}

/// The path of a workflow's file, or of one of its code files, within `folder`. What is there
/// already may be neither a link nor executable.
pub(crate) fn code_file(folder: &Path, path: &str) -> Result<PathBuf, CliError> {
    if path != WORKFLOW_FILE && is_found_by_a_tool(path) {
        return Err(CliError::BadName {
            name: path.to_owned(),
            why: "a tool of this machine may run it as a test, or read it as its configuration",
        });
    }
    manifest(folder, path)
}

/// As [`code_file`], for a manifest without anything that a tool runs.
pub(crate) fn manifest(folder: &Path, path: &str) -> Result<PathBuf, CliError> {
    let bad = |why| CliError::BadName { name: path.to_owned(), why };
    if let Some(why) =
        path.split('/').find_map(|part| problem_of_part(part).or(read_by_a_shell(part)))
    {
        return Err(bad(why));
    }
    let is_code = Path::new(path)
        .extension()
        .is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
    if !is_code && !is_data(path) && path != WORKFLOW_FILE {
        return Err(bad(
            "it is neither `workflow.yaml` nor a file of code (.mjs .js .ts .cjs .json .mts .tsx .jsx .cts) or data (.csv .txt .html .png .wasm …)",
        ));
    }
    let mut full = folder.to_path_buf();
    for part in path.split('/') {
        full.push(part);
        let found = match full.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(folder.join(path)),
            Err(source) => return Err(CliError::Read { path: full, source }),
        };
        if found.is_symlink() {
            return Err(CliError::Unsafe { path: full, why: "is a link, which may lead anywhere" });
        }
        if found.is_file() && found.permissions().mode() & 0o111 != 0 {
            return Err(CliError::Unsafe { path: full, why: "is executable" });
        }
    }
    Ok(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder_and_are_no_tool_s() {
        let folder_of = tempfile::tempdir().expect("a folder");
        let at = folder_of.path();
        for path in ["workflow.yaml", "steps/a.mjs", "a/b/c.json", "ä ö.ts", "t/a.html", "b.PNG"]
        {
            assert_eq!(code_file(at, path).expect("is taken"), at.join(path), "{path}");
        }
        for path in [
            "/etc/x.js",
            "../x.js",
            "a/../../x.js",
            "a//b.js",
            "",
            "a\\..\\b.js",
            "./a.js",
            ".git/config",
            ".git/hooks/x.js",
            ".GIT/x.js",
            "a/.husky/x.js",
            ".envrc",
            "Makefile",
            "Cargo.toml",
            "x.py",
            "x.sh",
            "node_modules/x/index.js",
            "a/Node_Modules/x.js",
            "node_module\u{17f}/x.js",
            "\u{200c}.git/config.js",
            "a\u{1b}.js",
            "a\n.js",
            "-rf.js",
            "a/--eval=x.js",
            "~/x.js",
            "~root/x.js",
            "C:/x.js",
            "a/$(id).js",
            "a`id`.js",
            "a'b.js",
            "a\"b.js",
            "a;b.js",
            "a|b.js",
            "a /b.js",
            "a./b.js",
        ] {
            assert!(matches!(code_file(at, path), Err(CliError::BadName { .. })), "{path}");
        }
        assert!(code_file(at, &format!("{}.js", "x".repeat(300))).is_err());
        for name in ["..", ".", "a/b", "/etc", ".git", "", "NODE_modules"] {
            assert!(folder(name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_is_there_is_no_link_and_not_executable() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        std::os::unix::fs::symlink("/tmp", at.join("out")).expect("links");
        std::os::unix::fs::symlink("/tmp/x", at.join("a.js")).expect("links");
        std::fs::write(at.join("b.js"), "").expect("writes");
        assert!(code_file(at, "b.js").is_ok());
        std::fs::set_permissions(at.join("b.js"), std::fs::Permissions::from_mode(0o755))
            .expect("sets");
        for path in ["out/a.js", "a.js", "b.js"] {
            assert!(matches!(code_file(at, path), Err(CliError::Unsafe { .. })), "{path}");
        }
    }
}
