//! People, invitations and sessions of an organization, tried by an owner of another one and by
//! another person of the same: nothing is found, and nothing changes.

use millrace_tests::browser::{Browser, PASSWORD};
use millrace_tests::{Answer, Client, Server, id};
use reqwest::Method;
use serde_json::{Value, json};

const JO: &str = "jo@x.test";

/// An organization with an owner, a member and an open invitation.
struct Home {
    server: Server,
    owner: Browser,
    jo: Browser,
    jo_id: String,
    jo_session: String,
    owner_id: String,
    owner_session: String,
    invitation: String,
}

impl Home {
    async fn start() -> Self {
        let server = Server::start().await;
        let mut owner = Browser::first_owner(&server, "mara@x.test").await;
        let invite = json!({ "email": JO, "role": "member" });
        let link = server.post("/invitations", &invite).await.data();
        let mut jo = Browser::default();
        jo.follow(&server, &link, &json!({ "password": PASSWORD })).await.data();
        let open = json!({ "email": "open@x.test", "role": "viewer" });
        let open = server.post("/invitations", &open).await.data();
        let session = async |browser: &mut Browser| {
            let session = browser.get(&server, "/session").await.data();
            (id(&session["user"]).to_owned(), id(&session).to_owned())
        };
        let ((owner_id, owner_session), (jo_id, jo_session)) =
            (session(&mut owner).await, session(&mut jo).await);
        let invitation = id(&open).to_owned();
        Self { server, owner, jo, jo_id, jo_session, owner_id, owner_session, invitation }
    }

    /// All that must stay as it is.
    async fn state(&mut self) -> Vec<String> {
        let mut state = Vec::new();
        for path in ["/members", "/invitations", "/audit", "/api_keys?include=id,name,scopes"] {
            state.push(self.server.get(path).await.text);
        }
        for browser in [&mut self.owner, &mut self.jo] {
            for path in ["/session", "/sessions?include=id,current"] {
                let got = browser.get(&self.server, path).await;
                assert_eq!(got.status, 200, "{path}: {}", got.text);
                state.push(got.text);
            }
        }
        state
    }

    /// What another may try with a record of this organization.
    fn tries(&self) -> Vec<(Method, String, Value)> {
        let mut tries = Vec::new();
        for member in [&self.jo_id, &self.owner_id] {
            let path = format!("/members/{member}");
            tries.push((Method::PUT, path.clone(), json!({ "role": "viewer" })));
            tries.push((Method::DELETE, path, Value::Null));
        }
        let invitation = format!("/invitations/{}", self.invitation);
        tries.push((Method::DELETE, invitation, Value::Null));
        for session in [&self.jo_session, &self.owner_session] {
            tries.push((Method::DELETE, format!("/sessions/{session}"), Value::Null));
        }
        tries
    }
}

fn body(value: &Value) -> Option<&Value> {
    (!value.is_null()).then_some(value)
}

#[tokio::test]
async fn an_owner_of_another_organization_finds_no_person_invitation_or_session_of_this_one() {
    let mut home = Home::start().await;
    let other = home.server.another_organization("other").await;
    let mut stranger = Browser::first_owner(&other, "sam@x.test").await;
    let before = home.state().await;
    for (method, path, with) in home.tries() {
        let by_session = stranger.call(&other, method.clone(), &path, body(&with)).await;
        assert_eq!(by_session.refusal(), (404, "not_found"), "{method} {path}");
        let by_key = other.call_as(&other.api_key, method.clone(), &path, body(&with)).await;
        // Sessions are for people.
        let refusal =
            if path.starts_with("/sessions") { (403, "forbidden") } else { (404, "not_found") };
        assert_eq!(by_key.refusal(), refusal, "{method} {path}");
    }
    let enter = json!({ "org_id": home.server.org_id });
    let entered = stranger.call(&other, Method::PUT, "/session", Some(&enter)).await;
    assert_eq!(entered.refusal(), (404, "not_found"));
    // No link sets the password of a person of another organization.
    for email in [JO, "mara@x.test", "open@x.test"] {
        let asked = json!({ "email": email });
        let link = other.post("/setup_links", &asked).await;
        assert_eq!(link.refusal(), (404, "not_found"), "{email}: {}", link.text);
    }
    // Lists are its own.
    for path in ["/members", "/invitations", "/session", "/sessions"] {
        let got = stranger.get(&other, path).await;
        assert_eq!(got.status, 200, "{path}");
        for foreign in [JO, "mara@x.test", "open@x.test", &home.jo_session, &home.server.org_id] {
            assert!(!got.text.contains(foreign), "{path} shows {foreign}: {}", got.text);
        }
    }
    // What names no record is done to its own person and session.
    let change = json!({ "current_password": PASSWORD, "password": "another wheel in it" });
    stranger.call(&other, Method::PUT, "/session/password", Some(&change)).await.data();
    stranger.call(&other, Method::DELETE, "/session", None).await.data();
    assert_eq!(home.state().await, before);
    Browser::default().sign_in(&home.server, JO, PASSWORD).await.data();
}

/// An invitation of a person of another organization lets nobody in there, and takes nothing away.
#[tokio::test]
async fn inviting_a_person_of_another_organization_changes_nothing_there() {
    let mut home = Home::start().await;
    let other = home.server.another_organization("other").await;
    let before = home.state().await;
    let invite = json!({ "email": JO, "role": "owner" });
    let link = other.post("/invitations", &invite).await.data();
    let wrong = json!({ "password": "a password of another's choice" });
    let used = Browser::default().follow(&home.server, &link, &wrong).await;
    assert_eq!(used.refusal(), (422, "invalid_field"));
    assert_eq!(home.state().await, before);
    assert_eq!(other.get("/members").await.json["page_info"]["total_count"], 1);
}

#[tokio::test]
async fn another_person_of_the_organization_ends_no_session_and_changes_no_one() {
    let mut home = Home::start().await;
    let before = home.state().await;
    // A member, with what the role may not do, and with sessions that are another's.
    let mut jo = home.jo.clone();
    for (method, path, with) in home.tries() {
        if path.ends_with(&home.jo_session) {
            continue;
        }
        let got: Answer = jo.call(&home.server, method.clone(), &path, body(&with)).await;
        let refusal =
            if path.starts_with("/sessions") { (404, "not_found") } else { (403, "scope_missing") };
        assert_eq!(got.refusal(), refusal, "{method} {path}");
    }
    for path in ["/invitations"] {
        assert_eq!(jo.get(&home.server, path).await.refusal(), (403, "scope_missing"), "{path}");
    }
    let sessions = jo.get(&home.server, "/sessions").await;
    assert!(!sessions.text.contains(&home.owner_session), "{}", sessions.text);
    // Nor does an owner end a member's session by its id, or change a member's password.
    let server: &Client = &home.server;
    let path = format!("/sessions/{}", home.jo_session);
    let ended = home.owner.call(server, Method::DELETE, &path, None).await;
    assert_eq!(ended.refusal(), (404, "not_found"));
    assert!(!home.owner.get(server, "/sessions").await.text.contains(&home.jo_session));
    assert_eq!(home.state().await, before);
}
