//! Validator of answers against the server's OpenAPI document. It knows the keywords that the
//! document uses, and fails on any other, so that nothing passes because it was not understood.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// What an answer is held against: the method and path (below `/v1`, without its query) that were
/// asked for.
pub struct Asked<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// Whether fields were left out by `include` or `exclude`.
    pub is_partial: bool,
    /// Names of the headers of the answer, in small letters.
    pub headers: &'a [String],
}

/// The operation of a document that a request went to, if there is one.
pub fn operation<'a>(document: &'a Value, method: &str, path: &str) -> Option<&'a Value> {
    let full = format!("/v1{path}");
    let parts: Vec<&str> = full.split('/').collect();
    let fits = |template: &str| {
        let wanted: Vec<&str> = template.split('/').collect();
        wanted.len() == parts.len()
            && wanted.iter().zip(&parts).all(|(want, part)| want.starts_with('{') || want == part)
    };
    // A path without parameters wins over one with.
    let paths = document["paths"].as_object()?;
    let found = paths
        .iter()
        .filter(|(template, _)| fits(template))
        .min_by_key(|(template, _)| template.matches('{').count())?;
    found.1.get(method.to_ascii_lowercase())
}

/// The parameters of a path's template, with their braces, in order.
pub fn parameters(template: &str) -> Vec<&str> {
    template.split('/').filter(|part| part.starts_with('{')).collect()
}

/// What of an answer is not as the document says; `None` where all is.
pub fn problem(document: &Value, asked: &Asked<'_>, status: u16, body: &Value) -> Option<String> {
    let Some(operation) = operation(document, asked.method, asked.path) else {
        // Not there, or not with this method: the form of refusals holds all the same.
        let error = &document["components"]["schemas"]["Error"];
        return if matches!(status, 404 | 405) {
            check(document, error, body, false, "$").err()
        } else {
            Some("the document has no such operation".into())
        };
    };
    let responses = &operation["responses"];
    let response =
        responses.get(status.to_string()).or_else(|| responses.get(format!("{}XX", status / 100)));
    let Some(response) = response else {
        return Some(format!("the document has no status {status} there"));
    };
    let response = response["$ref"]
        .as_str()
        .and_then(|reference| document.pointer(reference.trim_start_matches('#')))
        .unwrap_or(response);
    if let Some(problem) = header_problem(response, asked.headers) {
        return Some(problem);
    }
    let schema = response["content"]["application/json"].get("schema")?;
    check(document, schema, body, asked.is_partial && status < 300, "$").err()
}

/// Headers of ours that are said of an answer wherever it has them.
const HEADERS: [&str; 5] =
    ["etag", "retry-after", "www-authenticate", "content-disposition", "x-request-id"];

/// What of an answer's headers is not as a response of the document says.
fn header_problem(response: &Value, headers: &[String]) -> Option<String> {
    let declared: BTreeSet<String> = response["headers"]
        .as_object()
        .into_iter()
        .flat_map(|headers| headers.keys().map(|name| name.to_lowercase()))
        .collect();
    let is_there = |name: &str| headers.iter().any(|header| header == name);
    HEADERS.iter().find_map(|name| match (is_there(name), declared.contains(*name)) {
        (true, false) => Some(format!("it has the header `{name}`, which is not declared")),
        // Only some refusals say when to try again.
        (false, true) if *name != "retry-after" => Some(format!("it has no header `{name}`")),
        _ => None,
    })
}

/// Objects that some operation answers with and of which the document gives no example.
pub fn without_example(document: &Value) -> Vec<&str> {
    fn refer<'a>(value: &'a Value, names: &mut BTreeSet<&'a str>) {
        match value {
            Value::Object(fields) => {
                let name = fields.get("$ref").and_then(Value::as_str);
                names.extend(name.and_then(|name| name.rsplit('/').next()));
                fields.values().for_each(|value| refer(value, names));
            }
            Value::Array(items) => items.iter().for_each(|value| refer(value, names)),
            _ => {}
        }
    }
    let mut names = BTreeSet::new();
    let paths = document["paths"].as_object().into_iter().flatten();
    for (_, operations) in paths {
        let operations = operations.as_object().into_iter().flatten();
        operations.for_each(|(_, operation)| refer(&operation["responses"], &mut names));
    }
    let lacks = |name: &&str| {
        let schema = &document["components"]["schemas"][*name];
        schema["properties"].as_object().is_some_and(|fields| !fields.is_empty())
            && schema["examples"].is_null()
    };
    names.into_iter().filter(lacks).collect()
}

/// What of a value is not as a schema of the document says.
pub fn misfit(document: &Value, schema: &str, value: &Value) -> Option<String> {
    check(document, &document["components"]["schemas"][schema], value, false, "$").err()
}

