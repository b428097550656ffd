//! Drafts: their revisions and who changed them; what versions say of themselves.

use millrace_tests::browser::{Browser, PASSWORD};
use millrace_tests::cli::Shell;
use millrace_tests::{Answer, Server};
use reqwest::Method;
use serde_json::{Value, json};

const STEP: &str = "export default defineComponent({ run() { return WHAT; } });";

fn steps(what: &str) -> Value {
    json!([{ "namespace": "a", "code": STEP.replace("WHAT", what) }])
}

/// A request over revisions as `if-match` names them; with the answer's tag.
async fn over(server: &Server, method: Method, path: &str, if_match: &str, body: &Value) -> (Answer, Option<String>) {
    let request = server.raw(method, &format!("/v1{path}")).bearer_auth(&server.api_key).header("if-match", if_match);
    let response = request.json(body).send().await.expect("an answer");
    let tag = response.headers().get("etag").map(|tag| tag.to_str().expect("text").to_owned());
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    (Answer { status, json: serde_json::from_str(&text).unwrap_or(Value::Null), text }, tag)
}

#[tokio::test]
async fn r4_1_a_draft_is_changed_over_the_revision_that_was_read_and_says_who_changed_it() {
    let server = Server::start().await;
    let new = json!({ "name": "w", "triggers": [], "steps": steps("1"), "settings": { "auto_deploy": false } });
    let made = server.post("/workflows", &new).await.data();
    let path = format!("/workflows/{}", made["id"].as_str().expect("an id"));
    let me = server.get("/users/me").await.data();
    let (read, tag) = over(&server, Method::GET, &path, "*", &json!({})).await;
    let read = read.data();
    assert_eq!((&read["revision"], tag.as_deref(), &read["draft"]["changed"]), (&json!(1), Some("\"1\""), &json!(true)));
    assert_eq!(read["draft"]["changed_by"], json!({ "id": me["id"], "name": me["username"] }));

    // Somebody else changes it meanwhile.
    let mut owner = Browser::first_owner(&server, "mara@x.test").await;
    let invited = owner.call(&server, Method::POST, "/invitations", Some(&json!({ "email": "jo@x.test", "role": "member" }))).await.data();
    let mut jo = Browser::default();
    let jo_id = jo.follow(&server, &invited, &json!({ "name": "Jo", "password": PASSWORD })).await.data()["user"]["id"].clone();
    let changed = jo.call(&server, Method::PUT, &path, Some(&json!({ "steps": steps("'jo'") }))).await.data();
    assert_eq!(changed["revision"], 2);
    for (method, path, body) in [
        (Method::PUT, path.clone(), json!({ "steps": steps("'mine'"), "name": "other", "settings": { "auto_deploy": true } })),
        (Method::POST, format!("{path}/deploy"), json!({})),
        (Method::POST, format!("{path}/discard"), json!({})),
    ] {
        for stale in ["\"1\"", "\"3\", W/\"1\"", "nonsense", ""] {
            let (refused, _) = over(&server, method.clone(), &path, stale, &body).await;
            assert_eq!(refused.refusal(), (412, "draft_changed"), "{method} {path} {stale}: {}", refused.text);
            let details = &refused.json["details"];
            assert_eq!((&details["revision"], &details["changed_by"]), (&json!(2), &json!({ "id": jo_id, "name": "Jo" })));
            assert_eq!(details["changed_at"], changed["draft"]["changed_at"]);
            for part in ["`Jo`", "revision 2", "if-match: \"2\""] {
                assert!(refused.json["error"].as_str().is_some_and(|words| words.contains(part)), "{part}: {}", refused.text);
            }
        }
    }
    let now = server.get(&path).await.data();
    for part in ["steps", "name", "deployment_id", "revision", "draft"] {
        assert_eq!(now[part], changed[part], "nothing of what was refused is there");
    }

    // Over the present one it goes, weak as a proxy makes it, or among others; without the header as ever.
    let (mine, tag) = over(&server, Method::PUT, &path, "\"7\", W/\"2\"", &json!({ "steps": steps("'mine'") })).await;
    assert_eq!((&mine.data()["revision"], tag.as_deref()), (&json!(3), Some("\"3\"")));
    assert_eq!(server.put(&path, &json!({ "steps": steps("'over'") })).await.data()["revision"], 4);
    // A name and a flag are no part of the draft; what is live is no change.
    assert_eq!(server.put(&path, &json!({ "name": "renamed" })).await.data()["revision"], 4);
    let (deployed, _) = over(&server, Method::POST, &format!("{path}/deploy"), "\"4\"", &json!({})).await;
    assert_eq!(deployed.data()["version"], 1);
    let off = server.put(&path, &json!({ "active": false })).await.data();
    assert_eq!((&off["revision"], &off["draft"]["changed"]), (&json!(4), &json!(false)));
    assert_eq!(server.put(&path, &json!({ "settings": { "timeout_ms": 1000 } })).await.data()["draft"]["changed"], true);
    assert_eq!(server.get("/workflows").await.json["data"][0]["draft"]["changed"], true);
    let (back, _) = over(&server, Method::POST, &format!("{path}/discard"), "\"5\"", &json!({})).await;
    let back = back.data();
    assert_eq!((&back["revision"], &back["draft"]["changed"]), (&json!(6), &json!(false)));
    // Of two at once one is refused.
    let body = [steps("'one'"), steps("'other'")].map(|steps| json!({ "steps": steps }));
    let (one, other) = tokio::join!(over(&server, Method::PUT, &path, "\"6\"", &body[0]), over(&server, Method::PUT, &path, "\"6\"", &body[1]));
    let mut statuses = [one.0.status, other.0.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412], "{} {}", one.0.text, other.0.text);
}

