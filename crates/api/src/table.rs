//! All routes of `/v1`.

use millrace_model::ids::{SourceId, WorkflowId};
use millrace_model::tenant::Scope;

use crate::routes::{Gives, Kind, Needs, Param, Route, delete, get, post, put};
use crate::{
    accounts, api_keys, apps, audit, components, configure, connect, data_stores, domains, events, history, mail, oauth_clients, registries, replays,
    run_stream, runs, sources, sse, subscriptions, users, webhooks, workflows,
};

const NOTHING: Needs = Needs::Nothing;
const ANY: Needs = Needs::AnyKey;
const READ: Needs = Needs::Scope(Scope::Read);
const INVOKE: Needs = Needs::Scope(Scope::Invoke);
const DEPLOY: Needs = Needs::Scope(Scope::Deploy);
const FULL: Needs = Needs::Scope(Scope::Full);

const ORG: Param = text("org_id", "The organization, where it is named; another than the key's own does not exist for it. `workspace_id` means the same");
const EVENT_NAME: Param = text("event_name", "The stream: a channel's name, `$errors`; empty for the default channel");

const MADE_FROM: Param = object(
    "made_from",
    "The file it is made from: `{project, path, fingerprints}`, the last an object of texts of the client's choice. A change that does not say it empties `fingerprints`",
);

const fn text(name: &'static str, about: &'static str) -> Param {
    Param::new(name, Kind::Text, about)
}

const fn number(name: &'static str, about: &'static str) -> Param {
    Param::new(name, Kind::Number, about)
}

const fn flag(name: &'static str, about: &'static str) -> Param {
    Param::new(name, Kind::Flag, about)
}

const fn object(name: &'static str, about: &'static str) -> Param {
    Param::new(name, Kind::Object, about)
}

const fn objects(name: &'static str, about: &'static str) -> Param {
    Param::new(name, Kind::Objects, about)
}

