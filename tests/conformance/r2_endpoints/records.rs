//! Records and lists: rows 1 to 4 and 6, 7 of the table, and the shapes below it; conventions of
//! lists (section 1).

use millrace_tests::{Server, answer, id};
use reqwest::Method;
use serde_json::{Value, json};

const SOURCE: &str = "export default { name: 'My Source', key: 'acme-my-source', version: '0.0.1', type: 'source', props: { http: '$.interface.http', db: '$.service.db',
  timer: { type: '$.interface.timer', default: { intervalSeconds: 900 } }, token: { type: 'string', secret: true, optional: true }, word: { type: 'string', optional: true } }, run() { return this.word; } };";

const STEP: &str = "export default defineComponent({ run() { return 1; } });";

fn has(record: &Value, fields: &[&str]) {
    for field in fields {
        assert!(record.get(field).is_some(), "`{field}` in {record}");
    }
}

#[tokio::test]
async fn r2_1_users_me_has_id_username_email_and_organizations() {
    let server = Server::start_with(&["--owner-email", "owner@example.test"]).await;
    let me = server.get("/users/me").await.data();
    has(&me, &["id", "username", "email", "orgs"]);
    assert_eq!(me["email"], "owner@example.test");
    has(&me["orgs"][0], &["id", "name", "orgname", "email"]);
}

#[tokio::test]
async fn r2_2_lists_of_an_organization_have_both_spellings_of_their_path() {
    let server = Server::shared().await;
    let org = &server.org_id;
    let source = server.source(SOURCE, json!({})).await;
    assert_eq!(server.get(&format!("/workspaces/{org}")).await.data()["id"], org.as_str());
    assert_eq!(server.get(&format!("/orgs/{org}")).await.data()["id"], org.as_str());
    for path in [
        "/users/me/sources".to_owned(),
        format!("/orgs/{org}/sources"),
        format!("/workspaces/{org}/sources"),
    ] {
        let list = server.get(&path).await.json;
        assert_eq!(
            (&list["page_info"]["total_count"], &list["data"][0]["id"]),
            (&json!(1), &source["id"]),
            "{path}"
        );
    }
    for path in [
        "/users/me/subscriptions".to_owned(),
        format!("/workspaces/{org}/subscriptions"),
        format!("/orgs/{org}/subscriptions"),
    ] {
        assert_eq!(server.get(&path).await.data(), json!([]), "{path}");
    }
    assert_eq!(server.get("/users/me/webhooks").await.json["page_info"]["total_count"], 0);
    assert_eq!(
        server.get(&format!("/workspaces/{org}/accounts?query=slack")).await.data(),
        json!([])
    );
    // A filter that nothing fits gives an empty list, also where there is no such app.
    for path in [
        format!("/workspaces/{org}/accounts?query=no-such-app"),
        "/accounts?app=no-such-app".into(),
        "/accounts?app=app_none".into(),
    ] {
        let listed = server.get(&path).await;
        assert_eq!(
            (listed.status, &listed.json["page_info"]["total_count"], &listed.json["data"]),
            (200, &json!(0), &json!([])),
            "{path}: {}",
            listed.text
        );
    }
    assert_eq!(server.get("/workspaces/o_another").await.status, 404);
}

#[tokio::test]
async fn r1_1_parameters_of_a_post_are_read_from_the_query_or_the_body() {
    let server = Server::shared().await;
    let code: String = reqwest::Url::parse_with_params(
        "http://x/",
        [("component_code", SOURCE), ("name", "from the query")],
    )
    .expect("an address")
    .query()
    .expect("a query")
    .to_owned();
    let in_query = answer(
        server
            .raw(Method::POST, &format!("/v1/sources?{code}&org_id={}", server.org_id))
            .bearer_auth(&server.api_key),
    )
    .await
    .data();
    assert_eq!(in_query["name"], "from the query");
    let in_body = server
        .post(
            "/sources",
            &json!({ "component_code": SOURCE, "name": "from the body", "org_id": server.org_id }),
        )
        .await
        .data();
    assert_eq!(in_body["name"], "from the body");
    let other =
        server.post("/sources", &json!({ "component_code": SOURCE, "org_id": "o_another" })).await;
    assert_eq!(other.status, 404);
    // Documented in the query, taken in the body as well, and the other way round.
    let listener = server
        .workflow("l", json!([]), &[("a", "export default defineComponent({ run() {} });")])
        .await;
    let body = server
        .post(
            "/subscriptions",
            &json!({ "emitter_id": in_body["id"], "listener_id": listener["id"] }),
        )
        .await
        .data();
    let query = server
        .post(
            &format!(
                "/subscriptions?emitter_id={}&listener_id={}&event_name=",
                id(&in_body),
                id(&listener)
            ),
            &Value::Null,
        )
        .await
        .data();
    assert_eq!(body, query);
}

