//! State of the server, for its operator.

use millrace_tests::{Server, answer};
use reqwest::Method;
use serde_json::json;

use crate::r2_endpoints::registries::millrace;

#[tokio::test]
async fn the_first_organization_sees_what_the_server_is_made_of() {
    let server = Server::start_with(&[
        "--egress-allow",
        "127.0.0.1:1025",
        "--smtp-url",
        "smtp://mailer:hunter2@127.0.0.1:1025",
    ])
    .await;
    let shown = server.get("/system").await;
    assert!(!shown.text.contains("hunter2") && !shown.text.contains("mailer"), "{}", shown.text);
    let system = shown.data();
    let said = (
        &system["readiness"]["status"],
        &system["database"],
        &system["servers"],
        &system["mail_server"],
        &system["egress_allow"],
    );
    assert_eq!(
        said,
        (
            &json!("ready"),
            &json!("sqlite"),
            &json!(1),
            &json!("127.0.0.1:1025"),
            &json!(["127.0.0.1/32:1025", "127.0.0.0/8"])
        )
    );
    assert_eq!(
        (&system["url"], &system["version"]),
        (&json!(server.url), &json!(env!("CARGO_PKG_VERSION")))
    );
    assert!(
        system["free_bytes"].as_u64().is_some_and(|free| free > 0)
            && system["node_version"]
                .as_str()
                .is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit())),
        "{system}"
    );
    assert_eq!(system["runs"]["unfinished"], 0);
    let other = server
        .post("/workspaces", &json!({ "name": "other", "email": "o@example.test" }))
        .await
        .data()["api_key"]
        .as_str()
        .expect("a key")
        .to_owned();
    for path in ["/v1/system", "/v1/system/checks"] {
        let refused = answer(server.raw(Method::GET, path).bearer_auth(&other)).await;
        assert!(refused.status == 403 && refused.text.contains("made first"), "{refused:?}");
    }
}

#[tokio::test]
async fn a_running_server_tells_what_doctor_finds() {
    let server = Server::start_with(&["--smtp-url", "smtp://mailer:hunter2@127.0.0.1:1"]).await;
    let listed = server.get("/system/checks").await;
    assert!(!listed.text.contains("hunter2"), "{}", listed.text);
    let found = |name: &str| {
        let mut checks = listed.json["data"].as_array().expect("a list").iter();
        checks
            .find(|check| check["name"] == name)
            .unwrap_or_else(|| panic!("no check `{name}` in {}", listed.text))
    };
    for name in ["data directory", "database", "node", "walls", "bundling"] {
        assert_eq!(found(name)["status"], "ok", "{}", listed.text);
    }
    assert!(found("data directory")["found"].as_str().expect("words").contains("a server uses it"));
    let mail = found("mail");
    assert_eq!(mail["status"], "failed");
    assert!(mail["mend"].as_str().is_some_and(|mend| mend.contains("--smtp-url")), "{mail}");
    let (status, table, stderr) = millrace(&server, &["system", "--checks"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert!(table.to_string().contains("--smtp-url"), "{table}");
}
