//! Entity tags of workflows: what they guard beside the draft.

use millrace_tests::{Server, id};
use reqwest::Method;
use serde_json::json;

use super::drafts::{over, steps};

/// Names, notes, tags and `active` are no part of the draft, and are guarded by the whole tag.
#[tokio::test]
async fn r4_1_the_entity_tag_guards_every_field_of_a_workflow_that_can_be_set() {
    let server = Server::shared().await;
    let new = json!({ "name": "w", "triggers": [], "steps": steps("1") });
    let made = server.post("/workflows", &new).await.data();
    let path = format!("/workflows/{}", id(&made));
    let made_from = json!({ "project": "p", "path": "w", "fingerprints": { "a": "1" } });
    for (fields, theirs) in [
        (json!(["name"]), json!({ "name": "theirs" })),
        (json!(["note"]), json!({ "note": "theirs" })),
        (json!(["tags"]), json!({ "tags": ["theirs"] })),
        (json!(["active"]), json!({ "active": false })),
        (json!(["made_from"]), json!({ "made_from": made_from })),
        (json!(["name", "note", "made_from"]), json!({ "name": "again", "note": null })),
    ] {
        let (read, tag) = over(&server, Method::GET, &path, "*", &json!({})).await;
        let (revision, tag) = (read.data()["revision"].clone(), tag.expect("a tag"));
        let (changed, new_tag) = over(&server, Method::PUT, &path, &tag, &theirs).await;
        let changed = changed.data();
        assert_eq!(changed["revision"], revision, "no part of the draft: {theirs}");
        let mine = json!({ "note": "mine", "steps": steps("'mine'") });
        for (method, path, body) in [
            (Method::PUT, path.clone(), &mine),
            (Method::POST, format!("{path}/deploy"), &json!({})),
            (Method::POST, format!("{path}/discard"), &json!({})),
        ] {
            let (refused, _) = over(&server, method, &path, &format!("W/{tag}"), body).await;
            assert_eq!(refused.refusal(), (412, "record_changed"), "{path} after {theirs}");
            assert_eq!(refused.json["details"]["fields"], fields, "{}", refused.text);
        }
        let (now, tag_now) = over(&server, Method::GET, &path, "*", &json!({})).await;
        assert_eq!((now.data()["note"].clone(), tag_now), (changed["note"].clone(), new_tag));
    }
    // The revision alone guards the draft, and the newest tag everything.
    let (read, tag) = over(&server, Method::GET, &path, "*", &json!({})).await;
    let revision = format!("\"{}\"", read.data()["revision"]);
    server.put(&path, &json!({ "note": "theirs" })).await.data();
    let mine = json!({ "note": "mine" });
    assert_eq!(over(&server, Method::PUT, &path, &revision, &mine).await.0.data()["note"], "mine");
    // Of a draft that has changed too, the draft is what is named.
    server.put(&path, &json!({ "steps": steps("'theirs'") })).await.data();
    let (refused, _) = over(&server, Method::PUT, &path, &tag.expect("a tag"), &mine).await;
    assert_eq!(refused.refusal(), (412, "draft_changed"));
}
