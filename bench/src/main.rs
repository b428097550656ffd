//! The benchmark: webhook → one code step → response, every run durable. One run measures
//! everything and writes `bench/RESULTS.md`. `cargo xtask bench` builds a release and starts it.
#![expect(clippy::print_stdout, reason = "a program whose purpose is its report")]

/// The tests of the Postgres store start theirs in the same way.
#[path = "../../crates/store-postgres/tests/it/cluster.rs"]
mod cluster;
mod cold;
mod errors;
mod filled;
mod history;
mod load;
mod many;
mod peers;
mod process;
mod report;
mod server;
mod sides;

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use crate::load::Cell;
use crate::report::Report;
use crate::server::Server;

/// Warm-up and length of a cell.
const WARM: Duration = Duration::from_secs(3);
const CELL: Duration = Duration::from_secs(10);
/// Errors of the load of errors (`cargo xtask bench errors`), where no other number is given.
const ERRORS: u64 = 100_000;
/// How often cold start, deploy and redeploy are measured; the median is shown.
const REPEATS: usize = 7;

const STEP: &str = "export default defineComponent({ async run({ steps, $ }) { await $.respond({ status: 200, body: { n: steps.trigger.event.body.n + 1 } }); } });";
/// Awaits 100 ms: what counts is how many isolates serve it at the same time.
const WAITING_STEP: &str = "export default defineComponent({ async run({ $ }) { await new Promise((r) => setTimeout(r, 100)); await $.respond({ status: 200, body: { n: 2 } }); } });";
const SOURCE: &str = "export default { name: 'cold', version: '1', props: { http: { type: '$.interface.http', customResponse: true } }, run() { this.http.respond({ status: 200, body: 'x' }); } };";

#[tokio::main]
async fn main() -> Result<()> {
    let binary = std::env::current_exe()?.with_file_name("millrace");
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {}
        ["errors"] => return errors::run(ERRORS).await,
        ["errors", count] => {
            return errors::run(count.parse().context("how many errors: a number")?).await;
        }
        ["history", args @ ..] => return long_history(&binary, args).await,
        ["waiting"] => {
            let (server, mut report) =
                (Server::start(&binary, "waiting", &[]).await?, Report::default());
            waiting(&server, &mut report).await?;
            println!("{}", report.text());
            return Ok(());
        }
        ["many"] => return many::measure(&binary).await,
        ["--peers"] => return peers::compare(&binary).await,
        ["cold", "against", other] => {
            return cold::builds(&binary, std::path::Path::new(other)).await;
        }
        ["against", other] => return sides::builds(&binary, std::path::Path::new(other)).await,
        other => {
            bail!(
                "`{}` is not a benchmark; these are: nothing, `errors [COUNT]`, `history [--rows COUNT] [--postgres]`, `waiting`, `many`, `--peers`, `against BINARY`, or `cold against BINARY`",
                other.join(" ")
            )
        }
    }
    let mut server = Server::start(&binary, "main", &[]).await?;
    let mut report = Report::default();
    report.line("server RSS, idle, MiB", process::rss_mib(server.pid())?);

    let url = workflow(&server).await?;
    load::check(&url).await?;
    for connections in [1, 8, 32] {
        load::run(&url, connections, WARM).await?;
        let before = process::cpu_seconds(server.pid())?;
        let cell = load::run(&url, connections, CELL).await?;
        let cpu = process::cpu_seconds(server.pid())? - before;
        report.cell(&Cell { cpu_seconds: cpu, ..cell });
    }
    report.line("server RSS, under load, MiB", process::rss_mib(server.pid())?);
    report.line("all processes RSS, under load, MiB", process::tree_rss_mib(server.pid())?);

    waiting(&server, &mut report).await?;

    let mut deploys = Vec::new();
    let mut colds = Vec::new();
    for n in 0..REPEATS {
        let code = format!("{SOURCE} // {n}");
        let (deploy, cold) = deploy_and_wake(&server, &code).await?;
        deploys.push(deploy);
        colds.push(cold);
    }
    report.median("deploy, no packages, ms", deploys);
    report.median("cold first event of a source, ms", colds);

    let with_packages = "import axios from 'axios@1'; export default { name: 'pkg', version: '1', run() { return typeof axios; } };";
    let first = server.post("/sources", &json!({ "component_code": with_packages })).await?;
    let id = first["data"]["id"].as_str().context("an id")?.to_owned();
    let (mut warm, mut redeploys) = (Vec::new(), Vec::new());
    for n in 0..REPEATS {
        warm.push(
            server
                .timed_post(
                    "/sources",
                    &json!({ "component_code": format!("{with_packages} // {n}") }),
                )
                .await?
                .0,
        );
        redeploys.push(
            server
                .timed_put(
                    &format!("/sources/{id}"),
                    &json!({ "component_code": format!("{with_packages} // again {n}") }),
                )
                .await?
                .0,
        );
    }
    report.median("deploy with axios, packages cached, ms", warm);
    report.median("redeploy with axios, as `dev` does, ms", redeploys);
    server.stop()?;
    sides::walls(&binary, &mut report).await?;
    let text = report.text();
    println!("{text}");
    std::fs::write("bench/RESULTS.md", text)
        .context("could not write bench/RESULTS.md; run from the root of the checkout")
}

