//! Kills at random instants while events flow; the schedule can be given again. The long form is
//! `cargo xtask torture`.

use std::io::Write as _;
use std::time::Duration;

use millrace_tests::Server;
use millrace_tests::cluster::Cluster;
use millrace_tests::flow::Flow;
use millrace_tests::kills::kill_at_random;
use millrace_tests::schedule::Schedule;

const TIME: Duration = Duration::from_secs(12);
const PACE: Duration = Duration::from_millis(30);
/// Later than all that a server that was killed had under a lease, or claimed.
const LATER_MS: i64 = 60_000;
/// What is looked at afterwards is more than a key may ask for in a minute.
const ARGS: [&str; 2] = ["--requests-per-minute", "1000000"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_of_the_server_and_its_hosts_lose_nothing() {
    torture(Schedule::of_environment("SQLite"), None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_of_postgres_lose_nothing() {
    let Some(cluster) = Cluster::own() else { return };
    torture(Schedule::of_environment("Postgres"), Some(cluster)).await;
}

async fn torture(mut schedule: Schedule, cluster: Option<&'static Cluster>) {
    let database = match cluster {
        Some(cluster) => Some(cluster.database().await),
        None => None,
    };
    let url = database.as_ref().map(|database| database.url());
    let mut args = ARGS.to_vec();
    args.extend(url.iter().flat_map(|url| ["--database-url", url]));
    args.extend(["--egress-allow", "127.0.0.0/8"]);
    let mut server = Server::new_at_rest(&args);
    server.skew_clock(0);
    server.launch().await;
    let flow = Flow::deploy(&server).await;
    let senders = flow.send(4, PACE);
    let kills = kill_at_random(&mut server, cluster, &mut schedule, TIME).await;
    let acknowledged = senders.stop().await;
    // Where others might share the database, what the dead ones held is waited for.
    server.skew_clock(LATER_MS);
    let report = flow.check(&server, &acknowledged).await;
    writeln!(std::io::stderr(), "{kills}: {report}").expect("writes");
    assert!(report.is_clean(), "{kills}: {report}");
    assert!(acknowledged.len() > 10, "only {} events were acknowledged", acknowledged.len());
}
