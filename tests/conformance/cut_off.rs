//! Servers that were cut off from their Postgres, or stood still, for longer than the others
//! believe that they are there: what they had under way is not settled beside what others did
//! meanwhile. Passes, and says so, where there is no Postgres.

use std::time::Duration;

use millrace_tests::{Client, endpoint, id};
use reqwest::Method;
use serde_json::json;
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
        tokio::time::timeout(Duration::from_secs(120), self.0.accept())
            .await
            .expect("somebody comes")
            .expect("is asked")
            .0
    }
}

async fn let_on(mut waits: TcpStream) {
    // Who waited may be gone.
    let _ =
        waits.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
}

/// The first server stands still between two transactions, and the leases of its runs end. In the
/// middle of one it would hold its rows until Postgres ends its session, a minute later.
async fn freeze(pair: &Pair) {
    const OPEN: &str = "SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'";
    let client = pair.database.client().await;
    'frozen: loop {
        pair.a.freeze();
        // The other server's own are over soon.
        for _ in 0..100 {
            if client.query(OPEN, &[]).await.expect("answers").is_empty() {
                break 'frozen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        pair.a.thaw();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for sql in [
        "UPDATE nodes SET alive_until = now() - interval '1 second' WHERE id IN (SELECT node FROM runs)",
        "UPDATE runs SET lease_until = 1 WHERE status = 'running'",
    ] {
        assert!(client.execute(sql, &[]).await.expect("updates") > 0, "{sql}");
    }
}

/// Invariant 3 where a server loses the lease of a run: the other server runs it again before those
/// that came later, and what the first does then is fenced.
#[tokio::test]
async fn what_a_server_that_stood_still_had_under_way_is_counted_once_and_in_order() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let gate = Gate::new().await;
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http', db: '$.service.db' },
      async run(e) { const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); if (e.body.gate) await fetch(e.body.gate); this.$emit({ n, i: e.body.i }); } };";
    let source = pair.a.source(code, json!({})).await;
    let (url, succeeded) =
        (endpoint(&source), format!("/sources/{}/runs?status=succeeded", id(&source)));
    assert_eq!(pair.post(&url, 0, &json!({ "i": 0, "gate": gate.url() })).await.status, 200);
    let first = gate.next().await;
    for i in 1..4 {
        assert_eq!(pair.post(&url, 1, &json!({ "i": i })).await.status, 200);
    }
    assert_eq!(
        pair.b.get(&succeeded).await.json["page_info"]["total_count"],
        0,
        "they wait for the one before them"
    );
    freeze(&pair).await;
    let_on(gate.next().await).await;
    pair.b.until("the other runs all", &succeeded, |l| l["page_info"]["total_count"] == 4).await;
    pair.a.thaw();
    let_on(first).await;
    // Where the second server had claimed the run, it is the one whose lease was ended.
    const FENCED: &str = "was not settled by this attempt";
    tokio::select! {
        () = pair.a.until_log(FENCED) => {}
        () = pair.b.until_log(FENCED) => {}
    }
    let emitted: Vec<(u64, u64)> = pair
        .b
        .emitted(&source)
        .await
        .iter()
        .map(|e| (e["i"].as_u64().expect("i"), e["n"].as_u64().expect("n")))
        .collect();
    assert_eq!(emitted, [(0, 1), (1, 2), (2, 3), (3, 4)]);
}

/// A hook is no run: a request that comes while it waits, to whichever server, sees what it has
/// written so far.
#[tokio::test]
async fn what_a_hook_has_written_is_seen_by_a_request_to_another_server_while_it_goes_on() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let gate = Gate::new().await;
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http', db: '$.service.db', gate: 'string' },
      hooks: { async activate() { const times = (this.db.get('times') || 0) + 1; this.db.set('times', times); if (times > 1) { this.db.set('secret', 's'); await fetch(this.gate); } } },
      run() { this.$emit({ secret: this.db.get('secret') ?? null }); } };";
    let source = pair.a.source(code, json!({ "gate": gate.url() })).await;
    let update = tokio::spawn(updated(&pair.a, id(&source)));
    let waits = gate.next().await;
    for n in 0..2 {
        assert_eq!(pair.post(&endpoint(&source), n, &json!({})).await.status, 200);
    }
    let succeeded = format!("/sources/{}/runs?status=succeeded", id(&source));
    pair.b.until("both ran", &succeeded, |l| l["page_info"]["total_count"] == 2).await;
    assert_eq!(pair.b.emitted(&source).await, [json!({ "secret": "s" }), json!({ "secret": "s" })]);
    let_on(waits).await;
    assert_eq!(update.await.expect("ends").expect("an answer").status(), 200);
}

fn updated(
    server: &Client,
    source: &str,
) -> impl Future<Output = reqwest::Result<reqwest::Response>> + use<> {
    let request =
        server.raw(Method::PUT, &format!("/v1/sources/{source}")).bearer_auth(&server.api_key);
    request.json(&json!({ "name": "another" })).send()
}
