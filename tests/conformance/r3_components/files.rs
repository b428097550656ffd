//! `dir` props: file stores that code reads and writes by path, and that `sync` mirrors with /tmp
//! (reference 3; facts 4.8; registry facts 2.4; docs/reference/choices.md).

use millrace_tests::cli::Shell;
use millrace_tests::{Answer, Client, Server, answer, id};
use reqwest::Method;
use serde_json::{Value, json};

/// A workflow whose steps have the props `dir` (of this mode) and `store`; `bodies` are those of
/// `run`.
async fn workflow(server: &Client, mode: &str, dir: &str, bodies: &[&str]) -> Value {
    let steps: Vec<Value> = bodies
        .iter()
        .enumerate()
        .map(|(n, body)| {
            let props =
                format!("{{ dir: {{ type: 'dir', accessMode: '{mode}', sync: true, optional: true }}, store: {{ type: 'data_store', optional: true }} }}");
            let code = format!("import fs from 'node:fs'; export default defineComponent({{ props: {props}, async run({{ steps, $ }}) {{ {body} }} }});");
            json!({ "namespace": format!("s{n}"), "code": code, "props": { "dir": dir } })
        })
        .collect();
    server
        .post("/workflows", &json!({ "triggers": [], "steps": steps, "settings": { "name": "w" } }))
        .await
        .data()
}

/// What its last step gives for an event, or the error.
async fn run(server: &Client, workflow: &Value, event: Value) -> Value {
    let run = server
        .post(&format!("/workflows/{}/test", id(workflow)), &json!({ "event": event }))
        .await
        .data();
    let last = run["steps"].as_array().and_then(|steps| steps.last()).cloned().unwrap_or_default();
    if run["status"] == "succeeded" {
        last["exports"]["$return_value"].clone()
    } else {
        run["error"].clone()
    }
}

async fn put(server: &Client, store: &str, path: &str, bytes: Vec<u8>) -> Answer {
    answer(
        server
            .raw(Method::PUT, &format!("/v1/file_stores/{store}/files"))
            .query(&[("path", path)])
            .bearer_auth(&server.api_key)
            .body(bytes),
    )
    .await
}

async fn content(server: &Client, store: &str, path: &str) -> Option<Vec<u8>> {
    let request = server
        .raw(Method::GET, &format!("/v1/file_stores/{store}/files/content"))
        .query(&[("path", path)])
        .bearer_auth(&server.api_key);
    let response = request.send().await.expect("answers");
    if response.status() == 404 {
        None
    } else {
        Some(response.bytes().await.expect("a body").to_vec())
    }
}

async fn paths(server: &Client, store: &str) -> Vec<String> {
    let list = server.get(&format!("/file_stores/{store}/files?limit=100")).await.data();
    list.as_array()
        .expect("a list")
        .iter()
        .map(|file| file["path"].as_str().expect("a path").to_owned())
        .collect()
}

