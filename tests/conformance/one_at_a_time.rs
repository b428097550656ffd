//! Isolates serve one event at a time: what one run does to its process is never seen by another
//! that goes on at the same time.

use std::collections::BTreeSet;

use futures::future::join_all;
use millrace_tests::{Answer, Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::nodes::Pair;

/// Everything that outlives a call in its process: each value is set to this event's number, and
/// read again while others run.
pub(crate) const MARK: &str = "
  import fs from 'node:fs';
  import { EventEmitter } from 'node:events';
  let variable; const client = { defaults: { headers: {} } }; const bus = new EventEmitter(); const jobs = []; let wake, running = 0;
  // A queue as limiters make one: whoever comes first pumps for all.
  const inQueue = (job) => new Promise((done, failed) => { jobs.push({ job, done, failed }); wake?.(); pump ??= drain(); });
  let pump; const drain = async () => { for (;;) { const next = jobs.shift(); if (next) { try { next.done(await next.job()); } catch (error) { next.failed(error); } } else await new Promise((r) => { wake = r; }); } };
  async function mark(i) {
    if (running++) throw new Error('two at the same time');
    try {
      variable = i; client.defaults.headers.token = i; globalThis.marked = i; process.env.MARK = i; Array.prototype.marked = i; process.exitCode = i;
      fs.writeFileSync('/tmp/mark', String(i)); process.chdir('/tmp'); bus.removeAllListeners(); bus.on('x', () => console.log(`listener ${i}`));
      console.log(`before ${i}`);
      const queued = await inQueue(async () => { console.log(`job ${i}`); await new Promise((r) => setTimeout(r, 40)); return i; });
      bus.emit('x');
      return [variable, client.defaults.headers.token, globalThis.marked, Number(process.env.MARK), [].marked, Number(fs.readFileSync('mark', 'utf8')), queued, process.exitCode];
    } finally { running--; }
  }";

pub(crate) fn own(i: u64) -> Value {
    json!(vec![i; 8])
}

fn lines(run: &Value) -> Vec<&str> {
    run["logs"]
        .as_array()
        .expect("logs")
        .iter()
        .map(|line| line["text"].as_str().expect("text"))
        .collect()
}

pub(crate) async fn ask(server: &Client, url: &str, i: u64) -> Answer {
    answer(server.raw(Method::POST, url).json(&json!({ "i": i }))).await
}

async fn a_workflow_s_runs_share_nothing(server: &Client, second: Option<&Client>) {
    let step = format!(
        "{MARK} export default defineComponent({{ async run({{ steps, $ }}) {{ $.respond({{ status: 200, body: await mark(steps.trigger.event.body.i) }}); }} }});"
    );
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("mark", &step)]).await;
    let url = endpoint(&workflow);
    let on = |i: u64| match second.filter(|_| i % 2 == 1) {
        Some(second) => (second, url.replace(&server.url, &second.url)),
        None => (server, url.clone()),
    };
    let answers = join_all((0..16).map(|i| async move {
        let (server, url) = on(i);
        ask(server, &url, i).await
    }))
    .await;
    for (i, answered) in (0..).zip(answers) {
        assert_eq!((answered.status, answered.json), (200, own(i)));
    }
    let runs = server
        .until(
            "all settle",
            &format!("/workflows/{}/runs?status=succeeded&limit=20", id(&workflow)),
            |l| l["page_info"]["total_count"] == 16,
        )
        .await;
    for run in runs["data"].as_array().expect("runs") {
        let run = server.get(&format!("/runs/{}", id(run))).await.data();
        let i = &run["event"]["body"]["i"];
        assert_eq!(
            lines(&run),
            [format!("before {i}"), format!("job {i}"), format!("listener {i}")]
        );
    }
}

#[tokio::test]
async fn r4_runs_of_a_workflow_at_the_same_time_share_nothing() {
    a_workflow_s_runs_share_nothing(&Server::shared().await, None).await;
}

