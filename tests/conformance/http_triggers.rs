//! Endpoints of workflows (reference 4): authorization of callers, hosts, and options that a
//! request may choose.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use millrace_tests::{Client, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;

const ECHO: &str = "export default defineComponent({ run({ steps }) { console.log('ran'); return { event: steps.trigger.event, context: steps.trigger.context }; } });";

fn id(record: &Value) -> &str {
    record["id"].as_str().expect("an id")
}

async fn deploy(server: &Client, trigger_props: Value, settings: Value) -> Value {
    let triggers = json!([{ "type": "http", "props": trigger_props }]);
    server.post("/workflows", &json!({ "triggers": triggers, "steps": [{ "namespace": "a", "code": ECHO }], "settings": settings })).await.data()
}

/// The newest run, once there are so many that ended.
async fn nth_run(server: &Client, workflow: &Value, count: u64) -> Value {
    let path = format!("/workflows/{}/runs?status=succeeded", id(workflow));
    let list = server.until("a run", &path, |l| l["page_info"]["total_count"] == count).await;
    server.get(&format!("/runs/{}", id(&list["data"][0]))).await.data()
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// Of reference 4.8.
#[tokio::test]
async fn an_endpoint_may_ask_for_a_bearer_token() {
    let server = Server::start().await;
    let workflow = deploy(
        &server,
        json!({ "auth": { "type": "static_bearer_token", "token": "t0ken-of-mine" } }),
        json!({}),
    )
    .await;
    assert_eq!(workflow["triggers"][0]["auth"], json!({ "type": "bearer", "header": null }));
    let url = endpoint(&workflow);
    let call = async |header: Option<&str>| {
        let request = server.raw(Method::POST, &url).json(&json!({ "n": 1 }));
        answer(match header {
            Some(header) => request.header("Authorization", header),
            None => request,
        })
        .await
    };
    for wrong in [
        None,
        Some("Bearer "),
        Some("Bearer t0ken-of-min"),
        Some("Bearer t0ken-of-mine2"),
        Some("Basic t0ken-of-mine"),
        Some("t0ken-of-mine"),
    ] {
        let refused = call(wrong).await;
        assert_eq!(refused.refusal(), (401, "unauthorized"), "{wrong:?}");
    }
    assert_eq!(call(Some("bearer t0ken-of-mine")).await.status, 200);
    let run = nth_run(&server, &workflow, 1).await;
    assert_eq!(
        (&run["event"]["body"], &run["context"]["verified"]),
        (&json!({ "n": 1 }), &json!(false))
    );
    // The token is nowhere but sealed: code and history need not know it.
    for text in [
        run.to_string(),
        server.get(&format!("/workflows/{}", id(&workflow))).await.text,
        server.get(&format!("/workflows/{}/deployments", id(&workflow))).await.text,
        server.log(),
    ] {
        assert!(!text.contains("t0ken-of-mine"), "{text}");
    }
    // What says nothing of it opens nothing; and `none` does.
    let path = format!("/workflows/{}", id(&workflow));
    let put = async |props: Value| {
        server.put(&path, &json!({ "triggers": [{ "type": "http", "props": props }], "settings": { "auto_deploy": true } })).await.data()
    };
    put(json!({})).await;
    assert_eq!(call(None).await.status, 401);
    put(json!({ "auth": { "type": "bearer" } })).await;
    assert_eq!(call(Some("Bearer t0ken-of-mine")).await.status, 200);
    put(json!({ "auth": { "type": "bearer", "token": "another" } })).await;
    assert_eq!(
        (
            call(Some("Bearer t0ken-of-mine")).await.status,
            call(Some("Bearer another")).await.status
        ),
        (401, 200)
    );
    put(json!({ "auth": { "type": "none" } })).await;
    assert_eq!(call(None).await.status, 200);
    let wrongs = [
        json!({ "type": "bearer" }),
        json!({ "type": "bearer", "token": "" }),
        json!({ "type": "bearer", "token": "with space" }),
        json!({ "type": "bearer", "secret": "x" }),
        json!({ "type": "signature" }),
        json!({ "type": "signature", "secret": "x", "header": "no header\n" }),
        json!({ "type": "magic" }),
        json!("none"),
    ];
    for wrong in wrongs {
        let refused = server
            .put(&path, &json!({ "triggers": [{ "type": "http", "props": { "auth": wrong } }] }))
            .await;
        assert_eq!(
            (refused.status, &refused.json["details"]["field"]),
            (422, &json!("triggers[0].props.auth")),
            "{wrong}: {}",
            refused.text
        );
    }
}

/// Of reference 4.8.
#[tokio::test]
async fn an_endpoint_may_ask_for_a_signature() {
    let now = 1_767_225_600;
    let server = Server::start_at(now * 1000, &[]).await;
    let secret = format!("whsec_{}", STANDARD.encode(b"a key of thirty-two bytes, mostly"));
    let workflow =
        deploy(&server, json!({ "auth": { "type": "signature", "secret": secret } }), json!({}))
            .await;
    let body = r#"{"paid":true}"#;
    let call = async |time: i64, signature: String, body: &'static str| {
        let request = server
            .raw(Method::POST, &endpoint(&workflow))
            .header("webhook-id", "msg_1")
            .header("webhook-timestamp", time.to_string());
        answer(
            request
                .header("webhook-signature", signature)
                .header("content-type", "application/json")
                .body(body),
        )
        .await
        .status
    };
    let sign = |time: i64| {
        format!(
            "v1,{}",
            STANDARD
                .encode(mac(b"a key of thirty-two bytes, mostly", &format!("msg_1.{time}.{body}")))
        )
    };
    assert_eq!(call(now, sign(now), body).await, 200);
    assert_eq!(call(now, sign(now), r#"{"paid":false}"#).await, 401);
    assert_eq!(
        call(now - 600, sign(now - 600), body).await,
        401,
        "an old request may be an eavesdropper's"
    );
    assert_eq!(call(now, "v1,AAAA".into(), body).await, 401);
    assert_eq!(answer(server.raw(Method::POST, &endpoint(&workflow)).body(body)).await.status, 401);
    let run = nth_run(&server, &workflow, 1).await;
    assert_eq!(
        (&run["event"]["body"], &run["context"]["verified"]),
        (&json!({ "paid": true }), &json!(true))
    );
    // The ways in which a secret is shown and pasted; what no delivery could be verified with is
    // refused when it is given, and is not repeated.
    let encoded = STANDARD.encode(b"a key of thirty-two bytes, mostly");
    for pasted in [
        format!("v1,whsec_{encoded}"),
        format!(" whsec_{}\n", encoded.trim_end_matches('=')),
        encoded.clone(),
        "a key of thirty-two bytes, mostly".into(),
        format!("\"whsec_{encoded}\""),
        format!("\u{feff}\u{201c}v1,whsec_{encoded}\u{201d}\u{200b}"),
        format!("export WEBHOOK_SECRET='whsec_{encoded}'"),
    ] {
        let workflow = deploy(
            &server,
            json!({ "auth": { "type": "signature", "secret": pasted } }),
            json!({}),
        )
        .await;
        let request = server
            .raw(Method::POST, &endpoint(&workflow))
            .header("webhook-id", "msg_1")
            .header("webhook-timestamp", now.to_string());
        assert_eq!(
            answer(request.header("webhook-signature", sign(now)).body(body)).await.status,
            200,
            "{pasted:?}"
        );
    }
    let standard = |secret: &str| json!({ "type": "signature", "secret": secret });
    let hex = json!({ "type": "signature", "secret": "pasted\n", "header": "x-hub-signature-256" });
    let quoted =
        json!({ "type": "signature", "secret": "'pasted'", "header": "x-hub-signature-256" });
    let wrong = [
        "whsec_not base64",
        "v1,whsec_",
        "v1,c2VjcmV0",
        "whsk_c2VjcmV0",
        "  ",
        "WHSEC_c2VjcmV0",
        "Bearer whsec_c2VjcmV0",
        "{\"secret\": \"whsec_c2VjcmV0\"}",
    ];
    let wrong = wrong
        .into_iter()
        .chain(["whsec_c2VjcmV0 whsec_c2VjcmV0", "v1a,whpk_c2VjcmV0"])
        .map(standard);
    for auth in wrong.chain([hex, quoted]) {
        let refused = server.post("/workflows", &json!({ "triggers": [{ "type": "http", "props": { "auth": auth } }], "steps": [] })).await;
        let (message, secret) = (
            refused.json["error"].as_str().unwrap_or_default(),
            auth["secret"].as_str().expect("a secret").trim(),
        );
        assert!(
            refused.status == 422
                && message.contains("`secret`")
                && (secret.is_empty() || !refused.text.contains(secret)),
            "{auth}: {}",
            refused.text
        );
    }
    // As others sign: the body in hex, in a header of their own.
    let hub = deploy(&server, json!({ "auth": { "type": "signature", "secret": "It's a Secret", "header": "X-Hub-Signature-256" } }), json!({})).await;
    let hex: String =
        mac(b"It's a Secret", "Hello, World!").iter().map(|b| format!("{b:02x}")).collect();
    for (given, status) in [
        (format!("sha256={hex}"), 200),
        (format!("sha256={}", hex.replace('7', "8")), 401),
        (String::new(), 401),
    ] {
        let request = server
            .raw(Method::POST, &endpoint(&hub))
            .header("x-hub-signature-256", given)
            .body("Hello, World!");
        assert_eq!(answer(request).await.status, status);
    }
}

#[tokio::test]
async fn an_endpoint_may_ask_for_an_api_key_that_may_invoke() {
    let server = Server::shared().await;
    let workflow = deploy(&server, json!({ "auth": { "type": "oauth" } }), json!({})).await;
    let key = async |scope: &str| {
        server.post("/api_keys", &json!({ "name": scope, "scopes": [scope] })).await.data()["key"]
            .as_str()
            .expect("a key")
            .to_owned()
    };
    let other = server
        .post("/workspaces", &json!({ "name": "other", "email": "a@x.test" }))
        .await
        .data()["api_key"]
        .as_str()
        .expect("a key")
        .to_owned();
    for (key, status) in [
        (key("invoke").await, 200),
        (key("read").await, 401),
        (other, 401),
        ("nonsense".into(), 401),
    ] {
        assert_eq!(
            answer(server.raw(Method::POST, &endpoint(&workflow)).bearer_auth(&key)).await.status,
            status
        );
    }
    assert!(
        nth_run(&server, &workflow, 1).await["event"]["headers"].get("authorization").is_none()
    );
}

/// Of reference 4.8.
#[tokio::test]
async fn x_pd_notrigger_keeps_a_test_event_and_runs_nothing() {
    let server = Server::shared().await;
    let workflow = deploy(&server, json!({}), json!({})).await;
    let url = endpoint(&workflow);
    answer(server.raw(Method::POST, &url).header("X-PD-NoTrigger", "1").json(&json!({ "n": 1 })))
        .await;
    assert_eq!(
        answer(
            server.raw(Method::POST, &format!("{url}?x-pd-notrigger=1")).json(&json!({ "n": 2 }))
        )
        .await
        .status,
        200
    );
    let path = format!("/workflows/{}", id(&workflow));
    let kept =
        server.get(&format!("{path}/event_summaries?event_name=%24test&expand=event")).await.json;
    assert_eq!(
        (&kept["page_info"]["count"], &kept["data"][0]["event"]["body"]["n"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(server.get(&format!("{path}/event_summaries")).await.json["page_info"]["count"], 0);
    // A test runs on it.
    let run = server
        .post(&format!("{path}/test"), &json!({ "event_id": kept["data"][1]["id"] }))
        .await
        .data();
    assert_eq!(
        (&run["status"], &run["kind"], &run["event"]["body"]["n"]),
        (&json!("succeeded"), &json!("test"), &json!(1))
    );
    assert_eq!(
        server.post(&format!("{path}/test"), &json!({ "event_id": "1-1" })).await.status,
        404
    );
    assert_eq!(server.post(&format!("{path}/test"), &json!({ "event_id": "x" })).await.status, 422);
    assert_eq!(
        server.get(&format!("{path}/runs")).await.json["page_info"]["total_count"],
        1,
        "only the test ran"
    );
    let source =
        server.source("export default { name: 's', version: '1', props: { http: '$.interface.http' }, run(e) { this.$emit(e.body); } };", json!({})).await;
    answer(
        server
            .raw(Method::POST, &endpoint(&source))
            .header("x-pd-notrigger", "1")
            .json(&json!({ "n": 3 })),
    )
    .await;
    let path = format!("/sources/{}", id(&source));
    assert_eq!(
        server.get(&format!("{path}/event_summaries?event_name=%24test")).await.json["data"][0]["event"]
            ["body"]["n"],
        3
    );
    assert_eq!(server.get(&format!("{path}/runs")).await.json["page_info"]["total_count"], 0);
}

/// A flood of them leaves no more than a list shows, whatever may wait in the queue.
#[tokio::test]
async fn of_test_events_the_newest_hundred_are_kept() {
    let server = Server::shared().await;
    let workflow = deploy(&server, json!({}), json!({ "concurrency": 1, "queue_max": 1 })).await;
    let (url, path) = (
        endpoint(&workflow),
        format!(
            "/workflows/{}/event_summaries?event_name=%24test&expand=event&limit=100",
            id(&workflow)
        ),
    );
    for n in 0..130 {
        assert_eq!(
            answer(
                server
                    .raw(Method::POST, &url)
                    .header("x-pd-notrigger", "1")
                    .json(&json!({ "n": n }))
            )
            .await
            .status,
            200
        );
    }
    let kept = server.get(&path).await.json;
    let shown: Vec<_> = kept["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|e| e["event"]["body"]["n"].clone())
        .collect();
    assert_eq!((shown.len(), &shown[0], &shown[99]), (100, &json!(129), &json!(30)));
}

/// Of reference 4.7.
#[tokio::test]
async fn x_pd_nostore_and_keep_data_false_leave_no_data_behind() {
    let mut server = Server::start().await;
    let code = "export default defineComponent({ async run({ steps, $ }) {
      console.log('secret log'); $.export('kept', 'secret export');
      if (steps.trigger.event.body.fail) throw new Error('it failed');
      await $.respond({ status: 200, body: 'secret-answer' });
      $.flow.delay(50);
      return 'secret result'; } });";
    let second = "export default defineComponent({ run({ steps }) { return steps.a.$return_value + ' again'; } });";
    let steps = json!([{ "namespace": "a", "code": code }, { "namespace": "b", "code": second }]);
    let deploy = async |settings: Value| {
        server
            .post(
                "/workflows",
                &json!({ "triggers": [{ "type": "http" }], "steps": steps, "settings": settings }),
            )
            .await
            .data()
    };
    let (keeps, never) = (
        deploy(json!({ "name": "keeps" })).await,
        deploy(json!({ "name": "never", "keep_data": false })).await,
    );
    let secret = json!({ "text": "secret body" });
    let nostore = answer(
        server.raw(Method::POST, &endpoint(&keeps)).header("x-pd-nostore", "1").json(&secret),
    )
    .await;
    assert_eq!(nostore.text, "secret-answer", "the run is as any other");
    answer(server.raw(Method::POST, &format!("{}?x-pd-nostore=1", endpoint(&keeps))).json(&secret))
        .await;
    answer(server.raw(Method::POST, &endpoint(&never)).json(&secret)).await;
    for (workflow, count) in [(&keeps, 2), (&never, 1)] {
        let run = nth_run(&server, workflow, count).await;
        assert!(!run.to_string().contains("secret"), "{run}");
        assert_eq!((&run["event"], &run["logs"]), (&json!({ "$kept": false }), &json!([])));
        let steps: Vec<_> = run["steps"]
            .as_array()
            .expect("steps")
            .iter()
            .map(|s| (s["namespace"].as_str(), s["status"].as_str()))
            .collect();
        assert_eq!(steps, [(Some("a"), Some("succeeded")), (Some("b"), Some("succeeded"))]);
        let refused = server.post(&format!("/runs/{}/replay", id(&run)), &json!({})).await;
        assert_eq!(refused.refusal(), (409, "not_kept"));
    }
    // Of an error its class, message and place are told, not what it was raised on.
    answer(
        server
            .raw(Method::POST, &endpoint(&never))
            .json(&json!({ "fail": 1, "text": "secret body" })),
    )
    .await;
    let errors = server
        .until(
            "the error",
            &format!("/workflows/{}/$errors/event_summaries?expand=event", id(&never)),
            |l| l["page_info"]["count"] == 1,
        )
        .await;
    assert!(!errors.to_string().contains("secret"), "{errors}");
    assert_eq!(
        (
            &errors["data"][0]["event"]["error"]["message"],
            &errors["data"][0]["event"]["original_event"]
        ),
        (&json!("it failed"), &json!({ "$kept": false }))
    );
    // The same request without the header is kept.
    answer(server.raw(Method::POST, &endpoint(&keeps)).json(&secret)).await;
    let run = nth_run(&server, &keeps, 3).await;
    assert_eq!(
        (&run["event"]["body"]["text"], &run["steps"][0]["exports"]["kept"]),
        (&json!("secret body"), &json!("secret export"))
    );
    // Nothing accepted is lost for it.
    let slow = "export default defineComponent({ async run() { await new Promise((r) => setTimeout(r, 3000)); } });";
    let slow = server.post("/workflows", &json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "a", "code": slow }] })).await.data();
    answer(server.raw(Method::POST, &endpoint(&slow)).header("x-pd-nostore", "1").json(&secret))
        .await;
    server.kill();
    server.launch().await;
    assert_eq!(nth_run(&server, &slow, 1).await["event"], json!({ "$kept": false }));
}

