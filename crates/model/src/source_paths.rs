//! Paths of source files: what an import may mean beside the file that it names, and where a
//! relative path leads.

/// What an import without an ending may mean.
pub const ENDINGS: &[&str] = &[
    "",
    ".mjs",
    ".js",
    ".ts",
    ".cjs",
    ".json",
    ".mts",
    ".tsx",
    ".jsx",
    ".cts",
    "/index.mjs",
    "/index.js",
    "/index.ts",
    "/index.mts",
    "/index.cts",
    "/index.tsx",
];
/// Endings that TypeScript names for what its files will be once they are compiled, and those that
/// they have before.
pub const SWAPPED: &[(&str, &str)] =
    &[(".js", ".ts"), (".js", ".tsx"), (".mjs", ".mts"), (".cjs", ".cts"), (".jsx", ".tsx")];

/// A path from a folder; None: it leads out of all.
#[must_use]
pub fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> =
        if folder.is_empty() { Vec::new() } else { folder.split('/').collect() };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
