//! Memory, files, output, disk: what is used up is one's own.

use millrace_tests::{Server, answer, endpoint};
use reqwest::Method;
use serde_json::json;

use crate::support::Field;

#[tokio::test]
async fn memory_is_bounded_in_the_heap_and_beside_it() {
    let field = Field::start().await;
    let error =
        field.fails("const all = []; for (;;) all.push(new Array(100000).fill(1.5));").await;
    assert_eq!(error["code"], "OutOfMemory", "{error}");
    let beside = "const all = []; for (;;) all.push(Buffer.alloc(16 << 20, 1));";
    let ((), most) = most_of_hosts(&field, field.is_full(beside)).await;
    assert!((100..=HOST_MB).contains(&most), "a host had {most} MiB");
}

#[tokio::test]
async fn descriptors_are_bounded() {
    let field = Field::start().await;
    let open = "const all = []; try { for (;;) all.push(fs.openSync('/dev/null')); } catch (error) { if (all.length > 1024) return all.length; throw error; }";
    field.refused(open, &["EMFILE"]).await;
}

#[tokio::test]
async fn one_file_cannot_fill_the_disk() {
    let field = Field::start().await;
    // Sparse: the limit is met without two gigabytes being written.
    field.refused("const f = fs.openSync('/tmp/big', 'w'); fs.writeSync(f, 'x', 2 ** 31 + 10); return 'written';", &["EFBIG"]).await;
}

#[tokio::test]
async fn results_and_output_are_bounded() {
    let field = Field::start().await;
    let error = field
        .fails("for (;;) { console.log('x'.repeat(60000)); await new Promise(setImmediate); }")
        .await;
    assert_eq!(error["code"], "PayloadTooLarge", "{error}");
    assert!(error["message"].as_str().is_some_and(|m| m.contains("bytes of output")), "{error}");
}

#[tokio::test]
async fn output_faster_than_it_can_be_sent_costs_only_the_one_who_writes_it() {
    let field = Field::start().await;
    let error = field.fails("for (;;) console.log('x'.repeat(60000));").await;
    // It is kept in the host until it is sent: whichever limit is met first. The last is met where
    // the machine is too busy for the others.
    let message = error["message"].as_str().unwrap_or("");
    assert!(
        ["memory", "bytes of output", "the beginning of a frame and then nothing"]
            .iter()
            .any(|limit| message.contains(limit)),
        "{error}"
    );
}

/// Attacks that block their own process until their time is over, while others are served.
#[tokio::test]
async fn what_blocks_its_process_leaves_others_alone_until_its_time_is_over() {
    let field = Field::start().await;
    for attack in [
        "while (true) {}",
        "/^(a+)+$/.test('a'.repeat(60) + 'b');",
        "JSON.stringify({ toJSON() { while (true) {} } });",
        "const w = new Int32Array(new SharedArrayBuffer(4)); Atomics.wait(w, 0, 0);",
        "const spin = () => Promise.resolve().then(spin); await spin();",
        "process.nextTick(function again() { process.nextTick(again); }); await new Promise(() => {});",
        "const crypto = await import('node:crypto'); for (;;) crypto.pbkdf2Sync('a', 'b', 1e6, 64, 'sha512');",
    ] {
        let id = field.begin(attack, 1500).await;
        for _ in 0..5 {
            field.healthy().await;
        }
        let error = field.ends(&id).await;
        assert_eq!(error["code"], "Timeout", "{attack}: {error}");
    }
}

/// The most that any process of the server's hosts has of memory of its own while `attack` is under
/// way, MiB.
async fn most_of_hosts<T>(field: &Field, attack: impl Future<Output = T>) -> (T, u64) {
    const LOOK: std::time::Duration = std::time::Duration::from_millis(20);
    let server = field.server.pid();
    let look = || {
        let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children"))
            .unwrap_or_default();
        let others = std::fs::read_dir(format!("/proc/{server}/task")).expect("reads").flatten();
        let children: Vec<String> = others
            .map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default())
            .chain([children])
            .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        children.iter().filter_map(|pid| memory_of(pid, "RssAnon")).max().unwrap_or(0)
    };
    let (mut most, mut attack) = (0, std::pin::pin!(attack));
    loop {
        match tokio::time::timeout(LOOK, &mut attack).await {
            Ok(done) => return (done, most),
            Err(_) => most = most.max(look()),
        }
    }
}

