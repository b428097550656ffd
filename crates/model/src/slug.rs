//! Names to slugs (spec 2.6): unique within an organization, a number appended where taken.

/// Lower case letters and digits, runs of anything else become one dash. Empty names give
/// `component`.
pub fn slugify(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 80 {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "component".into() } else { slug.into() }
}

/// `base`, or `base-1`, `base-2`, … : the first that `taken` does not hold (reference 3).
pub fn unique_slug(base: &str, taken: impl Fn(&str) -> bool) -> String {
    if !taken(base) {
        return base.to_owned();
    }
    let mut n = 1u64;
    loop {
        let candidate = format!("{base}-{n}");
        if !taken(&candidate) {
            return candidate;
        }
        n += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_plain_and_unique() {
        assert_eq!(slugify("New Item in Feed!"), "new-item-in-feed");
        assert_eq!(slugify("  ü__X "), "ü-x");
        assert_eq!(slugify("!!!"), "component");
        let taken = ["a", "a-1"];
        assert_eq!(unique_slug("a", |s| taken.contains(&s)), "a-2");
        assert_eq!(unique_slug("b", |s| taken.contains(&s)), "b");
    }
}
