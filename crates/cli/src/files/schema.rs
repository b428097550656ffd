//! Schemas of files: files are checked against the published JSON Schemas, so that neither can say
//! what the other does not.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::files::schema_types::{fits_type, kind, kinds, range, takes_number_or_false};
use crate::files::yaml::{Document, escaped};

/// `schemas/workflow.schema.json`.
pub(crate) const WORKFLOW: &str = include_str!("../../schemas/workflow.schema.json");
/// `schemas/source.schema.json`.
const SOURCE: &str = include_str!("../../schemas/source.schema.json");
/// `schemas/project.schema.json`.
const PROJECT: &str = include_str!("../../schemas/project.schema.json");

/// A form of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Workflow,
    Source,
    Project,
}

impl Form {
    fn schema(self) -> &'static Value {
        static ALL: LazyLock<[Value; 3]> = LazyLock::new(|| {
            [WORKFLOW, SOURCE, PROJECT].map(|text| text.parse().unwrap_or_default())
        });
        &ALL[self as usize]
    }

    /// All that is wrong with a file, each with its line where it is known.
    pub(crate) fn problems(self, document: &Document) -> Vec<String> {
        let mut check = Check { root: self.schema(), document, problems: Vec::new() };
        check.value(self.schema(), &document.value, "");
        check.problems
    }
}

/// What a workflow's settings are where a file does not say, by name.
pub(crate) fn setting_defaults() -> Map<String, Value> {
    let settings = &Form::Workflow.schema()["$defs"]["settings"]["properties"];
    settings
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), schema["default"].clone()))
        .collect()
}

/// Knows the keywords that the schemas use; a test fails on any other.
#[cfg(test)]
const KEYWORDS: [&str; 21] = [
    "$schema",
    "title",
    "description",
    "default",
    "$defs",
    "$ref",
    "type",
    "const",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "maxItems",
    "oneOf",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "not",
];

struct Check<'a> {
    root: &'static Value,
    document: &'a Document,
    problems: Vec<String>,
}

