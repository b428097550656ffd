//! Drafts: their revisions and who changed them; what versions say of themselves.

use millrace_tests::browser::{Browser, PASSWORD};
use millrace_tests::cli::Shell;
use millrace_tests::{Answer, Client, Server, id};
use reqwest::Method;
use serde_json::{Value, json};

const STEP: &str = "export default defineComponent({ run() { return WHAT; } });";

pub(super) fn steps(what: &str) -> Value {
    json!([{ "namespace": "a", "code": STEP.replace("WHAT", what) }])
}

/// A request over revisions as `if-match` names them; with the answer's tag.
pub(super) async fn over(
    server: &Client,
    method: Method,
    path: &str,
    if_match: &str,
    body: &Value,
) -> (Answer, Option<String>) {
    let request = server
        .raw(method, &format!("/v1{path}"))
        .bearer_auth(&server.api_key)
        .header("if-match", if_match);
    let response = request.json(body).send().await.expect("an answer");
    let tag = response.headers().get("etag").map(|tag| tag.to_str().expect("text").to_owned());
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    (Answer { status, json: serde_json::from_str(&text).unwrap_or(Value::Null), text }, tag)
}

/// The draft's revision in an entity tag.
fn revision_of(tag: &Option<String>) -> Option<&str> {
    tag.as_deref()?.trim_matches('"').split('-').next()
}

#[tokio::test]
async fn r4_1_a_draft_is_changed_over_the_revision_that_was_read_and_says_who_changed_it() {
    let server = Server::shared().await;
    let new = json!({ "name": "w", "triggers": [], "steps": steps("1"), "settings": { "auto_deploy": false } });
    let made = server.post("/workflows", &new).await.data();
    let path = format!("/workflows/{}", made["id"].as_str().expect("an id"));
    let me = server.get("/users/me").await.data();
    let (read, tag) = over(&server, Method::GET, &path, "*", &json!({})).await;
    let read = read.data();
    assert_eq!(
        (&read["revision"], revision_of(&tag), &read["draft"]["changed"]),
        (&json!(1), Some("1"), &json!(true))
    );
    assert_eq!(read["draft"]["changed_by"], json!({ "id": me["id"], "name": me["username"] }));

    // Somebody else changes it meanwhile.
    let mut owner = Browser::first_owner(&server, "mara@x.test").await;
    let invited = owner
        .call(
            &server,
            Method::POST,
            "/invitations",
            Some(&json!({ "email": "jo@x.test", "role": "member" })),
        )
        .await
        .data();
    let mut jo = Browser::default();
    let jo_id = jo
        .follow(&server, &invited, &json!({ "name": "Jo", "password": PASSWORD }))
        .await
        .data()["user"]["id"]
        .clone();
    let changed =
        jo.call(&server, Method::PUT, &path, Some(&json!({ "steps": steps("'jo'") }))).await.data();
    assert_eq!(changed["revision"], 2);
    for (method, path, body) in [
        (
            Method::PUT,
            path.clone(),
            json!({ "steps": steps("'mine'"), "name": "other", "settings": { "auto_deploy": true } }),
        ),
        (Method::POST, format!("{path}/deploy"), json!({})),
        (Method::POST, format!("{path}/discard"), json!({})),
    ] {
        for stale in ["\"1\"", "\"3\", W/\"1\"", "nonsense", ""] {
            let (refused, _) = over(&server, method.clone(), &path, stale, &body).await;
            assert_eq!(
                refused.refusal(),
                (412, "draft_changed"),
                "{method} {path} {stale}: {}",
                refused.text
            );
            let details = &refused.json["details"];
            assert_eq!(
                (&details["revision"], &details["changed_by"]),
                (&json!(2), &json!({ "id": jo_id, "name": "Jo" }))
            );
            assert_eq!(details["changed_at"], changed["draft"]["changed_at"]);
            for part in ["`Jo`", "revision 2", "if-match: \"2\""] {
                assert!(
                    refused.json["error"].as_str().is_some_and(|words| words.contains(part)),
                    "{part}: {}",
                    refused.text
                );
            }
        }
    }
    let now = server.get(&path).await.data();
    for part in ["steps", "name", "deployment_id", "revision", "draft"] {
        assert_eq!(now[part], changed[part], "nothing of what was refused is there");
    }

    // Over the present one it goes, weak as a proxy makes it, or among others; without the header
    // as ever.
    let (mine, tag) =
        over(&server, Method::PUT, &path, "\"7\", W/\"2\"", &json!({ "steps": steps("'mine'") }))
            .await;
    assert_eq!((&mine.data()["revision"], revision_of(&tag)), (&json!(3), Some("3")));
    assert_eq!(server.put(&path, &json!({ "steps": steps("'over'") })).await.data()["revision"], 4);
    // A name and a flag are no part of the draft; what is live is no change.
    assert_eq!(server.put(&path, &json!({ "name": "renamed" })).await.data()["revision"], 4);
    let (deployed, _) =
        over(&server, Method::POST, &format!("{path}/deploy"), "\"4\"", &json!({})).await;
    assert_eq!(deployed.data()["version"], 1);
    let off = server.put(&path, &json!({ "active": false })).await.data();
    assert_eq!((&off["revision"], &off["draft"]["changed"]), (&json!(4), &json!(false)));
    assert_eq!(
        server.put(&path, &json!({ "settings": { "timeout_ms": 1000 } })).await.data()["draft"]["changed"],
        true
    );
    assert_eq!(server.get("/workflows").await.json["data"][0]["draft"]["changed"], true);
    let (back, _) =
        over(&server, Method::POST, &format!("{path}/discard"), "\"5\"", &json!({})).await;
    let back = back.data();
    assert_eq!((&back["revision"], &back["draft"]["changed"]), (&json!(6), &json!(false)));
    // Of two at once one is refused.
    let body = [steps("'one'"), steps("'other'")].map(|steps| json!({ "steps": steps }));
    let (one, other) = tokio::join!(
        over(&server, Method::PUT, &path, "\"6\"", &body[0]),
        over(&server, Method::PUT, &path, "\"6\"", &body[1])
    );
    let mut statuses = [one.0.status, other.0.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412], "{} {}", one.0.text, other.0.text);
}

