//! Streams that a person's browser opened: none goes on beyond the session.

use std::time::Duration;

use millrace_tests::browser::{Browser, PASSWORD};
use millrace_tests::{Server, answer, endpoint, id};
use reqwest::{Method, Response};
use serde_json::{Value, json};

const OTHER_PASSWORD: &str = "another wheel in it";

/// What ends a session.
#[derive(Clone, Copy, Debug)]
enum End {
    SignOut,
    /// Ended from a list of sessions, by another one of the person.
    Elsewhere,
    NewPassword,
    /// A link for who forgot the password.
    Reset,
    /// A lower role: what its streams show is chosen by the role that they were opened with.
    Demoted,
    Removed,
}

/// A server with a source, a workflow and a paused run, and the paths of all streams of them.
struct Streams {
    server: Server,
    owner: Browser,
    source: Value,
    paths: Vec<String>,
}

impl Streams {
    async fn start() -> Self {
        let server = Server::start().await;
        let owner = Browser::first_owner(&server, "mara@x.test").await;
        let hold = "export default defineComponent({ run({ $ }) { $.flow.suspend(60000); } });";
        let workflow = server.workflow("w", json!([{ "type": "http" }]), &[("hold", hold)]).await;
        let code = "export default { name: 's', version: '1', run() { this.$emit({ secret: 1 }); console.log('secret'); } };";
        let source = server.source(code, json!({})).await;
        answer(server.raw(Method::GET, &endpoint(&workflow))).await;
        let paused = format!("/workflows/{}/runs?status=paused", id(&workflow));
        let paused =
            server.until("it waits", &paused, |l| l["page_info"]["total_count"] == 1).await;
        let run = id(&paused["data"][0]);
        let mut paths = vec![
            format!("/v1/runs/{run}/sse"),
            format!("/v1/stream?topics=runs,replays,run:{run},events:{0},logs:{0}", id(&source)),
            "/v1/stream?topics=runs".into(),
        ];
        for part in ["/sse", "/logs/sse", "/runs/sse"] {
            paths.push(format!("/v1/workflows/{}{part}", id(&workflow)));
            paths.push(format!("/v1/sources/{}{part}", id(&source)));
        }
        Self { server, owner, source, paths }
    }

    /// All streams, as a page of the application opens them.
    async fn open(&self, browser: &Browser) -> Vec<(&str, Response)> {
        let mut opened = Vec::new();
        for path in &self.paths {
            let request = self
                .server
                .raw(Method::GET, path)
                .header("sec-fetch-site", "same-origin")
                .header("cookie", browser.cookie.clone().expect("a cookie"));
            let stream = request.send().await.expect("a stream");
            assert_eq!(stream.status().as_u16(), 200, "{path}");
            opened.push((path.as_str(), stream));
        }
        opened
    }

    async fn run(&self) {
        self.server.run_now(&self.source, json!({})).await;
    }

    /// Another person of the organization, who signed in twice.
    async fn member(&mut self, email: &str) -> (Browser, Browser, String) {
        let invite = json!({ "email": email, "role": "member" });
        let link = self.server.post("/invitations", &invite).await.data();
        let (mut first, mut second) = (Browser::default(), Browser::default());
        let joined =
            first.follow(&self.server, &link, &json!({ "password": PASSWORD })).await.data();
        second.sign_in(&self.server, email, PASSWORD).await.data();
        (first, second, id(&joined["user"]).to_owned())
    }

    async fn end(&mut self, how: End, member: &mut Browser, other: &mut Browser, user: &str) {
        let (server, method) = (&self.server, Method::DELETE);
        let ended = match how {
            End::SignOut => member.call(server, method, "/session", None).await,
            End::Elsewhere => {
                let own = member.get(server, "/session").await.data();
                other.call(server, method, &format!("/sessions/{}", id(&own)), None).await
            }
            End::NewPassword => {
                let change = json!({ "current_password": PASSWORD, "password": OTHER_PASSWORD });
                other.call(server, Method::PUT, "/session/password", Some(&change)).await
            }
            End::Reset => {
                let email = other.get(server, "/session").await.data()["user"]["email"].clone();
                let link = server.post("/setup_links", &json!({ "email": email })).await.data();
                let password = json!({ "password": OTHER_PASSWORD });
                Browser::default().follow(server, &link, &password).await
            }
            End::Demoted => {
                let role = json!({ "role": "viewer" });
                self.owner.call(server, Method::PUT, &format!("/members/{user}"), Some(&role)).await
            }
            End::Removed => {
                self.owner.call(server, method, &format!("/members/{user}"), None).await
            }
        };
        assert_eq!(ended.status, 200, "{how:?}: {}", ended.text);
    }
}