/// Its heap of 256 MiB and what it may have beside: the kernel counts what is reserved, so what is
/// used stays below.
const HOST_MB: u64 = 768;

#[tokio::test]
async fn memory_of_webassembly_and_of_other_threads_is_bounded() {
    let field = Field::start().await;
    let before = memory(&field, "VmHWM");
    let bounded = |attack: &str, most: u64| {
        assert!((100..=HOST_MB).contains(&most), "a host had {most} MiB: {attack}")
    };
    for attack in [
        "const m = new WebAssembly.Memory({ initial: 1, maximum: 65536 }); for (;;) { m.grow(1024); new Uint8Array(m.buffer).fill(1); }",
        "const all = []; for (;;) { const b = new SharedArrayBuffer(64 << 20); new Uint8Array(b).fill(1); all.push(b); }",
        "const all = []; for (;;) { const m = new WebAssembly.Memory({ initial: 1000 }); new Uint8Array(m.buffer).fill(1); all.push(m); }",
    ] {
        let ((), most) = most_of_hosts(&field, field.is_full(attack)).await;
        bounded(attack, most);
    }
    // How exactly a process ends that is full is V8's affair; that it does, at which limit, and
    // says so, is ours.
    for attack in [
        "const { Worker } = await import('node:worker_threads'); await new Promise((y, n) => new Worker('const all = []; for (;;) all.push(new Array(1e5).fill(1.5))', { eval: true }).on('exit', y).on('error', n)); return 'exited';",
        "const m = new Map(); for (let n = 0; ; n++) m.set(n, new Array(1000).fill(n));",
        "const all = []; for (let s = 'x'.repeat(1 << 20); ;) { s += 'y'; all.push(Buffer.from(s).toString('latin1') + all.length); }",
    ] {
        let id = field.begin(attack, 240_000).await;
        let (error, most) = most_of_hosts(&field, field.ends(&id)).await;
        bounded(attack, most);
        let message = error["message"].as_str().unwrap_or("");
        let ends = [
            "limit of 256 MiB",
            "limit of 768 MiB",
            "Worker terminated due to reaching memory limit",
        ];
        assert!(ends.iter().any(|end| message.contains(end)), "{attack}: {error}");
    }
    let grown = memory(&field, "VmHWM").saturating_sub(before);
    assert!(grown < 100, "the server took {grown} MiB more");
}

/// Each worker of Node's takes a dozen MiB before it does anything: memory ends long before the
/// number of threads does.
#[tokio::test]
async fn workers_beyond_the_memory_of_their_process_are_told_which_limit_it_was() {
    let field = Field::start().await;
    let workers = |how: &str| {
        format!(
            "const {{ Worker }} = await import('node:worker_threads'); const all = []; for (let n = 0; n < 100; n++) all.push(new Promise((y, n) => new Worker('{how}', {{ eval: true }}).on('online', y).on('error', n))); await Promise.all(all); await new Promise(() => setInterval(() => {{}}, 1000));"
        )
    };
    for how in ["setInterval(() => {}, 1000)", "while (true) {}"] {
        let error = field.ends(&field.begin(&workers(how), 240_000).await).await;
        let message = error["message"].as_str().unwrap_or("");
        // Which of its parts meets the end first is Node's affair.
        assert!(
            message.contains("limit of 768 MiB")
                || message.contains("no thread could be started for a worker"),
            "{error}"
        );
        assert!(
            message.contains("use fewer workers") && message.contains("settings.memory_mb"),
            "{error}"
        );
    }
    field.healthy().await;
}

