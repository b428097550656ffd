//! What a long history costs: two servers by turns, one with a short history, one with as many runs and events as were asked for. Of everything
//! that is asked for both have as many as are shown and counted, so that the length alone tells them apart. Writes `bench/HISTORY.md`.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::load;
use crate::server::Server;

/// Rows of the short history: of the runs that failed, with their errors and log lines, as many as lists count (1,000).
const SHORT: u64 = 20_000;
/// Requests of a measure, and how often the servers take turns.
const ASKED: usize = 40;
const TURNS: usize = 7;
const CONNECTIONS: usize = 32;
const CELL: Duration = Duration::from_secs(6);
/// Rows of a transaction.
const CHUNK: u64 = 100_000;
/// Every so many runs one failed.
const FAILED: u64 = 20;
/// Of so many runs of the long history one was cancelled; of the short one as many in all, at least a page and at most what lists count.
const CANCELLED: u64 = 50_000;
const CANCELLED_MIN: u64 = 10;
const CANCELLED_MAX: u64 = 1_000;
/// The history began so long ago, within what is kept.
const AGE_MS: i64 = 20 * 24 * 3600 * 1000;

const STEP: &str =
    "export default defineComponent({ async run({ steps, $ }) { await $.respond({ status: 200, body: { n: steps.trigger.event.body.n + 1 } }); } });";
const SOURCE: &str = "export default { name: 'long', version: '1', run() {} };";

/// A server with a history.
struct Aged {
    server: Server,
    workflow: String,
    source: String,
    endpoint: String,
    database_mib: u64,
}

pub async fn compare(binary: &Path, rows: u64) -> Result<()> {
    anyhow::ensure!(rows >= SHORT, "--rows is {rows}, allowed are {SHORT} and more: so many the short history has");
    let cancelled = (rows / CANCELLED).clamp(CANCELLED_MIN, CANCELLED_MAX);
    let short = aged(binary, "short", SHORT, cancelled).await?;
    let began = Instant::now();
    let long = aged(binary, "long", rows, cancelled).await?;
    println!("{rows} runs and {rows} events were written in {:.0} s, {} MiB", began.elapsed().as_secs_f64(), long.database_mib);
    let mut text = format!(
        "# A long history\n\nOne run of `cargo xtask bench history --rows {rows}`: two servers by turns on the same machine, one with {SHORT} runs and events, one with {rows} of each \
         ({} MiB). One run in {FAILED} failed and left an event on `$errors` and a log line, {cancelled} on either side were cancelled: \
         of everything that is asked for, both have as many as are shown and counted. Medians of {TURNS} turns; a ratio over 1 is slower with the long history.\n\n\
         | measure | short | long | ratio |\n| --- | --- | --- | --- |\n",
        long.database_mib
    );
    let w = |aged: &Aged, rest: &str| format!("/workflows/{}{rest}", aged.workflow);
    let s = |aged: &Aged, rest: &str| format!("/sources/{}{rest}", aged.source);
    type Path = Box<dyn Fn(&Aged) -> String>;
    let asked: Vec<(&str, Path)> = vec![
        ("runs, ms", Box::new(move |a| w(a, "/runs"))),
        ("runs, a page of 100, ms", Box::new(move |a| w(a, "/runs?limit=100"))),
        ("runs that failed, ms", Box::new(move |a| w(a, "/runs?status=failed"))),
        ("runs that were cancelled, a rare kind, ms", Box::new(move |a| w(a, "/runs?status=cancelled"))),
        ("runs that succeeded, ms", Box::new(move |a| w(a, "/runs?status=succeeded"))),
        ("runs that wait, none, ms", Box::new(move |a| w(a, "/runs?status=queued"))),
        ("error summaries, ms", Box::new(move |a| w(a, "/$errors/event_summaries?expand=event"))),
        ("event summaries of a source, ms", Box::new(move |a| s(a, "/event_summaries"))),
        ("event summaries of a channel that has none, ms", Box::new(move |a| s(a, "/event_summaries?event_name=none"))),
        ("event summaries of a workflow with errors only, ms", Box::new(move |a| w(a, "/event_summaries"))),
        ("logs, ms", Box::new(move |a| w(a, "/logs"))),
    ];
    for (name, path) in asked {
        let (mut of_short, mut of_long) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            of_short.push(ask(&short, &path(&short)).await?);
            of_long.push(ask(&long, &path(&long)).await?);
        }
        row(&mut text, name, median(of_short), median(of_long), false);
    }
    let (mut of_short, mut of_long) = (Vec::new(), Vec::new());
    for aged in [&short, &long] {
        load::run(&aged.endpoint, CONNECTIONS, Duration::from_secs(3)).await?;
    }
    for _ in 0..TURNS {
        for (aged, rates) in [(&short, &mut of_short), (&long, &mut of_long)] {
            let cell = load::run(&aged.endpoint, CONNECTIONS, CELL).await?;
            rates.push(cell.requests as f64 / cell.seconds);
        }
    }
    row(&mut text, &format!("ingestion, requests/s, {CONNECTIONS} connections"), median(of_short), median(of_long), true);
    for mut aged in [short, long] {
        aged.server.stop()?;
    }
    println!("{text}");
    std::fs::write("bench/HISTORY.md", text).context("could not write bench/HISTORY.md; run from the root of the checkout")
}

fn row(text: &mut String, name: &str, short: f64, long: f64, more_is_better: bool) {
    let ratio = if more_is_better { short / long } else { long / short };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "| {name} | {short:.2} | {long:.2} | {ratio:.3} |");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The median of some requests, in milliseconds.
