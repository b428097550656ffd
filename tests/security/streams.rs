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
    let ways = [End::SignOut, End::Elsewhere, End::NewPassword, End::Reset, End::Removed];
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
