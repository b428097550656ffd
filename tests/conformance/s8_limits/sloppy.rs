//! Chapter 8: packages in CommonJS behave as they do in Node, also those that only sloppy mode
//! takes.

use millrace_tests::Server;
use serde_json::json;

#[tokio::test]
async fn s8_commonjs_that_assigns_undeclared_names_or_needs_a_global_this_behaves_as_in_node() {
    let server = Server::shared().await;
    let files = json!({
        "old/index.js": "#!/usr/bin/env node\nvar helper = require('./helper'); util = require('util');\nmodule.exports = function (words) {\n  out = [];\n  for (i = 0; i < words.length; i++) out.push(helper(words[i]));\n  return util.format('%s', out.join(' '));\n};\nmodule.exports.file = typeof __filename + typeof __dirname + (this === exports);",
        "old/helper.js": "var root = (function () { return this; })(); root.millraceCounted = (root.millraceCounted || 0) + 1; module.exports = function (word) { return word + millraceCounted; };",
        "old/scope.cjs": "exports.sum = function (o) { with (o) { return a + b; } }; exports.mode = 0755; exports.self = function (n) { return n < 2 ? 1 : n * arguments.callee(n - 1); };",
        "old/circle-a.js": "exports.early = 1; b = require('./circle-b'); exports.late = b.seen + 1;",
        "old/circle-b.js": "a = require('./circle-a'); exports.seen = a.early;",
        "old/fails.js": "exports.f = function () {\n  undeclared = 1;\n  throw new TypeError('from the package');\n};",
        "new/strict.js": "'use strict'; exports.refuses = function () { try { notDeclaredHere = 1; return false; } catch (e) { return e.name; } };",
    });
    let code = "import old from './old/index.js'; import { sum, mode, self } from './old/scope.cjs'; import circle from './old/circle-a.js'; import fails from './old/fails.js'; import strict from './new/strict.js';
      export default { name: 's', version: '1', run() { let stack; try { fails.f(); } catch (e) { stack = e.stack; }
        return [old(['a', 'b']), old.file, sum({ a: 1, b: 2 }), mode, self(4), circle, strict.refuses(), globalThis.out, /fails\\.js:3/.test(stack)]; } };";
    let body =
        json!({ "component_code": code, "component_entry": "entry.mjs", "component_files": files });
    let source = server.post("/sources", &body).await.data();
    let run = server.run_now(&source, json!({})).await;
    let expected = json!(["a1 b1", "stringstringtrue", 3, 493, 24, { "early": 1, "late": 2 }, "ReferenceError", ["a1", "b1"], true]);
    assert_eq!(run["return_value"], expected, "{run}");
}

#[tokio::test]
async fn s8_a_package_of_the_registry_that_assigns_undeclared_names_works() {
    let server = Server::shared().await;
    let code = "import slackify from 'slackify-html@1.0.1'; export default { name: 's', version: '1', run() { return slackify('<b>bold</b> and <a href=\"https://example.test/\">a link</a>'); } };";
    let source = server.source(code, json!({})).await;
    assert_eq!(
        server.run_now(&source, json!({})).await["return_value"],
        "*bold* and <https://example.test/|a link>"
    );
}