/// Of reference 4.6.
#[tokio::test]
async fn timeout_and_memory_are_set_for_each_workflow() {
    let server = Server::shared().await;
    for (settings, field) in [
        (json!({ "timeout_ms": 0 }), "settings.timeout_ms"),
        (json!({ "timeout_ms": 750_001 }), "settings.timeout_ms"),
        (json!({ "memory_mb": 63 }), "settings.memory_mb"),
        (json!({ "memory_mb": 10_241 }), "settings.memory_mb"),
    ] {
        let refused = server.post("/workflows", &json!({ "triggers": [], "steps": [{ "namespace": "a", "code": ECHO }], "settings": settings })).await;
        assert_eq!(
            (refused.status, &refused.json["details"]["field"]),
            (422, &json!(field)),
            "{settings}"
        );
    }
    let code = "export default defineComponent({ run({ steps, $ }) { return { left: $.context.deadline - Date.now(), heap: require('v8').getHeapStatistics().heap_size_limit }; } });";
    for (settings, ms, mb) in [
        (json!({}), 30_000.0, 256.0),
        (json!({ "timeout_ms": 5_000, "memory_mb": 600 }), 5_000.0, 600.0),
    ] {
        let workflow = server
            .post("/workflows", &json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "a", "code": code }], "settings": settings }))
            .await
            .data();
        answer(server.raw(Method::GET, &endpoint(&workflow))).await;
        let left =
            nth_run(&server, &workflow, 1).await["steps"][0]["exports"]["$return_value"].clone();
        assert!(left["left"].as_f64().is_some_and(|l| l > 0.0 && l <= ms), "{left}");
        // Node adds its own to what was asked for.
        assert!(
            left["heap"]
                .as_f64()
                .is_some_and(|h| h >= mb * 1_048_576.0 * 0.9 && h < (mb + 150.0) * 1_048_576.0),
            "{left}"
        );
    }
}

