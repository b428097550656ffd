//! Retries and throttling by the clock (reference 4.7).

use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::r2_endpoints::registries::millrace;

/// Noon of a day.
const NOON: i64 = 1_767_182_400_000;
const MINUTE_MS: i64 = 60_000;

async fn deploy(server: &Client, settings: Value, body: &str) -> Value {
    let code = format!("export default defineComponent({{ run({{ steps }}) {{ {body} }} }});");
    let mut settings = settings;
    settings["name"] = json!("w");
    let steps = json!([{ "namespace": "a", "code": code }]);
    server
        .post(
            "/workflows",
            &json!({ "triggers": [{ "type": "http" }], "steps": steps, "settings": settings }),
        )
        .await
        .data()
}

#[tokio::test]
async fn r4_7_so_many_runs_start_in_each_interval() {
    let server = Server::start_at(NOON, &[]).await;
    let workflow = deploy(
        &server,
        json!({ "throttle": { "runs": 2, "interval_ms": MINUTE_MS } }),
        "return 1;",
    )
    .await;
    for _ in 0..5 {
        assert_eq!(answer(server.raw(Method::GET, &endpoint(&workflow))).await.status, 200);
    }
    let path = |status: &str| format!("/workflows/{}/runs?status={status}", id(&workflow));
    for (minute, done) in [(0, 2), (1, 4), (2, 5)] {
        server.set_clock(NOON + minute * MINUTE_MS);
        server
            .until("those of the interval", &path("succeeded"), |l| {
                l["page_info"]["total_count"] == done
            })
            .await;
        assert_eq!(
            server.get(&path("queued")).await.json["page_info"]["total_count"],
            5 - done,
            "in minute {minute}"
        );
    }
}

#[tokio::test]
async fn r4_7_a_failed_step_is_retried_eight_times_within_ten_hours() {
    let server = Server::start_at(NOON, &[]).await;
    let workflow =
        deploy(&server, json!({ "auto_retry": true }), "throw new RangeError('still');").await;
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    let (runs, errors) = (
        format!("/workflows/{}/runs", id(&workflow)),
        format!("/workflows/{}/$errors/event_summaries", id(&workflow)),
    );
    let (mut now, mut waits) = (NOON, Vec::new());
    for retry in 1..=8 {
        let paused = server
            .until("it waits", &runs, |l| {
                l["data"][0]["status"] == "paused" && l["data"][0]["attempt"] == retry
            })
            .await;
        let next = paused["data"][0]["paused"]["until_ms"].as_i64().expect("a time");
        waits.push(next - now);
        assert_eq!(
            server.get(&errors).await.json["page_info"]["total_count"],
            0,
            "no error is told before the last retry"
        );
        // A moment before its time nothing happens, as far as the run tells.
        server.set_clock(next - 1);
        assert_eq!(server.get(&runs).await.json["data"][0]["status"], "paused");
        now = next;
        server.set_clock(now);
    }
    let failed =
        server.until("it failed at last", &runs, |l| l["data"][0]["status"] == "failed").await;
    assert_eq!(failed["data"][0]["attempt"], 9);
    assert!(waits.windows(2).all(|w| w[1] == 2 * w[0]), "each twice as long: {waits:?}");
    assert!(now - NOON <= 10 * 60 * MINUTE_MS, "within ten hours: {waits:?}");
    let told = server.until("one error", &errors, |l| l["page_info"]["total_count"] == 1).await;
    assert_eq!(told["data"][0]["event"]["error"]["code"], "RangeError");
    assert_eq!(server.get("/mail").await.json["page_info"]["total_count"], 1);
}

#[tokio::test]
async fn r4_7_runs_that_ended_are_counted_in_buckets_with_their_durations() {
    let server = Server::shared().await;
    let code = "if (steps.trigger.event.fails) throw new Error('no');";
    let (one, other) =
        (deploy(&server, json!({}), code).await, deploy(&server, json!({}), code).await);
    for (workflow, event) in
        [(&one, json!({})), (&one, json!({ "fails": true })), (&other, json!({}))]
    {
        server
            .post(&format!("/workflows/{}/run", id(workflow)), &json!({ "event": event }))
            .await
            .data();
    }
    server
        .until("three that ended", "/runs?status=succeeded,failed", |l| {
            l["page_info"]["total_count"] == 3
        })
        .await;
    let of = async |query: &str| server.get(&format!("/stats/runs{query}")).await;
    let all = of("").await.data();
    assert_eq!(
        (&all["total"]["succeeded"], &all["total"]["failed"], &all["looked_at_from_ms"]),
        (&json!(2), &json!(1), &Value::Null),
        "{all}"
    );
    assert_eq!(
        (all["buckets"].as_array().map(Vec::len), &all["bucket_ms"]),
        (Some(24), &json!(3_600_000))
    );
    assert!(
        all["total"]["p50_ms"].as_i64() <= all["total"]["p95_ms"].as_i64()
            && all["total"]["p50_ms"].is_i64(),
        "{all}"
    );
    let counted = |stats: &Value, field: &str| {
        stats["buckets"]
            .as_array()
            .expect("buckets")
            .iter()
            .filter_map(|b| b[field].as_i64())
            .sum::<i64>()
    };
    assert_eq!((counted(&all, "succeeded"), counted(&all, "failed")), (2, 1));
    let own = of(&format!("?owner_id={}", id(&one))).await.data();
    assert_eq!((&own["total"]["succeeded"], &own["total"]["failed"]), (&json!(1), &json!(1)));
    let test = of("?kind=test").await.data();
    assert_eq!((&test["total"]["succeeded"], &test["total"]["p50_ms"]), (&json!(0), &Value::Null));
    let past = of("?from=1000000&to=1003500&bucket_ms=1000").await.data();
    assert_eq!(
        past["buckets"].as_array().map(|all| all.iter().map(|b| b["from_ms"].clone()).collect()),
        Some(vec![json!(1_000_000), json!(1_001_000), json!(1_002_000), json!(1_003_000)])
    );
    for (query, field) in [
        ("?from=5&to=5", "from"),
        ("?bucket_ms=999", "bucket_ms"),
        ("?bucket_ms=1000", "bucket_ms"),
        ("?kind=other", "kind"),
        ("?from=now", "from"),
        ("?from=-9223372036854775808&to=9223372036854775807", "to"),
    ] {
        let refused = of(query).await;
        assert_eq!(
            (refused.status, &refused.json["details"]["field"]),
            (422, &json!(field)),
            "{query}: {}",
            refused.text
        );
    }
}

