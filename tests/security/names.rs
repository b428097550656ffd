//! Untrusted names of files, in uploads and in file stores, and files that a component leaves in
//! its folder to break the server.

use std::collections::BTreeSet;
use std::path::Path;

use millrace_tests::{answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Field;

const BOUNDARY: &str = "aBoundary";

/// What is in the data directory, but the database's own files, what is fetched, and the folders of
/// hosts.
fn kept(field: &Field) -> BTreeSet<String> {
    fn below(folder: &Path, all: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("reads").flatten() {
            all.insert(entry.path().display().to_string());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below(&entry.path(), all);
            }
        }
    }
    let (data, mut all) = (field.server.data_dir(), BTreeSet::new());
    let beside = data.parent().expect("a folder");
    for entry in std::fs::read_dir(beside)
        .expect("reads")
        .chain(std::fs::read_dir(&data).expect("reads"))
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        all.insert(entry.path().display().to_string());
        if name == "artifacts" {
            below(&entry.path(), &mut all);
        }
    }
    all.retain(|path| !path.contains("millrace.db-"));
    all
}

/// A form of one file whose name is these bytes.
fn form(name: &[u8]) -> Vec<u8> {
    let head = format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"doc\"; filename=\"");
    let rest = format!("\"\r\ncontent-type: text/plain\r\n\r\nits text\r\n--{BOUNDARY}--\r\n");
    [head.as_bytes(), name, rest.as_bytes()].concat()
}

#[tokio::test]
async fn a_file_that_is_sent_leads_nowhere_by_its_name() {
    let field = Field::start().await;
    let source = field.deploy("return JSON.stringify(event.body);").await;
    let (url, before) = (endpoint(&source), kept(&field));
    let data = field.server.data_dir().join("planted").display().to_string();
    let long = "x".repeat(5_000);
    let long_path = "../".repeat(1_000);
    let names: [&[u8]; 16] = [
        b"../../../../etc/passwd",
        b"..\\..\\..\\windows\\system32\\x",
        b"/etc/passwd",
        data.as_bytes(),
        b"..",
        b".",
        b"",
        b"/",
        b"a/../../b",
        b"%2e%2e%2f%2e%2e%2fx",
        b"a%00b.txt",
        b"nul\0byte.txt",
        b"esc\x1b[2Jape",
        "\u{202e}txt.exe\u{2028}".as_bytes(),
        long.as_bytes(),
        long_path.as_bytes(),
    ];
    for name in names.into_iter().chain([
        &b"\xff\xfe\xfd"[..],
        b"a\r\nset-cookie: x=1\r\nb",
        b"a\"; name=\"other",
    ]) {
        let shown = String::from_utf8_lossy(name).chars().take(60).collect::<String>();
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        let sent = answer(
            field.server.raw(Method::POST, &url).header("content-type", kind).body(form(name)),
        )
        .await;
        assert!(
            sent.status == 200 || (400..500).contains(&sent.status),
            "{shown:?}: {} {}",
            sent.status,
            sent.text
        );
        let Some(seen) = sent.text.strip_prefix("open: ") else {
            assert_ne!(sent.status, 200, "{shown:?}: {}", sent.text);
            continue;
        };
        let seen: Value = serde_json::from_str(seen).expect("JSON");
        // Where it stays a file: its address is of our making, and it is given as what it is.
        let Some(at) = seen["doc"]["url"].as_str() else { continue };
        assert!(
            at.starts_with(&format!("{}/uploads/", field.server.url))
                && at.rsplit('/').next().is_some_and(|token| !token.contains(['.', '%'])),
            "{at}"
        );
        let got = field.server.raw(Method::GET, at).send().await.expect("an answer");
        let told = got.headers()["content-disposition"].as_bytes().to_vec();
        assert!(
            told.starts_with(b"attachment") && told.iter().all(|byte| (b' '..=b'~').contains(byte)),
            "{shown:?}: {}",
            String::from_utf8_lossy(&told)
        );
        assert!(
            !told.windows(2).any(|two| two == b"..") || !told.contains(&b'/'),
            "{shown:?}: {}",
            String::from_utf8_lossy(&told)
        );
        assert!(!got.headers().contains_key("set-cookie"), "{shown:?}");
        assert_eq!(
            (got.status().as_u16(), got.text().await.expect("a body").as_str()),
            (200, "its text"),
            "{shown:?}"
        );
    }
    for token in ["..%2f..%2fmaster.key", "%00", &"x".repeat(10_000), "up_x-", "-", "%ff"] {
        let got = answer(field.server.raw(Method::GET, &format!("/uploads/{token}"))).await;
        assert!((400..500).contains(&got.status), "{token}: {} {}", got.status, got.text);
    }
    assert_eq!(kept(&field), before, "a file was made, or is gone");
    field.healthy().await;
}

