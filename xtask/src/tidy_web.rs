//! Rules of the web application: arrows between its folders, lengths of files, no casts, no colours
//! outside the tokens.

use std::path::Path;

/// Lines of a file of `web/src`.
const LINES_MAX: usize = 400;
/// Written by tools.
const GENERATED: [&str; 2] = ["routes.gen.ts", "api/schema.ts"];
/// Folder, and the folders it may import from. Features never import each other; the entry files
/// may use all.
const ARROWS: [(&str, &[&str]); 6] = [
    ("json", &["json"]),
    ("api", &["json", "api"]),
    ("ui", &["json", "ui"]),
    ("shell", &["json", "ui", "api", "shell"]),
    ("features", &["json", "ui", "api", "shell"]),
    ("routes", &["json", "ui", "api", "shell", "features", "routes"]),
];
/// Where values of a colour may stand.
const TOKENS: &str = "styles/tokens.css";

/// Adds what is wrong with a file of `web/src`, whose path is relative to it.
pub fn file(path: &Path, text: &str, problems: &mut Vec<String>) {
    let name = path.to_string_lossy();
    if is_generated(path) {
        return;
    }
    let mut problem =
        |line: usize, words: String| problems.push(format!("web/src/{name}:{line} {words}"));
    let lines = text.lines().count();
    if lines > LINES_MAX {
        problem(lines, format!("has {lines} lines, more than {LINES_MAX}"));
    }
    let is_code = name.ends_with(".ts") || name.ends_with(".tsx");
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if is_code {
            if let Some(words) = arrow(path, line) {
                problem(number, words);
            }
            if !name.starts_with("api/") && !name.contains(".test.") && casts(line) {
                problem(number, "casts with `as`; narrow the type, or do it in `api/`".into());
            }
            if line.contains("dangerouslySetInnerHTML") || line.contains(".innerHTML") {
                problem(number, "makes markup of text".into());
            }
        } else if name.ends_with(".css") && name != TOKENS && has_colour(line) {
            problem(number, format!("holds a colour; give it a name in {TOKENS}"));
        }
    }
}

/// Whether a file of `web/src` is written by a tool.
pub fn is_generated(path: &Path) -> bool {
    GENERATED.iter().any(|generated| path == Path::new(generated))
}

/// What an import of the line breaks.
fn arrow(path: &Path, line: &str) -> Option<String> {
    let (_, target) = line
        .rsplit_once("from \"")
        .or_else(|| line.rsplit_once("import(\""))
        .or_else(|| line.split_once("import \""))?;
    let target = target.split('"').next()?;
    let from: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let (_, allowed) = ARROWS.iter().find(|(folder, _)| from.first() == Some(folder))?;
    let reached: Vec<String> = if let Some(rest) = target.strip_prefix("~/") {
        rest.split('/').map(str::to_owned).collect()
    } else if target.starts_with('.') {
        let mut parts: Vec<String> =
            from.iter().take(from.len().saturating_sub(1)).map(|part| (*part).to_owned()).collect();
        for part in target.split('/') {
            match part {
                "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part.to_owned()),
            }
        }
        parts
    } else {
        return None;
    };
    let room = reached.first()?;
    if from[0] == "features" && room == "features" {
        let same = reached.get(1).map(String::as_str) == from.get(1).copied();
        return (!same).then(|| {
            format!(
                "imports `{target}`; a feature does not import another, a route puts them together"
            )
        });
    }
    let known = ARROWS.iter().any(|(folder, _)| room == folder);
    (known && !allowed.contains(&room.as_str()))
        .then(|| format!("imports `{target}`, which `{}` may not", from[0]))
}

