//! `/registries`, search, and components of registries.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use millrace_engine::{
    AskedComponents, EngineError, ErrorKind, RegistryEntry, RegistryUpload, RegistryView,
    SearchedComponent, WouldGo,
};
use millrace_model::component::{CodeFiles, ComponentType, PropDef};
use millrace_model::ids::{ComponentId, RegistryId};
use millrace_model::page::Page;
use millrace_model::registry::{FailedUpdate, Registry, Unindexed};
use millrace_model::tenant::Caller;
use serde_json::{Map, Value};

use crate::App;
use crate::audit::unchanged;
use crate::contract::routes::{Gives, Route, delete, get, limit, post, put};
use crate::contract::schemas::props::PropOut;
use crate::contract::shape::{OrNull, of, record};
use crate::contract::table::{DEPLOY, DRY_RUN, ORG, READ, a, flag, text};
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, query};
use crate::fields::Fields;
use crate::shown_key::whole_body;
use crate::v1::components::{ComponentOut, FromRegistryOut, apps_of};
use crate::v1::connect_records::{AnnotationsOut, hints};
use crate::v1::names::{self, WouldGoOut, words};

/// The largest archive: the whole public tree is a tenth of it.
pub(crate) const ARCHIVE_BYTES_MAX: usize = 96 << 20;

record! {
    /// An update of a registry that was refused: the registry stays as it was
    FailedUpdateOut<'a>(f: &'a FailedUpdate) {
        at: i64 = f.at.secs(),
        message: &'a str = &f.message,
    }
}

record! {
    /// A registry: a tree of components. `unindexed_count`: files of components that its last
    /// update could not index; null where that was before they were counted. `failed_update`: the
    /// last update, where it was refused
    RegistryOut<'a>(r: &'a Registry) {
        id: &'a RegistryId = &r.id,
        name: &'a str = &r.name,
        origin: &'a str = &r.origin,
        revision: &'a str = &r.revision,
        file_count: i64 = r.file_count,
        component_count: i64 = r.component_count,
        unindexed_count: Option<i64> = r.unindexed_count,
        failed_update: Option<FailedUpdateOut<'a>> =
            r.failed_update.as_ref().map(FailedUpdateOut::new),
        created_at: i64 = r.created_at.secs(),
        updated_at: i64 = r.updated_at.secs(),
    }
}

record! {
    /// A file of a registry that is no component, and why
    UnindexedOut<'a>(path: &'a str, reason: &'a str) {
        path: &'a str = path,
        reason: &'a str = reason,
    }
}

record! {
    /// A registry with the files that its last update could not index, the first 200 by path
    RegistryWithUnindexedOut<'a>(r: &'a Registry, unindexed: &'a [Unindexed]) {
        #[serde(flatten)]
        record: RegistryOut<'a> = RegistryOut::new(r),
        unindexed: Vec<UnindexedOut<'a>> = all_unindexed(unindexed),
    }
}

record! {
    /// A registry with the files that this update could not index, the first 200 by path;
    /// `read_count`: files of components that were read anew
    NewRegistryOut<'a>(view: &'a RegistryView) {
        #[serde(flatten)]
        record: RegistryOut<'a> = RegistryOut::new(&view.registry),
        read_count: usize = view.read,
        unindexed: Vec<UnindexedOut<'a>> = all_unindexed(&view.unindexed),
    }
}

record! {
    /// A registry that was deleted; with `dry_run`, `deleted` is false, and the `uses` of
    /// `would_go` are what was deployed from it: they go on, and their keys can be deployed again
    /// only where another registry has them
    DeletedRegistryOut<'a>(name: &'a str, dry: Option<&'a WouldGo>) {
        name: &'a str = name,
        deleted: bool = dry.is_none(),
        #[serde(skip_serializing_if = "Option::is_none")]
        would_go: Option<WouldGoOut<'a>> = dry.map(WouldGoOut::new),
    }
}

