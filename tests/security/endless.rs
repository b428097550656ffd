//! Answers without an end, of all whom the server and the command line ask: each reader has a
//! bound, and says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use millrace_tests::browser::Browser;
use millrace_tests::cli::Shell;
use millrace_tests::oidc::{self, Provider};
use millrace_tests::peer::{Peer, Says};
use millrace_tests::smtp::{MailServer, Mood};
use millrace_tests::{Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::json;

/// What fits into the kernel's buffers beside what was read.
const BUFFERS: usize = 16 << 20;

/// Waits until the peer has been asked so often and nobody takes anything more.
async fn taken_of(server: &Server, peer: &Peer, requests: usize) -> usize {
    while peer.requests() < requests {
        // Each look is a request, which takes its time.
        server.get("/users/me").await.data();
    }
    peer.taken()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_reads_no_answer_without_an_end() {
    let peer = Peer::start(|head| {
        Says::Endless(if head.starts_with("PUT") { "500 No" } else { "200 OK" }, "")
    });
    // Other limits: what of it comes late is not counted with the others.
    let code_peer = Peer::start(|_| Says::Endless("200 OK", ""));
    let s3 = [
        "--s3-endpoint",
        &peer.url,
        "--s3-access-key-id",
        "a",
        "--s3-secret-access-key",
        "b",
        "--s3-region",
        "x",
    ];
    let mail = MailServer::start().await;
    mail.mood(Mood::Endless);
    let others = [
        "--npm-registry",
        &code_peer.url,
        "--otlp-url",
        &peer.url,
        "--smtp-url",
        &mail.url,
        "--owner-email",
        "owner@example.test",
    ];
    let server = Server::start_with(&[&s3[..], &others].concat()).await;
    let begun = peer.requests();

    // A provider of accounts.
    let oauth = json!({ "authorize_url": format!("{}/a", peer.url), "token_url": format!("{}/t", peer.url), "revoke_url": format!("{}/r", peer.url), "client_id": "c", "client_secret": "s" });
    server
        .post(
            "/apps",
            &json!({ "name_slug": "acme", "auth_type": "oauth", "name": "Acme", "oauth": oauth }),
        )
        .await
        .data();
    let link = server.post("/accounts/connect", &json!({ "app": "acme" })).await.data();
    let state = link["connect_url"]
        .as_str()
        .and_then(|url| url.split("state=").nth(1))
        .and_then(|rest| rest.split('&').next())
        .expect("a state")
        .to_owned();
    let page =
        answer(server.raw(Method::GET, &format!("/oauth/callback?code=x&state={state}"))).await;
    assert!(
        page.text.contains("Acme did not give a token: the answer has more than 262144 bytes"),
        "{}",
        page.text
    );
    assert!(peer.taken() < BUFFERS);

    // The image of an app.
    server
        .post(
            "/apps",
            &json!({ "name_slug": "pictured", "img_src": format!("{}/i.png", peer.url) }),
        )
        .await
        .data();
    let refused = server.get("/apps/pictured/image").await;
    assert!(
        refused.refusal() == (422, "fetch_failed") && refused.text.contains("262144 bytes"),
        "{}",
        refused.text
    );
    assert!(peer.taken() < BUFFERS);

    // A component's address, and npm's registry.
    let refused = server
        .post("/sources", &json!({ "component_url": format!("{}/x.mjs", code_peer.url) }))
        .await;
    assert!(refused.status == 422 && refused.text.contains("bytes"), "{}", refused.text);
    let url = code_peer.taken();
    let code =
        "import x from 'endless'; export default { name: 'x', version: '1', run() { x(); } };";
    let refused = server.post("/sources", &json!({ "component_code": code })).await;
    assert!(refused.status == 422 && refused.text.contains("bytes"), "{}", refused.text);
    let npm = code_peer.taken();
    assert!(
        url < (32 << 20) + BUFFERS && npm < (128 << 20) + BUFFERS,
        "{url} of an address, {npm} of npm's registry"
    );

    // What code sends.
    let webhook = server.post("/webhooks", &json!({ "name": "h", "url": peer.url })).await.data();
    let source = server
        .source("export default { name: 's', version: '1', run() { this.$emit({}); } };", json!({}))
        .await;
    server
        .post(
            &format!("/subscriptions?emitter_id={}&listener_id={}", id(&source), id(&webhook)),
            &json!({}),
        )
        .await;
    server.post(&format!("/sources/{}/run", id(&source)), &json!({})).await.data();
    let delivered = format!("/webhooks/{}/deliveries?status=delivered", id(&webhook));
    server
        .until("the webhook is delivered", &delivered, |l| l["page_info"]["total_count"] == 1)
        .await;
    assert!(peer.taken() < BUFFERS);
    let sends = format!(
        "$.send.http({{ method: 'POST', url: '{}', data: 1 }}); $.send.s3({{ bucket: 'logs', prefix: 'a', payload: 'x' }}); $.send.email({{ subject: 's', text: 't' }});",
        peer.url
    );
    let sends =
        format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {sends} }} }});");
    let made = server.workflow("sends", json!([{ "type": "http" }]), &[("sends", &sends)]).await;
    answer(server.raw(Method::POST, &endpoint(&made))).await;
    let runs = format!("/workflows/{}/runs", id(&made));
    let listed = server.until("it has run", &runs, |l| l["data"][0]["status"] == "succeeded").await;
    let run = format!("/runs/{}", id(&listed["data"][0]));
    let run = server
        .until("both were tried", &run, |r| {
            r["data"]["deliveries"][0]["status"] == "delivered"
                && r["data"]["deliveries"][1]["attempts"] == 1
        })
        .await;
    let error = run["data"]["deliveries"][1]["last_error"].as_str().unwrap_or("");
    assert!(error.contains("500") && error.len() < 1_000, "{error}");
    assert!(peer.taken() < BUFFERS);

    // Mail: a greeting without the end of its line.
    let mails =
        server.until("the mail was tried", "/mail", |l| l["data"][0]["attempts"] == 1).await;
    let error = mails["data"][0]["last_error"].as_str().unwrap_or("");
    assert!(
        error.contains(
            "the SMTP server answered with more than 1048576 bytes, the most that is read"
        ),
        "{error}"
    );
    assert!(mail.taken() < BUFFERS, "{}", mail.taken());

    // Spans: the run was told of.
    taken_of(&server, &peer, begun + 5).await;
    assert!(peer.taken() < BUFFERS);
    tokio::time::timeout(Duration::from_secs(60), server.get("/users/me"))
        .await
        .expect("in time")
        .data();
}

