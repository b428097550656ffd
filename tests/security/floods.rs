//! Floods of raw frames: what one run's frames may hold and cost is bounded by the server, for the
//! runtime, which keeps the bounds, can be gone around.

use serde_json::json;

use crate::support::Field;

/// Writes frames to the wire, past the runtime.
const RAW: &str = "
    const framed = (frame) => { const body = Buffer.from(JSON.stringify(frame)); const head = Buffer.alloc(4); head.writeUInt32LE(body.length); return Buffer.concat([head, body]); };
    // The wire does not block: a large frame goes in parts.
    const write = (all) => { for (let at = 0; at < all.length;) try { at += fs.writeSync(3, all, at); } catch (error) { if (error.code !== 'EAGAIN') throw error; } };
    const send = (frame) => write(framed({ id: 1, ...frame }));";

/// Each such step would hold as much as a whole run may leave, and its record with it.
#[tokio::test]
async fn steps_that_a_workflow_has_not_hold_nothing() {
    let field = Field::start().await;
    let step = "send({ t: 'step', namespace: 's' + n, state: 'started' });
        send({ t: 'step', namespace: 's' + n, state: 'exported', exports: { a: 'x'.repeat(5e6) } });";
    let id = field
        .begin(&format!("{RAW} for (let n = 0; n < 85; n += 1) {{ {step} }} return 1;"), 60_000)
        .await;
    let error = field.ends(&id).await;
    assert!(
        error["message"].as_str().is_some_and(|said| said.contains("a step that is not the next")),
        "{error}"
    );
    let runs = field.server.get(&format!("/workflows/{id}/runs")).await.json;
    assert_eq!(runs["data"][0]["steps"].as_array().map(Vec::len), Some(1), "{runs}");
}

/// Frames that cost the server their reading, and leave nothing behind that a bound would count.
#[tokio::test]
async fn a_flood_of_frames_ends_its_process() {
    let field = Field::start().await;
    for (frame, said) in [
        (json!({ "t": "awaits" }), "`awaits` twice"),
        (json!({ "t": "entered" }), "`entered` twice"),
        (
            json!({ "t": "step", "namespace": "attack", "state": "exported", "exports": {} }),
            "how far its steps are",
        ),
        (json!({ "t": "log", "level": "x".repeat(100_000), "text": "" }), "bytes of output"),
    ] {
        let flood = format!(
            "{RAW} const all = Buffer.concat(Array(100).fill(framed({{ id: 1, ...{frame} }}))); for (;;) write(all);"
        );
        let error = field.ends(&field.begin(&flood, 60_000).await).await;
        assert!(
            error["message"].as_str().is_some_and(|message| message.contains(said)),
            "{said}: {error}"
        );
    }
}
