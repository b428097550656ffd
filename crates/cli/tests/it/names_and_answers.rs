//! Names that paths cannot hold or that look like ids, and answers of other programs.

use serde_json::json;

use crate::{Server, exits};

/// Exit status 2, and nothing is asked: `.` in a path would be another path.
#[tokio::test]
async fn dots_are_no_names() {
    let server = Server::start(Vec::new()).await;
    for words in [
        &["data-stores", "set", ".", "k", "1"][..],
        &["data-stores", "delete", ".", "k"],
        &["runs", "cancel", "."],
        &["keys", "revoke", ".."],
    ] {
        assert!(exits(&server, words, 2).await, "{words:?}");
    }
    assert_eq!(server.seen(), []);
}

#[tokio::test]
async fn what_another_program_answers_is_no_success() {
    for answer in [json!({ "hello": 1 }), json!({ "data": {} }), json!([]), json!(null)] {
        let server = Server::start(vec![
            ("GET /v1/api_keys", 200, answer.clone()),
            ("DELETE /v1/api_keys/key_1", 200, answer.clone()),
            ("GET /v1/file_stores/a/files/content", 200, answer.clone()),
        ])
        .await;
        assert!(exits(&server, &["keys", "list"], 1).await, "{answer}");
        assert!(exits(&server, &["keys", "revoke", "key_1"], 1).await, "{answer}");
        assert!(exits(&server, &["files", "get", "a", "b"], 1).await, "{answer}");
    }
}

#[tokio::test]
async fn a_name_may_begin_as_ids_do() {
    let sources =
        json!({ "data": [{ "id": "dc_1", "name": "p_orders", "name_slug": "p-orders" }] });
    let server = Server::start(vec![
        ("GET /v1/users/me/sources", 200, sources),
        ("POST /v1/sources/dc_1/events", 200, json!({ "data": { "id": "dc_1" } })),
    ])
    .await;
    assert!(exits(&server, &["sources", "emit", "p_orders", "--event", "{}"], 0).await);
}
