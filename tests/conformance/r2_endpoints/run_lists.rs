//! Runs across the organization: lists by what is asked for, as light records.

use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

fn step(body: &str) -> String {
    format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }});")
}

/// Ids of the runs that are listed.
async fn listed(server: &Client, query: &str) -> Vec<String> {
    let list = server.get(&format!("/runs?{query}")).await;
    assert_eq!(list.status, 200, "{query}: {}", list.text);
    list.json["data"].as_array().expect("a list").iter().map(|run| id(run).to_owned()).collect()
}

#[tokio::test]
async fn r2_36_runs_of_all_owners_are_listed_by_what_is_asked() {
    let server = Server::shared().await;
    let body = "if (steps.trigger.event.body.bad) throw new RangeError('too far'); $.export('$summary', `Sent ${steps.trigger.event.body.n}`);";
    let workflow = server
        .workflow("orders", json!([{ "type": "http" }]), &[("send", step(body).as_str())])
        .await;
    let source =
        server.source("export default { name: 'clock', version: '1', run() {} };", json!({})).await;
    for event in [json!({ "n": 1 }), json!({ "bad": true })] {
        answer(server.raw(Method::POST, &endpoint(&workflow)).json(&event)).await;
    }
    server.run_now(&source, json!({})).await;
    let list = server
        .until("three runs", "/runs?status=succeeded,failed&kind=live", |list| {
            list["page_info"]["total_count"] == 3
        })
        .await;
    let of = |owner: &Value, status: &str| {
        let is = |run: &&Value| {
            (run["workflow_id"] == owner["id"] || run["source_id"] == owner["id"])
                && run["status"] == status
        };
        list["data"].as_array().and_then(|runs| runs.iter().find(is).cloned()).expect("a run")
    };
    let (sent, failed, ticked) =
        (of(&workflow, "succeeded"), of(&workflow, "failed"), of(&source, "succeeded"));
    let hidden = ["event", "context", "return_value"];
    assert!(hidden.iter().all(|field| sent.get(field).is_none()), "{sent}");
    assert_eq!(
        (&sent["summary"], &sent["owner_name"], &sent["version"]),
        (&json!("Sent 1"), &json!("orders"), &json!(1))
    );
    assert_eq!(
        (&sent["steps"][0]["namespace"], &sent["steps"][0]["status"]),
        (&json!("send"), &json!("succeeded"))
    );
    assert!(sent["steps"][0].get("exports").is_none(), "{sent}");
    assert_eq!(
        (&failed["error"]["code"], &failed["summary"]),
        (&json!("RangeError"), &Value::Null)
    );
    // What is named is there, of the same runs.
    let whole = server.get("/runs?include=id,event,context").await;
    let event = whole.json["data"]
        .as_array()
        .and_then(|runs| runs.iter().find(|run| run["id"] == sent["id"]).cloned())
        .expect("a run");
    assert_eq!(
        (&event["event"]["body"]["n"], event.as_object().map(serde_json::Map::len)),
        (&json!(1), Some(3))
    );

    let one = |run: &Value| vec![id(run).to_owned()];
    assert_eq!(listed(&server, "error_class=RangeError").await, one(&failed));
    assert_eq!(listed(&server, &format!("owner_id={}", id(&source))).await, one(&ticked));
    assert_eq!(
        listed(&server, &format!("owner_id={}&status=failed,queued", id(&workflow))).await,
        one(&failed)
    );
    let trace = sent["trace_id"].as_str().expect("a trace");
    assert_eq!(listed(&server, &format!("trace_id={trace}")).await, one(&sent));
    let (trigger, group) = (
        sent["trigger_id"].as_str().expect("a trigger"),
        &server.get("/error_groups").await.json["data"][0]["id"],
    );
    assert_eq!(
        listed(&server, &format!("trigger_id={trigger}&status=succeeded")).await,
        one(&sent)
    );
    assert_eq!(
        listed(&server, &format!("group={}", group.as_str().expect("a group"))).await,
        one(&failed)
    );
    assert!(listed(&server, "min_ms=86400000").await.is_empty());
    let at = sent["created_at_ms"].as_i64().expect("a time");
    assert!(listed(&server, &format!("to={at}")).await.iter().all(|run| run != id(&sent)));

    // A replay says what it replays, and the run what replayed it.
    let again = server.post(&format!("/runs/{}/replay", id(&failed)), &json!({})).await.data();
    assert_eq!(listed(&server, &format!("replay_of={}", id(&failed))).await, one(&again));
    let run = server.get(&format!("/runs/{}", id(&failed))).await.data();
    assert_eq!(
        (&run["replayed_by"], &run["replay_of"], &run["version"]),
        (&again["id"], &Value::Null, &json!(1))
    );

    // Page by page it is the same list.
    let all = listed(&server, "limit=100").await;
    let (mut pages, mut after) = (Vec::new(), String::new());
    while pages.len() < all.len() {
        let page = server.get(&format!("/runs?limit=1&after={after}")).await.json;
        after = page["page_info"]["end_cursor"].as_str().expect("a cursor").to_owned();
        pages.push(id(&page["data"][0]).to_owned());
    }
    assert_eq!(pages, all);

    // History outlives its owner; other organizations have none of it.
    server.delete(&format!("/sources/{}", id(&source))).await;
    assert!(
        listed(&server, &format!("owner_id={}", id(&source)))
            .await
            .contains(&id(&ticked).to_owned())
    );
    for (query, status) in [
        ("status=done", 422),
        ("kind=x", 422),
        ("min_ms=-1", 422),
        ("from=yesterday", 422),
        ("owner_id=x", 404),
        ("replay_of=x", 404),
        ("after=run_none", 422),
        ("org_id=o_other", 404),
    ] {
        assert_eq!(server.get(&format!("/runs?{query}")).await.status, status, "{query}");
    }
}

