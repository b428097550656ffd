//! Accounts that are connected by OAuth 2 (reference 3: `$auth` for OAuth apps).

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use millrace_tests::cli::Shell;
use millrace_tests::{Client, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

use super::oauth_provider::{NOON, Provider, SOURCE, log_in, only_account};

#[tokio::test]
async fn s2_7_5_an_oauth_account_is_connected_refreshed_once_and_revoked() {
    let (server, provider) = (Server::start().await, Provider::start());
    provider.register(&server, "all").await;
    let page = log_in(&server).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.text.contains("Connected"));
    let account = server.get("/accounts?app=acme").await.json["data"][0].clone();
    assert_eq!((&account["name"], account.get("credentials")), (&json!("Mine"), None));
    let source =
        server.source(SOURCE, json!({ "acme": { "authProvisionId": account["id"] } })).await;
    let url = endpoint(&source);
    let ask = || async { answer(server.raw(Method::GET, &url)).await.json };
    // The first token ended: of those that come at once one refreshes it.
    let seen = tokio::join!(ask(), ask(), ask(), ask());
    for auth in [&seen.0, &seen.1, &seen.2, &seen.3] {
        assert_eq!(
            auth,
            &json!({ "oauth_access_token": "at2", "oauth_refresh_token": "rt2", "oauth_client_id": "client", "oauth_uid": "user-7" })
        );
    }
    assert_eq!(provider.stats(&server).await["refreshes"], 1);
    assert_eq!(only_account(&server).await["credentials"]["oauth_access_token"], "at2");
    server.delete(&format!("/accounts/{}", account["id"].as_str().expect("an id"))).await.data();
    loop {
        if provider.stats(&server).await["revoked"] == json!(["rt2"]) {
            break;
        }
    }
    assert!(!server.log().contains("at2") && !server.log().contains("s3cret"));
}

#[tokio::test]
async fn s2_7_5_a_token_is_refreshed_once_however_many_servers_need_it() {
    let Some(cluster) = millrace_tests::cluster::cluster() else { return };
    let database = cluster.database().await;
    let args = ["--database-url", &database.url()];
    let (a, provider) = (Server::start_with(&args).await, Provider::start());
    let mut b = a.beside(&args);
    b.launch().await;
    provider.register(&a, "all").await;
    assert_eq!(log_in(&a).await.status, 200);
    let account = a.get("/accounts?app=acme").await.json["data"][0].clone();
    let source = a.source(SOURCE, json!({ "acme": { "authProvisionId": account["id"] } })).await;
    let (on_a, on_b) = (endpoint(&source), endpoint(&source).replace(&a.url, &b.url));
    let ask = |url: &str| {
        let request = a.raw(Method::GET, url);
        async move { answer(request).await.json["oauth_access_token"].clone() }
    };
    let seen = tokio::join!(ask(&on_a), ask(&on_b), ask(&on_a), ask(&on_b));
    assert_eq!(seen, (json!("at2"), json!("at2"), json!("at2"), json!("at2")));
    assert_eq!(provider.stats(&a).await["refreshes"], 1);
}