#[tokio::test]
async fn r1_2_lists_have_pages_of_ten_with_cursors_both_ways() {
    let server = Server::shared().await;
    let mut made = Vec::new();
    for n in 0..12 {
        made.push(
            id(&server
                .post("/webhooks", &json!({ "url": format!("http://127.0.0.1:9/{n}") }))
                .await
                .data())
            .to_owned(),
        );
    }
    made.reverse();
    let ids = |list: &Value| {
        list["data"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|w| id(w).to_owned())
            .collect::<Vec<_>>()
    };
    let info =
        |list: &Value, field: &str| list["page_info"][field].as_str().expect("a cursor").to_owned();
    let first = server.get("/webhooks").await.json;
    assert_eq!(
        (&first["page_info"]["total_count"], &first["page_info"]["count"]),
        (&json!(12), &json!(10))
    );
    assert_eq!(ids(&first), made[..10]);
    let next = server.get(&format!("/webhooks?after={}", info(&first, "end_cursor"))).await.json;
    assert_eq!((ids(&next), &next["page_info"]["count"]), (made[10..].to_vec(), &json!(2)));
    let back =
        server.get(&format!("/webhooks?limit=3&before={}", info(&next, "start_cursor"))).await.json;
    assert_eq!(ids(&back), made[7..10]);
    let empty = server.get(&format!("/webhooks?after={}", info(&next, "end_cursor"))).await.json;
    assert_eq!(
        empty,
        json!({ "page_info": { "total_count": 12, "count": 0, "start_cursor": null, "end_cursor": null }, "data": [] })
    );
    assert_eq!(ids(&server.get("/webhooks?limit=100").await.json), made);
    for limit in ["0", "101", "-1", "ten", "1.5"] {
        let refused = server.get(&format!("/webhooks?limit={limit}")).await;
        assert_eq!(
            (refused.refusal(), &refused.json["details"]["field"]),
            ((422, "invalid_field"), &json!("limit")),
            "{limit}"
        );
    }
}

/// A list is not read on from what is gone: an empty page would be taken for its end.
#[tokio::test]
async fn r1_2_a_cursor_that_names_nothing_is_refused_by_every_list() {
    let server = Server::shared().await;
    let (source, workflow) = (
        server.source(SOURCE, json!({})).await,
        server.workflow("w", json!([]), &[("a", STEP)]).await,
    );
    let hook = server.post("/webhooks", &json!({ "url": "http://127.0.0.1:9/" })).await.data();
    let (org, project) = (server.org_id.as_str(), workflow["project_id"].as_str().expect("an id"));
    let ids = [
        ("/sources/", id(&source)),
        ("/workflows/", id(&workflow)),
        ("/webhooks/", id(&hook)),
        ("/workspaces/", org),
        ("/orgs/", org),
        ("/connect/", project),
    ];
    // Those whose cursors are a place in an order, whether anything is there or not.
    let by_order = [
        "/apps",
        "/connect/apps",
        "/data_stores/{id}/keys",
        "/file_stores/{name}/files",
        "/replays/{id}/runs",
    ];
    let paths = server.document["paths"].as_object().expect("paths");
    let takes_cursors = |path: &Value| {
        path["get"]["parameters"]
            .as_array()
            .is_some_and(|all| all.iter().any(|p| p["name"] == "after"))
    };
    let mut asked = 0;
    for path in paths
        .iter()
        .filter(|(_, methods)| takes_cursors(methods))
        .map(|(path, _)| path.trim_start_matches("/v1"))
    {
        let of = ids.iter().find(|(start, _)| path.starts_with(&format!("{start}{{")));
        // Sessions are a person's: no key lists them.
        if by_order.contains(&path) || path == "/sessions" || (path.contains('{') && of.is_none()) {
            continue;
        }
        let end = path.find('}').map_or(0, |at| at + 1);
        let filled = of
            .map_or_else(|| path.to_owned(), |(start, id)| format!("{start}{id}{}", &path[end..]));
        for field in ["after", "before"] {
            let refused = server.get(&format!("{filled}?{field}=nothing_here")).await;
            // What is no id of an event names no place at all.
            let code = if filled.ends_with("event_summaries") {
                "invalid_field"
            } else {
                "unknown_cursor"
            };
            assert_eq!(
                (refused.refusal(), &refused.json["details"]["field"]),
                ((422, code), &json!(field)),
                "{filled}: {}",
                refused.text
            );
        }
        asked += 1;
    }
    assert!(asked >= 15, "{asked} lists were asked");
    // One that is gone is said to be; an event's place stays.
    let gone = server.get("/webhooks").await.json["page_info"]["end_cursor"]
        .as_str()
        .expect("a cursor")
        .to_owned();
    assert_eq!(server.get(&format!("/webhooks?after={gone}")).await.json["data"], json!([]));
    server.delete(&format!("/webhooks/{}", id(&hook))).await.data();
    let refused = server.get(&format!("/webhooks?after={gone}")).await;
    assert!(
        refused.refusal() == (422, "unknown_cursor")
            && refused.text.contains("begin the list again"),
        "{}",
        refused.text
    );
    let source = server
        .source(
            "export default { name: 'e', version: '1', run(event) { this.$emit(event); } };",
            json!({}),
        )
        .await;
    for n in 0..3 {
        server
            .post(&format!("/sources/{}/run", id(&source)), &json!({ "event": { "n": n } }))
            .await
            .data();
    }
    let events = format!("/sources/{}/event_summaries", id(&source));
    let listed = server.get(&events).await.json["data"].clone();
    let (middle, last) = (id(&listed[1]), id(&listed[2]));
    server
        .delete(&format!("/sources/{}/events?start_id={middle}&end_id={middle}", id(&source)))
        .await;
    assert_eq!(id(&server.get(&format!("{events}?after={middle}")).await.json["data"][0]), last);
}

