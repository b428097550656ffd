//! Records of organizations: apps, accounts and their connections, keys.

use millrace_engine::AccountView;
use millrace_model::account::{App, Connection, ConnectionState};
use millrace_model::tenant::{ApiKey, Organization};
use serde_json::{Value, json};

pub(crate) fn app(a: &App) -> Value {
    let d = &a.definition;
    json!({
        "id": a.id, "name_slug": a.name_slug, "name": d.name, "auth_type": d.auth_type, "description": d.description, "img_src": d.img_src,
        "oauth": d.oauth.as_ref().map(|c| json!({ "authorize_url": c.authorize_url, "token_url": c.token_url, "revoke_url": c.revoke_url, "scopes": c.scopes, "authorize_params": c.authorize_params, "client_id": c.client_id, "secret_in_body": c.secret_in_body, "uid_field": c.uid_field })),
        // A JSON text, as clients of such platforms expect (facts 1.4).
        "custom_fields_json": json!(d.custom_fields).to_string(), "categories": d.categories, "created_at": a.created_at.secs(), "updated_at": a.updated_at.secs(),
    })
}

pub(crate) fn account(view: &AccountView) -> Value {
    let a = &view.account;
    let mut shown = json!({
        "id": a.id, "name": a.name, "app": { "id": view.app.id, "name_slug": view.app.name_slug, "name": view.app.definition.name },
        "healthy": a.healthy, "problem": a.problem, "external_user_id": a.external_user_id, "created_at": a.created_at.secs(), "updated_at": a.updated_at.secs(),
    });
    if let Some(at) = a.expires_at {
        shown["expires_at"] = json!(at.secs());
    }
    if let Some(credentials) = &view.credentials {
        shown["credentials"] = json!(credentials);
    }
    if !view.warnings.is_empty() {
        shown["warnings"] = json!(view.warnings);
    }
    shown
}

/// A connection: `waiting`, `connected` with the account's id, or `failed` with the reason.
pub(crate) fn connection(c: &Connection) -> Value {
    let (status, account, problem) = match &c.state {
        ConnectionState::Waiting | ConnectionState::Answered => ("waiting", None, None),
        ConnectionState::Connected(account) => ("connected", Some(account), None),
        ConnectionState::Failed(problem) => ("failed", None, Some(problem)),
    };
    json!({
        "id": c.id, "app": c.app, "external_user_id": c.external_user_id, "status": status, "account_id": account, "problem": problem,
        "created_at": c.created_at.secs(), "expires_at": c.expires_at.secs(),
    })
}

pub(crate) fn organization(o: &Organization) -> Value {
    json!({ "id": o.id, "name": o.name, "orgname": o.orgname, "email": o.email, "error_recipients": o.error_recipients })
}

/// A key's record; never the key.
pub(crate) fn api_key(k: &ApiKey) -> Value {
    json!({
        "id": k.id, "name": k.name, "user_id": k.user_id, "scopes": k.scopes.iter().collect::<Vec<_>>(), "rate_per_minute": k.rate_per_minute,
        "expires_at": k.expires_at.map(|t| t.secs()), "old_key_until": k.old.as_ref().map(|(_, until)| until.secs()), "created_at": k.created_at.secs(),
    })
}
