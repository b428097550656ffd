//! Routes of `/connect/{project}`, for clients that act for end users.

use axum::extract::State;
use millrace_model::component::ComponentType;
use millrace_model::page::Page;

use super::{DEPLOY, DYNAMIC_PROPS, FULL, INVOKE, READ, flag, number, object, text, word};

use crate::App;
use crate::contract::routes::{Gives, Kind, Param, Route, delete, get, post, put};
use crate::contract::shape::of;
use crate::extract::{Auth, ListQuery, Params, Path, Paths};
use crate::v1::configure::PREV_CONTEXT;
use crate::v1::connect_forms::{ActionRunOut, ConnectDynamicPropsOut, ConnectOptionsOut};
use crate::v1::connect_records::{
    ConnectAccountOut, ConnectAppOut, ConnectComponentOut, DeployedTriggerOut, EmittedOut,
    TriggerWebhooksOut, TriggerWorkflowsOut,
};
use crate::v1::{connect, connect_components};

/// What clients for end users of such platforms ask for; only the paths are other than above.
pub(super) fn of_connect() -> Vec<Route> {
    let user = text(
        "external_user_id",
        "The external user: only accounts and sources that carry it are seen and used; where it is not given, all of the organization's",
    );
    let version = text("version", "That version of the key; else the one that answers to it");
    let component = [
        text("id", "A saved component's id, or a key").required(),
        version,
        object("configured_props", "Values of its props"),
        user,
    ];
    let about = [
        text("id", "A saved component's id, a key, or the id of a deployed source").required(),
        version,
        component[2],
        user,
    ];
    let dynamic = DYNAMIC_PROPS;
    let mut routes = vec![
        get("/connect/apps", READ, "Apps, by words", connect::apps)
            .takes(&[
                text("q", "Words of the name"),
                flag("has_components", "Only apps with components, published or in a registry; `0`: only those without"),
                flag("has_actions", "Only apps with actions"),
                flag("has_triggers", "Only apps with sources"),
            ])
            .page(of::<ConnectAppOut>()),
        get("/connect/apps/{id}", READ, "An app, by id or slug", connect::app).one(of::<ConnectAppOut>()),
        get("/connect/{project}/accounts", READ, "Connected accounts", connect::accounts)
            .takes(&[text("app", "Only of the app with this slug or id"), flag("include_credentials", "Show the credentials; needs a key with the scope `full`"), user])
            .page(of::<ConnectAccountOut>()),
        get("/connect/{project}/accounts/{id}", READ, "A connected account", connect::account)
            .takes(&[flag("include_credentials", "Show the credentials; needs a key with the scope `full`"), user])
            .gives(Gives::Bare(of::<ConnectAccountOut>())),
        delete("/connect/{project}/accounts/{id}", FULL, "Forget an account", connect::remove_account).takes(&[user]),
        post(
            "/connect/{project}/actions/run",
            INVOKE,
            "Run an action that is published or stands in a registry by itself and wait for its end; it leaves no run, and sends nothing of `$.send`. Values are data: `{{` in them is text. Other code needs a key with the scope `deploy`",
            connect::run_action,
        )
        .takes(&[text("id", "A saved component's id, or a key"), text("component_code", "Or code of an action, with the scope `deploy`")])
        .takes(&component[1..])
        .takes(&[dynamic, Param::new("stash_id", Kind::Flag, "There is no file stash: only false and null are allowed")])
        .gives(Gives::Bare(of::<ActionRunOut>())),
        post("/connect/{project}/triggers/deploy", DEPLOY, "Deploy a source", connect::deploy)
            .takes(&component)
            .takes(&[dynamic, text("workflow_id", "A workflow that its events go to"), text("webhook_url", "An address that its events are posted to, signed")])
            .takes(&[flag("emit_on_deploy", "false: what its `deploy` hook emits is dropped")])
            .gives(Gives::One(of::<DeployedTriggerOut>())),
        get("/connect/{project}/deployed-triggers", READ, "Sources, newest first", connect::triggers)
            .takes(&[word("emitter_type", &["source", "email", "http", "timer"], "`source`, as all are; of `email`, `http` and `timer` there are none"), user])
            .page(of::<DeployedTriggerOut>()),
        get("/connect/{project}/deployed-triggers/{id}", READ, "A source", connect::trigger).takes(&[user]).one(of::<DeployedTriggerOut>()),
        put("/connect/{project}/deployed-triggers/{id}", DEPLOY, "Change a source", connect::update_trigger)
            .takes(&[
                text("name", "Its name"),
                flag("active", "Whether it is to be active"),
                object("configured_props", "Values of its props; others stay"),
                dynamic,
                user,
            ])
            .updates()
            .gives(Gives::One(of::<DeployedTriggerOut>())),
        get("/connect/{project}/deployed-triggers/{id}/pipelines", READ, "The workflows that run on it", connect::workflows)
            .takes(&[user])
            .gives(Gives::Bare(of::<TriggerWorkflowsOut>())),
        put("/connect/{project}/deployed-triggers/{id}/pipelines", DEPLOY, "Let these workflows run on it, and no others", connect::set_workflows)
            .takes(&[Param::new("workflow_ids", Kind::Words, "Ids of workflows").required(), user])
            .gives(Gives::Bare(of::<TriggerWorkflowsOut>())),
        get("/connect/{project}/deployed-triggers/{id}/webhooks", READ, "The webhooks that its events are posted to", connect::webhooks)
            .takes(&[user])
            .gives(Gives::Bare(of::<TriggerWebhooksOut>())),
        put(
            "/connect/{project}/deployed-triggers/{id}/webhooks",
            DEPLOY,
            "Let its events be posted to these addresses, and to no others",
            connect::set_webhooks,
        )
        .takes(&[Param::new("webhook_urls", Kind::Words, "Addresses; of a webhook that is made, the signing key is shown this once").required(), user])
        .updates()
        .gives(Gives::Bare(of::<TriggerWebhooksOut>())),
        delete("/connect/{project}/deployed-triggers/{id}", DEPLOY, "Delete a source", connect::remove_trigger).takes(&[user]),
        get("/connect/{project}/deployed-triggers/{id}/events", READ, "What it emitted, newest first", connect::events)
            .takes(&[number("n", "How many").within(1, Page::LIMIT_MAX).by_default(20), user])
            .gives(Gives::List(of::<EmittedOut>())),
    ];
    routes.extend(components());
    routes.extend(forms(&about));
    routes
}