/// Short ones, of which a process has the next at hand; some that wait, leave something running or
/// end their process come between them.
#[tokio::test]
async fn r4_hundreds_of_short_runs_with_some_that_wait_or_die_share_nothing_and_none_is_lost() {
    let server = Server::shared().await;
    let step = "let cur; export default defineComponent({ async run({ steps, $ }) {
        const { i, does } = steps.trigger.event.body; cur = i; console.log(`run ${i}`);
        if (does === 'dies') process.reallyExit(3);
        if (does === 'waits') await new Promise((r) => setTimeout(r, 30)); else await null;
        if (does === 'leaves') setTimeout(() => {}, 30);
        await $.respond({ status: 200, body: { i: cur } }); } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("mark", step)]).await;
    let url = endpoint(&workflow);
    let does = |i: u64| match i % 100 {
        60 => "dies",
        70 => "waits",
        80 => "leaves",
        _ => "",
    };
    for round in 0..8 {
        let asked = (0..50).map(|n| 50 * round + n);
        let answers = join_all(asked.clone().map(|i| {
            answer(server.raw(Method::POST, &url).json(&json!({ "i": i, "does": does(i) })))
        }))
        .await;
        for (i, answered) in asked.zip(answers) {
            if does(i) == "dies" {
                assert_eq!(answered.status, 400, "{i}");
            } else {
                assert_eq!((answered.status, answered.json), (200, json!({ "i": i })));
            }
        }
    }
    let list =
        |status: &str| format!("/workflows/{}/runs?status={status}&limit=100", id(&workflow));
    server.until("all settle", &list("succeeded"), |l| l["page_info"]["total_count"] == 396).await;
    let failed = server
        .until("those that died fail", &list("failed"), |l| l["page_info"]["total_count"] == 4)
        .await;
    for run in failed["data"].as_array().expect("runs") {
        assert_eq!(does(run["event"]["body"]["i"].as_u64().unwrap_or_default()), "dies");
    }
    for run in server.get(&list("succeeded")).await.data().as_array().expect("runs") {
        let run = server.get(&format!("/runs/{}", id(run))).await.data();
        assert_eq!(lines(&run), [format!("run {}", run["event"]["body"]["i"])]);
    }
}

#[tokio::test]
async fn r4_runs_of_a_workflow_on_two_servers_share_nothing() {
    let Some(pair) = Pair::start(&[]).await else { return };
    a_workflow_s_runs_share_nothing(&pair.a, Some(&pair.b)).await;
}

#[tokio::test]
async fn r3_runs_of_a_source_at_the_same_time_share_nothing() {
    let server = Server::shared().await;
    let code = format!(
        "{MARK} export default {{ name: 's', version: '1', props: {{ http: {{ type: '$.interface.http', customResponse: true }} }},
      async run(e) {{ this.http.respond({{ status: 200, body: await mark(e.body.i) }}); }} }};"
    );
    let source = server.source(&code, json!({})).await;
    assert_eq!((&source["calls_per_isolate"], &source["concurrency"]), (&json!(1), &Value::Null));
    let url = endpoint(&source);
    for (i, answered) in (0..).zip(join_all((0..12).map(|i| ask(&server, &url, i))).await) {
        assert_eq!((answered.status, answered.json), (200, own(i)));
    }
}

#[tokio::test]
async fn r2_runs_of_an_action_at_the_same_time_share_nothing() {
    let server = Server::shared().await;
    let code = format!(
        "{MARK} export default {{ name: 'a', key: 'test-mark', version: '0.0.1', type: 'action', props: {{ i: 'integer' }}, async run() {{ return await mark(this.i); }} }};"
    );
    server.post("/components", &json!({ "component_code": code, "publish": true })).await.data();
    let workflow = server.workflow("w", json!([]), &[]).await;
    let path =
        format!("/connect/{}/actions/run", workflow["project_id"].as_str().expect("a project"));
    let answers = join_all((0..8u64).map(|i| {
        let body = json!({ "id": "test-mark", "configured_props": { "i": i } });
        let (server, path) = (&server, &path);
        async move { server.post(path, &body).await }
    }));
    for (i, answered) in (0..).zip(answers.await) {
        assert_eq!((answered.status, &answered.json["ret"]), (200, &own(i)), "{}", answered.text);
    }
}

