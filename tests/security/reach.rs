//! Reach of code to other processes, the runtime itself, the wire.

use millrace_tests::{answer, endpoint};
use reqwest::Method;
use serde_json::json;

use crate::support::Field;

#[tokio::test]
async fn the_server_and_other_hosts_cannot_be_signalled_or_slowed() {
    let field = Field::start().await;
    for attack in [
        "process.kill(at.server, 'SIGKILL');",
        "process.kill(at.server, 'SIGSTOP');",
        "process.kill(at.server, 0);",
        "process.kill(-1, 'SIGKILL');",
        "process.kill(0, 'SIGKILL');",
    ] {
        field.refused(attack, &["EPERM"]).await;
    }
    field.refused("os.setPriority(at.server, 19);", &["ERR_SYSTEM_ERROR"]).await;
    // A debugger in the server would be reached by a signal, one of its own by a port.
    field.refused("process._debugProcess(at.server);", &["EPERM", "Error"]).await;
    let listen = "const { createServer } = await import('node:net'); return await new Promise((y, n) => createServer().on('error', n).listen(0, () => y('listens')));";
    field.refused(listen, &["EACCES"]).await;
    let local = "const { connect } = await import('node:net'); return await new Promise((y, n) => connect('/run/dbus/system_bus_socket').on('error', n).on('connect', () => y('in')));";
    field.refused(local, &["EPERM"]).await;
}

#[tokio::test]
async fn node_s_own_back_doors_are_shut() {
    let field = Field::start().await;
    let shut = &["EPERM", "EACCES"];
    let spawn = "const { Process } = process.binding('process_wrap'); const p = new Process(); const code = p.spawn({ file: '/bin/sh', args: ['sh', '-c', 'id'], envPairs: [], stdio: [{ type: 'ignore' }, { type: 'ignore' }, { type: 'ignore' }], cwd: '/', detached: true });";
    field.refused(&format!("{spawn} if (code < 0) {{ const e = new Error('spawn'); e.code = os.constants.errno.EPERM === -code ? 'EPERM' : 'EACCES'; throw e; }} return code;"), &["EPERM", "EACCES", "Error", "ERR_INVALID_MODULE"]).await;
    let sync = "const r = process.binding('spawn_sync').spawn({ file: '/bin/sh', args: ['sh', '-c', 'id'], envPairs: [], stdio: [{ type: 'ignore' }, { type: 'ignore' }, { type: 'ignore' }] }); if (r.error < 0) { const e = new Error('spawn'); e.code = 'EACCES'; throw e; } return JSON.stringify(r);";
    field.refused(sync, &["EPERM", "EACCES", "Error", "ERR_INVALID_MODULE"]).await;
    field
        .refused("return fs.writeSync(fs.openSync('/proc/self/mem', 'r+'), 'x', 4096);", shut)
        .await;
    field
        .refused(
            "const v8 = await import('node:v8'); return v8.writeHeapSnapshot(at.data + '/heap');",
            &["EACCES", "EPERM", "Error", "ERR_"],
        )
        .await;
    field.refused("process.setuid(0);", shut).await;
    // A debugger would let others of this machine in: it gets no port.
    let inspector = "const inspector = await import('node:inspector'); inspector.open(0, '127.0.0.1', false); const url = inspector.url(); if (url) return url; const e = new Error('no port'); e.code = 'EACCES'; throw e;";
    field.refused(inspector, shut).await;
    let report = field
        .send(&field.deploy("return process.report.writeReport(at.data + '/report.json');").await)
        .await
        .text;
    assert!(
        !field.server.data_dir().join("report.json").exists()
            && !field.server.data_dir().join("heap").exists(),
        "{report}"
    );
    // What the server was started with is not what it is started with.
    let said = field
        .send(&field.deploy("return Object.keys(process.env).sort().join();").await)
        .await
        .text;
    assert_eq!(said, "open: HOME,PD_COMPONENT,TMPDIR,TZ");
    assert_eq!(
        field.send(&field.deploy("return process.env.PATH;").await).await.text,
        "open: undefined"
    );
}

#[tokio::test]
async fn what_a_component_does_to_its_own_runtime_stays_there() {
    let field = Field::start().await;
    for attack in [
        "Object.prototype.polluted = 'yes'; Array.prototype.push = () => { throw new Error('mine'); };",
        "Map.prototype.get = () => undefined; Promise.prototype.then = () => {};",
        "globalThis.defineComponent = null; process.emit = () => {}; Buffer.allocUnsafe = () => Buffer.alloc(0);",
        "const { register } = await import('node:module'); register('data:text/javascript,export function load() { throw new Error(1) }'); await import(['data:text', 'javascript,1'].join('/'));",
        "process.removeAllListeners(); process.on('uncaughtException', () => {}); fs.closeSync(3);",
        "Object.defineProperty(Object.prototype, 'id', { get() { return 4711; }, set() {} }); Object.defineProperty(Object.prototype, 'then', { get() { return undefined; } });",
    ] {
        // Whether its run ends well is its own affair.
        let id = field.begin(attack, 1500).await;
        field
            .server
            .until("its run ends", &format!("/workflows/{id}/runs"), |l| {
                matches!(l["data"][0]["status"].as_str(), Some("failed" | "succeeded"))
            })
            .await;
        field.healthy().await;
    }
}