#[tokio::test]
async fn r3_dir_files_of_a_store_are_in_tmp_and_what_is_written_there_is_in_the_store() {
    let server = Server::shared().await;
    let large: Vec<u8> = (0..2_500_000_u32).map(|n| (n % 251) as u8).collect();
    put(&server, "reports", "in/large.bin", large.clone()).await.data();
    put(&server, "reports", "n.txt", b"1".to_vec()).await.data();
    let first = "const large = fs.readFileSync('/tmp/in/large.bin'); const n = Number(fs.readFileSync('/tmp/n.txt', 'utf8')) + 1;
        fs.writeFileSync('/tmp/n.txt', String(n)); fs.mkdirSync('/tmp/out/deep', { recursive: true }); fs.writeFileSync('/tmp/out/deep/copy.bin', large.reverse());
        fs.writeFileSync('/tmp/empty', ''); fs.symlinkSync('/tmp/n.txt', `/tmp/link-${n}`); return [n, this.dir, Object.keys(this)];";
    let made = workflow(&server, "read-write", "reports", &[first]).await;
    assert_eq!(run(&server, &made, json!({})).await, json!([2, "reports", ["dir"]]));
    assert_eq!(
        paths(&server, "reports").await,
        ["empty", "in/large.bin", "n.txt", "out/deep/copy.bin"]
    );
    assert_eq!(
        content(&server, "reports", "out/deep/copy.bin").await,
        Some(large.into_iter().rev().collect())
    );
    assert_eq!(
        (content(&server, "reports", "n.txt").await, content(&server, "reports", "empty").await),
        (Some(b"2".to_vec()), Some(Vec::new()))
    );
    // The next run finds what this one left, also what others put there since.
    assert_eq!(run(&server, &made, json!({})).await[0], 3);
    put(&server, "reports", "n.txt", b"41".to_vec()).await.data();
    assert_eq!(run(&server, &made, json!({})).await[0], 42);
    // A source has them as well.
    let code = "import fs from 'node:fs'; export default { name: 's', version: '1', props: { dir: { type: 'dir', accessMode: 'read-write', sync: true } },
      async run() { fs.writeFileSync('/tmp/source.txt', fs.readFileSync('/tmp/n.txt')); } };";
    let source = server.source(code, json!({ "dir": "reports" })).await;
    server.run_now(&source, json!({})).await;
    assert_eq!(content(&server, "reports", "source.txt").await, Some(b"42".to_vec()));
}

#[tokio::test]
async fn r3_dir_access_modes_and_steps_without_a_value() {
    let server = Server::shared().await;
    put(&server, "a", "old.txt", b"old".to_vec()).await.data();
    let body = "const there = fs.existsSync('/tmp/old.txt'); fs.writeFileSync(`/tmp/new-${steps.trigger.event.n}.txt`, 'new'); return there;";
    let reads = workflow(&server, "read", "a", &[body]).await;
    assert_eq!(
        (run(&server, &reads, json!({ "n": 1 })).await, paths(&server, "a").await),
        (json!(true), vec!["old.txt".to_owned()])
    );
    // Code that walks /tmp finds the store's files and nothing else.
    let walks = workflow(&server, "read", "a", &["return fs.readdirSync('/tmp');"]).await;
    assert_eq!(run(&server, &walks, json!({})).await, json!(["old.txt"]));
    let writes = workflow(&server, "write", "a", &[body]).await;
    assert_eq!(
        (run(&server, &writes, json!({ "n": 2 })).await, paths(&server, "a").await),
        (json!(false), vec!["new-2.txt".to_owned(), "old.txt".to_owned()])
    );
    // Without a value nothing is mirrored; an expression may name the store.
    let none = workflow(&server, "read-write", "", &[body]).await;
    assert_eq!(
        (run(&server, &none, json!({ "n": 3 })).await, paths(&server, "a").await.len()),
        (json!(false), 2)
    );
    let named = workflow(&server, "read-write", "{{steps.trigger.event.store}}", &[body]).await;
    assert_eq!(run(&server, &named, json!({ "n": 4, "store": "b" })).await, json!(false));
    assert_eq!(
        (paths(&server, "b").await, paths(&server, "a").await.len()),
        (vec!["new-4.txt".to_owned()], 2)
    );
    let refused = run(&server, &named, json!({ "n": 5, "store": "../a" })).await;
    assert_eq!(refused["code"], "RangeError", "{refused}");
    assert!(refused["message"].as_str().is_some_and(|words| words.contains("`../a`")), "{refused}");
}

#[tokio::test]
async fn r3_dir_a_step_that_fails_leaves_the_store_as_it_was_and_one_that_exits_does_not() {
    let server = Server::shared().await;
    let body = "fs.writeFileSync('/tmp/a.txt', steps.trigger.event.how); if (steps.trigger.event.how === 'throw') throw new Error('no'); $.flow.exit('enough');";
    let made = workflow(&server, "read-write", "a", &[body]).await;
    run(&server, &made, json!({ "how": "throw" })).await;
    assert_eq!(content(&server, "a", "a.txt").await, None);
    run(&server, &made, json!({ "how": "exit" })).await;
    assert_eq!(content(&server, "a", "a.txt").await, Some(b"exit".to_vec()));
}

