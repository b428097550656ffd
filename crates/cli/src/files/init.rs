//! `init`: writes a first component.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use millrace_model::slug::slugify;

use crate::args::{InitArgs, InitKind};
use crate::error::CliError;
use crate::terminal::printer::{self, Show};

/// Writes the file into the folder and says what to do with it.
pub(crate) fn init(show: Show, args: &InitArgs, folder: &Path) -> Result<(), CliError> {
    let slug = slug(&args.name)?;
    if args.kind != InitKind::Source && (args.db || args.http || args.timer) {
        return Err(CliError::Usage {
            message: "--db, --http and --timer are for sources".into(),
            hint: "write `millrace init source NAME --http`, or leave them out",
        });
    }
    let ending = if args.kind == InitKind::App { "app.mjs" } else { "mjs" };
    let path: PathBuf = folder.join(format!("{slug}.{ending}"));
    let text = match args.kind {
        InitKind::Source => source(args, &slug),
        InitKind::Action => action(&args.name, &slug),
        InitKind::App => app(&slug),
    };
    let next = match args.kind {
        InitKind::Source => format!("millrace dev {}", path.display()),
        InitKind::Action => format!("millrace publish {}", path.display()),
        InitKind::App => {
            format!("import it: import {} from \"./{slug}.app.mjs\"", slug.replace('-', "_"))
        }
    };
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::AlreadyExists => CliError::Exists(path.clone()),
        _ => CliError::Write { path: path.clone(), source },
    };
    let mut file =
        std::fs::OpenOptions::new().create_new(true).write(true).open(&path).map_err(failed)?;
    if let Err(error) = file.write_all(text.as_bytes()) {
        // Half a file would be in the way of the next attempt.
        let _ = std::fs::remove_file(&path);
        return Err(failed(error));
    }
    if show.json {
        return printer::data(&serde_json::json!({ "file": path }).to_string());
    }
    printer::data(&path.display().to_string())?;
    printer::note(&format!("next: {next}"));
    Ok(())
}

/// The file's name, by the rule that gives the server's slugs.
pub(crate) fn slug(name: &str) -> Result<String, CliError> {
    if !name.chars().any(char::is_alphanumeric) {
        return Err(CliError::Usage {
            message: format!("`{name}` is not a name for a component"),
            hint: "a name has letters or digits, such as \"New Things\"",
        });
    }
    Ok(slugify(name))
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
        props.push_str(
            "    timer: { type: \"$.interface.timer\", default: { intervalSeconds: 60 } },\n",
        );
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

/// An app is named by its slug, with `_`.
fn app(slug: &str) -> String {
    let slug = slug.replace('-', "_");
    format!(
        "import {{ axios }} from \"@pipedream/platform\";\n\nexport default {{\n  type: \"app\",\n  app: \"{slug}\",\n  propDefinitions: {{\n    item: {{\n      type: \"string\",\n      label: \"Item\",\n      \
         async options() {{\n        const items = await this.listItems();\n        return items.map(({{ id, name }}) => ({{ value: id, label: name }}));\n      }},\n    }},\n  }},\n  methods: {{\n    \
         _request({{ $ = this, path, ...args }}) {{\n      return axios($, {{\n        url: `https://api.example.com${{path}}`,\n        headers: {{ Authorization: `Bearer ${{this.$auth.api_key}}` }},\n        ...args,\n      }});\n    }},\n    \
         listItems() {{\n      return this._request({{ path: \"/items\" }});\n    }},\n  }},\n}};\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: InitKind, db: bool, http: bool, timer: bool) -> String {
        let args = InitArgs { kind, name: "New \"Things\"".into(), db, http, timer };
        let slug = slug(&args.name).expect("a slug");
        match kind {
            InitKind::Source => source(&args, &slug),
            InitKind::Action => action(&args.name, &slug),
            InitKind::App => app(&slug),
        }
    }

    #[test]
    fn names_are_quoted_and_props_are_those_asked_for() {
        let text = written(InitKind::Source, true, true, false);
        assert!(
            text.contains("key: \"new-things\"") && text.contains("name: \"New \\\"Things\\\"\""),
            "{text}"
        );
        assert!(
            text.contains("$.interface.http")
                && text.contains("$.service.db")
                && !text.contains("$.interface.timer"),
            "{text}"
        );
        assert!(written(InitKind::Source, false, false, false).contains("$.interface.timer"));
        assert!(written(InitKind::Action, false, false, false).contains("Hello, ${this.who}!"));
        assert!(written(InitKind::App, false, false, false).contains("app: \"new_things\""));
    }

    #[test]
    fn files_are_named_in_any_writing() {
        for (name, expected) in [("Заказы", "заказы"), ("Ärger  mit", "ärger-mit"), ("A", "a")]
        {
            assert_eq!(slug(name).expect("a slug"), expected);
        }
        assert!(slug("!?").is_err());
        let args = InitArgs {
            kind: InitKind::Action,
            name: "zz".into(),
            db: false,
            http: true,
            timer: false,
        };
        assert!(matches!(
            init(Show { json: true }, &args, Path::new("/nowhere")),
            Err(CliError::Usage { .. })
        ));
    }
}
