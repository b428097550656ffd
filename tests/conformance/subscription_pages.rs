//! Lists of subscriptions: whole, in pages with names, and narrowed by emitter and listener.

use millrace_tests::cluster::cluster;
use millrace_tests::{Client, Server, id};
use serde_json::{Value, json};

const STEP: &str = "export default defineComponent({ run() {} });";

async fn listed(server: &Client, query: &str) -> Value {
    let answer = server.get(&format!("/users/me/subscriptions{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    answer.json
}

/// Ids of emitters, in the order of the list.
fn emitters(list: &Value) -> Vec<&str> {
    list["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|s| s["emitter_id"].as_str().expect("an emitter"))
        .collect()
}

async fn pages_have_names_and_filters_narrow(server: &Client) {
    let source = server
        .source("export default { name: 'orders', version: '1', run() {} };", json!({}))
        .await;
    let ships = server.workflow("ships", json!([]), &[("a", STEP)]).await;
    let hook = server
        .post("/webhooks", &json!({ "url": "https://example.test/in", "name": "The shop" }))
        .await
        .data();
    let (source, ships, hook) = (id(&source), id(&ships), id(&hook));
    for (emitter, listener, event) in
        [(source, ships, ""), (ships, hook, "$errors"), ("p_*", ships, "$errors")]
    {
        let asked = json!({ "emitter_id": emitter, "listener_id": listener, "event_name": event });
        server.post("/subscriptions", &asked).await.data();
    }
    // Whole: as the hosted platform answers.
    let whole = listed(server, "").await;
    assert_eq!(whole.get("page_info"), None);
    let mut all = emitters(&whole);
    assert_eq!((all.len(), whole["data"][0].as_object().map(serde_json::Map::len)), (3, Some(4)));
    all.sort_unstable();
    let mut wanted = [source, ships, "p_*"];
    wanted.sort_unstable();
    assert_eq!(all, wanted);

    // In pages: in the same order, with names.
    let first = listed(server, "?limit=2").await;
    assert_eq!(
        (&first["page_info"]["total_count"], &first["page_info"]["count"]),
        (&json!(3), &json!(2))
    );
    let cursor = first["page_info"]["end_cursor"].as_str().expect("a cursor");
    let second = listed(server, &format!("?limit=2&after={cursor}")).await;
    assert_eq!([emitters(&first), emitters(&second)].concat(), emitters(&whole));
    let back = second["page_info"]["start_cursor"].as_str().expect("a cursor");
    assert_eq!(
        emitters(&listed(server, &format!("?limit=2&before={back}")).await),
        emitters(&first)
    );
    let shown =
        [&first, &second].map(|page| page["data"].as_array().expect("a page").clone()).concat();
    let names = |emitter: &str| {
        let shown = shown.iter().find(|s| s["emitter_id"] == emitter).expect("it is listed");
        (shown["emitter_name"].clone(), shown["listener_name"].clone())
    };
    assert_eq!(names(source), (json!("orders"), json!("ships")));
    assert_eq!(names(ships), (json!("ships"), json!("The shop")));
    assert_eq!(names("p_*"), (Value::Null, json!("ships")), "all workflows have no name");

    for (query, wanted) in [
        (format!("?emitter_id={source}"), vec![source]),
        (format!("?listener_id={hook}"), vec![ships]),
        (format!("?listener_id={ships}&emitter_id=p_*"), vec!["p_*"]),
        (format!("?listener_id={hook}&emitter_id={source}"), vec![]),
        (format!("?emitter_id=&listener_id={hook}"), vec![ships]),
    ] {
        assert_eq!(emitters(&listed(server, &query).await), wanted, "{query}");
        let page = listed(server, &format!("{query}&limit=10")).await;
        assert_eq!(emitters(&page), wanted, "{query}");
        assert_eq!(page["page_info"]["total_count"], wanted.len(), "{query}");
    }
    let of_org = server.get(&format!("/orgs/{}/subscriptions?limit=1", server.org_id)).await.json;
    assert_eq!(emitters(&of_org), emitters(&whole)[..1]);
    let refused = server.get("/users/me/subscriptions?after=c3ViX25vdGhlcmU").await;
    assert_eq!(refused.refusal(), (422, "unknown_cursor"), "{}", refused.text);
}

#[tokio::test]
async fn s4_1_subscriptions_come_whole_or_in_pages_with_names() {
    pages_have_names_and_filters_narrow(&Server::shared().await).await;
}

#[tokio::test]
async fn s4_1_subscriptions_come_in_pages_on_postgres_too() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let server = Server::start_with(&["--database-url", &database.url()]).await;
    pages_have_names_and_filters_narrow(&server).await;
}
