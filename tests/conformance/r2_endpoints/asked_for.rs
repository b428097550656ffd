//! Runs by their version and duration, replays with one event, an invitation that is withdrawn,
//! and tests of steps that are kept nowhere.

use millrace_tests::browser::{Browser, PASSWORD};
use millrace_tests::{Client, Server, id};
use reqwest::Method;
use serde_json::{Value, json};

fn step(body: &str) -> String {
    format!("export default defineComponent({{ async run({{ steps }}) {{ {body} }} }});")
}

async fn listed(server: &Client, query: &str) -> Vec<String> {
    let list = server.get(&format!("/runs?{query}")).await;
    assert_eq!(list.status, 200, "{query}: {}", list.text);
    let runs = list.json["data"].as_array().expect("a list");
    assert_eq!(list.json["page_info"]["total_count"], runs.len(), "{query}");
    let mut runs: Vec<String> = runs.iter().map(|run| id(run).to_owned()).collect();
    runs.sort();
    runs
}

#[tokio::test]
async fn r2_36_runs_are_listed_by_their_version_and_by_how_long_they_took() {
    let server = Server::shared().await;
    let body = "await new Promise((done) => setTimeout(done, steps.trigger.event.ms));";
    let workflow = server.workflow("w", json!([]), &[("waits", &step(body))]).await;
    let path = format!("/workflows/{}", id(&workflow));
    let run = async |ms: u64| {
        let asked = json!({ "event": { "ms": ms } });
        let run = server.post(&format!("{path}/run"), &asked).await.data();
        assert_eq!(run["status"], "succeeded", "{run}");
        let at = |field: &str| run[field].as_i64().expect("a time");
        let took = at("finished_at_ms") - at("started_at_ms");
        assert_eq!(at("duration_ms"), took, "{run}");
        (id(&run).to_owned(), took)
    };
    let first = workflow["deployment_id"].as_str().expect("a version").to_owned();
    let of_first = [run(0).await, run(400).await];
    let changed =
        json!({ "steps": [{ "namespace": "waits", "code": step(&format!("{body} return 2;")) }] });
    server.put(&path, &changed).await.data();
    let second = server.post(&format!("{path}/deploy"), &json!({})).await.data();
    let second = second["deployment_id"].as_str().or(second["id"].as_str()).expect("a version");
    assert_ne!(first, second);
    let of_second = [run(0).await, run(400).await];
    let ids = |runs: &[(String, i64)]| {
        let mut ids: Vec<String> = runs.iter().map(|(id, _)| id.clone()).collect();
        ids.sort();
        ids
    };
    assert_eq!(listed(&server, &format!("deployment_id={first}")).await, ids(&of_first));
    assert_eq!(listed(&server, &format!("deployment_id={second}")).await, ids(&of_second));
    assert_eq!(listed(&server, "deployment_id=d_none").await, Vec::<String>::new());
    // Each bound is the duration of a run: that one, and those that took as long.
    let all = [of_first, of_second].concat();
    for bound in all.iter().flat_map(|(_, took)| [*took, took + 1]) {
        let took: Vec<(String, i64)> =
            all.iter().filter(|(_, took)| *took >= bound).cloned().collect();
        assert_eq!(listed(&server, &format!("min_ms={bound}")).await, ids(&took), "{bound}");
    }
    assert_eq!(listed(&server, "min_ms=0").await, ids(&all));
    let slow: Vec<(String, i64)> =
        all[2..].iter().filter(|(_, took)| *took >= 400).cloned().collect();
    assert_eq!(
        listed(&server, &format!("min_ms=400&deployment_id={second}")).await,
        ids(&slow),
        "both narrow the list"
    );
    for bound in ["-1", "1.5", "soon", ""] {
        let refused = server.get(&format!("/runs?min_ms={bound}")).await;
        let field = &refused.json["details"]["field"];
        assert_eq!(
            (refused.refusal(), field),
            ((422, "invalid_field"), &json!("min_ms")),
            "{bound}"
        );
    }
}

