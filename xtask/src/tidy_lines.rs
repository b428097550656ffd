//! Length of files and width of comments, which rustfmt does not check. Files that were longer when
//! the rule came are listed in `xtask/long_files.txt` with their lines: that list may only shrink.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Lines of a file of code.
const LINES_MAX: usize = 400;
/// Characters of a line, as `rustfmt.toml` has it.
const WIDTH_MAX: usize = 100;
/// The files that are longer: a path and its lines in each line.
const LONG_FILES: &str = "xtask/long_files.txt";

/// Files that may be longer, and how many lines each may have.
pub struct LongFiles(BTreeMap<String, usize>);

impl LongFiles {
    pub fn read(root: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(root.join(LONG_FILES))
            .with_context(|| format!("could not read `{LONG_FILES}`"))?;
        Ok(Self(text.lines().filter_map(entry).collect()))
    }

    /// Reports a file that is too long, and one whose place in the list is out of date.
    pub fn file(&mut self, path: &str, text: &str, problems: &mut Vec<String>) {
        let lines = text.lines().count();
        match self.0.remove(path) {
            None if lines > LINES_MAX => problems.push(format!(
                "{path} has {lines} lines, more than {LINES_MAX}: split it by what its parts do"
            )),
            Some(max) if lines > max => problems.push(format!(
                "{path} has {lines} lines and may have {max}: take out as much as is added"
            )),
            Some(max) if lines <= LINES_MAX || lines < max => problems.push(format!(
                "{path} has {lines} lines: {} in {LONG_FILES}, which then says {max} no more",
                if lines <= LINES_MAX {
                    "remove its line".into()
                } else {
                    format!("write {lines}")
                }
            )),
            _ => {}
        }
    }

    /// Reports what the list names and is not there.
    pub fn rest(self, problems: &mut Vec<String>) {
        let gone = self.0.into_keys();
        problems.extend(gone.map(|path| format!("{LONG_FILES} names `{path}`, which is gone")));
    }
}

fn entry(line: &str) -> Option<(String, usize)> {
    let (path, lines) = line.rsplit_once(' ')?;
    Some((path.to_owned(), lines.parse().ok()?))
}

/// Reports comments that are wider than code may be, where they could be wrapped.
pub fn comments(path: &str, text: &str, problems: &mut Vec<String>) {
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
        let words = comment.trim_start_matches(['/', '!']).trim();
        // A table or a long address is one word to whoever wraps.
        let may_wrap = words.contains(' ') && !words.starts_with('|');
        if may_wrap && line.chars().count() > WIDTH_MAX {
            let number = index + 1;
            problems.push(format!("{path}:{number} is a comment of more than {WIDTH_MAX} columns"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(listed: &str, lines: usize) -> Vec<String> {
        let (mut problems, text) = (Vec::new(), "x\n".repeat(lines));
        let mut files = LongFiles(listed.lines().filter_map(entry).collect());
        files.file("a.rs", &text, &mut problems);
        files.rest(&mut problems);
        problems
    }

    #[test]
    fn the_list_of_long_files_may_only_shrink() {
        assert!(found("", 400).is_empty());
        assert!(found("a.rs 450", 450).is_empty());
        let wrong = [("", 401), ("a.rs 450", 451), ("a.rs 450", 449), ("a.rs 450", 400)];
        for (listed, lines) in wrong {
            assert_eq!(found(listed, lines).len(), 1, "{listed} {lines}");
        }
        assert_eq!(found("b.rs 450", 1), ["xtask/long_files.txt names `b.rs`, which is gone"]);
    }

    #[test]
    fn wide_comments_are_found() {
        let mut problems = Vec::new();
        let (wide, one_word) = ("word ".repeat(25), "w".repeat(120));
        comments("a.rs", &format!("/// {wide}\n//! {one_word}\n// | {wide}|\n"), &mut problems);
        assert_eq!(problems, ["a.rs:1 is a comment of more than 100 columns"]);
    }
}
