//! Documents of packages as a registry gives them, and the version that a range means.

use std::collections::BTreeMap;

use millrace_model::integrity::integrity_of;
use nodejs_semver::{Range, Version};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::lenient;
use crate::ranges::Alternatives;

/// Versions named in an error.
const KNOWN_MAX: usize = 5;

/// What the registry says of a package, in the short form that installers get.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Document {
    #[serde(rename = "dist-tags", default, deserialize_with = "lenient::map")]
    tags: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "lenient::map")]
    versions: BTreeMap<String, Release>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Release {
    dist: Dist,
    // Text or flag, map or (in old packages) list: only looked at, never trusted to be well formed.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    deprecated: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    engines: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    os: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    cpu: Value,
}

#[derive(Debug, Serialize, Deserialize)]
struct Dist {
    tarball: String,
    #[serde(default)]
    integrity: Option<String>,
    /// SHA-1 in hex; old packages have nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shasum: Option<String>,
}

impl Document {
    /// The checksum of a version's archive; empty where none is named.
    pub(crate) fn integrity(&self, version: &str) -> String {
        let dist = self.versions.get(version).map(|release| &release.dist);
        let named = dist.map(|dist| (dist.integrity.as_deref(), dist.shasum.as_deref()));
        named.map(|(integrity, shasum)| integrity_of(integrity, shasum)).unwrap_or_default()
    }

    /// The address of a version's archive.
    pub(crate) fn archive(&self, version: &str) -> Option<&str> {
        self.versions.get(version).map(|release| release.dist.tarball.as_str())
    }

    /// Whether a version is made for certain systems or CPUs.
    pub(crate) fn is_for_some_machines(&self, version: &str) -> bool {
        self.versions.get(version).is_some_and(|r| !r.os.is_null() || !r.cpu.is_null())
    }

    /// As npm picks: a tag, an exact version, `latest` where it fits, else the greatest that fits;
    /// one that wants another Node or is deprecated only where there is no better. A bare import
    /// means any release up to `latest`.
    pub(crate) fn pick(&self, range: &str, node: Option<&Version>) -> Option<String> {
        let range = range.trim();
        let latest = self.tags.get("latest");
        let is_bare = matches!(range, "" | "*" | "latest" | "x");
        if !is_bare {
            if let Some(tagged) = self.tags.get(range) {
                return Some(tagged.clone());
            }
            if self.versions.contains_key(range) {
                return Some(range.to_owned());
            }
        }
        let wanted = if is_bare { Alternatives::any() } else { Alternatives::parse(range) };
        let runs = |release: &Release| node.is_none_or(|node| release.runs_on(node));
        let is_kept = |release: &Release| !release.is_deprecated();
        if let Some(latest) = latest
            && (is_bare || wanted.take(latest))
            && self
                .versions
                .get(latest)
                .is_some_and(|release| runs(release) && (is_bare || is_kept(release)))
        {
            return Some(latest.clone());
        }
        let newest = latest.filter(|_| is_bare).and_then(|latest| Version::parse(latest).ok());
        let fitting = self.versions.iter().filter(|(text, _)| wanted.take(text));
        let best = fitting
            .filter_map(|(text, release)| {
                Version::parse(text).ok().map(|version| (release, version, text))
            })
            .max_by_key(|(release, version, _)| {
                (
                    runs(release),
                    newest.as_ref().is_none_or(|newest| version <= newest),
                    is_kept(release),
                    version.clone(),
                )
            });
        // Where nothing runs, the error is about the release that was meant.
        match best {
            Some((release, _, text)) if runs(release) || !is_bare => Some(text.clone()),
            best => latest.filter(|_| is_bare).or(best.map(|(_, _, text)| text)).cloned(),
        }
    }