async fn ask(aged: &Aged, path: &str) -> Result<f64> {
    let mut took = Vec::new();
    for _ in 0..ASKED {
        took.push(aged.server.timed_get(path).await?.0);
    }
    Ok(median(took))
}

async fn aged(binary: &Path, name: &str, rows: u64, cancelled: u64) -> Result<Aged> {
    let flags = ["--requests-per-minute", "0"];
    let server = Server::start(binary, name, &flags).await?;
    let body = json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "step", "code": STEP }], "settings": { "name": "bench" } });
    let workflow = server.post("/workflows", &body).await?["data"].clone();
    let source = server.post("/sources", &json!({ "component_code": SOURCE })).await?["data"].clone();
    let dir = server.halt()?;
    write(&dir.join("millrace.db"), rows, cancelled, &workflow, &source)?;
    let database_mib = std::fs::metadata(dir.join("millrace.db"))?.len() >> 20;
    // At an address of its own again.
    let server = Server::start(binary, name, &flags).await?;
    let text = |value: &Value| value.as_str().map(str::to_owned).context("a text");
    let id = text(&workflow["id"])?;
    let again = server.timed_get(&format!("/workflows/{id}")).await?.1["data"].clone();
    Ok(Aged { endpoint: text(&again["triggers"][0]["endpoint_url"])?, workflow: id, source: text(&source["id"])?, server, database_mib })
}

/// As the server would have written them, but all at once. `cancelled`: how many runs were, evenly among the others.
fn write(path: &Path, rows: u64, cancelled: u64, workflow: &Value, source: &Value) -> Result<()> {
    // None of them is one that failed.
    let cancelled_every = (rows / cancelled / FAILED).max(1) * FAILED;
    let text = |value: &Value| value.as_str().map(str::to_owned).context("a text");
    let (org, owner, deployment, emitter) = (text(&workflow["org_id"])?, text(&workflow["id"])?, text(&workflow["deployment_id"])?, text(&source["id"])?);
    let connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000")?;
    let now: i64 = connection.query_row("SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)", [], |row| row.get(0))?;
    let context = json!({
        "id": "3MQ2j3YBe7g2oVsbRyixASgr5xJ", "trace_id": "3MQ2j3YBe7g2oVsbRyixASgr5xJ", "ts": "2026-11-21T13:43:22.411Z", "workflow_id": owner, "workflow_name": "bench",
        "deployment_id": deployment, "emitter_id": "hi_2UxSXebwcfQW", "source_type": "HTTP", "verified": false, "hops": null, "test": false, "replay": false,
        "owner_id": org, "project_id": null, "platform_version": "0.1.0",
    })
    .to_string();
    let failure = json!({ "code": "TypeError", "message": "asked to", "cellId": "c_U2YOcz1pdJ0R", "ts": "2026-11-21T13:43:22.656Z", "stack": "TypeError: asked to\n    at run" }).to_string();
    let result = r#"{"steps":[{"namespace":"step","status":"succeeded","duration_ms":1,"exports":{"$return_value":2}}],"duration_ms":2}"#;
    for start in (0..rows).step_by(usize::try_from(CHUNK)?) {
        connection.execute_batch("BEGIN")?;
        {
            let mut run = connection.prepare_cached(
                "INSERT INTO runs (id, org_id, owner_id, deployment_id, kind, trigger_id, event, context, status, attempt, created_at, started_at, finished_at, result, error)
                 VALUES (?1, ?2, ?3, ?4, 'live', 'hi_2UxSXebwcfQW', ?5, ?6, ?7, 1, ?8, ?8, ?8 + 2, ?9, ?10)",
            )?;
            let mut event = connection
                .prepare_cached("INSERT INTO events (emitter_id, ordinal, org_id, name, emit_id, payload, metadata) VALUES (?1, ?2, ?3, ?4, '3MQ2j4XrsV3F6JvsCUnGQBLGSzZ', ?5, ?6)")?;
            let mut log = connection.prepare_cached(
                "INSERT INTO logs (run_id, line, owner_id, org_id, at, level, text) VALUES (?1, 0, ?2, ?3, ?4, 'error', 'TypeError: asked to')",
            )?;
            for n in start..rows.min(start + CHUNK) {
                let at = now - AGE_MS + i64::try_from(u128::from(n) * u128::from(AGE_MS.unsigned_abs()) / u128::from(rows))?;
                // In the order of time, as those of the server.
                let id = format!("run_3MP{n:024}");
                let body = format!(r#"{{"method":"POST","path":"/","query":{{}},"headers":{{"content-type":"application/json"}},"body":{{"n":{n}}}}}"#);
                let failed = n % FAILED == 0;
                let status = if failed {
                    "failed"
                } else if n % cancelled_every == 1 && n / cancelled_every < cancelled {
                    "cancelled"
                } else {
                    "succeeded"
                };
                run.execute(params![id, org, owner, deployment, body, context, status, at, result, failed.then_some(&failure)])?;
                let ordinal = (at << 20) | i64::try_from(n & 0xF_FFFF)?;
                if failed {
                    let payload = format!(r#"{{"original_event":{body},"original_context":{context},"error":{failure}}}"#);
                    event.execute(params![owner, ordinal, org, "$errors", payload, "{}"])?;
                    log.execute(params![id, owner, org, at])?;
                } else {
                    event.execute(params![emitter, ordinal, org, "", body, r#"{"id":"a","summary":"an order"}"#])?;
                }
            }
        }
        connection.execute_batch("COMMIT")?;
    }
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(())
}
