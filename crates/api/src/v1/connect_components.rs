//! Components as clients for end users of such platforms list them: published ones and those of
//! registries, with their props.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{AskedComponents, EngineError};
use millrace_model::component::ComponentType;
use serde_json::Value;

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Path, Paths, encode_cursor};
use crate::fields::Fields;
use crate::v1::connect::own_project;
use crate::v1::connect_records::ConnectComponentOut;
use crate::v1::names::words;
use crate::v1::registries;

/// Best first; without words in the order of keys. `kind`: the type that the path names.
pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(project): Path,
    query: ListQuery,
    kind: Option<ComponentType>,
) -> Result<Response, ApiError> {
    own_project(&app, &caller, &project).await?;
    let asked = match query.params.text("component_type")?.as_deref() {
        None => None,
        Some("action") => Some(ComponentType::Action),
        Some("trigger" | "source") => Some(ComponentType::Source),
        Some(other) => {
            return Err(ApiError::field(
                "component_type",
                format!("`component_type` is `{other}`, allowed are `action` and `trigger`"),
            ));
        }
    };
    let (words, of_app) = (words(&query.params, "q")?, query.params.text("app")?);
    let found = app
        .engine
        .registries()
        .search(
            &caller,
            &AskedComponents {
                words: &words,
                app: of_app.as_deref(),
                ..AskedComponents::default()
            },
            usize::MAX,
        )
        .await?;
    let fitting = found.into_iter().map(|found| found.component).filter(|c| {
        [kind, asked].into_iter().flatten().all(|kind| c.component_type == kind.name())
    });
    let keys = fitting.map(|c| (encode_cursor(&c.key), Value::from(c.key))).collect();
    let fields = Fields::of(&query.params);
    let (total, keys) = Fields::page_of(keys, &query.page)?;
    let mut items = Vec::with_capacity(keys.len());
    for (cursor, key) in keys {
        // Only of those on the page is the code looked at.
        items.push((
            cursor,
            ConnectComponentOut::show(
                &registries::found(&app, &caller, key.as_str().unwrap_or("")).await?,
            ),
        ));
    }
    Ok(fields.list(total, items))
}

/// `kind`: the type that the path names; a component of the other is not there.
pub(crate) async fn one(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([project, key]): Paths<2>,
    query: ListQuery,
    kind: Option<ComponentType>,
) -> Result<Response, ApiError> {
    own_project(&app, &caller, &project).await?;
    let version = query.params.text("version")?.filter(|version| !version.is_empty());
    let named = version.map_or_else(|| key.clone(), |version| format!("{key}@{version}"));
    let found = registries::found(&app, &caller, &named).await?;
    if let Some(kind) = kind.filter(|kind| found["type"] != kind.name()) {
        return Err(EngineError::not_found(kind.name(), key).into());
    }
    Ok(Fields::of(&query.params).data(ConnectComponentOut::show(&found)))
}
