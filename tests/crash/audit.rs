//! Audit records of changes: none is missing, however the server ends.

use millrace_tests::cluster::cluster;
use millrace_tests::{FAIL_POINTS, Server, id};
use serde_json::{Value, json};

async fn records_outlive_the_server(args: &[&str]) {
    let mut server = Server::failing(args);
    server.launch().await;
    let source =
        server.source("export default { name: 'a', version: '1', run() {} };", json!({})).await;
    // Just before the change is made, and just after.
    for (point, is_there) in
        [("store.delete.before_commit", true), ("store.delete.after_commit", false)]
    {
        server.kill();
        server.set_env(FAIL_POINTS, &format!("{point}=exit@1"));
        server.launch().await;
        let deleting = server
            .raw(reqwest::Method::DELETE, &format!("/v1/sources/{}", id(&source)))
            .bearer_auth(&server.api_key)
            .send()
            .await;
        assert!(deleting.is_err(), "the server ends at {point}");
        server.kill();
        server.set_env(FAIL_POINTS, "");
        server.launch().await;
        assert_eq!(server.get(&format!("/sources/{}", id(&source))).await.status == 200, is_there);
        let newest: Value = server.get("/audit?limit=1").await.json["data"][0].clone();
        assert_eq!(
            (&newest["action"], &newest["target"], &newest["done"]),
            (&json!("DELETE /sources/{id}"), &source["id"], &json!(false)),
            "{point}"
        );
    }
    let all = server.get("/audit").await.json["data"].as_array().expect("records").clone();
    assert_eq!(
        all.iter().map(|record| record["done"].clone()).collect::<Vec<_>>(),
        [json!(false), json!(false), json!(true)],
        "{all:?}"
    );
}

#[tokio::test]
async fn a_change_has_its_record_whenever_the_server_ends() {
    records_outlive_the_server(&[]).await;
}

#[tokio::test]
async fn a_change_has_its_record_whenever_the_server_ends_on_postgres() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    records_outlive_the_server(&["--database-url", &database.url()]).await;
}
