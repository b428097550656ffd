//! The runtime is built by npm before cargo; a missing build is said in one sentence.

fn main() {
    for file in ["host.mjs", "platform.mjs", "types.mjs"] {
        let path = format!("{}/../../runtime/dist/{file}", env!("CARGO_MANIFEST_DIR"));
        println!("cargo::rerun-if-changed={path}");
        assert!(
            std::path::Path::new(&path).exists(),
            "runtime/dist/{file} is missing: run `cargo xtask build` (or `npm ci && npm run build` in runtime/) first"
        );
    }
}
