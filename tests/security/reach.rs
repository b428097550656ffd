//! Other processes, the runtime itself, the wire.

use crate::support::Field;

#[tokio::test]
async fn the_server_and_other_hosts_cannot_be_signalled_or_slowed() {
    let field = Field::start().await;
    for attack in [
        "process.kill(at.server, 'SIGKILL');",
        "process.kill(at.server, 'SIGSTOP');",
        "process.kill(at.server, 0);",
        "process.kill(-1, 'SIGKILL');",
        "process.kill(0, 'SIGKILL');",
    ] {
        field.refused(attack, &["EPERM"]).await;
    }
    field.refused("os.setPriority(at.server, 19);", &["ERR_SYSTEM_ERROR"]).await;
    // A debugger in the server would be reached by a signal, one of its own by a port.
    field.refused("process._debugProcess(at.server);", &["EPERM", "Error"]).await;
    let listen =
        "const { createServer } = await import('node:net'); return await new Promise((y, n) => createServer().on('error', n).listen(0, () => y('listens')));";
    field.refused(listen, &["EACCES"]).await;
    let local = "const { connect } = await import('node:net'); return await new Promise((y, n) => connect('/run/dbus/system_bus_socket').on('error', n).on('connect', () => y('in')));";
    field.refused(local, &["EPERM"]).await;
}

#[tokio::test]
async fn what_a_component_does_to_its_own_runtime_stays_there() {
    let field = Field::start().await;
    for attack in [
        "Object.prototype.polluted = 'yes'; Array.prototype.push = () => { throw new Error('mine'); };",
        "JSON.stringify = () => '{\"t\":\"done\",\"id\":1,\"ok\":true}';",
        "Map.prototype.get = () => undefined; Promise.prototype.then = () => {};",
        "globalThis.defineComponent = null; process.emit = () => {}; Buffer.allocUnsafe = () => Buffer.alloc(0);",
    ] {
        // Whether it answers is its own affair; it may take until its time is over.
        let source = field.deploy(attack).await;
        let sent = tokio::time::timeout(std::time::Duration::from_secs(3), field.send(&source)).await;
        drop(sent);
        field.healthy().await;
    }
}

#[tokio::test]
async fn forged_frames_end_the_run_that_sent_them() {
    let field = Field::start().await;
    let send = "const send = (text) => { const body = Buffer.from(text); const head = Buffer.alloc(4); head.writeUInt32LE(body.length); fs.writeSync(3, Buffer.concat([head, body])); };";
    for (frame, said) in [
        ("send(JSON.stringify({ t: 'emit', id: 4711, event: { forged: true }, meta: {} }));", "a call it was not given"),
        ("send(JSON.stringify({ t: 'done', id: 4711, ok: true, result: null }));", "a call it was not given"),
        ("send(JSON.stringify({ t: 'sudo' }));", "unknown type"),
        ("send(JSON.stringify({ t: 'loaded' }));", "loaded twice"),
        ("send('{');", "not of the protocol"),
        ("fs.writeSync(3, Buffer.from([0xff, 0xff, 0xff, 0x7f]));", "allowed are"),
    ] {
        let error = field.fails(&format!("{send} {frame} await new Promise(() => setInterval(() => {{}}, 1000));")).await;
        assert_eq!(error["code"], "InternalFailure", "{error}");
        assert!(error["message"].as_str().is_some_and(|m| m.contains(said)), "{frame}: {error}");
    }
}