impl Check<'_> {
    fn wrong(&mut self, at: &str, text: &str) {
        let line = self.document.line(at).map(|line| format!("line {line}: ")).unwrap_or_default();
        self.problems.push(format!("{line}{text}"));
    }

    fn value(&mut self, schema: &'static Value, value: &Value, at: &str) {
        if let Some(reference) = schema["$ref"].as_str() {
            let root: &'static Value = self.root;
            return self.value(
                root.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null),
                value,
                at,
            );
        }
        let branches = schema["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
        if branches.iter().any(|b| b.get("properties").is_some()) {
            return self.variant(branches, value, at);
        }
        // `false` takes such a number away; `true` means nothing.
        let or_false = takes_number_or_false(schema);
        if !fits_type(&schema["type"], value) || (or_false && *value == true) {
            let allowed = match range(schema).filter(|_| or_false) {
                Some(range) => format!("allowed are {range}, or false"),
                None => format!("it must be {}", kinds(&schema["type"])),
            };
            return self.wrong(at, &format!("{} is {}; {allowed}", named(at), kind(value)));
        }
        match value {
            Value::Object(object) => self.object(schema, object, branches, at),
            Value::Array(items) => {
                if let Some(max) =
                    schema["maxItems"].as_u64().filter(|max| items.len() as u64 > *max)
                {
                    let text = format!(
                        "{} has {} items; at most {max} are allowed",
                        named(at),
                        items.len()
                    );
                    self.wrong(at, &text);
                }
                if schema.get("items").is_some() {
                    for (index, item) in items.iter().enumerate() {
                        self.value(&schema["items"], item, &format!("{at}/{index}"));
                    }
                }
            }
            Value::Number(number) => self.number(schema, number.as_f64().unwrap_or(0.0), at),
            Value::String(text) => self.text(schema, text, at),
            Value::Bool(_) | Value::Null => {}
        }
    }

    fn object(
        &mut self,
        schema: &'static Value,
        object: &Map<String, Value>,
        branches: &'static [Value],
        at: &str,
    ) {
        let properties = schema["properties"].as_object();
        for (name, value) in object {
            let below = format!("{at}/{}", escaped(name));
            match properties.and_then(|p| p.get(name)) {
                Some(schema) => self.value(schema, value, &below),
                None if schema["additionalProperties"] == false => {
                    let known: Vec<&str> = properties
                        .into_iter()
                        .flatten()
                        .map(|(name, _)| name.as_str())
                        .filter(|name| *name != "$schema")
                        .collect();
                    let text = format!(
                        "{} has no field `{name}`; allowed are {}",
                        named(at),
                        known.join(", ")
                    );
                    self.wrong(&below, &text);
                }
                None => {}
            }
        }
        for name in schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|name| !object.contains_key(*name))
        {
            let text = format!("{} needs `{name}`", named(at));
            self.wrong(at, &text);
        }
        if !branches.is_empty() {
            self.one_of(branches, object, at);
        }
    }

    /// Exactly one of some fields, or at most one where a branch allows none.
    fn one_of(&mut self, branches: &'static [Value], object: &Map<String, Value>, at: &str) {
        let names: Vec<&str> = branches.iter().filter_map(|b| b["required"][0].as_str()).collect();
        let given: Vec<&str> =
            names.iter().copied().filter(|name| object.contains_key(*name)).collect();
        let allows_none = branches.iter().any(|b| b.get("not").is_some());
        if given.len() == 1 || (given.is_empty() && allows_none) {
            return;
        }
        let count = if allows_none { "at most one" } else { "exactly one" };
        let found = if given.is_empty() { "none".to_owned() } else { given.join(" and ") };
        let text = format!("{} takes {count} of {}; it has {found}", named(at), names.join(", "));
        self.wrong(at, &text);
    }

    /// The one of several forms that the field `type` names.
    fn variant(&mut self, branches: &'static [Value], value: &Value, at: &str) {
        if !value.is_object() {
            let text = format!("{} is {}; it must be an object", named(at), kind(value));
            return self.wrong(at, &text);
        }
        let named_type =
            |branch: &&'static Value| branch["properties"]["type"]["const"] == value["type"];
        match branches.iter().find(named_type) {
            Some(branch) => self.value(branch, value, at),
            None => {
                let known: Vec<&str> = branches
                    .iter()
                    .filter_map(|b| b["properties"]["type"]["const"].as_str())
                    .collect();
                let text = match value["type"].as_str() {
                    Some(other) => format!(
                        "{} has the type `{other}`; allowed are {}",
                        named(at),
                        known.join(", ")
                    ),
                    None => format!("{} needs `type`: one of {}", named(at), known.join(", ")),
                };
                self.wrong(&format!("{at}/type"), &text);
            }
        }
    }

    fn number(&mut self, schema: &Value, number: f64, at: &str) {
        let (min, max) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
        if min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max) {
            let range = range(schema).unwrap_or_default();
            let text = format!("{} is {number}; allowed are {range}", named(at));
            self.wrong(at, &text);
        }
    }

    fn text(&mut self, schema: &Value, text: &str, at: &str) {
        let length = text.chars().count() as u64;
        if schema["minLength"].as_u64().is_some_and(|min| length < min) {
            let problem = format!("{} is empty", named(at));
            return self.wrong(at, &problem);
        }
        if let Some(max) = schema["maxLength"].as_u64().filter(|max| length > *max) {
            let problem =
                format!("{} has {length} characters; at most {max} are allowed", named(at));
            return self.wrong(at, &problem);
        }
        if let Some(allowed) =
            schema["enum"].as_array().filter(|allowed| !allowed.iter().any(|a| a == text))
        {
            let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
            let problem = format!("{} is `{text}`; allowed are {}", named(at), allowed.join(", "));
            return self.wrong(at, &problem);
        }
        if let Some(pattern) =
            schema["pattern"].as_str().filter(|pattern| !fits_pattern(pattern, text))
        {
            let problem = format!("`{text}` is no {}; it has the form {pattern}", named(at));
            self.wrong(at, &problem);
        }
    }
}

/// `^[first][rest]*$` with ranges, which is all that the schemas use.
fn fits_pattern(pattern: &str, text: &str) -> bool {
    let classes: Vec<&str> = pattern
        .trim_start_matches('^')
        .trim_end_matches('$')
        .trim_end_matches('*')
        .split(']')
        .filter_map(|c| c.strip_prefix('['))
        .collect();
    let in_class = |class: &str, c: char| {
        let class: Vec<char> = class.chars().collect();
        let mut at = 0;
        while at < class.len() {
            if at + 2 < class.len() && class[at + 1] == '-' {
                if (class[at]..=class[at + 2]).contains(&c) {
                    return true;
                }
                at += 3;
            } else {
                if class[at] == c {
                    return true;
                }
                at += 1;
            }
        }
        false
    };
    let [first, rest] = classes.as_slice() else { return false };
    let mut chars = text.chars();
    chars.next().is_some_and(|c| in_class(first, c)) && chars.all(|c| in_class(rest, c))
}

