//! `tsconfig.json` as it is uploaded: the options that a server reads, with those of the files that
//! it extends, so that none of these need be sent.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use millrace_model::tsconfig::Tsconfig;
use serde_json::{Map, Value};

use super::manifests::MANIFEST_BYTES_MAX;
use super::root::Root;

/// Options that are uploaded, or decide one that is.
const OPTIONS: [&str; 3] = ["experimentalDecorators", "useDefineForClassFields", "target"];

/// The options of the file at `path`. What is read for it is added to `paths`.
pub(super) fn read(
    path: &Path,
    text: &str,
    root: &Root,
    paths: &mut BTreeSet<PathBuf>,
) -> Tsconfig {
    Tsconfig::read(&path.to_string_lossy(), text, &mut |extended| {
        let (path, text) = extended_text(Path::new(extended))?;
        // A link leads to where a package manager put a package.
        if !root.holds_folder(path.parent()?) {
            return None;
        }
        paths.insert(path);
        Some(text)
    })
}

/// The text of a file that is extended, by its path without links.
fn extended_text(path: &Path) -> Option<(PathBuf, String)> {
    let path = path.canonicalize().ok()?;
    let is_json = path.extension().is_some_and(|ending| ending == "json");
    let metadata = path.metadata().ok().filter(|_| is_json)?;
    if !metadata.is_file() || metadata.len() > MANIFEST_BYTES_MAX {
        return None;
    }
    let text = std::fs::read_to_string(&path).ok()?;
    Some((path, text))
}

/// What a pull writes over the file that is there: other options stay. None where those that are
/// uploaded are the same.
pub(super) fn pulled(path: &Path, there: &str, text: &str) -> Option<String> {
    let own = Tsconfig::read(&path.to_string_lossy(), there, &mut |extended| {
        extended_text(Path::new(extended)).map(|(_, text)| text)
    });
    if own.text() == text {
        return None;
    }
    let object = |text: &str| millrace_model::json::from_str::<Map<String, Value>>(text).ok();
    let (Some(mut merged), Some(pulled)) = (object(there), object(text)) else {
        return Some(text.to_owned());
    };
    for (field, value) in pulled {
        match (merged.get_mut(&field), value) {
            (Some(Value::Object(own)), Value::Object(options)) => {
                own.retain(|option, _| !OPTIONS.contains(&option.as_str()));
                own.extend(options);
            }
            (_, value) => {
                merged.insert(field, value);
            }
        }
    }
    Some(format!("{:#}\n", Value::Object(merged)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::files::folder_with;
    use crate::files::manifests::tests::read;

    fn json_of(text: &str) -> Value {
        millrace_model::json::from_str(text).expect("JSON")
    }

    #[test]
    fn options_of_the_compiler_go_with_typescript() {
        let config =
            "{ // of the compiler\n \"compilerOptions\": { \"experimentalDecorators\": true, } }";
        let off = "{\"compilerOptions\": { // \"experimentalDecorators\": true\n } }";
        let decorators = json!({ "compilerOptions": { "experimentalDecorators": true } });
        for (entry, config, expected) in [
            ("a.ts", config, Some(decorators)),
            ("a.mjs", config, None),
            ("a.ts", "{}", None),
            ("a.ts", off, None),
        ] {
            let (_, files) = read(&[("tsconfig.json", config), (entry, "")], entry);
            let sent = files.get("tsconfig.json").map(|text| json_of(text));
            assert_eq!(sent, expected, "{entry} {config}");
        }
    }

    #[test]
    fn options_are_those_of_the_nearest_file_and_of_what_it_extends() {
        let older = r#"{"compilerOptions":{"experimentalDecorators":true,"target":"es2020"}}"#;
        let (_, files) = read(
            &[
                ("millrace.yaml", ""),
                ("base.json", older),
                ("node_modules/@x/y/tsconfig.json", r#"{"compilerOptions":{"target":"es2022"}}"#),
                ("tsconfig.json", r#"{"extends":["./base.json","@x/y/tsconfig.json","@x/gone"]}"#),
                ("lib/tsconfig.json", "{}"),
                ("lib/b.ts", ""),
                ("a.ts", "import './lib/b'"),
            ],
            "a.ts",
        );
        let of = |path: &str| json_of(&files[path]);
        let options = json!({ "experimentalDecorators": true });
        assert_eq!(
            of("tsconfig.json"),
            json!({ "extends": ["@x/gone"], "compilerOptions": options })
        );
        assert_eq!(of("lib/tsconfig.json"), json!({ "compilerOptions": {} }));
        let outside = r#"{"extends":"../../base.json"}"#;
        let (_, files) = read(
            &[
                ("base.json", older),
                ("p/millrace.yaml", ""),
                ("p/c/tsconfig.json", outside),
                ("p/c/a.ts", ""),
            ],
            "p/c/a.ts",
        );
        let sent = json!({ "extends": ["../../base.json"], "compilerOptions": {} });
        assert_eq!(json_of(&files["tsconfig.json"]), sent);
    }

    #[test]
    fn a_pull_keeps_a_file_that_says_the_same_and_other_options_of_one_that_does_not() {
        let folder =
            folder_with(&[("base.json", r#"{"compilerOptions":{"experimentalDecorators":true}}"#)]);
        let path = folder.path().join("tsconfig.json");
        let there = r#"{"extends":"./base.json","compilerOptions":{"strict":true}}"#;
        let served = Tsconfig { experimental_decorators: true, ..Tsconfig::default() };
        assert_eq!(pulled(&path, there, &served.text()), None);
        let served = Tsconfig { assigns_fields: true, ..served };
        let written = pulled(&path, there, &served.text()).expect("differs");
        assert_eq!(
            json_of(&written),
            json!({ "extends": "./base.json", "compilerOptions": {
                "strict": true, "experimentalDecorators": true, "useDefineForClassFields": false } })
        );
    }
}
