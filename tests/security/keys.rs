//! Keys: their storage, and throttling of clients that show too many wrong ones.

use millrace_tests::{Answer, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use crate::support::Field;

/// More wrong keys than anybody may show in a minute.
const MANY: usize = 400;

/// Keys and secrets are looked up and compared as hashes, so that no time tells anything of them:
/// what is not there as it is cannot be compared as it is. (That hashes are compared in constant
/// time is a test of the function that does it, `same`.)
#[tokio::test]
async fn keys_and_secrets_are_kept_as_hashes_only() {
    let mut field = Field::start().await;
    let key = field
        .server
        .post("/api_keys", &json!({ "name": "k", "scopes": ["full"] }))
        .await
        .data()["key"]
        .as_str()
        .expect("the key")
        .to_owned();
    let client = field
        .server
        .post("/oauth/clients", &json!({ "name": "c", "scopes": ["full"] }))
        .await
        .data();
    let secret = client["client_secret"].as_str().expect("the secret").to_owned();
    let form = json!({ "grant_type": "client_credentials", "client_id": client["id"], "client_secret": secret });
    let token = answer(field.server.raw(Method::POST, "/v1/oauth/token").json(&form)).await.json["access_token"].as_str().expect("a token").to_owned();
    for good in [&key, &token] {
        assert_eq!(
            answer(field.server.raw(Method::GET, "/v1/users/me").bearer_auth(good)).await.status,
            200
        );
    }
    // All is in the file once the server has ended.
    assert_eq!(field.server.terminate(), Some(0));
    let database = std::fs::read(field.server.data_dir().join("millrace.db")).expect("reads");
    let holds = |text: &str| database.windows(text.len()).any(|part| part == text.as_bytes());
    for shown in [&key, &secret, &token, &field.server.api_key] {
        let hash: String = Sha256::digest(shown).iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(holds(&hash), "the hash is not in the database");
        assert!(!holds(shown) && !holds(&shown[4..]), "a secret is in the database as it is");
        assert!(!field.server.log().contains(shown.as_str()), "a secret is in the log");
    }
}

#[tokio::test]
async fn wrong_keys_are_throttled_and_good_ones_are_not() {
    let field = Field::start().await;
    // It is looked up, and known to be good, before.
    assert_eq!(field.server.get("/users/me").await.status, 200);
    let mut refused = None;
    for n in 0..1_000 {
        let sent = field
            .server
            .raw(Method::GET, "/v1/users/me")
            .bearer_auth(format!("mr_{n:040}"))
            .send()
            .await
            .expect("answers");
        match sent.status().as_u16() {
            401 => {}
            _ => {
                refused = Some(sent);
                break;
            }
        }
    }
    let refused = refused.expect("there is an end to it");
    assert_eq!(refused.status().as_u16(), 429);
    let wait: u64 =
        refused.headers()["retry-after"].to_str().expect("a number").parse().expect("a number");
    assert!((1..=60).contains(&wait));
    let body: Value = refused.json().await.expect("JSON");
    assert_eq!(body["code"], "too_many_wrong_keys");
    assert_eq!(field.server.get("/users/me").await.status, 200, "who shares the address goes on");
    field.healthy().await;
}

#[tokio::test]
async fn wrong_secrets_of_oauth_clients_are_throttled_and_good_ones_are_not() {
    let field = Field::start().await;
    let client = field
        .server
        .post("/oauth/clients", &json!({ "name": "c", "scopes": ["full"] }))
        .await
        .data();
    let token = |id: &Value, secret: &Value| {
        let form =
            json!({ "grant_type": "client_credentials", "client_id": id, "client_secret": secret });
        answer(field.server.raw(Method::POST, "/v1/oauth/token").json(&form))
    };
    let (id, secret) = (&client["id"], &client["client_secret"]);
    assert_eq!(token(id, secret).await.status, 200);
    let mut last = None;
    for n in 0..MANY {
        let said = token(id, &json!(format!("mrs_{n:040}"))).await;
        let status = said.status;
        last = Some(said);
        if status != 401 {
            break;
        }
    }
    assert_eq!(last.expect("an answer").refusal(), (429, "too_many_wrong_keys"));
    assert_eq!(token(id, secret).await.status, 200, "who shares the address goes on");
    // Nor is it a way to try a token's end, or keys.
    let revoke = json!({ "token": "x", "client_id": id, "client_secret": "mrs_x" });
    assert_eq!(
        answer(field.server.raw(Method::POST, "/v1/oauth/revoke").json(&revoke)).await.refusal(),
        (429, "too_many_wrong_keys")
    );
    assert_eq!(
        answer(field.server.raw(Method::GET, "/v1/users/me").bearer_auth("mr_x")).await.refusal(),
        (429, "too_many_wrong_keys")
    );
    field.healthy().await;
}

/// Code that asks the hosted platform's API asks this server, from this server's own address, or
/// that of the proxy before it: there, all clients are.
#[tokio::test]
async fn a_component_s_wrong_keys_lock_out_nobody_else() {
    let field = Field::start_with(&["--requests-per-minute", "100000"]).await;
    let as_of = async |key: &str, code: &str| -> Value {
        let made: Answer = field
            .server
            .call_as(key, Method::POST, "/sources", Some(&json!({ "component_code": code })))
            .await;
        made.data()
    };
    let asks = |tries: &str| {
        format!(
            "export default {{ name: 'asks', version: '1', props: {{ http: {{ type: '$.interface.http', customResponse: true }} }}, async run(event) {{
               const ask = async (path, init) => (await fetch('https://api.pipedream.com/v1' + path, init)).status; const seen = {{}};
               const wrong = (n) => [() => ask('/users/me', {{ headers: {{ authorization: 'Bearer mr_' + String(n).padStart(40, '0') }} }}),
                 () => ask('/oauth/token', {{ method: 'POST', headers: {{ 'content-type': 'application/json' }}, body: JSON.stringify({{ grant_type: 'client_credentials', client_id: 'oc_x', client_secret: 'mrs_' + n }}) }})][n % 2]();
               {tries} this.http.respond({{ status: 200, body: seen }}); }} }};"
        )
    };
    let attack = asks(&format!(
        "for (let n = 0; n < {MANY}; n += 10) for (const status of await Promise.all(Array.from({{ length: 10 }}, (_, k) => wrong(n + k)))) seen[status] = (seen[status] ?? 0) + 1;"
    ));
    let attacker = as_of(&field.server.api_key, &attack).await;
    // What nobody has looked up yet: a key of the same organization, one of another, and its
    // component.
    let fresh = field
        .server
        .post("/api_keys", &json!({ "name": "fresh", "scopes": ["full"] }))
        .await
        .data()["key"]
        .as_str()
        .expect("the key")
        .to_owned();
    let other = field
        .server
        .post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" }))
        .await
        .data();
    let theirs = other["api_key"].as_str().expect("its key").to_owned();
    let good = asks(
        "seen.status = await ask('/users/me', { headers: { authorization: 'Bearer ' + event.body.key } }); seen.wrong = await wrong(1);",
    );
    let neighbour = as_of(&theirs, &good).await;
    let more = field
        .server
        .call_as(
            &theirs,
            Method::POST,
            "/api_keys",
            Some(&json!({ "name": "more", "scopes": ["full"] })),
        )
        .await
        .data()["key"]
        .as_str()
        .expect("a key")
        .to_owned();

    let seen = field.send(&attacker).await.json;
    assert!(
        seen["401"].as_u64().is_some_and(|n| n >= 250)
            && seen["429"].as_u64().is_some_and(|n| n >= 50),
        "its own keys are throttled: {seen}"
    );
    assert_eq!(
        answer(field.server.raw(Method::GET, "/v1/users/me").bearer_auth(&fresh)).await.status,
        200,
        "a client of the same address"
    );
    assert_eq!(
        answer(field.server.raw(Method::GET, "/v1/users/me").bearer_auth("mr_wrong")).await.status,
        401,
        "nothing was counted for the address"
    );
    let said =
        answer(field.server.raw(Method::POST, &endpoint(&neighbour)).json(&json!({ "key": more })))
            .await;
    assert_eq!(
        said.json,
        json!({ "status": 200, "wrong": 401 }),
        "components of another organization"
    );
    // A client cannot pass for a component: neither to go free, nor to have others counted.
    let org = field.server.org_id.clone();
    for forged in [
        org.clone(),
        format!("{org}-"),
        format!("{org}-{}", "A".repeat(43)),
        "-".into(),
        "x".repeat(5_000),
    ] {
        let request =
            field.server.raw(Method::GET, "/v1/users/me").header("x-millrace-asked-by", &forged);
        assert_eq!(answer(request.bearer_auth("mr_wrong")).await.status, 401, "{forged}");
    }
    field.healthy().await;
}

