//! Section 2.7.4: `$.service.db`.

use millrace_tests::{Server, id};
use serde_json::json;

fn with_db(body: &str) -> String {
    format!(
        "export default {{ name: 'c', version: '1', props: {{ db: '$.service.db' }}, hooks: {{ deploy() {{ this.db.set('hook', true); }} }},
           methods: {{ next(key) {{ const n = (this.db.get(key) || 0) + 1; this.db.set(key, n); return n; }} }}, async run(event) {{ {body} }} }};"
    )
}

#[tokio::test]
async fn s2_7_4_db_keeps_state_across_runs_and_restarts() {
    let mut server = Server::start().await;
    let source = server.source(&with_db("return this.next('n');"), json!({})).await;
    for n in [1, 2] {
        assert_eq!(server.run_now(&source, json!({})).await["return_value"], n);
    }
    assert_eq!(server.terminate(), Some(0));
    server.launch().await;
    assert_eq!(server.run_now(&source, json!({})).await["return_value"], 3);
}

#[tokio::test]
async fn s2_7_4_get_is_synchronous_gives_undefined_for_no_value_and_a_fresh_copy() {
    let server = Server::shared().await;
    let body = "this.db.set('o', { a: [1] }); const first = this.db.get('o'); first.a.push(2);
      this.db.set('nothing', null); this.db.set('gone', 1); this.db.set('gone', undefined);
      return [typeof this.db.get('never'), this.db.get('o'), await this.db.get('hook'), this.db.get('nothing'), typeof this.db.get('gone')];";
    assert_eq!(
        server.returned(&with_db(body), json!({})).await,
        json!(["undefined", { "a": [1] }, true, null, "undefined"])
    );
}

#[tokio::test]
async fn s2_7_4_a_component_cannot_see_the_values_of_another() {
    let server = Server::shared().await;
    let code = with_db("return this.next('n');");
    let (one, two) = (server.source(&code, json!({})).await, server.source(&code, json!({})).await);
    server.run_now(&one, json!({})).await;
    assert_eq!(server.run_now(&two, json!({})).await["return_value"], 1);
}

#[tokio::test]
async fn s2_7_4_what_json_has_no_word_for_and_what_is_too_large_is_an_error_that_names_the_key() {
    let server = Server::shared().await;
    let body = "const caught = []; const a = {}; a.a = a;
      for (const value of [a, 1n, 'x'.repeat(61 * 1024)]) { try { this.db.set('my-key', value); caught.push('none'); } catch (e) { caught.push(e.message); } }
      this.db.set('small', 1); return [caught, this.db.get('my-key') === undefined];";
    let got = server.returned(&with_db(body), json!({})).await;
    for message in got[0].as_array().expect("messages") {
        assert!(message.as_str().is_some_and(|m| m.contains("my-key")), "{got}");
    }
    assert_eq!(got[1], true);
}

#[tokio::test]
async fn s2_7_4_what_was_set_before_an_error_is_kept() {
    let server = Server::shared().await;
    let source = server
        .source(
            &with_db("const n = this.next('n'); if (event.fail) throw new Error('x'); return n;"),
            json!({}),
        )
        .await;
    assert_eq!(server.run_now(&source, json!({ "fail": true })).await["status"], "failed");
    assert_eq!(server.run_now(&source, json!({})).await["return_value"], 2);
    assert!(id(&source).starts_with("dc_"));
}
