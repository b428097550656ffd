//! Millrace beside its peers: webhook → one JavaScript step → answer, the same load on each
//! alternately. Their programs come from npm at the versions that `bench/peers` names, and are
//! installed below `target/bench-peers`. Writes `bench/PEERS.md` and `bench/peers.svg`.

mod chart;
mod programs;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use self::programs::Program;
use crate::cluster::Database;
use crate::history::database;
use crate::report::{machine, median};
use crate::server::Server;
use crate::{load, process};

const CONNECTIONS: [usize; 3] = [1, 8, 32];
/// Turns of each peer at each number of connections, what goes before one unmeasured, and the
/// length of one.
const TURNS: usize = 3;
const WARM: Duration = Duration::from_secs(1);
const TURN: Duration = Duration::from_secs(5);

/// Whether the Postgres that tests start writes to the disk.
const FSYNC: &str = "MILLRACE_TEST_FSYNC";

/// A platform that is measured.
struct Peer {
    name: &'static str,
    /// What it keeps of a run before it answers.
    keeps: &'static str,
    /// Processes whose trees do the work.
    roots: Vec<u32>,
    url: String,
    /// For each number of connections.
    cells: [Samples; CONNECTIONS.len()],
    /// Private memory of all its processes under load.
    mib: f64,
    /// Ended when dropped.
    _running: Running,
}

#[expect(dead_code, reason = "held for their end")]
enum Running {
    Millrace(Server, Option<Database>),
    Other(Program),
}

/// What the turns gave.
#[derive(Default)]
struct Samples {
    requests_per_second: Vec<f64>,
    p50_ms: Vec<f64>,
    /// CPU seconds for 1,000 requests.
    cpu: Vec<f64>,
}

/// Medians of one peer at one number of connections.
#[derive(Clone, Copy)]
struct Cell {
    requests_per_second: f64,
    p50_ms: f64,
    cpu: f64,
}

/// The medians of a peer.
struct Row {
    name: &'static str,
    keeps: &'static str,
    cells: [Cell; CONNECTIONS.len()],
    mib: f64,
}

/// Measures all that can be started here; run from the root of the checkout.
pub async fn compare(binary: &Path) -> Result<()> {
    // Tests have no need of a disk; a comparison has. The environment is set before the process
    // starts.
    if std::env::var_os(FSYNC).is_none() {
        let status = std::process::Command::new(std::env::current_exe()?)
            .arg("--peers")
            .env(FSYNC, "on")
            .status()?;
        return if status.success() { Ok(()) } else { bail!("the comparison failed") };
    }
    let mut peers = vec![millrace(binary, "Millrace, SQLite", false).await?];
    let mut left_out = Vec::new();
    match millrace(binary, "Millrace, Postgres", true).await {
        Ok(peer) => peers.push(peer),
        Err(error) => left_out.push(("Millrace, Postgres", error)),
    }
    for kind in programs::KINDS {
        match Program::start(kind).await {
            Ok(program) => {
                let (roots, url) = (program.pids(), program.url.clone());
                peers.push(Peer {
                    name: kind.name,
                    keeps: kind.keeps,
                    roots,
                    url,
                    cells: Default::default(),
                    mib: 0.0,
                    _running: Running::Other(program),
                });
            }
            Err(error) => left_out.push((kind.name, error)),
        }
    }
    for (at, connections) in CONNECTIONS.into_iter().enumerate() {
        for _ in 0..TURNS {
            for peer in &mut peers {
                peer.take_turn(at, connections)
                    .await
                    .with_context(|| format!("{} at {connections} connections", peer.name))?;
            }
        }
    }
    let rows: Vec<Row> = peers.into_iter().map(Peer::medians).collect();
    let text = report(&rows, &left_out);
    println!("{text}");
    std::fs::write("bench/PEERS.md", text)
        .context("could not write bench/PEERS.md; run from the root of the checkout")?;
    std::fs::write("bench/peers.svg", chart::bars(&rows)).context("could not write bench/peers.svg")
}

