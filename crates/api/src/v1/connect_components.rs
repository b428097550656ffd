//! Components as clients for end users of such platforms list them: published ones and those of registries, with their props.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::AskedComponents;
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Path, Paths, encode_cursor};
use crate::v1::connect::own_project;
use crate::v1::{connect_records, registries};
use crate::wire::Fields;

pub(crate) async fn actions(state: State<App>, auth: Auth, project: Path, query: ListQuery) -> Result<Response, ApiError> {
    listed(state, auth, project, query, Some("action")).await
}

pub(crate) async fn triggers(state: State<App>, auth: Auth, project: Path, query: ListQuery) -> Result<Response, ApiError> {
    listed(state, auth, project, query, Some("source")).await
}

pub(crate) async fn all(state: State<App>, auth: Auth, project: Path, query: ListQuery) -> Result<Response, ApiError> {
    listed(state, auth, project, query, None).await
}

/// Best first; without words in the order of keys.
async fn listed(State(app): State<App>, Auth(caller): Auth, Path(project): Path, query: ListQuery, kind: Option<&str>) -> Result<Response, ApiError> {
    own_project(&app, &caller, &project).await?;
    let asked = match query.params.text("component_type")?.as_deref() {
        None => None,
        Some("action") => Some("action"),
        Some("trigger" | "source") => Some("source"),
        Some(other) => return Err(ApiError::field("component_type", format!("`component_type` is `{other}`, allowed are `action` and `trigger`"))),
    };
    let (words, of_app) = (query.params.text("q")?.unwrap_or_default(), query.params.text("app")?);
    let found =
        app.engine.search_components(&caller, &AskedComponents { words: &words, app: of_app.as_deref(), ..AskedComponents::default() }, usize::MAX).await?;
    let fitting = found.into_iter().filter(|c| [kind, asked].into_iter().flatten().all(|kind| c.component_type == kind));
    let keys = fitting.map(|c| (encode_cursor(&c.key), Value::from(c.key))).collect();
    let fields = Fields::of(&query.params);
    let (total, keys) = Fields::page_of(keys, &query.page)?;
    let mut items = Vec::with_capacity(keys.len());
    for (cursor, key) in keys {
        // Only of those on the page is the code looked at.
        items.push((cursor, shown(&registries::found(&app, &caller, key.as_str().unwrap_or("")).await?)));
    }
    Ok(fields.list(total, items))
}

pub(crate) async fn one(State(app): State<App>, Auth(caller): Auth, Paths([project, key]): Paths<2>, query: ListQuery) -> Result<Response, ApiError> {
    own_project(&app, &caller, &project).await?;
    let version = query.params.text("version")?.filter(|version| !version.is_empty());
    let named = version.map_or_else(|| key.clone(), |version| format!("{key}@{version}"));
    Ok(Fields::of(&query.params).data(shown(&registries::found(&app, &caller, &named).await?)))
}

fn shown(component: &Value) -> Value {
    let field = |name: &str| component[name].clone();
    let text = |name: &str| component[name].as_str().unwrap_or("").to_owned();
    json!({
        "key": field("key"), "name": text("name"), "version": text("version"), "description": field("description"), "component_type": field("type"),
        "configurable_props": connect_records::props(&component["configurable_props"]), "annotations": connect_records::annotations(&component["annotations"]),
        "stash": null,
    })
}
