//! The egress guard, tried from inside. On a kernel that lacks it these tests fail, and say so.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::time::Duration;

use millrace_model::egress::{Policy, Shared};
use millrace_runner::{Walls, probe};
use serde_json::{Value, json};

use crate::support::{Bench, LONG, Recorder, alive, failure, until, value};

/// What the attempts use: each resolves to what happened.
const TOOLS: &str = r"
const net = await import('node:net'); const dgram = await import('node:dgram'); const os = await import('node:os');
const tcp = (port, host) => new Promise((y) => { const s = net.connect({ port, host, autoSelectFamily: false }); s.on('connect', () => { s.destroy(); y('open'); }).on('error', (e) => y(e.code)); });
const udp = (port, host, kind = 'udp4') => new Promise((y) => { const s = dgram.createSocket(kind); s.on('error', (e) => y(e.code)); s.send('hello', port, host, (e) => { s.close(); y(e ? e.code : 'sent'); }); });
";

fn policy(allow: &[&str]) -> Shared {
    Policy { allow: allow.iter().map(|a| a.parse().expect("opens")).collect(), ..Policy::default() }
        .into()
}

async fn guarded(allow: &[&str]) -> Bench {
    assert!(probe().egress, "this machine has no egress guard");
    Bench::set(|c| (c.walls, c.egress) = (Walls::Required, policy(allow))).await
}

/// What the body returns, and what the call's output says.
async fn attempt(bench: &Bench, body: &str, event: Value) -> (Value, Vec<String>) {
    let name = format!("attempt-{}-{}", bench.runner.stats().hosts, body.len());
    let isolate = bench.isolate(&name, &format!("{TOOLS}\n{body}"));
    let log = Recorder::new();
    let got = value(bench.call_for(&isolate, event, LONG, &log).await);
    (got, log.logs())
}

/// A server that answers each connection with what it was sent, and the port.
fn echo() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let (mut stream, mut bytes) = (stream, [0; 16 << 10]);
                while let Ok(n @ 1..) = stream.read(&mut bytes) {
                    if stream.write_all(&bytes[..n]).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

#[tokio::test]
async fn what_is_closed_is_refused_and_the_output_says_what_would_open_it() {
    let bench = guarded(&[]).await;
    let body = "return [await tcp(event, '127.0.0.1'), await tcp(80, '169.254.169.254'), await tcp(event, '::1'), await tcp(event, '::ffff:127.0.0.1'), await tcp(event, '0.0.0.0'), await tcp(event, '::'),
        await tcp(event, '127.1'), await tcp(event, '0x7f000001'), await tcp(event, '2130706433'), await tcp(event, 'localhost'), await tcp(80, '10.0.0.1'), await tcp(80, '100.64.0.1'), await tcp(80, 'fd00::9'), await tcp(80, '64:ff9b::7f00:1'), await tcp(53, '8.8.8.8'),
        await udp(event, '127.0.0.1'), await udp(event, '::ffff:127.0.0.1', 'udp6'), await udp(9, '239.1.2.3'), await udp(53, '8.8.8.8'), await tcp(event, '127.0.0.1')];";
    let port = echo();
    let (got, log) = attempt(&bench, body, json!(port)).await;
    assert_eq!(got, json!(vec!["EACCES"; 20]));
    let line = format!(
        "a connection to 127.0.0.1:{port} was refused (EACCES): it is a loopback address; whoever runs the server opens it with --egress-allow 127.0.0.1:{port}"
    );
    assert_eq!(log.iter().filter(|l| **l == line).count(), 1, "{log:?}");
    assert!(
        log.iter().any(|l| l.contains("169.254.169.254:80") && l.contains("link-local")),
        "{log:?}"
    );
    assert!(log.iter().any(|l| l.contains("8.8.8.8:53") && l.contains("resolv.conf")), "{log:?}");
    assert_eq!(
        log.len(),
        11,
        "each address is told of once, and what only sorts addresses is not: {log:#?}"
    );
}

#[tokio::test]
async fn what_is_opened_works_as_without_a_guard() {
    let port = echo();
    let bench = guarded(&[&format!("127.0.0.0/8:{port}")]).await;
    let body = "
      const talk = (host) => new Promise((y, n) => { const big = 'x'.repeat(3e6); let got = 0; const s = net.connect(event, host, () => s.end(big)); s.on('data', (d) => got += d.length).on('end', () => y(got)).on('error', n); });
      const none = await tcp(1, '127.0.0.1');
      return [await talk('127.0.0.1'), await talk('::ffff:127.0.0.1'), await talk('localhost'), none, Object.keys(os.networkInterfaces()).length > 0];";
    let (got, log) = attempt(&bench, body, json!(port)).await;
    assert_eq!(got, json!([3_000_000, 3_000_000, 3_000_000, "EACCES", true]));
    assert_eq!(log.len(), 1, "{log:?}");
    // A connection that nobody takes fails as it does without.
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .expect("a port")
        .local_addr()
        .expect("an address")
        .port();
    let bench = guarded(&[&format!("127.0.0.1:{free}")]).await;
    assert_eq!(
        attempt(&bench, "return tcp(event, '127.0.0.1');", json!(free)).await.0,
        "ECONNREFUSED"
    );
}

