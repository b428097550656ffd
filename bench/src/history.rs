//! Cost of a long history: two servers alternate, one with a short history, one with as many runs
//! and events as `--rows` says. In the first table both have as many rows as an answer shows and
//! counts, so that only the length differs. Writes `bench/HISTORY.md`, on Postgres
//! `bench/HISTORY-POSTGRES.md`.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::cluster::{self, Database};
use crate::filled::{self, CUSTOMER, FAILED};
use crate::load;
use crate::server::Server;

/// Rows of the short history: of the runs that failed, with their errors and log lines, as many as
/// lists count (1,000).
const SHORT: u64 = 20_000;
/// Requests of a measure, and how often the servers take turns.
const ASKED: usize = 15;
const TURNS: usize = 7;
const CONNECTIONS: usize = 32;
const CELL: Duration = Duration::from_secs(6);
const DAY_MS: i64 = 24 * 3600 * 1000;
/// Of so many runs of the long history one was cancelled; of the short one as many in all, at least
/// a page and at most what lists count.
const CANCELLED: u64 = 50_000;
const CANCELLED_MIN: u64 = 10;
const CANCELLED_MAX: u64 = 1_000;

const STEP: &str = "export default defineComponent({ async run({ steps, $ }) { await $.respond({ status: 200, body: { n: steps.trigger.event.body.n + 1 } }); } });";
const SOURCE: &str = "export default { name: 'long', version: '1', run() {} };";

/// A server with a history.
struct Aged {
    server: Server,
    workflow: String,
    source: String,
    endpoint: String,
    /// The current time as it was filled, epoch milliseconds.
    now: i64,
    /// Of Postgres; dropped with it.
    _database: Option<Database>,
}

