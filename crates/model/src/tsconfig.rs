//! `tsconfig.json`: those of the compiler's options that decide what TypeScript code does as it
//! runs, with what the files say that it extends.

use serde_json::{Map, Value};

use crate::source_paths::joined;

/// Files that one `tsconfig.json` may extend, directly or not.
const EXTENDED_MAX: usize = 32;
/// A `target` without a year means the newest, and one before this year makes fields by assignment.
const FIELDS_SINCE: u32 = 2022;

/// The options of a `tsconfig.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tsconfig {
    /// Whether decorators are TypeScript's older ones.
    pub experimental_decorators: bool,
    /// Whether fields of classes are made by assignment, and fields without a value not at all.
    pub assigns_fields: bool,
    /// Files that could not be read: extended ones by the names that they have there.
    pub not_read: Vec<String>,
}

/// What a file says, or one that it extends.
#[derive(Default)]
struct Options {
    experimental_decorators: Option<bool>,
    defines_fields: Option<bool>,
    target: Option<String>,
}

struct Reader<'a> {
    text_of: &'a mut dyn FnMut(&str) -> Option<String>,
    extended: usize,
    not_read: Vec<String>,
}

impl Tsconfig {
    /// Reads the text of the file at `path`, whose parts `/` divides. `text_of` gives the texts of
    /// the files that it may extend; None: there is none.
    pub fn read(path: &str, text: &str, text_of: &mut dyn FnMut(&str) -> Option<String>) -> Self {
        let mut reader = Reader { text_of, extended: 0, not_read: Vec::new() };
        let mut options = Options::default();
        if reader.add(path, text, &mut options).is_none() {
            let name = path.rsplit('/').next().unwrap_or(path);
            reader.not_read.push(name.to_owned());
        }
        let by_target = options.target.as_deref().is_none_or(|target| year(target) >= FIELDS_SINCE);
        Self {
            experimental_decorators: options.experimental_decorators.unwrap_or_default(),
            assigns_fields: !options.defines_fields.unwrap_or(by_target),
            not_read: reader.not_read,
        }
    }

    /// Whether it says nothing that changes how code is read.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// The text of a `tsconfig.json` that says the same and needs no other file.
    pub fn text(&self) -> String {
        let mut options = Map::new();
        if self.experimental_decorators {
            options.insert("experimentalDecorators".to_owned(), true.into());
        }
        if self.assigns_fields {
            options.insert("useDefineForClassFields".to_owned(), false.into());
        }
        let mut config = Map::new();
        if !self.not_read.is_empty() {
            config.insert("extends".to_owned(), self.not_read.clone().into());
        }
        config.insert("compilerOptions".to_owned(), options.into());
        format!("{:#}\n", Value::Object(config))
    }
}

impl Reader<'_> {
    /// Adds what a file says to what those before it said. None: it is no object of JSON.
    fn add(&mut self, path: &str, text: &str, options: &mut Options) -> Option<()> {
        let config = object(text)?;
        let extended = match config.get("extends") {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(name)) => vec![name.as_str()],
            _ => Vec::new(),
        };
        for name in extended {
            self.extended += 1;
            let read = self.extended <= EXTENDED_MAX && self.extend(path, name, options).is_some();
            if !read && !self.not_read.iter().any(|known| known == name) {
                self.not_read.push(name.to_owned());
            }
        }
        let own = config.get("compilerOptions");
        let flag = |name| own.and_then(|own| own.get(name)).and_then(Value::as_bool);
        if let Some(flag) = flag("experimentalDecorators") {
            options.experimental_decorators = Some(flag);
        }
        if let Some(flag) = flag("useDefineForClassFields") {
            options.defines_fields = Some(flag);
        }
        if let Some(target) = own.and_then(|own| own.get("target")).and_then(Value::as_str) {
            options.target = Some(target.to_owned());
        }
        Some(())
    }

    fn extend(&mut self, by: &str, name: &str, options: &mut Options) -> Option<()> {
        let (path, text) = candidates(by, name)
            .into_iter()
            .find_map(|path| Some((path.clone(), (self.text_of)(&path)?)))?;
        self.add(&path, &text, options)
    }
}

/// A text of JSON that may hold comments, and commas at the end of lists.
fn object(text: &str) -> Option<Map<String, Value>> {
    let mut text = text.trim_start_matches('\u{feff}').to_owned();
    json_strip_comments::strip(&mut text).ok()?;
    crate::json::from_str(&text).ok()
}

