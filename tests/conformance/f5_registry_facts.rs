//! Points of the registry facts' section 5 on imports: what components of the public tree name, and
//! how.

use millrace_tests::{Client, Server, answer, endpoint};
use serde_json::{Value, json};

/// What a source returns that comes with these files.
async fn returned(server: &Client, code: &str, entry: &str, files: Value) -> Value {
    let body =
        json!({ "component_code": code, "component_entry": entry, "component_files": files });
    let source = server.post("/sources", &body).await.data();
    let run = server.run_now(&source, json!({})).await;
    assert_eq!(run["status"], "succeeded", "{run}");
    run["return_value"].clone()
}

#[tokio::test]
async fn f5_14_what_the_code_names_is_installed_and_a_declared_version_holds() {
    let server = Server::shared().await;
    let code = "import declared from 'is-number/package.json'; import undeclared from 'ms'; import types from '@pipedream/types';
      export default types.defineSource({ name: 's', version: '1', run() { return [declared.version, undeclared('1s')]; } });"
        .replace("import types from", "import * as types from");
    let files = json!({ "components/acme/package.json": "{ \"dependencies\": { \"is-number\": \"~6.0.0\", \"left-out-and-not-there\": \"^1.0.0\" } }" });
    assert_eq!(
        returned(&server, &code, "components/acme/sources/a/a.mjs", files).await,
        json!(["6.0.0", 1000])
    );
}

#[tokio::test]
async fn f5_15_dependencies_named_like_node_modules_are_those_of_node() {
    let server = Server::shared().await;
    let declared = json!({ "fs": "^0.0.1-security", "stream": "^0.0.2", "util": "*", "path": "^0.12.7", "url": "*", "zlib": "^1.0.5", "crypto": "^1.0.1", "https": "^1.0.0" });
    let package = json!({ "dependencies": declared }).to_string();
    let code = "import fs from 'fs'; import stream from 'stream'; import util from 'util'; import path from 'path'; import url from 'url'; import zlib from 'zlib'; import crypto from 'crypto'; import https from 'https';
      export default { name: 's', version: '1', run() { return [typeof fs.readFileSync, typeof stream.Readable.from, util.types.isPromise(Promise.resolve()), path.posix.join('a', 'b'),
        typeof url.fileURLToPath, zlib.inflateSync(zlib.deflateSync('z')).toString(), crypto.createHash('sha256').update('').digest('hex').length, typeof https.Agent]; } };";
    let got = returned(
        &server,
        code,
        "components/acme/sources/a/a.mjs",
        json!({ "components/acme/package.json": package }),
    )
    .await;
    assert_eq!(got, json!(["function", "function", true, "a/b", "function", "z", 64, "function"]));
}

#[tokio::test]
async fn f5_16_versions_stand_in_specifiers_also_behind_a_scope_and_before_a_path() {
    let server = Server::shared().await;
    let code = "import a from 'is-number@6.0.0/package.json'; import b from '@sindresorhus/is@4.6.0/package.json'; import ms from 'ms@2.1.2/index.js'; import beta from 'is-number@^7.0.0';
      export default { name: 's', version: '1', run() { return [a.version, b.name, b.version, ms('1m'), beta(3)]; } };";
    assert_eq!(
        returned(&server, code, "a.mjs", json!({})).await,
        json!(["6.0.0", "@sindresorhus/is", "4.6.0", 60_000, true])
    );
}

#[tokio::test]
async fn f5_17_computed_requires_and_optional_native_parts() {
    let server = Server::shared().await;
    let files = json!({
        "lib/format.js": "const reserved = require(__dirname + \"/reserved.js\"); const also = require(__dirname + '/data.json'); module.exports = (word) => reserved[word] ? also.quoted : word;",
        "lib/reserved.js": "module.exports = { ORDER: true };",
        "lib/data.json": "{ \"quoted\": \"\\\"ORDER\\\"\" }",
    });
    let code = "import format from './lib/format.js'; import ssh from 'ssh2@1.16.0'; import pg from 'pg-format@1.0.4';
      export default { name: 's', version: '1', run() { return [format('ORDER'), format('x'), typeof ssh.Client, pg('%I', 'order')]; } };";
    assert_eq!(
        returned(&server, code, "a.mjs", files).await,
        json!(["\"ORDER\"", "x", "function", "\"order\""])
    );
}

#[tokio::test]
async fn f5_23_typescript_is_imported_without_an_ending_and_as_the_js_that_it_becomes() {
    let server = Server::shared().await;
    let files = json!({
        "components/acme/app/acme.app.ts": "import { defineApp } from '@pipedream/types'; export default defineApp({ type: 'app', app: 'acme', methods: { twice(n: number): number { return n * 2; } } });",
        "components/acme/common/words.ts": "export enum Word { Yes = 'yes' } export type Only = string;",
        "components/acme/tsconfig.json": "{ \"extends\": \"../../tsconfig.components.json\", \"include\": [\"**/*.ts\"] }",
        "components/acme/package.json": "{ \"files\": [\"dist\"], \"dependencies\": {} }",
    });
    let code = "import { defineSource } from '@pipedream/types'; import acme from '../../app/acme.app'; import { Word } from '../../common/words.js'; import type { Only } from '../../common/words';
      export default defineSource({ name: 's', version: '1', props: { acme }, async run() { const only: Only = Word.Yes; return [this.acme.twice(2), only]; } });";
    assert_eq!(
        returned(&server, code, "components/acme/sources/a/a.ts", files).await,
        json!([4, "yes"])
    );
}

/// The two largest of the public tree have 17.8 and 15.2 MB. A component's own code may have 8: a
/// character of three bytes that is written as six makes the rest.
#[tokio::test]
async fn f5_25_a_bundle_of_sixteen_megabytes_is_built_loaded_and_answers() {
    let server = Server::start().await;
    let files = json!({ "a.json": json!({ "text": "\u{2028}".repeat(2_700_000) }).to_string() });
    let code = "import a from './a.json'; export default { name: 's', version: '1', props: { http: { type: '$.interface.http', customResponse: true } },
        run() { this.http.respond({ status: 200, body: { length: a.text.length } }); } };";
    let source = server.post("/sources", &json!({ "component_code": code, "component_entry": "s.mjs", "component_files": files })).await.data();
    let told = answer(server.raw(reqwest::Method::GET, &endpoint(&source))).await;
    assert_eq!(told.json, json!({ "length": 2_700_000 }));
    let files = std::fs::read_dir(server.data_dir().join("artifacts"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry"));
    let largest = files
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "mjs"))
        .map(|entry| entry.metadata().expect("a file").len())
        .max();
    assert!(largest > Some(16_000_000), "{largest:?}");
}
