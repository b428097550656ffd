//! Rows that cannot be read of what an organization has beside its owners: apps, and the key that
//! its secrets are sealed under.

use millrace_tests::cluster::cluster;
use millrace_tests::{Server, id};
use serde_json::{Value, json};

#[tokio::test]
async fn a_damaged_app_is_named_by_its_list_and_mended_by_registering_it_again() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let mut server = Server::start_with(&["--database-url", &database.url()]).await;
    let app = |slug: &str| json!({ "name_slug": slug, "custom_fields": [{ "name": "k" }] });
    let lost = server.post("/apps", &app("acme-lost")).await.data();
    server.post("/apps", &app("acme-whole")).await.data();
    assert_eq!(server.terminate(), Some(0));
    let damage = format!("UPDATE apps SET definition = '[' WHERE id = '{}'", id(&lost));
    database.client().await.batch_execute(&damage).await.expect("damages");
    server.launch().await;
    let list = server.get("/apps?q=acme").await;
    let slugs = |list: &Value| -> Vec<String> {
        let apps = list["data"].as_array().expect("apps");
        apps.iter().filter_map(|app| app["name_slug"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(slugs(&list.json), ["acme-whole"], "{}", list.text);
    assert_eq!(list.json["page_info"]["damaged"], json!([id(&lost)]), "{}", list.text);
    for named in [id(&lost), "acme-lost"] {
        let refused = server.get(&format!("/apps/{named}")).await;
        assert_eq!(refused.refusal(), (500, "damaged_data"), "{}", refused.text);
    }
    server.post("/apps", &app("acme-lost")).await.data();
    let list = server.get("/apps?q=acme").await;
    assert_eq!(slugs(&list.json), ["acme-lost", "acme-whole"], "{}", list.text);
    assert_eq!(list.json["page_info"]["damaged"], Value::Null, "{}", list.text);
}

#[tokio::test]
async fn a_damaged_retention_is_named_and_mended_by_setting_it_again() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let server = Server::start_with(&["--database-url", &database.url()]).await;
    let workflow = server.post("/workflows", &json!({ "settings": { "name": "w" } })).await.data();
    let path = format!("/workflows/{}/retention", id(&workflow));
    server.put(&path, &json!({ "keep_count": 7 })).await.data();
    let damage = "UPDATE retentions SET keep_count = -9223372036854775808";
    database.client().await.batch_execute(damage).await.expect("damages");
    let refused = server.get(&path).await;
    assert_eq!(refused.refusal(), (500, "damaged_data"), "{}", refused.text);
    server.put(&path, &json!({ "keep_count": 8 })).await.data();
    assert_eq!(server.get(&path).await.data()["keep_count"], 8);
}

#[tokio::test]
async fn a_damaged_data_key_is_told_from_a_wrong_master_key() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let mut server = Server::start_with(&["--database-url", &database.url()]).await;
    assert_eq!(server.terminate(), Some(0));
    let sql = database.client().await;
    for damage in ["master_id = 'garbage'", "wrapped = 'garbage'", "wrapped = ''"] {
        sql.batch_execute("CREATE TABLE whole AS SELECT * FROM data_keys").await.expect("keeps");
        sql.batch_execute(&format!("UPDATE data_keys SET {damage}")).await.expect("damages");
        assert!(!server.try_launch().await, "{damage}");
        let log = server.log();
        assert!(log.contains("`data_keys`") && log.contains("restore"), "{damage}: {log}");
        assert!(!log.contains("give that key"), "{damage}: {log}");
        let mend =
            "DELETE FROM data_keys; INSERT INTO data_keys SELECT * FROM whole; DROP TABLE whole";
        sql.batch_execute(mend).await.expect("mends");
    }
    server.launch().await;
}