/// The paths that `name` may mean where the file at `by` extends it: of a file beside it, else of a
/// package in a folder above it.
fn candidates(by: &str, name: &str) -> Vec<String> {
    let folder = by.rsplit_once('/').map_or("", |(folder, _)| folder);
    if name.starts_with('.') {
        let Some(path) = joined(folder, name) else { return Vec::new() };
        return vec![format!("{path}.json"), path];
    }
    if name.starts_with('/') {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut folder = Some(folder);
    while let Some(above) = folder {
        if let Some(path) = joined(above, &format!("node_modules/{name}")) {
            found.extend([format!("{path}/tsconfig.json"), format!("{path}.json"), path]);
        }
        folder = above.rsplit_once('/').map(|(above, _)| above);
        if folder.is_none() && !above.is_empty() {
            folder = Some("");
        }
    }
    found
}

/// The year of a `target` such as `ES2020`.
fn year(target: &str) -> u32 {
    match target.to_ascii_lowercase().as_str() {
        "es3" | "es5" => 0,
        "es6" => 2015,
        newer => newer.strip_prefix("es").and_then(|year| year.parse().ok()).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::Tsconfig;

    fn read(files: &[(&str, &str)]) -> Tsconfig {
        let (path, text) = files[0];
        let mut text_of = |path: &str| {
            files.iter().find(|(known, _)| *known == path).map(|(_, text)| (*text).to_owned())
        };
        Tsconfig::read(path, text, &mut text_of)
    }

    #[test]
    fn comments_and_commas_at_the_end_are_no_part_of_the_options() {
        for (text, experimental) in [
            (r#"{"compilerOptions":{"experimentalDecorators":true}}"#, true),
            (
                "{ // the compiler's\n \"compilerOptions\": { \"experimentalDecorators\": true, }, }",
                true,
            ),
            (
                "{\"compilerOptions\":{\n // \"experimentalDecorators\": true,\n \"strict\":true}}",
                false,
            ),
            ("{\"compilerOptions\":{/* \"experimentalDecorators\": true */}}", false),
            (r#"{"compilerOptions":{"experimentalDecorators":false}}"#, false),
            (r#"{"other":{"experimentalDecorators":true}}"#, false),
        ] {
            let config = read(&[("tsconfig.json", text)]);
            assert_eq!(config.experimental_decorators, experimental, "{text}");
            assert_eq!(config.not_read, Vec::<String>::new());
        }
        assert_eq!(read(&[("/srv/me/tsconfig.json", "{x}")]).not_read, ["tsconfig.json"]);
    }

    #[test]
    fn fields_are_assigned_by_the_option_else_by_the_target() {
        for (options, assigns) in [
            ("", false),
            (r#""target":"ES2021""#, true),
            (r#""target":"es5""#, true),
            (r#""target":"ES6""#, true),
            (r#""target":"ES2022""#, false),
            (r#""target":"ESNext""#, false),
            (r#""target":"ES2020","useDefineForClassFields":true"#, false),
            (r#""useDefineForClassFields":false"#, true),
        ] {
            let text = format!("{{\"compilerOptions\":{{{options}}}}}");
            assert_eq!(read(&[("tsconfig.json", &text)]).assigns_fields, assigns, "{options}");
        }
    }

    #[test]
    fn what_it_extends_holds_until_it_says_otherwise() {
        let older = r#"{"compilerOptions":{"experimentalDecorators":true,"target":"es2020"}}"#;
        let newer = r#"{"compilerOptions":{"target":"es2022"}}"#;
        let config = read(&[
            ("a/b/tsconfig.json", r#"{"extends":["../base","@tsconfig/node20/tsconfig.json"]}"#),
            ("a/base.json", older),
            ("node_modules/@tsconfig/node20/tsconfig.json", newer),
        ]);
        assert!(config.experimental_decorators && !config.assigns_fields, "{config:?}");
        assert!(config.not_read.is_empty());
        let config = read(&[
            ("a/tsconfig.json", r#"{"extends":"@tsconfig/x","compilerOptions":{"target":"es5"}}"#),
            ("a/node_modules/@tsconfig/x/tsconfig.json", older),
        ]);
        assert!(config.experimental_decorators && config.assigns_fields, "{config:?}");
    }

    #[test]
    fn what_cannot_be_read_is_named_and_circles_end() {
        let config = read(&[
            ("tsconfig.json", r#"{"extends":["../out.json","@x/gone","./self.json"]}"#),
            ("self.json", r#"{"extends":"./self.json"}"#),
        ]);
        assert_eq!(config.not_read, ["../out.json", "@x/gone", "./self.json"]);
    }

    #[test]
    fn the_written_text_says_the_same() {
        let config = Tsconfig {
            experimental_decorators: true,
            assigns_fields: true,
            not_read: vec!["@x/gone".to_owned()],
        };
        assert_eq!(read(&[("tsconfig.json", &config.text())]), config);
        assert!(read(&[("tsconfig.json", &Tsconfig::default().text())]).is_plain());
    }
}
