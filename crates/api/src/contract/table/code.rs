//! Components, registries and sources.

use millrace_model::ids::SourceId;

use super::{
    DEPLOY, DRY_RUN, DYNAMIC_PROPS, EVENT_NAME, INVOKE, LOG_EVENTS, LOGS, MADE_FROM, MESSAGE, ORG,
    READ, RUNS_SSE, STATS, code_params, flag, listed_runs, logged, number, object, removal,
    runs_sse, summaries, text,
};
use crate::contract::routes::{Gives, Kind, Param, Route, delete, get, post, put};
use crate::v1::{components, configure, events, registries, run_stream, runs, sources, sse};

pub(super) fn code() -> Vec<Route> {
    let values = object("configured_props", "Values filled in so far");
    vec![
        post(
            "/components/configure",
            DEPLOY,
            "The options of a prop: runs its options method",
            configure::options,
        )
        .takes(&[
            text("id", "A saved component's id, a key, or the id of a deployed source"),
            text("prop_name", "The prop").required(),
            values,
            number("page", "Counts from 0"),
            object("prev_context", "What the page before gave as `context`"),
            text("query", "What was typed to search"),
            DYNAMIC_PROPS,
        ])
        .takes(&code_params())
        .gives(Gives::Bare("Options")),
        post(
            "/components/props",
            DEPLOY,
            "The props that depend on others: runs `additionalProps`",
            configure::props,
        )
        .takes(&[
            text("id", "A saved component's id, a key, or the id of a deployed source"),
            values,
            DYNAMIC_PROPS,
        ])
        .takes(&code_params())
        .gives(Gives::Bare("DynamicProps")),
        post("/components", DEPLOY, "Save a component", components::create)
            .takes(&code_params())
            .takes(&[flag("publish", "Let it answer to its key"), ORG])
            .one("Component"),
        get("/components", READ, "Published components, newest first", components::list)
            .takes(&[ORG])
            .page("Component"),
        get(
            "/components/registry/{id}",
            READ,
            "A component, by key: a published one, else one of a registry",
            registries::component,
        )
        .one("RegistryComponent"),
        get(
            "/components/search",
            READ,
            "Published components and those of registries that fit, best first",
            registries::search,
        )
        .takes(&[
            text("query", "Words"),
            text("app", "Only of the app with this slug or id"),
            text("type", "Only of this type: `source` or `action`"),
            flag("own", "Only those that the organization published"),
            number("limit", "How many at most, 1 to 100; 10 where it is not given"),
        ])
        .one("Found")
        .gives(Gives::Bare("FoundKeys")),
        get("/components/{id}", READ, "A component, by key or id", components::show)
            .one("Component"),
        delete("/components/{id}", DEPLOY, "Take a published key away", components::unpublish)
            .gives(Gives::One("Unpublished")),
    ]
}

pub(super) fn of_registries() -> Vec<Route> {
    let about = [
        text("origin", "Where the tree comes from"),
        text("revision", "Which state of it this is"),
    ];
    vec![
        post(
            "/registries",
            DEPLOY,
            "Make a registry of a tree of components, a .tar.gz archive in the body",
            registries::create,
        )
        .takes(&[text("name", "Its name").required(), ORG])
        .takes(&about)
        .archive(registries::ARCHIVE_BYTES_MAX)
        .one("NewRegistry"),
        get("/registries", READ, "Registries", registries::list).takes(&[ORG]).page("Registry"),
        put(
            "/registries/{name}",
            DEPLOY,
            "Put another tree in the place of a registry's",
            registries::replace,
        )
        .takes(&about)
        .archive(registries::ARCHIVE_BYTES_MAX)
        .one("NewRegistry"),
        delete(
            "/registries/{name}",
            DEPLOY,
            "Delete a registry; what was deployed from it stays",
            registries::remove,
        )
        .gives(Gives::One("DeletedRegistry")),
    ]
}