fn check(
    document: &Value,
    schema: &Value,
    value: &Value,
    is_partial: bool,
    at: &str,
) -> Result<(), String> {
    let empty = Map::new();
    let keywords = schema.as_object().unwrap_or(&empty);
    for keyword in keywords.keys() {
        let known = [
            "$ref",
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "description",
            "anyOf",
            "enum",
            "examples",
        ];
        assert!(
            known.contains(&keyword.as_str()),
            "the document uses the keyword `{keyword}`, which this check does not know"
        );
    }
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document
            .pointer(reference.trim_start_matches('#'))
            .unwrap_or_else(|| panic!("the document has no {reference}"));
        return check(document, target, value, is_partial, at);
    }
    if let Some(schemas) = schema["anyOf"].as_array() {
        let problems: Vec<_> = schemas
            .iter()
            .map_while(|schema| check(document, schema, value, is_partial, at).err())
            .collect();
        return if problems.len() < schemas.len() { Ok(()) } else { Err(problems.join("; or ")) };
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_i64() || n.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let allows = |wanted: &Value| wanted == kind || (wanted == "number" && kind == "integer");
    let fits = match &schema["type"] {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(allows),
        wanted => allows(wanted),
    };
    if !fits {
        return Err(format!("{at} is {kind}, the document says {}", schema["type"]));
    }
    if let Some(allowed) =
        keywords.get("enum").and_then(Value::as_array).filter(|allowed| !allowed.contains(value))
    {
        return Err(format!(
            "{at} is {value}, which is none of the {} values of the document",
            allowed.len()
        ));
    }
    if let (Value::Array(items), Some(schema)) = (value, keywords.get("items")) {
        for (n, item) in items.iter().enumerate() {
            check(document, schema, item, is_partial, &format!("{at}[{n}]"))?;
        }
    }
    let Value::Object(fields) = value else { return Ok(()) };
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    for (name, field) in fields {
        match properties.get(name) {
            Some(schema) => check(document, schema, field, is_partial, &format!("{at}.{name}"))?,
            None => match keywords.get("additionalProperties") {
                Some(Value::Bool(false)) => {
                    return Err(format!("{at}.{name} is not in the document"));
                }
                Some(schema @ Value::Object(_)) => {
                    check(document, schema, field, is_partial, &format!("{at}.{name}"))?
                }
                _ => {}
            },
        }
    }
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let missing = required
        .iter()
        .filter_map(Value::as_str)
        .find(|name| !fields.contains_key(*name) && !is_partial);
    missing.map_or(Ok(()), |name| Err(format!("{at}.{name} is missing")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_that_is_not_as_the_document_says_is_found() {
        let thing = json!({
            "type": "object", "required": ["id", "n"], "additionalProperties": false,
            "properties": { "id": { "type": "string" }, "n": { "type": ["integer", "null"] }, "list": { "type": "array", "items": { "type": "object" } }, "word": { "type": "string", "enum": ["a", "b"] }, "map": { "type": "object", "additionalProperties": { "type": "string" } } },
        });
        let answer = json!({ "200": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Thing" } } } } });
        let error = json!({ "type": "object", "required": ["error"] });
        let document = json!({
            "paths": { "/v1/a/{id}": { "get": { "responses": answer } }, "/v1/a/b": { "get": { "responses": {} } } },
            "components": { "schemas": { "Thing": thing, "Error": error } },
        });
        let found = |path: &str, status: u16, body: Value, is_partial: bool| {
            problem(
                &document,
                &Asked { method: "GET", path, is_partial, headers: &[] },
                status,
                &body,
            )
        };
        assert_eq!(
            found(
                "/a/1",
                200,
                json!({ "id": "x", "n": null, "list": [{}], "word": "a", "map": { "a": "b" } }),
                false
            ),
            None
        );
        assert_eq!(found("/a/1", 200, json!({ "n": 1 }), true), None);
        for (path, status, body) in [
            ("/a/1", 200, json!({ "id": "x" })),
            ("/a/1", 200, json!({ "id": 1, "n": 1 })),
            ("/a/1", 200, json!({ "id": "x", "n": 1.5 })),
            ("/a/1", 200, json!({ "id": "x", "n": 1, "more": 1 })),
            ("/a/1", 200, json!({ "id": "x", "n": 1, "list": [1] })),
            ("/a/1", 200, json!({ "id": "x", "n": 1, "word": "c" })),
            ("/a/1", 200, json!({ "id": "x", "n": 1, "map": { "a": 1 } })),
            ("/a/1", 201, json!({})),
            ("/a/b", 200, json!({})),
            ("/nothing", 200, json!({})),
            ("/nothing", 404, json!({ "oops": 1 })),
        ] {
            assert!(found(path, status, body.clone(), false).is_some(), "{path} {status} {body}");
        }
    }
}