#[tokio::test]
async fn r2_an_invitation_that_is_withdrawn_lets_nobody_in_and_the_others_stay() {
    let server = Server::shared().await;
    let invite = async |email: &str| {
        let asked = json!({ "email": email, "role": "viewer" });
        server.post("/invitations", &asked).await.data()
    };
    let (gone, stays) = (invite("jo@w.test").await, invite("sam@w.test").await);
    let path = format!("/invitations/{}", id(&gone));
    assert_eq!(server.delete(&path).await.data(), json!({ "id": gone["id"], "deleted": true }));
    assert_eq!(server.delete(&path).await.refusal(), (404, "not_found"));
    let left = server.get("/invitations").await.json;
    assert_eq!(left["page_info"]["total_count"], 1);
    assert_eq!(left["data"][0]["id"], stays["id"]);
    let answer = json!({ "password": PASSWORD });
    let mut browser = Browser::default();
    assert_eq!(browser.follow(&server, &gone, &answer).await.refusal(), (410, "gone"));
    let signs_in = browser.sign_in(&server, "jo@w.test", PASSWORD).await;
    assert_eq!(signs_in.refusal(), (401, "wrong_password"));
    let joined = browser.follow(&server, &stays, &answer).await.data();
    assert_eq!(joined["user"]["email"], "sam@w.test");
    // One that was accepted is none any more.
    let accepted = server.delete(&format!("/invitations/{}", id(&stays))).await;
    assert_eq!(accepted.refusal(), (404, "not_found"));
    assert_eq!(server.get("/members").await.json["page_info"]["total_count"], 2);
    let audited = server.get("/audit?limit=100").await.text;
    assert!(audited.contains(&format!("DELETE {path}")) || audited.contains(id(&gone)));
}