#[tokio::test]
async fn files_without_number_end_their_process() {
    let field = Field::start().await;
    let id = field.begin("for (let n = 0; ; n++) { fs.writeFileSync('/tmp/' + n, ''); if (n % 1000 === 0) await new Promise(setImmediate); }", 120_000).await;
    for _ in 0..5 {
        field.healthy().await;
    }
    let error = field.ends(&id).await;
    assert_eq!(error["code"], "PayloadTooLarge", "{error}");
    assert!(
        error["message"].as_str().is_some_and(|m| m.contains("more files than can be counted")),
        "{error}"
    );
    // What it left goes with it.
    let hosts = field.server.data_dir().join("hosts");
    let left = || {
        std::fs::read_dir(&hosts)
            .expect("reads")
            .flatten()
            .filter_map(|host| std::fs::read_dir(host.path().join("tmp")).ok())
            .map(Iterator::count)
            .max()
    };
    for _ in 0..600 {
        if left().unwrap_or(0) < 1000 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{:?} files are left", left());
}

/// To enter a folder far down takes as long as the way there: a look at few thousands of them would
/// take seconds, and what is written meanwhile is not seen.
#[tokio::test]
async fn folders_far_down_end_their_process_before_they_keep_the_server_busy() {
    let field = Field::start().await;
    let far_down = "process.chdir(os.tmpdir()); for (let n = 0; n < 1000; n++) { fs.mkdirSync('d'); process.chdir('d'); } for (let n = 0; n < 1500; n++) fs.mkdirSync('x' + n); await new Promise(() => setInterval(() => {}, 1000));";
    let error = field.ends(&field.begin(far_down, 60_000).await).await;
    assert_eq!(error["code"], "PayloadTooLarge", "{error}");
    // What can be counted goes on being so.
    let plain = "fs.mkdirSync('/tmp/' + 'd/'.repeat(50), { recursive: true }); for (let n = 0; n < 5000; n++) fs.mkdirSync('/tmp/d/d/d/d/x' + n); await new Promise((y) => setTimeout(y, 5000)); return 'counted';";
    assert_eq!(field.send(&field.deploy(plain).await).await.text, "open: counted");
}

#[tokio::test]
async fn a_hundred_thousand_sockets_are_not_to_be_had() {
    let field = Field::start().await;
    let datagrams = "const dgram = await import('node:dgram'); const all = []; for (let n = 0; n < 100000; n++) { const s = dgram.createSocket('udp4'); all.push(s); try { await new Promise((y, n) => s.on('error', n).bind(0, y)); } catch (error) { if (all.length > 1024) break; throw error; } } return all.length;";
    field.refused(datagrams, &["EMFILE"]).await;
    let streams = "const net = await import('node:net'); const all = []; let failed; for (let n = 0; n < 100000; n++) { all.push(net.connect(9, '192.0.2.1').on('error', (e) => { failed ??= e; })); if (n % 100 === 0) await new Promise(setImmediate); if (failed) throw failed; } return all.length;";
    field.refused(streams, &["EMFILE", "EACCES", "ENETUNREACH"]).await;
}

#[tokio::test]
async fn storms_of_output_and_events_end_their_run() {
    let field = Field::start().await;
    for (attack, said) in [
        (
            "for (;;) { console.log('x'.repeat(60000)); await new Promise(setImmediate); }",
            "bytes of output",
        ),
        (
            "for (;;) { process.stderr.write('y'.repeat(50) + '\\n'); if (Math.random() < 0.001) await new Promise(setImmediate); }",
            "bytes of output",
        ),
        (
            "for (let n = 0; ; n++) { $.send.emit({ raw_event: { n, text: 'x'.repeat(10000) } }); if (n % 100 === 0) await new Promise(setImmediate); }",
            "the limit",
        ),
    ] {
        let id = field.begin(attack, 60_000).await;
        for _ in 0..5 {
            field.healthy().await;
        }
        let error = field.ends(&id).await;
        assert!(
            error["message"].as_str().is_some_and(|m| m.contains(said) || m.contains("memory")),
            "{attack}: {error}"
        );
    }
}

/// Runs that have a place.
async fn running(field: &Field) -> u64 {
    let text = answer(field.server.raw(Method::GET, "/metrics").bearer_auth(&field.server.api_key))
        .await
        .text;
    let count = text
        .lines()
        .find_map(|line| line.strip_prefix("millrace_runs_running "))
        .unwrap_or_else(|| panic!("{text}"));
    count.parse().expect("a number")
}

/// Held by a test with a flood: two at once are more than a small machine serves, and nobody's
/// share can be told any more.
static FLOOD: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Of 256 places one source or workflow gets half, and an organization three quarters; the
/// neighbour has one.
#[tokio::test]
async fn a_flood_of_requests_leaves_places_to_others() {
    let _one = FLOOD.lock().await;
    let field = Field::start().await;
    let slow = field.deploy("await new Promise((y) => setTimeout(y, 400)); return 'slow';").await;
    let url = endpoint(&slow);
    let flood: Vec<_> = (0..700)
        .map(|_| tokio::spawn(field.server.raw(Method::POST, &url).json(&json!({})).send()))
        .collect();
    // Of any status: how much of it is under way at once depends on how busy the CPUs are, as
    // it gives way to others.
    let path = format!("/sources/{}/runs", slow["id"].as_str().expect("an id"));
    field
        .server
        .until("the flood is there", &path, |l| l["page_info"]["total_count"].as_u64() > Some(0))
        .await;
    let mut most = 0;
    for _ in 0..10 {
        // `/readyz` may say by now that the database answers late, which is true of a busy machine.
        field.healthy_neighbour().await;
        most = most.max(running(&field).await);
    }
    assert!(most <= 129, "{most} runs had a place");
    assert!(
        flood.iter().any(|one| !one.is_finished()),
        "others were not served before the flood was over"
    );
    for one in flood {
        let answer = one.await.expect("joins").expect("an answer");
        assert!(matches!(answer.status().as_u16(), 200 | 503), "{answer:?}");
        assert!(
            answer.status().as_u16() == 200 || answer.headers().contains_key("retry-after"),
            "{answer:?}"
        );
    }
    field.healthy().await;
}

/// However many workflows and sources an organization has: it gets three quarters of all places,
/// and another one's events go in turn with its own.
#[tokio::test]
async fn a_flood_of_one_organization_leaves_places_to_another() {
    let _one = FLOOD.lock().await;
    let field = Field::start().await;
    let other = field
        .server
        .post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" }))
        .await
        .data();
    let code = "export default { name: 'small', version: '1', props: { http: { type: '$.interface.http', customResponse: true } }, run(e) { this.http.respond({ status: 200, body: 'well' }); } };";
    let made = field
        .server
        .call_as(
            other["api_key"].as_str().expect("a key"),
            Method::POST,
            "/sources",
            Some(&json!({ "component_code": code })),
        )
        .await;
    let theirs = endpoint(&made.data());
    // All of them first: a deploy gives way to a flood, which could be over by then.
    let mut sources = Vec::new();
    for _ in 0..3 {
        sources.push(
            field.deploy("await new Promise((y) => setTimeout(y, 2000)); return 'slow';").await,
        );
    }
    let mut flood = Vec::new();
    for url in sources.iter().map(endpoint) {
        flood.extend(
            (0..300).map(|_| {
                tokio::spawn(field.server.raw(Method::POST, &url).json(&json!({})).send())
            }),
        );
    }
    for source in &sources {
        let path = format!("/sources/{}/runs", source["id"].as_str().expect("an id"));
        field
            .server
            .until("the flood is there", &path, |l| {
                l["page_info"]["total_count"].as_u64() > Some(0)
            })
            .await;
    }
    let mut most = 0;
    for _ in 0..10 {
        assert_eq!(
            answer(field.server.raw(Method::POST, &theirs).json(&json!({}))).await.text,
            "well"
        );
        most = most.max(running(&field).await);
    }
    assert!(most <= 193, "{most} runs had a place");
    assert!(
        flood.iter().any(|one| !one.is_finished()),
        "the other was not served before the flood was over"
    );
    for one in flood {
        assert!(matches!(
            one.await.expect("joins").expect("an answer").status().as_u16(),
            200 | 503
        ));
    }
    field.healthy().await;
}

/// A number of a process's memory, MiB; none where it is gone.
fn memory_of(pid: &str, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':')
        .trim()
        .trim_end_matches(" kB")
        .parse::<u64>()
        .ok()
        .map(|kb| kb >> 10)
}