    /// Some versions in words, the newest first.
    pub(crate) fn known(&self) -> String {
        let mut versions: Vec<Version> =
            self.versions.keys().filter_map(|text| Version::parse(text).ok()).collect();
        versions.sort_unstable_by(|a, b| b.cmp(a));
        let more = if versions.len() > KNOWN_MAX { ", …" } else { "" };
        let named: Vec<String> =
            versions.iter().take(KNOWN_MAX).map(|v| format!("`{v}`")).collect();
        if named.is_empty() { "none".into() } else { format!("{}{more}", named.join(", ")) }
    }
}

impl Release {
    /// As JavaScript takes the value for true or false: some registries write an empty text.
    fn is_deprecated(&self) -> bool {
        match &self.deprecated {
            Value::Null => false,
            Value::Bool(flag) => *flag,
            Value::String(text) => !text.is_empty(),
            Value::Number(number) => number.as_f64() != Some(0.0),
            Value::Array(_) | Value::Object(_) => true,
        }
    }

    fn runs_on(&self, node: &Version) -> bool {
        runs_on(&self.engines, node)
    }
}

/// Whether `engines` of a manifest include a Node. A range that cannot be read includes all.
fn runs_on(engines: &Value, node: &Version) -> bool {
    wanted_node(engines).is_none_or(|(range, _)| node.satisfies(&range))
}

/// The Node range of a manifest's `engines`, where the Node in use is older than the newest that it
/// names. A package that only names old ones is not stopped by it: npm warns, and it mostly runs.
pub(crate) fn wants_newer(engines: &Value, node: &Version) -> Option<String> {
    let (range, text) = wanted_node(engines)?;
    let newer = Range::parse(format!(">{node}")).ok()?;
    (!node.satisfies(&range) && range.allows_any(&newer)).then_some(text)
}

