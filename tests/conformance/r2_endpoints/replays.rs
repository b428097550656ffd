//! Replays of one run, of a selection and of all errors of a class in a time range.

use millrace_tests::{Client, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

fn id(record: &Value) -> &str {
    record["id"].as_str().expect("an id")
}

/// Fails while its event says so and the data store does not say that it was mended.
const CODE: &str =
    "export default defineComponent({ props: { s: { type: 'data_store' } }, async run({ steps }) {
  const { n, error } = steps.trigger.event.body;
  if (await this.s.get('slow')) await new Promise((r) => setTimeout(r, 50));
  if (error && !(await this.s.get('mended'))) throw new globalThis[error]('n ' + n);
  return { n, replay: steps.trigger.context.replay, first: steps.first.$return_value };
} });";

struct Orders {
    server: Server,
    workflow: Value,
    store: String,
}

impl Orders {
    async fn start() -> Self {
        let server = Server::start().await;
        let store =
            id(&server.post("/data_stores", &json!({ "name": "state" })).await.data()).to_owned();
        let first = "export default defineComponent({ run() { return Math.random(); } });";
        let steps = json!([{ "namespace": "first", "code": first }, { "namespace": "charge", "code": CODE, "props": { "s": store } }]);
        let workflow = server.post("/workflows", &json!({ "triggers": [{ "type": "http" }], "steps": steps, "settings": { "name": "orders" } })).await.data();
        Self { server, workflow, store }
    }

    async fn send(&self, from: u64, to: u64, error: &str) {
        for n in from..to {
            answer(
                self.server
                    .raw(Method::POST, &endpoint(&self.workflow))
                    .json(&json!({ "n": n, "error": error })),
            )
            .await;
        }
    }

    async fn failed(&self, count: u64) -> Vec<Value> {
        let path = format!("/workflows/{}/runs?status=failed&limit=100", id(&self.workflow));
        let list = self
            .server
            .until("failed runs", &path, |l| l["page_info"]["total_count"] == count)
            .await;
        list["data"].as_array().expect("runs").clone()
    }

    async fn set(&self, key: &str) {
        self.server
            .put(
                &format!("/data_stores/{}/record", self.store),
                &json!({ "key": key, "value": true }),
            )
            .await
            .data();
    }

    async fn replay(&self, body: Value) -> Value {
        let mut body = body;
        body["workflow_id"] = self.workflow["id"].clone();
        let made = self.server.post("/replays", &body).await;
        assert_eq!(made.status, 202, "{}", made.text);
        made.json["data"].clone()
    }

    async fn ended(&self, replay: &Value) -> Value {
        let path = format!("/replays/{}", id(replay));
        self.server
            .until("the replay ends", &path, |r| {
                r["data"]["status"] == "done" && r["data"]["runs"]["unfinished"] == 0
            })
            .await["data"]
            .clone()
    }

    /// What the charge step of the replayed runs returned.
    async fn returned(&self, replay: &Value) -> Vec<Value> {
        let list = self.server.get(&format!("/replays/{}/runs?limit=100", id(replay))).await.json;
        let mut returned = Vec::new();
        for line in list["data"].as_array().expect("runs") {
            let run = self
                .server
                .get(&format!("/runs/{}", line["run_id"].as_str().expect("an id")))
                .await
                .data();
            assert_eq!(run["status"], line["status"]);
            returned.extend(
                run["steps"]
                    .as_array()
                    .expect("steps")
                    .iter()
                    .find(|s| s["namespace"] == "charge")
                    .map(|s| s["exports"]["$return_value"].clone()),
            );
        }
        returned.sort_by_key(|r| r["n"].as_u64());
        returned
    }
}

