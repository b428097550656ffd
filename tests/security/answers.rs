//! Answers of code: a browser must not take them for answers of the server, nor of other endpoints.

use millrace_tests::endpoint;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::support::Field;

/// Answers with the headers that it is sent.
const CODE: &str = "export default { name: 'answers', version: '1', props: { http: { type: '$.interface.http', customResponse: true } },
    run(e) { this.http.respond({ status: 200, body: 'said', headers: e.body }); } };";

fn cookies(answer: &Response) -> Vec<&str> {
    answer
        .headers()
        .get_all("set-cookie")
        .iter()
        .map(|value| value.to_str().expect("text"))
        .collect()
}

#[tokio::test]
async fn a_cookie_goes_back_to_the_endpoint_that_set_it_and_nowhere_else() {
    let field = Field::start_with(&["--endpoint-domain", "hooks.test"]).await;
    let source = field.server.source(CODE, json!({})).await;
    let url = endpoint(&source);
    let key = url.trim_start_matches("http://").split('.').next().expect("a key").to_owned();
    let all = [
        "plain=1",
        "wide=1; Path=/; Domain=hooks.test; HttpOnly",
        "api=1; Path=/v1",
        "deep=1; path=/e/other; DOMAIN = .test ;Path = /; Secure",
        "long=1; Path=/xxxxxxxxxxxxxxxx",
    ];
    let ask = async |host: &str, path: &str| {
        let mut answers = Vec::new();
        for cookie in all {
            let sent = field
                .server
                .raw(Method::POST, path)
                .header("host", host)
                .json(&json!({ "Set-Cookie": cookie }))
                .send()
                .await
                .expect("an answer");
            assert_eq!(sent.status().as_u16(), 200);
            answers.extend(cookies(&sent).into_iter().map(str::to_owned));
        }
        answers
    };
    let at =
        |attributes: [&str; 5]| attributes.map(|text| text.replace("BASE", &format!("/e/{key}")));
    assert_eq!(
        ask("localhost", &format!("/e/{key}/below")).await,
        at([
            "plain=1; Path=BASE",
            "wide=1; Path=BASE; HttpOnly",
            "api=1; Path=BASE/v1",
            "deep=1; Path=BASE; Secure",
            "long=1; Path=BASE/xxxxxxxxxxxxxxxx"
        ])
    );
    let own = [
        "plain=1",
        "wide=1; Path=/; HttpOnly",
        "api=1; Path=/v1",
        "deep=1; Path=/; Secure",
        "long=1; Path=/xxxxxxxxxxxxxxxx",
    ];
    assert_eq!(ask(&format!("{key}.hooks.test"), "/below").await, own);
}

#[tokio::test]
async fn headers_that_browsers_hold_against_all_of_an_origin_are_not_code_s_to_say() {
    let field = Field::start().await;
    let url = endpoint(&field.server.source(CODE, json!({})).await);
    let said = json!({
        "Clear-Site-Data": "\"*\"", "Strict-Transport-Security": "max-age=99999999; includeSubDomains", "Alt-Svc": "h2=\"evil.test:443\"", "NEL": "{}",
        "Report-To": "{}", "Reporting-Endpoints": "a=\"https://evil.test\"", "Service-Worker-Allowed": "/", "X-Own": "1",
    });
    let sent = field.server.raw(Method::POST, &url).json(&said).send().await.expect("an answer");
    assert_eq!(sent.headers()["x-own"], "1", "others are");
    for name in [
        "clear-site-data",
        "strict-transport-security",
        "alt-svc",
        "nel",
        "report-to",
        "reporting-endpoints",
        "service-worker-allowed",
    ] {
        assert!(!sent.headers().contains_key(name), "{name}");
    }
    field.healthy().await;
}

#[tokio::test]
async fn more_headers_than_are_sent_fail_in_the_code_that_says_them() {
    let field = Field::start().await;
    let source = field.server.source(CODE, json!({})).await;
    let url = endpoint(&source);
    let ask = async |said: Value| {
        field.server.raw(Method::POST, &url).json(&said).send().await.expect("an answer")
    };
    assert_eq!(cookies(&ask(json!({ "Set-Cookie": vec!["a=1"; 90] })).await).len(), 90);
    let refused = ask(json!({ "Set-Cookie": vec!["a=1"; 40_000] })).await;
    assert!(cookies(&refused).is_empty());
    let path = format!("/sources/{}/runs?status=failed", source["id"].as_str().expect("an id"));
    let runs =
        field.server.until("the run fails", &path, |l| l["page_info"]["total_count"] == 1).await;
    let error = runs["data"][0]["error"].to_string();
    assert!(error.contains("40000 header lines") && error.contains("allowed are 256"), "{error}");
    field.healthy().await;
}