#[tokio::test]
async fn r4_2_steps_that_are_kept_nowhere_are_tested_on_a_runs_event_and_results() {
    let server = Server::shared().await;
    let steps = json!([
        { "namespace": "load", "code": step("return { order: steps.trigger.event.order };") },
        { "namespace": "charge", "code": step("return 'charged ' + steps.load.$return_value.order;") },
    ]);
    let made = json!({ "name": "w", "triggers": [], "steps": steps });
    let workflow = server.post("/workflows", &made).await.data();
    let event = json!({ "event": { "order": "A" } });
    let run = server.post(&format!("/workflows/{}/run", id(&workflow)), &event).await.data();
    // The code of another draft, of the workflow and of none.
    let mut other = steps.clone();
    other[1]["code"] = json!(step("return 'tried ' + steps.load.$return_value.order;"));
    let before = server.get(&format!("/workflows/{}", id(&workflow))).await.text;
    let made = server.get("/workflows").await.json["page_info"]["total_count"].clone();
    for of in [json!({ "workflow_id": workflow["id"] }), json!({})] {
        let asked = |with: &Value| {
            let mut body = json!({ "steps": other, "triggers": [] });
            for part in [&of, with] {
                for (name, value) in part.as_object().expect("an object") {
                    body[name] = value.clone();
                }
            }
            body
        };
        let test = async |with: Value| server.post("/workflows/test", &asked(&with)).await;
        let given = |run: &Value| {
            let given = |n: usize| run["steps"][n]["exports"]["$return_value"].clone();
            assert_eq!(
                (&run["status"], &run["kind"]),
                (&json!("succeeded"), &json!("test")),
                "{run}"
            );
            (given(0), given(1))
        };
        let order = |order: &str| json!({ "order": order });
        let on_own = test(json!({ "event": { "order": "B" } })).await.data();
        assert_eq!(given(&on_own), (order("B"), json!("tried B")), "{of}");
        let of_run = test(json!({ "event_from_run": run["id"] })).await.data();
        assert_eq!(given(&of_run), (order("A"), json!("tried A")), "{of}");
        let behind =
            json!({ "event": { "order": "C" }, "from_step": "charge", "results_of": run["id"] });
        assert_eq!(given(&test(behind).await.data()), (order("A"), json!("tried A")), "{of}");
        let pins = json!({ "load": { "$return_value": { "order": "P" } } });
        let pinned = test(json!({ "event": { "order": "D" }, "pins": pins })).await.data();
        assert_eq!(given(&pinned), (order("P"), json!("tried P")), "{of}");
        // A pin wins over a result.
        let both = json!({ "from_step": "charge", "results_of": run["id"], "pins": pins });
        assert_eq!(given(&test(both).await.data()), (order("P"), json!("tried P")), "{of}");
        let pinned = json!({ "from_step": "charge", "pins": pins });
        assert_eq!(given(&test(pinned).await.data()), (order("P"), json!("tried P")), "{of}");
        // Without waiting the run is there at once, and ends.
        let begun = test(json!({ "event": { "order": "E" }, "wait": false })).await.data();
        let ended = server
            .until("the test's end", &format!("/runs/{}", id(&begun)), |run| {
                run["data"]["status"] == "succeeded"
            })
            .await;
        assert_eq!(given(&ended["data"]), (order("E"), json!("tried E")), "{of}");
        for (with, field) in [
            (json!({ "pins": { "lode": {} } }), "pins"),
            (json!({ "from_step": "charge" }), "results_of"),
            (json!({ "from_step": "none" }), "from_step"),
            (json!({ "results_of": run["id"] }), "from_step"),
            (json!({ "from_step": "none", "results_of": run["id"] }), "from_step"),
            (json!({ "wait": "soon" }), "wait"),
        ] {
            let refused = test(with.clone()).await;
            let told = (refused.refusal(), refused.json["details"]["field"].as_str());
            assert_eq!(
                told,
                ((422, "invalid_field"), Some(field)),
                "{of} {with}: {}",
                refused.text
            );
        }
        for with in ["event_from_run", "results_of"] {
            let none = json!({ (with): "run_3MPlbwmoIbRQQTJuWs6qvEHMdKv", "from_step": "charge" });
            let mut none = none;
            if with == "event_from_run" {
                none.as_object_mut().expect("an object").remove("from_step");
            }
            assert_eq!(test(none).await.refusal(), (404, "not_found"), "{of} {with}");
        }
    }
    // A run of another organization is none.
    let stranger = server.another_organization("tests-other").await;
    let body = json!({ "steps": other, "triggers": [], "event_from_run": run["id"] });
    let refused =
        stranger.call_as(&stranger.api_key, Method::POST, "/workflows/test", Some(&body)).await;
    assert_eq!(refused.refusal(), (404, "not_found"));
    assert_eq!(server.get(&format!("/workflows/{}", id(&workflow))).await.text, before);
    assert_eq!(server.get("/workflows").await.json["page_info"]["total_count"], made);
}

