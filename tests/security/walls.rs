//! Files and programs.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use millrace_tests::NOBODY;

use crate::support::Field;

const CLOSED: &[&str] = &["EACCES", "EPERM"];

#[tokio::test]
async fn files_of_the_server_and_of_the_machine_are_closed() {
    let field = Field::start().await;
    for attack in [
        "return fs.readFileSync(at.data + '/millrace.db').length;",
        "return fs.readFileSync(at.data + '/master.key').length;",
        "return fs.readFileSync(at.data + '/credentials.json', 'utf8');",
        "return fs.readdirSync(at.data + '/artifacts');",
        "return fs.readdirSync(at.data + '/hosts');",
        "return fs.readFileSync('/etc/shadow', 'utf8');",
        "return fs.readFileSync('/etc/passwd', 'utf8');",
        "return fs.readFileSync(`/proc/${at.server}/environ`, 'utf8');",
        "return fs.readFileSync(`/proc/${at.server}/maps`, 'utf8');",
        "return fs.openSync(`/proc/${at.server}/mem`, 'r+');",
        "return fs.readdirSync('/proc');",
        "fs.symlinkSync(at.data + '/master.key', '/tmp/k'); return fs.readFileSync('/tmp/k').length;",
        "return fs.readFileSync('/proc/self/root' + at.data + '/master.key').length;",
        "return fs.readFileSync('/proc/self/cwd/../../../master.key').length;",
        "fs.symlinkSync('/proc/self/root', '/tmp/r'); return fs.readFileSync('/tmp/r' + at.data + '/master.key').length;",
        "fs.symlinkSync(at.data, '/tmp/d'); return fs.readdirSync('/tmp/d');",
        "fs.symlinkSync('..', '/tmp/up'); return fs.readdirSync('/tmp/up/../..');",
        "return fs.readFileSync('/proc/1/cmdline', 'utf8');",
        "return fs.readFileSync('/proc/net/tcp', 'utf8');",
        "return (await fs.promises.opendir(at.data)).path;",
        "return fs.cpSync(at.data + '/master.key', '/tmp/copy');",
    ] {
        field.refused(attack, CLOSED).await;
    }
}

#[tokio::test]
async fn another_component_s_artifact_is_closed_also_by_its_full_path() {
    let field = Field::start().await;
    let artifacts = field.server.data_dir().join("artifacts");
    let names: Vec<_> = std::fs::read_dir(artifacts)
        .expect("reads")
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(!names.is_empty());
    for name in names {
        field
            .refused(
                &format!("return fs.readFileSync(at.data + '/artifacts/{name}', 'utf8');"),
                CLOSED,
            )
            .await;
    }
}

#[tokio::test]
async fn nothing_is_written_outside_tmp() {
    let field = Field::start().await;
    for attack in [
        "fs.writeFileSync(at.data + '/x', 'x');",
        "fs.appendFileSync(at.data + '/millrace.db', 'x');",
        "fs.truncateSync(at.data + '/millrace.db');",
        "fs.unlinkSync(at.data + '/master.key');",
        "fs.renameSync(at.data + '/master.key', os.tmpdir() + '/k');",
        "fs.linkSync(at.data + '/master.key', os.tmpdir() + '/hard');",
        "fs.symlinkSync(at.data + '/planted', '/tmp/s'); fs.writeFileSync('/tmp/s', 'x');",
        "fs.symlinkSync(at.data, '/tmp/dir'); fs.mkdirSync('/tmp/dir/planted');",
        "fs.mkdirSync('/tmp/a'); fs.renameSync('/tmp/a', at.data + '/planted');",
        "fs.writeFileSync(new URL(import.meta.url).pathname, 'x');",
        "fs.unlinkSync(new URL(import.meta.url).pathname);",
        "fs.writeFileSync('/var/tmp/millrace-attack', 'x');",
        "fs.writeFileSync('/./tmp/millrace-attack', 'x');",
        "fs.writeFileSync('/dev/shm/millrace-attack', 'x');",
    ] {
        field.refused(attack, &["EACCES", "EPERM", "EXDEV"]).await;
    }
    // It seems to be done, and is not: refusing would break what unpacks archives.
    let key = field.server.data_dir().join("master.key");
    let rights = || std::fs::metadata(&key).expect("reads").mode();
    let before = rights();
    field.send(&field.deploy("fs.chmodSync(at.data + '/master.key', 0o777);").await).await;
    assert_eq!(rights(), before);
    assert!(!field.server.data_dir().join("planted").exists());
    field.healthy().await;
}

/// The folder was made by somebody who did not think of it, as a package or `mkdir` does.
#[tokio::test]
async fn what_the_server_keeps_is_closed_to_other_users() {
    let mut field = Field::at_rest(&[]);
    let data = field.server.data_dir();
    std::fs::create_dir(&data).expect("a folder");
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).expect("opens");
    // Root gives it away; nobody else has to.
    let _ = std::os::unix::fs::chown(&data, Some(NOBODY), Some(NOBODY));
    field.launch().await;
    field.healthy().await;
    let (mut open, mut looked_at, mut folders) = (Vec::new(), 0, vec![data]);
    while let Some(folder) = folders.pop() {
        // What hosts have is theirs to make and to remove meanwhile.
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(meta) = std::fs::symlink_metadata(entry.path()) else { continue };
            looked_at += 1;
            if !meta.is_symlink() && meta.mode() & 0o077 != 0 {
                open.push(entry.path());
            }
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    assert!(looked_at > 5 && open.is_empty(), "of {looked_at}, others may look into {open:?}");
    assert!(
        field.server.log().contains("is open to other users; close it: `chmod 700`"),
        "{}",
        field.server.log()
    );
}

#[tokio::test]
async fn no_program_and_no_native_code_is_started() {
    let field = Field::start().await;
    for attack in [
        "return cp.execFileSync('/bin/sh', ['-c', 'id'], { encoding: 'utf8' });",
        "return cp.execSync('id', { encoding: 'utf8' });",
        "return cp.execFileSync(process.execPath, ['-p', '1'], { encoding: 'utf8' });",
        "const done = cp.spawnSync(process.execPath, ['-p', '1']); if (done.error) throw done.error; return done.stdout;",
        "fs.writeFileSync('/tmp/run', '#!/bin/sh\\nid\\n', { mode: 0o755 }); return cp.execFileSync(os.tmpdir() + '/run', { encoding: 'utf8' });",
        "for (let n = 0; n < 100; n++) await new Promise((y, fail) => cp.spawn(process.execPath).on('error', fail).on('spawn', y)); return 'forked';",
    ] {
        field.refused(attack, CLOSED).await;
    }
    field.refused("fs.writeFileSync('/tmp/x.node', 'x'); process.dlopen({ exports: {} }, os.tmpdir() + '/x.node');", &["ERR_DLOPEN_DISABLED"]).await;
    let worker = "const { Worker } = await import('node:worker_threads'); return await new Promise((y, n) => new Worker(\"process.dlopen({ exports: {} }, '/x.node')\", { eval: true, execArgv: ['--addons'] }).on('error', n).on('exit', y));";
    field.refused(worker, &["ERR_DLOPEN_DISABLED"]).await;
}
