//! A clock that jumps, in both directions: nothing fires twice, nothing waits for ever, and no run
//! that goes on is taken for lost.

use millrace_tests::cluster::cluster;
use millrace_tests::{Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

const HOUR: i64 = 3_600_000;
const TICKS: &str = "export default { name: 'tick', version: '1', props: { timer: { type: '$.interface.timer', default: { intervalSeconds: 2 } } }, run() {} };";
/// Runs of it take longer than the jumps between.
const SLOW: &str = "export default { name: 'slow', version: '1', props: { http: '$.interface.http' }, async run(e) { await new Promise((done) => setTimeout(done, 4000)); this.$emit({ n: e.body.n }); } };";

/// Runs of it go on until the gate is opened.
const WAITS: &str = "export default { name: 'waits', version: '1', props: { http: '$.interface.http', gate: { type: 'data_store' } },
  async run(e) { while (!(await this.gate.has('open'))) await new Promise((done) => setTimeout(done, 50)); this.$emit({ n: e.body.n }); } };";
const EMITS: &str = "export default { name: 'emits', version: '1', props: { http: '$.interface.http' }, run(e) { this.$emit({ n: e.body.n }); } };";
const LISTENS: &str =
    "export default defineComponent({ run({ steps }) { return steps.trigger.event.n; } });";

/// A server whose clock goes, and is moved.
struct Held {
    server: Server,
}

impl Held {
    async fn start(args: &[&str]) -> Self {
        let mut server = Server::new_at_rest(&[args, &["--egress-allow", "127.0.0.0/8"]].concat());
        server.skew_clock(0);
        server.launch().await;
        Self { server }
    }

    /// Another server of the same database, with a clock of its own.
    async fn beside(&self, args: &[&str]) -> Self {
        let mut server = self.server.beside(args);
        server.skew_clock(0);
        server.launch().await;
        Self { server }
    }

    /// The clock is so much off from now on.
    fn jump(&mut self, ms: i64) {
        self.server.skew_clock(ms);
    }

    /// A run that pauses for so long; where the runs of its workflow are.
    async fn pause(&self, ms: u64) -> String {
        let step = format!(
            "export default defineComponent({{ run({{ $ }}) {{ $.flow.delay({ms}); return 1; }} }});"
        );
        let workflow =
            self.server.workflow("pauses", json!([{ "type": "http" }]), &[("a", &step)]).await;
        let path = format!("/workflows/{}/runs", workflow["id"].as_str().expect("an id"));
        assert_eq!(
            answer(self.server.raw(Method::POST, &endpoint(&workflow)).json(&json!({})))
                .await
                .status,
            200
        );
        self.server
            .until("the pause", &format!("{path}?status=paused"), |l| {
                l["page_info"]["total_count"] == 1
            })
            .await;
        path
    }

    async fn count(&self, path: &str) -> u64 {
        self.server.get(path).await.json["page_info"]["total_count"].as_u64().expect("a count")
    }
}

fn runs(record: &Value) -> String {
    format!("/sources/{}/runs?status=succeeded", record["id"].as_str().expect("an id"))
}

#[tokio::test]
async fn intervals_go_on_and_make_up_for_nothing() {
    go_on_ticking(&mut Held::start(&[]).await).await;
}

#[tokio::test]
async fn intervals_go_on_and_make_up_for_nothing_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    go_on_ticking(&mut Held::start(&["--database-url", &database.url()]).await).await;
}

async fn go_on_ticking(held: &mut Held) {
    let path = runs(&held.server.source(TICKS, json!({})).await);
    held.server.until("a first tick", &path, |l| l["page_info"]["total_count"] == 1).await;
    for jump in [HOUR, -HOUR, 0, -48 * HOUR] {
        let before = held.count(&path).await;
        held.jump(jump);
        // 1,800 were missed by the first jump; one for each moment is enough.
        held.server
            .until("the next ticks", &path, |l| {
                l["page_info"]["total_count"].as_u64().is_some_and(|n| n >= before + 2)
            })
            .await;
        assert!(held.count(&path).await <= before + 6, "ticks were made up for after {jump}");
    }
}

