//! Answers of workflows (reference 3, 8): the request waits for any code that answers; the run
//! decides where the code does not show it.

use millrace_tests::{Answer, Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};

fn step(body: &str) -> String {
    format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }});")
}

async fn call(server: &Client, workflow: &Value) -> Answer {
    answer(server.raw(Method::POST, &endpoint(workflow)).json(&json!({ "name": "respond" }))).await
}

async fn one(server: &Client, code: &str) -> Value {
    server.workflow("one", json!([{ "type": "http" }]), &[("a", code)]).await
}

/// What the newest run wrote, once there are so many.
async fn log(server: &Client, workflow: &Value, count: u64) -> String {
    let path = format!("/workflows/{}/runs", id(workflow));
    let is_over = |list: &Value| {
        list["page_info"]["total_count"] == count
            && matches!(list["data"][0]["status"].as_str(), Some("succeeded" | "failed"))
    };
    let run = id(&server.until("the run", &path, is_over).await["data"][0]).to_owned();
    server.get(&format!("/runs/{run}")).await.data()["logs"].to_string()
}

#[tokio::test]
async fn r3_8_an_answer_is_sent_in_whatever_way_respond_is_reached() {
    let server = Server::shared().await;
    let helper = "export const reply = (ctx) => ctx.respond({ status: 202 }); export const take = ({ respond }) => respond({ status: 202 });
      export const late = async (answer) => { await new Promise((done) => setTimeout(done, 50)); await answer({ status: 202 }); };";
    for body in [
        "const { respond } = $; await respond({ status: 202 });",
        "await $['respond']({ status: 202 });",
        "const answer = $.respond.bind($); await answer({ status: 202 });",
        "await late($.respond);",
        "await reply($);",
        "take({ ...$ });",
        "await $[steps.trigger.event.body.name]({ status: 202 });",
        "for (const name of Object.keys($)) if (/^resp/.test(name)) await $[name]({ status: 202 });",
        "await Reflect.apply($.respond, undefined, [{ status: 202 }]);",
        "const taken = (ctx) => ctx.$[steps.trigger.event.body.name]({ status: 202 }); await taken({ $ });",
        "await (await import('node:vm')).runInNewContext('d.res' + 'pond({ status: 202 })', { d: $ });",
        "const own = { ok(o, name) { return o[name]({ status: 202 }); } }; await own.ok($, ['re', 'spond'].join(''));",
        "await Reflect.get($, ['res', 'pond'].join(''))({ status: 202 });",
        "await eval(['$.res', 'pond({ status: 202 })'].join(''));",
        "await new Function('$', 'return $.' + steps.trigger.event.body.name + '({ status: 202 })')($);",
        "for (const [name, member] of Object.entries($)) if (/^resp/.test(name)) await member({ status: 202 });",
        "const all = { ...$ }; for (const name in all) if (/^resp/.test(name)) await all[name]({ status: 202 });",
    ] {
        let code = format!("import {{ reply, take, late }} from './helper.mjs'; {}", step(body));
        let steps =
            json!([{ "namespace": "a", "code": code, "code_files": { "helper.mjs": helper } }]);
        let workflow = server
            .post("/workflows", &json!({ "triggers": [{ "type": "http" }], "steps": steps }))
            .await
            .data();
        assert_eq!(call(&server, &workflow).await.status, 202, "{body}");
    }
    let renamed = "export default defineComponent({ async run({ $: { respond: answer } }) { await answer({ status: 202 }); } });";
    assert_eq!(call(&server, &one(&server, renamed).await).await.status, 202);
}