async fn long_history(binary: &std::path::Path, args: &[&str]) -> Result<()> {
    let (rows, on_postgres) = match args {
        [] => ("1000000", false),
        ["--postgres"] => ("1000000", true),
        ["--rows", rows] => (*rows, false),
        ["--rows", rows, "--postgres"] => (*rows, true),
        other => bail!(
            "`history {}` is not understood; it is `history [--rows COUNT] [--postgres]`",
            other.join(" ")
        ),
    };
    history::compare(binary, rows.parse().context("--rows takes a number")?, on_postgres).await
}

/// Deploys the workflow that is measured; gives its endpoint.
async fn workflow(server: &Server) -> Result<String> {
    workflow_of(server, STEP).await
}

async fn workflow_of(server: &Server, step: &str) -> Result<String> {
    let body = json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "step", "code": step }], "settings": { "name": "bench" } });
    let workflow = server.post("/workflows", &body).await?;
    Ok(workflow["data"]["triggers"][0]["endpoint_url"].as_str().context("an endpoint")?.to_owned())
}

/// A step that awaits 100 ms, at 32 connections: how many runs there are, what memory each further
/// run at the same time takes, and when the last of 64 requests that come at once has begun.
async fn waiting(server: &Server, report: &mut Report) -> Result<()> {
    let url = workflow_of(server, WAITING_STEP).await?;
    load::run(&url, 1, WARM).await?;
    let alone = process::tree_private_mib(server.pid())?;
    load::run(&url, 32, WARM).await?;
    let cell = load::run(&url, 32, CELL).await?;
    report.line(
        "a step that awaits 100 ms, 32 connections, runs/s",
        cell.requests as f64 / cell.seconds,
    );
    report.line(
        "private memory of each further run at the same time, MiB",
        (process::tree_private_mib(server.pid())? - alone) / 31.0,
    );
    // A workflow of its own, of which one isolate stands.
    let url = workflow_of(server, WAITING_STEP).await?;
    load::check(&url).await?;
    let began = std::time::Instant::now();
    let burst: Vec<_> = (0..64)
        .map(|_| {
            tokio::spawn({
                let url = url.clone();
                async move { load::once(&url).await }
            })
        })
        .collect();
    for one in burst {
        one.await??;
    }
    report.line(
        "64 requests at once, the last answered after, ms (100 of them in the step)",
        began.elapsed().as_secs_f64() * 1000.0,
    );
    Ok(())
}

/// Milliseconds of a source's deploy, and of its first event.
async fn deploy_and_wake(server: &Server, code: &str) -> Result<(f64, f64)> {
    let (took, source) = server.timed_post("/sources", &json!({ "component_code": code })).await?;
    let url = source["data"]["configured_props"]["http"]["endpoint_url"]
        .as_str()
        .context("an endpoint")?
        .to_owned();
    // The blank pool fills up again meanwhile, as it would between two deploys.
    tokio::time::sleep(Duration::from_millis(300)).await;
    Ok((took, load::once(&url).await?))
}
