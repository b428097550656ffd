//! Versions that an author's `package.json` prescribes for packages which others import:
//! `overrides` of npm, `resolutions` of yarn, `pnpm.overrides`.

use std::collections::BTreeMap;

use nodejs_semver::Range;
use serde_json::{Map, Value};

use crate::specifier::Bare;

/// Prescribed ranges.
#[derive(Debug, Default)]
pub(crate) struct Overrides {
    rules: Vec<Rule>,
    /// What the author depends on: `$name` means the same range.
    dependencies: BTreeMap<String, String>,
}

/// The range of a package, for all who import it or for one of them.
#[derive(Debug)]
struct Rule {
    package: String,
    /// Only where this was asked for, too.
    asked: Option<Range>,
    importer: Option<String>,
    range: String,
}

impl Overrides {
    /// The fields of a manifest that hold some.
    pub(crate) const FIELDS: [&str; 3] = ["overrides", "resolutions", "pnpm"];

    /// Reads a manifest.
    pub(crate) fn of(manifest: &Value) -> Self {
        let mut overrides = Self::default();
        for kind in ["devDependencies", "optionalDependencies", "dependencies"] {
            let named = manifest.get(kind).and_then(Value::as_object).into_iter().flatten();
            overrides.dependencies.extend(
                named.filter_map(|(name, range)| Some((name.clone(), range.as_str()?.to_owned()))),
            );
        }
        let map =
            |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
        overrides.nested(&map(manifest.get("overrides")), None);
        overrides.flat(&map(manifest.get("resolutions")), '/');
        overrides.flat(&map(manifest.get("pnpm").and_then(|pnpm| pnpm.get("overrides"))), '>');
        overrides
    }

    /// The range that counts where `importer` asks for `range` of a package; None: that one. A rule
    /// for the importer counts before one for all.
    pub(crate) fn range(&self, package: &str, range: &str, importer: &str) -> Option<String> {
        let asked = Range::parse(range).ok();
        let importer = Bare::parse(importer).map(|bare| bare.name);
        let is_met = |rule: &&Rule| match (&rule.asked, &asked) {
            (Some(wanted), Some(asked)) => wanted.allows_any(asked),
            (wanted, _) => wanted.is_none(),
        };
        let fit = self
            .rules
            .iter()
            .filter(|rule| {
                rule.package == package && (rule.importer.is_none() || rule.importer == importer)
            })
            .filter(is_met);
        let rule = fit.max_by_key(|rule| (rule.importer.is_some(), rule.asked.is_some()))?;
        match rule.range.strip_prefix('$') {
            Some(named) => self.dependencies.get(named).cloned(),
            None => Some(rule.range.clone()),
        }
    }

    /// npm's: the value is a range, or an object with the ranges of what the package imports, and
    /// its own as `.`.
    fn nested(&mut self, given: &Map<String, Value>, importer: Option<&str>) {
        for (key, value) in given {
            let Some(bare) = Bare::parse(key) else { continue };
            match value {
                Value::String(range) => self.add(&bare, importer, range),
                Value::Object(below) => {
                    if let Some(Value::String(range)) = below.get(".") {
                        self.add(&bare, importer, range);
                    }
                    self.nested(below, Some(&bare.name));
                }
                _ => {}
            }
        }
    }

    /// yarn's and pnpm's: the key is a path of packages.
    fn flat(&mut self, given: &Map<String, Value>, separator: char) {
        for (key, value) in given {
            let Some(range) = value.as_str() else { continue };
            let mut path: Vec<String> = Vec::new();
            for part in key
                .split(separator)
                .map(str::trim)
                .filter(|part| !part.is_empty() && !part.contains('*'))
            {
                // A scope is separated from its name by `/`, too.
                match path.last_mut().filter(|last| last.starts_with('@') && !last.contains('/')) {
                    Some(scope) => *scope = format!("{scope}/{part}"),
                    None => path.push(part.to_owned()),
                }
            }
            let Some(bare) = path.pop().as_deref().and_then(Bare::parse) else { continue };
            let importer = path.pop().as_deref().and_then(Bare::parse).map(|bare| bare.name);
            self.add(&bare, importer.as_deref(), range);
        }
    }

    fn add(&mut self, bare: &Bare, importer: Option<&str>, range: &str) {
        let asked = bare.range.as_deref().and_then(|range| Range::parse(range).ok());
        self.rules.push(Rule {
            package: bare.name.clone(),
            asked,
            importer: importer.map(str::to_owned),
            range: range.trim().to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Overrides;

    #[test]
    fn a_range_is_that_of_the_rule_for_who_asks() {
        let overrides = Overrides::of(&json!({
            "dependencies": { "c": "^7" },
            "overrides": { "a": "1.0.0", "b": { ".": "2.0.0", "a": "3.0.0" }, "c": "$c", "d@^1": "1.5.0", "@x/y": "npm:z@1", "e": 5, "f": { "g": { "a": "4.0.0" } } },
            "resolutions": { "r": "1.1.1", "**/s": "2.2.2", "b/t": "3.3.3", "@x/p/@x/q": "4.4.4" },
            "pnpm": { "overrides": { "b@2>u": "5.5.5" } },
        }));
        for (package, range, importer, expected) in [
            ("a", "^2", "x@1.0.0", Some("1.0.0")),
            ("a", "^2", "b@2.0.0", Some("3.0.0")),
            ("a", "^2", "g@1.0.0", Some("4.0.0")),
            ("b", "*", "x@1.0.0", Some("2.0.0")),
            ("c", "^1", "x@1.0.0", Some("^7")),
            ("d", "^1.2", "x@1.0.0", Some("1.5.0")),
            ("d", "^2", "x@1.0.0", None),
            ("@x/y", "^2", "x@1.0.0", Some("npm:z@1")),
            ("e", "^2", "x@1.0.0", None),
            ("r", "^2", "x@1.0.0", Some("1.1.1")),
            ("s", "^2", "x@1.0.0", Some("2.2.2")),
            ("t", "^2", "b@2.0.0", Some("3.3.3")),
            ("t", "^2", "x@1.0.0", None),
            ("@x/q", "^2", "@x/p@1.0.0", Some("4.4.4")),
            ("u", "^2", "b@2.0.0", Some("5.5.5")),
        ] {
            assert_eq!(
                overrides.range(package, range, importer).as_deref(),
                expected,
                "{package} of {importer}"
            );
        }
        for manifest in
            [json!(null), json!([]), json!({ "overrides": 5, "resolutions": "x", "pnpm": [] })]
        {
            assert_eq!(Overrides::of(&manifest).range("a", "^2", "b@1.0.0"), None);
        }
    }
}