/// A number of the server's memory, MiB.
pub(crate) fn memory(field: &Field, name: &str) -> u64 {
    memory_of(&field.server.pid().to_string(), name).expect("a number")
}

#[tokio::test]
async fn large_requests_without_number_are_refused_before_memory_grows() {
    let field = Field::start_with(&["--requests-memory-mb", "4"]).await;
    let slow = field.deploy("await new Promise((y) => setTimeout(y, 300)); return 'slow';").await;
    let url = endpoint(&slow);
    let before = memory(&field, "VmRSS");
    // 160 MB in all.
    let body = bytes::Bytes::from(vec![b'x'; 400_000]);
    let flood: Vec<_> = (0..400)
        .map(|_| tokio::spawn(field.server.raw(Method::POST, &url).body(body.clone()).send()))
        .collect();
    for _ in 0..10 {
        // Small requests are let in all the while.
        field.healthy().await;
    }
    let (mut served, mut refused) = (0, 0);
    for one in flood {
        // Who sends on after the refusal may see the connection end.
        let Ok(answer) = one.await.expect("joins") else { continue };
        match answer.status().as_u16() {
            200 => served += 1,
            503 => {
                assert!(answer.headers().contains_key("retry-after"), "{answer:?}");
                refused += 1;
            }
            other => panic!("{other}: {answer:?}"),
        }
    }
    assert!(served > 0 && refused > 0, "{served} served, {refused} refused");
    let grown = memory(&field, "VmHWM").saturating_sub(before);
    assert!(grown < 64, "the server took {grown} MiB more");
    field.healthy().await;
    // There is room again.
    let again = field.server.raw(Method::POST, &url).body(body).send().await.expect("an answer");
    assert_eq!(again.status().as_u16(), 200);
}

