//! Parameters of a request: its query, and the JSON or form of its body, read within a bound of
//! memory.

use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::http::header;
use millrace_engine::{EngineError, read_value};
use millrace_model::tenant::Caller;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::audit::RequestAudit;
use crate::body_fields::merge;
use crate::contract::bounds;
use crate::contract::known::Known;
use crate::contract::routes::Needs;
use crate::error::ApiError;
use crate::extract::NamesOrg;
use crate::guard::Part;
use crate::room::{Share, Use, Whose};
use crate::shown_key::whole_body;
use crate::{App, KEYLESS_BODY_BYTES_MAX, V1_BODY_BYTES_MAX};

/// Parameters of a request: the query, and over it the JSON body (reference 1).
pub(crate) struct Params(pub(crate) Map<String, Value>);

impl FromRequest<App> for Params {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let mut params = query(request.uri().query());
        let for_user = params.get(EXTERNAL_USER).cloned();
        let audit = request.extensions().get::<RequestAudit>().cloned();
        let media =
            request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
        let is_form = media.split(';').next().is_some_and(|media| {
            media.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded")
        });
        let (known, names_org) = (
            request.extensions().get::<Arc<Known>>().cloned(),
            request.extensions().get::<NamesOrg>().cloned(),
        );
        let limit = match known.as_ref().map(|known| known.needs) {
            Some(Needs::Nothing) => KEYLESS_BODY_BYTES_MAX,
            _ => V1_BODY_BYTES_MAX,
        };
        let part = request.extensions().get::<Arc<Part>>().cloned();
        let whose = Whose::of(request.extensions());
        let share = Share::of(&app.unfolded, Use::Reading, whose.clone());
        let bytes = whole_body(request, app, limit).await?;
        let is_large = bytes.len() > READ_AT_ONCE_BYTES_MAX;
        let read = move || {
            let memory = unfolded(&bytes, is_form);
            if memory > UNFOLDED_BYTES_MAX {
                return Err(ApiError::body_unfolds(memory, UNFOLDED_BYTES_MAX));
            }
            let fields = named(&bytes, is_form);
            if fields > FIELDS_MAX {
                return Err(ApiError::too_many_fields(fields, FIELDS_MAX));
            }
            if let Some(part) = part {
                if !share.grow(memory) {
                    return Err(ApiError::no_memory_for_body());
                }
                part.unfolds_to(share);
            }
            if is_form {
                // OAuth asks for it (RFC 6749, 4.4.2), and `curl -d` says it of whatever it sends.
                merge_form(&mut params, &bytes, known.as_deref())?;
            } else {
                merge(&mut params, &bytes, known.as_deref())?;
            }
            if let Some(known) = known {
                known.check(&params)?;
            }
            Ok(params)
        };
        let params = if is_large { app.large.run(&whose, read).await? } else { read()? };
        if let (Some(asked), Some(given)) = (for_user, params.get(EXTERNAL_USER))
            && asked != *given
        {
            return Err(given_twice(EXTERNAL_USER));
        }
        if let Some(audit) = audit {
            audit.gave(&params);
        }
        let params = Self(params);
        if let Some(NamesOrg(caller)) = names_org {
            params.org_is(&caller)?;
        }
        Ok(params)
    }
}

/// The field that names the external user of a request.
const EXTERNAL_USER: &str = "external_user_id";
/// The most characters of an external user's id (facts 6.2).
const EXTERNAL_USER_MAX: usize = 250;

/// A body beyond this is read beside the threads that serve all others, bytes.
const READ_AT_ONCE_BYTES_MAX: usize = 256 << 10;
/// The memory that one body may take as it is read, bytes.
const UNFOLDED_BYTES_MAX: usize = 256 << 20;
/// Named fields of one body, at any depth: each costs far more to read than the bytes that it has.
const FIELDS_MAX: usize = 100_000;
/// What a value takes in its list or object, with the room that these keep to grow, bytes.
const VALUE_BYTES: usize = 160;
/// What a list or object takes with its first value, bytes.
const NEST_BYTES: usize = 400;

