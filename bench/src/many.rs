//! Many events at once, and many sources that do nothing: what accepting alone gives, what one run
//! that emits much gives, and what a server with ten thousand sources costs.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use millrace_model::ids::{IdSource, OrgId, SourceId, TimerId};
use millrace_model::page::Page;
use millrace_model::run_filter::RunFilter;
use millrace_model::source::{Owner, Source, Timer};
use millrace_model::{Clock as _, SystemClock};
use millrace_store::{Interfaces, Store};
use millrace_store_sqlite::{SqliteOptions, SqliteStore};
use serde_json::json;

use crate::report::median;
use crate::server::Server;
use crate::{load, process};

const CONNECTIONS: usize = 64;
const LENGTH: Duration = Duration::from_secs(10);
/// Events that the source emits in one run, and how often it does.
const EMITTED: u64 = 1_000;
const REPEATS: usize = 5;
const ENDED_WITHIN: Duration = Duration::from_secs(60);
/// Sources, half of them with a timer.
const SOURCES: usize = 10_000;
/// Of a timer, seconds: some five ticks a second come of all of them.
const INTERVAL: i64 = 900;
/// How long the ticks are looked at.
const WATCHED: Duration = Duration::from_secs(60);

const TAKES: &str = "export default { name: 'takes', version: '1', props: { http: '$.interface.http' }, run() {} };";
const TICKS: &str = "export default { name: 'ticks', version: '1', props: { timer: { type: '$.interface.timer', default: { intervalSeconds: 900 } } }, run() {} };";
const EMITS: &str = "export default { name: 'emits', version: '1', run(event) { for (let n = 0; n < event.count; n++) this.$emit({ n }, { id: `${event.from}-${n}` }); } };";
/// One run at a time, twenty seconds each: the events wait.
const SLOW: &str = "export default defineComponent({ async run() { await new Promise((r) => setTimeout(r, 20_000)); } });";
const STEP: &str =
    "export default defineComponent({ async run({ steps }) { return steps.trigger.event.n; } });";

/// Prints all of it.
pub async fn measure(binary: &Path) -> Result<()> {
    println!("Machine: {}\n", crate::report::machine());
    println!("| measure | value |\n| --- | --- |");
    ingest(binary).await?;
    emits(binary).await?;
    idle(binary).await
}

fn line(name: &str, value: f64) {
    println!("| {name} | {value:.1} |");
}

async fn ingest(binary: &Path) -> Result<()> {
    let waiting = "1000000";
    let mut server = Server::start(binary, "ingest", &["--waiting-runs-max", waiting]).await?;
    let settings = json!({ "name": "queue", "concurrency": 1, "queue_max": false });
    let body = json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "step", "code": SLOW }], "settings": settings });
    let workflow = server.post("/workflows", &body).await?;
    let url = workflow["data"]["triggers"][0]["endpoint_url"].as_str().context("an endpoint")?;
    load::run(url, CONNECTIONS, Duration::from_secs(2)).await?;
    let cell = load::run(url, CONNECTIONS, LENGTH).await?;
    line("events accepted each second, 64 connections", cell.requests as f64 / cell.seconds);
    line("of them, p99, ms", cell.p99_ms);
    server.stop()
}

