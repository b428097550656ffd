//! Module headers: each file begins with one, and it names its subject first.

use std::path::Path;

use crate::tidy_web;

/// Words that name no subject at the beginning of a header.
const NO_SUBJECT: &[&str] = &[
    "Anybody",
    "Anything",
    "Everybody",
    "Everything",
    "He",
    "How",
    "If",
    "It",
    "Its",
    "Nobody",
    "Nothing",
    "One",
    "Others",
    "She",
    "Somebody",
    "Something",
    "That",
    "Their",
    "These",
    "They",
    "This",
    "Those",
    "What",
    "Whatever",
    "When",
    "Where",
    "Whether",
    "Which",
    "Who",
    "Whoever",
    "Whom",
    "Whose",
    "Why",
    "You",
    "Your",
];
/// Folders whose TypeScript files have headers.
const TYPESCRIPT: &[&str] = &["runtime/platform", "runtime/src", "web/src"];

/// Reports a Rust or TypeScript file without a header, and a header without a subject.
pub fn file(path: &Path, text: &str, problems: &mut Vec<String>) {
    let (name, extension) = (path.to_string_lossy(), path.extension().unwrap_or_default());
    let header = if extension == "rs" {
        rust(text)
    } else if (extension == "ts" || extension == "tsx")
        && TYPESCRIPT.iter().any(|folder| path.starts_with(folder))
        && !path.strip_prefix("web/src").is_ok_and(tidy_web::is_generated)
    {
        typescript(text)
    } else {
        return;
    };
    match header {
        None if !may_lack(path) => {
            problems.push(format!("{name}:1 has no header: say in a line what the file is"));
        }
        Some(header) => {
            let first = header.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
            if NO_SUBJECT.contains(&first) {
                problems.push(format!(
                    "{name}:1 begins its header with `{first}`: name its subject first"
                ));
            }
        }
        None => {}
    }
}

/// Whether the path alone says what a file is: tests of the module beside it, and pages, whose
/// address it is. A file of `routes` that is no page has a `-` before its name.
fn may_lack(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_page = path.starts_with("web/src/routes") && !name.starts_with('-');
    is_page || name == "tests.rs" || name.contains(".test.")
}

/// The first line of the `//!` before any code.
fn rust(text: &str) -> Option<&str> {
    let mut lines = text.lines().skip_while(|l| l.trim().is_empty() || l.starts_with("#!["));
    lines.next()?.strip_prefix("//!").map(str::trim)
}

/// The first words of the `/** … */` or `// …` that a file begins with.
fn typescript(text: &str) -> Option<&str> {
    let comment = text.strip_prefix("/**").or_else(|| text.strip_prefix("//"))?;
    Some(comment.trim_start_matches(|c: char| c.is_whitespace() || c == '*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        file(Path::new(path), text, &mut problems);
        problems
    }

    #[test]
    fn a_header_names_its_subject_first() {
        let good = [
            ("crates/a/src/b.rs", "#![expect(x)]\n\n//! Lease table of runs.\nuse x;\n"),
            ("crates/a/src/b.rs", "//! `/runs`: lists.\n"),
            ("web/src/ui/a.tsx", "/** Whole rows. */\n"),
            ("web/src/ui/a.ts", "/**\n * Scale of a chart.\n */\n"),
            ("runtime/src/a.ts", "// Frames of the wire.\n"),
        ];
        for (path, text) in good {
            assert!(found(path, text).is_empty(), "{path} {text}");
        }
        let bad = [
            ("tests/a.rs", "//! What a run sends.\n"),
            ("web/src/ui/a.tsx", "/** One's own sessions. */\n"),
            ("web/src/routes/a.tsx", "/** Who may sign in. */\n"),
            ("web/src/ui/a.ts", "/**\n * How a list is sorted.\n */\n"),
            ("runtime/src/a.ts", "// Whether a host lives.\n"),
        ];
        for (path, text) in bad {
            assert_eq!(found(path, text).len(), 1, "{path} {text}");
        }
    }

    #[test]
    fn files_whose_path_says_it_all_need_none() {
        for path in ["crates/a/src/b.rs", "runtime/src/a.ts", "web/src/routes/-a.tsx"] {
            assert_eq!(
                found(path, "use x;\n"),
                [format!("{path}:1 has no header: say in a line what the file is")]
            );
        }
        let free = [
            "crates/a/src/b/tests.rs",
            "web/src/ui/a.test.ts",
            "web/src/routes/a.tsx",
            "web/src/routes.gen.ts",
            "web/vite.config.ts",
            "web/src/ui/a.css",
        ];
        for path in free {
            assert!(found(path, "use x;\n").is_empty(), "{path}");
        }
    }
}