fn wanted_node(engines: &Value) -> Option<(Range, String)> {
    let text = engines.get("node").and_then(Value::as_str)?;
    Some((Range::parse(text).ok()?, text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_picked_as_npm_picks_them() {
        let document: Document = serde_json::from_value(serde_json::json!({
            "dist-tags": { "latest": "2.1.0", "next": "3.0.0-rc.1" },
            "versions": {
                "1.0.0": { "dist": { "tarball": "" } },
                "1.1.0": { "dist": { "tarball": "" }, "engines": { "node": ">= 6" } },
                "1.2.0": { "dist": { "tarball": "" }, "engines": { "node": ">= 99" } },
                "1.3.0": { "dist": { "tarball": "" }, "deprecated": "broken" },
                "1.0.9": { "dist": { "tarball": "" }, "deprecated": "" },
                "2.1.0": { "dist": { "tarball": "" }, "engines": ["node"] },
                "2.2.0": { "dist": { "tarball": "" } },
                "3.0.0-rc.1": { "dist": { "tarball": "" } },
            },
        }))
        .expect("a document");
        let node = Version::parse("20.20.2").expect("a version");
        for (range, expected) in [
            ("", Some("2.1.0")),
            ("latest", Some("2.1.0")),
            ("^2", Some("2.1.0")),
            ("^1", Some("1.1.0")),
            ("~1.2", Some("1.2.0")),
            ("1.3.0", Some("1.3.0")),
            ("next", Some("3.0.0-rc.1")),
            ("~1.0", Some("1.0.9")),
            ("^1 || ^3", Some("1.1.0")),
            ("^3", None),
            ("nonsense", None),
            ("^1 ^2", None),
            ("^1 ^2 || ^3", None),
            ("^1 ^2 || ~2.1", Some("2.1.0")),
            (">=1 <2", Some("1.1.0")),
            (">= 1 < 2", Some("1.1.0")),
            (">1.0.0 <=1.1.0", Some("1.1.0")),
            ("1.0.0 - 1.1.0", Some("1.1.0")),
            ("^1 || nonsense", Some("1.1.0")),
            (">=3.0.0-rc.0 <4", Some("3.0.0-rc.1")),
            ("~1.1 ^1", Some("1.1.0")),
        ] {
            assert_eq!(document.pick(range, Some(&node)).as_deref(), expected, "{range}");
        }
        assert_eq!(document.known(), "`3.0.0-rc.1`, `2.2.0`, `2.1.0`, `1.3.0`, `1.2.0`, …");
    }

    #[test]
    fn an_odd_entry_of_a_document_is_unusable_and_the_others_are_not() {
        let good = serde_json::json!({ "dist": { "tarball": "http://x" } });
        for odd in [
            serde_json::json!(null),
            serde_json::json!([]),
            serde_json::json!("1.1.0"),
            serde_json::json!({}),
            serde_json::json!({ "dist": null }),
            serde_json::json!({ "dist": {} }),
            serde_json::json!({ "dist": { "tarball": null } }),
        ] {
            let document: Document = serde_json::from_value(serde_json::json!({
                "dist-tags": { "latest": "1.1.0", "old": null, "new": "1.0.0", "bad": {} },
                "versions": { "1.0.0": good, "1.1.0": odd },
            }))
            .expect("a document");
            for (range, expected) in
                [("^1", Some("1.0.0")), ("new", Some("1.0.0")), ("old", None), ("1.1.0", None)]
            {
                assert_eq!(document.pick(range, None).as_deref(), expected, "{range} {odd}");
            }
        }
        for tags in [serde_json::json!(null), serde_json::json!([null]), serde_json::json!("x")] {
            let document: Document = serde_json::from_value(
                serde_json::json!({ "dist-tags": tags, "versions": { "1.0.0": good } }),
            )
            .expect("a document");
            assert_eq!(document.pick("", None).as_deref(), Some("1.0.0"), "{tags}");
        }
        let nothing = serde_json::json!({ "dist-tags": {}, "versions": null });
        let document: Document = serde_json::from_value(nothing).expect("a document");
        assert_eq!(document.pick("", None), None);
    }

    #[test]
    fn bare_imports_take_the_newest_release_that_runs_on_the_node_in_use() {
        let release = |engines: serde_json::Value| serde_json::json!({ "dist": { "tarball": "" }, "engines": engines });
        let document: Document = serde_json::from_value(serde_json::json!({
            "dist-tags": { "latest": "10.2.1", "next": "11.0.0" },
            "versions": {
                "8.0.1": release(serde_json::json!({ "node": ">=16.17" })),
                "9.5.3": release(serde_json::json!({ "node": "^18.19.0 || >=20.5.0" })),
                "9.6.0-rc.1": release(serde_json::json!({ "node": "^18.19.0 || >=20.5.0" })),
                "10.2.1": release(serde_json::json!({ "node": ">=22" })),
                "11.0.0": release(serde_json::json!({ "node": ">=18" })),
            },
        }))
        .expect("a document");
        for (node, range, expected) in [
            ("20.20.2", "", "9.5.3"),
            ("20.20.2", "*", "9.5.3"),
            ("20.20.2", "latest", "9.5.3"),
            ("20.20.2", ">=8 <11", "9.5.3"),
            ("18.0.0", "", "8.0.1"),
            ("22.1.0", "", "10.2.1"),
            ("22.1.0", ">=8", "10.2.1"),
            ("20.20.2", ">=9", "11.0.0"),
            ("20.20.2", "^10", "10.2.1"),
            ("20.20.2", "10.2.1", "10.2.1"),
            ("12.0.0", "", "10.2.1"),
        ] {
            let node = Version::parse(node).expect("a version");
            assert_eq!(
                document.pick(range, Some(&node)).as_deref(),
                Some(expected),
                "{range} on {node}"
            );
        }
    }

    #[test]
    fn only_a_node_older_than_wanted_is_told() {
        let node = Version::parse("20.20.2").expect("a version");
        let wants = |range: &str| wants_newer(&serde_json::json!({ "node": range }), &node);
        assert_eq!(wants(">=22").as_deref(), Some(">=22"));
        assert_eq!(wants("^22.12 || >=24").as_deref(), Some("^22.12 || >=24"));
        for runs in [">=18", "*", "^0.8.0", "0.10 || 0.12", "no range"] {
            assert_eq!(wants(runs), None, "{runs}");
        }
    }
}