#[tokio::test]
async fn r2_24_one_run_is_replayed_with_the_same_event_and_says_so() {
    let orders = Orders::start().await;
    orders.send(1, 2, "TypeError").await;
    let failed = orders.failed(1).await.remove(0);
    orders.set("mended").await;
    let run = orders
        .server
        .post(&format!("/runs/{}/replay", id(&failed)), &json!({ "from_failed": true }))
        .await
        .data();
    let (event, of_before) = (&run["event"], &failed["event"]);
    assert_eq!(event, of_before);
    assert_eq!(
        (&run["context"]["replay"], &run["context"]["trace_id"]),
        (&json!(true), &failed["context"]["trace_id"])
    );
    let charge = &run["steps"][1]["exports"]["$return_value"];
    assert_eq!(
        (&charge["n"], &charge["replay"], &charge["first"]),
        (&json!(1), &json!(true), &failed["steps"][0]["exports"]["$return_value"])
    );
}

#[tokio::test]
async fn r2_24_a_run_that_was_replayed_by_itself_is_left_out_of_a_later_replay_of_many() {
    let orders = Orders::start().await;
    orders.send(0, 3, "TypeError").await;
    let failed = orders.failed(3).await;
    let of = |n: u64| id(failed.iter().find(|r| r["event"]["body"]["n"] == n).expect("the run"));
    // One replay fails as its original did: it mends nothing, and is no error to be replayed of its
    // own.
    assert_eq!(
        orders.server.post(&format!("/runs/{}/replay", of(0)), &json!({})).await.data()["status"],
        "failed"
    );
    orders.set("mended").await;
    for _ in 0..2 {
        assert_eq!(
            orders.server.post(&format!("/runs/{}/replay", of(1)), &json!({})).await.data()["status"],
            "succeeded"
        );
    }
    let replay = orders.replay(json!({ "class": "TypeError" })).await;
    assert_eq!(replay["total"], 2);
    assert_eq!(orders.ended(&replay).await["runs"]["succeeded"], 2);
    let returned: Vec<_> = orders.returned(&replay).await.iter().map(|r| r["n"].clone()).collect();
    assert_eq!(returned, [json!(0), json!(2)]);
    // Who names a run has it replayed all the same.
    let named = orders.replay(json!({ "runs": [of(1)] })).await;
    assert_eq!(orders.ended(&named).await["runs"]["succeeded"], 1);
}

#[tokio::test]
async fn r2_24_all_errors_of_a_class_in_a_time_range_are_replayed_once() {
    let orders = Orders::start().await;
    orders.send(0, 3, "TypeError").await;
    orders.send(3, 5, "RangeError").await;
    orders.send(5, 6, "").await;
    let failed = orders.failed(5).await;
    let cut =
        failed.iter().find(|r| r["event"]["body"]["n"] == 2).expect("the third")["created_at_ms"]
            .clone();
    orders.set("mended").await;
    let earlier = orders.replay(json!({ "class": "TypeError", "to": cut })).await;
    assert_eq!(
        (&earlier["total"], &earlier["selection"]["class"]),
        (&json!(2), &json!("TypeError"))
    );
    let done = orders.ended(&earlier).await;
    assert_eq!(
        (&done["replayed"], &done["skipped"], &done["runs"]["succeeded"]),
        (&json!(2), &json!(0), &json!(2))
    );
    let returned = orders.returned(&earlier).await;
    assert_eq!(
        returned.iter().map(|r| (r["n"].clone(), r["replay"].clone())).collect::<Vec<_>>(),
        [(json!(0), json!(true)), (json!(1), json!(true))]
    );
    // What was mended is not replayed again, nor are replays.
    let rest = orders.replay(json!({ "class": "TypeError" })).await;
    assert_eq!(orders.ended(&rest).await["replayed"], 1);
    assert_eq!(orders.returned(&rest).await[0]["n"], 2);
    let all = orders.replay(json!({ "from_failed": true })).await;
    let done = orders.ended(&all).await;
    assert_eq!((&done["replayed"], &done["runs"]["succeeded"]), (&json!(2), &json!(2)));
    // From the failed step: the first step's results are those of the run before.
    for returned in orders.returned(&all).await {
        let original =
            failed.iter().find(|r| r["event"]["body"]["n"] == returned["n"]).expect("the original");
        assert_eq!(returned["first"], original["steps"][0]["exports"]["$return_value"]);
    }
    assert_eq!(orders.server.get("/replays").await.json["page_info"]["total_count"], 3);
}

