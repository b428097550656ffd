//! The OpenAPI document and its readable page, both made of the table that the router is made of.

use std::fmt::Write as _;
use std::sync::OnceLock;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use millrace_engine::VERSION;
use serde_json::{Map, Value, json};

use crate::App;
use crate::contract::known::ANY_FIELD;
use crate::contract::responses::{headers, refusals, responses};
use crate::contract::routes::{BESIDE_TOPICS, Gives, Kind, Needs, Param, Route};
use crate::contract::shape::{Shape, reference};
use crate::contract::{schemas, table};
use crate::extract::{CSRF_HEADER, SESSION_COOKIE};

/// No script at all, and nothing from elsewhere.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const ABOUT: &str = "Every success is `{\"data\": …}`, lists have `page_info` beside it; every refusal is `{\"error\", \"code\", \"details\"}`. Parameters of a \
    POST, PUT or DELETE are read from the query and from a JSON body, which wins. Times are epoch seconds unless their name says otherwise.";

pub(crate) async fn show(State(app): State<App>) -> Response {
    let made = app.openapi.get_or_init(|| Bytes::from(document(&app.config.base_url).to_string()));
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], made.clone())
        .into_response()
}

pub(crate) async fn page() -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    static MADE: OnceLock<Bytes> = OnceLock::new();
    (headers, Html(MADE.get_or_init(|| Bytes::from(html())).clone())).into_response()
}

