//! Unusual attacks: ports for datagrams, Node's debugger, notifications of files in unreadable
//! folders, other authors' code by its address, frames that ask in another's name.

use millrace_tests::{answer, endpoint};
use reqwest::Method;
use serde_json::json;

use crate::support::Field;

const CLOSED: &[&str] = &["EACCES", "EPERM"];

#[tokio::test]
async fn no_port_of_its_choice_is_had() {
    let field = Field::start().await;
    let port = field.server.url.rsplit(':').next().expect("a port").to_owned();
    let bind = "const dgram = await import('node:dgram'); const bind = (options, kind = 'udp4', more = {}) => new Promise((y, n) => { const s = dgram.createSocket({ type: kind, ...more }); s.on('error', n).bind(options, () => { y('bound to ' + s.address().port); s.close(); }); });";
    for attack in [
        format!("return bind({port});"),
        format!("return bind({port}, 'udp4', {{ reuseAddr: true }});"),
        format!("return bind({{ port: {port}, address: '127.0.0.1' }});"),
        format!("return bind({port}, 'udp6', {{ ipv6Only: true, reuseAddr: true }});"),
        "return bind(5353, 'udp4', { reuseAddr: true });".into(),
        "return bind(53);".into(),
        "return bind({ port: 0, address: '127.0.0.1' });".into(),
        "return bind({ port: 0, address: '::1' }, 'udp6');".into(),
        "return bind({ port: 0, address: '169.254.1.1' });".into(),
        "const net = await import('node:net'); return await new Promise((y, n) => net.connect({ port: 80, host: '192.0.2.1', localPort: 4711 }).on('error', n).on('connect', () => y('in')));".into(),
        "const http = await import('node:http'); return await new Promise((y, n) => http.get({ host: '192.0.2.1', localAddress: '127.0.0.1' }, () => y('in')).on('error', n));".into(),
        format!("const http = await import('node:http'); return await new Promise((y, n) => http.createServer().on('error', n).listen({port}, '127.0.0.1', () => y('listens')));"),
        format!("const http = await import('node:http'); return await new Promise((y, n) => http.createServer().on('error', n).listen({{ port: {port}, reusePort: true }}, () => y('listens')));"),
    ] {
        field.refused(&format!("{bind} {attack}"), CLOSED).await;
    }
    // What asks something of a server outside needs a port, and gets one.
    let said = field.send(&field.deploy(&format!("{bind} return bind(0);")).await).await.text;
    assert!(said.starts_with("open: bound to "), "{said}");
    field.healthy().await;
}

#[tokio::test]
async fn what_happens_in_folders_that_are_not_its_own_is_not_told() {
    let field = Field::start().await;
    let watch = |what: &str| {
        format!(
            "return await new Promise((y, n) => {{ const w = fs.watch({what}, (kind, name) => y(kind + name)); w.on('error', n); setTimeout(() => y('watched'), 2000); }});"
        )
    };
    for what in [
        "at.data",
        "at.data + '/hosts'",
        "at.data + '/artifacts'",
        "at.data + '/millrace.db-wal'",
        "'/'",
        "'/etc'",
    ] {
        field.refused(&watch(what), CLOSED).await;
    }
}

#[tokio::test]
async fn a_debugger_of_its_own_lets_nobody_in() {
    let field = Field::start().await;
    for wake in [
        "process.kill(process.pid, 'SIGUSR1');",
        "process._debugProcess(process.pid);",
        "const { Worker } = await import('node:worker_threads'); new Worker(\"process.kill(process.pid, 'SIGUSR1')\", { eval: true });",
        "const { Worker } = await import('node:worker_threads'); new Worker('setInterval(() => {}, 1000)', { eval: true, execArgv: ['--inspect=127.0.0.1:0'] });",
    ] {
        let attack = format!(
            "const inspector = await import('node:inspector'); {wake} for (let n = 0; n < 50; n++) {{ await new Promise((y) => setTimeout(y, 10)); if (inspector.url()) return inspector.url(); }} const e = new Error('no port'); e.code = 'EACCES'; throw e;"
        );
        field.refused(&attack, CLOSED).await;
    }
    // Its own code it may look at: it is its own.
    let own = "const { Session } = await import('node:inspector/promises'); const s = new Session(); s.connect(); return (await s.post('Runtime.evaluate', { expression: '6 * 7' })).result.value;";
    assert_eq!(field.send(&field.deploy(own).await).await.text, "open: 42");
    field.healthy().await;
}

