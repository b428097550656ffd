//! Data stores (reference 3; facts 4.7): shared by workflows and sources of one organization, real
//! at once, bounded.

use millrace_tests::receiver::{Does, Receiver};
use millrace_tests::{Client, Server, answer};
use reqwest::Method;
use serde_json::{Value, json};

const STORE_PROP: &str =
    "props: { store: { type: 'data_store' }, other: { type: 'string', optional: true } }";

/// A workflow of one step with a data store; `body` is that of `async run({ steps, $ })`.
async fn workflow(server: &Client, store: &str, body: &str) -> Value {
    let code = format!(
        "export default defineComponent({{ {STORE_PROP}, async run({{ steps, $ }}) {{ {body} }} }});"
    );
    let steps = json!([{ "namespace": "a", "code": code, "props": { "store": store } }]);
    server
        .post("/workflows", &json!({ "triggers": [], "steps": steps, "settings": { "name": "w" } }))
        .await
        .data()
}

/// What its step gives for an event.
async fn run(server: &Client, workflow: &Value, event: Value) -> Value {
    let run = server
        .post(
            &format!("/workflows/{}/test", workflow["id"].as_str().expect("an id")),
            &json!({ "event": event }),
        )
        .await
        .data();
    if run["status"] == "succeeded" {
        run["steps"][0]["exports"]["$return_value"].clone()
    } else {
        run["error"].clone()
    }
}