/// The OpenAPI 3.1 document of a server.
pub fn document(base_url: &str) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in table::v1() {
        let path = paths.entry(format!("/v1{}", route.path)).or_insert_with(|| json!({}));
        path[route.method] = operation(&route);
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Millrace", "version": VERSION, "description": ABOUT },
        "servers": [{ "url": base_url }],
        "security": [{ "api_key": [] }, { "session": [], "csrf": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "api_key": { "type": "http", "scheme": "bearer", "description": "An API key; each operation says which scope it needs" },
                "session": { "type": "apiKey", "in": "cookie", "name": SESSION_COOKIE, "description": "A person's session, made by `POST /v1/session`; their role gives the scope" },
                "csrf": { "type": "apiKey", "in": "header", "name": CSRF_HEADER, "description": "Any value, with the session and every method but GET" },
            },
            "headers": headers(),
            "responses": refusals(),
            "schemas": schemas::all(),
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut parameters: Vec<Value> = path_params(route.path)
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" }, "description": about_param(name) }))
        .collect();
    let has_body = matches!(route.method, "post" | "put") && !route.in_query;
    // What shapes the answer is read from the query wherever the rest stands.
    let (query, body): (Vec<&Param>, Vec<&Param>) =
        route.params.iter().partition(|p| !has_body || matches!(p.name, "include" | "exclude"));
    parameters.extend(query.iter().map(|p| json!({ "name": p.name, "in": "query", "required": p.required, "schema": schema_of(p), "description": p.about })));
    if route.if_match {
        let about = "The `ETag` of the record that the change is made over; of a workflow also the `revision` of its draft in quotes, which guards triggers, steps and settings alone; refused with 412 where another one is there";
        parameters.push(json!({ "name": "If-Match", "in": "header", "required": false, "schema": { "type": "string" }, "description": about }));
    }
    if route.resumes {
        let about = "The `id` of the last event that the client has; the stream goes on behind it";
        parameters.push(json!({ "name": "Last-Event-ID", "in": "header", "required": false, "schema": { "type": "string" }, "description": about }));
    }
    let mut shown = json!({
        "operationId": operation_id(route),
        "tags": [tag(route.path)],
        "summary": route.about,
        "description": needs(route),
        "parameters": parameters,
        "responses": responses(route),
    });
    if let Needs::Scope(scope) = route.needs {
        shown["x-scope"] = json!(scope);
    }
    if route.needs == Needs::Nothing {
        shown["security"] = json!([]);
    }
    if let Some(media) = route.raw_body {
        shown["requestBody"] = json!({ "required": true, "content": { media: {} } });
    }
    if !body.is_empty() {
        let needs_some = body.iter().any(|p| p.required);
        let mut schema = of_fields(body.into_iter());
        // A record may be written back whole; an authorization server ignores what it does not
        // know.
        if !route.updates && !ANY_FIELD.contains(&route.path) {
            schema["additionalProperties"] = json!(false);
        }
        shown["requestBody"] = json!({ "required": needs_some, "content": { "application/json": { "schema": schema } } });
    }
    shown
}

/// The schema of a parameter, with its bounds.
fn schema_of(param: &Param) -> Value {
    let mut schema = kind(param.kind);
    param.bounds.describe(param.kind, &mut schema);
    schema
}

fn kind(kind: Kind) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Number => json!({ "type": "integer" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::OneOf(words) => json!({ "type": "string", "enum": words }),
        Kind::Of(shape) => shape.given(),
        Kind::ListOf(shape) => json!({ "type": "array", "items": shape.given() }),
        Kind::WordsOf(shape) => {
            json!({ "anyOf": [{ "type": "array", "items": shape.given() }, { "type": "string" }] })
        }
        Kind::Fields(fields) => {
            let mut schema = of_fields(fields.iter().copied().flatten());
            schema["additionalProperties"] = json!(false);
            schema
        }
        Kind::Object => reference("JsonObject"),
        Kind::Words => json!({ "type": ["array", "string"], "items": { "type": "string" } }),
        Kind::Any => reference("Json"),
    }
}

/// A field that may be left out may be null as well, which says the same.
fn or_null(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// An object with these fields.
fn of_fields<'a>(params: impl Iterator<Item = &'a Param> + Clone) -> Value {
    let properties: Map<String, Value> = params
        .clone()
        .map(|p| {
            let schema = schema_of(p);
            let mut schema = if p.required { schema } else { or_null(schema) };
            schema["description"] = json!(p.about);
            (p.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<&str> = params.filter(|p| p.required).map(|p| p.name).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn needs(route: &Route) -> String {
    match route.needs {
        Needs::Nothing => "Needs no key.".into(),
        Needs::AnyKey => "Any key will do.".into(),
        Needs::Scope(scope) => format!("Needs a key with the scope `{scope}`."),
    }
}

fn about_param(name: &str) -> &'static str {
    if name == "name" { "The name" } else { "An id, as records show it" }
}

fn path_params(path: &'static str) -> impl Iterator<Item = &'static str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// `get_sources_id_logs_sse`: what client generators name functions after.
fn operation_id(route: &Route) -> String {
    let words = route
        .path
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty());
    [route.method].into_iter().chain(words).collect::<Vec<_>>().join("_")
}

/// The first word of the path that says what it is about.
fn tag(path: &'static str) -> &'static str {
    path.split('/').find(|part| !part.is_empty()).unwrap_or("")
}

/// The readable page: all routes, grouped, with what they take and give.
fn html() -> String {
    let mut out = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>Millrace API</title>\
         <link rel=\"stylesheet\" href=\"/assets/plain.css\"></head><body><header><h1>Millrace API</h1><a href=\"/openapi.json\">openapi.json</a></header>",
    );
    let mut put = |text: &str| out.push_str(text);
    put(&format!("<p>{}</p>", marked(ABOUT)));
    let mut section = "";
    for route in table::v1() {
        let tag = tag(route.path);
        if tag != section {
            section = tag;
            put(&format!("<h2>{}</h2>", escaped(tag)));
        }
        put(&format!(
            "<details><summary><code>{} /v1{}</code> {}</summary>",
            route.method.to_uppercase(),
            escaped(route.path),
            marked(route.about)
        ));
        put(&format!("<p>{} Gives {}.</p>", marked(&needs(&route)), marked(&given(route.gives))));
        if !route.params.is_empty() {
            let rows = route.params.iter().fold(String::new(), |mut rows, p| {
                let required = if p.required { " (required)" } else { "" };
                // Writing to a String cannot fail.
                let _ = write!(
                    rows,
                    "<tr><td><code>{}</code>{required}</td><td>{}</td></tr>",
                    p.name,
                    marked(p.about)
                );
                rows
            });
            put(&format!("<table>{rows}</table>"));
        }
        put("</details>");
    }
    put("<h2>schemas</h2>");
    for (name, schema) in schemas::all() {
        let text = serde_json::to_string_pretty(&schema["properties"]).unwrap_or_default();
        put(&format!(
            "<details><summary><code>{name}</code> {}</summary><pre>{}</pre></details>",
            marked(schema["description"].as_str().unwrap_or("")),
            escaped(&text)
        ));
    }
    put("</body></html>");
    out
}

fn given(gives: Gives) -> String {
    match gives {
        Gives::One(shape) | Gives::Bare(shape) => format!("`{}`", shape.name()),
        Gives::Page(shape) => format!("a page of `{}`", shape.name()),
        Gives::List(shape) => format!("a list of `{}`", shape.name()),
        Gives::Stream(events) | Gives::Topics(events) => {
            let beside = if matches!(gives, Gives::Topics(_)) { BESIDE_TOPICS } else { &[] };
            let shown = |(name, shape): &(&str, Shape)| {
                let schema = shape.name();
                if name.is_empty() {
                    format!("`{schema}`")
                } else {
                    format!("`{name}` (`{schema}`)")
                }
            };
            format!(
                "server-sent events: {}",
                events.iter().chain(beside).map(shown).collect::<Vec<_>>().join(", ")
            )
        }
        Gives::Lines(shape) => format!("lines of `{}`", shape.name()),
        Gives::Bytes => "what is in the file".into(),
        Gives::Image => "the image".into(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text with code in backticks.
fn marked(text: &str) -> String {
    let parts = escaped(text);
    let parts = parts.split('`').enumerate();
    parts
        .map(|(n, part)| if n % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::contract::shape::says_nothing;

    #[test]
    fn every_schema_that_is_named_is_there_and_every_operation_has_a_name_of_its_own() {
        let document = document("http://127.0.0.1:8787");
        let text = document.to_string();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let named: HashSet<&str> = text
            .split("#/components/schemas/")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(named.iter().all(|name| schemas.contains_key(*name)), "{named:?}");
        assert!(
            schemas.keys().all(|name| named.contains(name.as_str())),
            "a schema that nothing gives"
        );
        let operations: Vec<&Value> = document["paths"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|path| path.as_object().unwrap().values())
            .collect();
        let ids: HashSet<&str> =
            operations.iter().map(|o| o["operationId"].as_str().unwrap()).collect();
        assert_eq!((ids.len(), operations.len()), (operations.len(), table::v1().len()));
        assert!(operations.iter().all(|o| o["summary"].as_str().is_some_and(|s| !s.is_empty())));
    }

    #[test]
    fn every_schema_says_what_it_is_made_of() {
        fn open(at: &str, schema: &Value, found: &mut Vec<String>) {
            let object = schema["type"] == "object"
                && schema["additionalProperties"].is_null()
                && schema["properties"].is_null();
            if says_nothing(schema) || object {
                found.push(at.to_owned());
            }
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                open(&format!("{at}.{name}"), field, found);
            }
            for part in ["items", "additionalProperties"] {
                schema.get(part).inspect(|schema| open(&format!("{at}.{part}"), schema, found));
            }
            schema["anyOf"]
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|schema| open(at, schema, found));
        }
        let mut found = Vec::new();
        for (name, schema) in schemas::all() {
            open(&name, &schema, &mut found);
        }
        for route in table::v1() {
            for param in &route.params {
                open(&format!("{}?{}", route.path, param.name), &kind(param.kind), &mut found);
            }
        }
        // A list of any JSON that is typed by itself has no type in TypeScript.
        assert_eq!(found, ["Json.items"]);
        assert!(!document("").to_string().contains(r#""additionalProperties":true"#));
    }

    #[test]
    fn a_header_that_a_route_speaks_of_is_declared() {
        let mut found = 0;
        for route in table::v1().iter().filter(|route| route.about.contains("Last-Event-ID")) {
            let parameters = operation(route)["parameters"].clone();
            let declared = parameters.as_array().unwrap().iter().any(|parameter| {
                parameter["in"] == "header" && parameter["name"] == "Last-Event-ID"
            });
            assert!(declared, "{} {}", route.method, route.path);
            found += 1;
        }
        assert!(found > 2, "{found}");
    }

    #[test]
    fn a_field_of_an_update_that_a_record_shows_as_null_says_what_null_does() {
        let schemas = schemas::all();
        let mut silent = Vec::new();
        for route in table::v1().iter().filter(|route| route.method == "put" && route.updates) {
            let Gives::One(shape) = route.gives else { continue };
            let shown = &schemas[&shape.name()]["properties"];
            // For whom a request is made is no field of the record.
            for param in route.params.iter().filter(|param| param.name != "external_user_id") {
                let field = shown[param.name].to_string();
                if field.contains(r#""null""#) && !param.about.contains("null") {
                    silent.push(format!("{} {}", route.path, param.name));
                }
            }
        }
        assert!(silent.is_empty(), "{silent:#?}");
    }

    #[test]
    fn the_page_shows_every_route_and_holds_no_script() {
        let page = html();
        assert!(
            table::v1().iter().all(|route| page.contains(&format!("/v1{}</code>", route.path)))
        );
        assert!(!page.contains("<script") && !page.contains("style="));
        // Schemas are shown as they are; their descriptions have code in backticks.
        let texts = page.split("<pre>").map(|part| part.rsplit("</pre>").next().unwrap_or(part));
        assert_eq!(texts.filter(|text| text.contains('`')).count(), 0);
    }
}