async fn millrace(binary: &Path, name: &'static str, on_postgres: bool) -> Result<Peer> {
    let database = database(on_postgres).await?;
    let url = database.as_ref().map(Database::url);
    let flags = url.as_ref().map_or_else(Vec::new, |url| vec!["--database-url", url]);
    let server =
        Server::start(binary, if on_postgres { "peer-postgres" } else { "peer-sqlite" }, &flags)
            .await?;
    let endpoint = crate::workflow(&server).await?;
    load::check(&endpoint).await?;
    let mut roots = vec![server.pid()];
    if let Some(database) = &database {
        let pid = std::fs::read_to_string(
            database.socket().with_file_name("data").join("postmaster.pid"),
        )?;
        roots.push(pid.lines().next().context("a process")?.parse()?);
    }
    Ok(Peer {
        name,
        keeps: "every run, committed before its client is answered",
        roots,
        url: endpoint,
        cells: Default::default(),
        mib: 0.0,
        _running: Running::Millrace(server, database),
    })
}

impl Peer {
    async fn take_turn(&mut self, at: usize, connections: usize) -> Result<()> {
        load::run(&self.url, connections, WARM).await?;
        let before = self.cpu_seconds()?;
        let cell = load::run(&self.url, connections, TURN).await?;
        let cpu = self.cpu_seconds()? - before;
        let samples = &mut self.cells[at];
        samples.requests_per_second.push(cell.requests as f64 / cell.seconds);
        samples.p50_ms.push(cell.p50_ms);
        samples.cpu.push(cpu * 1000.0 / cell.requests as f64);
        self.mib =
            self.roots.iter().map(|pid| process::tree_private_mib(*pid)).sum::<Result<f64>>()?;
        Ok(())
    }

    fn cpu_seconds(&self) -> Result<f64> {
        self.roots.iter().map(|pid| process::cpu_seconds(*pid)).sum()
    }

    fn medians(self) -> Row {
        let cells = self.cells.map(|samples| Cell {
            requests_per_second: median(samples.requests_per_second),
            p50_ms: median(samples.p50_ms),
            cpu: median(samples.cpu),
        });
        Row { name: self.name, keeps: self.keeps, cells, mib: self.mib }
    }
}

fn report(rows: &[Row], left_out: &[(&str, anyhow::Error)]) -> String {
    let mut out = String::from(
        "# Beside its peers\n\nOne run of `cargo xtask bench --peers`; [how it is fair, and how to repeat it](README.md). \
         Webhook → one JavaScript step → answer; requests/s · p50 in ms · CPU seconds of all processes for 1,000 requests.\n\n",
    );
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "Machine: {}\n\n![requests/s at each number of connections](peers.svg)\n",
        machine()
    );
    out.push_str("| | keeps | 1 connection | 8 | 32 | private memory, MiB |\n| --- | --- | --- | --- | --- | --- |\n");
    for row in rows {
        let cells = row
            .cells
            .map(|c| format!("{:.0} · {:.2} · {:.2}", c.requests_per_second, c.p50_ms, c.cpu));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {:.0} |",
            row.name,
            row.keeps,
            cells.join(" | "),
            row.mib
        );
    }
    if let [first, others @ ..] = rows {
        let _ = writeln!(
            out,
            "\nRequests/s of {} as a multiple of the others':\n\n| | 1 connection | 8 | 32 |\n| --- | --- | --- | --- |",
            first.name
        );
        for row in others {
            let ratios = std::array::from_fn::<_, { CONNECTIONS.len() }, _>(|n| {
                format!(
                    "{:.2}",
                    first.cells[n].requests_per_second / row.cells[n].requests_per_second
                )
            });
            let _ = writeln!(out, "| {} | {} |", row.name, ratios.join(" | "));
        }
    }
    for (name, error) in left_out {
        let _ = writeln!(out, "\nNot measured: {name}: {error:#}");
    }
    out
}