/// What is accepted and waits for its turn is in memory too, though its client was answered long
/// ago.
#[tokio::test]
async fn events_that_wait_are_bounded_in_bytes() {
    let field = Field::start_with(&["--requests-memory-mb", "4"]).await;
    let code = "export default { name: 'slow', version: '1', props: { http: '$.interface.http' }, async run() { await new Promise((y) => setTimeout(y, 5000)); } };";
    let slow = field.server.source(code, json!({})).await;
    let url = endpoint(&slow);
    let large = "x".repeat(60_000);
    let (mut accepted, mut refused) = (0, 0);
    // Those under way, which have a place, and two MiB of those that wait: no owner has more.
    while refused == 0 && accepted < 2_000 {
        let sent: Vec<_> = (0..16)
            .map(|_| {
                tokio::spawn(
                    field.server.raw(Method::POST, &url).json(&json!({ "large": large })).send(),
                )
            })
            .collect();
        for one in sent {
            let answer = one.await.expect("joins").expect("an answer");
            match answer.status().as_u16() {
                200 => accepted += 1,
                503 if answer.headers().contains_key("retry-after") => refused += 1,
                _ => panic!("{answer:?}"),
            }
        }
    }
    assert!(refused > 0, "{accepted} were accepted");
    field.healthy().await;
    // Nothing that was accepted is lost.
    let path = format!("/sources/{}/runs?status=succeeded", slow["id"].as_str().expect("an id"));
    field
        .server
        .until("all that was accepted", &path, |l| l["page_info"]["total_count"] == accepted)
        .await;
}

/// What the server itself has, by its own count. MiB.
async fn resident_mb(field: &Field) -> u64 {
    let counts =
        answer(field.server.raw(Method::GET, "/metrics").bearer_auth(&field.server.api_key))
            .await
            .text;
    let bytes = counts.lines().find_map(|line| {
        line.strip_prefix("process_resident_memory_bytes ")?.trim().parse::<u64>().ok()
    });
    bytes.expect("it is counted") >> 20
}