#[tokio::test]
async fn r4_7_runs_that_wait_are_counted_and_cancelled_by_a_filter() {
    let server = Server::start().await;
    let made = async |name: &str| {
        let steps = json!([{ "namespace": "a", "code": "export default defineComponent({ run({ $ }) { $.flow.delay(3600000); } });" }]);
        server
            .post(
                "/workflows",
                &json!({ "name": name, "triggers": [{ "type": "http" }], "steps": steps }),
            )
            .await
            .data()
    };
    let (one, other) = (made("one").await, made("other").await);
    for (workflow, times) in [(&one, 3), (&other, 1)] {
        for _ in 0..times {
            answer(server.raw(Method::POST, &endpoint(workflow))).await;
        }
    }
    server
        .until("four that wait", "/runs?status=paused", |l| l["page_info"]["total_count"] == 4)
        .await;
    let cancel = async |body: Value| server.post("/runs/cancel", &body).await;
    let of_one = json!({ "owner_id": one["id"], "from": 0 });
    assert_eq!(
        cancel(json!({ "filter": of_one, "dry_run": true })).await.data(),
        json!({ "matching": 3, "cancelled": 0 })
    );
    assert_eq!(
        cancel(json!({ "filter": of_one })).await.data(),
        json!({ "matching": 3, "cancelled": 3 })
    );
    assert_eq!(
        cancel(json!({ "filter": of_one })).await.data(),
        json!({ "matching": 0, "cancelled": 0 })
    );
    assert_eq!(
        cancel(json!({ "filter": { "status": "queued" }, "dry_run": true })).await.data()["matching"],
        0
    );
    assert_eq!(
        server.get("/runs?status=paused").await.json["page_info"]["total_count"],
        1,
        "those of the other wait on"
    );
    // By their ids; none, where the list is empty.
    let waiting = server.get("/runs?status=paused").await.json["data"][0]["id"].clone();
    let by_id = json!({ "filter": { "ids": [waiting, "run_3MPlbwmoIbRQQTJuWs6qvEHMdKv"] }, "dry_run": true });
    assert_eq!(cancel(by_id).await.data(), json!({ "matching": 1, "cancelled": 0 }));
    for (body, field) in [
        (json!({}), "filter"),
        (json!({ "filter": { "ids": [] } }), "filter.ids"),
        (json!({ "filter": { "ids": vec![&waiting; 1001] } }), "filter.ids"),
        (json!({ "filter": { "state": "paused" } }), "filter.state"),
        (json!({ "filter": { "status": "running" } }), "filter.status"),
        (json!({ "filter": { "status": "" } }), "filter.status"),
        (json!({ "filter": { "status": [] } }), "filter.status"),
        (json!({ "filter": { "owner_id": "nobody" } }), "id"),
    ] {
        let refused = cancel(body).await;
        assert!(
            refused.status == 422 || (field == "id" && refused.status == 404),
            "{}",
            refused.text
        );
        assert!(field == "id" || refused.json["details"]["field"] == field, "{}", refused.text);
    }
    let (code, counted, said) =
        millrace(&server, &["runs", "cancel-waiting", "other", "--status", "paused", "--dry-run"]);
    assert_eq!((code, counted), (Some(0), json!({ "matching": 1, "cancelled": 0 })), "{said}");
    assert_eq!(
        cancel(json!({ "filter": { "ids": waiting } })).await.data(),
        json!({ "matching": 1, "cancelled": 1 })
    );
}

#[tokio::test]
async fn r2_17_a_workflow_that_is_made_inactive_is_so_until_it_is_made_active() {
    let server = Server::start().await;
    let made = |active: Value| json!({ "active": active, "settings": { "name": "off" }, "triggers": [{ "type": "http" }, { "type": "timer", "props": { "intervalSeconds": 1 } }], "steps": [] });
    for wrong in [json!("NaN"), json!([]), json!(5)] {
        let refused = server.post("/workflows", &made(wrong)).await;
        assert_eq!(
            (refused.refusal(), &refused.json["details"]["field"]),
            ((422, "invalid_field"), &json!("active"))
        );
    }
    let workflow = server.post("/workflows", &made(json!(false))).await.data();
    assert_eq!(workflow["active"], false);
    let call =
        async || answer(server.raw(Method::POST, &endpoint(&workflow)).json(&json!({}))).await;
    let refused = call().await.status;
    let path = format!("/workflows/{}", id(&workflow));
    let on = server.put(&path, &json!({ "active": true })).await.data();
    assert_eq!((on["active"].as_bool(), refused, call().await.status), (Some(true), 404, 200));
}