async fn create(server: &Client, name: &str) -> String {
    server.post("/data_stores", &json!({ "name": name })).await.data()["id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

#[tokio::test]
async fn r3_3_data_store_values_are_kept_between_runs_and_shared_with_sources() {
    let server = Server::shared().await;
    let id = create(&server, "things").await;
    let body = "const s = this.store;
        const before = await s.get('n');
        await s.set('n', (before ?? 0) + 1);
        await s.set('object', { deep: [1, null] });
        await s.set('null', null);
        await s.set('ends', 1, { ttl: 0.05 });
        await s.set('stays', 1, { ttl: 3 });
        await s.setTtl('stays', null);
        await new Promise((done) => setTimeout(done, 3_100));
        const entries = []; for await (const [k, v] of s) entries.push([k, v]);
        return [before === undefined ? 'none' : before, await s.has('ends'), await s.get('ends') === undefined, await s.get('null'), await s.keys(), entries, await s.size()];";
    let made = workflow(&server, "things", body).await;
    let all = json!([["n", 1], ["null", null], ["object", { "deep": [1, null] }], ["stays", 1]]);
    assert_eq!(
        run(&server, &made, json!({})).await,
        json!(["none", false, true, null, ["n", "null", "object", "stays"], all, 4])
    );
    assert_eq!(run(&server, &made, json!({})).await[0], 1);
    // The same store in a source, by id.
    let code = format!(
        "export default {{ name: 's', version: '1', {STORE_PROP}, async run() {{ this.$emit({{ n: await this.store.get('n') }}); await this.store.clear(); }} }};"
    );
    let source = server.source(&code, json!({ "store": id })).await;
    let source_id = source["id"].as_str().expect("an id");
    server.post(&format!("/sources/{source_id}/run"), &json!({})).await.data();
    let events =
        server.get(&format!("/sources/{source_id}/event_summaries?expand=event")).await.json;
    assert_eq!(events["data"][0]["event"]["n"], 2);
    assert_eq!(server.get("/data_stores/things/keys").await.json["page_info"]["total_count"], 0);
}

#[tokio::test]
async fn r3_3_data_store_many_values_come_whole_through_pages() {
    let server = Server::shared().await;
    create(&server, "many").await;
    let body = "await Promise.all(Array.from({ length: 250 }, (_, n) => this.store.set(`k${String(n).padStart(3, '0')}`, 'x'.repeat(20_000))));
        const keys = await this.store.keys(); let bytes = 0; for await (const [, v] of this.store) bytes += v.length;
        return [keys.length, keys[0], keys[249], bytes];";
    let made = workflow(&server, "many", body).await;
    assert_eq!(run(&server, &made, json!({})).await, json!([250, "k000", "k249", 5_000_000]));
}

#[tokio::test]
async fn r3_3_data_store_a_call_reaches_only_the_stores_that_its_props_name() {
    let server = Server::shared().await;
    let (mine, secret) = (create(&server, "mine").await, create(&server, "secret").await);
    server
        .put("/data_stores/secret/record", &json!({ "key": "k", "value": "hidden" }))
        .await
        .data();
    // Code that speaks to the server past the runtime reaches the store that is configured, and no
    // other.
    let forging = "import fs from 'node:fs';
        export default defineComponent({ props: { store: { type: 'data_store' } }, async run({ steps }) {
          let ask = 1000;
          for (const store of steps.trigger.event.stores) for (let id = 1; id <= 1; id++) {
            const text = Buffer.from(JSON.stringify({ t: 'ask', id, ask: ask++, kind: 'data_store.set', payload: { store, key: 'forged', value: 1 } }));
            const head = Buffer.alloc(4); head.writeUInt32LE(text.length); fs.writeSync(3, Buffer.concat([head, text]));
          }
          await new Promise((done) => setTimeout(done, 300));
          return 'done';
        } });";
    let steps = json!([{ "namespace": "a", "code": forging, "props": { "store": "mine" } }]);
    let made = server
        .post("/workflows", &json!({ "triggers": [], "steps": steps, "settings": { "name": "f" } }))
        .await
        .data();
    assert_eq!(run(&server, &made, json!({ "stores": [secret, mine] })).await, "done");
    assert_eq!(server.get("/data_stores/mine/record?key=forged").await.status, 200);
    assert_eq!(
        server.get("/data_stores/secret/record?key=forged").await.refusal(),
        (404, "not_found")
    );
    let code = "export default defineComponent({ props: { store: { type: 'data_store' } }, async run() { return await this.store.get('k'); } });";
    let steps =
        |value: &str| json!([{ "namespace": "a", "code": code, "props": { "store": value } }]);
    // An expression may name any store of the organization, and no other organization's.
    let by_expression =
        server.post("/workflows", &json!({ "triggers": [], "steps": steps("{{steps.trigger.event.store}}"), "settings": { "name": "e" } })).await.data();
    assert_eq!(run(&server, &by_expression, json!({ "store": "secret" })).await, "hidden");
    let other = server
        .post("/workspaces", &json!({ "name": "Other", "email": "o@example.test" }))
        .await
        .data();
    let key = other["api_key"].as_str().expect("a key");
    let theirs = server
        .call_as(key, Method::POST, "/data_stores", Some(&json!({ "name": "theirs" })))
        .await
        .data();
    for name in [theirs["id"].clone(), json!("theirs"), json!("nothing")] {
        assert_eq!(
            run(&server, &by_expression, json!({ "store": name })).await["code"],
            "NotFound"
        );
    }
    assert_eq!(
        server.call_as(key, Method::GET, &format!("/data_stores/{secret}"), None).await.refusal(),
        (404, "not_found")
    );
    // A prop that names none is refused when it is configured.
    let refused = server
        .post(
            "/workflows",
            &json!({ "triggers": [], "steps": steps("nothing"), "settings": { "name": "w" } }),
        )
        .await;
    assert_eq!(refused.refusal(), (422, "invalid_props"));
    assert!(refused.text.contains("millrace data-stores list"), "{}", refused.text);
}

#[tokio::test]
async fn r3_3_data_store_what_does_not_fit_is_a_clear_error() {
    let server = Server::shared().await;
    create(&server, "s").await;
    let body = "const tried = async (f) => { try { return await f(); } catch (error) { return error.name; } };
        return [await tried(() => this.store.set('big', 'x'.repeat(1_100_000))), await tried(() => this.store.set('', 1)), await tried(() => this.store.set('k', undefined)),
          await tried(() => this.store.set('k', 1, { ttl: -1 })), await tried(() => this.store.set('k', 1, { ttl: 1e12 })), await this.store.size()];";
    let made = workflow(&server, "s", body).await;
    assert_eq!(
        run(&server, &made, json!({})).await,
        json!(["QuotaExceeded", "RangeError", "TypeError", "RangeError", "RangeError", 0])
    );
    for (body, field) in [(json!({ "value": 1 }), "key"), (json!({ "key": "k" }), "value")] {
        let answer = server.put("/data_stores/s/record", &body).await;
        assert_eq!(answer.refusal(), (422, "missing_field"), "{}", answer.text);
        assert_eq!(answer.json["details"]["field"], field, "{}", answer.text);
    }
    for (body, field) in [
        (json!({ "key": "", "value": 1 }), "key"),
        (json!({ "key": "k", "value": 1, "ttl": 0 }), "ttl"),
        (json!({ "key": "k", "value": 1, "ttl": "soon" }), "ttl"),
        (json!({ "key": "k".repeat(1025), "value": 1 }), "key"),
        (json!({ "key": "k", "value": "x".repeat(1 << 20) }), "value"),
    ] {
        let answer = server.put("/data_stores/s/record", &body).await;
        assert_eq!(
            (answer.refusal(), answer.json["details"]["field"].as_str()),
            ((422, "invalid_field"), Some(field)),
            "{}",
            answer.text
        );
    }
}

#[tokio::test]
async fn r3_3_data_store_stores_are_made_filled_listed_and_deleted_through_the_api() {
    let server = Server::shared().await;
    let id = create(&server, "a").await;
    assert_eq!(
        server.post("/data_stores", &json!({ "name": "a" })).await.refusal(),
        (409, "taken")
    );
    assert_eq!(
        server.post("/data_stores", &json!({ "name": "ds_x1" })).await.refusal(),
        (422, "invalid_field")
    );
    assert_eq!(server.post("/data_stores", &json!({})).await.refusal(), (422, "missing_field"));
    for key in ["..", "a/b", "ü &?", "z"] {
        server
            .put("/data_stores/a/record", &json!({ "key": key, "value": { "key": key } }))
            .await
            .data();
    }
    let got = answer(
        server
            .raw(Method::GET, &format!("/v1/data_stores/{id}/record"))
            .query(&[("key", "ü &?")])
            .bearer_auth(&server.api_key),
    )
    .await
    .data();
    assert_eq!(got, json!({ "key": "ü &?", "value": { "key": "ü &?" }, "expires_at_ms": null }));
    let keys = server.get("/data_stores/a/keys?limit=2").await.json;
    assert_eq!(
        (&keys["data"], &keys["page_info"]["total_count"]),
        (&json!([{ "key": ".." }, { "key": "a/b" }]), &json!(4))
    );
    let rest = server.get("/data_stores/a/keys?limit=2&after=a/b").await.json;
    assert_eq!(
        server.get("/data_stores/a/keys?before=a/b").await.refusal(),
        (422, "unknown_field"),
        "it goes forward only"
    );
    assert_eq!(rest["data"], json!([{ "key": "z" }, { "key": "ü &?" }]));
    server.delete("/data_stores/a/record?key=..").await.data();
    assert_eq!(server.delete("/data_stores/a/record?key=..").await.refusal(), (404, "not_found"));
    assert_eq!(server.get("/data_stores/a/record?key=..").await.refusal(), (404, "not_found"));
    assert_eq!(
        server.put(&format!("/data_stores/{id}"), &json!({ "name": "b" })).await.data()["name"],
        "b"
    );
    assert_eq!(server.get("/data_stores/a").await.refusal(), (404, "not_found"));
    // One that is in use stays.
    let made = workflow(&server, "b", "return 1;").await;
    let refused = server.delete("/data_stores/b").await;
    assert_eq!(refused.refusal(), (409, "in_use"));
    assert!(refused.text.contains("the workflow `w`"), "{}", refused.text);
    server.delete(&format!("/workflows/{}", made["id"].as_str().expect("an id"))).await.data();
    server.delete("/data_stores/b/keys").await.data();
    assert_eq!(server.get("/data_stores").await.json["data"][0]["keys"], 0);
    server.delete("/data_stores/b").await.data();
    assert_eq!(server.get("/data_stores").await.json["page_info"]["total_count"], 0);
}

#[tokio::test]
async fn r3_3_a_word_that_is_a_stores_name_opens_no_store() {
    let server = Server::shared().await;
    create(&server, "orders").await;
    let put = server
        .raw(Method::PUT, "/v1/file_stores/orders/files")
        .query(&[("path", "list.txt")])
        .bearer_auth(&server.api_key)
        .body("x");
    answer(put).await.data();
    // Code that speaks to the server past the runtime, and reads what it is told: its values are
    // the names of stores, of which no prop is one.
    let forging = "import fs from 'node:fs';
        const answers = []; const get = Map.prototype.get;
        Map.prototype.get = function (key) { const got = get.call(this, key); if (typeof got === 'object' && got !== null && 'answered' in got) got.answered = (frame) => answers.push(frame); return got; };
        const ask = (ask, kind, payload) => {
          const text = Buffer.from(JSON.stringify({ t: 'ask', id: 1, ask, kind, payload })); const head = Buffer.alloc(4); head.writeUInt32LE(text.length);
          fs.writeSync(3, Buffer.concat([head, text]));
        };
        export default { name: 'forges', version: '1', type: 'action', props: { word: { type: 'string' } }, async run() {
          ask(1000, 'data_store.set', { store: 'orders', key: 'forged', value: 1 }); ask(1001, 'files.list', { store: 'orders' });
          while (answers.length < 2) await new Promise((go) => setTimeout(go, 10));
          return answers.sort((a, b) => a.ask - b.ask).map(({ ok, error }) => [ok, error?.code]);
        } };";
    for props in
        [json!({ "word": "orders" }), json!({ "word": "orders", "nobody_defined": "orders" })]
    {
        let steps = json!([{ "namespace": "a", "code": forging, "props": props }]);
        let made = server
            .post(
                "/workflows",
                &json!({ "triggers": [], "steps": steps, "settings": { "name": "f" } }),
            )
            .await
            .data();
        assert_eq!(
            run(&server, &made, json!({})).await,
            json!([[false, "Forbidden"], [false, "Forbidden"]]),
            "{props}"
        );
    }
    assert_eq!(
        server.get("/data_stores/orders/record?key=forged").await.refusal(),
        (404, "not_found")
    );
}

#[tokio::test]
async fn r3_3_a_store_or_request_that_was_not_chosen_says_so_and_a_request_begins_with_its_default()
{
    let server = Server::shared().await;
    let receiver = Receiver::start(Does::says("200 OK")).await;
    let code = "export default defineComponent({ props: { store: { type: 'data_store' }, request: { type: 'http_request', default: { method: 'PUT' } } }, async run({ steps }) {
        return steps.trigger.event.ask === 'store' ? await this.store.get('a') : (await this.request.execute()).status; } });";
    let make = async |props: Value| {
        let steps = json!([{ "namespace": "a", "code": code, "props": props }]);
        server
            .post(
                "/workflows",
                &json!({ "triggers": [], "steps": steps, "settings": { "name": "w" } }),
            )
            .await
            .data()
    };
    let bare = make(json!({})).await;
    for (ask, words) in [
        ("store", "configure one: `millrace data-stores list`"),
        ("request", "the prop `request` has no request; configure one"),
    ] {
        let error = run(&server, &bare, json!({ "ask": ask })).await;
        assert!(
            error["message"].as_str().is_some_and(|message| message.contains(words)),
            "{error}"
        );
    }
    let asks = make(json!({ "request": { "url": receiver.url } })).await;
    assert_eq!(run(&server, &asks, json!({ "ask": "request" })).await, 200);
    assert!(receiver.got()[0].head.starts_with("PUT /hook "), "{:?}", receiver.got());
}