/// Of reference 4.9.
#[tokio::test]
async fn a_chain_of_workflows_is_cut_with_a_visible_error() {
    let server = Server::shared().await;
    let code = "export default defineComponent({ run({ steps, $ }) { $.send.emit({ raw_event: { n: 1 } }); return steps.trigger.context.hops; } });";
    let workflow = server.workflow("loop", json!([{ "type": "http" }]), &[("a", code)]).await;
    server
        .post(
            "/subscriptions",
            &json!({ "emitter_id": id(&workflow), "listener_id": id(&workflow) }),
        )
        .await
        .data();
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    let path = format!("/workflows/{}/runs?status=succeeded&limit=100", id(&workflow));
    let runs =
        server.until("the chain is cut", &path, |l| l["page_info"]["total_count"] == 17).await;
    let last = runs["data"]
        .as_array()
        .expect("runs")
        .iter()
        .find(|r| r["steps"][0]["exports"]["$return_value"] == 16)
        .expect("the last of the chain");
    let run = server.get(&format!("/runs/{}", id(last))).await.data();
    let text = run["logs"].to_string();
    assert!(text.contains("the limit") && text.contains(id(&workflow)), "{text}");
}

#[tokio::test]
async fn endpoints_have_hosts_of_their_own_below_a_domain() {
    let server = Server::start_with(&["--endpoint-domain", "Hooks.Example.Test:8443"]).await;
    let workflow = deploy(&server, json!({}), json!({})).await;
    let key = workflow["triggers"][0]["key"].as_str().expect("a key");
    assert_eq!(endpoint(&workflow), format!("http://{key}.hooks.example.test:8443"));
    let at = async |host: &str, path: &str| {
        answer(server.raw(Method::POST, path).header("host", host).json(&json!({}))).await
    };
    // All of its path is the code's, the API's too: its pages are of another origin than the API.
    assert_eq!(at(&format!("{key}.hooks.example.test"), "/v1/users/me?x=1").await.status, 200);
    assert_eq!(
        at(&format!("{}.HOOKS.example.test:8443", key.to_uppercase()), "/").await.status,
        200
    );
    let run = nth_run(&server, &workflow, 2).await;
    let list = server.get(&format!("/workflows/{}/runs", id(&workflow))).await.json;
    let mut paths: Vec<_> = list["data"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|r| r["event"]["path"].as_str().unwrap_or(""))
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/", "/v1/users/me"]);
    assert!(
        run["event"]["url"]
            .as_str()
            .is_some_and(|u| u.to_lowercase().contains("hooks.example.test")),
        "{run}"
    );
    for host in ["nothere.hooks.example.test", "a.b.hooks.example.test"] {
        assert_eq!(at(host, "/").await.refusal(), (404, "not_found"), "{host}");
    }
    // The path still works, and other hosts are this server's.
    assert_eq!(at("localhost", &format!("/e/{key}")).await.status, 200);
    assert_eq!(at("hooks.example.test", "/healthz").await.status, 405);
}