/// What a call left behind is seen by the next one of its isolate, as on the hosted platform.
#[tokio::test]
async fn r4_the_next_run_of_an_isolate_sees_what_the_one_before_left() {
    let server = Server::shared().await;
    let step = "let n = 0; export default defineComponent({ async run({ $ }) { n += 1; $.respond({ status: 200, body: String(n) }); } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("count", step)]).await;
    for n in 1..4 {
        assert_eq!(ask(&server, &endpoint(&workflow), 0).await.text, n.to_string());
    }
}

/// The author of code that keeps nothing may let runs share a process.
#[tokio::test]
async fn r4_calls_per_isolate_lets_runs_share_a_process() {
    let server = Server::shared().await;
    let step = "let here = 0; let open; const all = new Promise((done) => { open = done; });
      export default defineComponent({ async run({ $ }) { if (++here === 4) open(); await all; $.respond({ status: 200, body: process.pid.toString() }); } });";
    let settings = |calls: Value| json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "s", "code": step }], "settings": { "name": "w", "calls_per_isolate": calls } });
    for (calls, said) in [
        (json!(0), "allowed are 1 to 64"),
        (json!(65), "allowed are 1 to 64"),
        (json!("many"), "calls_per_isolate"),
    ] {
        let refused = server.post("/workflows", &settings(calls)).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(refused.text.contains(said), "{}", refused.text);
    }
    let workflow = server.post("/workflows", &settings(json!(4))).await.data();
    let url = endpoint(&workflow);
    let pids: BTreeSet<String> =
        join_all((0..4).map(|i| ask(&server, &url, i))).await.into_iter().map(|a| a.text).collect();
    assert_eq!(pids.len(), 1, "the four met in one process: {pids:?}");
}

/// Nobody can tell which of several runs ended their process: they go again, each alone, and the
/// one at fault fails by itself.
#[tokio::test]
async fn r4_a_run_that_ends_its_process_fails_none_of_those_beside_it() {
    let server = Server::shared().await;
    let step = "let here = 0; let open; const all = new Promise((done) => { open = done; });
      const pause = (ms) => new Promise((done) => setTimeout(done, ms));
      export default defineComponent({ async run({ steps }) { if (++here === 3) open(); await Promise.race([all, pause(3000)]);
        if (steps.trigger.event.body.i === 0) process.kill(process.pid, 'SIGKILL'); await pause(300); return here; } });";
    let settings =
        json!({ "name": "crashes", "calls_per_isolate": 4, "error_notification": false });
    let body = json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "s", "code": step }], "settings": settings });
    let workflow = server.post("/workflows", &body).await.data();
    let url = endpoint(&workflow);
    join_all((0..3).map(|i| ask(&server, &url, i))).await;
    let is_over = |run: &Value| run["status"] == "succeeded" || run["status"] == "failed";
    let path = format!("/workflows/{}/runs", id(&workflow));
    let runs = server
        .until("all end", &path, |list| {
            list["data"].as_array().is_some_and(|runs| runs.len() == 3 && runs.iter().all(is_over))
        })
        .await;
    for run in runs["data"].as_array().expect("runs") {
        let (is_culprit, error) = (run["event"]["body"]["i"] == 0, &run["error"]["message"]);
        assert_eq!(run["status"] == "failed", is_culprit, "{run}");
        let attempts = run["attempt"].as_u64();
        assert!(attempts.is_some_and(|n| n <= 2), "lost once, and then alone: {run}");
        let own = error.as_str().is_some_and(|message| message.contains("signal 9"));
        assert_eq!(own, is_culprit, "{run}");
    }
}

const COUNTS: &str = "export default { name: 'c', version: '1', props: { http: { type: '$.interface.http', customResponse: true }, db: '$.service.db' },
  async run() { const n = (this.db.get('n') || 0) + 1; await new Promise((r) => setTimeout(r, 2)); this.db.set('n', n); this.$emit({ n }); this.http.respond({ status: 200, body: String(n) }); } };";