/// Facts 0: of apps the cursor is the slug.
#[tokio::test]
async fn r1_2_apps_are_listed_by_slug_both_ways() {
    let server = Server::shared().await;
    let slugs = |list: &Value| {
        list["data"]
            .as_array()
            .expect("apps")
            .iter()
            .map(|app| app["name_slug"].as_str().expect("a slug").to_owned())
            .collect::<Vec<_>>()
    };
    let first = server.get("/apps?limit=5").await.json;
    let next = server
        .get(&format!(
            "/apps?limit=5&after={}",
            first["page_info"]["end_cursor"].as_str().expect("a cursor")
        ))
        .await
        .json;
    let ten = slugs(&server.get("/apps?limit=10").await.json);
    assert_eq!([slugs(&first), slugs(&next)].concat(), ten);
    let back = server
        .get(&format!(
            "/apps?limit=3&before={}",
            next["page_info"]["start_cursor"].as_str().expect("a cursor")
        ))
        .await
        .json;
    assert_eq!(slugs(&back), ten[2..5]);
    let after_slack = server.get("/apps?limit=1&after=c2xhY2s").await.json;
    assert_eq!(slugs(&server.get("/apps?limit=1&after=slack").await.json), slugs(&after_slack));
    assert!(slugs(&after_slack)[0].as_str() > "slack");
}

#[tokio::test]
async fn r1_2_include_and_exclude_choose_fields() {
    let server = Server::shared().await;
    let source = server.source(SOURCE, json!({})).await;
    let path = format!("/sources/{}", id(&source));
    assert_eq!(
        server.get(&format!("{path}?include=id,name")).await.data(),
        json!({ "id": source["id"], "name": "My Source" })
    );
    let without = server.get(&format!("{path}?exclude=id,configured_props")).await.data();
    assert!(
        without.get("id").is_none()
            && without.get("configured_props").is_none()
            && without["name"] == "My Source"
    );
    let listed = server.get("/users/me/sources?include=name_slug").await.json;
    assert_eq!(listed["data"], json!([{ "name_slug": "my-source" }]));
}

