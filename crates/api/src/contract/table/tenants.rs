//! Organizations, keys, apps and their accounts, history.

use millrace_model::ids::{SourceId, WorkflowId};

use super::{
    ANY, DEPLOY, DRY_RUN, FULL, INVOKE, NOTHING, ORG, READ, flag, number, object, objects, text,
};
use crate::audit;
use crate::contract::routes::{Gives, Kind, Param, Route, delete, get, post, put};
use crate::v1::{
    accounts, api_keys, apps, history, members, oauth_clients, session, system, users,
};

pub(super) fn people() -> Vec<Route> {
    let changed = [
        text("name", "Its name"),
        Param::new(
            "error_recipients",
            Kind::Words,
            "Where mails about errors go, for workflows that name nobody: up to ten addresses; none: to the owner",
        ),
    ];
    vec![
        get("/users/me", ANY, "The user and organization that the key acts for", users::me)
            .one("User"),
        get("/users/me/workspaces", ANY, "The user's organizations", users::workspaces)
            .page("Organization"),
        get(
            "/users/me/preferences",
            ANY,
            "What the person prefers in the organization: any object, of the client's choice",
            users::preferences,
        )
        .one("Preferences"),
        put(
            "/users/me/preferences",
            ANY,
            "Write what the person prefers, in the place of what was there",
            users::set_preferences,
        )
        .takes(&[object(
            "preferences",
            "An object of at most 64 KiB as JSON: saved views, columns, what is folded",
        )
        .required()])
        .updates()
        .one("Preferences"),
        post(
            "/workspaces",
            FULL,
            "Make another organization with an owner and a key of its own, shown this once",
            users::create_workspace,
        )
        .takes(&[
            text("name", "Its name").required(),
            text("email", "The owner's address; error notices go there").required(),
        ])
        .gives(Gives::One("NewOrganization")),
        get("/workspaces/{org}", READ, "An organization", users::workspace).one("Organization"),
        get("/orgs/{org}", READ, "An organization", users::workspace).one("Organization"),
        put("/workspaces/{org}", FULL, "Change an organization", users::update_workspace)
            .takes(&changed)
            .updates()
            .one("Organization"),
        put("/orgs/{org}", FULL, "Change an organization", users::update_workspace)
            .takes(&changed)
            .updates()
            .one("Organization"),
    ]
}

pub(super) fn sessions() -> Vec<Route> {
    vec![
        post("/session", NOTHING, "Sign in: sets the cookie of a session, for browsers", session::begin)
            .takes(&[text("email", "The address").required(), text("password", "The password").required()])
            .gives(Gives::One("Session")),
        get("/sign_in", NOTHING, "How people sign in beside their passwords", session::ways).one("SignInWays"),
        post(
            "/sign_in/begin",
            NOTHING,
            "Begin to sign in by the provider of OpenID Connect; sets a cookie that ends it, for browsers",
            session::begin_with_provider,
        )
        .gives(Gives::One("SignInBegun")),
        post(
            "/sign_in/finish",
            NOTHING,
            "Sign in with what the provider sent the browser back with: sets the cookie of a session",
            session::finish_with_provider,
        )
        .takes(&[
            text("state", "The parameter `state` of the address that the browser came back to").required(),
            text("code", "Its parameter `code`").required(),
        ])
        .gives(Gives::One("Session")),
        get("/session", ANY, "Who asks, in which organization, and what that role may do", session::show).one("Session"),
        put("/session", ANY, "Look at another organization that one belongs to; only of a session", session::switch)
            .takes(&[text("org_id", "The organization").required()])
            .one("Session"),
        delete("/session", ANY, "Sign out; only of a session", session::end),
        put("/session/password", ANY, "Set another password, and end all other sessions; only of a session", session::change_password)
            .takes(&[text("current_password", "The password of now").required(), text("password", "The new one, 12 to 256 characters").required()])
            .one("Session"),
        get("/sessions", ANY, "One's sessions, newest first; only of a session", session::list).page("BrowserSession"),
        delete("/sessions/{id}", ANY, "End one of one's sessions; only of a session", session::end_one),
        post(
            "/links",
            NOTHING,
            "Mail a link by which somebody who forgot the password sets another one; the same answer whether or not there is such a person",
            session::forgot,
        )
        .takes(&[text("email", "The address that the person signs in with").required()])
        .gives(Gives::One("Asked"))
        .status(202),
        post("/links/open", NOTHING, "What a link that works once is for: a first visit, an invitation or another password", session::open_link)
            .takes(&[text("token", "What stands at the end of its address").required()])
            .gives(Gives::One("Link")),
        post("/links/use", NOTHING, "Use a link that works once, and sign in", session::use_link)
            .takes(&[
                text("token", "What stands at the end of its address").required(),
                text("password", "The password to be set, 12 to 256 characters; of an invited person who has a login, the one of now").required(),
                text("name", "One's name"),
                text("email", "The address to sign in with; of a first visit only"),
            ])
            .gives(Gives::One("Session")),
        post("/setup_links", FULL, "Make a link by which a member of the organization sets a password; it works once, within a day", session::setup_link)
            .takes(&[text("email", "Whose password; absent: the user's that the key acts for")])
            .gives(Gives::One("SetupLink")),
    ]
}