#[tokio::test]
async fn code_and_keys_of_others_are_not_imported() {
    let field = Field::start().await;
    let artifacts = field.server.data_dir().join("artifacts");
    let names: Vec<_> = std::fs::read_dir(artifacts)
        .expect("reads")
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    let load = "const { createRequire, ...module } = await import('node:module'); const require = createRequire('/'); const load = (path) => import(['file:', path].join('//'));";
    for name in &names {
        field
            .refused(
                &format!("{load} return Object.keys(await load(at.data + '/artifacts/{name}'));"),
                &["EACCES", "EPERM", "ENOENT"],
            )
            .await;
    }
    for attack in [
        "return Object.keys(await load(at.data + '/credentials.json'));",
        "return require(at.data + '/credentials.json');",
        "return require(['/etc', 'passwd'].join('/'));",
        "return new TextDecoder().decode(await (await fs.openAsBlob(at.data + '/credentials.json')).arrayBuffer());",
        "const { Worker } = await import('node:worker_threads'); return await new Promise((y, n) => new Worker(at.data + '/credentials.json').on('error', n).on('exit', y));",
        "process.loadEnvFile(at.data + '/credentials.json'); return JSON.stringify(process.env);",
        "const { WASI } = await import('node:wasi'); new WASI({ version: 'preview1', preopens: { '/': at.data } }); return fs.readdirSync(at.data);",
        "return fs.globSync ? fs.readFileSync(at.data + '/credentials.json') : fs.readFileSync(at.data + '/credentials.json');",
    ] {
        let said = field.send(&field.deploy(&format!("{load} {attack}")).await).await.text;
        assert!(
            !said.starts_with("open:") && !said.contains("api_key"),
            "{attack}\n  gave: {said}"
        );
        field.healthy().await;
    }
    // What it asks its own process for holds nothing of the server's.
    let report = "const v8 = await import('node:v8'); fs.writeFileSync('/tmp/x', JSON.stringify(process.report.getReport())); return fs.readFileSync('/tmp/x', 'utf8');";
    let said = field.send(&field.deploy(report).await).await.text;
    assert!(said.starts_with("open:"), "{said}");
    for secret in [field.server.api_key.as_str(), "MILLRACE_"] {
        assert!(!said.contains(secret), "`{secret}` is in a component's report of itself");
    }
}