/// The address at which a provider's answer is taken holds what only this server can have sealed,
/// and is good for minutes.
#[tokio::test]
async fn a_connection_that_was_begun_ends_with_its_time() {
    let mut server = Server::unprivileged_at_rest(&[]);
    server.skew_clock(0);
    server.launch().await;
    let app = json!({ "name_slug": "acme", "name": "Acme", "auth_type": "oauth", "oauth": { "client_id": "c", "client_secret": "s", "authorize_url": "https://a.test/auth", "token_url": "http://127.0.0.1:9/token" } });
    server.post("/apps", &app).await.data();
    let link = server.post("/accounts/connect", &json!({ "app": "acme" })).await.data();
    let url =
        reqwest::Url::parse(link["connect_url"].as_str().expect("an address")).expect("an address");
    let state =
        url.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned();
    let come_back = async |state: &str| {
        answer(server.raw(Method::GET, "/oauth/callback").query(&[("state", state), ("code", "x")]))
            .await
    };
    let known = come_back(&state).await;
    // It is known; that its provider is not to be reached is another matter.
    assert!(known.status == 400 && known.text.contains("loopback"), "{}", known.text);
    let (half, rest) = state.split_at(state.len() / 2);
    for forged in [
        String::new(),
        half.to_owned(),
        format!("{half}A{}", &rest[1..]),
        format!("{state}A"),
        "..".into(),
        "A".repeat(4_000),
    ] {
        let unknown = come_back(&forged).await;
        assert!(
            unknown.status == 400
                && unknown.text.contains("does not belong to a connection that was begun here"),
            "{forged}: {}",
            unknown.text
        );
    }
    server.skew_clock(3_600_000);
    let late = answer(
        server
            .raw(Method::GET, "/oauth/callback")
            .query(&[("state", state.as_str()), ("code", "x")]),
    )
    .await;
    assert!(late.status == 400 && late.text.contains("took longer than"), "{}", late.text);
}