async fn emits(binary: &Path) -> Result<()> {
    let mut server = Server::start(binary, "emits", &["--requests-per-minute", "0"]).await?;
    let source = server.post("/sources", &json!({ "component_code": EMITS })).await?;
    let source = source["data"]["id"].as_str().context("an id")?.to_owned();
    let body = json!({ "triggers": [{ "type": "source", "id": source }], "steps": [{ "namespace": "step", "code": STEP }], "settings": { "name": "takes" } });
    server.post("/workflows", &body).await?;
    let mut each_second = Vec::new();
    for n in 0..REPEATS {
        let began = Instant::now();
        let event = json!({ "event": { "count": EMITTED, "from": n } });
        server.post(&format!("/sources/{source}/run"), &event).await?;
        loop {
            let unfinished = server.get("/runs?status=queued,running&limit=1").await?;
            let ended = server.get("/stats/runs?bucket_ms=86400000").await?;
            let succeeded = ended["data"]["total"]["succeeded"].as_u64().context("a number")?;
            if unfinished["page_info"]["total_count"] == 0
                && succeeded >= (EMITTED + 1) * (n as u64 + 1)
            {
                break;
            }
            ensure!(began.elapsed() < ENDED_WITHIN, "{succeeded} runs ended, and no more: {ended}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        each_second.push(EMITTED as f64 / began.elapsed().as_secs_f64());
    }
    line("workflow runs each second, of 1,000 events that one run emits", median(each_second));
    server.stop()
}

async fn idle(binary: &Path) -> Result<()> {
    let server = Server::start(binary, "idle", &[]).await?;
    let empty = process::rss_mib(server.pid())?;
    let me = server.get("/users/me").await?;
    let org: OrgId = me["data"]["orgs"][0]["id"].as_str().context("an organization")?.parse()?;
    let mut made = Vec::new();
    for code in [TAKES, TICKS] {
        let source = server.post("/sources", &json!({ "component_code": code })).await?;
        let id: SourceId = source["data"]["id"].as_str().context("an id")?.parse()?;
        made.push(id);
    }
    let folder = server.halt()?;
    let path = folder.join("millrace.db");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&SqliteOptions::at(path.clone()))?);
    let ids = IdSource::default();
    let mut due = HashMap::new();
    for n in 0..SOURCES {
        let id = &made[n % 2];
        let like = store.source(&org, id).await?.context("the source")?;
        let timers = store.interfaces(id.as_str()).await?.timers;
        let id = SourceId::generate(&ids);
        let next_at = SystemClock.now().plus_ms(n as i64 * INTERVAL * 1000 / SOURCES as i64);
        let owner = Owner::Source(id.clone());
        let timer = |timer: Timer| {
            due.insert(owner.as_str().to_owned(), next_at);
            Timer { id: TimerId::generate(&ids), owner: owner.clone(), next_at, ..timer }
        };
        let interfaces =
            Interfaces { timers: timers.into_iter().map(timer).collect(), ..Interfaces::default() };
        let slug = format!("{}-{n}", like.name_slug);
        store.create_source(Source { id: id.clone(), name_slug: slug, ..like }, interfaces).await?;
    }
    store.close().await;
    let began = Instant::now();
    let server = Server::start(binary, "idle", &[]).await?;
    // It waits a second for blank processes.
    line("10,000 sources, 5,000 of them with a timer: start to ready, ms", {
        began.elapsed().as_secs_f64() * 1000.0 - 1000.0
    });
    line("and its memory beyond an empty server's, MiB", process::rss_mib(server.pid())? - empty);
    let from = SystemClock.now();
    tokio::time::sleep(WATCHED).await;
    server.halt()?;
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&SqliteOptions::at(path))?);
    let filter = RunFilter { from: Some(from), ..RunFilter::default() };
    let page = Page { limit: 1_000, ..Page::default() };
    let runs = store.list_runs(&org, &filter, true, &page).await?.items;
    // The first tick of each: the interval is longer than all that is watched.
    let mut late: Vec<f64> = runs
        .iter()
        .filter_map(|listed| {
            let due = due.get(listed.run.owner.as_str()).filter(|due| **due >= from)?;
            Some(listed.run.created_at.since(*due) as f64)
        })
        .collect();
    late.sort_by(f64::total_cmp);
    line("ticks in 60 s", late.len() as f64);
    line("ticks: accepted after their instant, ms, median", median(late.clone()));
    let nearly_all = late.get(late.len() * 99 / 100).copied().unwrap_or_default();
    line("99 of 100 ticks within, ms", nearly_all);
    line("the latest tick, ms", late.last().copied().unwrap_or_default());
    store.close().await;
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