#[tokio::test]
async fn r3_8_where_the_code_may_answer_and_does_not_the_default_answer_comes_at_the_end() {
    let server = Server::shared().await;
    for (body, status) in [
        ("if (steps.trigger.event.never) ctx.respond({});", "succeeded"),
        ("if (steps.trigger.event.never) ctx.respond({}); throw new Error('before it');", "failed"),
    ] {
        let code = format!(
            "const reply = (ctx) => ctx.respond({{}}); {}",
            step(&body.replace("ctx.respond({})", "reply($)"))
        );
        let workflow = one(&server, &code).await;
        let answered = call(&server, &workflow).await;
        assert!(answered.status == 200 && answered.text.contains("Success"), "{answered:?}");
        // The run has ended: nobody waits here.
        let runs = server.get(&format!("/workflows/{}/runs", id(&workflow))).await.json;
        assert_eq!(runs["data"][0]["status"], status);
    }
    // Who answers for certain, and does not, fails its client, whatever the spelling.
    for body in [
        "if (steps.never) $['respond']({});",
        "const { respond } = $; throw new Error('before it');",
    ] {
        let answered = call(&server, &one(&server, &step(body)).await).await;
        assert_eq!(
            (answered.status, answered.text.as_str()),
            (400, "No $.respond called in workflow"),
            "{body}"
        );
    }
}

#[tokio::test]
async fn r3_8_who_answers_with_too_much_is_not_told_to_have_not_answered() {
    let server = Server::shared().await;
    let large = step("await $.respond({ status: 200, body: Buffer.alloc(7 << 20) });");
    let workflow = one(&server, &large).await;
    let answered = call(&server, &workflow).await;
    assert!(answered.status == 500 && answered.text.contains("limit"), "{answered:?}");
    let path = format!("/workflows/{}/runs", id(&workflow));
    let run = server.get(&path).await.json["data"][0].clone();
    assert_eq!(
        (&run["status"], &run["error"]["code"]),
        (&json!("failed"), &json!("PayloadTooLarge"))
    );
}

#[tokio::test]
async fn r3_8_an_answer_that_comes_too_late_says_so_in_the_log() {
    let server = Server::shared().await;
    // Nothing in the code shows that it answers.
    let hidden = one(
        &server,
        &step("await Object.values({ $ })[0][['res', 'pond'].join('')]({ status: 202 });"),
    )
    .await;
    assert!(call(&server, &hidden).await.text.contains("Success"));
    let said = log(&server, &hidden, 1).await;
    assert!(
        said.contains("`$.respond` came too late") && said.contains("custom_response"),
        "{said}"
    );
    // Its author may say it.
    let triggers = json!([{ "type": "http", "custom_response": true }]);
    server
        .put(
            &format!("/workflows/{}", id(&hidden)),
            &json!({ "triggers": triggers, "settings": { "auto_deploy": true } }),
        )
        .await
        .data();
    assert_eq!(call(&server, &hidden).await.status, 202);
    assert!(!log(&server, &hidden, 2).await.contains("too late"));
    // A test, and a replay, have no client.
    let tested = server
        .post(&format!("/workflows/{}/test", id(&hidden)), &json!({ "event": { "body": {} } }))
        .await
        .data();
    assert!(!tested["logs"].to_string().contains("too late"), "{tested}");
    let runs = server.get(&format!("/workflows/{}/runs?status=succeeded", id(&hidden))).await.json;
    server
        .post(
            &format!(
                "/runs/{}/replay",
                id(runs["data"].as_array().expect("runs").last().expect("a run"))
            ),
            &json!({}),
        )
        .await
        .data();
    assert!(!log(&server, &hidden, 4).await.contains("too late"));
    // After a pause the client has its answer.
    let paused = one(&server, &step("await $.flow.delay(1);")).await;
    let steps = json!([{ "namespace": "a", "code": step("await $.flow.delay(1);") }, { "namespace": "b", "code": step("await $.respond({ status: 202 });") }]);
    server
        .put(
            &format!("/workflows/{}", id(&paused)),
            &json!({ "steps": steps, "settings": { "auto_deploy": true } }),
        )
        .await
        .data();
    assert_eq!(call(&server, &paused).await.status, 400);
    assert!(log(&server, &paused, 1).await.contains("`$.respond` came too late"));
    // Of a source likewise.
    let code = "export default { name: 's', version: '1', props: { http: '$.interface.http' }, run() { this.http.respond({ status: 202 }); } };";
    let source = server.source(code, json!({})).await;
    assert_eq!(call(&server, &source).await.status, 200);
    let logs = server
        .until("the line", &format!("/sources/{}/logs", id(&source)), |l| {
            l["data"].as_array().is_some_and(|l| !l.is_empty())
        })
        .await;
    assert!(
        logs.to_string().contains("`respond` came too late")
            && logs.to_string().contains("customResponse: true"),
        "{logs}"
    );
}

