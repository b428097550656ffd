//! CommonJS files behave in a bundle as Node runs them: in sloppy mode, unless they say otherwise.

use serde_json::{Value, json};

use crate::{bundle, check, exported};

/// What a file `lib.cjs` exports, called.
async fn called(code: &str) -> Value {
    let entry = "import f from './lib.cjs'; let value; try { value = f(); } catch (error) { value = String(error); } export default value ?? null;";
    exported(&bundle(&[("entry.mjs", entry), ("lib.cjs", code)]).await)
}

#[tokio::test]
async fn commonjs_gives_the_values_of_node() {
    for (code, expected) in [
        ("module.exports = () => (function (a) { arguments[0] = 9; return a; })(1)", json!(9)),
        (
            "module.exports = () => { if (true) { function g() {} } return typeof g; }",
            "function".into(),
        ),
        (
            "module.exports = () => { if (true) { function h() { return 5; } } return h(); }",
            json!(5),
        ),
        ("module.exports = () => { eval('var z = 4'); return typeof z; }", "number".into()),
        (
            "module.exports = () => { let r; [1].forEach(function () { r = this.x === undefined; }); return r; }",
            json!(true),
        ),
        (
            "var r; function init() { r = this; r.Q = 1; } init(); module.exports = () => r === globalThis;",
            json!(true),
        ),
        ("function Foo() { this.zz = 1; } Foo(); module.exports = () => zz;", json!(1)),
        (
            "function g() { return typeof this; } module.exports = () => g.call(null) + g.call(5);",
            "objectobject".into(),
        ),
        (
            "var d = Object.freeze({ a: 1 }); module.exports = () => { d.b = 2; return d.b === undefined; }",
            json!(true),
        ),
        (
            "module.exports = () => { var o = { get x() { return 1; } }; o.x = 2; return o.x; }",
            json!(1),
        ),
        (
            "module.exports = () => { var f = function () {}; f.name = 'z'; f.length = 3; 'abc'.foo = 1; return f.length; }",
            json!(0),
        ),
        ("function f(a, a) { return a; } module.exports = () => f(1, 2);", json!(2)),
        (
            "var interface = 1, yield = 2, await = 5; module.exports = () => interface + yield + await;",
            json!(8),
        ),
        (
            "function a() { return b(); } function b() { return typeof b.caller; } module.exports = () => a();",
            "function".into(),
        ),
        (
            "this.a = 1; module.exports = () => typeof require.main + exports.a + module.exports.name;",
            "undefined1".into(),
        ),
        (
            "'use strict'; module.exports = () => { try { notDeclared = 1; } catch (error) { return error.name; } }",
            "ReferenceError".into(),
        ),
    ] {
        assert_eq!(called(code).await, expected, "{code}");
    }
}

#[tokio::test]
async fn commonjs_loads_and_finds_its_place_as_before() {
    let files = [
        (
            "entry.mjs",
            "import f from './lib.cjs'; import './module.js'; export default [await f(), globalThis.ofModule];",
        ),
        (
            "lib.cjs",
            "out = require(`./more.cjs`); module.exports = () => import(/* later */ './late.mjs').then((late) => late.default + out);",
        ),
        (
            "more.cjs",
            "(function (modules) { function require(n) { return modules[n]; } module.exports = require('./x'); })({ './x': ' more' });",
        ),
        ("late.mjs", "export default 'late';"),
        ("package.json", "{ \"type\": \"module\" }"),
        (
            "module.js",
            "try { nobodyDeclaredIt = 1; } catch (error) { globalThis.ofModule = error.name; }",
        ),
    ];
    check(&files, json!(["late more", "ReferenceError"])).await;
}

#[tokio::test]
async fn a_file_that_reads_beside_it_is_sloppy_too() {
    let made = bundle(&[
        ("entry.mjs", "import f from './lib.cjs'; export default f();"),
        ("lib.cjs", "module.exports = () => { at = __dirname; return typeof at; };"),
    ])
    .await;
    assert_eq!(exported(&made), "string");
}