pub(super) fn members() -> Vec<Route> {
    let role =
        text("role", "`owner` (`full`), `member` (`deploy`) or `viewer` (`read`)").required();
    vec![
        get(
            "/members",
            READ,
            "Who belongs to the organization, the first to join first",
            members::list,
        )
        .page("Member"),
        put(
            "/members/{id}",
            FULL,
            "Give a member another role; one owner stays who can sign in",
            members::update,
        )
        .takes(&[role])
        .updates()
        .one("Member"),
        delete(
            "/members/{id}",
            FULL,
            "End a membership, with the member's sessions, keys and OAuth clients here",
            members::remove,
        ),
        post(
            "/invitations",
            FULL,
            "Invite somebody by a link, shown this once; it works once, within a week",
            members::invite,
        )
        .takes(&[text("email", "Whom").required(), role])
        .gives(Gives::One("NewInvitation")),
        get(
            "/invitations",
            FULL,
            "Invitations that may be accepted still, newest first",
            members::invitations,
        )
        .page("Invitation"),
        delete("/invitations/{id}", FULL, "Withdraw an invitation", members::withdraw),
    ]
}

pub(super) fn keys() -> Vec<Route> {
    let end = number("expires_at", "When it ends, epoch seconds; absent or null: never");
    vec![
        post("/api_keys", FULL, "Make a key; the key is shown this once", api_keys::create)
            .takes(&[
                text("name", "What it is for").required(),
                Param::new("scopes", Kind::Words, "What it may do: `read`, `invoke`, `deploy`, or `full`, which is everything").required(),
                number("rate_per_minute", "Requests a minute; absent: the server's setting"),
                end,
                ORG,
            ])
            .gives(Gives::One("NewApiKey")),
        get("/api_keys", FULL, "The organization's keys, newest first; never the keys themselves", api_keys::list).page("ApiKey"),
        get("/api_keys/{id}", FULL, "A key's record", api_keys::show).one("ApiKey"),
        put("/api_keys/{id}", FULL, "Give a key another name or end", api_keys::update).takes(&[text("name", "A new name"), end]).updates().one("ApiKey"),
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

pub(super) fn apps_and_accounts() -> Vec<Route> {
    let credentials =
        flag("include_credentials", "Show the credentials; needs a key with the scope `full`");
    let fields = [
        text("name", "Its name"),
        text("auth_type", "`oauth`, `keys` or `none`"),
        text("description", "What it is"),
        text("img_src", "The address of a picture"),
        objects(
            "custom_fields",
            "What an account holds: `{name, label, description, default, optional, type}`",
        ),
        text("custom_fields_json", "The same as records show it: the list as JSON text"),
        Param::new("categories", Kind::Any, "A list of words"),
        object(
            "oauth",
            "How accounts are connected: `{authorize_url, token_url, revoke_url, scopes, authorize_params, client_id, client_secret, secret_in_body, uid_field}`; the secret is never shown, and stays where it is left out",
        ),
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
        get("/apps/{id}/image", READ, "Its image, a PNG, JPEG, GIF or WebP of at most 256 KiB, fetched from `img_src`", apps::image).gives(Gives::Image),
        put("/apps/{id}", DEPLOY, "Change an app that the organization registered, or register one of the catalogue anew", apps::update)
            .takes(&fields)
            .updates()
            .one("App"),
        post("/apps/{id}/events", INVOKE, "Hand over an event of an app to the sources that listen for it with `$.interface.apphook`", apps::event)
            .takes(&[
                Param::new("event_name", Kind::Words, "What sources may listen for it by: a name, or a list of names").required(),
                Param::new("event", Kind::Any, "What the code gets"),
            ])
            .gives(Gives::One("AppEvent")),
        get("/accounts", READ, "Connected accounts", accounts::list)
            .takes(&[
                text("app", "Only of the app with this slug or id"),
                text("external_user_id", "Only those that carry this external user"),
                credentials,
                ORG,
            ])
            .page("Account"),
        post("/accounts", FULL, "Connect an account", accounts::create)
            .takes(&[
                text("app", "The app's slug").required(),
                text("name", "Its name"),
                object("credentials", "A value for each field of the app"),
                text("external_user_id", "The external user of `/v1/connect` whose it is; not given: the organization's own"),
                ORG,
            ])
            .one("Account"),
        post("/accounts/connect", FULL, "Begin to connect an account by OAuth: gives the provider's page, to be opened in a browser", accounts::connect)
            .takes(&[
                text("app", "The app's slug").required(),
                text("name", "The account's name"),
                text("account_id", "An account to be connected again"),
                object("credentials", "Values of the app's other fields"),
                text("external_user_id", "The external user of `/v1/connect` whose it is; not given: the organization's own"),
                ORG,
            ])
            .one("Connection"),
        get(
            "/accounts/connect/{id}",
            READ,
            "A connection that was begun: whether somebody came back from the provider, and with what account",
            accounts::connection,
        )
        .one("Connection"),
        get("/accounts/{id}", READ, "A connected account", accounts::show).takes(&[credentials]).one("Account"),
        get("/accounts/{id}/uses", READ, "The workflows and sources that name it", accounts::uses).gives(Gives::List("Named")),
        post(
            "/accounts/{id}/check",
            FULL,
            "Ask its provider for a token now, and tell whether the account works; of one without a refresh token as it is known",
            accounts::check,
        )
        .one("Account"),
        put("/accounts/{id}", FULL, "Change an account's name or credentials", accounts::update)
            .takes(&[
                text("name", "A new name"),
                object("credentials", "New values; the others stay"),
                text("external_user_id", "The external user of `/v1/connect` whose it is from now on; null: nobody's"),
            ])
            .updates()
            .one("Account"),
        delete("/accounts/{id}", FULL, "Forget an account", accounts::remove).takes(&[DRY_RUN]),
        get("/workspaces/{org}/accounts", READ, "Connected accounts", accounts::list_of)
            .takes(&[text("query", "An app's slug"), text("external_user_id", "Only those that carry this external user"), credentials])
            .page("Account"),
        get("/orgs/{org}/accounts", READ, "Connected accounts", accounts::list_of)
            .takes(&[text("query", "An app's slug"), text("external_user_id", "Only those that carry this external user"), credentials])
            .page("Account"),
    ]
}

pub(super) fn of_oauth_clients() -> Vec<Route> {
    let client = [
        text("client_id", "The client; it may stand in `Authorization: Basic` too"),
        text("client_secret", "Its secret"),
    ];
    vec![
        post("/oauth/clients", FULL, "Make an OAuth client; its secret is shown this once", oauth_clients::create)
            .takes(&[
                text("name", "What it is for").required(),
                Param::new("scopes", Kind::Words, "What its tokens may do at most: `read`, `invoke`, `deploy`, or `full`, which is everything").required(),
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

pub(super) fn of_history() -> Vec<Route> {
    let kept = [
        number(
            "keep_days",
            "Days after which its settled runs and its events go; null: as the server says",
        ),
        number(
            "keep_count",
            "How many of its newest runs, and of its newest events, stay; null: as the server says",
        ),
    ];
    let about = "How much history of it is kept";
    let set = "Set how much history of it is kept; what is absent stays as it is";
    vec![
        get("/workflows/{id}/retention", READ, about, history::retention::<WorkflowId>).one("Retention"),
        put("/workflows/{id}/retention", DEPLOY, set, history::set_retention::<WorkflowId>).takes(&kept).updates().one("Retention"),
        get("/sources/{id}/retention", READ, about, history::retention::<SourceId>).one("Retention"),
        put("/sources/{id}/retention", DEPLOY, set, history::set_retention::<SourceId>).takes(&kept).updates().one("Retention"),
        get("/export", READ, "Runs with their results, logs and events as they are at one moment, a JSON line for each", history::export)
            .takes(&[
                text("owner_id", "Only of this workflow or source"),
                number("from", "Accepted at or after, epoch milliseconds"),
                number("to", "Accepted before, epoch milliseconds"),
                ORG,
            ])
            .gives(Gives::Lines("ExportLine")),
        get("/system", FULL, "The server: its version, database, disk, queue, hosts and walls. Of the organization that was made first alone", system::show)
            .one("System"),
        get("/audit", FULL, "Who changed what, newest first", audit::list)
            .takes(&[
                text("user_id", "Only what was done for this user"),
                text("target", "Only what was done to this: an id, or what else stands in the path"),
                number("from", "Done at or after, epoch milliseconds"),
                number("to", "Done before, epoch milliseconds"),
                ORG,
            ])
            .page("AuditRecord"),
    ]
}
