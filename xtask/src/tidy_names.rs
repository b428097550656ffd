//! Identifiers in pages for contributors: each occurs in the code, so that a rename does not leave
//! a page behind that names what is gone.

use std::collections::HashSet;
use std::path::Path;

/// Extensions of files whose words are names of the code.
const CODE: &[&str] = &["css", "js", "mjs", "rs", "sql", "toml", "ts", "tsx"];

/// Names of the code, and the identifiers that pages for contributors have in backticks.
#[derive(Default)]
pub struct Names {
    code: HashSet<String>,
    quoted: Vec<(String, String)>,
}

impl Names {
    /// Takes in a file of the repository.
    pub fn file(&mut self, path: &Path, text: &str) {
        self.code.extend(words(&path.to_string_lossy()).map(str::to_owned));
        if path.extension().is_some_and(|of| CODE.iter().any(|code| of == *code)) {
            self.code.extend(words(text).map(str::to_owned));
        }
        let is_generated = path.ends_with("conformance.md");
        let is_page = path.starts_with("docs/dev") || path == Path::new("ARCHITECTURE.md");
        if !is_page || is_generated {
            return;
        }
        for (index, line) in text.lines().enumerate() {
            let place = format!("{}:{}", path.display(), index + 1);
            self.quoted.extend(identifiers(line).map(|name| (place.clone(), name.to_owned())));
        }
    }

    /// Reports the identifiers that no file of the code has.
    pub fn rest(self, problems: &mut Vec<String>) {
        for (place, name) in self.quoted {
            if words(&name).any(|word| !self.code.contains(word)) {
                problems.push(format!("{place} names `{name}`, which is not in the code"));
            }
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Names and paths such as `a::b` in backticks.
fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|text| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        text.chars().all(is_part) && text.contains(|c: char| c.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_code_has_not_are_reported() {
        let mut names = Names::default();
        names.file(Path::new("crates/a/src/pulse.rs"), "struct Beat;\n");
        names.file(
            Path::new("ARCHITECTURE.md"),
            "`Beat` of `a::pulse`\nand `Heart`, `let x = 1`, `a-b`, `404`\n",
        );
        let mut problems = Vec::new();
        names.rest(&mut problems);
        assert_eq!(problems, ["ARCHITECTURE.md:2 names `Heart`, which is not in the code"]);
    }
}
