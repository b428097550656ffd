//! Check that npm built the runtime before cargo; one sentence reports a missing build.

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    for file in ["host.cjs", "worker.cjs", "platform.mjs", "types.mjs"] {
        let path = format!("{here}/../../runtime/dist/{file}");
        println!("cargo::rerun-if-changed={path}");
        assert!(
            std::path::Path::new(&path).exists(),
            "runtime/dist/{file} is missing: run `cargo xtask build` (or `npm ci && npm run build` in runtime/) first"
        );
    }
}