#[tokio::test]
async fn memory_that_large_requests_took_is_given_back() {
    let field = Field::start().await;
    let url = endpoint(&field.deploy("await new Promise((y) => setTimeout(y, 100)); return JSON.stringify(event.body).length;").await);
    let body = json!({ "x": "y".repeat(500 << 10) });
    let requests = (0..600).map(|_| answer(field.server.raw(Method::POST, &url).json(&body)));
    let answers = futures::future::join_all(requests).await;
    assert!(
        answers.iter().any(|answer| answer.status == 200)
            && answers.iter().all(|answer| matches!(answer.status, 200 | 503)),
        "{:?}",
        answers[0]
    );
    let most = memory(&field, "VmHWM");
    assert!(most > 200, "the flood took no more than {most} MiB");
    for _ in 0..600 {
        if resident_mb(&field).await < 200 {
            return field.healthy().await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("of {most} MiB the server has {} a minute later", resident_mb(&field).await);
}

/// What an author asks for has the operator's ceiling, also where it was deployed before there was
/// one.
#[tokio::test]
async fn a_workflow_has_no_more_memory_than_the_operator_allows() {
    let mut server = Server::start_with(&["--memory-max-mb", "2048"]).await;
    let body = |mb: u32| json!({ "steps": [{ "namespace": "a", "code": "import v8 from 'node:v8'; export default defineComponent({ run() { return Math.round(v8.getHeapStatistics().heap_size_limit / (1 << 20)); } });" }], "settings": { "name": "large", "memory_mb": mb } });
    let refused = server.post("/workflows", &body(2049)).await;
    assert_eq!(refused.refusal(), (422, "invalid_field"));
    assert!(
        refused.text.contains("--memory-max-mb") && refused.text.contains("2048"),
        "{}",
        refused.text
    );
    let made = server.post("/workflows", &body(1024)).await.data();
    server.terminate();
    server.set_args(&["--memory-max-mb", "512"]);
    server.launch().await;
    let path = format!("/workflows/{}", made["id"].as_str().expect("an id"));
    let run = server.post(&format!("{path}/test"), &json!({ "event": {} })).await.data();
    let heap = run["steps"][0]["exports"]["$return_value"].as_f64().unwrap_or(f64::MAX);
    assert!(heap < 700.0, "{heap} MiB: {run}");
    // The record can be written back as it was read.
    assert_eq!(server.put(&path, &server.get(&path).await.data()).await.status, 200);
}

#[tokio::test]
async fn a_workflow_runs_no_longer_than_the_operator_allows() {
    let mut server = Server::start_with(&["--timeout-max-seconds", "120"]).await;
    let step = json!({ "namespace": "a", "code": "export default defineComponent({ run({ $ }) { return Math.round(($.context.deadline - Date.now()) / 1000); } });" });
    let body =
        |ms: u64| json!({ "steps": [step], "settings": { "name": "long", "timeout_ms": ms } });
    let refused = server.post("/workflows", &body(120_001)).await;
    assert_eq!(refused.refusal(), (422, "invalid_field"));
    assert!(
        refused.text.contains("--timeout-max-seconds") && refused.text.contains("120000"),
        "{}",
        refused.text
    );
    let made = server.post("/workflows", &body(110_000)).await.data();
    let path = format!("/workflows/{}", made["id"].as_str().expect("an id"));
    let seconds = async |server: &Server| {
        server.post(&format!("{path}/test"), &json!({ "event": {} })).await.data()["steps"][0]["exports"]["$return_value"].as_i64()
    };
    assert!(seconds(&server).await.is_some_and(|left| (61..=110).contains(&left)));
    server.terminate();
    server.set_args(&["--timeout-max-seconds", "60"]);
    server.launch().await;
    assert!(seconds(&server).await.is_some_and(|left| (1..=60).contains(&left)));
    // Another setting can be changed, as what was asked for before stays.
    assert_eq!(server.put(&path, &json!({ "settings": { "memory_mb": 128 } })).await.status, 200);
    server.terminate();
    for wrong in ["59", "751"] {
        assert!(
            !Server::new_at_rest(&["--timeout-max-seconds", wrong]).try_launch().await,
            "{wrong}"
        );
    }
}

/// What a source keeps is held to its limit by the server: the runtime, which says so to code, can
/// be gone around.
#[tokio::test]
async fn what_raw_frames_write_to_a_source_s_store_is_held_to_its_limit() {
    let field = Field::start().await;
    let code = "import fs from 'node:fs';
        const send = (frame) => { const body = Buffer.from(JSON.stringify(frame)); const head = Buffer.alloc(4); head.writeUInt32LE(body.length); const all = Buffer.concat([head, body]);
          // The wire does not block: a large frame goes in parts.
          for (let at = 0; at < all.length;) try { at += fs.writeSync(3, all, at); } catch (error) { if (error.code !== 'EAGAIN') throw error; } };
        let calls = 0;
        export default { name: 's', version: '1', props: { db: '$.service.db', http: '$.interface.http' }, run(event) {
          calls += 1; const { keys, size } = event.body;
          for (const key of keys) send({ t: 'db', id: calls, key, value: 'x'.repeat(size) });
          this.$emit({ kept: ['a', 'b', 'c', 'last'].map((key) => this.db.get(key)?.length ?? 0) });
        } };";
    let source = field.server.source(code, json!({})).await;
    let runs = format!("/sources/{}/runs", source["id"].as_str().expect("an id"));
    // Each alone is small enough, together they are not.
    for (n, (keys, size, ends)) in [
        (vec!["a"], 50_000, "succeeded"),
        (vec!["b"], 50_000, "failed"),
        (vec!["c", "c", "c"], 9_000, "succeeded"),
        (vec!["last"], 5 << 20, "failed"),
        (vec![], 0, "succeeded"),
    ]
    .into_iter()
    .enumerate()
    {
        answer(
            field
                .server
                .raw(Method::POST, &endpoint(&source))
                .json(&json!({ "keys": keys, "size": size })),
        )
        .await;
        let list = field
            .server
            .until("it has ended", &runs, |l| {
                l["page_info"]["total_count"] == n + 1 && l["data"][0]["finished_at_ms"].is_i64()
            })
            .await;
        let run = &list["data"][0];
        assert_eq!(run["status"], ends, "{n}: {}", run["error"]);
        assert!(
            ends == "succeeded"
                || run["error"]["message"]
                    .as_str()
                    .is_some_and(|m| m.contains("$.service.db would hold")),
            "{}",
            run["error"]
        );
    }
    let kept = field.server.emitted(&source).await;
    assert_eq!(kept.last().expect("an event")["kept"], json!([50_000, 0, 9_000, 0]), "{kept:?}");
    field.healthy().await;
}

/// A run that starts its own workflow again and again fills the queue, and no more.
#[tokio::test]
async fn a_workflow_that_starts_itself_fills_its_queue_and_no_more() {
    let server = Server::start().await;
    let code = "export default defineComponent({ async run({ steps, $ }) {
      const said = { started: 0 };
      for (let n = 0; n < 30; n++) try { await $.flow.trigger(steps.trigger.event.body.self, { body: steps.trigger.event.body }); said.started += 1; } catch (error) { said.error = error.name + ': ' + error.message; }
      return said; } });";
    let body = json!({ "triggers": [{ "type": "http" }], "steps": [{ "namespace": "a", "code": code }], "settings": { "name": "again", "concurrency": 1, "queue_max": 3 } });
    let made = server.post("/workflows", &body).await.data();
    let path = format!("/workflows/{}", made["id"].as_str().expect("an id"));
    answer(server.raw(Method::POST, &endpoint(&made)).json(&json!({ "self": made["id"] }))).await;
    let runs = server
        .until("the first has run", &format!("{path}/runs?status=succeeded&limit=100"), |l| {
            l["data"].as_array().is_some_and(|all| !all.is_empty())
        })
        .await;
    let first = runs["data"].as_array().and_then(|all| all.last()).expect("a run")["steps"][0]["exports"]["$return_value"].clone();
    assert!(first["started"].as_i64().is_some_and(|count| count <= 3), "{first}");
    assert!(first["error"].as_str().is_some_and(|error| error.contains("queue_max")), "{first}");
    let waiting =
        server.get(&format!("{path}/runs?status=queued")).await.json["page_info"]["total_count"]
            .as_u64();
    assert!(waiting.is_some_and(|count| count <= 3), "{waiting:?}");
}

/// A call of a millisecond that leaves a loop behind, which lets the event loop turn: an idle
/// process is kept for minutes, this one is not.
#[tokio::test]
async fn what_a_call_leaves_behind_uses_no_cpu_for_minutes() {
    let field = Field::start().await;
    let burns = "const burn = () => { for (const end = Date.now() + 50; Date.now() < end; ); setTimeout(burn, 1); }; setTimeout(burn, 1); return 'gone on';";
    let source = field.deploy(burns).await;
    assert_eq!(field.send(&source).await.text, "open: gone on");
    let logs = format!("/sources/{}/logs", source["id"].as_str().expect("an id"));
    let logs = field
        .server
        .until("its log says that it was ended", &logs, |l| {
            l["data"].as_array().is_some_and(|all| !all.is_empty())
        })
        .await;
    // It has five seconds, by the CPU's count, or by the clock where it keeps the next run
    // from its process.
    assert!(logs["data"].to_string().contains("was ended; await it in the run"), "{logs}");
    field.healthy().await;
}