#[tokio::test]
async fn r2_36_runs_are_found_by_words_of_events_results_and_errors() {
    let server = Server::shared().await;
    let body = "if (steps.trigger.event.body.bad) throw new Error('parcel lost'); return { state: 'Delivered', resume: $.flow.suspend ? 'https://x.test/resume/run_1-1-s3cret' : '' };";
    let workflow = server
        .workflow("orders", json!([{ "type": "http" }]), &[("send", step(body).as_str())])
        .await;
    for event in [json!({ "number": "ORD-1182" }), json!({ "number": "ORD-1183", "bad": true })] {
        answer(server.raw(Method::POST, &endpoint(&workflow)).json(&event)).await;
    }
    let list = server
        .until("both are indexed", "/runs?q=ord", |list| list["page_info"]["total_count"] == 2)
        .await;
    let searched = &list["page_info"]["search"];
    assert_eq!(
        (&searched["indexed_from_ms"], &searched["looked_at_from_ms"]),
        (&Value::Null, &Value::Null)
    );
    server
        .until("all are", "/runs?q=ord", |list| {
            list["page_info"]["search"]["indexed_until_ms"].as_i64()
                > list["data"][0]["created_at_ms"].as_i64()
        })
        .await;
    // The stack of the other one shows the line of code that has the word too.
    server
        .until("their ends too", "/runs?q=delivered&status=succeeded", |list| {
            list["page_info"]["total_count"] == 1
        })
        .await;
    let failed = server
        .until("those of both", "/runs?q=PARCEL", |list| list["page_info"]["total_count"] == 1)
        .await["data"][0]
        .clone();
    assert_eq!(failed["error"]["message"], "parcel lost");
    let one = |run: &Value| vec![id(run).to_owned()];
    assert_eq!(listed(&server, "q=ORD-1183").await, one(&failed));
    assert_eq!(listed(&server, "q=ord&status=failed&kind=live").await, one(&failed));
    assert_eq!(listed(&server, "q=ord&limit=1&include=id,event").await.len(), 1);
    assert_eq!(listed(&server, &format!("q=par*&owner_id={}", id(&workflow))).await, one(&failed));
    // Neither a part of a word, nor the name of a field, nor the code that resumes a run.
    for query in ["q=parc", "q=number", "q=s3cret", "q=s3c*", "q=ord+1182+lost"] {
        assert!(listed(&server, query).await.is_empty(), "{query}");
    }
    assert_eq!(listed(&server, "q=resume&status=succeeded").await.len(), 1);
    for query in [
        "q=",
        "q=--",
        "q=ab*",
        "q=a&after=run_none",
        &format!("q={}", "a+b+c+d+e+f+g+h+i+".repeat(2) + "1+2+3+4+5+6+7+8+9"),
    ] {
        assert_eq!(server.get(&format!("/runs?{query}")).await.status, 422, "{query}");
    }
    // What words find is replayed and cancelled together, and nothing where they find nothing.
    let replay = async |filter: Value, dry_run: bool| {
        server.post("/replays", &json!({ "filter": filter, "dry_run": dry_run })).await
    };
    let ended = listed(&server, "q=ord&kind=live&status=succeeded,failed").await.len();
    assert_eq!(replay(json!({ "q": "ord" }), true).await.data(), json!({ "total": ended }));
    for words in ["parcel", "nowhere"] {
        let made = replay(json!({ "q": words }), false).await.json["data"].clone();
        let done = server
            .until("it is done", &format!("/replays/{}", id(&made)), |made| {
                made["data"]["status"] == "done"
            })
            .await;
        let replayed = i64::from(words == "parcel");
        assert_eq!(
            (&done["data"]["total"], &done["data"]["replayed"]),
            (&json!(replayed), &json!(replayed)),
            "{words}"
        );
        let cancelled = server.post("/runs/cancel", &json!({ "filter": { "q": words } })).await;
        assert_eq!(cancelled.data()["cancelled"], 0, "{words}");
    }
    assert_eq!(replay(json!({ "q": "--" }), true).await.status, 422);
}