/// Header lines without an end, and the token that is refreshed as a run needs it.
#[tokio::test(flavor = "multi_thread")]
async fn the_server_reads_no_head_without_an_end_and_no_refreshed_token() {
    let connected = Arc::new(AtomicUsize::new(0));
    let (of_head, of_body) = (connected, Arc::new(AtomicUsize::new(0)));
    let token = |_: &str| {
        Says::Json(json!({ "access_token": "at", "token_type": "bearer", "refresh_token": "rt", "expires_in": 0 }).to_string())
    };
    let peer = Peer::start(move |head| match head {
        _ if head.starts_with("POST /t") && of_head.fetch_add(1, Ordering::SeqCst) == 0 => {
            token(head)
        }
        _ if head.starts_with("PUT") => Says::EndlessHead("500 No"),
        _ => Says::EndlessHead("200 OK"),
    });
    let long = Peer::start(move |head| {
        if of_body.fetch_add(1, Ordering::SeqCst) == 0 {
            token(head)
        } else {
            Says::Endless("200 OK", "{")
        }
    });
    let s3 = [
        "--s3-endpoint",
        &peer.url,
        "--s3-access-key-id",
        "a",
        "--s3-secret-access-key",
        "b",
        "--s3-region",
        "x",
    ];
    let server = Server::start_with(
        &[&s3[..], &["--npm-registry", &peer.url, "--otlp-url", &peer.url]].concat(),
    )
    .await;

    // The first answer of each provider is a token that ends at once.
    for (app, peer, reason) in [
        ("headed", &peer, "gave no other: it could not be reached"),
        ("bodied", &long, "more than 262144 bytes"),
    ] {
        let oauth = json!({ "authorize_url": format!("{}/a", peer.url), "token_url": format!("{}/t", peer.url), "client_id": "c", "client_secret": "s" });
        server
            .post(
                "/apps",
                &json!({ "name_slug": app, "auth_type": "oauth", "name": "Acme", "oauth": oauth }),
            )
            .await
            .data();
        let link = server.post("/accounts/connect", &json!({ "app": app })).await.data();
        let state = link["connect_url"]
            .as_str()
            .and_then(|url| url.split("state=").nth(1))
            .and_then(|rest| rest.split('&').next())
            .expect("a state")
            .to_owned();
        let page =
            answer(server.raw(Method::GET, &format!("/oauth/callback?code=x&state={state}"))).await;
        assert!(page.text.contains("Connected"), "{}", page.text);
        let account =
            server.get(&format!("/accounts?app={app}")).await.json["data"][0]["id"].clone();
        let code = format!(
            "export default {{ name: 's', version: '1', props: {{ acme: {{ type: 'app', app: '{app}' }} }}, run() {{ return this.acme.$auth; }} }};"
        );
        let source = server.source(&code, json!({ "acme": { "authProvisionId": account } })).await;
        let run = server.run_now(&source, json!({})).await;
        assert!(
            run["status"] == "failed"
                && run["error"]["message"].as_str().is_some_and(|message| message.contains(reason)),
            "{app}: {run}"
        );
        assert!(peer.taken() < BUFFERS, "{app}");
    }

    server
        .post(
            "/apps",
            &json!({ "name_slug": "pictured", "img_src": format!("{}/i.png", peer.url) }),
        )
        .await
        .data();
    let refused = server.get("/apps/pictured/image").await;
    assert_eq!(refused.refusal(), (422, "fetch_failed"), "{}", refused.text);
    let code =
        "import x from 'endless'; export default { name: 'x', version: '1', run() { x(); } };";
    for body in [
        json!({ "component_url": format!("{}/x.mjs", peer.url) }),
        json!({ "component_code": code }),
    ] {
        let refused = server.post("/sources", &body).await;
        assert!((400..500).contains(&refused.status) || refused.status == 502, "{}", refused.text);
        assert!(peer.taken() < BUFFERS, "{body}");
    }
    let sends = format!(
        "$.send.http({{ method: 'POST', url: '{}', data: 1 }}); $.send.s3({{ bucket: 'logs', prefix: 'a', payload: 'x' }});",
        peer.url
    );
    let sends =
        format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {sends} }} }});");
    let made = server.workflow("sends", json!([{ "type": "http" }]), &[("sends", &sends)]).await;
    answer(server.raw(Method::POST, &endpoint(&made))).await;
    let listed = server
        .until("it has run", &format!("/workflows/{}/runs", id(&made)), |l| {
            l["data"][0]["status"] == "succeeded"
        })
        .await;
    let run = format!("/runs/{}", id(&listed["data"][0]));
    server
        .until("both were tried", &run, |r| {
            r["data"]["deliveries"]
                .as_array()
                .is_some_and(|all| all.iter().all(|one| one["attempts"].as_u64() > Some(0)))
        })
        .await;
    assert!(peer.taken() < BUFFERS);
}

