//! Load of errors: every event fails, and a workflow, a source and a webhook listen to each.
//! Reports whether every error was delivered once to each, the number of mails, and the cost.
//! Writes `bench/ERRORS.md`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::process;
use crate::server::Server;

/// Clients that send at once.
const CLIENTS: u64 = 16;
/// Classes of errors: the rule allows a mail for each.
const CLASSES: [&str; 4] = ["TypeError", "RangeError", "SyntaxError", "EvalError"];
const FAILS: &str = "export default defineComponent({ run({ steps }) { const { n, code } = steps.trigger.event.body; throw new globalThis[code]('event ' + n); } });";
const HEARS: &str = "export default defineComponent({ run({ steps }) { return steps.trigger.event.original_event.body.n; } });";
const SOURCE: &str = "export default { name: 'hears', version: '1', dedupe: 'unique', run(event) { const n = event.original_event.body.n; this.$emit({ n }, { id: n }); return n; } };";

/// Runs the load with so many errors.
pub async fn run(count: u64) -> Result<()> {
    let binary = std::env::current_exe()?.with_file_name("millrace");
    let mut server = Server::start(
        &binary,
        "errors",
        &["--requests-per-minute", "0", "--egress-allow", "127.0.0.0/8"],
    )
    .await?;
    let receiver = Receiver::start().await?;
    let (fails, listeners) = deploy(&server, &receiver).await?;
    let url = fails["triggers"][0]["endpoint_url"].as_str().context("an endpoint")?.to_owned();
    let idle = process::rss_mib(server.pid())?;
    println!("{count} errors, three listeners; the server takes {idle:.0} MiB at first");

    let memory = watch(server.pid(), receiver.clone());
    let cpu = process::cpu_seconds(server.pid())?;
    let started = Instant::now();
    let sending = (0..CLIENTS)
        .map(|client| tokio::spawn(send(url.clone(), client, count)))
        .collect::<Vec<_>>();
    for client in sending {
        client.await??;
    }
    let sent = started.elapsed().as_secs_f64();
    let mut report = Report::begin(count);
    report.say(&format!("Accepted in {sent:.1} s: {:.0} a second.", count as f64 / sent));
    let owners = [
        format!("/workflows/{}", id(&fails)),
        format!("/workflows/{}", listeners.workflow),
        format!("/sources/{}", listeners.source),
    ];
    wait(&server, &owners, &receiver, count).await?;
    let took = started.elapsed().as_secs_f64();
    let cpu = process::cpu_seconds(server.pid())? - cpu;
    memory.abort();
    let rate = count as f64 / took;
    report.say(&format!("All delivered in {took:.1} s: {rate:.0} errors and {:.0} deliveries a second, {cpu:.0} s of CPU.", 3.0 * rate));

    let failed = settled(&server, &format!("{}/runs?status=failed", owners[0]), |run| {
        run["event"]["body"]["n"].as_u64()
    })
    .await?;
    report.say(&check("failed runs", &failed, count)?);
    let heard = settled(&server, &format!("{}/runs?status=succeeded", owners[1]), |run| {
        run["steps"][0]["exports"]["$return_value"].as_u64()
    })
    .await?;
    report.say(&check("runs of the listening workflow", &heard, count)?);
    let heard = settled(&server, &format!("{}/runs?status=succeeded", owners[2]), |run| {
        run["return_value"].as_u64()
    })
    .await?;
    report.say(&check("runs of the listening source", &heard, count)?);
    report.say(&check("deliveries to the webhook", &receiver.counts(), count)?);
    let mails =
        server.get("/mail?limit=100").await?["page_info"]["total_count"].as_u64().unwrap_or(0);
    ensure!(
        mails == CLASSES.len() as u64,
        "there are {mails} mails; the rule allows one for each of {} classes",
        CLASSES.len()
    );
    let groups = server.get(&format!("{}/error_groups", owners[0])).await?;
    let grouped: u64 =
        groups["data"].as_array().into_iter().flatten().filter_map(|g| g["count"].as_u64()).sum();
    ensure!(grouped == count, "{grouped} errors are counted in groups, not {count}");
    report.say(&format!("None was lost and none settled twice; {mails} mails for {} classes; groups count {grouped}.", CLASSES.len()));
    let memory = receiver.memory.lock().map_err(|_| anyhow::anyhow!("poisoned"))?.clone();
    let part = |from: usize, to: usize| {
        memory
            .iter()
            .skip(memory.len() * from / 10)
            .take(memory.len() * (to - from) / 10)
            .copied()
            .fold(0.0, f64::max)
    };
    report.say(&format!(
        "Memory of the server, MiB: {idle:.0} idle, at most {:.0} in the second tenth, {:.0} in the middle, {:.0} in the last tenth.",
        part(1, 2),
        part(4, 6),
        part(9, 10)
    ));
    server.stop()?;
    report.write()
}