#[tokio::test]
async fn r4_1_versions_say_who_made_them_and_why() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let new = json!({ "name": "w", "triggers": [], "steps": steps("1"), "message": " First \n" });
    let path = format!(
        "/workflows/{}",
        server.post("/workflows", &new).await.data()["id"].as_str().expect("an id")
    );
    server.put(&path, &json!({ "steps": steps("2"), "settings": { "auto_deploy": true }, "message": "Counts to two" })).await.data();
    let third = server.post(&format!("{path}/deploy"), &json!({ "message": "" })).await.data();
    let me = server.get("/users/me").await.data();
    assert_eq!(
        (&third["version"], &third["message"], &third["made_by"]),
        (&json!(3), &Value::Null, &json!({ "id": me["id"], "name": me["username"] }))
    );
    let listed = server.get(&format!("{path}/deployments")).await.json["data"].clone();
    let messages = |listed: &Value| {
        listed.as_array().expect("a list").iter().map(|d| d["message"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(messages(&listed), [Value::Null, json!("Counts to two"), json!("First")]);
    let first = listed[2]["id"].as_str().expect("an id");
    assert_eq!(server.get(&format!("{path}/deployments/{first}")).await.data()["message"], "First");
    for message in ["x".repeat(501), "a\u{7}b".into()] {
        let refused = server.post(&format!("{path}/deploy"), &json!({ "message": message })).await;
        assert_eq!(
            (refused.refusal(), &refused.json["details"]["field"]),
            ((422, "invalid_field"), &json!("message"))
        );
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

#[tokio::test]
async fn r4_2_a_test_runs_on_a_runs_event_and_behind_results_that_are_at_hand() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let step = |body: &str| {
        format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }});")
    };
    let load = step("$.export('tries', 1); return { order: steps.trigger.event.order };");
    let charge =
        step("return { charged: steps.load.$return_value.order, tries: steps.load.tries };");
    let mail = step("return `${steps.charge.$return_value.charged}!`;");
    let steps = json!([
        { "namespace": "load", "code": load }, { "namespace": "charge", "code": charge }, { "namespace": "mail", "code": mail },
    ]);
    let workflow = server
        .post("/workflows", &json!({ "name": "w", "triggers": [], "steps": steps }))
        .await
        .data();
    let path = format!("/workflows/{}", id(&workflow));
    let run =
        server.post(&format!("{path}/run"), &json!({ "event": { "order": "A" } })).await.data();
    let given = |run: &Value, n: usize| {
        (run["steps"][n]["namespace"].clone(), run["steps"][n]["exports"]["$return_value"].clone())
    };
    assert_eq!(given(&run, 2), (json!("mail"), json!("A!")));
    let test = async |body: Value| server.post(&format!("{path}/test"), &body).await;

    let again = test(json!({ "event_from_run": run["id"] })).await.data();
    assert_eq!((&again["event"], given(&again, 2).1), (&json!({ "order": "A" }), json!("A!")));
    // Behind another run's results, which a pin wins over: only what follows runs.
    let behind =
        test(json!({ "event": { "order": "B" }, "from_step": "charge", "results_of": run["id"] }))
            .await
            .data();
    assert_eq!(
        (given(&behind, 0).1, given(&behind, 1).1),
        (json!({ "order": "A" }), json!({ "charged": "A", "tries": 1 }))
    );
    let pins = json!({ "load": { "$return_value": { "order": "P" }, "tries": 7 } });
    let pinned = test(
        json!({ "from_step": "mail", "results_of": run["id"], "pins": pins, "up_to": "charge" }),
    )
    .await;
    assert_eq!(pinned.refusal(), (422, "invalid_field"));
    let pinned = test(json!({ "pins": pins, "up_to": "charge" })).await.data();
    assert_eq!(
        (&pinned["status"], given(&pinned, 1).1),
        (&json!("succeeded"), json!({ "charged": "P", "tries": 7 }))
    );
    // In the middle, too.
    let middle = test(json!({ "event": { "order": "C" }, "pins": { "charge": { "$return_value": { "charged": "M" } } } })).await.data();
    assert_eq!((given(&middle, 0).1, given(&middle, 2).1), (json!({ "order": "C" }), json!("M!")));

    // Without waiting the run is there at once, and ends.
    let begun = test(json!({ "event": { "order": "D" }, "wait": false })).await.data();
    let ended = server
        .until("the test's end", &format!("/runs/{}", id(&begun)), |run| {
            run["data"]["status"] == "succeeded"
        })
        .await;
    assert_eq!((&ended["data"]["kind"], given(&ended["data"], 2).1), (&json!("test"), json!("D!")));

    for (body, field) in [
        (json!({ "pins": { "lode": {} } }), "pins"),
        (json!({ "pins": { "load": 7 } }), "pins"),
        (json!({ "pins": [] }), "pins"),
        (json!({ "from_step": "mail" }), "results_of"),
        (json!({ "results_of": run["id"] }), "from_step"),
        (json!({ "from_step": "nothing", "results_of": run["id"] }), "from_step"),
        (json!({ "event_from_run": "p_1" }), "run"),
    ] {
        let refused = test(body.clone()).await;
        assert!(refused.status == 422 || refused.status == 404, "{body} {}", refused.text);
        assert!(
            refused.status == 404 || refused.json["details"]["field"] == field,
            "{body} {}",
            refused.text
        );
    }
    assert_eq!(
        test(json!({ "event_from_run": "run_3MPlbwmoIbRQQTJuWs6qvEHMdKv" })).await.status,
        404
    );

    // A key that may not read the history learns nothing of a run's event by a test on it.
    let invoke =
        server.post("/api_keys", &json!({ "name": "i", "scopes": ["invoke"] })).await.data()["key"]
            .as_str()
            .expect("a key")
            .to_owned();
    let told = server
        .call_as(
            &invoke,
            Method::POST,
            &format!("{path}/test"),
            Some(&json!({ "event_from_run": run["id"] })),
        )
        .await;
    assert!(
        told.status == 200 && told.json["data"]["event"].is_null() && !told.text.contains("\"A"),
        "{}",
        told.text
    );

    let run_id = &id(&run);
    let said = shell
        .run(&[
            "workflows",
            "test",
            "w",
            "--event-of",
            run_id,
            "--pin",
            r#"charge={"$return_value":{"charged":"Z"}}"#,
            "--json",
        ])
        .json();
    assert_eq!(given(&said, 2).1, json!("Z!"));
    let refused = shell.run(&["workflows", "test", "w", "--pin", "charge"]);
    assert!(
        refused.stderr.contains("is not a pin") && refused.stderr.contains("--pin"),
        "{}",
        refused.stderr
    );
}