#[tokio::test]
async fn r3_dir_what_a_killed_run_wrote_is_not_in_the_store_until_it_ran_to_its_end() {
    let mut server = Server::start().await;
    let marks = server.post("/data_stores", &json!({ "name": "marks" })).await.data();
    put(&server, "a", "in", b"x".to_vec()).await.data();
    let body = "const attempt = (await this.store.get('attempt') ?? 0) + 1; fs.writeFileSync('/tmp/out', `${fs.readFileSync('/tmp/in')} ${attempt}`);
        fs.writeFileSync(`/tmp/of-attempt-${attempt}`, ''); await this.store.set('attempt', attempt); if (attempt === 1) await new Promise(() => {});";
    let code = format!(
        "import fs from 'node:fs'; export default defineComponent({{ props: {{ dir: {{ type: 'dir', accessMode: 'read-write', sync: true }}, store: {{ type: 'data_store' }} }},
           async run() {{ {body} }} }});"
    );
    let steps =
        json!([{ "namespace": "s", "code": code, "props": { "dir": "a", "store": marks["id"] } }]);
    let made =
        server.post("/workflows", &json!({ "triggers": [{ "type": "http" }], "steps": steps, "settings": { "name": "w", "auto_deploy": true } })).await.data();
    answer(
        server
            .raw(Method::POST, made["triggers"][0]["endpoint_url"].as_str().expect("an endpoint")),
    )
    .await;
    server
        .until("the mark", "/data_stores/marks/keys", |keys| keys["page_info"]["total_count"] == 1)
        .await;
    server.kill();
    server.launch().await;
    server
        .until("the files", "/file_stores/a/files", |files| files["page_info"]["total_count"] != 1)
        .await;
    // Those of the attempt that ended, all at once, and none of the one that was killed.
    assert_eq!(paths(&server, "a").await, ["in", "of-attempt-2", "out"]);
    assert_eq!(content(&server, "a", "out").await, Some(b"x 2".to_vec()));
}

#[tokio::test]
async fn r3_dir_files_are_put_listed_fetched_and_deleted() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shell.write(&[("june.csv", "a,b")]);
    let file = shell.path("june.csv");
    shell.run(&["files", "put", "reports", &file.to_string_lossy()]).ok();
    let put_again = shell
        .run(&["--json", "files", "put", "reports", &file.to_string_lossy(), "2026/ü june.csv"])
        .json();
    assert_eq!((&put_again["path"], &put_again["size"]), (&json!("2026/ü june.csv"), &json!(3)));
    assert!(shell.run(&["files", "list"]).ok().contains("reports  2      6"));
    assert!(shell.run(&["files", "list", "reports"]).ok().contains("2026/ü june.csv"));
    assert_eq!(shell.run(&["files", "get", "reports", "june.csv"]).ok(), "a,b");
    let local = shell.path("local.csv");
    shell.run(&["files", "get", "reports", "june.csv", "--output", &local.to_string_lossy()]).ok();
    assert_eq!(shell.read("local.csv"), "a,b");
    let page = server.get("/file_stores/reports/files?limit=1").await.json;
    assert_eq!(
        (&page["page_info"]["total_count"], &page["page_info"]["end_cursor"]),
        (&json!(2), &json!("2026/ü june.csv"))
    );
    let back = server.get("/file_stores/reports/files?before=june.csv").await;
    assert_eq!(
        (back.refusal(), &back.json["details"]["field"]),
        ((422, "unknown_field"), &json!("before")),
        "it goes forward only"
    );
    shell.run(&["files", "delete", "reports", "june.csv"]).ok();
    assert!(
        shell.run(&["files", "get", "reports", "june.csv"]).fails(1).contains("reports/june.csv")
    );
    shell.run(&["files", "delete", "reports"]).ok();
    assert!(shell.run(&["files", "delete", "reports"]).fails(1).contains("reports"));
    assert_eq!(server.get("/file_stores").await.data(), json!([]));
}

