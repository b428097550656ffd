//! Access of a former owner with a lower role, or without a membership.

use millrace_tests::Server;
use millrace_tests::browser::{Browser, PASSWORD};
use reqwest::Method;
use serde_json::{Value, json};

/// A lower role ends what only an owner can make, and a member who is removed leaves no way back.
#[tokio::test]
async fn what_an_owner_made_ends_with_the_role_and_with_the_membership() {
    let server = Server::start().await;
    let mut owner = Browser::first_owner(&server, "mara@x.test").await;
    let invite = |email: &str, role: &str| json!({ "email": email, "role": role });
    let mut jo = Browser::default();
    for ending in [(Method::PUT, Some(json!({ "role": "member" }))), (Method::DELETE, None)] {
        let email = format!("jo-{}@x.test", ending.0.as_str().to_lowercase());
        let invited = invite(&email, "owner");
        let link = owner.call(&server, Method::POST, "/invitations", Some(&invited)).await.data();
        let joined = jo.follow(&server, &link, &json!({ "password": PASSWORD })).await.data();
        let mut made = Vec::new();
        for scope in ["full", "deploy"] {
            let key = json!({ "name": scope, "scopes": [scope] });
            made.push(jo.call(&server, Method::POST, "/api_keys", Some(&key)).await.data());
        }
        let client = json!({ "name": "full", "scopes": ["full"] });
        jo.call(&server, Method::POST, "/oauth/clients", Some(&client)).await.data();
        let second = invite(&format!("second-{email}"), "owner");
        let way_back = jo.call(&server, Method::POST, "/invitations", Some(&second)).await.data();
        let of_owner = json!({ "email": "mara@x.test" });
        let reset = jo.call(&server, Method::POST, "/setup_links", Some(&of_owner)).await.data();

        let id = joined["user"]["id"].as_str().expect("an id");
        let path = format!("/members/{id}");
        owner.call(&server, ending.0.clone(), &path, ending.1.as_ref()).await.data();
        let status = async |key: &Value| {
            let key = key["key"].as_str().expect("a key");
            server.call_as(key, Method::GET, "/sources", None).await.status
        };
        let stays = if ending.1.is_some() { 200 } else { 401 };
        assert_eq!((status(&made[0]).await, status(&made[1]).await), (401, stays), "{ending:?}");
        let clients = owner.get(&server, "/oauth/clients").await;
        assert_eq!(clients.json["page_info"]["total_count"], 0, "{ending:?}");
        for link in [&way_back, &reset] {
            let mut somebody = Browser::default();
            let used = somebody.follow(&server, link, &json!({ "password": PASSWORD })).await;
            assert_eq!(used.refusal(), (410, "gone"), "{ending:?}");
        }
    }
}