#[tokio::test]
async fn the_server_reads_no_answer_of_who_signs_people_in_without_an_end() {
    for path in ["/.well-known/openid-configuration", "/token", "/keys", "/userinfo"] {
        let provider = Provider::default();
        // What the provider says of itself is kept: a server for each.
        let server = provider.server(&[]).await;
        provider.says(&server, &json!({ "endless": path, "userinfo": {} })).await;
        let mut browser = Browser::default();
        let begun = browser.call(&server, Method::POST, "/sign_in/begin", None).await;
        let refused = match begun.json["data"]["url"].as_str() {
            Some(url) => {
                oidc::finish(&server, &mut browser, &oidc::at_provider(&server, url).await).await
            }
            None => begun,
        };
        assert_eq!(refused.refusal(), (422, "provider_refused"), "{path}");
        assert!(refused.text.contains("262144 bytes"), "{path}: {}", refused.text);
        let taken = answer(server.raw(Method::GET, &format!("{}/taken", provider.url))).await.json
            ["bytes"]
            .as_u64()
            .unwrap_or_default();
        assert!(taken > 0 && taken < BUFFERS as u64, "{path}: {taken}");
    }
}

#[test]
fn the_command_line_reads_no_answer_without_an_end() {
    let start = |head: &str| match head {
        _ if head.starts_with("GET /v1/export") => "{\"type\":\"run\"",
        _ if head.contains("/sse") => "data: {",
        _ if head.contains("/scoped") => "{\"dist\":",
        _ => "{\"data\":[",
    };
    let peer = Peer::start(move |head| Says::Endless("200 OK", start(head)));
    let refuses = Peer::start(move |head| Says::Endless("500 No", start(head)));
    let shell = Shell::alone();
    let run = |url: &str, args: &[&str]| {
        shell.run(&[&["--url", url, "--api-key", "millrace_x"], args].concat())
    };
    for (args, limit) in [
        (&["list", "sources"][..], 256 << 20),
        (&["files", "get", "s", "p"], 64 << 20),
        (&["workflows", "pull", "p_x"], 256 << 20),
        (&["runs", "show", "run_x"], 256 << 20),
        (&["export"], 64 << 20),
        (&["events", "p_x"], 256 << 20),
    ] {
        // A peer of its own: what one before still writes is not counted here.
        let peer = Peer::start(move |head| Says::Endless("200 OK", start(head)));
        let said = run(&peer.url, args).fails(1);
        assert!(said.contains("bytes, the most that is read"), "{args:?}: {said}");
        let taken = peer.taken();
        assert!(taken < limit + BUFFERS, "{args:?}: {taken}");
        let said = run(&refuses.url, args).fails(1);
        assert!(said.contains("answered 500"), "{args:?}: {said}");
        assert!(refuses.taken() < BUFFERS, "{args:?}");
    }
    let archive = format!("{}/x.tar.gz", peer.url);
    let npm = ["registry", "add", "npm:@scoped/x", "--npm-registry", &peer.url];
    for args in [&["registry", "add", &archive][..], &npm] {
        let said = run(&peer.url, args).fails(1);
        assert!(said.contains("bytes, the most that is read"), "{args:?}: {said}");
        let taken = peer.taken();
        assert!(taken < (96 << 20) + BUFFERS, "{args:?}: {taken}");
    }
}

