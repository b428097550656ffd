//! Responses of the OpenAPI document: the success of each operation, and the refusals that
//! operations share.

use serde_json::{Map, Value, json};

use crate::contract::routes::{BESIDE_TOPICS, Gives, Needs, Route};
use crate::contract::shape::{Shape, reference};

pub(crate) fn responses(route: &Route) -> Value {
    let (media, schema) = match route.gives {
        Gives::One(shape) => ("application/json", data(reference(&shape.name()))),
        Gives::List(shape) => {
            let items = reference(&shape.name());
            let mut list = data(json!({ "type": "array", "items": items }));
            if route.params.iter().any(|param| param.name == "after") {
                list["properties"]["page_info"] = reference("PageInfo");
            }
            ("application/json", list)
        }
        Gives::Page(shape) => {
            let items = reference(&shape.name());
            let mut page = data(json!({ "type": "array", "items": items }));
            page["properties"]["page_info"] = reference("PageInfo");
            page["required"] = json!(["page_info", "data"]);
            ("application/json", page)
        }
        Gives::Bare(shape) => ("application/json", reference(&shape.name())),
        Gives::Stream(_) | Gives::Topics(_) => ("text/event-stream", json!({ "type": "string" })),
        Gives::Lines(shape) => ("application/x-ndjson", reference(&shape.name())),
        Gives::Bytes => {
            ("application/octet-stream", json!({ "type": "string", "format": "binary" }))
        }
        Gives::Image => ("image/*", json!({ "type": "string", "format": "binary" })),
    };
    let mut responses = json!({
        route.status.to_string(): { "description": "Done", "content": { media: { "schema": schema } } },
    });
    let done = &mut responses[route.status.to_string()];
    done["headers"] = headers_of_each();
    if route.has_tag {
        done["headers"]["ETag"] = header("Tag of the record, for `If-Match`", "string");
    }
    if matches!(route.gives, Gives::Bytes) {
        done["headers"]["Content-Disposition"] =
            header("`attachment`: a browser stores the file and never shows it", "string");
    }
    if let Gives::Stream(events) | Gives::Topics(events) = route.gives {
        let beside = if matches!(route.gives, Gives::Topics(_)) { BESIDE_TOPICS } else { &[] };
        let beside = beside.iter().map(|(name, shape)| (*name, reference(&shape.name())));
        // OpenAPI 3.1 has no word for what a stream is made of.
        done["content"][media]["x-events"] = events
            .iter()
            .map(|(name, shape)| (*name, frame(route.gives, *shape)))
            .chain(beside)
            .map(|(name, schema)| (name.to_owned(), schema))
            .collect();
    }
    for (status, _) in REFUSALS.iter().filter(|(status, _)| may_refuse(route, status)) {
        responses[*status] = json!({ "$ref": format!("#/components/responses/{status}") });
    }
    if let Some((status, shape)) = route.or {
        let schema = data(reference(&shape.name()));
        responses[status.to_string()] = json!({ "description": "Counted", "headers": headers_of_each(), "content": { "application/json": { "schema": schema } } });
    }
    responses
}

/// Refusals that answers of several routes share; the code says which one it is.
const REFUSALS: &[(&str, &str)] = &[
    ("401", "No valid key or session"),
    ("403", "The key or the role lacks a scope"),
    ("404", "Not there, or another organization's"),
    ("412", "Changed since the record that `If-Match` names"),
    ("422", "A field is wrong or missing: `details.field`"),
    ("429", "Asked too often; `Retry-After` says when to try again"),
    ("4XX", "Refused for another reason: `code`"),
    ("5XX", "Failed; 503 may be tried again, after `Retry-After`"),
];

/// Whether a route may answer so; what few routes do stands under `4XX`.
fn may_refuse(route: &Route, status: &str) -> bool {
    match status {
        "401" => route.needs != Needs::Nothing,
        "403" => matches!(route.needs, Needs::Scope(_)),
        "404" => route.path.contains('{'),
        "412" => route.if_match,
        _ => true,
    }
}

/// The responses that operations refer to.
pub(crate) fn refusals() -> Value {
    let response = |(status, about): &(&str, &str)| {
        let mut response = json!({ "description": about, "headers": headers_of_each(), "content": { "application/json": { "schema": reference("Error") } } });
        if matches!(*status, "429" | "4XX" | "5XX") {
            response["headers"]["Retry-After"] =
                header("Whole seconds after which to try again", "integer");
        }
        if *status == "401" {
            response["headers"]["WWW-Authenticate"] = header("`Bearer`", "string");
        }
        ((*status).to_owned(), response)
    };
    REFUSALS.iter().map(response).collect::<Map<_, _>>().into()
}

/// Headers that every answer has.
fn headers_of_each() -> Value {
    json!({ "X-Request-Id": { "$ref": "#/components/headers/X-Request-Id" } })
}

/// The headers that responses refer to.
pub(crate) fn headers() -> Value {
    json!({ "X-Request-Id": header("Id of the request, by which the server's log names it", "string") })
}

fn header(about: &str, kind: &str) -> Value {
    json!({ "description": about, "schema": { "type": kind } })
}

/// The data of an event of a stream.
fn frame(gives: Gives, shape: Shape) -> Value {
    let data = reference(&shape.name());
    match gives {
        Gives::Topics(_) => {
            json!({ "type": "object", "properties": { "topic": { "type": "string" }, "data": data }, "required": ["topic", "data"] })
        }
        _ => data,
    }
}

fn data(schema: Value) -> Value {
    json!({ "type": "object", "properties": { "data": schema }, "required": ["data"], "additionalProperties": false })
}