#[tokio::test]
async fn r3_a_source_with_a_db_runs_one_event_at_a_time_and_loses_no_update() {
    let server = Server::shared().await;
    let source = server.source(COUNTS, json!({})).await;
    assert_eq!(source["concurrency"], 1);
    let url = endpoint(&source);
    let counted: BTreeSet<u64> = join_all((0..20).map(|i| ask(&server, &url, i)))
        .await
        .iter()
        .map(|a| a.text.parse().expect("a number"))
        .collect();
    assert_eq!(counted, (1..=20).collect());
    // Also where somebody asks for a run of it.
    let runs = join_all((0..4).map(|_| server.run_now(&source, json!({})))).await;
    assert!(runs.iter().all(|run| run["status"] == "succeeded"), "{runs:?}");
    assert_eq!(ask(&server, &url, 0).await.text, "25");
}

#[tokio::test]
async fn r3_the_author_may_let_a_source_run_several_events_at_a_time() {
    let server = Server::shared().await;
    let code = "export default { name: 'c', version: '1', props: { http: { type: '$.interface.http', customResponse: true }, db: '$.service.db', other: 'string' },
      async run(e) { if (e.body.i) await fetch(this.other, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{\"i\":0}' }).catch(() => {}); this.http.respond({ status: 200 }); } };";
    let body = json!({ "component_code": code, "configured_props": { "other": "x" } });
    let source = server.post("/sources", &body).await.data();
    let path = format!("/sources/{}", id(&source));
    for (field, value) in [
        ("concurrency", json!(0)),
        ("concurrency", json!(1001)),
        ("calls_per_isolate", json!(65)),
        ("calls_per_isolate", json!("4")),
    ] {
        let refused = server.put(&path, &json!({ (field): value })).await;
        assert_eq!(refused.status, 422, "{field}: {}", refused.text);
        let allowed = if field == "concurrency" { "1 to 1000" } else { "1 to 64" };
        for said in [field, allowed] {
            assert!(refused.text.contains(said), "{}", refused.text);
        }
    }
    let shown =
        server.put(&path, &json!({ "concurrency": 4, "calls_per_isolate": 2 })).await.data();
    assert_eq!((&shown["concurrency"], &shown["calls_per_isolate"]), (&json!(4), &json!(2)));
    let kept = server.put(&path, &json!({ "name": "renamed" })).await.data();
    assert_eq!((&kept["concurrency"], &kept["calls_per_isolate"]), (&json!(4), &json!(2)));
    let default = server
        .put(&path, &json!({ "concurrency": false, "calls_per_isolate": false }))
        .await
        .data();
    assert_eq!((&default["concurrency"], &default["calls_per_isolate"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn r3_events_of_a_source_begin_in_the_order_in_which_they_were_accepted_also_while_its_process_starts()
 {
    let server = Server::shared().await;
    let code = "const seen = []; export default { name: 'o', version: '1', props: { http: '$.interface.http' }, dedupe: 'unique',
      async run(e) { seen.push(e.body.i); await new Promise((r) => setTimeout(r, 1)); this.$emit({ i: e.body.i, seen: [...seen], pid: process.pid }, { id: e.body.i }); } };";
    for _ in 0..3 {
        let source = server.source(code, json!({})).await;
        for i in 0..8 {
            assert_eq!(ask(&server, &endpoint(&source), i).await.status, 200);
        }
        server
            .until("all settle", &format!("/sources/{}/runs?status=succeeded", id(&source)), |l| {
                l["page_info"]["total_count"] == 8
            })
            .await;
        for event in server.emitted(&source).await {
            let seen: Vec<u64> = event["seen"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|i| i.as_u64().expect("a number"))
                .collect();
            assert!(seen.is_sorted(), "each process was given them in order: {event}");
        }
        server.delete(&format!("/sources/{}", id(&source))).await;
    }
}