/// Who begins to connect an account is not there any more: what the provider says then connects
/// nothing, and replaces no account.
#[tokio::test]
async fn a_connection_that_was_begun_ends_with_its_key() {
    let field = Field::start().await;
    let server = &field.server;
    let app = json!({ "name_slug": "acme", "name": "Acme", "auth_type": "oauth", "oauth": { "client_id": "c", "client_secret": "s", "authorize_url": "https://a.test/auth", "token_url": "http://127.0.0.1:9/token" } });
    server.post("/apps", &app).await.data();
    let begin_one = async |key: &str| {
        let link = server
            .call_as(key, Method::POST, "/accounts/connect", Some(&json!({ "app": "acme" })))
            .await
            .data();
        let url = reqwest::Url::parse(link["connect_url"].as_str().expect("an address"))
            .expect("an address");
        url.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned()
    };
    // Each is answered once: one while the key is there, one afterwards.
    let begin = async |key: &str| (begin_one(key).await, begin_one(key).await);
    let come_back = async |state: &str| {
        answer(server.raw(Method::GET, "/oauth/callback").query(&[("state", state), ("code", "x")]))
            .await
    };
    let text = |record: &Value, field: &str| record[field].as_str().expect("text").to_owned();
    let mut begun = Vec::new();
    for (end, path) in [(Method::DELETE, ""), (Method::POST, "/rotate")] {
        let made =
            server.post("/api_keys", &json!({ "name": "k", "scopes": ["full"] })).await.data();
        let states = begin(&text(&made, "key")).await;
        begun.push((states, end, format!("/api_keys/{}{path}", text(&made, "id"))));
    }
    let client =
        server.post("/oauth/clients", &json!({ "name": "c", "scopes": ["full"] })).await.data();
    let form = json!({ "grant_type": "client_credentials", "client_id": client["id"], "client_secret": client["client_secret"] });
    let token =
        answer(server.raw(Method::POST, "/v1/oauth/token").json(&form)).await.json["access_token"]
            .as_str()
            .expect("a token")
            .to_owned();
    begun.push((
        begin(&token).await,
        Method::DELETE,
        format!("/oauth/clients/{}", text(&client, "id")),
    ));
    // A token ends alone, though its client goes on.
    let lasting =
        server.post("/oauth/clients", &json!({ "name": "d", "scopes": ["full"] })).await.data();
    let mut form = json!({ "grant_type": "client_credentials", "client_id": lasting["id"], "client_secret": lasting["client_secret"] });
    let token =
        answer(server.raw(Method::POST, "/v1/oauth/token").json(&form)).await.json["access_token"]
            .as_str()
            .expect("a token")
            .to_owned();
    let (before, state) = begin(&token).await;
    assert!(come_back(&before).await.text.contains("loopback"));
    form["token"] = token.into();
    assert_eq!(answer(server.raw(Method::POST, "/v1/oauth/revoke").json(&form)).await.status, 200);
    let refused = come_back(&state).await;
    assert!(
        refused.status == 400 && refused.text.contains("is no longer valid"),
        "a token: {}",
        refused.text
    );
    for ((before, state), end, path) in begun {
        // That its provider is not to be reached is another matter.
        assert!(come_back(&before).await.text.contains("loopback"), "{path}");
        let ended = server.call_as(&server.api_key, end, &path, Some(&json!({}))).await;
        assert_eq!(ended.status, 200, "{path}: {}", ended.text);
        let refused = come_back(&state).await;
        assert!(
            refused.status == 400 && refused.text.contains("is no longer valid"),
            "{path}: {}",
            refused.text
        );
    }
}