/// Every route, by what it is about.
pub(crate) fn v1() -> Vec<Route> {
    [
        people(),
        keys(),
        apps_and_accounts(),
        code(),
        of_registries(),
        of_sources(),
        of_subscriptions(),
        of_webhooks(),
        of_workflows(),
        of_runs(),
        of_errors(),
        of_domains(),
        of_data_stores(),
        of_oauth_clients(),
        of_history(),
        of_connect(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn people() -> Vec<Route> {
    vec![
        get("/users/me", ANY, "The user and organization that the key acts for", users::me).one("User"),
        get("/users/me/workspaces", ANY, "The user's organizations", users::workspaces).page("Organization"),
        post("/workspaces", FULL, "Make another organization with an owner and a key of its own, shown this once", users::create_workspace)
            .takes(&[text("name", "Its name").required(), text("email", "The owner's address; error notices go there").required()])
            .gives(Gives::One("NewOrganization")),
        get("/workspaces/{org}", READ, "An organization", users::workspace).one("Organization"),
        get("/orgs/{org}", READ, "An organization", users::workspace).one("Organization"),
    ]
}

fn keys() -> Vec<Route> {
    let end = number("expires_at", "When it ends, epoch seconds; absent or null: never");
    vec![
        post("/api_keys", FULL, "Make a key; the key is shown this once", api_keys::create)
            .takes(&[
                text("name", "What it is for").required(),
                Param::new("scopes", Kind::Words, "What it may do: `full` (where none is given), `read`, `deploy`, `invoke`"),
                number("rate_per_minute", "Requests a minute; absent: the server's setting"),
                end,
                ORG,
            ])
            .gives(Gives::One("NewApiKey")),
        get("/api_keys", FULL, "The organization's keys, newest first; never the keys themselves", api_keys::list).page("ApiKey"),
        get("/api_keys/{id}", FULL, "A key's record", api_keys::show).one("ApiKey"),
        put("/api_keys/{id}", FULL, "Give a key another name or end", api_keys::update).takes(&[text("name", "A new name"), end]).one("ApiKey"),
        delete("/api_keys/{id}", FULL, "Revoke a key, at once; not the key of the request itself", api_keys::revoke),
        post("/api_keys/{id}/rotate", FULL, "Put a new key in its place, shown this once", api_keys::rotate)
            .takes(&[number("grace_seconds", "How long the key before is still taken; 0 where it is not given, at most 30 days")])
            .gives(Gives::One("NewApiKey")),
        post(
            "/master_key/rotate",
            FULL,
            "Put a new master key in the place of the one under which all secrets are kept; only for the organization that was made first",
            api_keys::rotate_master,
        )
        .gives(Gives::One("MasterKey")),
    ]
}

fn apps_and_accounts() -> Vec<Route> {
    let credentials = flag("include_credentials", "Show the credentials; needs a key with the scope `full`");
    let fields = [
        text("name", "Its name"),
        text("auth_type", "`oauth`, `keys` or `none`"),
        text("description", "What it is"),
        text("img_src", "The address of a picture"),
        objects("custom_fields", "What an account holds: `{name, label, description, default, optional, type}`"),
        Param::new("categories", Kind::Any, "A list of words"),
        object("oauth", "How accounts are connected: `{authorize_url, token_url, scopes, client_id, client_secret}`; the secret is never shown"),
    ];
    vec![
        get("/apps", READ, "Apps, by words and by what there is of them", apps::list)
            .takes(&[
                text("q", "Words of the name"),
                flag("has_components", "Only apps with components, published or in a registry; `0`: only those without"),
                flag("has_actions", "Only apps with actions"),
                flag("has_triggers", "Only apps with sources"),
            ])
            .page("App"),
        post("/apps", DEPLOY, "Register an app", apps::create).takes(&[text("name_slug", "How components name it").required(), ORG]).takes(&fields).one("App"),
        get("/apps/{id}", READ, "An app, by id or slug", apps::show).one("App"),
        put("/apps/{id}", DEPLOY, "Change an app that the organization registered, or register one of the catalogue anew", apps::update)
            .takes(&fields)
            .one("App"),
        post("/apps/{id}/events", INVOKE, "Hand over an event of an app to the sources that listen for it with `$.interface.apphook`", apps::event)
            .takes(&[
                Param::new("event_name", Kind::Words, "What sources may listen for it by: a name, or a list of names").required(),
                Param::new("event", Kind::Any, "What the code gets"),
            ])
            .gives(Gives::One("AppEvent")),
        get("/accounts", READ, "Connected accounts", accounts::list).takes(&[text("app", "Only of the app with this slug"), credentials, ORG]).page("Account"),
        post("/accounts", FULL, "Connect an account", accounts::create)
            .takes(&[text("app", "The app's slug").required(), text("name", "Its name"), object("credentials", "A value for each field of the app"), ORG])
            .one("Account"),
        post("/accounts/connect", FULL, "Begin to connect an account by OAuth: gives the provider's page, to be opened in a browser", accounts::connect)
            .takes(&[
                text("app", "The app's slug").required(),
                text("name", "The account's name"),
                text("account_id", "An account to be connected again"),
                object("credentials", "Values of the app's other fields"),
                ORG,
            ])
            .one("ConnectLink"),
        get("/accounts/{id}", READ, "A connected account", accounts::show).takes(&[credentials]).one("Account"),
        put("/accounts/{id}", FULL, "Change an account's name or credentials", accounts::update)
            .takes(&[text("name", "A new name"), object("credentials", "New values; the others stay")])
            .one("Account"),
        delete("/accounts/{id}", FULL, "Forget an account", accounts::remove),
        get("/workspaces/{org}/accounts", READ, "Connected accounts", accounts::list_of).takes(&[text("query", "An app's slug"), credentials]).page("Account"),
        get("/orgs/{org}/accounts", READ, "Connected accounts", accounts::list_of).takes(&[text("query", "An app's slug"), credentials]).page("Account"),
    ]
}

/// How requests name code.
fn code_params() -> [Param; 6] {
    [
        text("component_id", "A saved component; wins"),
        text("component_code", "The code itself; wins over `component_url`, which is then kept as metadata"),
        object("component_files", "Files that its relative imports reach: path to text"),
        text("component_entry", "The path of the code among these files"),
        text("component_url", "Where the code is; `url` means the same"),
        text("key", "A published key, or one of a registry; with `@version` behind it, that version"),
    ]
}

fn code() -> Vec<Route> {
    let values = object("configured_props", "Values filled in so far");
    vec![
        post("/components/configure", DEPLOY, "The options of a prop: runs its options method", configure::options)
            .takes(&[
                text("id", "A saved component's id, or a key"),
                text("prop_name", "The prop").required(),
                values,
                number("page", "Counts from 0"),
                object("prev_context", "What the page before gave as `context`"),
                text("query", "What was typed to search"),
                text("dynamic_props_id", "Of an earlier answer"),
            ])
            .gives(Gives::Bare("Options")),
        post("/components/props", DEPLOY, "The props that depend on others: runs `additionalProps`", configure::props)
            .takes(&[text("id", "A saved component's id, or a key"), values, text("dynamic_props_id", "Of an earlier answer")])
            .gives(Gives::Bare("DynamicProps")),
        post("/components", DEPLOY, "Save a component", components::create)
            .takes(&code_params())
            .takes(&[flag("publish", "Let it answer to its key"), ORG])
            .one("Component"),
        get("/components", READ, "Published components, newest first", components::list).takes(&[ORG]).page("Component"),
        get("/components/registry/{id}", READ, "A component, by key: a published one, else one of a registry", registries::component).one("RegistryComponent"),
        get("/components/search", READ, "Components of registries that fit, best first", registries::search)
            .takes(&[
                text("query", "Words"),
                text("app", "Only of the app with this slug"),
                number("limit", "How many at most, 1 to 100; 10 where it is not given"),
            ])
            .one("Found"),
        get("/components/{id}", READ, "A component, by key or id", components::show).one("Component"),
        delete("/components/{id}", DEPLOY, "Take a published key away", components::unpublish).gives(Gives::One("Unpublished")),
    ]
}

fn of_registries() -> Vec<Route> {
    let about = [text("origin", "Where the tree comes from"), text("revision", "Which state of it this is")];
    vec![
        post("/registries", DEPLOY, "Make a registry of a tree of components, a .tar.gz archive in the body", registries::create)
            .takes(&[text("name", "Its name").required(), ORG])
            .takes(&about)
            .archive(registries::ARCHIVE_BYTES_MAX)
            .one("NewRegistry"),
        get("/registries", READ, "Registries", registries::list).takes(&[ORG]).page("Registry"),
        put("/registries/{name}", DEPLOY, "Put another tree in the place of a registry's", registries::replace)
            .takes(&about)
            .archive(registries::ARCHIVE_BYTES_MAX)
            .one("NewRegistry"),
        delete("/registries/{name}", DEPLOY, "Delete a registry; what was deployed from it stays", registries::remove).gives(Gives::One("DeletedRegistry")),
    ]
}

fn of_sources() -> Vec<Route> {
    let parts = [text("name", "Its name"), object("configured_props", "Values of its props"), MADE_FROM];
    vec![
        get("/users/me/sources", READ, "Sources, newest first", sources::list).takes(&[ORG]).page("Source"),
        get("/workspaces/{org}/sources", READ, "Sources, newest first", sources::list_of).page("Source"),
        get("/orgs/{org}/sources", READ, "Sources, newest first", sources::list_of).page("Source"),
        post("/sources", DEPLOY, "Deploy a source", sources::create).takes(&code_params()).takes(&parts).takes(&[ORG]).one("Source"),
        get("/sources", READ, "Sources, newest first", sources::list).takes(&[ORG]).page("Source"),
        get("/sources/{id}", READ, "A source", sources::show).one("Source"),
        put("/sources/{id}", DEPLOY, "Change a source", sources::update)
            .takes(&code_params())
            .takes(&parts)
            .takes(&[flag("active", "Whether it runs"), ORG])
            .one("Source"),
        delete("/sources/{id}", DEPLOY, "Delete a source", sources::remove),
        summaries(get("/sources/{id}/event_summaries", READ, "What it emitted, newest first", events::list::<SourceId>)).takes(&[EVENT_NAME]),
        summaries(get("/sources/{id}/$errors/event_summaries", READ, "Its errors, newest first", events::errors::<SourceId>)),
        removal(delete("/sources/{id}/events", DEPLOY, "Remove events", events::delete::<SourceId>)),
        get("/sources/{id}/sse", READ, "Events as they settle; `Last-Event-ID` resumes", sse::events::<SourceId>).takes(&[EVENT_NAME]).gives(Gives::Stream),
        get("/sources/{id}/logs", READ, "The newest log lines, the oldest of them first", runs::logs::<SourceId>).gives(Gives::List("LogLine")),
        get("/sources/{id}/logs/sse", READ, "Log lines as they are written", sse::logs::<SourceId>).gives(Gives::Stream),
        post("/sources/{id}/run", INVOKE, "Run it now", sources::run_now).takes(&[Param::new("event", Kind::Any, "The event")]).one("Run"),
        listed_runs(get("/sources/{id}/runs", READ, "Its runs, newest first", runs::list::<SourceId>)),
    ]
}

fn summaries(route: Route) -> Route {
    route.takes(&[text("expand", "`event`: with the whole event, where it is over 1 KB")]).page("EventSummary")
}

fn removal(route: Route) -> Route {
    let bounds = [text("start_id", "The first to go; absent: from the start"), text("end_id", "The last to go; absent: to the end"), EVENT_NAME];
    route.takes(&bounds).gives(Gives::One("Removed")).status(202)
}

fn listed_runs(route: Route) -> Route {
    let filter = [
        text("status", "`queued`, `running`, `paused`, `succeeded`, `failed` or `cancelled`"),
        number("from", "Accepted at or after, epoch milliseconds"),
        number("to", "Accepted before, epoch milliseconds"),
    ];
    route.takes(&filter).page("Run")
}

fn of_subscriptions() -> Vec<Route> {
    let triple = [
        text("emitter_id", "A source, a workflow, the organization, or `p_*`, `dc_*`").required(),
        text("listener_id", "A workflow, source or webhook").required(),
        EVENT_NAME,
    ];
    vec![
        get("/users/me/subscriptions", READ, "All subscriptions", subscriptions::list).gives(Gives::List("Subscription")),
        get("/workspaces/{org}/subscriptions", READ, "All subscriptions", subscriptions::list_of).gives(Gives::List("Subscription")),
        get("/orgs/{org}/subscriptions", READ, "All subscriptions", subscriptions::list_of).gives(Gives::List("Subscription")),
        post("/subscriptions", DEPLOY, "Let a listener run on what an emitter emits; the same again gives the one that exists", subscriptions::create)
            .takes(&triple)
            .in_query()
            .one("Subscription"),
        delete("/subscriptions", DEPLOY, "End a subscription", subscriptions::remove).takes(&triple).gives(Gives::One("Unsubscribed")),
    ]
}

fn of_webhooks() -> Vec<Route> {
    let auto = [text("listener_id", "A workflow, source or webhook").required(), text("event_name", "`$errors` or `$logs`").required()];
    vec![
        post("/auto_subscriptions", DEPLOY, "Subscribe a listener to each workflow and source that is made from now on", subscriptions::create_auto)
            .takes(&auto)
            .in_query()
            .one("AutoSubscription"),
        get("/auto_subscriptions", READ, "All auto-subscriptions", subscriptions::list_auto).gives(Gives::List("AutoSubscription")),
        delete("/auto_subscriptions/{id}", DEPLOY, "End an auto-subscription; what it subscribed to before stays", subscriptions::remove_auto),
        post("/webhooks", DEPLOY, "Make a webhook; what signs its deliveries is shown this once", webhooks::create)
            .takes(&[text("url", "Where events are sent").required(), text("name", "Its name"), text("description", "What it is for"), ORG])
            .in_query()
            .gives(Gives::One("NewWebhook")),
        get("/webhooks", READ, "Webhooks, newest first", webhooks::list).takes(&[ORG]).page("Webhook"),
        get("/users/me/webhooks", READ, "Webhooks, newest first", webhooks::list).takes(&[ORG]).page("Webhook"),
        get("/webhooks/{id}", READ, "A webhook", webhooks::show).one("Webhook"),
        delete("/webhooks/{id}", DEPLOY, "Delete a webhook with its subscriptions; what was on its way is not sent", webhooks::remove),
        get("/webhooks/{id}/deliveries", READ, "What was or is to be sent, newest first; failed ones are dead letters", webhooks::deliveries)
            .takes(&[text("status", "`queued`, `delivered` or `failed`")])
            .page("WebhookDelivery"),
        post("/webhooks/{id}/deliveries/replay", INVOKE, "Send all dead letters again", webhooks::replay_failed).gives(Gives::One("Queued")).status(202),
        post("/webhooks/{id}/deliveries/{delivery}/replay", INVOKE, "Send a delivery again", webhooks::replay).gives(Gives::One("Queued")).status(202),
    ]
}

fn of_workflows() -> Vec<Route> {
    let parts = [
        objects("triggers", "Each `{type: http | timer | source, props, …}`"),
        objects("steps", "Each `{namespace, component_key | component_id | code, props}`"),
        object("settings", "`{name, auto_deploy, timeout_ms, error_notification, error_recipients, keep_data, …}`"),
        text("name", "Its name"),
    ];
    let event = Param::new("event", Kind::Any, "The event");
    let tested = [event, text("up_to", "The last step to run")];
    vec![
        post(
            "/workflows/test",
            DEPLOY,
            "A test run of triggers, steps and settings that are kept nowhere: of a workflow in place of its own, or of none",
            workflows::test_new,
        )
        .takes(&tested)
        .takes(&parts)
        .takes(&[text("workflow_id", "The workflow; absent: one of its own, which is not made"), ORG])
        .one("Run"),
        post("/workflows", DEPLOY, "Make a workflow, and deploy it", workflows::create)
            .takes(&parts)
            .takes(&[text("project_id", "The project; absent: the organization's own"), MADE_FROM, ORG])
            .one("Workflow"),
        get("/workflows", READ, "Workflows, newest first", workflows::list).takes(&[ORG]).page("Workflow"),
        get("/workflows/{id}", READ, "A workflow", workflows::show).one("Workflow"),
        put("/workflows/{id}", DEPLOY, "Change a workflow", workflows::update)
            .takes(&parts)
            .takes(&[flag("active", "Whether it runs"), MADE_FROM, ORG])
            .one("Workflow"),
        delete("/workflows/{id}", DEPLOY, "Delete a workflow", workflows::remove),
        post("/workflows/{id}/deploy", DEPLOY, "Make the newest version the live one", workflows::deploy).gives(Gives::One("Deployment")),
        get("/workflows/{id}/deployments", READ, "Its deployments, newest first", workflows::deployments).page("Deployment"),
        get("/workflows/{id}/deployments/{deployment}", READ, "A deployment with all that it runs", workflows::deployment).gives(Gives::One("Deployment")),
        post("/workflows/{id}/rollback", DEPLOY, "Make an earlier deployment live again", workflows::rollback)
            .takes(&[text("deployment_id", "The deployment").required()])
            .gives(Gives::One("Deployment")),
        post("/workflows/{id}/test", INVOKE, "A test run: nothing goes to `$errors`, no mail", workflows::test)
            .takes(&tested)
            .takes(&[text("event_id", "In the place of `event` a test event that `x-pd-notrigger` kept (`event_summaries?event_name=$test`)")])
            .one("Run"),
        post("/workflows/{id}/run", INVOKE, "Run its live version now, also where it is not active", workflows::run_now)
            .takes(&[event, flag("wait", "Answer when the run has ended, as where it is not given; else at once")])
            .one("Run"),
        summaries(get("/workflows/{id}/event_summaries", READ, "What it emitted, newest first", events::list::<WorkflowId>)).takes(&[EVENT_NAME]),
        summaries(get("/workflows/{id}/$errors/event_summaries", READ, "Its errors, newest first", events::errors::<WorkflowId>)),
        removal(delete("/workflows/{id}/events", DEPLOY, "Remove events", events::delete::<WorkflowId>)),
        get("/workflows/{id}/sse", READ, "What it sends with `$.send.sse`, the last hundred first; `Last-Event-ID` resumes", sse::sends).gives(Gives::Stream),
        listed_runs(get("/workflows/{id}/runs", READ, "Its runs, newest first", runs::list::<WorkflowId>)),
        get("/workflows/{id}/logs", READ, "The newest log lines, the oldest of them first", runs::logs::<WorkflowId>).gives(Gives::List("LogLine")),
        get("/workflows/{id}/logs/sse", READ, "Log lines as they are written", sse::logs::<WorkflowId>).gives(Gives::Stream),
    ]
}

fn of_runs() -> Vec<Route> {
    vec![
        get("/runs/{id}", READ, "A run with its steps, error and logs", runs::show).one("Run"),
        get(
            "/runs/{id}/sse",
            READ,
            "A run as it goes on: `run` when its state changes, `step` as each begins and ends, `log`; ends with the run",
            run_stream::run,
        )
        .gives(Gives::Stream),
        post("/runs/{id}/replay", INVOKE, "Run the same event again, as a new run", runs::replay)
            .takes(&[text("from_step", "The first step to run, with the results of those before it"), flag("from_failed", "Begin with the step that failed")])
            .gives(Gives::One("Run")),
        post("/runs/{id}/cancel", INVOKE, "Cancel a run that is queued or paused", runs::cancel).gives(Gives::One("Run")),
        get("/mail", READ, "The outbox, newest first", mail::list).page("Mail"),
    ]
}

fn of_domains() -> Vec<Route> {
    vec![
        get("/domains", READ, "Domains that stand for endpoints, newest first", domains::list).takes(&[ORG]).page("Domain"),
        post("/domains", DEPLOY, "Let a domain stand for an endpoint; its name must lead to this server", domains::create)
            .takes(&[text("domain", "The domain").required(), text("endpoint_id", "The endpoint: the `hi_` id of a trigger").required(), ORG])
            .gives(Gives::One("Domain")),
        delete("/domains/{domain}", DEPLOY, "Let a domain stand for nothing any more", domains::remove),
    ]
}

fn of_errors() -> Vec<Route> {
    let selection = [
        text("workflow_id", "The workflow whose runs are replayed"),
        text("source_id", "Or the source"),
        Param::new("runs", Kind::Words, "These runs, at most 1000; without them all that failed and fit the rest"),
        text("class", "Only errors of this class: their `code`"),
        text("group", "Only errors of this group"),
        Param::new("from", Kind::Any, "Only runs accepted at or after: epoch milliseconds, or RFC 3339"),
        Param::new("to", Kind::Any, "Only runs accepted before; absent: before now"),
        flag("from_failed", "Each begins with the step that failed, with the results of the steps before"),
        text("from_step", "Each begins with this step"),
    ];
    vec![
        get("/workflows/{id}/error_groups", READ, "Its errors by class, step and place, the last seen first", replays::groups_of::<WorkflowId>)
            .page("ErrorGroup"),
        get("/sources/{id}/error_groups", READ, "Its errors by class and place, the last seen first", replays::groups_of::<SourceId>).page("ErrorGroup"),
        get("/error_groups", READ, "All errors by class, step and place, the last seen first", replays::all_groups).page("ErrorGroup"),
        post("/replays", INVOKE, "Replay many runs: a job that outlives the server", replays::create)
            .takes(&selection)
            .takes(&[ORG])
            .gives(Gives::One("ReplayWithRuns"))
            .status(202),
        get("/replays", READ, "Replays of many runs, newest first", replays::list).page("Replay"),
        get("/replays/{id}", READ, "A replay, with what became of its runs", replays::show).one("ReplayWithRuns"),
        get("/replays/{id}/runs", READ, "The runs that a replay made", replays::runs).page("ReplayedRun"),
        post("/replays/{id}/pause", INVOKE, "Queue no more runs until it is resumed", replays::pause).gives(Gives::One("ReplayWithRuns")),
        post("/replays/{id}/resume", INVOKE, "Let a replay go on", replays::resume).gives(Gives::One("ReplayWithRuns")),
        post("/replays/{id}/cancel", INVOKE, "End a replay; what it queued stays queued", replays::cancel).gives(Gives::One("ReplayWithRuns")),
    ]
}

fn of_data_stores() -> Vec<Route> {
    let name = text("name", "Its name").required();
    let key = text("key", "The key: any text").required();
    vec![
        get("/data_stores", READ, "Data stores, newest first", data_stores::list).takes(&[ORG]).page("DataStore"),
        post("/data_stores", DEPLOY, "Make a data store", data_stores::create).takes(&[name, ORG]).one("DataStore"),
        get("/data_stores/{id}", READ, "A data store, by id or name", data_stores::show).gives(Gives::One("DataStore")),
        put("/data_stores/{id}", DEPLOY, "Give a data store another name", data_stores::update).takes(&[name]).one("DataStore"),
        delete("/data_stores/{id}", DEPLOY, "Delete a data store with all it holds", data_stores::remove),
        get("/data_stores/{id}/keys", READ, "Its keys in their order; the cursor is the key itself", data_stores::keys).page("DataStoreKey"),
        delete("/data_stores/{id}/keys", DEPLOY, "Remove all it holds", data_stores::clear).gives(Gives::One("DataStore")),
        get("/data_stores/{id}/record", READ, "The value of a key", data_stores::get).takes(&[key]).one("DataStoreRecord"),
        put("/data_stores/{id}/record", DEPLOY, "Write the value of a key", data_stores::set)
            .takes(&[key, Param::new("value", Kind::Any, "The value").required(), number("ttl", "Seconds after which it ends; absent: never")])
            .gives(Gives::One("DataStoreRecord")),
        delete("/data_stores/{id}/record", DEPLOY, "Remove a key", data_stores::delete).takes(&[key]).gives(Gives::One("DeletedKey")),
    ]
}

fn of_oauth_clients() -> Vec<Route> {
    let client = [text("client_id", "The client; it may stand in `Authorization: Basic` too"), text("client_secret", "Its secret")];
    vec![
        post("/oauth/clients", FULL, "Make an OAuth client; its secret is shown this once", oauth_clients::create)
            .takes(&[
                text("name", "What it is for").required(),
                Param::new("scopes", Kind::Words, "What its tokens may do at most: `full` (where none is given), `read`, `deploy`, `invoke`"),
                ORG,
            ])
            .gives(Gives::One("NewOauthClient")),
        get("/oauth/clients", FULL, "OAuth clients, newest first; never their secrets", oauth_clients::list).takes(&[ORG]).page("OauthClient"),
        get("/oauth/clients/{id}", FULL, "An OAuth client", oauth_clients::show).one("OauthClient"),
        delete("/oauth/clients/{id}", FULL, "End an OAuth client and its tokens", oauth_clients::remove),
        post("/oauth/token", NOTHING, "Get a token for a client; it is sent as an API key is, and is good for an hour", oauth_clients::token)
            .takes(&[text("grant_type", "`client_credentials`").required()])
            .takes(&client)
            .takes(&[text("scope", "Less than the client may do; words with spaces between them")])
            .gives(Gives::Bare("OauthToken")),
        post("/oauth/revoke", NOTHING, "End a token", oauth_clients::revoke)
            .takes(&[text("token", "The token").required()])
            .takes(&client)
            .gives(Gives::Bare("Nothing")),
    ]
}

fn of_history() -> Vec<Route> {
    let kept = [
        number("keep_days", "Days after which its settled runs and its events go; null: as the server says"),
        number("keep_count", "How many of its newest runs, and of its newest events, stay; null: as the server says"),
    ];
    let about = "How much history of it is kept";
    let set = "Set how much history of it is kept; what is absent stays as it is";
    vec![
        get("/workflows/{id}/retention", READ, about, history::retention::<WorkflowId>).one("Retention"),
        put("/workflows/{id}/retention", DEPLOY, set, history::set_retention::<WorkflowId>).takes(&kept).one("Retention"),
        get("/sources/{id}/retention", READ, about, history::retention::<SourceId>).one("Retention"),
        put("/sources/{id}/retention", DEPLOY, set, history::set_retention::<SourceId>).takes(&kept).one("Retention"),
        get("/export", READ, "Runs with their results, logs and events as they are at one moment, a JSON line for each", history::export)
            .takes(&[
                text("owner_id", "Only of this workflow or source"),
                number("from", "Accepted at or after, epoch milliseconds"),
                number("to", "Accepted before, epoch milliseconds"),
                ORG,
            ])
            .gives(Gives::Lines("ExportLine")),
        get("/audit", FULL, "Who changed what, newest first", audit::list).takes(&[ORG]).page("AuditRecord"),
    ]
}

/// What clients for end users of such platforms ask for; only the paths are other than above.
fn of_connect() -> Vec<Route> {
    let user = text("external_user_id", "Taken and not looked at: accounts and sources are the organization's");
    let component = [text("id", "A saved component's id, or a key").required(), object("configured_props", "Values of its props"), user];
    let dynamic = text("dynamic_props_id", "Of an earlier answer");
    let mut routes = vec![
        get("/connect/apps", READ, "Apps, by words", apps::list).takes(&[text("q", "Words of the name")]).page("App"),
        get("/connect/apps/{id}", READ, "An app, by id or slug", apps::show).one("App"),
        get("/connect/{project}/accounts", READ, "Connected accounts", connect::accounts)
            .takes(&[text("app", "Only of the app with this slug"), flag("include_credentials", "Show the credentials; needs a key with the scope `full`")])
            .page("Account"),
        get("/connect/{project}/accounts/{id}", READ, "A connected account", connect::account)
            .takes(&[flag("include_credentials", "Show the credentials; needs a key with the scope `full`")])
            .gives(Gives::Bare("Account")),
        post(
            "/connect/{project}/actions/run",
            INVOKE,
            "Run an action by itself and wait for its end; it leaves no run, and sends nothing of `$.send`",
            connect::run_action,
        )
        .takes(&component)
        .takes(&[dynamic])
        .gives(Gives::Bare("ActionRun")),
        post("/connect/{project}/triggers/deploy", DEPLOY, "Deploy a source", connect::deploy)
            .takes(&component)
            .takes(&[dynamic, text("workflow_id", "A workflow that its events go to"), text("webhook_url", "An address that its events are posted to, signed")])
            .gives(Gives::One("DeployedTrigger")),
        get("/connect/{project}/deployed-triggers", READ, "Sources, newest first", connect::triggers).takes(crate::routes::PAGE).gives(Gives::Page("Source")),
        get("/connect/{project}/deployed-triggers/{id}", READ, "A source", connect::trigger).gives(Gives::One("Source")),
        delete("/connect/{project}/deployed-triggers/{id}", DEPLOY, "Delete a source", connect::remove_trigger),
        get("/connect/{project}/deployed-triggers/{id}/events", READ, "What it emitted, newest first", connect::events)
            .takes(&[number("n", "How many, 1 to 100; 20 where it is not given")])
            .gives(Gives::List("Emitted")),
    ];
    for (configure, props) in [
        ("/connect/{project}/components/configure", "/connect/{project}/components/props"),
        ("/connect/{project}/actions/configure", "/connect/{project}/actions/props"),
        ("/connect/{project}/triggers/configure", "/connect/{project}/triggers/props"),
    ] {
        let more = [
            text("prop_name", "The prop").required(),
            number("page", "Counts from 0"),
            object("prev_context", "What the page before gave as `context`"),
            text("query", "What was typed to search"),
        ];
        routes.push(
            post(configure, DEPLOY, "The options of a prop: runs its options method", connect::configure)
                .takes(&component)
                .takes(&more)
                .takes(&[dynamic])
                .gives(Gives::Bare("Options")),
        );
        routes.push(
            post(props, DEPLOY, "The props that depend on others: runs `additionalProps`", connect::props)
                .takes(&component)
                .takes(&[dynamic])
                .gives(Gives::Bare("DynamicProps")),
        );
    }
    routes
}
