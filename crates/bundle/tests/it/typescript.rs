//! TypeScript as its own compiler reads it: options of `tsconfig.json`, endings, CommonJS.

use serde_json::json;

use crate::{check, refusal};

/// Decorates methods as the standard does, which the older decorators do not.
const STANDARD: &str = "function kind(v: any, c: any) { return () => c.kind } class A { @kind hi() {} } export default new A().hi();";
const OLDER: &str = "function p(t: any, k: string) { (t.ks ??= []).push(k) } class A { @p a = 1 } export default (new A() as any).ks;";

#[tokio::test(flavor = "multi_thread")]
async fn decorators_are_those_of_the_nearest_tsconfig() {
    let older = r#"{"compilerOptions":{"experimentalDecorators":true}}"#;
    let off = "{\"compilerOptions\":{\n // \"experimentalDecorators\": true,\n}}";
    check(&[("a.ts", STANDARD), ("tsconfig.json", off)], json!("method")).await;
    check(&[("a.ts", STANDARD), ("lib/tsconfig.json", older)], json!("method")).await;
    check(&[("c/a.ts", OLDER), ("tsconfig.json", older)], json!(["a"])).await;
    check(
        &[("c/a.ts", OLDER), ("tsconfig.json", r#"{"extends":"./base"}"#), ("base.json", older)],
        json!(["a"]),
    )
    .await;
    let extends = r#"{"extends":"@tsconfig/gone"}"#;
    let error = refusal(&[("a.ts", OLDER), ("tsconfig.json", extends)]).await.to_string();
    assert!(error.contains("extends `@tsconfig/gone`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_are_assigned_where_the_compiler_assigns_them() {
    let columns = "function col(t: any, k: string) { Object.defineProperty(t, k, { get() { return 'col:' + this['_' + k] }, set(v) { this['_' + k] = v } }) } class A { @col a: string = 'x'; @col b?: string; } const a = new A(); a.b = 'y'; export default [a.a, a.b];";
    let older = r#"{"compilerOptions":{"experimentalDecorators":true,"target":"ES2020"}}"#;
    check(&[("a.ts", columns), ("tsconfig.json", older)], json!(["col:x", "col:y"])).await;
    let fields = "class Fld { a = this.b; constructor(private b = 4) {} } class Up { x: any; constructor() { this.set(); } set() {} } class Down extends Up { y: any; static s = 1; set() { this.y = 2; } } export default [new Fld().a, new Down().y ?? null, Down.s];";
    let assigned = r#"{"compilerOptions":{"useDefineForClassFields":false}}"#;
    check(&[("a.ts", fields), ("tsconfig.json", assigned)], json!([4, 2, 1])).await;
    check(&[("a.ts", fields)], json!([null, null, 1])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_name_files_as_they_are_once_compiled_and_without_their_ending() {
    let sources = [
        (
            "a.ts",
            "import { b } from './b.cjs'; import { c } from './c.mjs'; import { d } from './d.js'; import { e } from './e'; import { f } from './f'; import { g } from './g'; export default [b, c, d, e, f, g];",
        ),
        ("b.cts", "export const b = 1;"),
        ("c.mts", "export const c = 2;"),
        ("d.tsx", "export const d = 3;"),
        ("e.tsx", "export const e = 4;"),
        ("f.cts", "export const f = 5;"),
        ("g/index.mts", "export const g = 6;"),
    ];
    check(&sources, json!([1, 2, 3, 4, 5, 6])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typescript_that_assigns_its_export_is_commonjs() {
    let entry = "import b from './b.cts'; import c from './c.cts'; import d from './d'; export default [b.x, c.a, d.a];";
    let sources = [
        ("a.ts", entry),
        ("b.cts", "import type { F } from './t'; const x: F = { x: 3 }; export = x;"),
        ("c.cts", "import fs = require('node:fs'); export = { a: typeof fs.readFileSync };"),
        (
            "d.ts",
            "type A = string; import fs = require('node:fs'); export = { a: typeof fs.readFileSync as A };",
        ),
        ("t.ts", "export interface F { x: number }"),
    ];
    check(&sources, json!([3, "function", "function"])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_namespaces_and_enums_see_the_ones_before() {
    let code = "namespace Cfg { export const base = 1; export interface O { a: string } } namespace Cfg { export const users = base + 1; export const mk = (o: O) => o.a } enum E { A = 1 } enum E { B = A + 1, C = E.A + 5 } namespace E { export const d = B } class K { x = 1 } namespace K { export const k = 7 } namespace K { export const m = k + 1 } export default [Cfg.users, Cfg.mk({ a: 'q' }), E.B, E.C, E.d, K.m];";
    check(&[("a.ts", code)], json!([2, "q", 2, 6, 2, 8])).await;
}
