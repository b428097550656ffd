//! Servers that were cut off from their Postgres, or stood still, for longer than the others believe that they are there: what they had under way
//! is not settled beside what others did meanwhile. Passes, and says so, where there is no Postgres.

use std::collections::BTreeSet;
use std::time::Duration;

use millrace_tests::{Server, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use crate::nodes::Pair;

/// Where code waits until it is let go on.
struct Gate(TcpListener);

impl Gate {
    async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.expect("binds"))
    }

    fn url(&self) -> String {
        format!("http://{}", self.0.local_addr().expect("an address"))
    }

    /// The next that waits.
    async fn next(&self) -> TcpStream {
        tokio::time::timeout(Duration::from_secs(60), self.0.accept()).await.expect("somebody comes").expect("is asked").0
    }

    /// Lets all go on that come from now on.
    fn open(self) {
        tokio::spawn(async move {
            while let Ok((waits, _)) = self.0.accept().await {
                let_on(waits).await;
            }
        });
    }
}

async fn let_on(mut waits: TcpStream) {
    // Who waited may be gone.
    let _ = waits.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
}

/// The first server, which has the seat of the only source, stands still, and the other takes it for dead. Not the other way round: who believes that
/// it is alone runs without a seat.
async fn freeze(pair: &Pair) {
    pair.a.freeze();
    let dead = "UPDATE nodes SET alive_until = now() - interval '1 second' WHERE id IN (SELECT node FROM source_seats)";
    assert_eq!(pair.database.client().await.execute(dead, &[]).await.expect("updates"), 1);
}

fn numbers(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["n"].as_u64().expect("a number")).collect()
}

/// Invariant 3 where a server loses a source's seat with runs under way: their map lacks what another wrote. They go again, and are none the worse.
#[tokio::test]
async fn what_ran_with_a_map_that_another_server_wrote_to_goes_again() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let gate = Gate::new().await;
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http', db: '$.service.db' },
      async run(e) { const n = (this.db.get('n') || 0) + (e.body.reads ? 0 : 1); if (!e.body.reads) this.db.set('n', n);
        if (e.body.gate) await fetch(e.body.gate); if (!e.body.silent) this.$emit({ n, reads: !!e.body.reads }); } };";
    let source = pair.a.source(code, json!({})).await;
    let url = endpoint(&source);
    let mut waiting = Vec::new();
    // Two that count, one that emits what it saw of these, one that leaves nothing.
    for (reads, silent) in [(false, false), (false, false), (true, false), (true, true)] {
        assert_eq!(pair.post(&url, 0, &json!({ "gate": gate.url(), "reads": reads, "silent": silent })).await.status, 200);
        waiting.push(gate.next().await);
    }
    freeze(&pair).await;
    assert_eq!(pair.post(&url, 1, &json!({})).await.status, 200);
    let succeeded = format!("/sources/{}/runs?status=succeeded", id(&source));
    pair.b.until("the other runs the source", &succeeded, |l| l["page_info"]["total_count"] == 1).await;
    pair.a.thaw();
    for waits in waiting {
        let_on(waits).await;
    }
    // Each comes here again.
    for _ in 0..4 {
        let_on(gate.next().await).await;
    }
    // Or once more, where the servers took turns meanwhile.
    gate.open();
    let runs = pair.b.until("all settle", &succeeded, |l| l["page_info"]["total_count"] == 5).await;
    assert!(runs["data"].as_array().expect("runs").iter().all(|run| run["attempt"] == 1), "it is no fault of theirs: {runs}");
    let emitted = pair.b.emitted(&source).await;
    let (read, counted): (Vec<Value>, Vec<Value>) = emitted.into_iter().partition(|event| event["reads"] == true);
    assert_eq!((read.len(), counted.len(), numbers(&counted).into_iter().collect::<BTreeSet<_>>()), (1, 3, [1, 2, 3].into()), "{counted:?}");
    assert!(pair.a.log().contains("it goes again"), "{}", pair.a.log());
    for status in ["queued", "running", "failed"] {
        assert_eq!(pair.b.get(&format!("/sources/{}/runs?status={status}", id(&source))).await.json["page_info"]["total_count"], 0, "{status}");
    }
}