fn components() -> Vec<Route> {
    let filter = [
        text("q", "Words"),
        text("app", "Only of the app with this slug or id"),
        word("component_type", &["action", "trigger"], "`action` or `trigger`"),
    ];
    let version = text("version", "That version; else the latest");
    let mut routes = Vec::new();
    for (list, one, about, of_one, kind) in [
        (
            "/connect/{project}/components",
            "/connect/{project}/components/{id}",
            "Components, best first",
            "A component, by key",
            None,
        ),
        (
            "/connect/{project}/actions",
            "/connect/{project}/actions/{id}",
            "Actions, best first",
            "An action, by key",
            Some(ComponentType::Action),
        ),
        (
            "/connect/{project}/triggers",
            "/connect/{project}/triggers/{id}",
            "Components of sources, best first",
            "A source's component, by key",
            Some(ComponentType::Source),
        ),
    ] {
        let handle_list = move |state: State<App>, auth: Auth, project: Path, query: ListQuery| {
            connect_components::list(state, auth, project, query, kind)
        };
        let handle_one = move |state: State<App>, auth: Auth, paths: Paths<2>, query: ListQuery| {
            connect_components::one(state, auth, paths, query, kind)
        };
        routes.push(
            get(list, READ, about, handle_list).takes(&filter).page(of::<ConnectComponentOut>()),
        );
        routes.push(
            get(one, READ, of_one, handle_one).takes(&[version]).one(of::<ConnectComponentOut>()),
        );
    }
    routes
}

/// What a form asks while props are filled in.
fn forms(about: &[Param]) -> Vec<Route> {
    let mut routes = Vec::new();
    for (configure, props, kind) in [
        ("/connect/{project}/components/configure", "/connect/{project}/components/props", None),
        (
            "/connect/{project}/actions/configure",
            "/connect/{project}/actions/props",
            Some(ComponentType::Action),
        ),
        (
            "/connect/{project}/triggers/configure",
            "/connect/{project}/triggers/props",
            Some(ComponentType::Source),
        ),
    ] {
        let options = move |state: State<App>, auth: Auth, project: Path, params: Params| {
            connect::configure(state, auth, project, params, kind)
        };
        let made = move |state: State<App>, auth: Auth, project: Path, params: Params| {
            connect::props(state, auth, project, params, kind)
        };
        let more = [
            text("prop_name", "The prop").required(),
            number("page", "Counts from 0").at_least(0),
            PREV_CONTEXT,
            text("query", "What was typed to search"),
        ];
        routes.push(
            post(configure, DEPLOY, "The options of a prop: runs its options method", options)
                .takes(about)
                .takes(&more)
                .takes(&[DYNAMIC_PROPS])
                .gives(Gives::Bare(of::<ConnectOptionsOut>())),
        );
        routes.push(
            post(props, DEPLOY, "The props that depend on others: runs `additionalProps`", made)
                .takes(about)
                .takes(&[DYNAMIC_PROPS])
                .gives(Gives::Bare(of::<ConnectDynamicPropsOut>())),
        );
    }
    routes
}