#[tokio::test]
async fn s2_7_5_a_revoked_account_is_unhealthy_and_its_runs_say_so_until_it_is_connected_again() {
    let (server, provider) = (Server::start().await, Provider::start());
    provider.register(&server, "ended").await;
    assert_eq!(log_in(&server).await.status, 200);
    let account = server.get("/accounts?app=acme").await.json["data"][0].clone();
    let source =
        server.source(SOURCE, json!({ "acme": { "authProvisionId": account["id"] } })).await;
    answer(server.raw(Method::GET, &format!("{}/refuse", provider.url))).await;
    let run = server
        .post(&format!("/sources/{}/run", source["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    assert_eq!(
        (&run["status"], &run["error"]["code"]),
        (&json!("failed"), &json!("AccountUnavailable"))
    );
    assert!(
        run["error"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("invalid_grant") && m.contains("connect it again"))
    );
    let shown =
        server.get(&format!("/accounts/{}", account["id"].as_str().expect("an id"))).await.data();
    assert_eq!(shown["healthy"], false);
    let again = server
        .post("/accounts/connect", &json!({ "app": "acme", "account_id": account["id"] }))
        .await
        .data();
    assert_eq!(
        answer(server.raw(Method::GET, again["connect_url"].as_str().expect("a page")))
            .await
            .status,
        200
    );
    assert_eq!(
        server.get(&format!("/accounts/{}", account["id"].as_str().expect("an id"))).await.data()["healthy"],
        true
    );
    assert_eq!(server.get("/accounts?app=acme").await.json["page_info"]["total_count"], 1);
}

#[tokio::test]
async fn s2_7_5_an_account_is_checked_with_its_provider_when_that_is_asked_for() {
    let (server, provider) = (Server::start().await, Provider::start());
    provider.register(&server, "all").await;
    assert_eq!(log_in(&server).await.status, 200);
    let account = only_account(&server).await;
    let path = format!("/accounts/{}", account["id"].as_str().expect("an id"));
    // The first token ended, so that it was another already that was shown.
    assert_eq!(account["credentials"]["oauth_access_token"], "at2");
    let checked = server.post(&format!("{path}/check"), &json!({})).await;
    assert!(!checked.text.contains("at3"), "{}", checked.text);
    assert_eq!(checked.data()["healthy"], true);
    assert_eq!(
        (
            &provider.stats(&server).await["refreshes"],
            &only_account(&server).await["credentials"]["oauth_access_token"]
        ),
        (&json!(2), &json!("at3"))
    );
    answer(server.raw(Method::GET, &format!("{}/refuse", provider.url))).await;
    let refused = server.post(&format!("{path}/check"), &json!({})).await.data();
    assert_eq!(refused["healthy"], false);
    assert!(
        refused["problem"].as_str().is_some_and(|problem| problem.contains("invalid_grant")),
        "{refused}"
    );

    // What names it is told, and an account of fields is as it is known.
    assert_eq!(server.get(&format!("{path}/uses")).await.data(), json!([]));
    let source =
        server.source(SOURCE, json!({ "acme": { "authProvisionId": account["id"] } })).await;
    let uses = server.get(&format!("{path}/uses")).await.data();
    assert_eq!(
        uses,
        json!([{ "kind": "source", "id": source["id"], "name": source["name"], "about": uses[0]["about"] }])
    );
    server.post("/apps", &json!({ "name_slug": "plain", "name": "Plain", "custom_fields": [{ "name": "api_key" }] })).await.data();
    let plain = server
        .post("/accounts", &json!({ "app": "plain", "credentials": { "api_key": "k" } }))
        .await
        .data();
    let checked = server
        .post(&format!("/accounts/{}/check", plain["id"].as_str().expect("an id")), &json!({}))
        .await
        .data();
    assert_eq!((&checked["id"], &checked["healthy"]), (&plain["id"], &json!(true)));
    assert_eq!(server.post("/accounts/apn_nothere/check", &json!({})).await.status, 404);
}

#[tokio::test]
async fn s2_7_5_an_account_whose_token_ended_while_its_provider_is_down_fails_its_runs_until_the_provider_is_back()
 {
    let (server, provider) = (Server::start_at(NOON, &[]).await, Provider::start());
    provider.register(&server, "short").await;
    assert_eq!(log_in(&server).await.status, 200);
    let account = server.get("/accounts?app=acme").await.json["data"][0].clone();
    let path = format!("/accounts/{}", account["id"].as_str().expect("an id"));
    let source =
        server.source(SOURCE, json!({ "acme": { "authProvisionId": account["id"] } })).await;
    let run = || async {
        server
            .post(&format!("/sources/{}/run", source["id"].as_str().expect("an id")), &json!({}))
            .await
            .data()
    };
    let down = |whether: &str| {
        answer(server.raw(Method::GET, &format!("{}/down?for={whether}", provider.url)))
    };
    down("now").await;
    // The token is good for a minute yet.
    assert_eq!(run().await["status"], "succeeded");
    assert_eq!(server.get(&path).await.data()["healthy"], true);
    server.set_clock(NOON + 60_000);
    let failed = run().await;
    assert_eq!(
        (&failed["status"], &failed["error"]["code"]),
        (&json!("failed"), &json!("AccountUnavailable"))
    );
    let words = failed["error"]["message"].as_str().unwrap_or_default();
    assert!(
        words.contains("its token ended")
            && words.contains("temporarily_unavailable")
            && words.contains("ask again"),
        "{words}"
    );
    let shown = server.get(&path).await.data();
    assert_eq!(shown["healthy"], false);
    assert!(
        shown["problem"].as_str().is_some_and(|problem| problem.contains("its token ended")),
        "{shown}"
    );
    // A provider that is down is not asked by each run, and one that is back is asked.
    down("no more").await;
    server.set_clock(NOON + 69_999);
    assert_eq!(run().await["status"], "failed");
    server.set_clock(NOON + 70_000);
    assert_eq!(run().await["status"], "succeeded");
    let shown = server.get(&path).await.data();
    assert_eq!((&shown["healthy"], &shown["problem"]), (&json!(true), &Value::Null));
}

#[tokio::test]
async fn s2_7_5_an_answer_that_was_not_asked_for_connects_nothing() {
    let (server, provider) = (Server::start().await, Provider::start());
    provider.register(&server, "all").await;
    let link = server.post("/accounts/connect", &json!({ "app": "acme" })).await.data();
    let url =
        reqwest::Url::parse(link["connect_url"].as_str().expect("a page")).expect("an address");
    let state = url
        .query_pairs()
        .find(|(name, _)| name == "state")
        .map(|(_, value)| value.into_owned())
        .expect("a state");
    let flipped = if state.ends_with('A') {
        format!("{}B", &state[..state.len() - 1])
    } else {
        format!("{}A", &state[..state.len() - 1])
    };
    for query in [
        "state=x&code=y",
        &format!("state={flipped}&code=code1"),
        &format!("state={state}&code=guessed"),
        "error=access_denied",
        "",
        "code=%3Cscript%3E&state=1",
    ] {
        let page = answer(server.raw(Method::GET, &format!("/oauth/callback?{query}"))).await;
        assert_eq!(page.status, 400, "{query}");
        assert!(
            page.text.contains("Not connected") && !page.text.contains("<script>"),
            "{}",
            page.text
        );
    }
    // What came with a code once does not come again, with another.
    let again =
        answer(server.raw(Method::GET, &format!("/oauth/callback?state={state}&code=code1"))).await;
    assert!(again.status == 400 && again.text.contains("each is valid once"), "{}", again.text);
    assert_eq!(server.get("/accounts").await.json["page_info"]["total_count"], 0);
    assert_eq!(
        server.post("/accounts/connect", &json!({ "app": "stripe" })).await.refusal(),
        (422, "invalid_field")
    );
    assert_eq!(
        server.post("/accounts/connect", &json!({ "app": "slack" })).await.refusal(),
        (422, "no_oauth_client")
    );
    // The secret that is kept is not sent elsewhere.
    let moved = json!({ "oauth": { "authorize_url": "http://x.test/a", "token_url": "http://x.test/t", "client_id": "client" } });
    assert_eq!(server.put("/apps/acme", &moved).await.refusal(), (422, "missing_field"));
    let bad = json!({ "name_slug": "b", "auth_type": "oauth", "oauth": { "authorize_url": "ftp://x", "token_url": "http://x", "client_id": "c", "client_secret": "s3cret" } });
    let refused = server.post("/apps", &bad).await;
    assert_eq!(refused.refusal(), (422, "invalid_field"));
    assert!(!refused.text.contains("s3cret"));
}

#[tokio::test]
async fn s2_7_5_who_waits_for_somebody_at_a_provider_is_told_how_it_ended() {
    let (mut server, provider) = (Server::start_at(NOON, &[]).await, Provider::start());
    provider.register(&server, "all").await;
    let begin = async |server: &Client| {
        let begun = server
            .post("/accounts/connect", &json!({ "app": "acme", "name": "Mine" }))
            .await
            .data();
        assert_eq!(
            (&begun["status"], &begun["account_id"], &begun["app"]),
            (&json!("waiting"), &Value::Null, &json!("acme"))
        );
        let url = reqwest::Url::parse(begun["connect_url"].as_str().expect("a page"))
            .expect("an address");
        let state = url
            .query_pairs()
            .find(|(name, _)| name == "state")
            .map(|(_, value)| value.into_owned())
            .expect("a state");
        (
            format!("/accounts/connect/{}", begun["id"].as_str().expect("an id")),
            url.to_string(),
            state,
        )
    };
    let (agreed, page, state) = begin(&server).await;
    let (declined, _, of_declined) = begin(&server).await;
    let (guessed, _, of_guessed) = begin(&server).await;
    let (left, _, of_left) = begin(&server).await;
    let waiting = server.get(&agreed).await.data();
    assert_eq!(
        (&waiting["status"], waiting.get("connect_url"), &waiting["expires_at"]),
        (&json!("waiting"), None, &json!((NOON + 900_000) / 1000))
    );

    // A server that was killed meanwhile knows of them.
    server.kill();
    server.launch().await;
    server.set_clock(NOON);
    assert_eq!(answer(server.raw(Method::GET, &page)).await.status, 200);
    let connected = server.get(&agreed).await.data();
    let account = server.get("/accounts?app=acme").await.json["data"][0].clone();
    assert_eq!(
        (&connected["status"], &connected["account_id"], &connected["problem"]),
        (&json!("connected"), &account["id"], &Value::Null)
    );
    let back = async |query: String| {
        answer(server.raw(Method::GET, &format!("/oauth/callback?{query}"))).await
    };
    assert!(
        back(format!("state={of_declined}&error=access_denied"))
            .await
            .text
            .contains("access_denied")
    );
    assert_eq!(back(format!("state={of_guessed}&code=guessed")).await.status, 400);
    for (path, says) in [(&declined, "access_denied"), (&guessed, "did not give a token")] {
        let failed = server.get(path).await.data();
        assert_eq!((&failed["status"], &failed["account_id"]), (&json!("failed"), &Value::Null));
        assert!(
            failed["problem"].as_str().is_some_and(|problem| problem.contains(says)),
            "{failed}"
        );
    }
    // What comes a second time, or late, changes nothing of it.
    for state in [&state, &of_declined] {
        assert!(back(format!("state={state}&code=code2")).await.text.contains("is valid once"));
    }
    assert_eq!(server.get(&agreed).await.data(), connected);
    server.set_clock(NOON + 900_001);
    assert_eq!(back(format!("state={of_left}&code=code2")).await.status, 400);
    let late = server.get(&left).await.data();
    assert_eq!(&late["status"], "failed");
    assert!(late["problem"].as_str().is_some_and(|problem| problem.contains("in time")), "{late}");
    assert_eq!(server.get("/accounts?app=acme").await.json["page_info"]["total_count"], 1);

    assert_eq!(server.get("/accounts/connect/cn_nothere").await.refusal(), (404, "not_found"));
    assert_eq!(server.get("/accounts/connect/apn_x").await.status, 404);
    let other = server.another_organization("other").await;
    assert_eq!(other.get(&agreed).await.refusal(), (404, "not_found"));
}

#[tokio::test]
async fn s2_7_5_the_command_line_waits_for_somebody_at_a_provider_and_says_how_it_ended() {
    let (server, provider) = (Server::start().await, Provider::start());
    provider.register(&server, "all").await;
    let shell = Shell::new(&server);
    for (agrees, status) in [(true, 0), (false, 1)] {
        let mut child = shell
            .command(&["accounts", "add", "acme", "--wait", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        said.read_line(&mut line).expect("a line");
        let page = line
            .split_whitespace()
            .find(|word| word.starts_with("http"))
            .expect("the provider's page")
            .to_owned();
        if agrees {
            assert_eq!(answer(server.raw(Method::GET, &page)).await.status, 200);
        } else {
            let url = reqwest::Url::parse(&page).expect("an address");
            let state = url
                .query_pairs()
                .find(|(name, _)| name == "state")
                .map(|(_, value)| value.into_owned())
                .expect("a state");
            answer(
                server.raw(
                    Method::GET,
                    &format!("/oauth/callback?state={state}&error=access_denied"),
                ),
            )
            .await;
        }
        let (done, rest) = tokio::task::spawn_blocking(move || {
            let done = child.wait_with_output().expect("ends");
            (done, said.lines().map_while(Result::ok).collect::<String>())
        })
        .await
        .expect("waits");
        assert_eq!(done.status.code(), Some(status), "{rest}");
        if agrees {
            let account: Value = serde_json::from_slice(&done.stdout).expect("JSON");
            assert_eq!(account["app"]["name_slug"], "acme");
        } else {
            assert!(rest.contains("is not connected") && rest.contains("access_denied"), "{rest}");
        }
    }
}