#[tokio::test]
async fn r1_3_a_refusal_has_a_sentence_a_code_and_details() {
    let server = Server::shared().await;
    for (refused, status) in [
        (server.get("/sources/dc_nothing").await, 404),
        (server.post("/sources", &json!({})).await, 422),
        (server.post("/webhooks?url=ftp://x/", &Value::Null).await, 422),
        (server.call_as("wrong", Method::GET, "/users/me", None).await, 401),
    ] {
        assert_eq!(refused.status, status, "{}", refused.text);
        let fields: Vec<_> =
            refused.json.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(fields.len(), 3, "{fields:?}");
        assert!(
            refused.json["error"].as_str().is_some_and(|e| e.contains(' '))
                && refused.json["details"].is_object(),
            "{}",
            refused.text
        );
        let code = refused.json["code"].as_str().expect("a code");
        assert!(code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{code}");
    }
}

#[tokio::test]
async fn r1_4_times_of_records_are_epoch_seconds_and_of_events_milliseconds() {
    let server = Server::shared().await;
    let source = server
        .source("export default { name: 's', version: '1', run() { this.$emit({}); } };", json!({}))
        .await;
    server.run_now(&source, json!({})).await;
    let event = server.get(&format!("/sources/{}/event_summaries", id(&source))).await.json["data"]
        [0]
    .clone();
    let created = source["created_at"].as_i64().expect("seconds");
    let indexed = event["indexed_at_ms"].as_i64().expect("milliseconds");
    assert!((indexed / 1000 - created).abs() < 600, "{created} {indexed}");
    let (ms, sequence) = id(&event).split_once('-').expect("two parts");
    assert!(ms == indexed.to_string() && sequence.parse::<u32>().is_ok());
}

#[tokio::test]
async fn r1_5_ids_say_by_their_prefix_what_they_are() {
    let server = Server::shared().await;
    let workflow = server
        .workflow(
            "w",
            json!([{ "type": "http" }, { "type": "timer", "interval_seconds": 3600 }]),
            &[("a", "export default defineComponent({ run() {} });")],
        )
        .await;
    let source = server.source(SOURCE, json!({})).await;
    let subscription = server
        .post(
            "/subscriptions",
            &json!({ "emitter_id": source["id"], "listener_id": workflow["id"] }),
        )
        .await
        .data();
    let webhook = server.post("/webhooks", &json!({ "url": "http://127.0.0.1:9/" })).await.data();
    let app = server
        .post("/apps", &json!({ "name_slug": "acme", "custom_fields": [{ "name": "k" }] }))
        .await
        .data();
    let account = server
        .post("/accounts", &json!({ "app": "acme", "credentials": { "k": "v" } }))
        .await
        .data();
    let me = server.get("/users/me").await.data();
    for (value, prefix) in [
        (&me["id"], "u_"),
        (&me["orgs"][0]["id"], "o_"),
        (&workflow["project_id"], "proj_"),
        (&source["component_id"], "sc_"),
        (&source["id"], "dc_"),
        (&workflow["id"], "p_"),
        (&workflow["deployment_id"], "d_"),
        (&workflow["steps"][0]["id"], "c_"),
        (&workflow["triggers"][0]["id"], "hi_"),
        (&workflow["triggers"][1]["id"], "ti_"),
        (&subscription["id"], "sub_"),
        (&webhook["id"], "wh_"),
        (&account["id"], "apn_"),
        (&app["id"], "app_"),
    ] {
        assert!(
            value.as_str().is_some_and(|v| v.starts_with(prefix) && v.len() > prefix.len() + 4),
            "{prefix}: {value}"
        );
    }
}

#[tokio::test]
async fn r2_3_a_component_comes_from_code_or_an_address_and_the_code_wins() {
    let server = Server::shared().await;
    let neither = server.post("/components", &json!({ "publish": true })).await;
    assert_eq!(neither.refusal(), (422, "missing_field"));
    let both = server.post("/components", &json!({ "component_code": SOURCE, "component_url": "http://127.0.0.1:9/not-asked.mjs" })).await.data();
    assert_eq!(
        (&both["code"], &both["component_url"]),
        (&json!(SOURCE), &json!("http://127.0.0.1:9/not-asked.mjs"))
    );
    // An address below which relative imports are found, too.
    let files = crate::r2_endpoints::files::serve(&[
        ("/tree/sources/new.mjs", "import { twice } from '../lib/twice.mjs'; export default { name: 'By URL', version: '1', run() { return twice(21); } };"),
        ("/tree/lib/twice.mjs", "export const twice = (n) => 2 * n;"),
    ])
    .await;
    let source = server
        .post("/sources", &json!({ "component_url": format!("{files}/tree/sources/new.mjs") }))
        .await
        .data();
    assert_eq!(
        (&source["name"], &server.run_now(&source, json!({})).await["return_value"]),
        (&json!("By URL"), &json!(42))
    );
    for (url, words) in [
        (format!("{files}/nothing.mjs"), "404"),
        ("ftp://x/y.mjs".into(), "http"),
        ("not an address".into(), ""),
    ] {
        let refused = server.post("/components", &json!({ "component_url": url })).await;
        assert!(
            refused.status == 422 && refused.text.contains(words),
            "{url}: {} {}",
            refused.status,
            refused.text
        );
    }
}

#[tokio::test]
async fn r2_4_a_component_is_found_by_id_and_by_its_key_in_the_first_place_the_one_published_with_it()
 {
    let server = Server::shared().await;
    assert_eq!(server.get("/components/acme-my-source").await.status, 404);
    let saved = server.post("/components", &json!({ "component_code": SOURCE })).await.data();
    // It can be looked at by its key. What is deployed by a key was published with it.
    assert_eq!(server.get("/components/acme-my-source").await.data()["id"], saved["id"]);
    assert_eq!(server.get("/components/acme-my-source@7.7.7").await.status, 404);
    assert_eq!(server.get("/components/registry/acme-my-source").await.status, 404);
    assert_eq!(server.post("/sources", &json!({ "key": "acme-my-source" })).await.status, 404);
    let published = server
        .post("/components", &json!({ "component_code": SOURCE, "publish": true }))
        .await
        .data();
    for path in [
        format!("/components/{}", id(&published)),
        "/components/acme-my-source".into(),
        "/components/registry/acme-my-source".into(),
    ] {
        assert_eq!(server.get(&path).await.data()["id"], published["id"], "{path}");
    }
    assert_eq!(
        server.get(&format!("/components/{}", id(&saved))).await.data()["code_hash"],
        published["code_hash"]
    );
    let by_key = server.post("/sources", &json!({ "key": "acme-my-source" })).await.data();
    assert_eq!(by_key["component_id"], published["id"]);
    server.post("/components", &json!({ "component_code": SOURCE })).await.data();
    assert_eq!(
        server.get("/components/acme-my-source").await.data()["id"],
        published["id"],
        "a newer one that is not published takes its place from none"
    );
}

#[tokio::test]
async fn r2_6_a_source_needs_code_and_its_props_are_stored_as_the_reference_says() {
    let server = Server::shared().await;
    let none = server.post("/sources", &json!({ "name": "x" })).await;
    assert!(
        none.refusal() == (422, "missing_field") && none.text.contains("component_id"),
        "{}",
        none.text
    );
    assert_eq!(server.post("/sources", &json!({ "component_id": "sc_nothing" })).await.status, 404);
    assert_eq!(
        server.post("/sources", &json!({ "key": "nothing-of-this-name" })).await.status,
        404
    );
    let source = server
        .source(SOURCE, json!({ "token": "hunter2", "timer": { "cron": "0 * * * *" } }))
        .await;
    let props = &source["configured_props"];
    assert_eq!(
        (&props["timer"]["cron"], &props["timer"]["interval_seconds"], &props["db"]),
        (&json!("0 * * * *"), &Value::Null, &json!({ "type": "$.service.db" }))
    );
    assert!(
        props["http"]["endpoint_url"].as_str().is_some_and(|u| u.starts_with(&server.url)),
        "{props}"
    );
    assert!(props.get("token").is_none_or(Value::is_null), "{props}");
}

#[tokio::test]
async fn r2_7_a_source_is_renamed_given_other_props_and_switched_off_and_on() {
    let server = Server::shared().await;
    let source = server.source(SOURCE, json!({ "word": "one", "token": "kept" })).await;
    let path = format!("/sources/{}", id(&source));
    let renamed = server.put(&path, &json!({ "name": "Another Name" })).await.data();
    assert_eq!(
        (&renamed["name"], &renamed["configured_props"], &renamed["id"]),
        (&json!("Another Name"), &source["configured_props"], &source["id"])
    );
    server.put(&path, &json!({ "configured_props": { "word": "two" } })).await.data();
    assert_eq!(server.run_now(&source, json!({})).await["return_value"], "two");
    assert_eq!(
        server.put(&path, &json!({ "active": "no idea" })).await.refusal(),
        (422, "invalid_field")
    );
    assert_eq!(server.put(&path, &json!({ "active": false })).await.data()["active"], false);
    assert_eq!(server.get(&path).await.data()["active"], false);
    assert_eq!(server.put(&path, &json!({ "active": true })).await.data()["active"], true);
    assert_eq!(server.delete(&path).await.status, 200);
    assert_eq!(
        (
            server.get(&path).await.status,
            server.put(&path, &json!({ "name": "x" })).await.status,
            server.delete(&path).await.status
        ),
        (404, 404, 404)
    );
}
