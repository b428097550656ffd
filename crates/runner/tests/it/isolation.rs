//! Isolation of hosts: they inherit nothing that they are not given.

use std::os::fd::AsRawFd as _;
use std::path::Path;

use serde_json::json;

use crate::support::{Bench, alive, until, value};

#[tokio::test]
async fn the_environment_is_empty() {
    let bench = Bench::real().await;
    let isolate = bench.isolate("env", "return Object.keys(process.env).sort();");
    assert_eq!(value(bench.call(&isolate, 0).await), json!(["HOME", "TMPDIR", "TZ"]));
}

#[tokio::test]
async fn descriptors_of_the_server_are_closed() {
    const HIGH: i32 = 717;
    let file = tempfile::tempfile().expect("a file");
    #[expect(unsafe_code, reason = "only a raw call leaves a descriptor open across exec")]
    // SAFETY: both descriptors are ours; the copy lives as long as the test's process.
    let copy = unsafe { libc::dup2(file.as_raw_fd(), HIGH) };
    assert_eq!(copy, HIGH);
    let bench = Bench::set(|c| c.blank_hosts = 0).await;
    let isolate = bench.isolate(
        "fds",
        "const { fstatSync } = await import('node:fs'); const open = []; for (const fd of [0, 1, 2, 3, 717]) { try { fstatSync(fd); open.push(fd); } catch {} } return open;",
    );
    assert_eq!(value(bench.call(&isolate, 0).await), json!([0, 1, 2, 3]));
}

#[tokio::test]
async fn the_temporary_folder_is_private_and_goes_with_the_host() {
    let bench = Bench::real().await;
    let code = "const { tmpdir } = await import('node:os'); const fs = await import('node:fs'); fs.writeFileSync(tmpdir() + '/kept', 'x'); return [tmpdir(), process.pid];";
    let (a, b) = (bench.isolate("tmp-a", code), bench.isolate("tmp-b", code));
    let (first, second) = (value(bench.call(&a, 0).await), value(bench.call(&b, 0).await));
    assert_ne!(first[0], second[0]);
    let folder = Path::new(first[0].as_str().expect("a path"));
    assert!(folder.join("kept").exists());
    bench.runner.evict("tmp-a").await;
    until("the host's folder goes", || !folder.exists()).await;
    assert!(!alive(&first[1]) && alive(&second[1]));
}

#[tokio::test]
async fn two_organizations_never_share_a_process() {
    let bench = Bench::real().await;
    let mut isolate = bench.isolate("same", "return process.pid;");
    let first = value(bench.call(&isolate, 0).await);
    isolate.organization = "o_2".into();
    assert_ne!(value(bench.call(&isolate, 0).await), first);
}

#[tokio::test]
async fn a_path_below_tmp_leads_to_the_private_folder() {
    let bench = Bench::real().await;
    let a = tempfile::Builder::new().tempfile_in("/tmp").expect("a name").into_temp_path();
    std::fs::remove_file(&a)
        .expect("the name alone is taken, no file of somebody's can be in the way");
    let code = "import fs, { writeFileSync } from 'node:fs'; import { readFile, writeFile } from 'node:fs/promises'; import { createRequire } from 'node:module';
        export default { name: 't', version: '1', async run() {
            writeFileSync('/tmp/a', 'a'); await writeFile('/tmp/b', 'b'); createRequire(import.meta.url)('fs').renameSync('/tmp/b', '/tmp/c');
            await new Promise((done) => fs.createWriteStream('/tmp/d').end('d', done));
            return [fs.readdirSync('/tmp').sort(), await readFile(process.env.TMPDIR + '/a', 'utf8'), fs.readFileSync(new URL('file:///tmp/d'), 'utf8'), fs.existsSync('/tmp/none')];
        } };";
    let code = code.replace("/tmp/a", a.to_str().expect("a path"));
    let name = a.file_name().expect("a name").to_str().expect("text");
    let code = code.replace("TMPDIR + '/a'", &format!("TMPDIR + '/{name}'"));
    assert_eq!(
        value(bench.call(&bench.module("tmp", &code), 0).await),
        json!([[name, "c", "d"], "a", "d", false])
    );
    assert!(!a.exists());
}