#[tokio::test]
async fn an_interval_goes_on_where_the_clock_was_put_right_while_the_server_was_down() {
    let mut held = Held::start(&[]).await;
    held.jump(10 * 365 * 24 * HOUR);
    let path = runs(&held.server.source(TICKS, json!({})).await);
    held.server.until("a first tick", &path, |l| l["page_info"]["total_count"] == 1).await;
    held.server.kill();
    held.jump(0);
    held.server.launch().await;
    held.server
        .until("a tick in the right year", &path, |l| {
            l["page_info"]["total_count"].as_u64().is_some_and(|n| n >= 2)
        })
        .await;
}

#[tokio::test]
async fn a_pause_is_not_prolonged_by_a_clock_that_goes_back() {
    end_their_pauses(&mut Held::start(&[]).await).await;
}

#[tokio::test]
async fn a_pause_is_not_prolonged_by_a_clock_that_goes_back_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    end_their_pauses(&mut Held::start(&["--database-url", &database.url()]).await).await;
}

/// The one that was killed counts as another server for a while: the clock that goes back meanwhile
/// is followed once it is known that nobody else is there.
#[tokio::test]
async fn a_pause_is_not_prolonged_by_a_clock_that_goes_back_after_a_kill() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let mut held = Held::start(&["--database-url", &database.url()]).await;
    let path = held.pause(20_000).await;
    held.server.kill();
    held.server.launch().await;
    held.jump(-HOUR);
    held.server.until_log("the clock went back").await;
    held.server
        .until("its end", &format!("{path}?status=succeeded"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
}

/// Each step counts, also where the clock goes back again before it is known that nobody else is
/// there.
#[tokio::test]
async fn a_pause_is_not_prolonged_by_a_clock_that_goes_back_twice_after_a_kill() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let mut held = Held::start(&["--database-url", &database.url()]).await;
    // Its ticks make the server look at the clock: both steps are seen before it is known.
    let ticks = held.server.source(TICKS, json!({})).await;
    held.server.until("a first tick", &runs(&ticks), |l| l["page_info"]["total_count"] == 1).await;
    let path = held.pause(25_000).await;
    held.server.kill();
    held.server.launch().await;
    held.jump(-HOUR);
    held.server.until_log("the clock went back").await;
    held.jump(-3 * HOUR);
    held.server
        .until("its end", &format!("{path}?status=succeeded"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
}

/// Where others share the database, whose clock may be right, the pauses stay as they are: they end
/// by the clocks of those.
#[tokio::test]
async fn a_clock_that_goes_back_beside_another_ends_no_pause_before_its_time() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let first = Held::start(&["--database-url", &database.url()]).await;
    let mut second = first.beside(&["--database-url", &database.url()]).await;
    let path = first.pause(7_200_000).await;
    // A timer shows that the second has seen its clock go back.
    let ticks = runs(&first.server.source(TICKS, json!({})).await);
    second.jump(-3 * HOUR);
    second.server.until_log("the clock went back").await;
    let before = first.count(&ticks).await;
    first
        .server
        .until("more ticks", &ticks, |l| {
            l["page_info"]["total_count"].as_u64().is_some_and(|n| n >= before + 2)
        })
        .await;
    assert_eq!(first.count(&format!("{path}?status=paused")).await, 1, "it ended before its time");
}

async fn end_their_pauses(held: &mut Held) {
    let step = "export default defineComponent({ run({ $ }) { $.flow.delay(3000); return 1; } });";
    let workflow = held
        .server
        .workflow(
            "pauses",
            json!([{ "type": "http" }]),
            &[("a", step), ("b", "export default defineComponent({ run() { return 2; } });")],
        )
        .await;
    // A pause of either kind ends by itself: one goes on, the other is cancelled.
    let asks =
        "export default defineComponent({ run({ $ }) { $.flow.suspend(3000); return 1; } });";
    let suspended =
        held.server.workflow("waits", json!([{ "type": "http" }]), &[("a", asks)]).await;
    let [path, waits] = [&workflow, &suspended]
        .map(|w| format!("/workflows/{}/runs", w["id"].as_str().expect("an id")));
    for (workflow, path) in [(&workflow, &path), (&suspended, &waits)] {
        assert_eq!(
            answer(held.server.raw(Method::POST, &endpoint(workflow)).json(&json!({})))
                .await
                .status,
            200
        );
        held.server
            .until("the pause", &format!("{path}?status=paused"), |l| {
                l["page_info"]["total_count"] == 1
            })
            .await;
    }
    held.jump(-24 * HOUR);
    let done = held
        .server
        .until("its end", &format!("{path}?status=succeeded"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    assert_eq!(done["data"][0]["steps"].as_array().map(Vec::len), Some(2));
    held.server
        .until("it is cancelled", &format!("{waits}?status=cancelled"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    assert_eq!((held.count(&path).await, held.count(&waits).await), (1, 1));
}

/// Leases are times of the clock: one that jumps makes all of them look ended.
#[tokio::test]
async fn runs_that_go_on_are_not_taken_for_lost() {
    let mut held = Held::start(&[]).await;
    go_on(&mut held).await;
}

#[tokio::test]
async fn runs_that_go_on_are_not_taken_for_lost_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let mut held = Held::start(&["--database-url", &database.url()]).await;
    go_on(&mut held).await;
}

async fn go_on(held: &mut Held) {
    held.server.post("/data_stores", &json!({ "name": "gate" })).await.data();
    let source = held.server.source(WAITS, json!({ "gate": "gate" })).await;
    let looks = held.server.source(EMITS, json!({})).await;
    let listener = held
        .server
        .workflow("listener", json!([{ "type": "source", "id": looks["id"] }]), &[("a", LISTENS)])
        .await;
    for n in 0..8 {
        assert_eq!(
            answer(held.server.raw(Method::POST, &endpoint(&source)).json(&json!({ "n": n })))
                .await
                .status,
            200
        );
    }
    let running = format!("/sources/{}/runs?status=running", source["id"].as_str().expect("an id"));
    held.server.until("all are under way", &running, |l| l["page_info"]["total_count"] == 8).await;
    let listened =
        format!("/workflows/{}/runs?status=succeeded", listener["id"].as_str().expect("an id"));
    for (n, jump) in [HOUR, 2 * HOUR, -HOUR, 0].into_iter().enumerate() {
        held.jump(jump);
        // A listener's run is taken from the queue: whoever took it has looked there since, and
        // would have taken those whose leases look ended.
        assert_eq!(
            answer(held.server.raw(Method::POST, &endpoint(&looks)).json(&json!({ "n": n })))
                .await
                .status,
            200
        );
        held.server
            .until("the queue is looked at", &listened, |l| l["page_info"]["total_count"] == n + 1)
            .await;
    }
    held.server.put("/data_stores/gate/record", &json!({ "key": "open", "value": 1 })).await.data();
    let done = held
        .server
        .until("all settle", &runs(&source), |l| l["page_info"]["total_count"] == 8)
        .await;
    assert!(done["data"].as_array().expect("runs").iter().all(|run| run["attempt"] == 1), "{done}");
    assert_eq!(
        held.count(&format!("/sources/{}/event_summaries", source["id"].as_str().expect("an id")))
            .await,
        8
    );
}

/// Another server takes a run whose lease ended, while the first goes on with it: one of them
/// settles it, once.
#[tokio::test]
async fn a_run_whose_lease_ends_while_it_goes_on_settles_once() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let first = Held::start(&["--database-url", &database.url()]).await;
    let mut second = first.beside(&["--database-url", &database.url()]).await;
    let source = first.server.source(SLOW, json!({})).await;
    for n in 0..5 {
        assert_eq!(
            answer(first.server.raw(Method::POST, &endpoint(&source)).json(&json!({ "n": n })))
                .await
                .status,
            200
        );
    }
    // To the second, all leases of the first have ended.
    second.jump(HOUR);
    let done = first
        .server
        .until("all settle", &runs(&source), |l| l["page_info"]["total_count"] == 5)
        .await;
    assert!(
        done["data"]
            .as_array()
            .expect("runs")
            .iter()
            .all(|run| run["attempt"].as_u64().is_some_and(|n| n >= 2)),
        "{done}"
    );
    // What is settled twice would have left its event twice.
    first
        .server
        .until(
            "nobody is at it any more",
            &format!("/sources/{}/runs?status=running", source["id"].as_str().expect("an id")),
            |l| l["page_info"]["total_count"] == 0,
        )
        .await;
    assert_eq!(
        first
            .count(&format!("/sources/{}/event_summaries", source["id"].as_str().expect("an id")))
            .await,
        5
    );
}

/// Leases of a clock that was wrong end long after their server: they hold for as long as that is
/// there, and no longer.
#[tokio::test]
async fn a_run_of_a_dead_server_whose_clock_was_ahead_is_taken_up() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let url = database.url();
    let mut ahead = Held::start(&["--database-url", &url]).await;
    ahead.server.post("/data_stores", &json!({ "name": "gate" })).await.data();
    let source = ahead.server.source(WAITS, json!({ "gate": "gate" })).await;
    let looks = ahead.server.source(EMITS, json!({})).await;
    let listener = ahead
        .server
        .workflow("listener", json!([{ "type": "source", "id": looks["id"] }]), &[("a", LISTENS)])
        .await;
    ahead.jump(5 * HOUR);
    assert_eq!(
        answer(ahead.server.raw(Method::POST, &endpoint(&source)).json(&json!({ "n": 1 })))
            .await
            .status,
        200
    );
    let running = format!("/sources/{}/runs?status=running", source["id"].as_str().expect("an id"));
    ahead.server.until("it is under way", &running, |l| l["page_info"]["total_count"] == 1).await;

    // To one whose clock is right it is the other's, whose lease is no shorter than it says.
    let right = ahead.beside(&["--database-url", &url]).await;
    let listened =
        format!("/workflows/{}/runs?status=succeeded", listener["id"].as_str().expect("an id"));
    let at_right = endpoint(&looks).replace(&ahead.server.url, &right.server.url);
    for n in 1..=2 {
        assert_eq!(
            answer(right.server.raw(Method::POST, &at_right).json(&json!({ "n": n }))).await.status,
            200
        );
        right
            .server
            .until("the queue is looked at", &listened, |l| l["page_info"]["total_count"] == n)
            .await;
    }
    let held = right.server.get(&running).await.json;
    assert_eq!(held["data"][0]["attempt"], 1, "{held}");

    // Its word that it is there is believed for ten seconds; the test does not wait for their end.
    let node: String = database
        .client()
        .await
        .query_one("SELECT node FROM runs WHERE status = 'running'", &[])
        .await
        .expect("the run")
        .get(0);
    ahead.server.kill();
    database
        .client()
        .await
        .execute("DELETE FROM nodes WHERE id = $1", &[&node])
        .await
        .expect("forgets it");
    right
        .server
        .put("/data_stores/gate/record", &json!({ "key": "open", "value": 1 }))
        .await
        .data();
    let done = right
        .server
        .until("it settles", &runs(&source), |l| l["page_info"]["total_count"] == 1)
        .await;
    assert_eq!(done["data"][0]["attempt"], 2, "{done}");
}
