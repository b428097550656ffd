//! Files of an author that are not code: those that are uploaded along with code that reads them,
//! and their bytes as text.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Bound;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What stands before the bytes of a file that is not text, in base64.
const BYTES: &str = "data:application/octet-stream;base64,";
/// The longest part of a path, bytes: no usual file system has longer ones.
const PART_BYTES_MAX: usize = 255;

/// A larger file of data is left out of a registry.
pub const DATA_FILE_BYTES_MAX: u64 = 4 << 20;

/// Endings of files of data that are taken along with code. An ending does not say that no tool
/// runs a file (`lefthook.yml`): where a workflow is pulled, the command line refuses such names.
const DATA_ENDINGS: &[&str] = &[
    "afm",
    "avsc",
    "bin",
    "br",
    "bmp",
    "crt",
    "css",
    "csv",
    "dat",
    "data",
    "db",
    "docx",
    "ejs",
    "eml",
    "eot",
    "gif",
    "gql",
    "graphql",
    "graphqls",
    "gz",
    "handlebars",
    "hbs",
    "htm",
    "html",
    "icc",
    "ico",
    "ics",
    "j2",
    "jinja",
    "jpeg",
    "jpg",
    "json5",
    "jsonc",
    "jsonl",
    "liquid",
    "md",
    "mjml",
    "mmdb",
    "mo",
    "mp3",
    "mp4",
    "mustache",
    "ndjson",
    "njk",
    "odt",
    "onnx",
    "otf",
    "parquet",
    "pdf",
    "pem",
    "peggy",
    "png",
    "po",
    "pptx",
    "proto",
    "pub",
    "pug",
    "sql",
    "sqlite",
    "sqlite3",
    "svg",
    "tif",
    "tiff",
    "tmpl",
    "tpl",
    "tsv",
    "ttf",
    "txt",
    "vcf",
    "wasm",
    "wav",
    "webp",
    "woff",
    "woff2",
    "xlsx",
    "xml",
    "xsd",
    "xsl",
    "xslt",
    "yaml",
    "yml",
    "zip",
    "zst",
];
/// Texts without one of which no code depends on where its file lies.
const TOKENS: &[&str] =
    &["__dirname", "__filename", "import.meta", "createRequire", "require(", "import("];

/// A file's bytes as a text: as they are where they are text, else in base64.
#[must_use]
pub fn text_of(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        // A database may take no NUL in a text, and what looks like base64 of ours must stay what
        // it is.
        Ok(text) if !text.contains('\0') && !text.starts_with(BYTES) => text,
        Ok(text) => format!("{BYTES}{}", STANDARD.encode(text)),
        Err(error) => format!("{BYTES}{}", STANDARD.encode(error.as_bytes())),
    }
}

/// The bytes of a file that [`text_of`] gave as a text.
#[must_use]
pub fn bytes_of(text: &str) -> Cow<'_, [u8]> {
    match text.strip_prefix(BYTES).and_then(|encoded| STANDARD.decode(encoded).ok()) {
        Some(bytes) => Cow::Owned(bytes),
        None => Cow::Borrowed(text.as_bytes()),
    }
}