#[tokio::test]
async fn r4_1_notes_and_tags_are_said_of_a_workflow_and_find_it() {
    let server = Server::shared().await;
    let mut body = json!({ "name": "w", "triggers": [], "steps": steps("1"), "note": " for Ann\n", "tags": ["shop", "new orders", "shop", " a\"b "] });
    body["steps"][0]["note"] = json!("why it is there");
    let made = server.post("/workflows", &body).await.data();
    let path = format!("/workflows/{}", id(&made));
    assert_eq!(
        (&made["note"], &made["tags"], &made["steps"][0]["note"]),
        (&json!("for Ann"), &json!(["shop", "new orders", "a\"b"]), &json!("why it is there"))
    );
    server.post("/workflows", &json!({ "name": "other", "triggers": [], "steps": steps("1"), "tags": "orders, shopping" })).await.data();
    let tagged = async |tag: &str| {
        let found = server.get(&format!("/workflows?tag={tag}")).await.json;
        (
            found["page_info"]["total_count"].clone(),
            found["data"]
                .as_array()
                .map(|all| all.iter().map(|w| w["name"].clone()).collect::<Vec<_>>()),
        )
    };
    for (tag, names) in [
        ("shop", vec!["w"]),
        ("new%20orders", vec!["w"]),
        ("a%22b", vec!["w"]),
        ("orders", vec!["other"]),
        ("hop", vec![]),
        ("%22%2C%22", vec![]),
        ("%25", vec![]),
        ("", vec!["other", "w"]),
    ] {
        assert_eq!(
            tagged(tag).await,
            (json!(names.len()), Some(names.iter().map(|name| json!(name)).collect())),
            "{tag}"
        );
    }
    // They are no part of a version; a step's note is one.
    let live = server.get(&path).await.data();
    assert_eq!(live["draft"]["changed"], false);
    let changed = server.put(&path, &json!({ "note": null, "tags": [] })).await.data();
    assert_eq!(
        (&changed["note"], &changed["tags"], &changed["draft"], &changed["revision"]),
        (&Value::Null, &json!([]), &live["draft"], &live["revision"])
    );
    // What was read can be written back.
    let read = server.get(&path).await.data();
    assert_eq!(server.put(&path, &read).await.data()["steps"][0]["note"], "why it is there");
    body["steps"][0]["note"] = json!("another reason");
    assert_eq!(
        server.put(&path, &json!({ "steps": body["steps"] })).await.data()["draft"]["changed"],
        true
    );
    let version = server
        .get(&format!("{path}/deployments/{}", live["deployment_id"].as_str().expect("an id")))
        .await
        .data();
    assert_eq!(version["steps"][0]["note"], "why it is there");

    let long = "x".repeat(2001);
    body["steps"][0]["note"] = json!(long);
    for (wrong, field) in [
        (json!({ "note": long }), "note"),
        (json!({ "steps": body["steps"] }), "steps[0].note"),
        (json!({ "tags": ["a,b"] }), "tags"),
        (json!({ "tags": [""] }), "tags"),
        (json!({ "tags": ["x".repeat(51)] }), "tags"),
        (json!({ "tags": ["a\nb"] }), "tags"),
        (json!({ "tags": (0..21).map(|n| n.to_string()).collect::<Vec<_>>() }), "tags"),
        (json!({ "tags": [7] }), "tags[0]"),
        (json!({ "tags": { "a": 1 } }), "tags"),
        (json!({ "note": 7 }), "note"),
    ] {
        let refused = server.put(&path, &wrong).await;
        assert_eq!(
            (refused.refusal(), &refused.json["details"]["field"]),
            ((422, "invalid_field"), &json!(field)),
            "{wrong}"
        );
    }
}
