//! YAML and JSON files: read with the lines that things stand on, and written.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use saphyr::{LoadableYamlNode as _, MarkedYaml, Scalar, YamlData, YamlEmitter};
use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// Levels of lists and mappings within each other, as readers of JSON have them.
const LEVELS_MAX: usize = 128;
/// What a file may come to once each `*alias` stands for its anchor's value, bytes.
const EXPANDED_BYTES_MAX: usize = 64 << 20;
/// What a value counts beside its text, bytes.
const VALUE_BYTES: usize = 100;

/// A file's content, and on which line each part of it begins.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) value: Value,
    /// Lines, from 1, by JSON pointer. A key's line where the part has one.
    lines: BTreeMap<String, usize>,
}

/// Why a file cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) line: Option<usize>,
    pub(crate) text: String,
}

impl Problem {
    fn at(line: usize, text: impl Into<String>) -> Self {
        Self { line: Some(line), text: text.into() }
    }
}

impl Document {
    /// Reads YAML, or JSON where the path ends in `.json`. Numbers that are whole become integers,
    /// however they are written.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, Problem> {
        let mut document = Self::read(path, text)?;
        millrace_model::json::check_names(document.value.to_string().as_bytes())
            .map_err(|e| Problem::at(1, e.to_string()))?;
        each_number(&mut document.value, &|number| whole(number).map(Number::from));
        Ok(document)
    }

    fn read(path: &Path, text: &str) -> Result<Self, Problem> {
        if path.extension().is_some_and(|e| e == "json") {
            let value = millrace_model::json::from_str(text)
                .map_err(|e| Problem::at(e.line(), format!("it is not JSON: {e}")))?;
            // JSON is YAML but for a few texts, whose lines are then not known.
            let lines = Self::yaml(text).map(|d| d.lines).unwrap_or_default();
            return Ok(Self { value, lines });
        }
        Self::yaml(text)
    }

    fn yaml(text: &str) -> Result<Self, Problem> {
        check_expanded(text)?;
        let documents = MarkedYaml::load_from_str(text)
            .map_err(|e| Problem::at(e.marker().line(), format!("it is not YAML: {}", e.info())))?;
        match documents.as_slice() {
            [] => Ok(Self::default()),
            [node] => {
                let mut lines = BTreeMap::new();
                let value = value_of(node, "", &mut lines)?;
                Ok(Self { value, lines })
            }
            [_, second, ..] => {
                Err(Problem::at(second.span.start.line(), "it holds more than one document"))
            }
        }
    }

    /// The line of a part, else of what it is in.
    pub(crate) fn line(&self, pointer: &str) -> Option<usize> {
        let mut at = pointer;
        loop {
            if let Some(line) = self.lines.get(at) {
                return Some(*line);
            }
            at = &at[..at.rfind('/')?];
        }
    }
}

/// Refuses merge keys, what is nested too deep, and aliases that make a small file large. What is
/// no YAML is left to its reader.
fn check_expanded(text: &str) -> Result<(), Problem> {
    let mut total = 0_usize;
    let mut of_anchors = HashMap::new();
    // Of each list and mapping that is open: its anchor, and the bytes before it.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { return Ok(()) };
        match event {
            // Merge keys are no text in quotes.
            Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<" => {
                return Err(Problem::at(
                    span.start.line(),
                    "merge keys (`<<`) are not supported; write the fields out, or use an anchor for a whole value",
                ));
            }
            Event::Scalar(text, _, anchor, _) => {
                of_anchors.insert(anchor, text.len() + VALUE_BYTES);
                total = total.saturating_add(text.len() + VALUE_BYTES);
            }
            Event::Alias(anchor) => {
                total =
                    total.saturating_add(of_anchors.get(&anchor).copied().unwrap_or(VALUE_BYTES))
            }
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                open.push((anchor, total));
                total = total.saturating_add(VALUE_BYTES);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some((anchor, before)) = open.pop() {
                    of_anchors.insert(anchor, total - before);
                }
            }
            _ => {}
        }
        let line = span.start.line();
        if open.len() > LEVELS_MAX {
            return Err(Problem::at(
                line,
                format!("it is nested more than {LEVELS_MAX} levels deep, the limit"),
            ));
        }
        if total > EXPANDED_BYTES_MAX {
            return Err(Problem::at(
                line,
                format!(
                    "with its aliases written out it has more than {EXPANDED_BYTES_MAX} bytes, the limit"
                ),
            ));
        }
    }
    Ok(())
}