record! {
    /// A component that a key names: a saved one, or one of a registry, which has an id from its
    /// first deploy on
    RegistryComponentOut<'a>(e: &'a RegistryEntry) with {
        let (c, m) = (&e.component, &e.manifest);
    } {
        id: Option<ComponentId> = None,
        code: &'a str = &e.code,
        code_hash: &'a str = &c.hash,
        name: Option<&'a str> = known(&c.name, m.name.as_deref()),
        key: Option<&'a str> = Some(&c.key),
        version: Option<&'a str> = known(&c.version, m.version.as_deref()),
        description: Option<&'a str> = known(&c.description, m.description.as_deref()),
        #[schemars(with = "ComponentType")]
        r#type: &'a str = &c.component_type,
        #[serde(skip_serializing_if = "Option::is_none")]
        files: Option<OrNull<&'a CodeFiles>> = None,
        #[schemars(with = "Vec<PropOut>")]
        configurable_props: &'a [PropDef] = &m.props,
        #[schemars(with = "Option<AnnotationsOut>")]
        annotations: Option<Map<String, Value>> = m.annotations.as_ref().and_then(hints),
        sample_emit: Option<&'a Value> = m.sample_emit.as_ref(),
        apps: Vec<&'a str> = apps_of(&m.props),
        #[serde(skip_serializing_if = "Option::is_none")]
        app: Option<&'a str> = Some(&c.app),
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<&'a str> = Some(&c.path),
        #[serde(skip_serializing_if = "Option::is_none")]
        versions: Option<&'a [String]> = Some(&e.versions),
        #[serde(skip_serializing_if = "Option::is_none")]
        component_url: Option<OrNull<&'a str>> = None,
        registry: Option<FromRegistryOut<'a>> = Some(FromRegistryOut::new(&e.from)),
        published: bool = false,
        #[serde(skip_serializing_if = "Option::is_none")]
        created_at: Option<i64> = None,
        #[serde(skip_serializing_if = "Option::is_none")]
        updated_at: Option<i64> = None,
    }
}

record! {
    /// A component that fits; `registry`: the name of the one that its code is from
    FoundComponentOut<'a>(found: &'a SearchedComponent) with {
        let c = &found.component;
    } {
        key: &'a str = &c.key,
        name: &'a str = &c.name,
        description: &'a str = &c.description,
        version: &'a str = &c.version,
        #[schemars(with = "ComponentType")]
        r#type: &'a str = &c.component_type,
        app: &'a str = &c.app,
        registry: Option<&'a str> = found.registry.as_deref(),
    }
}

record! {
    /// What fits, best first: keys by type, and all components
    FoundOut<'a>(found: &'a [SearchedComponent]) {
        sources: Vec<&'a str> = keys(found, "source"),
        actions: Vec<&'a str> = keys(found, "action"),
        components: Vec<FoundComponentOut<'a>> = found.iter().map(FoundComponentOut::new).collect(),
    }
}

record! {
    /// What fits; the keys stand beside `data` too, where clients of the hosted platform look for
    /// them
    FoundKeysOut<'a>(data: Value, found: &'a [SearchedComponent]) {
        #[schemars(with = "FoundOut")]
        data: Value = data,
        sources: Vec<&'a str> = keys(found, "source"),
        actions: Vec<&'a str> = keys(found, "action"),
    }
}

pub(crate) fn routes() -> Vec<Route> {
    let about = [
        text("origin", "Where the tree comes from"),
        text("revision", "Which state of it this is"),
    ];
    vec![
        post(
            "/registries",
            DEPLOY,
            "Make a registry of a tree of components, a .tar.gz archive in the body",
            create,
        )
        .takes(&[text("name", "Its name").required(), ORG])
        .takes(&about)
        .archive(ARCHIVE_BYTES_MAX)
        .one(of::<NewRegistryOut>()),
        get("/registries", READ, "Registries", list).takes(&[ORG]).page(of::<RegistryOut>()),
        get(
            "/registries/{name}",
            READ,
            "A registry, with the files that its last update could not index",
            show,
        )
        .one(of::<RegistryWithUnindexedOut>()),
        put("/registries/{name}", DEPLOY, "Put another tree in the place of a registry's", replace)
            .takes(&about)
            .archive(ARCHIVE_BYTES_MAX)
            .one(of::<NewRegistryOut>()),
        delete(
            "/registries/{name}",
            DEPLOY,
            "Delete a registry; what was deployed from it stays",
            remove,
        )
        .takes(&[DRY_RUN])
        .gives(Gives::One(of::<DeletedRegistryOut>())),
        get(
            "/components/registry/{id}",
            READ,
            "A component, by key: a published one, else one of a registry",
            component,
        )
        .one(of::<RegistryComponentOut>()),
        get(
            "/components/search",
            READ,
            "Published components and those of registries that fit, best first",
            search,
        )
        .takes(&[
            text("query", "Words"),
            text("app", "Only of the app with this slug or id"),
            a::<ComponentType>("type", "Only of this type: `source` or `action`"),
            text("registry", "Only those whose code is from the registry with this name"),
            flag("own", "Only those that the organization published"),
            limit("How many at most", Page::LIMIT_DEFAULT),
        ])
        .one(of::<FoundOut>())
        .gives(Gives::Bare(of::<FoundKeysOut>())),
    ]
}

