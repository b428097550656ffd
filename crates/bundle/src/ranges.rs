//! Ranges of versions as npm reads them.

use nodejs_semver::{Range, Version};

/// Operators of comparators, the longer ones first.
const OPERATORS: [&str; 8] = [">=", "<=", "~>", ">", "<", "=", "~", "^"];

/// A range as npm reads it: alternatives between `||`, of each of which all comparators must hold.
/// The parser alone takes one of the comparators where they exclude each other (`^6 ^7`).
pub(crate) struct Alternatives {
    ranges: Vec<Range>,
    /// Whether an alternative has comparators that exclude each other.
    excluding: bool,
}

impl Alternatives {
    pub(crate) fn any() -> Self {
        Self { ranges: vec![Range::any()], excluding: false }
    }

    pub(crate) fn parse(text: &str) -> Self {
        let (mut ranges, mut excluding) = (Vec::new(), false);
        for alternative in text.split("||") {
            let comparators = comparators_of(alternative);
            if comparators.is_empty() {
                ranges.extend(Range::parse(alternative).ok());
                continue;
            }
            // npm passes over what is no comparator, such as one with a comma behind it.
            let read = |text: String| Range::parse(&text).ok().map(|range| (text, range));
            let (texts, parts): (Vec<_>, Vec<_>) = comparators.into_iter().filter_map(read).unzip();
            let mut parts = parts.into_iter();
            let Some(first) = parts.next() else { continue };
            match parts.try_fold(first, |held, part| held.intersect(&part)) {
                // An intersection alone knows no more which prereleases were named.
                Some(held) => ranges.push(Range::parse(texts.join(" ")).unwrap_or(held)),
                None => excluding = true,
            }
        }
        Self { ranges, excluding }
    }

    pub(crate) fn take(&self, version: &str) -> bool {
        Version::parse(version)
            .is_ok_and(|version| self.ranges.iter().any(|range| version.satisfies(range)))
    }

    /// What a refusal adds about the range itself.
    pub(crate) const fn hint(&self) -> &'static str {
        if self.excluding {
            " (what stands side by side in a range must all hold; `||` stands between alternatives)"
        } else {
            ""
        }
    }
}

/// The comparators of an alternative, operators with what follows them; one where it is a range
/// with a hyphen.
fn comparators_of(alternative: &str) -> Vec<String> {
    if alternative.contains(" - ") {
        return vec![alternative.to_owned()];
    }
    let mut comparators: Vec<String> = Vec::new();
    for word in alternative.split_whitespace() {
        match comparators.last_mut().filter(|last| last.ends_with(['<', '>', '=', '~', '^'])) {
            Some(last) => last.push_str(word),
            None => comparators.push(word.to_owned()),
        }
    }
    comparators.iter().map(|comparator| plain(comparator)).collect()
}

/// A comparator without what npm passes over before a version: `==1.2.3`, `>=v1`.
fn plain(comparator: &str) -> String {
    let operator = OPERATORS.iter().find(|operator| comparator.starts_with(**operator));
    let operator = operator.copied().unwrap_or_default();
    let version = comparator[operator.len()..].trim_start_matches(['v', '=']);
    format!("{operator}{version}")
}

/// Whether a version chosen for somebody else serves this range as well.
pub(crate) fn serves(version: &str, range: &str) -> bool {
    Alternatives::parse(range).take(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `semver.satisfies(version, range, { loose: true })` of npm says.
    #[test]
    fn ranges_take_what_npm_lets_them_take() {
        let versions = ["1.0.0", "1.1.0", "1.2.3", "2.0.0"];
        for (range, taken) in [
            (">=1.0.0, <1.2.0", &["1.0.0", "1.1.0"][..]),
            (">=1.0.0 , <1.2.0", &["1.0.0", "1.1.0"]),
            ("==1.2.3", &["1.2.3"]),
            ("= =1.2.3", &["1.2.3"]),
            (">==1.2.3", &["1.2.3", "2.0.0"]),
            (">=v1.2", &["1.2.3", "2.0.0"]),
            ("^v1.1", &["1.1.0", "1.2.3"]),
            ("~>1.2", &["1.2.3"]),
            ("~> 1.2", &["1.2.3"]),
            ("v1.1.0", &["1.1.0"]),
            ("^1.1 nonsense", &["1.1.0", "1.2.3"]),
            ("nonsense || 2", &["2.0.0"]),
            ("||", &["1.0.0", "1.1.0", "1.2.3", "2.0.0"]),
            (">=1.0.0,<1.2.0", &[]),
            ("!=1.0.0", &[]),
            ("^1 ^2", &[]),
        ] {
            let read = Alternatives::parse(range);
            let found: Vec<_> = versions.into_iter().filter(|v| read.take(v)).collect();
            assert_eq!(found, taken, "{range}");
        }
    }
}
