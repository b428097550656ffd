//! Chapter 9: versioning.

use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn s9_paths_of_the_api_carry_the_prefix_v1() {
    let server = Server::shared().await;
    let get = async |path: &str| {
        answer(server.raw(Method::GET, path).bearer_auth(&server.api_key)).await.status
    };
    assert_eq!(
        (get("/v1/users/me").await, get("/users/me").await, get("/v2/users/me").await),
        (200, 404, 404)
    );
    assert!(
        server.document["paths"]
            .as_object()
            .expect("paths")
            .keys()
            .all(|path| path.starts_with("/v1/"))
    );
}

#[tokio::test]
async fn s9_a_run_reports_the_platform_version_that_the_server_says_it_has() {
    let server = Server::shared().await;
    let workflow = server
        .workflow(
            "w",
            json!([]),
            &[("a", "export default defineComponent({ run({ $, steps }) { return [$.context.platform_version, steps.trigger.context.platform_version]; } });")],
        )
        .await;
    let run = server.post(&format!("/workflows/{}/test", id(&workflow)), &json!({})).await.data();
    let version = &server.document["info"]["version"];
    assert!(version.as_str().is_some_and(|v| v.split('.').count() == 3));
    assert_eq!(run["steps"][0]["exports"]["$return_value"], json!([version, version]));
}

#[tokio::test]
async fn s9_an_update_keeps_the_id_the_endpoint_and_the_state() {
    let server = Server::shared().await;
    let code = |n: u8| {
        format!(
            "export default {{ name: 's', version: '0.0.{n}', props: {{ http: '$.interface.http', db: '$.service.db' }}, run() {{ const seen = this.db.get('seen') ?? []; this.db.set('seen', [...seen, {n}]); return seen; }} }};"
        )
    };
    let source = server.source(&code(1), json!({})).await;
    server.run_now(&source, json!({})).await;
    let updated = server
        .put(&format!("/sources/{}", id(&source)), &json!({ "component_code": code(2) }))
        .await
        .data();
    assert_eq!(
        (id(&updated), endpoint(&updated), &updated["name_slug"]),
        (id(&source), endpoint(&source), &source["name_slug"])
    );
    assert_ne!(updated["component_id"], source["component_id"]);
    assert_eq!(server.run_now(&source, json!({})).await["return_value"], json!([1]));
}

#[tokio::test]
async fn s9_components_in_typescript_are_taken_by_their_file_name() {
    let server = Server::shared().await;
    let code = "import { defineSource } from '@pipedream/types';
      interface Thing { n: number }
      export default defineSource({ name: 'ts', version: '0.0.1', type: 'source', props: { word: { type: 'string' } }, methods: { twice(t: Thing): number { return t.n * 2; } },
        async run(): Promise<unknown> { return [this.twice({ n: 4 } as Thing), this.word!]; } });";
    let source = server.post("/sources", &json!({ "component_code": code, "component_entry": "thing.ts", "configured_props": { "word": "w" } })).await.data();
    assert_eq!(server.run_now(&source, json!({})).await["return_value"], json!([8, "w"]));
}
