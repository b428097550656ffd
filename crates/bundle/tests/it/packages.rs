//! Packages: chosen, pinned, kept, refused.

use serde_json::json;

use crate::{again, bundle, bundler_at, check, exported, files, refusal};
use millrace_bundle::BundleRequest;

#[tokio::test(flavor = "multi_thread")]
async fn pins_and_two_versions_side_by_side() {
    let code = "import six from 'is-number@6.0.0/package.json'; import seven from 'is-number@^7/package.json'; import isNumber from 'is-number@~6.0.0'; import ms from 'ms@2.0.0'; export default [six.version, seven.version, isNumber(5), ms('1m')];";
    let bundle = check(&[("a.mjs", code)], json!(["6.0.0", "7.0.0", true, 60_000])).await;
    assert_eq!(
        bundle.lock.0.keys().map(String::as_str).collect::<Vec<_>>(),
        ["is-number@6.0.0", "is-number@^7", "is-number@~6.0.0", "ms@2.0.0"]
    );
    assert_eq!(
        bundle.imports,
        [
            "is-number@6.0.0/package.json",
            "is-number@^7/package.json",
            "is-number@~6.0.0",
            "ms@2.0.0"
        ]
    );
    assert!(bundle.lock.0.values().all(|package| package.integrity.starts_with("sha512-")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_platform_is_ours_and_its_imports_are_installed() {
    let code = "import { second, ConfigurationError } from '@pipedream/platform'; export default [second, new ConfigurationError('x') instanceof Error];";
    let bundle = check(&[("a.mjs", code)], json!([1000, true])).await;
    assert_eq!(bundle.lock.0.keys().collect::<Vec<_>>(), ["ms@latest"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn commonjs_packages_with_dependencies_load() {
    let axios = "import axios from 'axios'; import old from 'axios@0.19.2'; export default [typeof axios.get, old.VERSION ?? typeof old.get];";
    check(&[("a.mjs", axios)], json!(["function", "function"])).await;
    // `punycode/` is a package, `punycode` is Node's.
    check(
        &[("a.js", "module.exports = [typeof require('punycode/').toASCII, require('string_decoder/').StringDecoder.name];")],
        json!(["function", "StringDecoder"]),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_range_of_a_package_json_beside_the_code_holds() {
    let sources = [
        ("components/a/a.mjs", "import p from 'is-number/package.json'; export default p.version;"),
        ("components/a/package.json", r#"{ "dependencies": { "is-number": "^6.0.0" } }"#),
        ("package.json", r#"{ "dependencies": { "is-number": "^3.0.0" } }"#),
    ];
    check(&sources, json!("6.0.0")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_gives_the_same_bytes_without_a_registry() {
    let sources = [(
        "a.mjs",
        "import axios from 'axios'; import ms from 'ms'; import isNumber from 'is-number'; export default [typeof axios.get, ms('1s'), isNumber(1)];",
    )];
    let first = bundle(&sources).await;
    let text = serde_json::to_string(&first.lock).expect("JSON");
    let second = again(&sources, millrace_model::json::from_str(&text).expect("a lock"))
        .await
        .expect("bundles");
    assert!(
        first.code == second.code
            && first.source_map == second.source_map
            && first.lock == second.lock
    );
    assert_eq!(exported(&second), json!(["function", 1000, true]));
    let more = again(&[("a.mjs", "import 'left-pad@1.2.0';")], first.lock)
        .await
        .expect_err("a package that is not in the lock");
    assert_eq!(more.code(), "registry_unreachable");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_registry_lacks_is_named() {
    let error = refusal(&[("a.mjs", "import x from 'millrace-has-no-such-package';")]).await;
    assert_eq!(error.code(), "package_not_found");
    insta::assert_snapshot!(error.to_string(), @"the package `millrace-has-no-such-package`, which a.mjs imports, does not exist in the npm registry");
    let error = refusal(&[("a.mjs", "import x from 'is-number@^99';")]).await;
    assert_eq!(error.code(), "no_matching_version");
    insta::assert_snapshot!(error.to_string(), @"no version of the package `is-number` matches `^99`, which a.mjs asks for; there are `7.0.0`, `6.0.0`, `5.0.0`, `4.0.0`, `3.0.0`, …");
    let error = refusal(&[("a.mjs", "import x from 'is-number/lib/gone.js';")]).await;
    assert_eq!(error.code(), "import_unsupported");
    insta::assert_snapshot!(error.to_string(), @"`is-number/lib/gone.js`, which a.mjs imports, cannot be imported: is-number@7.0.0 has no such module");
    let error = refusal(&[("a.mjs", "import x from 'bcrypt@5.1.1';")]).await;
    assert_eq!(error.code(), "native_package");
    insta::assert_snapshot!(error.to_string(), @"the package `bcrypt@5.1.1`, which a.mjs imports, is a native add-on; components run JavaScript only");
}

#[tokio::test(flavor = "multi_thread")]
async fn optional_native_parts_do_not_stop_a_bundle() {
    let code = "import ssh from 'ssh2'; export default typeof ssh.Client;";
    let first = check(&[("a.mjs", code)], json!("function")).await;
    let second =
        again(&[("a.mjs", code)], first.lock.clone()).await.expect("bundles without a registry");
    assert!(first.code == second.code);
}

#[tokio::test(flavor = "multi_thread")]
async fn requires_beside_the_file_are_found() {
    check(
        &[("a.mjs", "import format from 'pg-format'; export default format('%I', 'order');")],
        json!("\"order\""),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_archive_is_refused() {
    let sources = [("a.mjs", "import ms from 'ms@2.1.1'; export default ms('1s');")];
    let mut lock = bundle(&sources).await.lock;
    for package in lock.0.values_mut() {
        package.integrity = format!("sha512-{}==", "A".repeat(86));
    }
    let cache = tempfile::tempdir().expect("a folder");
    let request = BundleRequest { entry: files(&sources), lock: Some(lock) };
    let error = bundler_at(cache.path().into(), "https://registry.npmjs.org")
        .bundle(request)
        .await
        .expect_err("must not install");
    assert_eq!(error.code(), "package_integrity");
    assert_eq!(std::fs::read_dir(cache.path().join("packages")).expect("the store").count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_that_dropped_the_node_in_use_load_in_the_version_before() {
    let code = "import { execaSync } from 'execa'; import { request } from 'undici'; export default [typeof execaSync, typeof request];";
    let bundle = check(&[("a.mjs", code)], json!(["function", "function"])).await;
    assert!(bundle.lock.0["execa@latest"].version.starts_with("9."), "{:?}", bundle.lock);
}

/// The bundler's own defaults read `module`, in `exports` and beside `main`.
#[tokio::test(flavor = "multi_thread")]
async fn exports_and_main_fields_lead_where_they_lead_in_node() {
    let sources = [
        (
            "a.mjs",
            "import _ from 'underscore'; import mitt from 'mitt@3.0.1'; import { same, kinds } from './b.cjs'; export default [_([3, 1, 2]).sortBy().join(), same(_), typeof mitt, ...kinds];",
        ),
        (
            "b.cjs",
            "const _ = require('underscore'); exports.same = (other) => other.map === _.map && typeof _ === 'function'; exports.kinds = [typeof require('mitt@3.0.1'), typeof require('mitt@1.1.3')];",
        ),
    ];
    check(&sources, json!(["1,2,3", true, "function", "function", "function"])).await;
}