fn keys<'a>(found: &'a [SearchedComponent], kind: &str) -> Vec<&'a str> {
    let components = found.iter().map(|found| &found.component);
    components.filter(|c| c.component_type == kind).map(|c| c.key.as_str()).collect()
}

fn all_unindexed(files: &[Unindexed]) -> Vec<UnindexedOut<'_>> {
    files.iter().map(|file| UnindexedOut::new(&file.path, &file.reason)).collect()
}

/// What the index knows, else what the component says.
fn known<'a>(known: &'a str, said: Option<&'a str>) -> Option<&'a str> {
    if known.is_empty() { said } else { Some(known) }
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    request: Request,
) -> Result<Response, ApiError> {
    let params = Params(query(request.uri().query()));
    params.org_is(&caller)?;
    let name = params.text("name")?.ok_or_else(|| {
        ApiError::missing("name", "it stands in the query, the archive is the body")
    })?;
    put_tree(&app, &caller, &params, name, request, true).await
}

pub(crate) async fn replace(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(name): Path,
    request: Request,
) -> Result<Response, ApiError> {
    let params = Params(query(request.uri().query()));
    put_tree(&app, &caller, &params, name, request, false).await
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let items: Vec<_> = app
        .engine
        .registries()
        .list(&caller)
        .await?
        .iter()
        .map(|r| (r.name.clone(), RegistryOut::show(r)))
        .collect();
    Fields::of(&query.params).whole(items, &query.page)
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(name): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let (registry, unindexed) = app.engine.registries().get(&caller, &name).await?;
    Ok(Fields::of(&query.params).data(RegistryWithUnindexedOut::show(&registry, &unindexed)))
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(name): Path,
    params: Params,
) -> Result<Response, ApiError> {
    if names::is_dry(&params)? {
        let would_go = app.engine.registry_would_go(&caller, &name).await?;
        return Ok(unchanged(
            Fields::default().data(DeletedRegistryOut::show(&name, Some(&would_go))),
        ));
    }
    app.engine.registries().delete(&caller, &name).await?;
    Ok(Fields::default().data(DeletedRegistryOut::show(&name, None)))
}

/// Keys of sources and actions that fit, best first (reference 2); `components` says more of them,
/// in the same order.
pub(crate) async fn search(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let words = words(&query.params, "query")?;
    let of_app = query.params.text("app")?;
    let limit = usize::try_from(query.page.limit).unwrap_or(usize::MAX);
    let component_type = query.params.text("type")?;
    let registry = query.params.text("registry")?.filter(|name| !name.is_empty());
    if let Some(other) =
        component_type.as_deref().filter(|kind| !["source", "action"].contains(kind))
    {
        let shown = millrace_model::shown(other);
        return Err(ApiError::field(
            "type",
            format!("`{shown}` is no type of component; allowed are source and action"),
        ));
    }
    let is_own = query.params.flag("own")?.unwrap_or(false);
    let asked = AskedComponents {
        words: &words,
        app: of_app.as_deref(),
        component_type: component_type.as_deref(),
        registry: registry.as_deref(),
        is_own,
    };
    let found = app.engine.registries().search(&caller, &asked, limit).await?;
    // Keys by their kind, and no record: `include` and `exclude` name nothing of it.
    Ok(Json(FoundKeysOut::show(FoundOut::show(&found), &found)).into_response())
}

/// A published component, else one of a registry.
pub(crate) async fn component(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(key): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    Ok(Fields::of(&query.params).data(found(&app, &caller, &key).await?))
}

/// The record of what a key names.
pub(crate) async fn found(app: &App, caller: &Caller, key: &str) -> Result<Value, ApiError> {
    match app.engine.component(caller, key).await {
        Ok(component) => Ok(ComponentOut::show(&component)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Ok(RegistryComponentOut::show(&app.engine.registries().entry(caller, key).await?))
        }
        Err(error) => Err(error.into()),
    }
}

async fn put_tree(
    app: &App,
    caller: &Caller,
    params: &Params,
    name: String,
    request: Request,
    is_new: bool,
) -> Result<Response, ApiError> {
    let archive = whole_body(request, app, ARCHIVE_BYTES_MAX).await?;
    if archive.is_empty() {
        return Err(EngineError::missing(
            "archive",
            "the body is empty; send a .tar.gz archive of the components",
        )
        .into());
    }
    let text = |field| params.text(field).map(Option::unwrap_or_default);
    let (origin, revision) = (text("origin")?, text("revision")?);
    let upload = RegistryUpload { name, origin, revision, archive, is_new };
    let view = app.engine.registries().put(caller, upload).await?;
    Ok(Fields::of(params).data(NewRegistryOut::show(&view)))
}