/// About how much memory a body takes as it is read, beside its texts: each of its values takes far
/// more than the two bytes that it may be written in. Of a form the fields are counted.
pub(crate) fn unfolded(body: &[u8], is_form: bool) -> usize {
    if is_form && !is_object(body) {
        return body.iter().filter(|byte| **byte == b'&').count() * VALUE_BYTES;
    }
    let (mut bytes, mut in_text) = (0, false);
    let mut rest = body.iter();
    while let Some(byte) = rest.next() {
        match (byte, in_text) {
            (b'"', _) => in_text = !in_text,
            (b'\\', true) => _ = rest.next(),
            (b',', false) => bytes += VALUE_BYTES,
            (b'[' | b'{', false) => bytes += NEST_BYTES,
            _ => {}
        }
    }
    bytes
}

/// How many named fields a body has, in all of its objects.
fn named(body: &[u8], is_form: bool) -> usize {
    if is_form && !is_object(body) {
        return body.iter().filter(|byte| **byte == b'&').count() + 1;
    }
    let (mut fields, mut in_text) = (0, false);
    let mut rest = body.iter();
    while let Some(byte) = rest.next() {
        match (byte, in_text) {
            (b'"', _) => in_text = !in_text,
            (b'\\', true) => _ = rest.next(),
            (b':', false) => fields += 1,
            _ => {}
        }
    }
    fields
}

fn is_object(body: &[u8]) -> bool {
    body.trim_ascii().first() == Some(&b'{')
}

/// A body that says it is a form: JSON where it looks like an object all the same.
fn merge_form(
    params: &mut Map<String, Value>,
    body: &[u8],
    known: Option<&Known>,
) -> Result<(), ApiError> {
    if is_object(body) {
        return merge(params, body, known);
    }
    let text = std::str::from_utf8(body)
        .map_err(|_| ApiError::malformed_json("the body is a form, but not UTF-8"))?;
    let given = query(Some(text));
    given_once(Some(text), &given)?;
    params.extend(given);
    Ok(())
}

/// A query as parameters.
pub(crate) fn query(query: Option<&str>) -> Map<String, Value> {
    form_urlencoded::parse(query.unwrap_or("").as_bytes())
        .map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())))
        .collect()
}

/// Refuses a parameter of a query or form that is there twice with two values: one reader would
/// take the first and another the last.
pub(crate) fn given_once(text: Option<&str>, read: &Map<String, Value>) -> Result<(), ApiError> {
    // Most queries have one parameter, or none.
    let Some(text) = text.filter(|text| text.contains('&')) else { return Ok(()) };
    let mut pairs = form_urlencoded::parse(text.as_bytes());
    match pairs
        .find(|(name, value)| read.get(name.as_ref()).is_some_and(|kept| kept != value.as_ref()))
    {
        Some((name, _)) => Err(given_twice(&name)),
        None => Ok(()),
    }
}

/// The values are not shown: they may be secrets.
fn given_twice(name: &str) -> ApiError {
    let shown = millrace_model::shown(name);
    ApiError::field(
        &shown,
        format!(
            "`{shown}` is given twice, with two values; give it once (the values of a list with commas between them)"
        ),
    )
}