/// Runs of one component share a process. What one run changes there, the settlement of the next
/// one does without.
#[tokio::test]
async fn what_a_run_changes_of_the_language_harms_no_settlement() {
    let field = Field::start().await;
    for change in [
        "JSON.parse = () => ({ t: 'cancel', id: 1 }); JSON.stringify = () => '{\"t\":\"done\",\"id\":1,\"ok\":true}';",
        "Buffer.concat = () => Buffer.alloc(0); Buffer.allocUnsafe = () => Buffer.alloc(1); Buffer.byteLength = () => 0;",
        "Array.prototype.push = () => { throw new Error('mine'); };",
        "Object.prototype.error = 'mine'; Object.prototype.ok = false; Object.prototype.polluted = 'yes';",
        "String.prototype.slice = () => ''; Number.prototype.toString = () => 'x'; Date.now = () => NaN;",
    ] {
        let code = format!(
            "export default {{ name: 'changes', version: '1', props: {{ http: {{ type: '$.interface.http', customResponse: true }} }}, run(event) {{ const n = event.query.n; if (n === '0') {{ {change} }} this.$emit({{ n }}); this.http.respond({{ status: 200, body: 'n is ' + n }}); }} }};"
        );
        let source = field.server.source(&code, json!({})).await;
        for n in 0..3 {
            let sent =
                answer(field.server.raw(Method::GET, &format!("{}?n={n}", endpoint(&source))))
                    .await;
            assert_eq!(
                (sent.status, sent.text.as_str()),
                (200, format!("n is {n}").as_str()),
                "{change}"
            );
        }
        let id = source["id"].as_str().expect("an id");
        let emitted = field
            .server
            .until("all are settled", &format!("/sources/{id}/event_summaries?expand=event"), |l| {
                l["page_info"]["total_count"] == 3
            })
            .await;
        let emitted: Vec<_> = emitted["data"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|e| e["event"]["n"].clone())
            .collect();
        assert_eq!(emitted, ["2", "1", "0"], "{change}");
        field.healthy().await;
    }
}

#[tokio::test]
async fn forged_frames_end_the_run_that_sent_them() {
    let field = Field::start().await;
    let send = "const send = (text) => { const body = Buffer.from(text); const head = Buffer.alloc(4); head.writeUInt32LE(body.length); fs.writeSync(3, Buffer.concat([head, body])); };";
    for (frame, said) in [
        (
            "send(JSON.stringify({ t: 'emit', id: 4711, event: { forged: true }, meta: {} }));",
            "a call it was not given",
        ),
        (
            "send(JSON.stringify({ t: 'done', id: 4711, ok: true, result: null }));",
            "a call it was not given",
        ),
        ("send(JSON.stringify({ t: 'sudo' }));", "unknown type"),
        ("send(JSON.stringify({ t: 'loaded' }));", "loaded twice"),
        ("send('{');", "not of the protocol"),
        ("fs.writeSync(3, Buffer.from([0xff, 0xff, 0xff, 0x7f]));", "allowed are"),
        // Nobody waits for the rest until the run's time is over.
        (
            "fs.writeSync(3, Buffer.from([100]));",
            "the beginning of a frame, and its rest not within",
        ),
        (
            "fs.writeSync(3, Buffer.from([100, 0, 0, 0, 123]));",
            "the beginning of a frame, and its rest not within",
        ),
        ("send(JSON.stringify({ t: 'hello', protocol: 1 }));", "`hello` comes first"),
        ("send(JSON.stringify({ t: 'cancelled', id: 1 }));", "a call it was not given"),
        ("send('{\"t\":\"log\",\"id\":' + '['.repeat(100000));", "not of the protocol"),
        ("send(JSON.stringify({ t: 'answer', id: 1, ask: 1, ok: true }));", "unknown type"),
        (
            "for (let n = 1; n < 100; n++) send(JSON.stringify({ t: 'log', id: 4000 + n, text: 'for another run', ts: 0, level: 'log' }));",
            "a call it was not given",
        ),
    ] {
        let error = field
            .fails(&format!(
                "{send} {frame} await new Promise(() => setInterval(() => {{}}, 1000));"
            ))
            .await;
        assert_eq!(error["code"], "InternalFailure", "{error}");
        assert!(error["message"].as_str().is_some_and(|m| m.contains(said)), "{frame}: {error}");
    }
}

/// A host that says half a sentence is ended for it and not tried again and again, also while it
/// loads.
#[tokio::test]
async fn half_a_frame_ends_a_run_once_and_a_deploy() {
    let field = Field::start().await;
    let half = "fs.writeSync(3, Buffer.from([100, 0, 0, 0, 123]));";
    let id = field
        .begin(&format!("{half} await new Promise(() => setInterval(() => {{}}, 1000));"), 300_000)
        .await;
    let runs = field
        .server
        .until("its run fails", &format!("/workflows/{id}/runs?status=failed"), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    assert_eq!(
        (&runs["data"][0]["attempt"], &runs["data"][0]["error"]["code"]),
        (&json!(1), &json!("InternalFailure")),
        "{}",
        runs["data"][0]["error"]
    );
    let code = format!(
        "import fs from 'node:fs'; {half} await new Promise((done) => setTimeout(done, 3_600_000)); export default {{ name: 'x', version: '1', run() {{}} }};"
    );
    let refused = field.server.post("/sources", &json!({ "component_code": code })).await;
    assert!(
        refused.status == 422 && refused.text.contains("the beginning of a frame"),
        "{}",
        refused.text
    );
    field.healthy().await;
    // What is busy after it said much is not silent: its rest is written once it lets go of its
    // thread.
    let busy = "this.$emit({ text: 'x'.repeat(4 << 20) }); const until = Date.now() + 7000; while (Date.now() < until); return 'through';";
    let source = field
        .server
        .source(
            &format!("export default {{ name: 'busy', version: '1', run() {{ {busy} }} }};"),
            json!({}),
        )
        .await;
    let run = field
        .server
        .post(&format!("/sources/{}/run", source["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    assert_eq!(
        (&run["status"], &run["return_value"]),
        (&json!("succeeded"), &json!("through")),
        "{}",
        run["error"]
    );
}