/// `steps[0].props` for `/steps/0/props`.
fn named(at: &str) -> String {
    let mut text = String::new();
    for part in at.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if part.bytes().all(|b| b.is_ascii_digit()) && !part.is_empty() {
            text.push_str(&format!("[{part}]"));
        } else {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(&part);
        }
    }
    if text.is_empty() { "the file".into() } else { format!("`{text}`") }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn problems(form: Form, text: &str) -> Vec<String> {
        form.problems(&Document::parse(Path::new("w.yaml"), text).expect("reads"))
    }

    fn keywords(schema: &Value, found: &mut Vec<String>) {
        for (name, value) in schema.as_object().into_iter().flatten() {
            found.push(name.clone());
            match name.as_str() {
                "properties" | "$defs" => value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .for_each(|(_, schema)| keywords(schema, found)),
                "items" | "additionalProperties" => keywords(value, found),
                "oneOf" => value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .for_each(|schema| keywords(schema, found)),
                _ => {}
            }
        }
    }

    #[test]
    fn the_schemas_use_no_keyword_that_is_not_known() {
        for form in [Form::Workflow, Form::Source, Form::Project] {
            let mut found = Vec::new();
            keywords(form.schema(), &mut found);
            assert!(found.len() > 5);
            assert_eq!(found.iter().find(|k| !KEYWORDS.contains(&k.as_str())), None);
        }
    }

    #[test]
    fn a_whole_file_passes() {
        let text = "name: hello\ntriggers:\n  - type: http\n  - { type: timer, props: { cron: '0 9 * * *', timezone: Europe/Berlin } }\n  - { type: source, source: feed, event_name: added }\n  \
                    - { type: source, key: rss-new-item, props: { url: 'https://x' } }\nsteps:\n  - { namespace: a, code_file: steps/a.mjs, props: { x: 1 } }\n  - { namespace: b_2, component_key: http-send, disabled: true }\n\
                    settings: { timeout_ms: 30000, memory_mb: false, auto_retry: { max: 3 }, throttle: { runs: 0, interval_ms: 1000 } }\nsubscriptions: [{ emitter: organization, event_name: $errors }]\nerror_handler: false\n";
        assert_eq!(problems(Form::Workflow, text), Vec::<String>::new());
        assert_eq!(problems(Form::Project, "project: my-shop.2\n"), Vec::<String>::new());
        assert_eq!(problems(Form::Source, "name: feed\nprops: { a: 1 }\n"), Vec::<String>::new());
    }

    #[test]
    fn what_is_wrong_says_where_and_what_is_allowed() {
        for (text, expected) in [
            (
                "nmae: w\nsteps: []\n",
                "line 1: the file has no field `nmae`; allowed are name, note, tags, triggers, steps, settings, subscriptions, error_handler, active, org_id, project_id",
            ),
            ("name: w\n", "line 1: the file needs `steps`"),
            (
                "steps:\n  - namespace: 1a\n    code: x\n",
                "line 2: `1a` is no `steps[0].namespace`; it has the form ^[A-Za-z_][A-Za-z0-9_]*$",
            ),
            (
                "steps:\n  - namespace: a\n",
                "line 2: `steps[0]` takes exactly one of code_file, code, component_key, component_id; it has none",
            ),
            (
                "steps:\n  - namespace: a\n    code: x\n    component_key: y\n",
                "line 2: `steps[0]` takes exactly one of code_file, code, component_key, component_id; it has code and component_key",
            ),
            ("steps: {}\n", "line 1: `steps` is an object; it must be a list"),
            (
                "steps: []\nsettings:\n  timeout_ms: soon\n",
                "line 3: `settings.timeout_ms` is a text; allowed are 1 to 750000, or false",
            ),
            (
                "steps: []\nsettings:\n  calls_per_isolate: true\n",
                "line 3: `settings.calls_per_isolate` is true; allowed are 1 to 64, or false",
            ),
            (
                "steps: []\nsettings:\n  memory_mb: 1\n",
                "line 3: `settings.memory_mb` is 1; allowed are 64 to 10240",
            ),
            (
                "steps: []\ntriggers:\n  - type: mail\n",
                "line 3: `triggers[0]` has the type `mail`; allowed are http, timer, source",
            ),
            (
                "steps: []\ntriggers:\n  - props: {}\n",
                "line 3: `triggers[0]` needs `type`: one of http, timer, source",
            ),
            (
                "steps: []\ntriggers:\n  - type: timer\n    props: {}\n",
                "line 4: `triggers[0].props` takes exactly one of intervalSeconds, cron; it has none",
            ),
            (
                "steps: []\ntriggers:\n  - type: http\n    props: { auth: { type: basic } }\n",
                "line 4: `triggers[0].props.auth.type` is `basic`; allowed are none, bearer, signature, api_key",
            ),
            (
                "steps: []\ntriggers:\n  - type: http\n    path: /x\n",
                "line 4: `triggers[0]` has no field `path`; allowed are type, props",
            ),
        ] {
            assert_eq!(problems(Form::Workflow, text), [expected], "{text}");
        }
        assert_eq!(
            problems(Form::Source, "key: a\ncode_file: b\n"),
            [
                "line 1: the file takes at most one of code_file, key, component_url; it has code_file and key"
            ]
        );
        assert_eq!(problems(Form::Project, "project: a b\n").len(), 1);
    }

    #[test]
    fn settings_have_defaults() {
        let defaults = setting_defaults();
        assert_eq!(defaults["error_notification"], true);
        assert!(
            defaults.values().all(|d| d.is_boolean() || d.is_array()),
            "each can be set back: {defaults:?}"
        );
    }
}
