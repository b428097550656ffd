//! Route: one value with its path, the scope that it needs, its parameters and answers, and its
//! handler. The router and the OpenAPI document are made of the same values (see `table`), so that
//! neither can say what the other does not.

use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Extension, Request};
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use millrace_model::tenant::Scope;
use serde_json::{Map, Value};

use crate::contract::codes::ErrorOut;
use crate::contract::known::Known;
pub(crate) use crate::contract::param::{FIELDS, Kind, PAGE, Param, limit};
use crate::contract::schemas;
use crate::contract::shape::{Shape, of};
use crate::fields::PageInfoOut;
use crate::input::Input;
use crate::v1::names::DeletedOut;
use crate::v1::stream::{HeartbeatOut, LagOut};
use crate::{App, KEYLESS_BODY_BYTES_MAX};

/// What a caller's key must be good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// No key: what is sent proves who asks.
    Nothing,
    /// Any key will do.
    AnyKey,
    /// A key with this scope.
    Scope(Scope),
}

/// What a success holds.
#[derive(Clone, Copy)]
pub(crate) enum Gives {
    /// `{"data": …}`.
    One(Shape),
    /// `{"page_info": …, "data": […]}`.
    Page(Shape),
    /// `{"data": […]}`.
    List(Shape),
    /// The value itself.
    Bare(Shape),
    /// Server-sent events: their names (empty: none) and the shapes of their data.
    Stream(&'static [(&'static str, Shape)]),
    /// The same of topics: the data is `{"topic", "data": …}`; and [`BESIDE_TOPICS`] as they are.
    Topics(&'static [(&'static str, Shape)]),
    /// A JSON line for each record.
    Lines(Shape),
    /// What is in a file.
    Bytes,
    /// An image.
    Image,
}

/// One method of one path below `/v1`.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) needs: Needs,
    pub(crate) about: &'static str,
    pub(crate) params: Vec<Param>,
    /// Whether the parameters are documented in the query though the method has a body: both are
    /// read.
    pub(crate) in_query: bool,
    /// Whether it reads `If-Match`.
    pub(crate) if_match: bool,
    /// Whether it reads `Last-Event-ID`.
    pub(crate) resumes: bool,
    /// Whether its answers have an `ETag`.
    pub(crate) has_tag: bool,
    /// The media type of a body that is no JSON.
    pub(crate) raw_body: Option<&'static str>,
    pub(crate) gives: Gives,
    pub(crate) status: u16,
    /// Another success: its status, and the shape of its data.
    pub(crate) or: Option<(u16, Shape)>,
    /// Whether it takes the record that it gives, which may be written back whole, or posted to
    /// make another.
    pub(crate) updates: bool,
    answer: MethodRouter<App>,
}

impl Route {
    pub(crate) fn takes(mut self, params: &[Param]) -> Self {
        self.params.extend_from_slice(params);
        self
    }

    /// Its parameters are the fields of a type.
    pub(crate) fn reads<I: Input>(self) -> Self {
        self.takes(I::PARAMS)
    }

    /// Bounds of a number among its parameters.
    pub(crate) fn bounds(mut self, name: &str, least: u32, most: u32) -> Self {
        for param in self.params.iter_mut().filter(|param| param.name == name) {
            *param = param.within(least, most);
        }
        self
    }

    pub(crate) fn in_query(self) -> Self {
        Self { in_query: true, ..self }
    }

    /// The body is a .tar.gz archive of at most so many bytes, the parameters stand in the query.
    pub(crate) fn archive(self, bytes_max: usize) -> Self {
        Self {
            in_query: true,
            raw_body: Some("application/gzip"),
            answer: self.answer.layer(DefaultBodyLimit::max(bytes_max)),
            ..self
        }
    }

    /// The body is a file, the parameters stand in the query.
    pub(crate) fn file(self) -> Self {
        Self { in_query: true, raw_body: Some("application/octet-stream"), ..self }
    }

    /// It answers 412 where `If-Match` names another entity tag.
    pub(crate) fn if_match(self) -> Self {
        Self { if_match: true, ..self }
    }

    /// It goes on behind the event that `Last-Event-ID` names.
    pub(crate) fn resumes(self) -> Self {
        Self { resumes: true, ..self }
    }

    /// Its answers have the entity tag of their record.
    pub(crate) fn tagged(self) -> Self {
        Self { has_tag: true, ..self }
    }

    pub(crate) fn one(self, shape: Shape) -> Self {
        Self { gives: Gives::One(shape), ..self }.takes(FIELDS)
    }

    pub(crate) fn page(self, shape: Shape) -> Self {
        Self { gives: Gives::Page(shape), ..self }.takes(PAGE).takes(FIELDS)
    }

    /// A page of a list that goes forward only.
    pub(crate) fn forward(self, shape: Shape) -> Self {
        Self { gives: Gives::Page(shape), ..self }.takes(&PAGE[..2]).takes(FIELDS)
    }

    pub(crate) fn gives(self, gives: Gives) -> Self {
        Self { gives, ..self }
    }

    /// It takes the record that it gives: the record's other fields may stand in the request as
    /// they were read.
    pub(crate) fn updates(self) -> Self {
        Self { updates: true, ..self }
    }

    /// Names that `include` and `exclude` may give: of the fields of its records.
    fn shown(&self, schemas: &Map<String, Value>) -> Vec<String> {
        let shape = match self.gives {
            Gives::One(shape) | Gives::Page(shape) => shape,
            Gives::List(shape) if self.params.iter().any(|param| param.name == "include") => shape,
            _ => return Vec::new(),
        };
        let other = self.or.map(|(_, shape)| shape);
        let mut names = Vec::new();
        for shape in std::iter::once(shape).chain(other) {
            schemas::field_names(&schemas[&shape.name()], schemas, &mut names);
        }
        names
    }