pub(super) fn of_sources() -> Vec<Route> {
    let parts = [
        text("name", "Its name"),
        object("configured_props", "Values of its props"),
        DYNAMIC_PROPS,
        MESSAGE,
        MADE_FROM,
        Param::new(
            "calls_per_isolate",
            Kind::Any,
            "Runs that one process serves at the same time, 1 to 64; `false`: 1. Runs of one process share variables, `process.env` and `/tmp`",
        ),
        Param::new(
            "concurrency",
            Kind::Any,
            "Runs at the same time, 1 to 1000; `false`: 1 where it has a `$.service.db`, else no limit. More than one may lose updates of `$.service.db`",
        ),
    ];
    vec![
        get("/users/me/sources", READ, "Sources, newest first", sources::list)
            .takes(&[STATS, ORG])
            .page("Source"),
        get("/workspaces/{org}/sources", READ, "Sources, newest first", sources::list_of)
            .takes(&[STATS])
            .page("Source"),
        get("/orgs/{org}/sources", READ, "Sources, newest first", sources::list_of)
            .takes(&[STATS])
            .page("Source"),
        post("/sources", DEPLOY, "Deploy a source", sources::create)
            .takes(&code_params())
            .takes(&parts)
            .takes(&[
                flag("active", "Whether it runs from now on; true unless said otherwise"),
                ORG,
            ])
            .one("Source"),
        get("/sources", READ, "Sources, newest first", sources::list)
            .takes(&[STATS, ORG])
            .page("Source"),
        get("/sources/{id}", READ, "A source", sources::show).takes(&[STATS]).one("Source"),
        put("/sources/{id}", DEPLOY, "Change a source", sources::update)
            .takes(&code_params())
            .takes(&parts)
            .takes(&[flag("active", "Whether it runs"), ORG])
            .updates()
            .one("Source"),
        get(
            "/sources/{id}/deployments",
            READ,
            "Its deployments, newest first: the first is live",
            sources::deployments,
        )
        .page("SourceDeployment"),
        get(
            "/sources/{id}/deployments/{deployment}",
            READ,
            "A deployment with its code, props and settings",
            sources::deployment,
        )
        .gives(Gives::One("SourceDeployment")),
        post(
            "/sources/{id}/rollback",
            DEPLOY,
            "Make what an earlier deployment holds live again, as a new one",
            sources::rollback,
        )
        .takes(&[text("deployment_id", "The deployment").required(), MESSAGE])
        .gives(Gives::One("SourceDeployment")),
        delete("/sources/{id}", DEPLOY, "Delete a source", sources::remove).takes(&[DRY_RUN]),
        summaries(get(
            "/sources/{id}/event_summaries",
            READ,
            "What it emitted, newest first",
            events::list::<SourceId>,
        ))
        .takes(&[EVENT_NAME]),
        summaries(get(
            "/sources/{id}/$errors/event_summaries",
            READ,
            "Its errors, newest first",
            events::errors::<SourceId>,
        )),
        post(
            "/sources/{id}/events",
            INVOKE,
            "Emit an event to its listeners without a run of its code; dedupe does not see it",
            events::emit,
        )
        .takes(&[
            Param::new("event", Kind::Any, "The data that listeners get").required(),
            text("event_name", "The channel; the default one where it is not given"),
            Param::new("id", Kind::Any, "Shown in the event's metadata, as `$emit` takes it"),
            text("summary", "Shown in the event's metadata"),
            Param::new("ts", Kind::Any, "Shown in the event's metadata"),
        ])
        .gives(Gives::One("PassedOn")),
        post(
            "/sources/{id}/events/{event}/replay",
            INVOKE,
            "Send a recorded event again to its listeners of now",
            events::replay,
        )
        .takes(&[text("listener_id", "To this workflow, source or webhook alone")])
        .gives(Gives::One("PassedOn")),
        removal(delete(
            "/sources/{id}/events",
            DEPLOY,
            "Remove events",
            events::delete::<SourceId>,
        )),
        get(
            "/sources/{id}/sse",
            READ,
            "Events as they settle; `Last-Event-ID` resumes",
            sse::events::<SourceId>,
        )
        .takes(&[EVENT_NAME])
        .gives(Gives::Stream(&[("", "EmittedEvent")])),
        logged(get("/sources/{id}/logs", READ, LOGS, runs::logs::<SourceId>)),
        get("/sources/{id}/logs/sse", READ, "Log lines as they are written", sse::logs::<SourceId>)
            .gives(Gives::Stream(LOG_EVENTS)),
        post("/sources/{id}/run", INVOKE, "Run it now", sources::run_now)
            .takes(&[Param::new("event", Kind::Any, "The event")])
            .one("Run"),
        listed_runs(get(
            "/sources/{id}/runs",
            READ,
            "Its runs, newest first",
            runs::list::<SourceId>,
        )),
        runs_sse(get("/sources/{id}/runs/sse", READ, RUNS_SSE, run_stream::runs::<SourceId>)),
    ]
}
