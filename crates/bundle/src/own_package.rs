//! Names by which files of an author import their own package: `#x` of `imports` of its
//! `package.json`, and its name where it has `exports`. Found as Node finds them.

use serde_json::Value;

use crate::specifier::Bare;

/// The target of a specifier that names something of the author's own package, relative to the
/// manifest, or of a package that `imports` stands for. None: it is another package's name. Some of
/// None: the manifest has no such name.
pub(crate) fn target(
    manifest: Option<&Value>,
    specifier: &str,
    is_require: bool,
) -> Option<Option<String>> {
    let kind = if is_require { "require" } else { "import" };
    if specifier.starts_with('#') {
        let imports = manifest.and_then(|manifest| manifest.get("imports"));
        return Some(imports.and_then(|imports| mapped(imports, specifier, kind)));
    }
    let manifest = manifest?;
    let exports = manifest.get("exports").filter(|exports| !exports.is_null())?;
    let bare = Bare::parse(specifier).filter(|bare| bare.range.is_none())?;
    if manifest.get("name").and_then(Value::as_str) != Some(&bare.name) {
        return None;
    }
    let key = format!(".{}", bare.subpath);
    let is_map = exports.as_object().is_some_and(|map| map.keys().any(|key| key.starts_with('.')));
    Some(match is_map {
        true => mapped(exports, &key, kind),
        false if key == "." => chosen(exports, kind, ""),
        false => None,
    })
}

/// What a map of names says of one: the entry of that very name, else of the pattern with the
/// longest beginning.
fn mapped(map: &Value, name: &str, kind: &str) -> Option<String> {
    let map = map.as_object()?;
    if let Some(target) = map.get(name).filter(|_| !name.contains('*')) {
        return chosen(target, kind, "");
    }
    let patterns = map.iter().filter_map(|(pattern, target)| {
        let (begin, end) = pattern.split_once('*')?;
        let middle = name.strip_prefix(begin)?.strip_suffix(end)?;
        (!middle.is_empty()).then_some((begin.len(), target, middle))
    });
    let (_, target, middle) = patterns.max_by_key(|(length, _, _)| *length)?;
    chosen(target, kind, middle)
}

/// The target under the conditions that hold.
fn chosen(target: &Value, kind: &str, middle: &str) -> Option<String> {
    match target {
        Value::String(text) => Some(text.replace('*', middle)),
        Value::Array(list) => list.iter().find_map(|target| chosen(target, kind, middle)),
        Value::Object(map) => map
            .iter()
            .filter(|(condition, _)| {
                matches!(condition.as_str(), "node" | "default") || *condition == kind
            })
            .find_map(|(_, target)| chosen(target, kind, middle)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::target;

    #[test]
    fn names_of_the_own_package_are_found_as_node_finds_them() {
        let manifest = json!({
            "name": "@me/x",
            "imports": {
                "#cfg": "./cfg.mjs", "#l": "lodash", "#u/*": "./u/*.mjs", "#u/deep/*": "./deep/*.mjs",
                "#by": { "browser": "./b.mjs", "require": "./r.cjs", "default": "./d.mjs" },
                "#gone": null,
            },
            "exports": { ".": { "import": "./main.mjs" }, "./y": "./lib/y.mjs" },
        });
        let found = |specifier: &str| target(Some(&manifest), specifier, false);
        for (specifier, expected) in [
            ("#cfg", Some("./cfg.mjs")),
            ("#l", Some("lodash")),
            ("#u/a", Some("./u/a.mjs")),
            ("#u/deep/a", Some("./deep/a.mjs")),
            ("#by", Some("./d.mjs")),
            ("#gone", None),
            ("#other", None),
            ("@me/x", Some("./main.mjs")),
            ("@me/x/y", Some("./lib/y.mjs")),
            ("@me/x/z", None),
        ] {
            assert_eq!(found(specifier), Some(expected.map(str::to_owned)), "{specifier}");
        }
        assert_eq!(target(Some(&manifest), "#by", true), Some(Some("./r.cjs".into())));
        for other in ["@me/x2", "@me/x@1.0.0", "lodash"] {
            assert_eq!(found(other), None, "{other}");
        }
        assert_eq!(target(None, "#cfg", false), Some(None));
        let sugar = json!({ "name": "me", "exports": "./main.mjs" });
        assert_eq!(target(Some(&sugar), "me", false), Some(Some("./main.mjs".into())));
        assert_eq!(target(Some(&sugar), "me/x", false), Some(None));
        // Without `exports`, Node looks for an installed package of that name.
        assert_eq!(target(Some(&json!({ "name": "me" })), "me", false), None);
    }
}
