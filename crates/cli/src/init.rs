//! `init`: a component to begin with.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::args::{InitArgs, InitKind};
use crate::error::CliError;
use crate::printer;

/// Writes the file into the folder and says what to do with it.
pub(crate) fn init(args: &InitArgs, folder: &Path) -> Result<(), CliError> {
    let slug = slug(&args.name)?;
    let path: PathBuf = folder.join(format!("{slug}.mjs"));
    let (text, next) = match args.kind {
        InitKind::Source => (source(args, &slug), "dev"),
        InitKind::Action => (action(&args.name, &slug), "publish"),
    };
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::AlreadyExists => CliError::Exists(path.clone()),
        _ => CliError::Write { path: path.clone(), source },
    };
    let mut file = std::fs::OpenOptions::new().create_new(true).write(true).open(&path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    printer::data(&path.display().to_string())?;
    printer::note(&format!("next: millrace {next} {}", path.display()));
    Ok(())
}

fn slug(name: &str) -> Result<String, CliError> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    let slug = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-");
    if slug.is_empty() {
        return Err(CliError::Usage {
            message: format!("`{name}` is not a name for a component"),
            hint: "a name has letters or digits, such as \"New Things\"",
        });
    }
    Ok(slug)
}

/// A text as JavaScript writes it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn source(args: &InitArgs, slug: &str) -> String {
    let timer = args.timer || !args.http;
    let mut props = String::new();
    if args.http {
        props.push_str("    http: { type: \"$.interface.http\", customResponse: true },\n");
    }
    if timer {
        props.push_str("    timer: { type: \"$.interface.timer\", default: { intervalSeconds: 60 } },\n");
    }
    if args.db {
        props.push_str("    db: \"$.service.db\",\n");
    }
    let mut run = String::new();
    if args.http && timer {
        run.push_str(
            "    // A tick has a timestamp, a request has a method.\n    if (event.method) this.http.respond({ status: 200, body: { received: true } });\n",
        );
    } else if args.http {
        run.push_str("    this.http.respond({ status: 200, body: { received: true } });\n");
    }
    let id = if args.db {
        run.push_str("    const count = (this.db.get(\"count\") ?? 0) + 1;\n    this.db.set(\"count\", count);\n");
        "count"
    } else {
        "ts"
    };
    let name = quoted(&args.name);
    format!(
        "export default {{\n  key: \"{slug}\",\n  name: {name},\n  description: {name},\n  version: \"0.0.1\",\n  type: \"source\",\n  dedupe: \"unique\",\n  props: {{\n{props}  }},\n  \
         async run(event) {{\n    const ts = Date.now();\n{run}    this.$emit(event, {{ id: {id}, summary: {name}, ts }});\n  }},\n}};\n"
    )
}

fn action(name: &str, slug: &str) -> String {
    let name = quoted(name);
    format!(
        "export default {{\n  key: \"{slug}\",\n  name: {name},\n  description: {name},\n  version: \"0.0.1\",\n  type: \"action\",\n  props: {{\n    \
         who: {{ type: \"string\", label: \"Who\", default: \"world\" }},\n  }},\n  async run({{ $ }}) {{\n    const text = `Hello, ${{this.who}}!`;\n    \
         $.export(\"$summary\", text);\n    return text;\n  }},\n}};\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: InitKind, db: bool, http: bool, timer: bool) -> String {
        let args = InitArgs { kind, name: "New \"Things\"".into(), db, http, timer };
        let slug = slug(&args.name).expect("a slug");
        if kind == InitKind::Source { source(&args, &slug) } else { action(&args.name, &slug) }
    }

    #[test]
    fn names_are_quoted_and_props_are_those_asked_for() {
        let text = written(InitKind::Source, true, true, false);
        assert!(text.contains("key: \"new-things\"") && text.contains("name: \"New \\\"Things\\\"\""), "{text}");
        assert!(text.contains("$.interface.http") && text.contains("$.service.db") && !text.contains("$.interface.timer"), "{text}");
        assert!(written(InitKind::Source, false, false, false).contains("$.interface.timer"));
        assert!(written(InitKind::Action, false, false, false).contains("Hello, ${this.who}!"));
    }
}