/// A stream is followed for as long as it goes on; it has no event without an end, and a list no
/// page without an end.
#[test]
fn the_command_line_follows_no_event_and_no_list_without_an_end() {
    let events = Peer::start(|head| {
        if head.contains("/sse") {
            Says::Endless("200 OK", "data: {")
        } else {
            Says::Json("{\"data\":[]}".into())
        }
    });
    let shell = Shell::alone();
    let said = shell
        .run(&["--url", &events.url, "--api-key", "millrace_x", "logs", "dc_x", "-f"])
        .fails(1);
    assert!(said.contains("an event of more than"), "{said}");
    // Each page has another one behind it.
    let count = AtomicUsize::new(0);
    let pages = Peer::start(move |_| {
        Says::Json(json!({ "data": vec![0; 100], "page_info": { "end_cursor": count.fetch_add(1, Ordering::SeqCst).to_string() } }).to_string())
    });
    let said = shell
        .run(&[
            "--url",
            &pages.url,
            "--api-key",
            "millrace_x",
            "runs",
            "list",
            "p_x",
            "-n",
            "4000000000",
        ])
        .fails(1);
    assert!(said.contains("more than 100000 items"), "{said}");
    // What a page follows is gone, always.
    let gone = Peer::start(|head| match head {
        _ if head.contains("after=") => Says::Status("404 Not Found"),
        _ => Says::Json(
            json!({ "data": vec![json!({}); 100], "page_info": { "end_cursor": "more" } })
                .to_string(),
        ),
    });
    shell
        .run(&["--url", &gone.url, "--api-key", "millrace_x", "runs", "list", "p_x", "-n", "1000"])
        .fails(1);
}