#[tokio::test]
async fn r2_24_a_selection_of_runs_and_a_group_are_replayed() {
    let orders = Orders::start().await;
    orders.send(0, 4, "TypeError").await;
    orders.send(4, 5, "RangeError").await;
    let failed = orders.failed(5).await;
    let of = |n: u64| id(failed.iter().find(|r| r["event"]["body"]["n"] == n).expect("the run"));
    let chosen = orders.replay(json!({ "runs": [of(1), of(3), of(1)] })).await;
    assert_eq!(chosen["total"], 2);
    // They fail again, and say so; nothing is replayed of its own.
    let done = orders.ended(&chosen).await;
    assert_eq!((&done["replayed"], &done["runs"]["failed"]), (&json!(2), &json!(2)));
    let groups =
        orders.server.get(&format!("/workflows/{}/error_groups", id(&orders.workflow))).await.json;
    let group = groups["data"]
        .as_array()
        .expect("groups")
        .iter()
        .find(|g| g["code"] == "RangeError")
        .expect("the group");
    orders.set("mended").await;
    let of_group = orders.replay(json!({ "group": group["id"] })).await;
    assert_eq!(orders.ended(&of_group).await["runs"]["succeeded"], 1);
    for (body, field) in [
        (json!({ "runs": [] }), "runs"),
        (json!({ "runs": [of(1)], "class": "TypeError" }), "runs"),
        (json!({ "from": 5, "to": 5 }), "from"),
        (json!({ "from": "yesterday" }), "from"),
        (json!({ "from_step": "charge", "from_failed": true }), "from_step"),
        (json!({ "from_step": "lost" }), "from_step"),
    ] {
        let mut body = body;
        body["workflow_id"] = orders.workflow["id"].clone();
        let refused = orders.server.post("/replays", &body).await;
        assert_eq!(
            (refused.status, &refused.json["details"]["field"]),
            (422, &json!(field)),
            "{}",
            refused.text
        );
    }
    for body in [json!({}), json!({ "workflow_id": "p_x", "source_id": "dc_x" })] {
        assert_eq!(orders.server.post("/replays", &body).await.status, 422, "{body}");
    }
    for body in [
        json!({ "workflow_id": "p_nothere" }),
        json!({ "workflow_id": orders.workflow["id"], "runs": ["run_nothere"] }),
        json!({ "workflow_id": orders.workflow["id"], "group": "eg_nothere" }),
    ] {
        assert_eq!(orders.server.post("/replays", &body).await.status, 404, "{body}");
    }
    assert_eq!(
        orders.server.get("/replays").await.json["page_info"]["total_count"],
        2,
        "what was refused left nothing"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_is_paused_resumed_cancelled_and_outlives_a_kill() {
    let mut orders = Orders::start().await;
    const RUNS: u64 = 300;
    orders.send(0, RUNS, "TypeError").await;
    orders.failed(RUNS).await;
    for key in ["mended", "slow"] {
        orders.set(key).await;
    }
    let replay = orders.replay(json!({ "class": "TypeError" })).await;
    let path = format!("/replays/{}", id(&replay));
    orders
        .server
        .until("it has begun", &path, |r| r["data"]["replayed"].as_u64().is_some_and(|n| n > 0))
        .await;
    let held = orders.server.post(&format!("{path}/pause"), &json!({})).await.data();
    assert_eq!(held["status"], "paused");
    assert!(held["replayed"].as_u64().is_some_and(|n| n < RUNS), "{held}");
    let rest = orders
        .server
        .until("what was queued ends", &path, |r| r["data"]["runs"]["unfinished"] == 0)
        .await["data"]
        .clone();
    assert_eq!((&rest["status"], &rest["replayed"]), (&json!("paused"), &held["replayed"]));
    orders.server.kill();
    orders.server.launch().await;
    assert_eq!(orders.server.get(&path).await.data()["status"], "paused");
    orders.server.post(&format!("{path}/resume"), &json!({})).await.data();
    orders
        .server
        .until("it goes on", &path, |r| r["data"]["replayed"].as_u64() > held["replayed"].as_u64())
        .await;
    orders.server.kill();
    orders.server.launch().await;
    let done = orders.ended(&replay).await;
    assert_eq!(
        (&done["replayed"], &done["skipped"], &done["runs"]["succeeded"]),
        (&json!(RUNS), &json!(0), &json!(RUNS))
    );
    // Each once, whatever was killed.
    let path = format!("/workflows/{}/runs?status=succeeded&limit=1", id(&orders.workflow));
    assert_eq!(orders.server.get(&path).await.json["page_info"]["total_count"], RUNS);
    let path = format!("/replays/{}", id(&replay));
    for verb in ["pause", "resume", "cancel"] {
        let refused = orders.server.post(&format!("{path}/{verb}"), &json!({})).await;
        assert_eq!(refused.refusal(), (409, "replay_has_ended"));
    }
}

#[tokio::test]
async fn r2_24_a_replay_that_is_cancelled_queues_no_more() {
    let orders = Orders::start().await;
    const RUNS: u64 = 250;
    orders.send(0, RUNS, "TypeError").await;
    orders.failed(RUNS).await;
    for key in ["mended", "slow"] {
        orders.set(key).await;
    }
    let replay = orders.replay(json!({})).await;
    let path = format!("/replays/{}", id(&replay));
    orders
        .server
        .until("it has begun", &path, |r| r["data"]["replayed"].as_u64().is_some_and(|n| n > 0))
        .await;
    let ended = orders.server.post(&format!("{path}/cancel"), &json!({})).await.data();
    assert_eq!(ended["status"], "cancelled");
    let later = orders
        .server
        .until("what was queued ends", &path, |r| r["data"]["runs"]["unfinished"] == 0)
        .await["data"]
        .clone();
    assert_eq!(later["replayed"], ended["replayed"]);
    assert!(later["replayed"].as_u64().is_some_and(|n| n < RUNS), "{later}");
}

/// A workflow whose one step says which version of it ran on which event.
async fn versions(server: &Client) -> (String, Value) {
    let code = |version: &str| {
        format!(
            "export default defineComponent({{ run({{ steps }}) {{ return ['{version}', steps.trigger.event.body?.n ?? null]; }} }});"
        )
    };
    let made = server
        .workflow("versions", json!([{ "type": "http" }]), &[("say", code("first").as_str())])
        .await;
    answer(server.raw(Method::POST, &endpoint(&made)).json(&json!({ "n": 1 }))).await;
    let path = format!("/workflows/{}", id(&made));
    let runs = server
        .until("a run", &format!("{path}/runs"), |list| list["data"][0]["status"] == "succeeded")
        .await;
    server
        .put(&path, &json!({ "steps": [{ "namespace": "say", "code": code("second") }] }))
        .await
        .data();
    server.post(&format!("{path}/deploy"), &json!({})).await.data();
    server
        .put(&path, &json!({ "steps": [{ "namespace": "say", "code": code("third") }] }))
        .await
        .data();
    (id(&made).to_owned(), runs["data"][0].clone())
}

#[tokio::test]
async fn r2_24_a_replay_runs_the_live_version_the_one_that_the_run_had_or_the_draft() {
    let server = Server::shared().await;
    let (workflow, run) = versions(&server).await;
    let replay = format!("/runs/{}/replay", id(&run));
    for (version, said, kind) in [
        (Value::Null, "second", "live"),
        (json!("live"), "second", "live"),
        (json!("original"), "first", "live"),
        (json!("draft"), "third", "test"),
    ] {
        let again = server.post(&replay, &json!({ "version": version })).await.data();
        assert_eq!(
            (&again["steps"][0]["exports"]["$return_value"], &again["kind"]),
            (&json!([said, 1]), &json!(kind)),
            "{version}"
        );
        let shown = server.get(&format!("/runs/{}", id(&again))).await.data();
        assert_eq!((&shown["replay_of"], &shown["event_edited"]), (&run["id"], &json!(false)));
    }
    let many = server.post("/replays", &json!({ "runs": [id(&run)], "version": "original" })).await;
    assert_eq!(
        (
            many.status,
            &many.json["data"]["workflow_id"],
            &many.json["data"]["selection"]["version"]
        ),
        (202, &Value::Null, &json!("original"))
    );
    let path = format!("/replays/{}/runs", id(&many.json["data"]));
    let done = server
        .until("the replay ends", &path, |list| list["data"][0]["status"] == "succeeded")
        .await;
    let again = server
        .get(&format!("/runs/{}", done["data"][0]["run_id"].as_str().expect("an id")))
        .await
        .data();
    assert_eq!(
        (&again["steps"][0]["exports"]["$return_value"][0], &again["deployment_id"]),
        (&json!("first"), &run["deployment_id"])
    );
    for (body, field) in
        [(json!({ "version": "second" }), "version"), (json!({ "version": 2 }), "version")]
    {
        let refused = server.post(&replay, &body).await;
        assert_eq!(
            (refused.status, &refused.json["details"]["field"]),
            (422, &json!(field)),
            "{}",
            refused.text
        );
    }
    let refused =
        server.post("/replays", &json!({ "workflow_id": workflow, "version": "draft" })).await;
    assert_eq!(
        (refused.status, &refused.json["details"]["field"]),
        (422, &json!("version")),
        "{}",
        refused.text
    );
    let source =
        server.source("export default { name: 's', version: '1', run() {} };", json!({})).await;
    let of_source = server.run_now(&source, json!({})).await;
    let refused = server
        .post(&format!("/runs/{}/replay", id(&of_source)), &json!({ "version": "draft" }))
        .await;
    assert_eq!(
        (refused.status, &refused.json["details"]["field"]),
        (422, &json!("version")),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn r2_24_an_event_is_edited_for_a_replay_which_says_so() {
    let server = Server::shared().await;
    let (_, run) = versions(&server).await;
    let replay = format!("/runs/{}/replay", id(&run));
    let mut event = run["event"].clone();
    let same = server.post(&replay, &json!({ "event": event })).await.data();
    event["body"]["n"] = json!(2);
    let edited =
        server.post(&replay, &json!({ "event": event, "version": "original" })).await.data();
    assert_eq!(
        (&edited["event"], &edited["steps"][0]["exports"]["$return_value"]),
        (&event, &json!(["first", 2]))
    );
    let listed = server.get(&format!("/runs?replay_of={}", id(&run))).await.json;
    let says: Vec<_> = listed["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|r| (r["id"].clone(), r["event_edited"].clone()))
        .collect();
    assert_eq!(says, [(edited["id"].clone(), json!(true)), (same["id"].clone(), json!(false))]);
    assert_eq!(
        server.get(&format!("/runs/{}", id(&run))).await.data()["event"],
        run["event"],
        "the run itself stays as it was"
    );
    // What is no object is an event too, as at `test` and `run`; null is none.
    for (event, shown) in [(json!("text"), json!("text")), (Value::Null, run["event"].clone())] {
        let again = server.post(&replay, &json!({ "event": event })).await.data();
        assert_eq!(again["event"], shown);
    }
}

#[tokio::test]
async fn r2_24_runs_of_all_owners_are_counted_and_replayed_by_a_filter() {
    let server = Server::shared().await;
    let workflow = server
        .workflow(
            "w",
            json!([{ "type": "http" }]),
            &[("say", "export default defineComponent({ run() { return 1; } });")],
        )
        .await;
    let source = server
        .source(
            "export default { name: 's', version: '1', run() { throw new TypeError('no'); } };",
            json!({}),
        )
        .await;
    for _ in 0..2 {
        answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({}))).await;
        server.run_now(&source, json!({})).await;
    }
    server.post(&format!("/workflows/{}/test", id(&workflow)), &json!({})).await.data();
    server
        .until("all have ended", "/runs?status=succeeded,failed", |list| {
            list["page_info"]["total_count"] == 5
        })
        .await;
    let count = async |filter: Value| {
        let counted = server.post("/replays", &json!({ "filter": filter, "dry_run": true })).await;
        assert_eq!(counted.status, 200, "{}", counted.text);
        counted.json["data"].clone()
    };
    for (filter, total) in [
        (json!({}), 4),
        (json!({ "status": "failed" }), 2),
        (json!({ "owner_id": id(&workflow), "status": ["succeeded", "cancelled"] }), 2),
        (json!({ "error_class": "TypeError" }), 2),
        (json!({ "to": 5 }), 0),
    ] {
        assert_eq!(count(filter.clone()).await, json!({ "total": total }), "{filter}");
    }
    // The failed ones by what `filter` replaces.
    let counted =
        server.post("/replays", &json!({ "source_id": id(&source), "dry_run": true })).await;
    assert_eq!(counted.data(), json!({ "total": 2 }));
    assert_eq!(
        server.get("/replays").await.json["page_info"]["total_count"],
        0,
        "counting makes nothing"
    );

    let made = server.post("/replays", &json!({ "filter": { "kind": "live" } })).await;
    assert_eq!((made.status, &made.json["data"]["total"]), (202, &json!(4)), "{}", made.text);
    let path = format!("/replays/{}", id(&made.json["data"]));
    let ended = |r: &Value| r["data"]["status"] == "done" && r["data"]["runs"]["unfinished"] == 0;
    let done = server.until("the replay ends", &path, ended).await["data"].clone();
    assert_eq!(
        (&done["replayed"], &done["runs"]["succeeded"], &done["runs"]["failed"]),
        (&json!(4), &json!(2), &json!(2)),
        "{done}"
    );
    // Its own runs fit as well from now on; it never met them.
    assert_eq!(count(json!({})).await, json!({ "total": 8 }));
    for (body, field) in [
        (json!({ "filter": { "status": "running" } }), "status"),
        (json!({ "filter": { "kind": "test" } }), "kind"),
        (json!({ "filter": { "nothing": 1 } }), "filter.nothing"),
        (json!({ "filter": {}, "class": "TypeError" }), "filter"),
        (json!({ "filter": {}, "source_id": id(&source) }), "filter"),
        (json!({ "filter": {}, "runs": ["run_x"] }), "runs"),
        (json!({ "filter": { "owner_id": id(&source) }, "from_failed": true }), "from_step"),
    ] {
        let refused = server.post("/replays", &body).await;
        assert_eq!(
            (refused.status, &refused.json["details"]["field"]),
            (422, &json!(field)),
            "{body}: {}",
            refused.text
        );
    }
}

#[tokio::test]
async fn r2_24_a_draft_that_is_not_deployed_is_run_by_keys_that_may_deploy_it() {
    let server = Server::shared().await;
    let (workflow, run) = versions(&server).await;
    let made = server.post("/api_keys", &json!({ "name": "i", "scopes": ["invoke"] })).await.data();
    let ask = async |path: &str, body: Value| {
        answer(
            server
                .raw(Method::POST, &format!("/v1{path}"))
                .bearer_auth(made["key"].as_str().expect("a key"))
                .json(&body),
        )
        .await
    };
    let (test, replay) =
        (format!("/workflows/{workflow}/test"), format!("/runs/{}/replay", id(&run)));
    let tries = [
        (&test, json!({ "event": {} })),
        (&test, json!({ "event": {}, "pins": {}, "wait": false })),
        (&replay, json!({ "version": "draft" })),
    ];
    for (path, body) in &tries {
        assert_eq!(ask(path, body.clone()).await.refusal(), (403, "scope_missing"), "{path}");
    }
    assert_eq!(ask(&replay, json!({})).await.status, 200);
    server.post(&format!("/workflows/{workflow}/deploy"), &json!({})).await.data();
    for (path, body) in &tries {
        assert_eq!(ask(path, body.clone()).await.status, 200, "{path}");
    }
}