#[tokio::test]
async fn datagrams_that_are_opened_arrive_connected_or_not() {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("sets");
    let port = socket.local_addr().expect("an address").port();
    let bench = guarded(&[&format!("127.0.0.1:{port}")]).await;
    let body = "
      const sent = [await udp(event, '127.0.0.1')];
      const s = dgram.createSocket('udp4');
      await new Promise((y, n) => s.on('error', n).connect(event, '127.0.0.1', y));
      await new Promise((y, n) => s.send([Buffer.from('con'), Buffer.from('nected')], (e) => e ? n(e) : y()));
      s.disconnect();
      await new Promise((y, n) => s.send('x'.repeat(40000), event, '127.0.0.1', (e) => e ? n(e) : y()));
      sent.push(await new Promise((y) => s.send('x'.repeat(70000), event, '127.0.0.1', (e) => y(e?.code))));
      for (let n = 0; n < 30; n++) s.send('many', event, '127.0.0.1');
      await new Promise((y) => setTimeout(y, 100));
      s.close();
      return sent;";
    let (got, log) = attempt(&bench, body, json!(port)).await;
    assert_eq!((got, log.len()), (json!(["sent", "EMSGSIZE"]), 0));
    let mut bytes = vec![0; 70_000];
    let mut next = || {
        let n = socket.recv(&mut bytes).expect("a datagram");
        String::from_utf8_lossy(&bytes[..n]).into_owned()
    };
    assert_eq!((next(), next(), next().len()), ("hello".into(), "connected".into(), 40_000));
    for _ in 0..30 {
        assert_eq!(next(), "many");
    }
}

#[tokio::test]
async fn names_are_asked_of_the_resolvers_of_the_machine_only() {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = socket.local_addr().expect("an address").port();
    // A resolver that gives a loopback address to every name.
    std::thread::spawn(move || {
        let mut bytes = [0; 512];
        while let Ok((n, from)) = socket.recv_from(&mut bytes) {
            let mut answer = bytes[..n].to_vec();
            (answer[2], answer[3], answer[7]) = (0x81, 0x80, 1);
            answer.truncate(n);
            answer.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
            if socket.send_to(&answer, from).is_err() {
                return;
            }
        }
    });
    let bench = guarded(&[&format!("127.0.0.1:{port}")]).await;
    let body = "
      const dns = await import('node:dns/promises');
      const ask = async (at) => { const r = new dns.Resolver({ timeout: 500, tries: 1 }); r.setServers([at]); try { return (await r.resolve4('rebound.test'))[0]; } catch (e) { return e.code; } };
      const found = await ask('127.0.0.1:' + event);
      return [found, await tcp(80, found), ['ECONNREFUSED', 'ETIMEOUT', 'ESERVFAIL'].includes(await ask('8.8.8.8')), ['ECONNREFUSED', 'ETIMEOUT', 'ESERVFAIL'].includes(await ask('127.0.0.1:5353'))];";
    let (got, log) = attempt(&bench, body, json!(port)).await;
    assert_eq!(got, json!(["127.0.0.1", "EACCES", true, true]));
    assert!(log.iter().any(|l| l.contains("8.8.8.8:53")), "{log:?}");
}

#[tokio::test]
async fn refusals_while_code_is_loaded_are_told_to_the_call() {
    let bench = guarded(&[]).await;
    let code = "import net from 'node:net';
      const code = await new Promise((y) => net.connect(7, '127.0.0.1').on('error', (e) => y(e.code)));
      export default { name: 'early', version: '1', run() { return code; } };";
    let log = Recorder::new();
    let got = value(bench.call_for(&bench.module("early", code), 0, LONG, &log).await);
    assert_eq!(got, "EACCES");
    assert!(log.logs().iter().any(|l| l.contains("127.0.0.1:7")), "{:?}", log.logs());
}