/// The largest number up to which a float stands for one integer alone.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// A number that is whole, such as `3e4`.
fn whole(number: &Number) -> Option<i64> {
    let exact = |float: &f64| float.fract() == 0.0 && float.abs() <= WHOLE_MAX;
    number.as_i64().or_else(|| number.as_f64().filter(exact).map(|float| float as i64))
}

/// Gives numbers the form of their value, as code reads it: `1e-07` and `1e-7` are the same.
pub(crate) fn by_value(value: &mut Value) {
    each_number(value, &|number| {
        let float = || number.as_f64().and_then(Number::from_f64);
        whole(number).map(Number::from).or_else(float)
    });
}

fn each_number(value: &mut Value, form: &impl Fn(&Number) -> Option<Number>) {
    match value {
        Value::Number(number) => *number = form(number).unwrap_or_else(|| number.clone()),
        Value::Array(items) => items.iter_mut().for_each(|item| each_number(item, form)),
        Value::Object(fields) => fields.values_mut().for_each(|field| each_number(field, form)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A part's name in a JSON pointer.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn value_of(
    node: &MarkedYaml<'_>,
    at: &str,
    lines: &mut BTreeMap<String, usize>,
) -> Result<Value, Problem> {
    let line = node.span.start.line();
    lines.entry(at.to_owned()).or_insert(line);
    match &node.data {
        YamlData::Value(scalar) => scalar_of(scalar)
            .ok_or_else(|| Problem::at(line, "this number cannot be written in JSON")),
        YamlData::Sequence(items) => {
            let items = items
                .iter()
                .enumerate()
                .map(|(index, item)| value_of(item, &format!("{at}/{index}"), lines));
            items.collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        YamlData::Mapping(entries) => {
            let mut object = Map::new();
            for (key, value) in entries {
                let name = match &key.data {
                    YamlData::Value(Scalar::String(name)) => name.to_string(),
                    YamlData::Value(scalar) => scalar_of(scalar).unwrap_or_default().to_string(),
                    _ => {
                        return Err(Problem::at(key.span.start.line(), "a key here is not a text"));
                    }
                };
                let pointer = format!("{at}/{}", escaped(&name));
                lines.insert(pointer.clone(), key.span.start.line());
                object.insert(name, value_of(value, &pointer, lines)?);
            }
            Ok(Value::Object(object))
        }
        YamlData::Tagged(tag, _) => {
            Err(Problem::at(line, format!("the tag `{tag}` is not supported")))
        }
        YamlData::Representation(..) | YamlData::Alias(_) | YamlData::BadValue => {
            Err(Problem::at(line, "this cannot be read as a value"))
        }
    }
}

fn scalar_of(scalar: &Scalar<'_>) -> Option<Value> {
    Some(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Boolean(flag) => Value::from(*flag),
        Scalar::Integer(number) => Value::from(*number),
        Scalar::FloatingPoint(number) => Value::Number(Number::from_f64(number.into_inner())?),
        Scalar::String(text) => Value::from(text.as_ref()),
    })
}

/// A value as YAML, with a line's end.
pub(crate) fn write(value: &Value) -> String {
    let mut text = String::new();
    let mut emitter = YamlEmitter::new(&mut text);
    emitter.multiline(true);
    // Writing to a text does not fail.
    let _ = emitter.dump(&yaml_of(value));
    let text = text.strip_prefix("---").unwrap_or(&text).trim_start_matches('\n');
    format!("{}\n", text.trim_end())
}

fn yaml_of(value: &Value) -> saphyr::Yaml<'_> {
    use saphyr::Yaml;
    match value {
        Value::Null => Yaml::Value(Scalar::Null),
        Value::Bool(flag) => Yaml::Value(Scalar::Boolean(*flag)),
        Value::Number(number) => Yaml::Value(match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Scalar::Integer(integer),
            (None, Some(float)) => Scalar::FloatingPoint(float.into()),
            (None, None) => Scalar::String(number.to_string().into()),
        }),
        Value::String(text) => Yaml::Value(Scalar::String(text.as_str().into())),
        Value::Array(items) => Yaml::Sequence(items.iter().map(yaml_of).collect()),
        Value::Object(object) => Yaml::Mapping(
            object
                .iter()
                .map(|(name, value)| {
                    (Yaml::Value(Scalar::String(name.as_str().into())), yaml_of(value))
                })
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(file: &str, text: &str) -> Result<Document, Problem> {
        Document::parse(Path::new(file), text)
    }

    #[test]
    fn parts_know_their_lines() {
        let document = parse(
            "w.yaml",
            "name: w\nsteps:\n  - namespace: a\n    props:\n      n: 1\n      a/b: [x]\n",
        )
        .expect("reads");
        assert_eq!(
            document.value,
            json!({ "name": "w", "steps": [{ "namespace": "a", "props": { "n": 1, "a/b": ["x"] } }] })
        );
        let lines =
            ["/name", "/steps/0", "/steps/0/props", "/steps/0/props/a~1b", "/steps/0/props/gone"]
                .map(|at| document.line(at));
        assert_eq!(lines, [Some(1), Some(3), Some(4), Some(6), Some(4)]);
        let json = parse("w.json", "{\n  \"a\": {\n    \"b\": \"\\/\"\n  }\n}").expect("reads");
        assert_eq!((json.value, json.lines.get("/a/b")), (json!({ "a": { "b": "/" } }), Some(&3)));
        // What JSON has and YAML has not costs only the lines.
        assert_eq!(
            parse("w.json", "{\"a\": \"\\ud83d\\ude00\"}").map(|d| d.value),
            Ok(json!({ "a": "😀" }))
        );
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        for (file, text, line, word) in [
            ("w.yaml", "a: 1\nb: [\n", 3, "not YAML"),
            ("w.yaml", "a: 1\na: 2\n", 2, "not YAML"),
            ("w.yaml", "a: 1\n---\nb: 1\n", 3, "more than one"),
            ("w.yaml", "a: !include x\n", 1, "tag"),
            ("w.yaml", "a: &x { b: 1 }\nc:\n  <<: *x\n", 3, "merge"),
            ("w.yaml", "a: .nan\n", 1, "number"),
            ("w.json", "{\n  \"a\": 1,\n}", 3, "not JSON"),
        ] {
            let problem = parse(file, text).expect_err("refuses");
            assert!(
                problem.line == Some(line) && problem.text.contains(word),
                "{text:?}: {problem:?}"
            );
        }
    }

    #[test]
    fn little_that_stands_for_much_is_refused() {
        let level =
            |n: usize| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", "));
        let bomb: String = "a0: &a0 lol\n".to_owned() + &(1..9).map(level).collect::<String>();
        let texts =
            format!("a: &a \"{}\\n\"\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 100].join(", "));
        let itself = "a: &a [*a, *a]\n".to_owned();
        let deep = ["[", "{a: "].map(|open| open.repeat(100_000));
        let blocks: String = (0..200).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        for (text, line, word) in [
            (bomb, 7, "aliases"),
            (texts, 2, "aliases"),
            (deep[0].clone(), 1, "limit"),
            (deep[1].clone(), 1, "limit"),
        ] {
            let problem = parse("w.yaml", &text).expect_err("refuses");
            assert!(
                problem.line == Some(line) && problem.text.contains(word),
                "{text:.80}: {problem:?}"
            );
            assert!(parse("w.json", &text).is_err(), "{text:.80}");
        }
        assert!(
            parse("w.yaml", &blocks).is_err_and(|problem| problem.text.contains("nested")),
            "blocks"
        );
        assert!(parse("w.yaml", &itself).is_err(), "a value does not hold itself");
        let twice = parse("w.yaml", "a: &a { b: [1] }\nc: *a\n").expect("reads");
        assert_eq!(twice.value, json!({ "a": { "b": [1] }, "c": { "b": [1] } }));
    }

    #[test]
    fn numbers_are_what_they_come_to() {
        for (file, text) in [("w.yaml", "[30000.0, 3e4, 1.5]"), ("w.json", "[30000.0, 3e4, 1.5]")] {
            let read = parse(file, text).expect("reads").value;
            assert_eq!(read.to_string(), "[30000,30000,1.5]", "{file}");
        }
        let written = "[1e-07, 12345678901234567890, 100000000000000000000]";
        let mut before = parse("w.json", written).expect("reads").value;
        let mut pulled = parse("w.yaml", &write(&before)).expect("reads").value;
        by_value(&mut before);
        by_value(&mut pulled);
        assert_eq!(before, pulled);
    }

    #[test]
    fn what_is_written_reads_the_same() {
        let value = json!({ "name": "007", "yes": "true", "n": -1.5, "none": null, "code": "a\n  b\n", "list": [], "<<": "<<", "deep": [{ "a": [1, "{{steps.x}}"] }], "é: #": "- x" });
        assert_eq!(parse("w.yaml", &write(&value)).map(|d| d.value), Ok(value));
    }
}