#[tokio::test]
async fn a_domain_of_one_s_own_stands_for_an_endpoint() {
    let server = Server::start_with(&["--endpoint-domain", "hooks.test"]).await;
    let (workflow, other) = (
        deploy(&server, json!({}), json!({ "name": "one" })).await,
        deploy(&server, json!({}), json!({ "name": "two" })).await,
    );
    let hi = workflow["triggers"][0]["id"].clone();
    let made = server
        .post("/domains", &json!({ "domain": "Pay.Example.com.", "endpoint_id": hi }))
        .await
        .data();
    assert_eq!(
        (&made["id"], &made["endpoint_id"], &made["url"]),
        (&json!("pay.example.com"), &hi, &json!("http://pay.example.com"))
    );
    let at = async |host: &str| {
        answer(server.raw(Method::POST, "/charge").header("host", host).json(&json!({})))
            .await
            .status
    };
    assert_eq!(
        (
            at("pay.example.com").await,
            at("PAY.example.com:80").await,
            at("other.example.com").await
        ),
        (200, 200, 404)
    );
    assert_eq!(nth_run(&server, &workflow, 2).await["event"]["path"], "/charge");
    // Any path is the code's, as it was sent, and a browser may send what it asks for.
    for (n, path) in [
        "/a%2Fb",
        "/%24errors",
        "/$errors",
        "/a//b/",
        "/%2e%2e/x",
        "/a%252Fb",
        "/v1/workflows",
        "/docs",
    ]
    .into_iter()
    .enumerate()
    {
        let sent = answer(
            server.raw(Method::POST, path).header("host", "pay.example.com").json(&json!({})),
        )
        .await;
        assert_eq!(sent.status, 200, "{path}");
        let seen = nth_run(&server, &workflow, 3 + n as u64).await["event"]["path"].clone();
        assert!(path == "/%2e%2e/x" || seen == path, "{path}: {seen}");
        let asked = server
            .raw(Method::OPTIONS, path)
            .header("host", "pay.example.com")
            .header("origin", "https://shop.example");
        let asked = asked
            .header("access-control-request-method", "PUT")
            .header("access-control-request-headers", "authorization, x-shop");
        let allowed = asked.send().await.expect("an answer");
        let headers = allowed.headers();
        assert_eq!(
            headers.get("access-control-allow-headers").and_then(|header| header.to_str().ok()),
            Some("authorization, x-shop"),
            "{path}"
        );
    }
    // The endpoint keeps its domain over a deployment.
    server.post(&format!("/workflows/{}/deploy", id(&workflow)), &json!({})).await.data();
    assert_eq!(at("pay.example.com").await, 200);
    for (domain, endpoint, status) in [
        ("pay.example.com", &other["triggers"][0]["id"], 409),
        ("x.hooks.test", &hi, 409),
        ("hooks.test", &hi, 409),
        ("10.0.0.1", &hi, 422),
        ("https://a.test", &hi, 422),
        ("a_b.test", &hi, 422),
        ("fine.test", &json!("hi_nothere"), 404),
    ] {
        let refused =
            server.post("/domains", &json!({ "domain": domain, "endpoint_id": endpoint })).await;
        assert_eq!(refused.status, status, "{domain}: {}", refused.text);
    }
    let stranger = server
        .post("/workspaces", &json!({ "name": "other", "email": "a@x.test" }))
        .await
        .data()["api_key"]
        .as_str()
        .expect("a key")
        .to_owned();
    let refused = server
        .call_as(
            &stranger,
            Method::POST,
            "/domains",
            Some(&json!({ "domain": "theirs.test", "endpoint_id": hi })),
        )
        .await;
    assert_eq!(refused.status, 404);
    assert_eq!(
        server.call_as(&stranger, Method::DELETE, "/domains/pay.example.com", None).await.status,
        404
    );
    assert_eq!(server.get("/domains").await.json["page_info"]["total_count"], 1);
    assert_eq!(server.delete("/domains/pay.example.com").await.data()["deleted"], true);
    assert_eq!(at("pay.example.com").await, 404);
    // A domain goes with its workflow.
    server
        .post("/domains", &json!({ "domain": "pay.example.com", "endpoint_id": hi }))
        .await
        .data();
    server.delete(&format!("/workflows/{}", id(&workflow))).await.data();
    assert_eq!(
        (
            at("pay.example.com").await,
            &server.get("/domains").await.json["page_info"]["total_count"]
        ),
        (404, &json!(0))
    );
}