/// What is asked for, and its address under `/v1`.
type Measure = (&'static str, Box<dyn Fn(&Aged) -> String>);

pub async fn compare(binary: &Path, rows: u64, on_postgres: bool) -> Result<()> {
    anyhow::ensure!(
        rows >= SHORT,
        "--rows is {rows}, allowed are {SHORT} and more: so many the short history has"
    );
    let cancelled = (rows / CANCELLED).clamp(CANCELLED_MIN, CANCELLED_MAX);
    let short = aged(binary, "short", SHORT, cancelled, on_postgres).await?;
    let began = Instant::now();
    let long = aged(binary, "long", rows, cancelled, on_postgres).await?;
    println!(
        "{rows} runs and {rows} events were written and indexed in {:.0} s",
        began.elapsed().as_secs_f64()
    );
    let (store, switch, file) = if on_postgres {
        ("Postgres", " --postgres", "bench/HISTORY-POSTGRES.md")
    } else {
        ("SQLite", "", "bench/HISTORY.md")
    };
    let buffers = std::env::var("MILLRACE_TEST_SHARED_BUFFERS").unwrap_or_else(|_| "32MB".into());
    let mut text = format!(
        "# A long history, on {store}\n\nOne run of `cargo xtask bench history --rows {rows}{switch}`: two servers by turns on the same machine, one with {SHORT} runs and events, one with \
         {rows} of each. One run in {FAILED} failed and left an event on `$errors`, a log line and its part in a group, {cancelled} on either side were cancelled: of everything that is asked \
         for in the first table, both have as many as are shown and counted.{} Medians of {TURNS} turns; a ratio over 1 is slower with the long history.\n\n\
         | measure | short | long | ratio |\n| --- | --- | --- | --- |\n",
        if on_postgres {
            format!(
                " Postgres runs with `fsync` off and `shared_buffers={buffers}` (`MILLRACE_TEST_SHARED_BUFFERS`), on the same machine: compare its ingestion with nothing else."
            )
        } else {
            String::new()
        }
    );
    for (name, path) in of_the_same() {
        measure(&mut text, name, &path, [&short, &long]).await?;
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
    row(
        &mut text,
        &format!("ingestion, requests/s, {CONNECTIONS} connections"),
        median(of_short),
        median(of_long),
        true,
    );
    text.push_str("\nHere the long history has more of what is searched and counted: the milliseconds are what counts.\n\n| measure, ms | short | long | ratio |\n| --- | --- | --- | --- |\n");
    for (name, path) in of_more() {
        measure(&mut text, name, &path, [&short, &long]).await?;
    }
    for mut aged in [short, long] {
        aged.server.stop()?;
    }
    println!("{text}");
    std::fs::write(file, text)
        .with_context(|| format!("could not write {file}; run from the root of the checkout"))
}

/// What does not grow with the history.
fn of_the_same() -> Vec<Measure> {
    let w = |aged: &Aged, rest: &str| format!("/workflows/{}{rest}", aged.workflow);
    let s = |aged: &Aged, rest: &str| format!("/sources/{}{rest}", aged.source);
    vec![
        ("runs, ms", Box::new(move |a| w(a, "/runs"))),
        ("runs, a page of 100, ms", Box::new(move |a| w(a, "/runs?limit=100"))),
        ("runs that failed, ms", Box::new(move |a| w(a, "/runs?status=failed"))),
        (
            "runs that were cancelled, a rare kind, ms",
            Box::new(move |a| w(a, "/runs?status=cancelled")),
        ),
        ("runs that succeeded, ms", Box::new(move |a| w(a, "/runs?status=succeeded"))),
        ("runs that wait, none, ms", Box::new(move |a| w(a, "/runs?status=queued"))),
        ("runs of the organization, ms", Box::new(|_| "/runs".into())),
        ("runs of the organization that failed, ms", Box::new(|_| "/runs?status=failed".into())),
        ("groups of errors, ms", Box::new(|_| "/error_groups".into())),
        ("error summaries, ms", Box::new(move |a| w(a, "/$errors/event_summaries?expand=event"))),
        ("event summaries of a source, ms", Box::new(move |a| s(a, "/event_summaries"))),
        (
            "event summaries of a channel that has none, ms",
            Box::new(move |a| s(a, "/event_summaries?event_name=none")),
        ),
        (
            "event summaries of a workflow with errors only, ms",
            Box::new(move |a| w(a, "/event_summaries")),
        ),
        ("logs, ms", Box::new(move |a| w(a, "/logs"))),
        ("search: a word of one run, ms", Box::new(|_| "/runs?q=ord19000".into())),
    ]
}

/// What grows with it.
fn of_more() -> Vec<Measure> {
    vec![
        ("search: a word of each run", Box::new(|_| "/runs?q=flour".into())),
        (
            "search: a word of each run, those that failed",
            Box::new(|_| "/runs?q=flour&status=failed".into()),
        ),
        ("search: a word of one run in 1,000", Box::new(|_| format!("/runs?q={CUSTOMER}7"))),
        (
            "search: two words of each run and one of one in 1,000",
            Box::new(|_| format!("/runs?q=flour%20grain%20{CUSTOMER}7")),
        ),
        ("search: the beginning of a word, many words", Box::new(|_| "/runs?q=ord1*".into())),
        ("search: a word of no run", Box::new(|_| "/runs?q=windmills".into())),
        (
            "search: a word of each run, those of at least 98 ms",
            Box::new(|_| "/runs?q=flour&min_ms=98".into()),
        ),
        ("runs by bucket of a day, with percentiles", Box::new(|_| "/stats/runs".into())),
        (
            "runs by bucket of 20 days",
            Box::new(|a| format!("/stats/runs?from={}", a.now - 20 * DAY_MS)),
        ),
        ("workflows with their figures of a day", Box::new(|_| "/workflows?stats=24h".into())),
        ("workflows with their figures of 30 days", Box::new(|_| "/workflows?stats=30d".into())),
        (
            "versions with their runs",
            Box::new(|a| format!("/workflows/{}/deployments?runs=true", a.workflow)),
        ),
    ]
}

async fn measure(
    text: &mut String,
    name: &str,
    path: &dyn Fn(&Aged) -> String,
    [short, long]: [&Aged; 2],
) -> Result<()> {
    let (mut of_short, mut of_long) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        of_short.push(ask(short, &path(short)).await?);
        of_long.push(ask(long, &path(long)).await?);
    }
    row(text, name, median(of_short), median(of_long), false);
    Ok(())
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

/// A database of its own on Postgres; none where SQLite is asked for.
pub async fn database(on_postgres: bool) -> Result<Option<Database>> {
    if !on_postgres {
        return Ok(None);
    }
    let cluster =
        cluster::cluster().context("there are no Postgres binaries; install postgresql")?;
    Ok(Some(cluster.database().await))
}

async fn aged(
    binary: &Path,
    name: &str,
    rows: u64,
    cancelled: u64,
    on_postgres: bool,
) -> Result<Aged> {
    let database = database(on_postgres).await?;
    let url = database.as_ref().map(Database::url);
    let mut flags = vec!["--requests-per-minute", "0"];
    if let Some(url) = &url {
        flags.extend(["--database-url", url]);
    }
    let server = Server::start(binary, name, &flags).await?;
    let body = json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "step", "code": STEP }], "settings": { "name": "bench" } });
    let workflow = server.post("/workflows", &body).await?["data"].clone();
    let source =
        server.post("/sources", &json!({ "component_code": SOURCE })).await?["data"].clone();
    let folder = server.halt()?;
    let now = filled::fill(
        &folder,
        url.as_deref(),
        filled::Owners::of(&workflow, &source)?,
        rows,
        cancelled,
    )
    .await?;
    // At an address of its own again.
    let server = Server::start(binary, name, &flags).await?;
    let text = |value: &Value| value.as_str().map(str::to_owned).context("a text");
    let id = text(&workflow["id"])?;
    let again = server.timed_get(&format!("/workflows/{id}")).await?.1["data"].clone();
    Ok(Aged {
        endpoint: text(&again["triggers"][0]["endpoint_url"])?,
        workflow: id,
        source: text(&source["id"])?,
        server,
        now,
        _database: database,
    })
}