/// A provider may take its time: the key that was good when it was asked is looked at again before
/// its tokens are kept.
#[tokio::test]
async fn a_connection_ends_with_its_key_while_the_provider_is_asked() {
    let server = Server::start_with(&["--egress-allow", "127.0.0.0/8"]).await;
    let provider = TcpListener::bind("127.0.0.1:0").await.expect("listens");
    let token_url = format!("http://{}/token", provider.local_addr().expect("an address"));
    let app = json!({ "name_slug": "acme", "name": "Acme", "auth_type": "oauth", "oauth": { "client_id": "c", "client_secret": "s", "authorize_url": "https://a.test/auth", "token_url": token_url } });
    server.post("/apps", &app).await.data();
    for (is_revoked, status) in [(false, 200), (true, 400)] {
        let made =
            server.post("/api_keys", &json!({ "name": "k", "scopes": ["full"] })).await.data();
        let key = made["key"].as_str().expect("a key");
        let link = server
            .call_as(key, Method::POST, "/accounts/connect", Some(&json!({ "app": "acme" })))
            .await
            .data();
        let url = reqwest::Url::parse(link["connect_url"].as_str().expect("an address"))
            .expect("an address");
        let state =
            url.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned();
        let come_back = answer(
            server
                .raw(Method::GET, "/oauth/callback")
                .query(&[("state", state.as_str()), ("code", "x")]),
        );
        let provide = async {
            let mut stream = BufReader::new(provider.accept().await.expect("is asked").0);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert_ne!(stream.read_line(&mut head).await.expect("reads"), 0, "{head}");
            }
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
                })
                .expect("a length");
            stream.read_exact(&mut vec![0; length]).await.expect("reads");
            if is_revoked {
                let path = format!("/api_keys/{}", made["id"].as_str().expect("an id"));
                assert_eq!(
                    server.call_as(&server.api_key, Method::DELETE, &path, None).await.status,
                    200
                );
            }
            let tokens = r#"{"access_token":"a","token_type":"bearer"}"#;
            let said = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{tokens}",
                tokens.len()
            );
            stream.write_all(said.as_bytes()).await.expect("writes");
        };
        let (page, ()) = tokio::join!(come_back, provide);
        assert_eq!(page.status, status, "{}", page.text);
        assert_eq!(page.text.contains("is no longer valid"), is_revoked, "{}", page.text);
        assert_eq!(
            server.get("/accounts").await.json["page_info"]["total_count"],
            1,
            "revoked: {is_revoked}"
        );
    }
}

