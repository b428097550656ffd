//! `cargo xtask torture`: the kills of the tests for as long as is asked, with a look at what
//! became of all events now and then.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use millrace_tests::Server;
use millrace_tests::cluster::Cluster;
use millrace_tests::flow::{Flow, Report};
use millrace_tests::kills::{Kills, kill_at_random};
use millrace_tests::schedule::Schedule;

const HELP: &str =
    "usage: torture --minutes N [--seed S] [--database sqlite|postgres] [--from PROGRAM]";
/// A round ends with a look at everything, on a server and a database that are new in the next.
const ROUND: Duration = Duration::from_secs(120);
const PACE: Duration = Duration::from_millis(20);

struct Args {
    minutes: u64,
    seed: u64,
    postgres: bool,
    /// A server of an earlier release, from which each round begins.
    from: Option<PathBuf>,
}

fn args() -> Option<Args> {
    let seed = std::time::UNIX_EPOCH.elapsed().map_or(1, |t| t.as_millis() as u64);
    let mut args = Args { minutes: 0, seed, postgres: false, from: None };
    let mut given = std::env::args().skip(1);
    while let Some(flag) = given.next() {
        let value = given.next()?;
        match (flag.as_str(), value.as_str()) {
            ("--minutes", n) => args.minutes = n.parse().ok()?,
            ("--seed", s) => args.seed = s.parse().ok()?,
            ("--from", program) => args.from = Some(program.into()),
            ("--database", "sqlite") => args.postgres = false,
            ("--database", "postgres") => args.postgres = true,
            _ => return None,
        }
    }
    (args.minutes > 0).then_some(args)
}

#[expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a developer's tool speaks to the terminal"
)]
#[tokio::main]
async fn main() -> ExitCode {
    let Some(args) = args() else {
        eprintln!("{HELP}");
        return ExitCode::from(2);
    };
    let cluster = if args.postgres { Cluster::own() } else { None };
    if args.postgres && cluster.is_none() {
        eprintln!("error: no Postgres binaries (install postgresql)");
        return ExitCode::FAILURE;
    }
    println!(
        "{} minutes on {}, seed {}",
        args.minutes,
        if args.postgres { "Postgres" } else { "SQLite" },
        args.seed
    );
    let end = Instant::now() + Duration::from_secs(60 * args.minutes);
    let (mut schedule, mut kills, mut total) =
        (Schedule::of(args.seed), Kills::default(), Report::default());
    while Instant::now() < end {
        let time = ROUND.min(end.saturating_duration_since(Instant::now()));
        let (killed, report) = round(cluster, args.from.as_deref(), &mut schedule, time).await;
        println!("{killed}: {report}");
        kills = Kills {
            servers: kills.servers + killed.servers,
            hosts: kills.hosts + killed.hosts,
            databases: kills.databases + killed.databases,
            upgrades: kills.upgrades + killed.upgrades,
        };
        total.acknowledged += report.acknowledged;
        total.ended_by_kill += report.ended_by_kill;
        total.lost.extend(report.lost);
        total.twice.extend(report.twice);
        total.stuck.extend(report.stuck);
        total.disagree.extend(report.disagree);
    }
    println!("in all: {kills} survived: {total}");
    if total.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn round(
    cluster: Option<&'static Cluster>,
    from: Option<&Path>,
    schedule: &mut Schedule,
    time: Duration,
) -> (Kills, Report) {
    let database = match cluster {
        Some(cluster) => Some(cluster.database().await),
        None => None,
    };
    let url = database.as_ref().map(|database| database.url());
    let mut flags = vec!["--requests-per-minute", "1000000"];
    flags.extend(url.iter().flat_map(|url| ["--database-url", url]));
    let mut server = match from {
        Some(program) => Server::start_from(program, &flags).await,
        None => Server::start_with(&flags).await,
    };
    let flow = Flow::deploy(&server).await;
    let senders = flow.send(4, PACE);
    let kills = kill_at_random(&mut server, cluster, schedule, time).await;
    let acknowledged = senders.stop().await;
    let report = flow.check(&server, &acknowledged).await;
    if !report.is_clean() {
        // The log of a failure is worth more than the space.
        let kept = std::env::temp_dir().join(format!("torture-{}.log", std::process::id()));
        let _ = std::fs::write(kept, server.log());
    }
    (kills, report)
}