impl Params {
    /// A text; absent where it is null.
    pub(crate) fn text(&self, field: &str) -> Result<Option<String>, ApiError> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(ApiError::field(
                field,
                format!("`{field}` is {}, allowed is a string", short(other)),
            )),
        }
    }

    /// A text that the route declares as required.
    pub(crate) fn needed(&self, field: &str) -> Result<String, ApiError> {
        self.text(field)?.ok_or_else(|| ApiError::missing(field, "it is required"))
    }

    /// The external user for whom the request is made; None where none is named. One that is named
    /// in vain is refused: without one, the organization's own program sees everything.
    pub(crate) fn external_user(&self) -> Result<Option<String>, ApiError> {
        let field = EXTERNAL_USER;
        match self.0.get(field) {
            None => Ok(None),
            Some(Value::String(user))
                if !user.trim().is_empty() && user.chars().count() <= EXTERNAL_USER_MAX =>
            {
                Ok(Some(user.clone()))
            }
            Some(other) => {
                let allowed = format!(
                    "allowed is a text of 1 to {EXTERNAL_USER_MAX} characters; leave it out to act as the organization's own program"
                );
                Err(ApiError::field(field, format!("`{field}` is {}, {allowed}", short(other))))
            }
        }
    }

    /// True or false, also as text of a query.
    pub(crate) fn flag(&self, field: &str) -> Result<Option<bool>, ApiError> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if text == "true" || text == "1" => Ok(Some(true)),
            Some(Value::String(text)) if text == "false" || text == "0" => Ok(Some(false)),
            Some(other) => Err(ApiError::field(
                field,
                format!("`{field}` is {}, allowed are true and false", short(other)),
            )),
        }
    }

    /// An object.
    pub(crate) fn object(&self, field: &str) -> Result<Option<Map<String, Value>>, ApiError> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object.clone())),
            Some(other) => Err(ApiError::field(
                field,
                format!("`{field}` is {}, allowed is an object", short(other)),
            )),
        }
    }

    /// A whole number, also as text of a query.
    pub(crate) fn number<T: FromStr>(&self, field: &str) -> Result<Option<T>, ApiError> {
        let text = match self.0.get(field) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        text.parse().map(Some).map_err(|_| {
            ApiError::field(
                field,
                format!(
                    "`{field}` is {}, allowed is a whole number within bounds",
                    short(&self.0[field])
                ),
            )
        })
    }

    /// Words: a list of strings, or one string with commas between them.
    pub(crate) fn words(&self, field: &str) -> Result<Option<Vec<String>>, ApiError> {
        match self.0.get(field) {
            Some(Value::String(text)) => Ok(Some(bounds::words(text).map(str::to_owned).collect())),
            _ => self.parsed(field),
        }
    }

    /// Anything that serde reads.
    pub(crate) fn parsed<T: DeserializeOwned>(&self, field: &str) -> Result<Option<T>, ApiError> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => Ok(Some(read_value(field, value)?)),
        }
    }

    /// A field of an update: absent leaves what is there, null takes it away.
    pub(crate) fn change<T: DeserializeOwned>(
        &self,
        field: &str,
    ) -> Result<Option<Option<T>>, ApiError> {
        self.0.contains_key(field).then(|| self.parsed(field)).transpose()
    }

    /// That the organization, where one is named, is the caller's own; another one does not exist
    /// for it.
    pub(crate) fn org_is(&self, caller: &Caller) -> Result<(), ApiError> {
        for field in ["org_id", "workspace_id"] {
            if let Some(org) = self.text(field)?
                && org != caller.org_id.as_str()
            {
                return Err(EngineError::not_found("workspace", org).into());
            }
        }
        Ok(())
    }
}

pub(crate) fn short(value: &Value) -> String {
    format!("`{}`", millrace_model::shown(&value.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_body_unfolds_to_is_told_before_it_is_read() {
        let json = br#"{"a": [0, 1, ",,[{&\\\",,"], "b": "\\"}"#;
        assert_eq!(
            (unfolded(json, false), unfolded(json, true)),
            (2 * NEST_BYTES + 3 * VALUE_BYTES, 2 * NEST_BYTES + 3 * VALUE_BYTES)
        );
        assert_eq!((unfolded(b"\"=1&b=2,[", true), unfolded(b"\"\\", false)), (VALUE_BYTES, 0));
        assert_eq!(
            (
                named(json, false),
                named(json, true),
                named(b"\"=1&b=:2", true),
                named(br#"{"a:": {"b": "\\\":"}}"#, false)
            ),
            (2, 2, 2, 2)
        );
    }

    #[test]
    fn parameters_are_read_as_texts_of_a_query_or_as_json() {
        let params = Params(
            json!({ "yes": "1", "no": false, "none": null, "text": "t", "object": { "a": 1 } })
                .as_object()
                .cloned()
                .unwrap(),
        );
        assert_eq!(
            (params.flag("yes").ok(), params.flag("no").ok(), params.flag("none").ok()),
            (Some(Some(true)), Some(Some(false)), Some(None))
        );
        assert_eq!(params.text("text").ok(), Some(Some("t".into())));
        assert!(params.object("object").is_ok_and(|o| o.is_some_and(|o| o["a"] == 1)));
        assert!(
            params.flag("text").is_err()
                && params.text("object").is_err()
                && params.object("text").is_err()
        );
    }
}