/// Whether a path's ending is one of data that is taken along.
#[must_use]
pub fn is_data(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .is_some_and(|(_, ending)| DATA_ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

/// Whether code may read files beside its own, or load them by a name that it makes.
#[must_use]
pub fn may_read_beside(code: &str) -> bool {
    TOKENS.iter().any(|token| code.contains(token))
}

/// Whether code asks where its file lies: then files of data of its app go into a registry with it.
#[must_use]
pub fn asks_where_it_lies(code: &str) -> bool {
    ["__dirname", "__filename", "import.meta", "createRequire"]
        .iter()
        .any(|token| code.contains(token))
}

/// The folder of the app that a file of a tree belongs to, whatever stands before it: what is
/// before `sources`, `actions`, `common` or `app`, else the file's own. Empty, or with a slash at
/// its end.
#[must_use]
pub fn app_folder(path: &str) -> &str {
    let marks = ["sources/", "actions/", "common/", "app/"];
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
    let at = starts
        .into_iter()
        .find(|at| marks.iter().any(|mark| path[*at..].starts_with(mark)))
        .or_else(|| path.rfind('/').map(|at| at + 1));
    &path[..at.unwrap_or(0)]
}

/// Folders of apps, as [`app_folder`] gives them; those within others are left out, so that one
/// look tells whether a path is in any of them.
#[derive(Debug, Default)]
pub struct AppFolders(BTreeSet<String>);

impl FromIterator<String> for AppFolders {
    fn from_iter<T: IntoIterator<Item = String>>(folders: T) -> Self {
        let sorted: BTreeSet<String> = folders.into_iter().collect();
        let mut kept = Self::default();
        for folder in sorted {
            if !kept.hold(&folder) {
                kept.0.insert(folder);
            }
        }
        kept
    }
}

impl AppFolders {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a path is in one of them. As none is within another, it can only be the last that
    /// does not come after the path.
    fn hold(&self, path: &str) -> bool {
        let upto = (Bound::Unbounded, Bound::Included(path));
        self.0.range::<str, _>(upto).next_back().is_some_and(|folder| path.starts_with(folder))
    }
}

/// Whether a file of a tree is data that is taken: by its name, and for one of the apps whose
/// folders are given.
#[must_use]
pub fn is_data_of(path: &str, apps: &AppFolders) -> bool {
    is_data(path) && path.split('/').all(|part| problem_of_part(part).is_none()) && apps.hold(path)
}

/// Why a part of a path is not the name of an author's file or folder.
#[must_use]
pub fn problem_of_part(part: &str) -> Option<&'static str> {
    match part {
        "" => Some("a part of it is empty"),
        _ if part.starts_with('.') => Some("a part of it begins with a dot"),
        // Of a part in other letters, a file system may make the same.
        _ if part.to_uppercase() == "NODE_MODULES" => Some("Node loads what is in `node_modules`"),
        _ if part.contains(['\\', '/', '\0']) || part.chars().any(is_unseen) => {
            Some("it holds a character that no name has")
        }
        _ if part.len() > PART_BYTES_MAX => Some("a part of it has more than 255 bytes"),
        _ => None,
    }
}

/// Controls, and marks that a file system may leave out: what follows them may begin with a dot.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Texts in code that may name files, relative to it: what stands between quotes, also where
/// several follow each other as arguments of `path.join`, and pieces of template texts. Too many do
/// no harm: what counts is which files are there.
#[must_use]
pub fn named(code: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    // The end of the last text, the texts that it follows with nothing but a comma between, and
    // where these stand in what was found.
    let mut row: Option<(usize, String, Option<usize>)> = None;
    let mut at = 0;
    let bytes = code.as_bytes();
    while let Some(start) = code[at..].find(['"', '\'', '`']).map(|offset| at + offset) {
        let quote = bytes[start];
        let mut end = start + 1;
        while end < bytes.len() && bytes[end] != quote && (quote == b'`' || bytes[end] != b'\n') {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        if end >= bytes.len() || bytes[end] != quote {
            // An apostrophe of a comment, or the end of a text within a regular expression.
            at = start + 1;
            row = None;
            continue;
        }
        let text = &code[start + 1..end];
        if quote == b'`' {
            found.extend(
                text.split("${")
                    .filter_map(|piece| {
                        Some(piece.rsplit_once('}').map_or(piece, |(_, after)| after))
                            .filter(|piece| !piece.is_empty())
                    })
                    .map(str::to_owned),
            );
        } else if text.len() <= 1_000 {
            found.push(text.to_owned());
        }
        let (joined, place) = match row.take() {
            Some((before, joined, place)) if code[before..start].trim() == "," => {
                let joined = format!("{joined}/{text}");
                // A folder on the way to a file is not meant whole.
                let place = place.unwrap_or_else(|| {
                    found.push(String::new());
                    found.len() - 1
                });
                found[place].clone_from(&joined);
                (joined, Some(place))
            }
            _ => (text.to_owned(), None),
        };
        row = Some((end + 1, joined, place)).filter(|(_, joined, _)| joined.len() <= 1_000);
        at = end + 1;
    }
    found
}

/// Where a text that names a file leads from a folder, both with `/`; None where it leads out, or
/// nowhere else.
#[must_use]
pub fn lead(folder: &str, named: &str) -> Option<String> {
    let named = named.split(['?', '#']).next().unwrap_or(named);
    if named.len() > 1_000 || named.contains("://") || named.contains(['\\', '\0', '\n']) {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let before = parts.len();
    let mut leads = false;
    for part in named.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => {
                leads = true;
                parts.push(name);
            }
        }
    }
    (leads || parts.len() != before || named.starts_with("./")).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were() {
        for bytes in [
            &b"plain"[..],
            b"\xff\xd8\x00",
            b"a\0b",
            b"data:application/octet-stream;base64,AAAA",
            "ä\u{feff}".as_bytes(),
            b"",
        ] {
            assert_eq!(bytes_of(&text_of(bytes.to_vec())), bytes);
        }
        assert_eq!(text_of(b"plain".to_vec()), "plain");
    }

    #[test]
    fn names_of_files_are_found_in_code() {
        let code = r#"// it's a comment
          read(path.join(__dirname, "..", 'data', "x.json")); read(`${__dirname}/templates/${name}.hbs`); read(__dirname + "/y.csv");
          new URL("./z.wasm", import.meta.url)"#;
        let found = named(code);
        for name in ["../data/x.json", "/templates/", "/y.csv", "./z.wasm"] {
            assert!(found.iter().any(|text| text == name), "{name}: {found:?}");
        }
        assert!(!found.iter().any(|text| text == "../data"), "a folder on the way: {found:?}");
        assert_eq!(lead("a/b", "../data/x.json").as_deref(), Some("a/data/x.json"));
        assert_eq!(lead("a", "/y.csv").as_deref(), Some("a/y.csv"));
        assert_eq!(lead("", "../x"), None);
        assert_eq!(lead("a", "https://example.com/x"), None);
    }

    #[test]
    fn data_goes_with_the_app_whose_code_asks_for_it() {
        for (path, app) in [
            ("components/acme/sources/x/x.mjs", "components/acme/"),
            ("tree-main/components/acme/acme.app.mjs", "tree-main/components/acme/"),
            ("sources/x/x.mjs", ""),
            ("acme/common/deep/x.mjs", "acme/"),
        ] {
            assert_eq!(app_folder(path), app, "{path}");
        }
        let apps = AppFolders::from_iter(["components/acme/".to_owned()]);
        assert!(is_data_of("components/acme/data/x.csv", &apps));
        for path in [
            "components/other/x.csv",
            "components/acme/.x/y.csv",
            "components/acme/x.sh",
            "components/acme/node_modules/x.csv",
        ] {
            assert!(!is_data_of(path, &apps), "{path}");
        }
    }

    #[test]
    fn a_path_is_in_a_folder_of_many_wherever_these_lie() {
        let folders = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let apps: AppFolders = folders(&["a/", "a/b/", "a-b/", "a/b/c/", "c/d/", "c/d/e/", "b/"]);
        assert_eq!(apps.0.iter().collect::<Vec<_>>(), ["a-b/", "a/", "b/", "c/d/"]);
        for path in ["a/x", "a/b/x", "a/zz/x", "a-b/x", "b/x", "c/d/x", "c/d/e/x", "c/d/z"] {
            assert!(apps.hold(path), "{path}");
        }
        for path in ["", "a", "ab/x", "a-/x", "c/x", "c/e/x", "d/x", "c/d"] {
            assert!(!apps.hold(path), "{path}");
        }
        let all: AppFolders = folders(&["", "a/"]);
        assert!(all.hold("x") && all.hold("a/x") && all.0.len() == 1);
        assert!(AppFolders::default().is_empty() && !AppFolders::default().hold("x"));
    }

    #[test]
    fn data_is_told_by_its_ending() {
        assert!(
            is_data("a/b.CSV")
                && is_data("x.tar.gz")
                && !is_data("Makefile")
                && !is_data("a.sh")
                && !is_data("a/csv")
                && !is_data(".envrc")
        );
    }
}