/// Streams go on for as long as their client likes, but not beyond its key.
#[tokio::test]
async fn streams_end_with_the_key_that_asked_for_them() {
    let field = Field::start().await;
    let server = &field.server;
    let workflow = server
        .workflow(
            "w",
            json!([{ "type": "http" }]),
            &[(
                "hold",
                "export default defineComponent({ run({ $ }) { $.flow.suspend(60000); } });",
            )],
        )
        .await;
    let source = server.source("export default { name: 's', version: '1', run() { this.$emit({ secret: 1 }); console.log('secret'); } };", json!({})).await;
    answer(server.raw(Method::GET, &endpoint(&workflow))).await;
    let id = |record: &Value| record["id"].as_str().expect("an id").to_owned();
    let paused = server
        .until("it waits", &format!("/workflows/{}/runs?status=paused", id(&workflow)), |l| {
            l["page_info"]["total_count"] == 1
        })
        .await;
    let (of_workflow, of_source) =
        (format!("/workflows/{}", id(&workflow)), format!("/sources/{}", id(&source)));
    let mut paths = vec![format!("/runs/{}/sse", id(&paused["data"][0]))];
    for part in ["/sse", "/logs/sse", "/runs/sse"] {
        paths.extend([format!("{of_workflow}{part}"), format!("{of_source}{part}")]);
    }
    for (end, tail) in [(Method::DELETE, ""), (Method::POST, "/rotate")] {
        let made =
            server.post("/api_keys", &json!({ "name": "k", "scopes": ["full"] })).await.data();
        let key = made["key"].as_str().expect("the key");
        let mut streams = Vec::new();
        for path in &paths {
            let stream = server
                .raw(Method::GET, &format!("/v1{path}"))
                .bearer_auth(key)
                .send()
                .await
                .expect("a stream");
            assert_eq!(stream.status().as_u16(), 200, "{path}");
            streams.push((path, stream));
        }
        // Another key's end is not theirs.
        let other =
            server.post("/api_keys", &json!({ "name": "other", "scopes": ["full"] })).await.data();
        server.delete(&format!("/api_keys/{}", id(&other))).await.data();
        server.post(&format!("{of_source}/run"), &json!({})).await.data();
        for (path, stream) in streams.iter_mut().filter(|(path, _)| {
            [format!("{of_source}/sse"), format!("{of_source}/logs/sse")].contains(path)
        }) {
            let mut told = String::new();
            while !told.contains("secret") {
                told += &String::from_utf8_lossy(
                    &stream
                        .chunk()
                        .await
                        .expect("more")
                        .unwrap_or_else(|| panic!("{path} ended with another key")),
                );
            }
        }
        let ended = server
            .call_as(
                &server.api_key,
                end,
                &format!("/api_keys/{}{tail}", id(&made)),
                Some(&json!({})),
            )
            .await;
        assert_eq!(ended.status, 200, "{}", ended.text);
        server.post(&format!("{of_source}/run"), &json!({})).await.data();
        for (path, stream) in streams {
            // All that came until its end: a stream that goes on has none, and is waited for in
            // vain.
            let told =
                tokio::time::timeout(std::time::Duration::from_secs(20), stream.text()).await;
            let told = told.unwrap_or_else(|_| panic!("{path} goes on")).expect("a whole answer");
            assert!(!told.contains("secret"), "{path}: {told}");
        }
    }
}