#[tokio::test]
async fn r3_dir_names_paths_and_sizes_that_cannot_be_are_refused_and_leave_nothing() {
    let server = Server::shared().await;
    for path in ["../up", "/a", "a//b", "a/", "x\ny"] {
        let refused = put(&server, "a", path, b"x".to_vec()).await;
        assert_eq!(
            (refused.status, refused.json["details"]["field"].as_str()),
            (422, Some("path")),
            "{path:?}: {}",
            refused.text
        );
    }
    assert_eq!(put(&server, "a%20b", "x", b"x".to_vec()).await.json["details"]["field"], "store");
    assert_eq!(put(&server, "a", "", b"x".to_vec()).await.status, 422);
    assert_eq!(put(&server, "a", "x", vec![0; (64 << 20) + 1]).await.refusal(), (413, "too_large"));
    assert_eq!(server.get("/file_stores").await.data(), json!([]));
    // Too much of a run is its error, and none of it is kept.
    let made = workflow(
        &server,
        "read-write",
        "a",
        &["for (let n = 0; n <= 1000; n++) fs.writeFileSync(`/tmp/f${n}`, '');"],
    )
    .await;
    let refused = run(&server, &made, json!({})).await;
    assert_eq!(refused["code"], "QuotaExceeded", "{refused}");
    assert_eq!(server.get("/file_stores").await.data(), json!([]));
}

/// As sources with an "Include Link" do: each attachment is stored, in the `deploy` hook as well,
/// and its event has a temporary address.
const ATTACHMENTS: &str =
    "import { Readable } from 'node:stream'; export default { name: 'attachments', key: 'attachments', version: '0.0.1', type: 'source', dedupe: 'unique',
  props: { includeLink: { type: 'boolean', default: false, optional: true }, dir: { type: 'dir', accessMode: 'write', optional: true }, db: '$.service.db' },
  hooks: { async deploy() { await this.emitFile({ id: 'first', name: 'a b/ü.csv', type: 'text/csv', text: 'x,y' }); } },
  methods: {
    async stash({ id, name, type, text }) {
      const buffer = Buffer.from(text);
      const file = await this.dir.open(`${id}/${name}`).fromReadableStream(Readable.from(buffer), type, buffer.length);
      return await file.withoutPutUrl().withGetUrl();
    },
    async emitFile(item) {
      if (this.includeLink) item.file = await this.stash(item);
      this.$emit(item, { id: item.id, summary: item.name, ts: Date.now() });
    },
  },
  async run(event) { for (const item of event.items) await this.emitFile(item); } };";

