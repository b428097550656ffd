//! Keys: how they are kept, and who shows too many wrong ones.

use millrace_tests::{Answer, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::Field;

/// More wrong keys than anybody may show in a minute.
const MANY: usize = 400;

/// Keys and secrets are looked up and compared as hashes, so that no time tells anything of them: what is not there as it is cannot be compared as
/// it is. (That hashes are compared in constant time is a test of the function that does it, `same`.)
#[tokio::test]
async fn keys_and_secrets_are_kept_as_hashes_only() {
    let mut field = Field::start().await;
    let key = field.server.post("/api_keys", &json!({ "name": "k" })).await.data()["key"].as_str().expect("the key").to_owned();
    let client = field.server.post("/oauth/clients", &json!({ "name": "c" })).await.data();
    let secret = client["client_secret"].as_str().expect("the secret").to_owned();
    let form = json!({ "grant_type": "client_credentials", "client_id": client["id"], "client_secret": secret });
    let token = answer(field.server.raw(Method::POST, "/v1/oauth/token").json(&form)).await.json["access_token"].as_str().expect("a token").to_owned();
    for good in [&key, &token] {
        assert_eq!(answer(field.server.raw(Method::GET, "/v1/users/me").bearer_auth(good)).await.status, 200);
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
        let sent = field.server.raw(Method::GET, "/v1/users/me").bearer_auth(format!("mr_{n:040}")).send().await.expect("answers");
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
    let wait: u64 = refused.headers()["retry-after"].to_str().expect("a number").parse().expect("a number");
    assert!((1..=60).contains(&wait));
    let body: Value = refused.json().await.expect("JSON");
    assert_eq!(body["code"], "too_many_wrong_keys");
    assert_eq!(field.server.get("/users/me").await.status, 200, "who shares the address goes on");
    field.healthy().await;
}

#[tokio::test]
async fn wrong_secrets_of_oauth_clients_are_throttled_and_good_ones_are_not() {
    let field = Field::start().await;
    let client = field.server.post("/oauth/clients", &json!({ "name": "c" })).await.data();
    let token = |id: &Value, secret: &Value| {
        let form = json!({ "grant_type": "client_credentials", "client_id": id, "client_secret": secret });
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
    assert_eq!(answer(field.server.raw(Method::POST, "/v1/oauth/revoke").json(&revoke)).await.refusal(), (429, "too_many_wrong_keys"));
    assert_eq!(answer(field.server.raw(Method::GET, "/v1/users/me").bearer_auth("mr_x")).await.refusal(), (429, "too_many_wrong_keys"));
    field.healthy().await;
}

/// Code that asks the hosted platform's API asks this server, from this server's own address, or that of the proxy before it: there, all clients are.
#[tokio::test]
async fn a_component_s_wrong_keys_lock_out_nobody_else() {
    let field = Field::start_with(&["--requests-per-minute", "100000"]).await;
    let as_of = async |key: &str, code: &str| -> Value {
        let made: Answer = field.server.call_as(key, Method::POST, "/sources", Some(&json!({ "component_code": code }))).await;
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
    // What nobody has looked up yet: a key of the same organization, one of another, and its component.
    let fresh = field.server.post("/api_keys", &json!({ "name": "fresh" })).await.data()["key"].as_str().expect("the key").to_owned();
    let other = field.server.post("/workspaces", &json!({ "name": "Other", "email": "other@example.test" })).await.data();
    let theirs = other["api_key"].as_str().expect("its key").to_owned();
    let good = asks("seen.status = await ask('/users/me', { headers: { authorization: 'Bearer ' + event.body.key } }); seen.wrong = await wrong(1);");
    let neighbour = as_of(&theirs, &good).await;
    let more =
        field.server.call_as(&theirs, Method::POST, "/api_keys", Some(&json!({ "name": "more" }))).await.data()["key"].as_str().expect("a key").to_owned();

    let seen = field.send(&attacker).await.json;
    assert!(seen["401"].as_u64().is_some_and(|n| n >= 250) && seen["429"].as_u64().is_some_and(|n| n >= 50), "its own keys are throttled: {seen}");
    assert_eq!(answer(field.server.raw(Method::GET, "/v1/users/me").bearer_auth(&fresh)).await.status, 200, "a client of the same address");
    assert_eq!(answer(field.server.raw(Method::GET, "/v1/users/me").bearer_auth("mr_wrong")).await.status, 401, "nothing was counted for the address");
    let said = answer(field.server.raw(Method::POST, &endpoint(&neighbour)).json(&json!({ "key": more }))).await;
    assert_eq!(said.json, json!({ "status": 200, "wrong": 401 }), "components of another organization");
    // A client cannot pass for a component: neither to go free, nor to have others counted.
    let org = field.server.org_id.clone();
    for forged in [org.clone(), format!("{org}-"), format!("{org}-{}", "A".repeat(43)), "-".into(), "x".repeat(5_000)] {
        let request = field.server.raw(Method::GET, "/v1/users/me").header("x-millrace-asked-by", &forged);
        assert_eq!(answer(request.bearer_auth("mr_wrong")).await.status, 401, "{forged}");
    }
    field.healthy().await;
}

/// The address at which a provider's answer is taken holds what only this server can have sealed, and is good for minutes.
#[tokio::test]
async fn a_connection_that_was_begun_ends_with_its_time() {
    let mut server = Server::unprivileged_at_rest(&[]);
    server.skew_clock(0);
    server.launch().await;
    let app = json!({ "name_slug": "acme", "name": "Acme", "auth_type": "oauth", "oauth": { "client_id": "c", "client_secret": "s", "authorize_url": "https://a.test/auth", "token_url": "http://127.0.0.1:9/token" } });
    server.post("/apps", &app).await.data();
    let link = server.post("/accounts/connect", &json!({ "app": "acme" })).await.data();
    let url = reqwest::Url::parse(link["connect_url"].as_str().expect("an address")).expect("an address");
    let state = url.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned();
    let come_back = async |state: &str| answer(server.raw(Method::GET, "/oauth/callback").query(&[("state", state), ("code", "x")])).await;
    let known = come_back(&state).await;
    // It is known; that its provider is not to be reached is another matter.
    assert!(known.status == 400 && known.text.contains("loopback"), "{}", known.text);
    let (half, rest) = state.split_at(state.len() / 2);
    for forged in [String::new(), half.to_owned(), format!("{half}A{}", &rest[1..]), format!("{state}A"), "..".into(), "A".repeat(4_000)] {
        let unknown = come_back(&forged).await;
        assert!(unknown.status == 400 && unknown.text.contains("does not belong to a connection that was begun here"), "{forged}: {}", unknown.text);
    }
    server.skew_clock(3_600_000);
    let late = answer(server.raw(Method::GET, "/oauth/callback").query(&[("state", state.as_str()), ("code", "x")])).await;
    assert!(late.status == 400 && late.text.contains("took longer than"), "{}", late.text);
}
