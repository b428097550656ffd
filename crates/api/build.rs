//! Embedding of the build of the web application (`web/dist`) and of the addresses that it knows
//! (`web/src/routes.gen.ts`).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let web =
        PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../web");
    let (dist, routes) = (web.join("dist"), web.join("src/routes.gen.ts"));
    // Before its first build there is none, and a path that is missing would build this crate anew
    // each time.
    let _ = fs::create_dir_all(&dist);
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-changed={}", routes.display());
    let mut out = String::new();
    let page = dist.join("index.html");
    if page.is_file() {
        let _ = writeln!(
            out,
            "pub(super) const PAGE: Option<&str> = Some(include_str!({:?}));",
            absolute(&page)
        );
    } else {
        assert!(
            std::env::var("PROFILE").as_deref() != Ok("release"),
            "web/dist/index.html is missing: run `cargo xtask build` (or `npm ci && npm run build` in web/) first"
        );
        out.push_str("pub(super) const PAGE: Option<&str> = None;\n");
    }
    out.push_str("pub(super) const FILES: &[File] = &[\n");
    for name in names(&dist.join("assets")) {
        let path = dist.join("assets").join(&name);
        let packed = |end: &str| {
            let path = dist.join("assets").join(format!("{name}.{end}"));
            path.is_file().then(|| format!("include_bytes!({:?})", absolute(&path)))
        };
        match (packed("br"), packed("gz")) {
            (Some(br), Some(gz)) => {
                let _ = writeln!(
                    out,
                    "    File {{ name: {name:?}, bytes: Bytes::Packed {{ br: {br}, gz: {gz} }} }},"
                );
            }
            _ => {
                let _ = writeln!(
                    out,
                    "    File {{ name: {name:?}, bytes: Bytes::Plain(include_bytes!({:?})) }},",
                    absolute(&path)
                );
            }
        }
    }
    out.push_str("];\n");
    let text = fs::read_to_string(&routes).unwrap_or_default();
    let _ = writeln!(out, "pub(super) const ADDRESSES: &[&str] = &{:?};", addresses(&text));
    let target = PathBuf::from(std::env::var("OUT_DIR").unwrap_or_default()).join("web.rs");
    if let Err(error) = fs::write(&target, out) {
        println!("cargo::error=could not write {}: {error}", target.display());
    }
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Names of the files in a folder that are not compressed forms of others, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.ends_with(".br") && !name.ends_with(".gz"))
        .collect();
    names.sort();
    names
}

/// The addresses in `fullPaths` of the generated tree, as the router writes them: `/runs/$id` is
/// `/runs/{id}`. The one for all others, `/$`, is none: what no address has is answered with 404.
fn addresses(text: &str) -> Vec<String> {
    let Some((_, rest)) = text.split_once("fullPaths:") else { return Vec::new() };
    let listed = rest.split_once("fileRoutesByTo").map_or(rest, |(listed, _)| listed);
    let paths = listed.split('"').skip(1).step_by(2).map(|path| {
        let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
        path.split('/')
            .map(|part| {
                part.strip_prefix('$').map_or_else(|| part.to_owned(), |name| format!("{{{name}}}"))
            })
            .collect::<Vec<_>>()
            .join("/")
    });
    let mut paths: Vec<String> = paths.filter(|path| !path.ends_with("{}")).collect();
    paths.sort();
    paths.dedup();
    paths
}