#[tokio::test]
async fn r3_8_what_an_author_said_of_the_answer_stays_when_steps_change() {
    let server = Server::shared().await;
    for given in [
        json!({ "type": "http", "custom_response": true }),
        json!({ "type": "http", "props": { "customResponse": true } }),
    ] {
        let workflow = server
            .workflow("w", json!([given]), &[("a", &step("await $.respond({ status: 201 });"))])
            .await;
        let set = async |steps: Value| {
            let body = json!({ "steps": steps, "settings": { "auto_deploy": true } });
            server.put(&format!("/workflows/{}", id(&workflow)), &body).await.data()
        };
        assert_eq!(call(&server, &workflow).await.status, 201);
        let hidden = step(
            "await Object.values([$][0]).find((member) => member?.name === ['res', 'pond'].join(''))({ status: 202 });",
        );
        let changed = set(json!([{ "namespace": "a", "code": hidden }])).await;
        assert_eq!(
            (&changed["triggers"][0]["custom_response"], call(&server, &workflow).await.status),
            (&json!(true), 202),
            "{given}"
        );
        set(json!([{ "namespace": "a", "code": step("return 1;") }])).await;
        assert_eq!(call(&server, &workflow).await.status, 400, "{given}");
        set(json!([{ "namespace": "a", "code": step("const { respond } = $; await respond({ status: 203 });") }])).await;
        assert_eq!(call(&server, &workflow).await.status, 203, "{given}");
    }
}

#[tokio::test]
async fn r3_8_an_answer_has_a_body_of_any_kind_and_headers_in_any_form() {
    let server = Server::shared().await;
    let plain = "text/plain; charset=utf-8";
    for (respond, kind, text) in [
        ("body: new Uint16Array([0x6968])", plain, "hi"),
        ("body: new DataView(new TextEncoder().encode('view').buffer)", plain, "view"),
        ("body: new Blob(['blob'], { type: 'text/css' })", "text/css", "blob"),
        (
            "body: new URLSearchParams({ a: 'é', b: '1 2' })",
            "application/x-www-form-urlencoded;charset=UTF-8",
            "a=%C3%A9&b=1+2",
        ),
        (
            "body: new Response('inner', { headers: { 'content-type': 'text/csv' } })",
            "text/csv",
            "inner",
        ),
        ("body: new Response('web').body", plain, "web"),
        ("body: (async function* () { yield 'a'; yield Buffer.from('b'); })()", plain, "ab"),
        ("body: new Date(0)", "application/json; charset=utf-8", "\"1970-01-01T00:00:00.000Z\""),
        ("body: 0", "application/json; charset=utf-8", "0"),
        ("body: false", "application/json; charset=utf-8", "false"),
        ("body: null", plain, ""),
        (
            "body: 'h', headers: new Headers({ 'Content-Type': 'text/x-headers' })",
            "text/x-headers",
            "h",
        ),
        ("body: 'm', headers: new Map([['content-type', 'text/x-map']])", "text/x-map", "m"),
        ("body: 'l', headers: [['Content-Type', 'text/x-list']]", "text/x-list", "l"),
        ("body: new Blob(['own']), headers: { 'content-type': 'text/x-own' }", "text/x-own", "own"),
    ] {
        let workflow =
            one(&server, &step(&format!("await $.respond({{ status: 200, {respond} }});"))).await;
        let answer = server
            .raw(Method::POST, &endpoint(&workflow))
            .json(&json!({}))
            .send()
            .await
            .expect("an answer");
        assert_eq!(
            answer
                .headers()
                .get("content-type")
                .map(|kind| kind.to_str().expect("text").to_owned())
                .as_deref(),
            Some(kind),
            "{respond}"
        );
        assert_eq!(answer.text().await.expect("a body"), text, "{respond}");
    }
    let form = one(
        &server,
        &step(
            "const form = new FormData(); form.append('a', 'b'); await $.respond({ body: form });",
        ),
    )
    .await;
    let answer = server
        .raw(Method::POST, &endpoint(&form))
        .json(&json!({}))
        .send()
        .await
        .expect("an answer");
    assert!(
        answer.headers()["content-type"]
            .to_str()
            .expect("text")
            .starts_with("multipart/form-data; boundary=")
    );
    assert!(answer.text().await.expect("a body").contains("name=\"a\"\r\n\r\nb\r\n"));
    // What cannot be sent says so on the author's line.
    for body in ["10n", "Symbol('s')", "() => 1"] {
        let refused =
            one(&server, &step(&format!("await $.respond({{ status: 200, body: {body} }});")))
                .await;
        assert_eq!(call(&server, &refused).await.status, 400, "{body}");
        assert!(
            server.get(&format!("/workflows/{}/runs", id(&refused))).await.json["data"][0]["error"]
                ["message"]
                .as_str()
                .is_some_and(|said| said.contains("not JSON-serializable")),
            "{body}"
        );
    }
}