/// What is told while it is found out, and kept once all is well.
struct Report(String);

impl Report {
    fn begin(count: u64) -> Self {
        Self(format!(
            "# A load of errors\n\nOne run of `cargo xtask bench errors {count}`: {CLIENTS} clients send {count} events that all fail; a workflow, a source and a webhook \
             listen to `$errors`. The load, the receiver and the server share the machine.\n\n"
        ))
    }

    fn say(&mut self, line: &str) {
        println!("{line}");
        self.0.push_str("- ");
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn write(self) -> Result<()> {
        std::fs::write("bench/ERRORS.md", self.0)
            .context("could not write bench/ERRORS.md; run from the root of the checkout")
    }
}

struct Listeners {
    workflow: String,
    source: String,
}

async fn deploy(server: &Server, receiver: &Receiver) -> Result<(Value, Listeners)> {
    let workflow = async |name: &str, triggers: Value, code: &str| -> Result<Value> {
        let body = json!({ "triggers": triggers, "steps": [{ "namespace": "step", "code": code }], "settings": { "name": name } });
        Ok(server.post("/workflows", &body).await?["data"].clone())
    };
    let fails = workflow("fails", json!([{ "type": "http" }]), FAILS).await?;
    let listener = workflow("hears", json!([]), HEARS).await?;
    let source =
        server.post("/sources", &json!({ "component_code": SOURCE })).await?["data"].clone();
    let hook = server.post("/webhooks", &json!({ "url": receiver.url })).await?["data"].clone();
    for heard_by in [&listener, &source, &hook] {
        server.post("/subscriptions", &json!({ "emitter_id": id(&fails), "listener_id": id(heard_by), "event_name": "$errors" })).await?;
    }
    Ok((fails, Listeners { workflow: id(&listener), source: id(&source) }))
}

fn id(record: &Value) -> String {
    record["id"].as_str().unwrap_or("").to_owned()
}

/// Sends the events of one client, each until it is accepted.
async fn send(url: String, client: u64, count: u64) -> Result<()> {
    let (address, path) =
        url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).context("an address")?;
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    for n in (client..count).step_by(CLIENTS as usize) {
        let body =
            json!({ "n": n, "code": CLASSES[(n % CLASSES.len() as u64) as usize] }).to_string();
        let request = format!(
            "POST /{path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        loop {
            stream.write_all(request.as_bytes()).await?;
            match answered(&mut stream, &mut buffer).await? {
                200 => break,
                // As much waits as may.
                503 => tokio::time::sleep(Duration::from_millis(50)).await,
                status => bail!("the endpoint answered {status}"),
            }
        }
    }
    Ok(())
}