#[tokio::test]
async fn r2_24_many_runs_are_replayed_with_one_event_in_the_place_of_their_own() {
    let server = Server::shared().await;
    let body = "const { n } = steps.trigger.event; if (n < 0) throw new RangeError('n'); return n;";
    let workflow = server.workflow("w", json!([]), &[("counts", &step(body))]).await;
    let path = format!("/workflows/{}", id(&workflow));
    let mut originals = Vec::new();
    for n in [-1, -2] {
        let run = server.post(&format!("{path}/run"), &json!({ "event": { "n": n } })).await.data();
        originals.push(id(&run).to_owned());
    }
    // So large that it is stored once for both.
    let event = json!({ "n": 7, "note": "x".repeat(8 << 10) });
    let asked = json!({ "workflow_id": workflow["id"], "runs": originals, "event": event });
    let made = server.post("/replays", &asked).await.json["data"].clone();
    assert_eq!(made["selection"]["event"], event);
    let path = format!("/replays/{}", id(&made));
    server.until("all ended", &path, |r| r["data"]["runs"]["succeeded"] == 2).await;
    for original in &originals {
        let found =
            server.get(&format!("/runs?replay_of={original}&include=id,event_edited")).await;
        let run = server.get(&format!("/runs/{}", id(&found.json["data"][0]))).await.data();
        assert_eq!(
            (&run["event"], &run["event_edited"], &run["steps"][0]["exports"]["$return_value"]),
            (&event, &json!(true), &json!(7))
        );
    }
    let large = json!("x".repeat(64 << 10));
    let owner = &workflow["id"];
    for (asked, refusal, field) in [
        (json!({ "runs": originals, "event": 1 }), (422, "invalid_field"), "event"),
        (json!({ "filter": {}, "event": 1 }), (422, "invalid_field"), "event"),
        (json!({ "workflow_id": owner, "version": "draft" }), (422, "invalid_field"), "version"),
        (json!({ "workflow_id": owner, "event": large }), (413, "too_large"), ""),
    ] {
        let refused = server.post("/replays", &asked).await;
        assert_eq!(refused.refusal(), refusal, "{}", refused.text);
        assert_eq!(refused.json["details"]["field"].as_str().unwrap_or(""), field);
    }
    let keeps_nothing = json!({ "settings": { "keep_data": false } });
    server.put(&format!("/workflows/{}", id(&workflow)), &keeps_nothing).await.data();
    server.post(&format!("/workflows/{}/deploy", id(&workflow)), &json!({})).await.data();
    let asked = json!({ "workflow_id": owner, "event": 1 });
    assert_eq!(server.post("/replays", &asked).await.refusal(), (422, "invalid_field"));
    let event = json!({ "filter": { "owner_id": owner }, "event": null, "dry_run": true });
    assert_eq!(server.post("/replays", &event).await.data(), json!({ "total": 4 }));
}

/// As *run now* does where it is waited for: the queue is for events.
#[tokio::test]
async fn r2_20_a_run_that_is_asked_for_starts_at_once_beside_a_full_queue() {
    let server = Server::shared().await;
    let wait = step(
        "if (steps.trigger.event.body?.waits) await new Promise(() => setTimeout(() => {}, 60_000)); return 1;",
    );
    let settings = json!({ "name": "w", "concurrency": 1, "queue_max": 1 });
    let workflow = server
        .post(
            "/workflows",
            &json!({ "triggers": [{ "type": "http" }], "settings": settings, "steps": [{ "namespace": "waits", "code": wait }] }),
        )
        .await
        .data();
    let path = format!("/workflows/{}", id(&workflow));
    server.post(&format!("{path}/deploy"), &json!({})).await.data();
    let live = server.get(&path).await.data();
    let endpoint = live["triggers"][0]["endpoint_url"].as_str().expect("an address").to_owned();
    let event = async || {
        let request = server.raw(Method::POST, &endpoint).json(&json!({ "waits": true }));
        request.send().await.expect("an answer").status().as_u16()
    };
    assert_eq!(event().await, 200);
    server
        .until("one under way", &format!("{path}/runs?status=running"), |list| {
            list["page_info"]["total_count"] == 1
        })
        .await;
    assert_eq!((event().await, event().await), (200, 429), "one waits");
    for wait in [false, true] {
        let asked = json!({ "event": {}, "wait": wait });
        let run = server.post(&format!("{path}/run"), &asked).await;
        assert_eq!(run.status, 200, "{}", run.text);
        let run = format!("/runs/{}", id(&run.data()));
        server.until("its end", &run, |run| run["data"]["status"] == "succeeded").await;
    }
    let queued = server.get(&format!("{path}/runs?status=queued")).await.json;
    assert_eq!(queued["page_info"]["total_count"], 1, "the event still waits");
    for list in ["running", "queued"] {
        let runs = server.get(&format!("{path}/runs?status={list}")).await.json;
        for run in runs["data"].as_array().expect("a list") {
            server.post(&format!("/runs/{}/cancel", id(run)), &json!({})).await;
        }
    }
}