/// Each call may ask for what its own props name, whatever its process sends. It reads the answers
/// from the wire itself, before its runtime does.
#[tokio::test]
async fn frames_that_ask_in_another_s_name_get_nothing() {
    let field = Field::start().await;
    field.server.post("/data_stores", &json!({ "name": "own" })).await.data();
    field.server.post("/data_stores", &json!({ "name": "theirs" })).await.data();
    field
        .server
        .put("/data_stores/theirs/record", &json!({ "key": "k", "value": "kept" }))
        .await
        .data();
    // Its own call's number is guessed easily: they count from one.
    let ask = "const ask = (kind, payload) => {
        const body = Buffer.from(JSON.stringify({ t: 'ask', id: 1, ask: 9000, kind, payload })); const head = Buffer.alloc(4); head.writeUInt32LE(body.length); fs.writeSync(3, Buffer.concat([head, body]));
        for (let got = Buffer.alloc(0), part = Buffer.alloc(65536); ;) {
          try { got = Buffer.concat([got, part.subarray(0, fs.readSync(3, part))]); } catch (error) { if (error.code !== 'EAGAIN') throw error; }
          if (got.length >= 4 && got.length >= 4 + got.readUInt32LE()) return got.subarray(4).toString();
        } };";
    let said = async |kind: &str, payload: &str| {
        let code = format!(
            "import fs from 'node:fs'; export default {{ name: 'asks', version: '1', props: {{ http: {{ type: '$.interface.http', customResponse: true }}, own: {{ type: 'data_store' }} }},
               run() {{ {ask} this.http.respond({{ status: 200, body: ask('{kind}', {payload}) }}); }} }};"
        );
        let source = field.server.source(&code, json!({ "own": "own" })).await;
        answer(field.server.raw(Method::POST, &endpoint(&source)).json(&json!({}))).await.text
    };
    // Its own it may ask for: the frames are as they should be.
    let own = said("data_store.set", "{ store: 'own', key: 'k', value: 'mine' }").await;
    assert!(own.contains(r#""t":"answer""#) && own.contains(r#""ok":true"#), "{own}");
    for (kind, payload, code) in [
        ("data_store.get", "{ store: 'theirs', key: 'k' }", "Forbidden"),
        ("data_store.entries", "{ store: 'theirs' }", "Forbidden"),
        ("data_store.set", "{ store: 'theirs', key: 'k', value: 'taken' }", "Forbidden"),
        ("data_store.clear", "{ store: 'theirs' }", "Forbidden"),
        ("data_store.delete", "{ store: 'theirs', key: 'k' }", "Forbidden"),
        ("files.list", "{ store: 'theirs' }", "Forbidden"),
        ("flow.trigger", "{ workflow_id: 'p_000000', event: {} }", "NotFound"),
        ("platform.request", "{ method: 'GET', path: '//169.254.169.254/v1/x', headers: {} }", ""),
        ("platform.request", "{ method: 'GET', path: '/v1/../readyz', headers: {} }", ""),
        (
            "platform.request",
            "{ method: 'DELETE', path: '/v1/data_stores/theirs', headers: {} }",
            "",
        ),
        ("secrets.get", "{ name: 'x' }", "NotFound"),
    ] {
        let said = said(kind, payload).await;
        let is_refused = if code.is_empty() {
            said.contains("401") || said.contains("404") || said.contains(r#""ok":false"#)
        } else {
            said.contains(r#""ok":false"#) && said.contains(code)
        };
        assert!(
            is_refused && !said.contains("kept") && !said.contains("ready"),
            "{kind} {payload}: {said}"
        );
        let kept = answer(
            field
                .server
                .raw(Method::GET, "/v1/data_stores/theirs/record?key=k")
                .bearer_auth(&field.server.api_key),
        )
        .await;
        assert!(
            kept.status == 200 && kept.text.contains("kept"),
            "{kind} {payload}: {}",
            kept.text
        );
        field.healthy().await;
    }
}

/// What one component changes of the language, to catch what others hand through it, is its own
/// process's alone.
#[tokio::test]
async fn what_is_patched_catches_nothing_of_others() {
    let field = Field::start().await;
    let spy = "const seen = globalThis.seen ??= []; let busy = false; const see = (...all) => { if (busy || seen.length > 10000) return; busy = true; try { for (let n = 0; n < all.length; n++) seen[seen.length] = '' + all[n]; } catch {} busy = false; }; for (const [of, name] of [[JSON, 'stringify'], [JSON, 'parse'], [Array.prototype, Symbol.iterator], [Promise.prototype, 'then'], [Buffer.prototype, 'toString'], [Map.prototype, 'get'], [String.prototype, 'slice']]) { const was = of[name]; of[name] = function (...args) { see(args[0], this); return was.apply(this, args); }; }
      Object.prototype.toJSON = function () { see(Object.keys(this)); return this; };";
    // It spies from its load on: a run that leaves built-ins replaced ends its process.
    let code = format!(
        "{spy} export default {{ name: 'spy', version: '1', props: {{ http: {{ type: '$.interface.http', customResponse: true }} }}, run(event) {{
           if (event.body.spy) JSON.stringify(event.body.spy); this.http.respond({{ status: 200, body: process.pid + '|' + globalThis.seen.join('|') }}); }} }};"
    );
    let source = field.server.source(&code, json!({})).await;
    let tells = async |body: serde_json::Value| {
        let text =
            answer(field.server.raw(Method::POST, &endpoint(&source)).json(&body)).await.text;
        let (pid, seen) = text.split_once('|').unwrap_or_else(|| panic!("{text}"));
        (pid.to_owned(), seen.to_owned())
    };
    let (spy, _) = tells(json!({ "spy": "what-it-says-itself" })).await;
    let secret = "a-secret-of-the-neighbour-4711";
    let code = "export default { name: 'keeper', version: '1', props: { http: { type: '$.interface.http', customResponse: true }, token: { type: 'string', secret: true } }, run(e) { this.http.respond({ status: 200, body: JSON.stringify([this.token, process.pid]) }); } };";
    let keeper = field.server.source(code, json!({ "token": secret })).await;
    for _ in 0..5 {
        let got = answer(
            field.server.raw(Method::POST, &endpoint(&keeper)).json(&json!({ "token": secret })),
        )
        .await
        .json;
        assert_eq!(got[0], secret);
        assert_ne!(got[1].to_string(), spy, "they share a process");
    }
    let (again, seen) = tells(json!({})).await;
    assert_eq!(again, spy, "the process that spied is gone, and what it saw");
    assert!(seen.contains("what-it-says-itself"), "it sees nothing at all: {seen}");
    assert!(!seen.contains(secret), "{seen}");
    field.healthy().await;
}