    /// Names of the record that it takes.
    fn record(&self, schemas: &Map<String, Value>) -> Vec<String> {
        let (Gives::One(shape) | Gives::Bare(shape)) = self.gives else { return Vec::new() };
        let fields = schemas
            .get(&shape.name())
            .filter(|_| self.updates)
            .and_then(|schema| schema["properties"].as_object());
        fields.into_iter().flat_map(Map::keys).cloned().collect()
    }

    pub(crate) fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// It may answer with another record as well.
    pub(crate) fn or(self, status: u16, shape: Shape) -> Self {
        Self { or: Some((status, shape)), ..self }
    }

    /// The shapes of what it is given.
    pub(crate) fn given(&self) -> Vec<Shape> {
        fn of_params(params: &[Param], shapes: &mut Vec<Shape>) {
            for param in params {
                match param.kind {
                    Kind::Of(shape) | Kind::ListOf(shape) | Kind::WordsOf(shape) => {
                        shapes.push(shape);
                    }
                    Kind::Fields(fields) => {
                        fields.iter().for_each(|fields| of_params(fields, shapes));
                    }
                    _ => {}
                }
            }
        }
        let mut shapes = Vec::new();
        of_params(&self.params, &mut shapes);
        shapes
    }

    /// The shapes of all that it may answer with.
    pub(crate) fn shapes(&self) -> Vec<Shape> {
        let mut shapes = match self.gives {
            Gives::Page(shape) => vec![of::<PageInfoOut>(), shape],
            Gives::One(shape) | Gives::List(shape) | Gives::Bare(shape) | Gives::Lines(shape) => {
                vec![shape]
            }
            Gives::Stream(events) => events.iter().map(|(_, shape)| *shape).collect(),
            Gives::Topics(events) => {
                events.iter().chain(BESIDE_TOPICS).map(|(_, shape)| *shape).collect()
            }
            Gives::Bytes | Gives::Image => Vec::new(),
        };
        shapes.push(of::<ErrorOut>());
        shapes.extend(self.or.map(|(_, shape)| shape));
        shapes
    }
}

/// Events of a stream of topics that are not of one topic's records.
pub(crate) const BESIDE_TOPICS: &[(&str, Shape)] =
    &[("lag", of::<LagOut>()), ("heartbeat", of::<HeartbeatOut>())];

type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler of any type as one type: the router's generic code, and the proof that a handler's
/// future is `Send`, would otherwise be compiled some twenty times for each route.
#[derive(Clone)]
struct AnyHandler(Arc<dyn Fn(Request, App) -> Answer + Send + Sync>);

impl AnyHandler {
    fn new<H: Handler<T, App>, T: 'static>(handler: H) -> Self {
        Self(Arc::new(move |request, app| Box::pin(handler.clone().call(request, app))))
    }
}

impl Handler<(), App> for AnyHandler {
    type Future = Answer;

    fn call(self, request: Request, app: App) -> Answer {
        (self.0)(request, app)
    }
}

fn route<H: Handler<T, App>, T: 'static>(
    method: (&'static str, MethodFilter),
    path: &'static str,
    needs: Needs,
    about: &'static str,
    handler: H,
) -> Route {
    let mut answer: MethodRouter<App> = on(method.1, AnyHandler::new(handler));
    if needs == Needs::Nothing {
        answer = answer.layer(DefaultBodyLimit::max(KEYLESS_BODY_BYTES_MAX));
    }
    Route {
        method: method.0,
        path,
        needs,
        about,
        params: Vec::new(),
        in_query: false,
        if_match: false,
        resumes: false,
        has_tag: false,
        raw_body: None,
        gives: Gives::One(of::<DeletedOut>()),
        status: 200,
        or: None,
        updates: false,
        answer,
    }
}

pub(crate) fn get<H: Handler<T, App>, T: 'static>(
    path: &'static str,
    needs: Needs,
    about: &'static str,
    handler: H,
) -> Route {
    route(("get", MethodFilter::GET), path, needs, about, handler)
}

pub(crate) fn post<H: Handler<T, App>, T: 'static>(
    path: &'static str,
    needs: Needs,
    about: &'static str,
    handler: H,
) -> Route {
    route(("post", MethodFilter::POST), path, needs, about, handler)
}

pub(crate) fn put<H: Handler<T, App>, T: 'static>(
    path: &'static str,
    needs: Needs,
    about: &'static str,
    handler: H,
) -> Route {
    route(("put", MethodFilter::PUT), path, needs, about, handler)
}

pub(crate) fn delete<H: Handler<T, App>, T: 'static>(
    path: &'static str,
    needs: Needs,
    about: &'static str,
    handler: H,
) -> Route {
    route(("delete", MethodFilter::DELETE), path, needs, about, handler)
}

/// The router of a table.
pub(crate) fn router(table: Vec<Route>) -> Router<App> {
    let schemas = schemas::all();
    table.into_iter().fold(Router::new(), |router, route| {
        // The caller is let in where it is extracted: by then the route is known, and what it needs
        // and takes stands beside the request.
        let known = Arc::new(Known::new(
            route.method,
            route.path,
            route.needs,
            &route.params,
            route.record(&schemas),
            route.shown(&schemas),
        ));
        router.route(route.path, route.answer.route_layer(Extension(known)))
    })
}