#[tokio::test]
async fn r3_dir_a_source_stores_files_by_path_and_emits_their_temporary_addresses() {
    let start = 1_767_225_600_000;
    let server = Server::start_at(start, &[]).await;
    // Nobody chose a store: the source has one of its own.
    let source = server.source(ATTACHMENTS, json!({ "includeLink": true })).await;
    let large = "0123456789abcdef".repeat(160_000);
    let items = json!([{ "id": "second", "name": "", "type": "text/html", "text": "<script>" }, { "id": "third", "name": "large.bin", "text": large }]);
    server.run_now(&source, json!({ "items": items })).await;
    let own = id(&source);
    assert_eq!(paths(&server, own).await, ["first/a b/ü.csv", "second", "third/large.bin"]);
    let files: Vec<Value> =
        server.emitted(&source).await.iter().map(|event| event["file"].clone()).collect();
    assert_eq!(
        (&files[0]["path"], &files[0]["type"], &files[0]["s3Key"]),
        (&json!("first/a b/ü.csv"), &json!("text/csv"), &json!(format!("{own}/first/a b/ü.csv")))
    );
    assert_eq!((&files[1]["path"], &files[2]["type"]), (&json!("second"), &Value::Null));
    let address = |file: &Value| file["get_url"].as_str().expect("an address").to_owned();
    let fetch = async |address: &str| {
        let response = server.raw(Method::GET, address).send().await.expect("answers");
        let header = |name: &str| {
            response
                .headers()
                .get(name)
                .map(|value| value.to_str().expect("ASCII").to_owned())
                .unwrap_or_default()
        };
        let headers = (
            header("content-type"),
            header("content-disposition"),
            header("content-security-policy"),
        );
        (response.status().as_u16(), headers, response.text().await.expect("a body"))
    };
    let (status, (kind, disposition, _), text) = fetch(&address(&files[0])).await;
    assert_eq!(
        (status, kind.as_str(), disposition.as_str(), text.as_str()),
        (200, "text/csv", "attachment; filename*=UTF-8''%C3%BC.csv", "x,y")
    );
    assert!(
        address(&files[0]).ends_with("/%C3%BC.csv"),
        "clients name the file by its address: {}",
        files[0]
    );
    // Whatever it is, a browser keeps it and never shows it as a page of this server.
    let (_, (kind, disposition, policy), _) = fetch(&address(&files[1])).await;
    assert!(
        kind == "text/html" && disposition.starts_with("attachment") && policy.contains("sandbox"),
        "{kind} {disposition} {policy}"
    );
    let (_, (kind, ..), text) = fetch(&address(&files[2])).await;
    assert_eq!((kind.as_str(), text == large), ("application/octet-stream", true));
    // An address is good as it was made, for 30 minutes.
    let (first, second) = (address(&files[0]), address(&files[1]));
    let renamed = first.replace("%C3%BC.csv", "other.csv");
    let later = first.replace(&(start + 1_800_000).to_string(), &(start + 3_600_000).to_string());
    let of_another = format!("{}/second", first.rsplit_once('/').expect("a path").0);
    assert_ne!(later, first);
    for wrong in [&renamed, &later, &of_another, &second.replace("/second", "")] {
        assert_eq!(fetch(wrong).await.0, 404, "{wrong}");
    }
    server.set_clock(start + 30 * 60_000 - 1);
    assert_eq!(fetch(&first).await.0, 200);
    server.set_clock(start + 30 * 60_000);
    assert_eq!(fetch(&first).await.0, 410);
    // A store that is chosen, and no link where none is asked for.
    let chosen =
        server.source(ATTACHMENTS, json!({ "includeLink": true, "dir": "attachments" })).await;
    assert_eq!(
        (paths(&server, "attachments").await, server.emitted(&chosen).await.len()),
        (vec!["first/a b/ü.csv".to_owned()], 1)
    );
    let plain = server.source(ATTACHMENTS, json!({})).await;
    assert_eq!(server.emitted(&plain).await[0]["file"], Value::Null);
    // Its own store goes with a source, one that was chosen stays.
    for gone in [&source, &chosen] {
        assert_eq!(server.delete(&format!("/sources/{}", id(gone))).await.status, 200);
    }
    let names: Vec<Value> = server
        .get("/file_stores")
        .await
        .data()
        .as_array()
        .expect("a list")
        .iter()
        .map(|store| store["name"].clone())
        .collect();
    assert_eq!(names, ["attachments"]);
}