/// The status of an answer, which is read to its end.
async fn answered(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<u16> {
    buffer.clear();
    loop {
        ensure!(stream.read_buf(buffer).await? > 0, "the connection was closed");
        if let Some((head, length)) = head(buffer)
            && buffer.len() >= head.len() + 4 + length
        {
            return head.split(' ').nth(1).and_then(|s| s.parse().ok()).context("a status");
        }
    }
}

/// The head of a message and the length of its body, once the head is whole.
fn head(buffer: &[u8]) -> Option<(&str, usize)> {
    let end = buffer.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&buffer[..end]).ok()?;
    let length = head
        .lines()
        .filter_map(|l| l.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    Some((head, length.and_then(|(_, v)| v.trim().parse().ok()).unwrap_or(0)))
}

/// Waits until nothing is queued or under way and the webhook has all.
async fn wait(server: &Server, owners: &[String], receiver: &Receiver, count: u64) -> Result<()> {
    let mut told = Instant::now();
    loop {
        let mut left = 0;
        for owner in owners {
            for status in ["queued", "running"] {
                left += server
                    .get(&format!("{owner}/runs?status={status}&limit=1&include=id"))
                    .await?["page_info"]["total_count"]
                    .as_u64()
                    .unwrap_or(0);
            }
        }
        let delivered = receiver.distinct();
        if left == 0 && delivered >= count {
            return Ok(());
        }
        if told.elapsed() > Duration::from_secs(20) {
            told = Instant::now();
            println!(
                "  {left} runs to go (counted to ten thousand each), {delivered} delivered to the webhook"
            );
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// How many settled runs there are for each number.
async fn settled(
    server: &Server,
    path: &str,
    number: impl Fn(&Value) -> Option<u64>,
) -> Result<HashMap<u64, u64>> {
    let mut counts = HashMap::new();
    let mut after = String::new();
    loop {
        let page = server
            .get(&format!("{path}&limit=100&include=event,steps,return_value{after}"))
            .await?;
        let runs = page["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        for run in runs {
            *counts.entry(number(run).context("a run without a number")?).or_insert(0) += 1;
        }
        match page["page_info"]["end_cursor"].as_str() {
            Some(cursor) if runs.len() == 100 => after = format!("&after={cursor}"),
            _ => return Ok(counts),
        }
    }
}

fn check(what: &str, counts: &HashMap<u64, u64>, count: u64) -> Result<String> {
    let lost = (0..count).filter(|n| !counts.contains_key(n)).count();
    let twice = counts.values().filter(|times| **times > 1).count();
    ensure!(
        lost == 0 && twice == 0,
        "{what}: {lost} are missing, {twice} are there more than once"
    );
    Ok(format!("{what}: {count}, each once"))
}

/// Keeps the server's memory, once a second.
fn watch(pid: u32, receiver: Receiver) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if let (Ok(rss), Ok(mut memory)) = (process::rss_mib(pid), receiver.memory.lock()) {
                memory.push(rss);
            }
        }
    })
}

/// Counts what is posted to it.
#[derive(Clone)]
struct Receiver {
    url: String,
    counts: Arc<Mutex<HashMap<u64, u64>>>,
    seen: Arc<AtomicU64>,
    memory: Arc<Mutex<Vec<f64>>>,
}

impl Receiver {
    async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let receiver =
            Self { url, counts: Arc::default(), seen: Arc::default(), memory: Arc::default() };
        let taken = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let taken = taken.clone();
                // A connection that ends is no fault.
                tokio::spawn(async move { taken.serve(stream).await });
            }
        });
        Ok(receiver)
    }

    async fn serve(&self, mut stream: TcpStream) -> Result<()> {
        let mut buffer = Vec::new();
        loop {
            let whole = loop {
                if let Some((head, length)) = head(&buffer)
                    && buffer.len() >= head.len() + 4 + length
                {
                    break (head.len() + 4, head.len() + 4 + length);
                }
                if stream.read_buf(&mut buffer).await? == 0 {
                    return Ok(());
                }
            };
            let body: Value = serde_json::from_slice(&buffer[whole.0..whole.1])?;
            let n = body["event"]["original_event"]["body"]["n"].as_u64().context("a number")?;
            if let Ok(mut counts) = self.counts.lock() {
                let times = counts.entry(n).or_insert(0);
                *times += 1;
                self.seen.fetch_add(u64::from(*times == 1), Ordering::SeqCst);
            }
            buffer.drain(..whole.1);
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
        }
    }

    fn distinct(&self) -> u64 {
        self.seen.load(Ordering::SeqCst)
    }

    fn counts(&self) -> HashMap<u64, u64> {
        self.counts.lock().map(|counts| counts.clone()).unwrap_or_default()
    }
}