/// An organization may let any name stand for its endpoint, also one that leads to this server and
/// that clients take for the server's own.
#[tokio::test]
async fn keys_that_are_shown_at_a_domain_of_an_organization_reach_no_code() {
    let field = Field::start_with(&["--own-host", "millrace.internal,Millrace.lan"]).await;
    let server = &field.server;
    let other = server
        .post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" }))
        .await
        .data();
    let theirs = other["api_key"].as_str().expect("its key");
    let as_them = async |path: &str, body: Value| {
        server.call_as(theirs, Method::POST, path, Some(&body)).await
    };
    let workflow = async |auth: Value| {
        let step =
            json!({ "namespace": "a", "code": "export default defineComponent({ run() {} });" });
        let trigger = json!({ "type": "http", "props": { "auth": auth } });
        as_them(
            "/workflows",
            json!({ "triggers": [trigger], "steps": [step], "settings": { "name": "w" } }),
        )
        .await
        .data()
    };
    let (open, asking) =
        (workflow(json!({ "type": "none" })).await, workflow(json!({ "type": "api_key" })).await);
    for (domain, workflow) in [("millrace.example", &open), ("asking.example", &asking)] {
        as_them(
            "/domains",
            json!({ "domain": domain, "endpoint_id": workflow["triggers"][0]["id"] }),
        )
        .await
        .data();
    }
    for own in ["millrace.internal", "api.millrace.internal", "millrace.lan"] {
        let refused =
            as_them("/domains", json!({ "domain": own, "endpoint_id": open["triggers"][0]["id"] }))
                .await;
        assert_eq!(refused.refusal(), (409, "taken"), "{own}");
    }
    let client =
        server.post("/oauth/clients", &json!({ "name": "c", "scopes": ["full"] })).await.data();
    let form = json!({ "grant_type": "client_credentials", "client_id": client["id"], "client_secret": client["client_secret"] });
    let token =
        answer(server.raw(Method::POST, "/v1/oauth/token").json(&form)).await.json["access_token"]
            .as_str()
            .expect("a token")
            .to_owned();
    let at = async |host: &str, key: &str| {
        answer(server.raw(Method::GET, "/v1/users/me").header("host", host).bearer_auth(key)).await
    };
    assert_eq!(
        at("millrace.internal", &server.api_key).await.data()["id"],
        server.get("/users/me").await.data()["id"],
        "a name of its own is the API's"
    );
    for key in [server.api_key.as_str(), &token, &format!("mr_{}", "a".repeat(40))] {
        for host in ["millrace.example", "MILLRACE.example.:80"] {
            let refused = at(host, key).await;
            assert_eq!(refused.refusal(), (421, "not_the_api"), "{}", refused.text);
        }
    }
    let runs = async |workflow: &Value| {
        let path = format!("/workflows/{}/runs", workflow["id"].as_str().expect("an id"));
        server.call_as(theirs, Method::GET, &path, None).await.json["page_info"]["total_count"]
            .clone()
    };
    assert_eq!(runs(&open).await, 0);
    // Tokens of the endpoint's own are its concern, and one that asks for a key takes none but its
    // organization's, out of the event too.
    assert_eq!(at("millrace.example", "mr_not-one-of-ours").await.status, 200);
    assert_eq!(
        (
            at("asking.example", &server.api_key).await.status,
            at("asking.example", theirs).await.status
        ),
        (401, 200)
    );
    assert_eq!((runs(&open).await, runs(&asking).await), (json!(1), json!(1)));
}