#[tokio::test]
async fn a_step_that_does_not_catch_it_fails_with_the_code() {
    let bench = guarded(&[]).await;
    let isolate = bench.isolate("throws", "const net = await import('node:net'); await new Promise((y, n) => net.connect(7, '127.0.0.1').on('error', n));");
    let failure = failure(bench.call(&isolate, 0).await);
    assert_eq!(failure.code, "Error");
    assert!(
        failure.message.contains("EACCES") && failure.message.contains("127.0.0.1:7"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn the_policy_can_change_while_hosts_run() {
    let port = echo();
    let shared = policy(&[]);
    let bench = Bench::set(|c| (c.walls, c.egress) = (Walls::Required, shared.clone())).await;
    let isolate = bench.isolate("asks", &format!("{TOOLS}\nreturn tcp(event, '127.0.0.1');"));
    assert_eq!(value(bench.call(&isolate, port).await), "EACCES");
    shared.set((*policy(&["127.0.0.1"]).get()).clone());
    assert_eq!(value(bench.call(&isolate, port).await), "open");
}

#[tokio::test]
async fn others_connect_while_one_floods() {
    let port = echo();
    let bench = guarded(&[&format!("127.0.0.1:{port}")]).await;
    let neighbour =
        bench.isolate("neighbour", &format!("{TOOLS}\nreturn tcp(event, '127.0.0.1');"));
    assert_eq!(value(bench.call(&neighbour, port).await), "open");
    let flood = bench.isolate(
        "flood",
        "const net = await import('node:net'); console.log('flooding'); for (;;) { for (let n = 0; n < 200; n++) net.connect(7, '127.0.0.1').on('error', () => {}); await new Promise(setImmediate); }",
    );
    let log = Recorder::new();
    let flooding = bench.spawn(&flood, 0, LONG, &log);
    log.logged("flooding").await;
    for _ in 0..20 {
        assert_eq!(value(bench.call(&neighbour, port).await), "open");
    }
    assert!(!flooding.is_finished(), "the flood goes on");
    // Twenty calls may be over before its first connection is refused.
    until("the refusal in its output", || log.logs().iter().any(|l| l.contains("127.0.0.1:7")))
        .await;
    bench.runner.shutdown().await;
    flooding.await.expect("ends").result.expect_err("ends with its host");
    assert_eq!(log.logs().iter().filter(|l| l.contains("127.0.0.1:7")).count(), 1);
}

/// Threads of this process that guard.
fn guards() -> usize {
    let names = std::fs::read_dir("/proc/self/task").expect("reads").flatten();
    names
        .filter(|t| {
            std::fs::read_to_string(t.path().join("comm")).is_ok_and(|name| name.trim() == "egress")
        })
        .count()
}

#[tokio::test]
async fn a_host_that_dies_in_the_middle_leaves_no_guard_behind() {
    let port = echo();
    let bench = guarded(&[&format!("127.0.0.1:{port}")]).await;
    let dies = "const net = await import('node:net'); for (let n = 0; n < 50; n++) net.connect(event, '127.0.0.1').on('error', () => {}); const { lookup } = await import('node:dns'); lookup('localhost', () => {}); process.kill(process.pid, 'SIGKILL'); await new Promise(() => {});";
    for n in 0..5 {
        let isolate = bench.isolate(&format!("dies-{n}"), dies);
        failure(bench.call(&isolate, port).await);
    }
    let (got, _) =
        attempt(&bench, "return [process.pid, await tcp(event, '127.0.0.1')];", json!(port)).await;
    assert_eq!(got[1], "open");
    bench.runner.shutdown().await;
    until("the host ends", || !alive(&got[0])).await;
    // Other tests of this process have guards of their own, which end as well: only where this one
    // runs alone is the number known.
    if std::env::args().any(|a| a == "--exact") {
        until("the guards end", || guards() == 0).await;
    }
}

#[tokio::test]
#[ignore = "a measurement: prints what a connection costs with and without the guard"]
async fn measure_connections() {
    let port = echo();
    let code = "const net = await import('node:net'); const took = []; const one = () => new Promise((y, n) => { const s = net.connect(event, '127.0.0.1', () => { s.destroy(); y(); }).on('error', n); });
      for (let n = 0; n < 3000; n++) { const t = process.hrtime.bigint(); await one(); took.push(Number(process.hrtime.bigint() - t) / 1000); }
      took.sort((a, b) => a - b); return { median: took[1500], p99: took[2970] };";
    for walls in
        [Walls::Off, Walls::Required, Walls::Off, Walls::Required, Walls::Off, Walls::Required]
    {
        let bench = Bench::set(|c| (c.walls, c.egress) = (walls, policy(&["127.0.0.1"]))).await;
        let isolate = bench.isolate("measured", code);
        value(bench.call(&isolate, port).await);
        println!("{walls:?}: {} µs", value(bench.call(&isolate, port).await));
    }
}