#[tokio::test]
async fn r3_dir_code_opens_lists_reads_writes_and_deletes_files() {
    let server = Server::shared().await;
    put(&server, "a", "old/deep/x.txt", b"old".to_vec()).await.data();
    let step = |mode: &str, body: &str| {
        format!(
            "import fs from 'node:fs'; import {{ Readable }} from 'node:stream'; import {{ pipeline }} from 'node:stream/promises';
             export default defineComponent({{ props: {{ dir: {{ type: 'dir', accessMode: '{mode}', optional: true }} }}, async run({{ steps, $ }}) {{ {body} }} }});"
        )
    };
    let run_steps = async |steps: &[(&str, &str)], dir: &str| {
        let steps: Vec<Value> = steps
            .iter()
            .enumerate()
            .map(|(n, (mode, body))| json!({ "namespace": format!("s{n}"), "code": step(mode, body), "props": { "dir": dir } }))
            .collect();
        let made = server
            .post(
                "/workflows",
                &json!({ "triggers": [], "steps": steps, "settings": { "name": "w" } }),
            )
            .await
            .data();
        run(&server, &made, json!({})).await
    };
    let writes = "fs.writeFileSync('/tmp/local.txt', 'local');
        await this.dir.open('/from/file.txt').fromFile('/tmp/local.txt', 'text/plain');
        await pipeline(Readable.from(['a', Buffer.from('b'), new Uint8Array([99])]), this.dir.open('from/stream.txt').createWriteStream('text/plain'));
        await this.dir.open('from/web.txt').fromReadableStream(new Blob(['web']).stream());
        await this.dir.open('from/url.txt').fromUrl(await this.dir.open('from/web.txt').toUrl()).catch((e) => $.export('closed', e.message));
        return { file: this.dir.open('from/stream.txt'), dir: this.dir, text: `${this.dir}` };";
    let reads = "const { file, dir, text } = steps.s0.$return_value; const all = []; const below = [];
        for await (const e of this.dir.dir()) all.push([e.name, e.path, e.isFile(), e.isDirectory()]);
        for await (const e of this.dir.dir('from')) below.push([e.name, e.path, e.isFile(), e.size, e.modifiedAt instanceof Date]);
        await this.dir.open('old/deep/x.txt').toFile('/tmp/x.txt');
        const streamed = []; for await (const chunk of await this.dir.open('from/file.txt').createReadStream()) streamed.push(chunk);
        // As a promise of a stream, as one at once, and by what a folder lists.
        const promised = await this.dir.open('from/file.txt').createReadStream().then((stream) => stream.toArray()).finally(() => {});
        const piped = []; await pipeline(this.dir.open('from/file.txt').createReadStream(), async (chunks) => { for await (const chunk of chunks) piped.push(chunk); });
        const written = await this.dir.open('late.txt').createWriteStream(); await pipeline(Readable.from(['late']), written);
        const lengths = []; for await (const e of this.dir.dir('from')) if (e.file && e.name === 'file.txt') lengths.push((await e.file.toBuffer()).length);
        const each = [Buffer.concat(promised).toString(), Buffer.concat(piped).toString(), (await this.dir.open('late.txt').toBuffer()).toString(), lengths, this.dir.open('late.txt').toJSON().path];
        await this.dir.open('late.txt').delete();
        const opened = (await this.dir.openDescriptor(file).toBuffer()).toString() + await this.dir.openDescriptor(file).toEncodedString('base64', 1);
        await this.dir.open('from/web.txt').delete(); await this.dir.open('from/web.txt').delete();
        const missing = await this.dir.open('from/web.txt').toBuffer().catch((e) => `${e.name}: ${e.message}`);
        return { all, below: below.filter(([name]) => name !== 'url.txt'), x: fs.readFileSync('/tmp/x.txt', 'utf8'), streamed: Buffer.concat(streamed).toString(), each, opened, missing, dir, text, tmp: fs.readdirSync('/tmp').length };";
    let got = run_steps(&[("read-write", writes), ("read-write", reads)], "a").await;
    assert_eq!(
        got["all"],
        json!([["from", "from", false, true], ["old", "old", false, true]]),
        "{got}"
    );
    assert_eq!(
        got["below"],
        json!([
            ["file.txt", "from/file.txt", true, 5, true],
            ["stream.txt", "from/stream.txt", true, 3, true],
            ["web.txt", "from/web.txt", true, 3, true]
        ])
    );
    assert_eq!(
        (&got["x"], &got["streamed"], &got["opened"]),
        (&json!("old"), &json!("local"), &json!("abcYmM="))
    );
    assert_eq!(got["each"], json!(["local", "local", "late", [5], "late.txt"]), "{got}");
    assert_eq!(got["missing"], "NotFound: the file store `a` has no file `from/web.txt`");
    assert_eq!((&got["dir"], &got["text"]), (&json!("a"), &json!("a")));
    // Without `sync` nothing is mirrored: what code wrote to /tmp is no file of the store, and the
    // store's files are not in /tmp.
    assert!(!paths(&server, "a").await.contains(&"local.txt".to_owned()), "{got}");
    let refused = run_steps(
        &[("read", "await this.dir.open('x').fromReadableStream(Readable.from(['x']));")],
        "a",
    )
    .await;
    assert!(
        refused["message"].as_str().is_some_and(|words| words.contains("accessMode: \"read\"")),
        "{refused}"
    );
    // A stream that the store refuses says so, and does not wait for a reader.
    let large = "await pipeline(Readable.from(Array(64).fill(Buffer.alloc(4096))), this.dir.open('x').createWriteStream());";
    let refused = run_steps(&[("read", large)], "a").await;
    assert!(
        refused["message"].as_str().is_some_and(|words| words.contains("accessMode: \"read\"")),
        "{refused}"
    );
    for (path, code) in [("../up", "RangeError"), ("", "RangeError"), ("a\\nb", "RangeError")] {
        let refused = run_steps(
            &[(
                "write",
                &format!("await this.dir.open('{path}').fromReadableStream(Readable.from(['x']));"),
            )],
            "a",
        )
        .await;
        assert_eq!(refused["code"], code, "{path}: {refused}");
    }
    let broken = "await this.dir.open('broken').fromReadableStream(Readable.from((function* () { yield 'a'; throw new Error('cut off'); })()));";
    assert_eq!(run_steps(&[("write", broken)], "a").await["message"], "cut off");
    assert!(!paths(&server, "a").await.contains(&"broken".to_owned()));
    // A step without a store: none where the prop is optional, else what is asked of it fails with
    // words.
    assert_eq!(run_steps(&[("write", "return typeof this.dir;")], "").await, "undefined");
    let needs = "import { Readable } from 'node:stream'; export default defineComponent({ props: { dir: { type: 'dir', accessMode: 'write' } }, async run() { await this.dir.open('x').toUrl(); } });";
    let steps = json!([{ "namespace": "s", "code": needs, "props": {} }]);
    let made = server
        .post("/workflows", &json!({ "triggers": [], "steps": steps, "settings": { "name": "w" } }))
        .await
        .data();
    let refused = run(&server, &made, json!({})).await;
    assert!(
        refused["message"]
            .as_str()
            .is_some_and(|words| words.contains("`dir` names no file store")),
        "{refused}"
    );
}