#[tokio::test]
async fn a_file_of_a_store_leads_nowhere_by_its_path() {
    let field = Field::start().await;
    let before = kept(&field);
    let key = field.server.api_key.clone();
    let files = |store: &str| {
        field
            .server
            .raw(Method::PUT, &format!("/v1/file_stores/{store}/files"))
            .bearer_auth(&key)
            .body("planted")
    };
    let (long, long_part) = ("a/".repeat(300) + "x", format!("a/{}", "ü".repeat(128)));
    for path in [
        "../x",
        "a/../../x",
        "/etc/passwd",
        "..",
        ".",
        "a//b",
        "a/",
        "a/./b",
        "a\0b",
        "a\nb",
        &long,
        &long_part,
    ] {
        let refused = answer(files("s").query(&[("path", path)])).await;
        assert_eq!(
            (refused.status, refused.json["details"]["field"].as_str()),
            (422, Some("path")),
            "{path:?}: {}",
            refused.text
        );
    }
    for store in ["..", "%2e%2e", "a%2fb", ".hidden", "a%00b", "a%0ab", &"x".repeat(65)] {
        let refused = answer(files(store).query(&[("path", "x")])).await;
        assert!(
            (400..500).contains(&refused.status),
            "{store}: {} {}",
            refused.status,
            refused.text
        );
    }
    // What the API refuses a component's process cannot ask for either, whatever frames it sends:
    // its call is the first, and has a `dir` prop.
    let ask = "const frame = (ask, kind, payload) => { const body = Buffer.from(JSON.stringify({ t: 'ask', id: 1, ask, kind, payload })); const head = Buffer.alloc(4); head.writeUInt32LE(body.length); fs.writeSync(3, Buffer.concat([head, body])); };";
    let attack = format!(
        "import fs from 'node:fs'; export default {{ name: 'attack', version: '1', props: {{ http: {{ type: '$.interface.http', customResponse: true }}, dir: {{ type: 'dir', accessMode: 'read-write', sync: true }} }},
           async run(event) {{ {ask}
             const paths = ['../x', '/etc/x', '..', 'a\\0b', 'a/../../x', event.body.data + '/planted', 'y'.repeat(600)];
             paths.forEach((path, n) => {{ frame(8000 + n, 'files.read', {{ store: 's', path, id: 'up_x', position: 0 }}); frame(8100 + n, 'files.keep', {{ store: 's', files: [['up_x', path]] }}); }});
             ['../s', '/', '', 's/../t', 'theirs'].forEach((store, n) => {{ frame(8200 + n, 'files.list', {{ store }}); frame(8300 + n, 'files.begin', {{ store }}); }});
             this.http.respond({{ status: 200, body: 'sent' }}); }} }};"
    );
    let source = field.server.source(&attack, json!({ "dir": "s" })).await;
    field.send(&source).await;
    let names = field.server.get("/file_stores").await.data();
    assert_eq!(names, json!([]), "something was stored");
    let mut after = kept(&field);
    after.retain(|path| !path.contains("/artifacts/"));
    assert_eq!(
        after,
        before.into_iter().filter(|path| !path.contains("/artifacts/")).collect(),
        "a file was made, or is gone"
    );
    field.healthy().await;
}

