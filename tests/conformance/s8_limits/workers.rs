//! Packages that begin threads of their own with a file beside the module that begins them.

use millrace_tests::Server;
use millrace_tests::registry::{Registry, Release};
use serde_json::{Value, json};

type Package = (&'static str, &'static str, &'static [(&'static str, &'static [u8])]);

const PACKAGES: &[Package] = &[
    (
        "begins-a-worker",
        r#"{ "type": "module", "exports": "./lib/index.js" }"#,
        &[
            (
                "lib/index.js",
                b"import { Worker } from 'node:worker_threads';
                export const work = (n) => new Promise((done, fail) => new Worker(new URL('./threads/w.js', import.meta.url), { workerData: n }).on('message', done).on('error', fail));",
            ),
            (
                "lib/threads/w.js",
                b"import { parentPort, workerData } from 'node:worker_threads'; import { twice } from '../twice.js'; parentPort.postMessage(twice(workerData));",
            ),
            ("lib/twice.js", b"export const twice = (n) => n * 2;"),
        ],
    ),
    // As loggers do: what is written goes to a thread, which is there from the first line on.
    (
        "stream-in-a-thread",
        r#"{ "type": "module", "exports": "./index.mjs", "dependencies": { "begins-a-worker": "^1.0.0" } }"#,
        &[
            (
                "index.mjs",
                b"import { Worker } from 'node:worker_threads'; import { Writable } from 'node:stream'; import { once } from 'node:events';
                export class ThreadStream extends Writable {
                  #worker = new Worker(new URL('worker.mjs', import.meta.url), { type: 'module' }); #came = []; 
                  constructor() { super(); this.#worker.on('message', (line) => this.#came.push(line)); this.#worker.on('error', (error) => this.destroy(error)); }
                  _write(chunk, _, done) { this.#worker.postMessage(String(chunk)); this.#worker.once('message', () => done()); }
                  async _final(done) { this.#worker.postMessage(null); await once(this.#worker, 'exit'); done(); }
                  get came() { return this.#came; }
                }",
            ),
            (
                "worker.mjs",
                b"import { parentPort } from 'node:worker_threads'; import { upper } from './upper.mjs';
                parentPort.on('message', (text) => text === null ? parentPort.close() : parentPort.postMessage(upper(text)));",
            ),
            ("upper.mjs", b"export const upper = (text) => text.toUpperCase();"),
        ],
    ),
];

fn registry() -> Registry {
    let releases: Vec<Release<'_>> = PACKAGES
        .iter()
        .map(|(name, manifest, files)| {
            let mut manifest: Value = serde_json::from_str(manifest).expect("JSON");
            manifest["name"] = (*name).into();
            manifest["version"] = "1.0.0".into();
            Release { manifest, files }
        })
        .collect();
    Registry::of(&releases)
}

#[tokio::test]
async fn s8_a_package_begins_a_worker_by_the_address_of_a_file_beside_its_module() {
    let registry = registry();
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    let code = "import { work } from 'begins-a-worker'; export default { name: 'w', version: '1', async run() { return [await work(2), await work(21)]; } };";
    assert_eq!(server.returned(code, json!({})).await, json!([4, 42]));
}

#[tokio::test]
async fn s8_a_package_s_stream_works_in_a_thread_of_its_own() {
    let registry = registry();
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    let code = "import { ThreadStream } from 'stream-in-a-thread'; import { pipeline } from 'node:stream/promises'; import { Readable } from 'node:stream';
      export default { name: 'w', version: '1', async run() { const stream = new ThreadStream(); await pipeline(Readable.from(['one', 'two', 'three']), stream); return stream.came; } };";
    assert_eq!(server.returned(code, json!({})).await, json!(["ONE", "TWO", "THREE"]));
    let step = "import { ThreadStream } from 'stream-in-a-thread'; import { once } from 'node:events';
      export default defineComponent({ async run() { const stream = new ThreadStream(); stream.write('a'); stream.end('b'); await once(stream, 'finish'); return stream.came; } });";
    let workflow = server.workflow("w", json!([]), &[("logs", step)]).await;
    let run = format!("/workflows/{}/run", millrace_tests::id(&workflow));
    let run = server.post(&run, &json!({ "event": {} })).await.data();
    assert_eq!(run["steps"][0]["exports"]["$return_value"], json!(["A", "B"]), "{run}");
}
