//! The author's own files.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::json;

use crate::{again, bundle, bundler, check, refusal};
use millrace_bundle::{BundleRequest, Entry, Lock};
use millrace_model::component::Responds;

#[tokio::test(flavor = "multi_thread")]
async fn relative_files_of_all_forms() {
    let sources = [
        (
            "sources/new/new.mjs",
            "import app from '../../app.mjs'; import { twice } from '../common/math.js'; import data from './data.json'; import lib from '../../lib'; export default { n: twice(app.n), data, lib };",
        ),
        ("app.mjs", "export default { n: 21 };"),
        ("sources/common/math.ts", "export const twice = (n: number): number => n * 2;"),
        ("sources/new/data.json", r#"{ "a": [1, 2] }"#),
        ("lib/index.js", "module.exports = 'lib';"),
    ];
    check(&sources, json!({ "n": 42, "data": { "a": [1, 2] }, "lib": "lib" })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typescript_with_extensionless_imports() {
    let sources = [
        (
            "a.ts",
            "import { b } from './b'; interface X { v: string } const x: X = { v: b }; export default x;",
        ),
        ("b.ts", "enum E { A = 'one' } export const b = E.A as string;"),
    ];
    check(&sources, json!({ "v": "one" })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commonjs_components_and_builtins() {
    let sources = [
        (
            "a.js",
            "const { join } = require('path'); const fs = require('node:fs'); module.exports = { p: join('a', 'b'), f: typeof fs.readFileSync, b: require('./b') };",
        ),
        ("b.js", "exports.dir = typeof __dirname;"),
    ];
    check(&sources, json!({ "p": "a/b", "f": "function", "b": { "dir": "string" } })).await;
    let esm = "import { promises } from 'fs'; import { readFile } from 'fs/promises'; import os from 'node:os'; export default [typeof promises, typeof readFile, typeof os.cpus, typeof require, typeof __filename];";
    check(&[("a.mjs", esm)], json!(["object", "function", "function", "function", "string"])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dynamic_import_and_top_level_await_stay_in_one_module() {
    let sources = [
        (
            "a.mjs",
            "const { b } = await import('./b.mjs'); export default await Promise.resolve(b);",
        ),
        ("b.mjs", "export const b = 7;"),
    ];
    check(&sources, json!(7)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_author_may_declare_require_and_dirname() {
    let code = "import { createRequire } from 'module'; import { fileURLToPath } from 'url'; const require = createRequire(import.meta.url); const __filename = fileURLToPath(import.meta.url); export default [typeof require('os').cpus, __filename.endsWith('.mjs')];";
    check(&[("a.mjs", code)], json!(["function", true])).await;
}

/// The bundler takes such calls and reads for pure.
#[tokio::test(flavor = "multi_thread")]
async fn statements_whose_only_effect_is_to_throw_stay() {
    let throwing = [
        "decodeURIComponent('%E9')",
        "encodeURI('\\ud800')",
        "String(Symbol.prototype)",
        "parseInt(Symbol())",
        "Symbol.for(Symbol())",
        "Date.parse(Symbol())",
        "new ArrayBuffer(-1)",
        "unset",
        "class A extends undefined {}",
        "thrower == 1",
        "({ [thrower]: 1 })",
        "getter.x",
        "const unused = decodeURIComponent('%E9')",
        "/* @__PURE__ */ getter.y()",
        "dependency('%E9')",
    ];
    let tries: String = throwing
        .iter()
        .map(|code| format!("try {{ {code}; stayed.push(false) }} catch {{ stayed.push(true) }}\n"))
        .collect();
    let code = format!(
        "import {{ dependency }} from './dependency.js';\nconst stayed = [];\nconst thrower = {{ toString() {{ throw new Error('x') }} }};\nconst getter = {{ get x() {{ throw new Error('x') }} }};\n{tries}let unset = 1;\nexport default stayed;"
    );
    let dependency = "export const dependency = (text) => { decodeURIComponent(text); };";
    let sources = [("a.mjs", code.as_str()), ("dependency.js", dependency)];
    check(&sources, json!(vec![true; throwing.len()])).await;
}

/// For code that may come to Node's modules by `createRequire`, a host loads more of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_has_those_of_the_bundlers_helpers_that_it_uses() {
    let plain = bundle(&[("a.mjs", "export default 1;")]).await.code;
    let (_, plain) = plain.split_once('\n').expect("code below the banner");
    assert!(!plain.contains("createRequire") && !plain.contains("__toESM"), "{plain}");
    let common = [
        ("a.mjs", "import seven from './seven.cjs'; export default seven;"),
        ("seven.cjs", "module.exports = 7;"),
    ];
    let used = bundle(&common).await.code;
    assert!(used.contains("__toESM =") && !used.contains("__toBinary ="), "{used}");
    check(&common, json!(7)).await;
}

/// A parser of JavaScript accepts this TypeScript.
#[tokio::test(flavor = "multi_thread")]
async fn typescript_that_reads_as_javascript_is_typescript() {
    let code = "class Cache { private items = new Map<string, number>([['a', 1]]); public size() { return this.items.size; } }\nconst same = (x) => x;\nexport default [same<any>(2), new Set<string>(['a']).size, new Cache().size()];";
    for path in ["a", "a.js", "a.mjs", "a.ts"] {
        check(&[(path, code)], json!([2, 1, 1])).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_count_in_files_that_are_reached() {
    let calls = "export const f = ($) => $.respond({ status: 200 });";
    let reached = "import { f } from './b.mjs'; export default { f };";
    assert_eq!(bundle(&[("a.mjs", reached), ("b.mjs", calls)]).await.responds, Responds::Surely);
    assert_eq!(
        bundle(&[("a.mjs", reached), ("b.mjs", "export const f = (x) => x.respond();")])
            .await
            .responds,
        Responds::Perhaps
    );
    assert_eq!(
        bundle(&[("a.mjs", "export default { text: '$.respond()' };"), ("b.mjs", calls)])
            .await
            .responds,
        Responds::Never
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_source_map_keeps_the_authors_file_and_line() {
    let bundle = bundle(&[(
        "sources/a.mjs",
        "// one\n// two\nexport default () => { throw new Error('here'); };",
    )])
    .await;
    assert!(bundle.entry_code.starts_with("// one"));
    let map: serde_json::Value =
        millrace_model::json::from_str(&bundle.source_map.expect("a map")).expect("JSON");
    assert_eq!(map["sources"], json!(["sources/a.mjs"]));
    assert_eq!(map["sourcesContent"][0], json!(bundle.entry_code));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_syntax_error_shows_the_place() {
    let error = refusal(&[(
        "actions/a.mjs",
        "export default {\n  key: 'a',\n  run() { return 1 + ; }\n};\n",
    )])
    .await;
    assert_eq!((error.code(), error.is_user_error()), ("syntax_error", true));
    let frame: Vec<String> =
        error.to_string().lines().map(|line| line.trim_end().to_owned()).collect();
    insta::assert_snapshot!(frame.join("\n"), @r"
    the code does not parse:
    [PARSE_ERROR] Unexpected token
       ╭─[ actions/a.mjs:3:22 ]
       │
     3 │   run() { return 1 + ; }
       │                      ┬
       │                      ╰──
    ───╯
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_that_lead_nowhere_or_outside_are_refused() {
    for (code, expected, text) in [
        (
            "import './gone.mjs';",
            "import_not_found",
            "`./gone.mjs`, which a.mjs imports, is not among the files of the component",
        ),
        (
            "import '../../x.mjs';",
            "import_outside",
            "`../../x.mjs`, which a.mjs imports, is outside of the component's folder; import only files below it",
        ),
        (
            "import '/etc/passwd';",
            "import_outside",
            "`/etc/passwd`, which a.mjs imports, is outside of the component's folder; import only files below it",
        ),
        (
            "import x from 'https://esm.sh/ms';",
            "import_unsupported",
            "`https://esm.sh/ms`, which a.mjs imports, cannot be imported: addresses are not imported; import a package, or a file of the component",
        ),
    ] {
        let error = refusal(&[("a.mjs", code)]).await;
        assert_eq!((error.code(), error.to_string().as_str()), (expected, text));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_of_one_checkout_are_found_by_their_package_name() {
    let sources = [
        (
            "components/a/actions/x/x.mjs",
            "import b from '@pipedream/b'; import { c } from '@pipedream/b/common/c.mjs'; import d from '@pipedream/d'; export default [b, c, d];",
        ),
        ("components/b/package.json", r#"{ "main": "b.app.mjs" }"#),
        ("components/b/b.app.mjs", "export default 'app b';"),
        ("components/b/common/c.mjs", "export const c = 'c of b';"),
        ("components/d/d.app.mjs", "export default 'app d';"),
    ];
    check(&sources, json!(["app b", "c of b", "app d"])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_leads_to_its_neighbours_and_no_further() {
    let url = serve(&[
        ("/r/sources/a.mjs", "import app from '../app'; export default { app };"),
        ("/r/app.mjs", "export default 'the app';"),
        ("/r/far.mjs", "import 'http://127.0.0.1:9/x.mjs';"),
    ]);
    let from = |path: &str| BundleRequest {
        entry: Entry::Url { url: format!("{url}{path}") },
        lock: None,
    };
    let bundle = bundler().bundle(from("/r/sources/a.mjs")).await.expect("bundles");
    assert_eq!(crate::exported(&bundle), json!({ "app": "the app" }));
    assert!(bundle.entry_code.starts_with("import app"));
    for (path, code) in [("/r/gone.mjs", "fetch_failed"), ("/r/far.mjs", "import_unsupported")] {
        assert_eq!(bundler().bundle(from(path)).await.expect_err(path).code(), code);
    }
    let file = BundleRequest { entry: Entry::Url { url: "file:///etc/passwd".into() }, lock: None };
    assert_eq!(bundler().bundle(file).await.expect_err("a file").code(), "fetch_failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_are_fetched_only_where_the_policy_opens_them_also_by_redirect() {
    let inner = serve(&[("/c.mjs", "export default 1;")]);
    let port = inner.rsplit(':').next().expect("a port").to_owned();
    let from = |url: String| BundleRequest { entry: Entry::Url { url }, lock: None };
    // What is allowed leads on to what is not: 127.0.0.1 is open in these tests, other loopback
    // addresses are not.
    let leads = redirect(&[
        ("/open", format!("{inner}/c.mjs")),
        ("/shut", format!("http://127.0.0.2:{port}/c.mjs")),
        ("/turns", "/turns".into()),
    ]);
    assert!(bundler().bundle(from(format!("{leads}/open"))).await.is_ok());
    for (url, words) in [
        (format!("{leads}/shut"), "127.0.0.2"),
        (format!("http://[::ffff:127.0.0.2]:{port}/c.mjs"), "127.0.0.2"),
        ("http://169.254.169.254/latest".into(), "link-local"),
        (format!("{leads}/turns"), "more than 5"),
    ] {
        let refused = bundler().bundle(from(url.clone())).await.expect_err("refuses");
        assert!(
            refused.code() == "fetch_failed" && refused.to_string().contains(words),
            "{url}: {refused}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn code_without_packages_needs_no_registry() {
    again(&[("a.mjs", "import fs from 'fs'; export default typeof fs;")], Lock::default())
        .await
        .expect("bundles");
}

/// A small web server of texts by path, for as long as the tests run.
fn serve(texts: &[(&'static str, &'static str)]) -> String {
    let texts = texts.to_vec();
    respond(move |path| {
        let (status, body) = texts
            .iter()
            .find(|(p, _)| *p == path)
            .map_or(("404 Not Found", ""), |(_, body)| ("200 OK", *body));
        format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    })
}

/// One that leads elsewhere.
fn redirect(leads: &[(&'static str, String)]) -> String {
    let leads = leads.to_vec();
    respond(move |path| {
        let to = leads.iter().find(|(p, _)| *p == path).map_or("/", |(_, to)| to);
        format!(
            "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
    })
}

fn respond(answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
            reader.read_line(&mut line).expect("a request");
            let mut header = String::new();
            while reader.read_line(&mut header).is_ok_and(|n| n > 2) {
                header.clear();
            }
            let path = line.split(' ').nth(1).unwrap_or_default();
            // A client that went away is of no interest.
            let _ = stream.write_all(answer(path).as_bytes());
        }
    });
    url
}