/// What the server looks at, counts and clears away of a component's making: links, folders without
/// rights, names that are no text, and folders that become links while it looks.
#[tokio::test]
async fn what_a_component_leaves_in_its_folder_leads_the_server_nowhere() {
    let field = Field::start().await;
    let litter = "for (const [n, to] of [at.data, at.data + '/artifacts', '/', '..', 'link-3', '/proc/self/root', at.data + '/master.key'].entries()) fs.symlinkSync(to, `/tmp/link-${n}`);
        fs.writeFileSync('/tmp/file', 'x'); fs.linkSync('/tmp/file', '/tmp/hard');
        for (let n = 0, path = os.tmpdir(); n < 200; n++) fs.mkdirSync(path += '/deep');
        fs.mkdirSync('/tmp/closed', { mode: 0 }); fs.mkdirSync('/tmp/.moved-1'); fs.writeFileSync('/tmp/.moved-2', '');
        fs.writeFileSync(Buffer.concat([Buffer.from(os.tmpdir() + '/'), Buffer.from([0xff, 0x0a, 0xfe])]), 'x'); fs.writeFileSync('/tmp/' + 'n'.repeat(255), 'x');
        const { Worker } = await import('node:worker_threads');
        const swap = `const fs = require('fs'); const [at, to] = [${JSON.stringify(os.tmpdir())}, ${JSON.stringify(at.data + '/artifacts')}];
          for (;;) try { fs.mkdirSync(at + '/turns', { recursive: true }); fs.renameSync(at + '/turns', at + '/aside'); fs.symlinkSync(to, at + '/turns'); fs.unlinkSync(at + '/turns'); fs.rmdirSync(at + '/aside'); } catch {}`;
        new Worker(swap, { eval: true }); new Worker(swap, { eval: true });";
    // One that lives on, so that it is counted; one that is ended for what it keeps; one that is
    // ended at work.
    let lives = field.deploy(&format!("{litter} return 'littered';")).await;
    let hogs = field.deploy(&format!("{litter} for (let n = 0; n < 110000; n++) fs.writeFileSync('/tmp/many-' + n, ''); await new Promise(() => {{}});")).await;
    let goes = field.deploy(&format!("{litter} return 'littered';")).await;
    let (before, hosts) = (kept(&field), field.server.data_dir().join("hosts"));
    assert_eq!(field.send(&lives).await.text, "open: littered");
    assert_eq!(field.send(&goes).await.text, "open: littered");
    field.send(&hogs).await;
    let path = format!("/sources/{}/runs?status=failed", id(&hogs));
    let failed =
        field.server.until("the hog is ended", &path, |l| l["page_info"]["total_count"] == 1).await;
    assert_eq!(failed["data"][0]["error"]["code"], "PayloadTooLarge", "{failed}");
    field.server.delete(&format!("/sources/{}", id(&goes))).await.data();
    field.server.delete(&format!("/sources/{}", id(&hogs))).await.data();
    // Their folders go with them, and nothing else does.
    let littered = || {
        let all = std::fs::read_dir(&hosts).expect("reads").flatten();
        all.filter(|host| {
            host.path().join("tmp/closed").symlink_metadata().is_ok()
                || host.path().join("tmp/link-0").symlink_metadata().is_ok()
        })
        .count()
    };
    let began = std::time::Instant::now();
    while littered() > 1 {
        assert!(began.elapsed().as_secs() < 120, "{} folders of hosts are left", littered());
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let missing: Vec<_> =
        before.iter().filter(|path| Path::new(path).symlink_metadata().is_err()).collect();
    assert!(missing.is_empty(), "the server removed {missing:?}");
    assert_eq!(field.server.get("/users/me").await.status, 200);
    field.healthy().await;
}

/// A `dir` prop takes plain files of the component's own folder, and what they hold; nothing that a
/// link leads to.
#[tokio::test]
async fn a_mirrored_folder_takes_nothing_that_a_link_leads_to() {
    let field = Field::start().await;
    let code = "import fs from 'node:fs'; export default { name: 'mirror', version: '1', props: { http: { type: '$.interface.http', customResponse: true }, dir: { type: 'dir', accessMode: 'read-write', sync: true } },
        run(event) { const at = event.body; fs.writeFileSync('/tmp/own', 'own');
          for (const [n, to] of [at.data + '/master.key', at.data + '/credentials.json', '/etc/passwd', '/proc/self/status', '/etc', at.data, '/dev/zero', 'own'].entries()) fs.symlinkSync(to, `/tmp/link-${n}`);
          this.http.respond({ status: 200, body: 'done' }); } };";
    let source = field.server.source(code, json!({ "dir": "s" })).await;
    assert_eq!(field.send(&source).await.text, "done");
    let files = field
        .server
        .until("it is stored", "/file_stores/s/files", |l| {
            l["page_info"]["total_count"].as_u64().is_some_and(|n| n > 0)
        })
        .await;
    let paths: Vec<_> =
        files["data"].as_array().expect("a list").iter().map(|file| file["path"].clone()).collect();
    assert_eq!(paths, [json!("own")]);
    field.healthy().await;
}