#[tokio::test]
async fn r4_1_versions_say_who_made_them_and_why() {
    let server = Server::start().await;
    let shell = Shell::new(&server);
    let new = json!({ "name": "w", "triggers": [], "steps": steps("1"), "message": " First \n" });
    let path = format!("/workflows/{}", server.post("/workflows", &new).await.data()["id"].as_str().expect("an id"));
    server.put(&path, &json!({ "steps": steps("2"), "settings": { "auto_deploy": true }, "message": "Counts to two" })).await.data();
    let third = server.post(&format!("{path}/deploy"), &json!({ "message": "" })).await.data();
    let me = server.get("/users/me").await.data();
    assert_eq!((&third["version"], &third["message"], &third["made_by"]), (&json!(3), &Value::Null, &json!({ "id": me["id"], "name": me["username"] })));
    let listed = server.get(&format!("{path}/deployments")).await.json["data"].clone();
    let messages = |listed: &Value| listed.as_array().expect("a list").iter().map(|d| d["message"].clone()).collect::<Vec<_>>();
    assert_eq!(messages(&listed), [Value::Null, json!("Counts to two"), json!("First")]);
    let first = listed[2]["id"].as_str().expect("an id");
    assert_eq!(server.get(&format!("{path}/deployments/{first}")).await.data()["message"], "First");
    for message in ["x".repeat(501), "a\u{7}b".into()] {
        let refused = server.post(&format!("{path}/deploy"), &json!({ "message": message })).await;
        assert_eq!((refused.refusal(), &refused.json["details"]["field"]), ((422, "invalid_field"), &json!("message")));
    }

    // How their runs ended is told where it is asked for.
    assert!(listed[0].get("runs").is_none());
    server.post(&format!("{path}/run"), &json!({})).await.data();
    let counted = server.get(&format!("{path}/deployments?runs=true")).await.json["data"].clone();
    let none = json!({ "unfinished": 0, "succeeded": 0, "failed": 0, "cancelled": 0 });
    let one = json!({ "unfinished": 0, "succeeded": 1, "failed": 0, "cancelled": 0 });
    assert_eq!((&counted[0]["runs"], &counted[1]["runs"]), (&one, &none));

    // The command line gives and shows them.
    shell.run(&["workflows", "rollback", "w", "1"]).ok();
    shell.run(&["workflows", "rollback", "w", "2", "--message", "Two was right"]).ok();
    shell.write(&[("b/workflow.yaml", "name: b\nsteps: []\n")]);
    shell.run(&["workflows", "deploy", "b", "-m", "From the folder"]).ok();
    assert!(shell.run(&["workflows", "deployments", "b"]).ok().contains("From the folder"));
    let listed = shell.run(&["workflows", "deployments", "w", "--json"]).json();
    assert_eq!(messages(&listed)[..2], [json!("Two was right"), json!("Back to version 1")]);
}