#[tokio::test]
async fn an_endpoint_is_reached_with_escapes_in_its_address_and_code_sees_the_address_as_it_was_sent()
 {
    let server = Server::shared().await;
    let workflow = deploy(&server, json!({}), json!({})).await;
    let url = endpoint(&workflow);
    let (base, key) = url.rsplit_once('/').expect("a key");
    let sent = format!(
        "{}/%{:02X}{}/a%2Fb/%24x?q=%24",
        base.replace("/e", "/%65"),
        key.as_bytes()[0],
        &key[1..]
    );
    assert_eq!(answer(server.raw(Method::GET, &sent)).await.status, 200, "{sent}");
    let run = nth_run(&server, &workflow, 1).await;
    assert_eq!(
        (&run["event"]["path"], &run["event"]["query"]),
        (&json!("/a%2Fb/%24x"), &json!({ "q": "$" }))
    );
    assert_eq!(run["event"]["url"].as_str(), sent.split_once('?').map(|(address, _)| address));
    assert_eq!(answer(server.raw(Method::GET, &format!("{base}%2F{key}"))).await.status, 404);
}

#[tokio::test]
async fn a_browser_may_send_what_it_asks_to_send() {
    let server = Server::shared().await;
    let workflow =
        deploy(&server, json!({ "auth": { "type": "bearer", "token": "t0ken" } }), json!({})).await;
    let preflight = async |path: &str, headers: &[(&str, &str)]| {
        let request =
            headers.iter().fold(server.raw(Method::OPTIONS, path), |request, (name, value)| {
                request.header(*name, *value)
            });
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        let header = |name: &str| {
            response
                .headers()
                .get(name)
                .map(|v| v.to_str().expect("text").to_owned())
                .unwrap_or_default()
        };
        let allowed = |what: &str| header(&format!("access-control-allow-{what}"));
        (format!("{} {}", allowed("origin"), allowed("headers")), allowed("methods"))
    };
    for path in [endpoint(&workflow), "/resume/x".to_owned(), "/cancel/x".to_owned()] {
        let asked = [
            ("origin", "http://a.b"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "authorization,x"),
        ];
        assert_eq!(
            preflight(&path, &asked).await,
            ("http://a.b authorization,x".to_owned(), "GET,HEAD,PUT,PATCH,POST,DELETE".to_owned()),
            "{path}"
        );
        assert_eq!(preflight(&path, &[]).await.0, "* *");
        assert!(
            preflight(&path, &[("access-control-request-method", "PROPFIND")])
                .await
                .1
                .ends_with(",PROPFIND")
        );
    }
    assert_eq!(
        answer(
            server
                .raw(Method::POST, &endpoint(&workflow))
                .header("origin", "https://a.test")
                .bearer_auth("t0ken")
        )
        .await
        .status,
        200
    );
    nth_run(&server, &workflow, 1).await;
}