#[tokio::test]
async fn r3_dir_a_stream_that_breaks_before_it_is_read_is_an_error_of_the_call() {
    let server = Server::shared().await;
    let code = "import fs from 'fs'; import { Readable } from 'stream';
      export default defineComponent({ props: { dir: { type: 'dir', accessMode: 'read-write' } }, async run() {
        const tried = [];
        const broken = () => { const stream = new Readable({ read() {} }); process.nextTick(() => stream.destroy(new Error('broke'))); return stream; };
        for (const put of [(file) => file.fromFile('/tmp/none'), (file) => file.fromReadableStream(fs.createReadStream('/tmp/none')), (file) => file.fromReadableStream(broken())]) {
          tried.push(await put(this.dir.open('x')).then(() => 'stored', (e) => e.code ?? e.message));
        }
        tried.push(await this.dir.open('x').toBuffer().then(() => 'there', () => 'not there'));
        return tried; } });";
    let steps = json!([{ "namespace": "a", "code": code, "props": { "dir": "broken" } }]);
    let workflow = server
        .post(
            "/workflows",
            &json!({ "name": "streams", "triggers": [{ "type": "http" }], "steps": steps }),
        )
        .await
        .data();
    assert_eq!(
        run(&server, &workflow, json!({})).await,
        json!(["ENOENT", "ENOENT", "broke", "not there"])
    );
}
