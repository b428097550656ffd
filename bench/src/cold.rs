//! Cost of a cold run: sources that each run once, in a process of their own, alternately on two
//! builds.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::report::median;
use crate::server::Server;
use crate::{load, process};

/// Turns of each server, and cold runs of a turn.
const TURNS: usize = 5;
const RUNS: usize = 15;
/// In which the process that the run took is replaced: it is what the run costs, too.
const REFILL: Duration = Duration::from_millis(400);

const SMALL: &str = crate::SOURCE;
const WITH_HTTPS: &str = "import https from 'node:https'; import crypto from 'node:crypto'; export default { name: 'cold', version: '1', props: { http: { type: '$.interface.http', customResponse: true } }, run() { this.http.respond({ status: 200, body: typeof https.request + crypto.randomUUID().length }); } };";
const WITH_AXIOS: &str = "import axios from 'axios@1'; export default { name: 'cold', version: '1', props: { http: { type: '$.interface.http', customResponse: true } }, run() { this.http.respond({ status: 200, body: typeof axios }); } };";

const KINDS: [(&str, &str); 3] =
    [("small", SMALL), ("with `https` and `crypto`", WITH_HTTPS), ("with axios", WITH_AXIOS)];

/// CPU of a turn's cold runs: milliseconds for each, of all processes and of the server's own.
async fn turn(server: &Server, kind: &str, code: &str, turn: usize) -> Result<(f64, f64)> {
    let mut urls = Vec::new();
    for n in 0..RUNS {
        let source = server
            .post("/sources", &json!({ "component_code": format!("{code} // {kind} {turn} {n}") }))
            .await?;
        urls.push(
            source["data"]["configured_props"]["http"]["endpoint_url"]
                .as_str()
                .context("an endpoint")?
                .to_owned(),
        );
    }
    tokio::time::sleep(REFILL).await;
    let before = (process::cpu_seconds(server.pid())?, process::own_cpu_seconds(server.pid())?);
    for url in urls {
        load::once(&url).await?;
        tokio::time::sleep(REFILL).await;
    }
    let each = 1000.0 / RUNS as f64;
    Ok((
        (process::cpu_seconds(server.pid())? - before.0) * each,
        (process::own_cpu_seconds(server.pid())? - before.1) * each,
    ))
}

/// Prints what a cold run costs with this build and with another one.
pub async fn builds(binary: &Path, other: &Path) -> Result<()> {
    let mut servers =
        [Server::start(binary, "this", &[]).await?, Server::start(other, "other", &[]).await?];
    println!("{:44} {:>10} {:>10} {:>7}", "CPU ms of a cold run", "this", "other", "ratio");
    for (kind, code) in KINDS {
        let mut figures: [(Vec<f64>, Vec<f64>); 2] = Default::default();
        for n in 0..TURNS {
            for (server, (all, own)) in servers.iter().zip(&mut figures) {
                let (tree, alone) = turn(server, kind, code, n).await?;
                all.push(tree);
                own.push(alone);
            }
        }
        let [this, other] = figures.map(|(all, own)| (median(all), median(own)));
        for (what, this, other) in
            [("all processes", this.0, other.0), ("the server's own", this.1, other.1)]
        {
            println!(
                "{:44} {this:>10.1} {other:>10.1} {:>7.3}",
                format!("{kind}: {what}"),
                this / other
            );
        }
    }
    for server in &mut servers {
        server.stop()?;
    }
    Ok(())
}
