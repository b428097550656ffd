//! Subscriptions, webhooks, domains and data stores.

use super::{DEPLOY, DRY_RUN, EVENT_NAME, INVOKE, ORG, READ, flag, number, text};
use crate::contract::routes::{Gives, Kind, Param, Route, delete, get, post, put};
use crate::v1::{data_stores, domains, files, subscriptions, webhooks};

pub(super) fn of_subscriptions() -> Vec<Route> {
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
        put(
            "/sources/{id}/listen/{emitter}",
            DEPLOY,
            "Let a source, or another listener, run on the default channel of an emitter: what clients asked for before there were subscriptions",
            subscriptions::listen,
        )
        .gives(Gives::One("Subscription")),
        delete("/subscriptions", DEPLOY, "End a subscription", subscriptions::remove).takes(&triple).gives(Gives::One("Unsubscribed")),
    ]
}

pub(super) fn of_webhooks() -> Vec<Route> {
    let auto = [
        text("listener_id", "A workflow, source or webhook").required(),
        text("event_name", "`$errors` or `$logs`").required(),
    ];
    vec![
        post(
            "/auto_subscriptions",
            DEPLOY,
            "Subscribe a listener to each workflow and source that is made from now on",
            subscriptions::create_auto,
        )
        .takes(&auto)
        .in_query()
        .one("AutoSubscription"),
        get("/auto_subscriptions", READ, "All auto-subscriptions", subscriptions::list_auto)
            .page("AutoSubscription"),
        delete(
            "/auto_subscriptions/{id}",
            DEPLOY,
            "End an auto-subscription; what it subscribed to before stays",
            subscriptions::remove_auto,
        ),
        post(
            "/webhooks",
            DEPLOY,
            "Make a webhook; what signs its deliveries is shown this once",
            webhooks::create,
        )
        .takes(&[
            text("url", "Where events are sent").required(),
            text("name", "Its name"),
            text("description", "What it is for"),
            ORG,
        ])
        .in_query()
        .gives(Gives::One("NewWebhook")),
        get("/webhooks", READ, "Webhooks, newest first", webhooks::list)
            .takes(&[ORG])
            .page("Webhook"),
        get("/users/me/webhooks", READ, "Webhooks, newest first", webhooks::list)
            .takes(&[ORG])
            .page("Webhook"),
        get("/webhooks/{id}", READ, "A webhook", webhooks::show).one("Webhook"),
        delete(
            "/webhooks/{id}",
            DEPLOY,
            "Delete a webhook with its subscriptions; what was on its way is not sent",
            webhooks::remove,
        )
        .takes(&[DRY_RUN]),
        get(
            "/webhooks/{id}/deliveries",
            READ,
            "What was or is to be sent, newest first; failed ones are dead letters",
            webhooks::deliveries,
        )
        .takes(&[text("status", "`queued`, `delivered` or `failed`")])
        .page("WebhookDelivery"),
        post(
            "/webhooks/{id}/deliveries/replay",
            INVOKE,
            "Send all dead letters again",
            webhooks::replay_failed,
        )
        .gives(Gives::One("Queued"))
        .status(202),
        post(
            "/webhooks/{id}/deliveries/{delivery}/replay",
            INVOKE,
            "Send a delivery again",
            webhooks::replay,
        )
        .gives(Gives::One("Queued"))
        .status(202),
    ]
}

pub(super) fn of_domains() -> Vec<Route> {
    vec![
        get("/domains", READ, "Domains that stand for endpoints, newest first", domains::list)
            .takes(&[ORG])
            .page("Domain"),
        post(
            "/domains",
            DEPLOY,
            "Let a domain stand for an endpoint; its name must lead to this server",
            domains::create,
        )
        .takes(&[
            text("domain", "The domain").required(),
            text("endpoint_id", "The endpoint: the `hi_` id of a trigger").required(),
            ORG,
        ])
        .gives(Gives::One("Domain")),
        delete(
            "/domains/{domain}",
            DEPLOY,
            "Let a domain stand for nothing any more",
            domains::remove,
        ),
    ]
}

pub(super) fn of_data_stores() -> Vec<Route> {
    let name = text("name", "Its name").required();
    let key = text("key", "The key: any text").required();
    vec![
        get("/data_stores", READ, "Data stores, newest first", data_stores::list)
            .takes(&[ORG])
            .page("DataStore"),
        post("/data_stores", DEPLOY, "Make a data store", data_stores::create)
            .takes(&[name, ORG])
            .one("DataStore"),
        get("/data_stores/{id}", READ, "A data store, by id or name", data_stores::show)
            .gives(Gives::One("DataStore")),
        put("/data_stores/{id}", DEPLOY, "Give a data store another name", data_stores::update)
            .takes(&[name])
            .updates()
            .one("DataStore"),
        delete(
            "/data_stores/{id}",
            DEPLOY,
            "Delete a data store with all it holds",
            data_stores::remove,
        )
        .takes(&[DRY_RUN]),
        get(
            "/data_stores/{id}/keys",
            READ,
            "Its keys in their order; the cursor is the key itself",
            data_stores::keys,
        )
        .takes(&[
            text("prefix", "Only keys that begin so; the number of all stays that of the store"),
            flag("values", "With their values, large ones cut"),
        ])
        .forward("DataStoreKey"),
        delete("/data_stores/{id}/keys", DEPLOY, "Remove all it holds", data_stores::clear)
            .gives(Gives::One("DataStore")),
        get("/data_stores/{id}/record", READ, "The value of a key", data_stores::get)
            .takes(&[key])
            .one("DataStoreRecord"),
        put("/data_stores/{id}/record", DEPLOY, "Write the value of a key", data_stores::set)
            .takes(&[
                key,
                Param::new("value", Kind::Any, "The value").required(),
                number("ttl", "Seconds after which it ends; absent: never"),
            ])
            .takes(&[number(
                "expires_at_ms",
                "Or when it ends, epoch milliseconds, as the record shows it; null: never",
            )])
            .updates()
            .gives(Gives::One("DataStoreRecord")),
        delete("/data_stores/{id}/record", DEPLOY, "Remove a key", data_stores::delete)
            .takes(&[key])
            .gives(Gives::One("DeletedKey")),
    ]
}

pub(super) fn of_files() -> Vec<Route> {
    let path = text("path", "Where it is in the store, such as `reports/june.csv`");
    vec![
        get("/file_stores", READ, "File stores that hold anything, by name", files::stores)
            .takes(&[ORG])
            .page("FileStore"),
        get(
            "/file_stores/{name}/files",
            READ,
            "Files of a store by path; the cursor is the path itself",
            files::list,
        )
        .forward("StoredFile"),
        put(
            "/file_stores/{name}/files",
            DEPLOY,
            "Put a file into a store, which begins with its first",
            files::put,
        )
        .takes(&[path.required()])
        .file()
        .one("StoredFile"),
        delete(
            "/file_stores/{name}/files",
            DEPLOY,
            "Delete a file, or all where no `path` is given",
            files::delete,
        )
        .takes(&[path])
        .gives(Gives::One("RemovedFiles")),
        get("/file_stores/{name}/files/content", READ, "What is in a file", files::get)
            .takes(&[path.required()])
            .gives(Gives::Bytes),
    ]
}