#[tokio::test]
async fn streams_end_with_the_session_that_asked_for_them() {
    let mut all = Streams::start().await;
    let ways =
        [End::SignOut, End::Elsewhere, End::NewPassword, End::Reset, End::Demoted, End::Removed];
    for (n, how) in ways.into_iter().enumerate() {
        let (mut member, mut other, user) = all.member(&format!("member-{n}@x.test")).await;
        // The end of another person's session is not theirs.
        let (mut stranger, ..) = all.member(&format!("stranger-{n}@x.test")).await;
        let server_paths = all.paths.len();
        let mut streams = all.open(&member).await;
        assert_eq!(streams.len(), server_paths);
        stranger.call(&all.server, Method::DELETE, "/session", None).await.data();
        all.run().await;
        let emits = |path: &str| path.contains("events:") || path.contains("/sources/");
        for (path, stream) in streams.iter_mut().filter(|(path, _)| emits(path)) {
            let mut told = String::new();
            let awaited = if path.contains("/runs/") { "succeeded" } else { "secret" };
            while !told.contains(awaited) {
                let chunk = stream.chunk().await.expect("more");
                let chunk = chunk.unwrap_or_else(|| panic!("{path} ended with another session"));
                told += &String::from_utf8_lossy(&chunk);
            }
        }
        let streams: Vec<(String, Response)> =
            streams.into_iter().map(|(path, stream)| (path.to_owned(), stream)).collect();
        all.end(how, &mut member, &mut other, &user).await;
        let before = all.server.get("/runs?limit=1").await.json["data"][0]["id"].clone();
        all.run().await;
        let after = all.server.get("/runs?limit=1").await.json["data"][0]["id"].clone();
        assert_ne!(before, after);
        for (path, stream) in streams {
            // All that came until its end: a stream that goes on has none, and is waited for in
            // vain.
            let told = tokio::time::timeout(Duration::from_secs(20), stream.text()).await;
            let told =
                told.unwrap_or_else(|_| panic!("{how:?}: {path} goes on")).expect("a whole answer");
            // Frames of the run before may have been on their way.
            let after = after.as_str().expect("an id");
            assert!(!told.contains(after), "{how:?}: {path}: {told}");
        }
    }
}

#[tokio::test]
async fn streams_of_one_organization_with_long_replays_hold_up_those_of_no_other() {
    let server = Server::start().await;
    let other = server.another_organization("other").await;
    let source =
        server.source("export default { name: 's', version: '1', run() {} };", json!({})).await;
    let event = json!({ "long": "x".repeat(60_000) });
    for _ in 0..100 {
        let replay = json!({ "source_id": source["id"], "event": event });
        assert_eq!(server.post("/replays", &replay).await.status, 202);
    }
    // Lists are without the events, the record is not.
    let list = server.get("/replays?limit=100").await.data();
    assert_eq!(list.as_array().map(Vec::len), Some(100));
    assert!(list.to_string().len() < 100_000);
    let replay = server.get(&format!("/replays/{}", id(&list[0]))).await.data();
    assert_eq!(replay["selection"]["event"], event);
    let path = "/v1/stream?topics=runs,replays";
    let open = async |client: &millrace_tests::Client| {
        let stream = client.raw(Method::GET, path).bearer_auth(&client.api_key).send();
        let stream = tokio::time::timeout(Duration::from_secs(5), stream).await;
        stream.expect("no stream in five seconds").expect("a stream")
    };
    let mut streams = Vec::new();
    for _ in 0..40 {
        streams.push(open(&server).await);
        assert_eq!(open(&other).await.status().as_u16(), 200);
    }
    // Each is told of the replays, however many share the read.
    for stream in &mut streams {
        let mut text = String::new();
        while !text.contains("event: replay") {
            let chunk = tokio::time::timeout(Duration::from_secs(10), stream.chunk()).await;
            let chunk = chunk.expect("no frame in ten seconds").expect("a frame").expect("goes on");
            text.push_str(&String::from_utf8_lossy(&chunk));
        }
    }
}

#[tokio::test]
async fn no_subscription_outlives_a_listener_that_is_deleted_while_it_is_made() {
    let server = Server::start().await;
    let source =
        server.source("export default { name: 's', version: '1', run() {} };", json!({})).await;
    for _ in 0..20 {
        let hook = server.post("/webhooks", &json!({ "url": "https://a.example/" })).await.data();
        let (path, emitter) = (format!("/webhooks/{}", id(&hook)), id(&source));
        let key = json!({ "emitter_id": emitter, "listener_id": id(&hook) });
        let auto = json!({ "event_name": "$errors", "listener_id": id(&hook) });
        tokio::join!(
            server.post("/subscriptions", &key),
            server.post("/auto_subscriptions", &auto),
            server.delete(&path),
        );
    }
    for path in ["/users/me/subscriptions", "/auto_subscriptions"] {
        assert_eq!(server.get(path).await.data(), json!([]), "{path}");
    }
}
