//! Isolates serve one call at a time: hooks, forms, and sources and actions on two servers.

use std::collections::BTreeSet;

use futures::future::join_all;
use millrace_tests::registry::{Registry, Release};
use millrace_tests::{Server, endpoint, id};
use serde_json::json;

use crate::nodes::Pair;
use crate::one_at_a_time::{MARK, ask, own};

/// As `moment().locale`: what a module was last told counts for all who load it.
const LOCALE: (&str, &[u8]) = (
    "index.js",
    b"let now = 'en'; exports.locale = (to) => to === undefined ? now : (now = to); exports.name = () => now;",
);

#[tokio::test]
async fn r4_the_state_of_an_installed_package_is_of_one_run_at_a_time() {
    let manifest = json!({ "name": "keeps-locale", "version": "1.0.0" });
    let registry = Registry::of(&[Release { manifest, files: &[LOCALE] }]);
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    let step = "import { locale, name } from 'keeps-locale'; import { createRequire } from 'node:module';
      export default defineComponent({ async run({ steps, $ }) { const { i } = steps.trigger.event.body; locale(`l${i}`); process.exitCode = i;
        await new Promise((done) => setTimeout(done, 40)); await $.respond({ status: 200, body: { locale: name(), code: process.exitCode } }); } });";
    let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("speaks", step)]).await;
    let url = endpoint(&workflow);
    let answers = join_all((0..12).map(|i| ask(&server, &url, i))).await;
    for (i, answered) in (0..).zip(answers) {
        let expected = json!({ "locale": format!("l{i}"), "code": i });
        assert_eq!((answered.status, answered.json), (200, expected));
    }
}

#[tokio::test]
async fn r3_hooks_of_sources_that_are_deployed_at_the_same_time_share_nothing() {
    let server = Server::shared().await;
    let code = format!(
        "{MARK} export default {{ name: 'h', version: '1', props: {{ i: 'integer', db: '$.service.db' }},
      hooks: {{ async deploy() {{ this.db.set('deploy', await mark(this.i)); }}, async activate() {{ this.db.set('activate', await mark(this.i)); }} }},
      run() {{ return [this.db.get('deploy'), this.db.get('activate')]; }} }};"
    );
    let sources = join_all((0..8u64).map(|i| server.source(&code, json!({ "i": i })))).await;
    for (i, source) in (0..).zip(&sources) {
        let run = server.run_now(source, json!({})).await;
        assert_eq!(run["return_value"], json!([own(i), own(i)]), "{run}");
    }
    // Again, as all are switched off and on.
    for active in [false, true] {
        join_all(sources.iter().map(|source| async {
            let path = format!("/sources/{}", id(source));
            server.put(&path, &json!({ "active": active })).await.data();
        }))
        .await;
    }
    for (i, source) in (0..).zip(&sources) {
        let run = server.run_now(source, json!({})).await;
        assert_eq!(run["return_value"], json!([own(i), own(i)]), "{run}");
    }
}

#[tokio::test]
async fn r3_questions_of_forms_at_the_same_time_share_nothing() {
    let server = Server::shared().await;
    let code = format!(
        "{MARK} export default {{ name: 'f', key: 'test-form', version: '1', type: 'action', props: {{ i: {{ type: 'integer', reloadProps: true }},
      pick: {{ type: 'string', optional: true, async options() {{ return (await mark(this.i)).map(String); }} }} }},
      async additionalProps() {{ const [one] = new Set(await mark(this.i)); return {{ [`made_${{one}}`]: {{ type: 'string', optional: true }} }}; }}, run() {{}} }};"
    );
    server.post("/components", &json!({ "component_code": code, "publish": true })).await.data();
    let asked = (0..8u64).map(|i| {
        let form = json!({ "id": "test-form", "configured_props": { "i": i } });
        let server = &server;
        async move {
            let mut question = form.clone();
            question["prop_name"] = json!("pick");
            tokio::join!(
                server.post("/components/configure", &question),
                server.post("/components/props", &form)
            )
        }
    });
    for (i, (options, props)) in (0..8u64).zip(join_all(asked).await) {
        let given = options.json["options"].as_array().expect("options");
        let given: BTreeSet<_> =
            given.iter().map(|option| option["value"].as_str().unwrap_or("").to_owned()).collect();
        assert_eq!(given, [i.to_string()].into(), "{}", options.text);
        let made = format!("made_{i}");
        assert!(props.text.contains(&format!("\"{made}\"")), "{made}: {}", props.text);
    }
}

#[tokio::test]
async fn r3_runs_of_a_source_and_of_an_action_on_two_servers_share_nothing() {
    let Some(pair) = Pair::start(&[]).await else { return };
    let code = format!(
        "{MARK} export default {{ name: 's', version: '1', props: {{ http: {{ type: '$.interface.http', customResponse: true }} }},
      async run(e) {{ this.http.respond({{ status: 200, body: await mark(e.body.i) }}); }} }};"
    );
    let source = pair.a.source(&code, json!({})).await;
    let url = endpoint(&source);
    let asked = (0..16u64).map(|i| {
        let (pair, url, event) = (&pair, &url, json!({ "i": i }));
        async move { pair.post(url, usize::try_from(i).expect("fits"), &event).await }
    });
    for (i, answered) in (0..).zip(join_all(asked).await) {
        assert_eq!((answered.status, answered.json), (200, own(i)));
    }
    let code = format!(
        "{MARK} export default {{ name: 'a', key: 'test-mark', version: '0.0.1', type: 'action', props: {{ i: 'integer' }}, async run() {{ return await mark(this.i); }} }};"
    );
    pair.a.post("/components", &json!({ "component_code": code, "publish": true })).await.data();
    let workflow = pair.a.workflow("w", json!([]), &[]).await;
    let path =
        format!("/connect/{}/actions/run", workflow["project_id"].as_str().expect("a project"));
    let asked = (0..12u64).map(|i| {
        let server = if i.is_multiple_of(2) { &pair.a } else { &pair.b };
        let (path, body) = (&path, json!({ "id": "test-mark", "configured_props": { "i": i } }));
        async move { server.post(path, &body).await }
    });
    for (i, answered) in (0..).zip(join_all(asked).await) {
        assert_eq!((answered.status, &answered.json["ret"]), (200, &own(i)), "{}", answered.text);
    }
}