#[tokio::test]
async fn r3_8_an_answer_may_be_its_body_alone_or_come_by_a_promise() {
    let server = Server::shared().await;
    for (argument, status, text) in [
        ("'a text'", 200, "a text"),
        ("''", 200, ""),
        ("Buffer.from('bytes')", 200, "bytes"),
        ("new TextEncoder().encode('array').buffer", 200, "array"),
        ("new Blob(['blob'])", 200, "blob"),
        ("new URLSearchParams({ a: '1' })", 200, "a=1"),
        ("(async function* () { yield 'a'; yield 'b'; })()", 200, "ab"),
        ("new Response('web', { status: 203 })", 203, "web"),
        ("Promise.resolve('later')", 200, "later"),
        ("Promise.resolve({ status: 202, body: 'fields' })", 202, "fields"),
        ("{ status: 202, body: Promise.resolve('body') }", 202, "body"),
        ("{ status: 202, body: new Response('text').text() }", 202, "text"),
        ("{ body: Promise.resolve({ a: Number(1) }) }", 200, "{\"a\":1}"),
        ("{ body: { then: (done) => done('any thenable') } }", 200, "any thenable"),
        ("{}", 200, ""),
        ("undefined", 200, ""),
    ] {
        // Also where nobody waits for it.
        for waits in ["await ", ""] {
            let workflow = one(&server, &step(&format!("{waits}$.respond({argument});"))).await;
            let answered = call(&server, &workflow).await;
            assert_eq!(
                (answered.status, answered.text.as_str()),
                (status, text),
                "{waits}{argument}"
            );
        }
    }
    for (argument, said) in [
        ("404", "the answer is a number (404)"),
        ("true", "the answer is a boolean (true)"),
        ("[1]", "the answer is an array"),
        ("() => 1", "the answer is a function"),
        (
            "{ body: Promise.resolve('a'), immediate: true }",
            "a promise cannot be sent with `immediate: true`",
        ),
        ("Promise.reject(new Error('no answer'))", "no answer"),
        ("{ body: Promise.reject(new Error('no body')) }", "no body"),
    ] {
        let refused = one(&server, &step(&format!("await $.respond({argument});"))).await;
        assert_eq!(call(&server, &refused).await.status, 400, "{argument}");
        let runs = server.get(&format!("/workflows/{}/runs", id(&refused))).await.json;
        assert!(
            runs["data"][0]["error"]["message"]
                .as_str()
                .is_some_and(|message| message.contains(said)),
            "{argument}: {runs}"
        );
    }
    // Fields that answers of others have are named, where no body shows that it was meant
    // otherwise.
    let misspelt = one(&server, &step("await $.respond({ statusCode: 201, data: 'x' });")).await;
    assert_eq!(call(&server, &misspelt).await.status, 200);
    let said = log(&server, &misspelt, 1).await;
    assert!(
        said.contains("statusCode") && said.contains("status, headers, body, immediate"),
        "{said}"
    );
}

#[tokio::test]
async fn r3_8_what_code_finds_as_its_own_name_is_nothing_of_the_server() {
    let server = Server::shared().await;
    let workflow = one(&server, &step("await $.respond({ body: process.argv });")).await;
    assert_eq!(call(&server, &workflow).await.json[1], "/tmp/component.mjs");
}