/// The seat alone decides nothing: where nobody wrote meanwhile, what ran settles.
#[tokio::test]
async fn what_ran_with_a_map_that_nobody_else_wrote_to_settles() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let gate = Gate::new().await;
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http', db: '$.service.db' },
      async run(e) { const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); await fetch(e.body.gate); this.$emit({ n }); } };";
    let source = pair.a.source(code, json!({})).await;
    assert_eq!(pair.post(&endpoint(&source), 0, &json!({ "gate": gate.url() })).await.status, 200);
    let waits = gate.next().await;
    freeze(&pair).await;
    pair.a.thaw();
    let_on(waits).await;
    let succeeded = format!("/sources/{}/runs?status=succeeded", id(&source));
    pair.a.until("it settles", &succeeded, |l| l["page_info"]["total_count"] == 1).await;
    // The next one knows of it, on the other server.
    assert_eq!(pair.post(&endpoint(&source), 1, &json!({ "gate": gate.url() })).await.status, 200);
    gate.open();
    pair.b.until("it settles", &succeeded, |l| l["page_info"]["total_count"] == 2).await;
    assert_eq!(numbers(&pair.b.emitted(&source).await), [1, 2]);
}

/// Nor does what a later run of the same map went on from, which settled before the other server wrote: it is part of what that one read.
#[tokio::test]
async fn what_a_later_run_went_on_from_settles_whoever_wrote_after_that() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let gate = Gate::new().await;
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http', db: '$.service.db' },
      async run(e) { const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); if (e.body.gate) await fetch(e.body.gate); this.$emit({ n }); } };";
    let source = pair.a.source(code, json!({})).await;
    let (url, succeeded) = (endpoint(&source), format!("/sources/{}/runs?status=succeeded", id(&source)));
    assert_eq!(pair.post(&url, 0, &json!({ "gate": gate.url() })).await.status, 200);
    let waits = gate.next().await;
    assert_eq!(pair.post(&url, 0, &json!({})).await.status, 200);
    pair.a.until("the later settles", &succeeded, |l| l["page_info"]["total_count"] == 1).await;
    freeze(&pair).await;
    assert_eq!(pair.post(&url, 1, &json!({})).await.status, 200);
    pair.b.until("the other runs the source", &succeeded, |l| l["page_info"]["total_count"] == 2).await;
    pair.a.thaw();
    let_on(waits).await;
    gate.open();
    pair.b.until("all settle", &succeeded, |l| l["page_info"]["total_count"] == 3).await;
    assert_eq!(numbers(&pair.b.emitted(&source).await).into_iter().collect::<BTreeSet<_>>(), [1, 2, 3].into());
}

/// A hook writes to the same map. It may have done something outside: it does not go again by itself, and whoever asked is told.
#[tokio::test]
async fn a_hook_whose_map_another_server_wrote_to_leaves_nothing_and_says_so() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let gate = Gate::new().await;
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http', db: '$.service.db', gate: 'string' },
      hooks: { async activate() { const n = this.db.get('n'); if (n) { this.db.set('n', n + 100); await fetch(this.gate); } } },
      run() { const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); this.$emit({ n }); } };";
    let source = pair.a.source(code, json!({ "gate": gate.url() })).await;
    let (url, succeeded) = (endpoint(&source), format!("/sources/{}/runs?status=succeeded", id(&source)));
    assert_eq!(pair.post(&url, 0, &json!({})).await.status, 200);
    pair.a.until("it settles", &succeeded, |l| l["page_info"]["total_count"] == 1).await;
    let update = tokio::spawn(updated(&pair.a, id(&source)));
    let waits = gate.next().await;
    freeze(&pair).await;
    assert_eq!(pair.post(&url, 1, &json!({})).await.status, 200);
    pair.b.until("the other runs the source", &succeeded, |l| l["page_info"]["total_count"] == 2).await;
    pair.a.thaw();
    let_on(waits).await;
    // The version of before is activated again.
    gate.open();
    let said: Value = update.await.expect("ends").expect("an answer").json().await.expect("JSON");
    assert_eq!(said["code"], "hook_failed", "{said}");
    assert!(said["error"].as_str().is_some_and(|error| error.contains("cut off from its database") && error.contains("try again")), "{said}");
    assert_eq!(pair.post(&url, 0, &json!({})).await.status, 200);
    pair.b.until("it settles", &succeeded, |l| l["page_info"]["total_count"] == 3).await;
    assert_eq!(numbers(&pair.b.emitted(&source).await), [1, 2, 103]);
}

fn updated(server: &Server, source: &str) -> impl Future<Output = reqwest::Result<reqwest::Response>> + use<> {
    let request = server.raw(Method::PUT, &format!("/v1/sources/{source}")).bearer_auth(&server.api_key);
    request.json(&json!({ "name": "another" })).send()
}
