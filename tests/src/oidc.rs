//! A provider of OpenID Connect in a process of its own, and a person who signs in by it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use reqwest::{Method, Url};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::{Answer, Client, Server, answer};

/// The secret of this server's registration.
pub const SECRET: &str = "s3cret-of-the-client";

/// It ends with this value: its standard input is closed.
pub struct Provider {
    pub url: String,
    _child: Child,
}

impl Default for Provider {
    fn default() -> Self {
        Self::run(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/oidc.mjs")))
    }
}

impl Provider {
    /// A script that prints its port.
    pub fn run(script: &Path) -> Self {
        let folder = script.parent().expect("a folder");
        let mut child = Command::new("node")
            .arg(script)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts");
        let mut port = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut port).expect("a port");
        Self { url: format!("http://127.0.0.1:{}", port.trim()), _child: child }
    }

    /// A server whose people sign in by it.
    pub async fn server(&self, more: &[&str]) -> Server {
        let own = [
            "--oidc-issuer",
            &self.url,
            "--oidc-client-id",
            "millrace",
            "--oidc-client-secret",
            SECRET,
            "--oidc-name",
            "Acme",
        ];
        Server::start_with(&[&own[..], more].concat()).await
    }

    /// What it says from now on.
    pub async fn says(&self, server: &Client, next: &Value) {
        assert_eq!(
            answer(server.raw(Method::POST, &format!("{}/next", self.url)).json(next)).await.status,
            200
        );
    }
}

/// Begins to sign in: the provider's page.
pub async fn begin(server: &Client, browser: &mut Browser) -> String {
    let begun = browser.call(server, Method::POST, "/sign_in/begin", None).await.data();
    begun["url"].as_str().expect("a page").to_owned()
}

/// Goes to the provider's page, and gives what it sends the browser back with.
pub async fn at_provider(server: &Client, url: &str) -> Value {
    let response = server.raw(Method::GET, url).send().await.expect("an answer");
    brought(response.url())
}

/// `state` and `code` of the address that the browser came back to.
pub fn brought(back: &Url) -> Value {
    assert_eq!(back.path(), "/login", "{back}");
    let of = |name: &str| {
        back.query_pairs().find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
    };
    json!({ "state": of("state"), "code": of("code") })
}

pub async fn finish(server: &Client, browser: &mut Browser, brought: &Value) -> Answer {
    browser.call(server, Method::POST, "/sign_in/finish", Some(brought)).await
}

/// All of it.
pub async fn sign_in(server: &Client, browser: &mut Browser) -> Answer {
    let url = begin(server, browser).await;
    let brought = at_provider(server, &url).await;
    finish(server, browser, &brought).await
}