/// `value as Type`; not `as const`, and not a name given on import.
fn casts(line: &str) -> bool {
    let line = line.trim_start();
    if ["import", "export", "//", "*", "/*", "}"].iter().any(|start| line.starts_with(start)) {
        return false;
    }
    line.match_indices(" as ").any(|(at, found)| {
        let (before, after) = (&line[..at], &line[at + found.len()..]);
        let type_follows = after.starts_with(|c: char| c.is_ascii_uppercase())
            || ["never", "unknown", "string", "number", "{", "("]
                .iter()
                .any(|t| after.starts_with(t));
        let quoted = before.matches(['"', '`']).count() % 2 == 1;
        type_follows
            && !quoted
            && before.ends_with(|c: char| {
                c.is_alphanumeric() || matches!(c, ')' | ']' | '}' | '_' | '"')
            })
            && !line.contains("//")
            && is_code(before)
    })
}

/// Whether the text before is code: words of a sentence in markup have no sign of it.
fn is_code(before: &str) -> bool {
    let words = before
        .rfind('>')
        .filter(|at| !before[..*at].ends_with('='))
        .map_or(before, |at| &before[at + 1..]);
    words.contains(['=', '(', '.', '{', ':']) || words.starts_with("return ")
}

/// A hexadecimal colour, or a function of one.
fn has_colour(line: &str) -> bool {
    let hex = line.match_indices('#').any(|(at, _)| {
        let digits = line[at + 1..].chars().take_while(char::is_ascii_hexdigit).count();
        line.contains(':') && matches!(digits, 3 | 4 | 6 | 8)
    });
    hex || ["rgb(", "hsl(", "oklch("].iter().any(|function| line.contains(function))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        file(Path::new(path), text, &mut problems);
        problems
    }

    #[test]
    fn arrows_go_from_routes_to_features_to_the_library() {
        assert!(
            problems("features/runs/list.tsx", "import { Button } from \"~/ui/button\";")
                .is_empty()
        );
        assert!(problems("features/runs/list.tsx", "import { x } from \"./flow\";").is_empty());
        assert_eq!(
            problems("features/runs/list.tsx", "import { x } from \"~/features/errors/list\";")
                .len(),
            1
        );
        assert_eq!(
            problems("features/runs/list.tsx", "import { x } from \"../errors/list\";").len(),
            1
        );
        assert_eq!(problems("ui/button.tsx", "import { client } from \"~/api/client\";").len(), 1);
        assert_eq!(
            problems("shell/frame.tsx", "const page = import(\"~/features/runs/list\");").len(),
            1
        );
        assert!(
            problems("routes/_app.tsx", "import { List } from \"~/features/runs/list\";")
                .is_empty()
        );
    }

    #[test]
    fn casts_are_for_the_api_alone() {
        assert_eq!(problems("ui/a.tsx", "const x = value as Thing;").len(), 1);
        assert_eq!(problems("ui/a.tsx", "go(place as never);").len(), 1);
        assert!(problems("api/a.ts", "const x = value as Thing;").is_empty());
        assert!(problems("ui/a.tsx", "const x = [1] as const;").is_empty());
        assert!(problems("ui/a.tsx", "import { Menu as Base } from \"x\";").is_empty());
        assert!(problems("ui/a.tsx", "title: \"Shown as JSON\",").is_empty());
        assert!(
            problems("ui/a.tsx", "<Item onSelect={() => copy(value)}>Copy all as JSON</Item>")
                .is_empty()
        );
        assert_eq!(problems("ui/a.tsx", "list.map((each) => (each.value as Thing));").len(), 1);
    }

    #[test]
    fn colours_are_tokens() {
        assert_eq!(problems("ui/a.css", "  color: #00616a;").len(), 1);
        assert_eq!(problems("ui/a.css", "  color: oklch(0.4 0.07 10);").len(), 1);
        assert!(problems("ui/a.css", "  color: var(--accent);").is_empty());
        assert!(problems("ui/a.css", "#root {").is_empty());
        assert!(problems("styles/tokens.css", "  --accent: #00616a;").is_empty());
    }

    #[test]
    fn generated_files_are_left_alone() {
        assert!(problems("routes.gen.ts", &"x as Thing\n".repeat(500)).is_empty());
    }
}
