//! Bundles through the public interface; what comes out is run by the real Node, from a file, as
//! hosts do. The npm registry is the real one, with a few small packages.

mod extract;
mod growth;
mod packages;
mod private_packages;
mod processes;
mod registry;
mod sloppy;
mod sources;
mod typescript;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use millrace_bundle::{
    Bundle, BundleError, BundleRequest, Bundler, BundlerConfig, Entry, Kernel, Limits, Lock,
};
use millrace_model::egress::Policy;
use millrace_model::npm_registry::NpmRegistry;

/// A stand-in for the platform's package: a module of ours that imports a package of npm's.
const PLATFORM: &str = r#"import ms from "ms"; export const second = ms("1s"); export class ConfigurationError extends Error {}"#;
const MODULES: &[(&str, &str)] = &[("@pipedream/platform", PLATFORM)];
/// Nobody listens there.
const NO_REGISTRY: &str = "http://127.0.0.1:9";

/// One folder for all tests and runs: packages are fetched once for a machine, which is what is
/// tested.
fn cache() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bundle-cache")
}

fn config(cache_dir: PathBuf, registry_url: &str) -> BundlerConfig {
    // The tests' web servers are on this machine.
    let allow = vec!["127.0.0.1".parse().expect("an address")];
    let egress = Policy { allow, ..Policy::default() }.into();
    BundlerConfig {
        cache_dir,
        registry: NpmRegistry::new(registry_url, None),
        metadata_max_age: Duration::from_secs(300),
        node_version: "20.20.2".into(),
        platform_modules: MODULES,
        egress,
        limits: Limits::default(),
        walls: Kernel::NONE,
        groups: None,
    }
}

fn bundler_at(cache_dir: PathBuf, registry_url: &str) -> Bundler {
    Bundler::here(config(cache_dir, registry_url)).expect("a bundler")
}

fn bundler() -> Bundler {
    bundler_at(cache(), "https://registry.npmjs.org")
}

/// Files by path; the first is the entry.
fn files(files: &[(&str, &str)]) -> Entry {
    let map: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    Entry::Files { entry: files[0].0.to_owned(), files: map, is_javascript: false }
}

async fn bundle(sources: &[(&str, &str)]) -> Bundle {
    bundler().bundle(BundleRequest { entry: files(sources), lock: None }).await.expect("bundles")
}

async fn refusal(sources: &[(&str, &str)]) -> BundleError {
    bundler()
        .bundle(BundleRequest { entry: files(sources), lock: None })
        .await
        .expect_err("must not bundle")
}

/// Lays the packages beside a bundle, copied as they would be linked for a host.
fn lay(bundle: &Bundle, folder: &Path) {
    let Some(beside) = &bundle.beside else { return };
    let root = folder.join("node_modules");
    let home = |folder: &str| {
        root.join(".packages")
            .join(folder)
            .join("node_modules")
            .join(&beside.packages[folder].import_name)
    };
    let link = |at: PathBuf, folder: &str| {
        std::fs::create_dir_all(at.parent().expect("a folder")).expect("makes");
        std::os::unix::fs::symlink(home(folder), at).expect("links");
    };
    for (name, package) in &beside.packages {
        let from =
            cache().join("packages").join(name).join("node_modules").join(&package.import_name);
        std::fs::create_dir_all(home(name).parent().expect("a folder")).expect("makes");
        assert!(
            std::process::Command::new("cp")
                .arg("-r")
                .args([from, home(name)])
                .status()
                .expect("copies")
                .success()
        );
        for (needed, needed_folder) in &package.needs {
            link(
                root.join(".packages").join(name).join("node_modules").join(needed),
                needed_folder,
            );
        }
    }
    for (name, target) in &beside.links {
        link(root.join(name), target);
    }
}

/// Loads the bundle in Node and gives its default export as JSON.
fn exported(bundle: &Bundle) -> serde_json::Value {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("component.mjs"), &bundle.code).expect("writes");
    lay(bundle, dir.path());
    let probe = "import * as m from './component.mjs'; process.stdout.write(JSON.stringify(m.default ?? null));";
    std::fs::write(dir.path().join("probe.mjs"), probe).expect("writes");
    let output = std::process::Command::new("node")
        .arg("probe.mjs")
        .current_dir(dir.path())
        .output()
        .expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    millrace_model::json::from_slice(&output.stdout).expect("JSON")
}

/// Bundles, loads, compares the default export.
async fn check(sources: &[(&str, &str)], expected: serde_json::Value) -> Bundle {
    let bundle = bundle(sources).await;
    assert_eq!(exported(&bundle), expected);
    bundle
}

/// Bundles again with what was chosen before, without any registry.
async fn again(sources: &[(&str, &str)], lock: Lock) -> Result<Bundle, BundleError> {
    bundler_at(cache(), NO_REGISTRY)
        .bundle(BundleRequest { entry: files(sources), lock: Some(lock) })
        .await
}
