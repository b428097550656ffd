//! A person's browser, as far as requests go: it keeps the cookie of a session, and says where its
//! requests come from.

use reqwest::Method;
use serde_json::{Value, json};

use crate::{Answer, Client, answer};

/// What everybody's password is.
pub const PASSWORD: &str = "a wheel in the race";

/// A browser that may be signed in.
#[derive(Clone, Default)]
pub struct Browser {
    /// `name=value`, as it is sent.
    pub cookie: Option<String>,
}

impl Browser {
    /// The first owner, who followed the link for the first visit.
    pub async fn first_owner(server: &Client, email: &str) -> Self {
        let link = server.post("/setup_links", &json!({})).await.data();
        let mut browser = Self::default();
        let used = browser
            .follow(server, &link, &json!({ "name": "Mara", "email": email, "password": PASSWORD }))
            .await;
        assert_eq!(used.status, 200, "{}", used.text);
        browser
    }

    /// Uses a link that works once.
    pub async fn follow(&mut self, server: &Client, link: &Value, with: &Value) -> Answer {
        let mut body = with.clone();
        body["token"] = json!(token(link));
        self.call(server, Method::POST, "/links/use", Some(&body)).await
    }

    pub async fn sign_in(&mut self, server: &Client, email: &str, password: &str) -> Answer {
        self.call(
            server,
            Method::POST,
            "/session",
            Some(&json!({ "email": email, "password": password })),
        )
        .await
    }

    pub async fn get(&mut self, server: &Client, path: &str) -> Answer {
        self.call(server, Method::GET, path, None).await
    }

    /// A request of the application.
    pub async fn call(
        &mut self,
        server: &Client,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        self.call_with(
            server,
            method,
            path,
            body,
            &[
                ("x-millrace-csrf", "1"),
                ("sec-fetch-site", "same-origin"),
                ("origin", &server.url.clone()),
            ],
        )
        .await
    }

    /// A request with these headers and no others.
    pub async fn call_with(
        &mut self,
        server: &Client,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = server.raw(method, &format!("/v1{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.expect("an answer");
        let set = response
            .headers()
            .get("set-cookie")
            .map(|cookie| cookie.to_str().expect("text").to_owned());
        if let Some(set) = set {
            for part in ["Path=/v1", "HttpOnly", "SameSite=Strict"] {
                assert!(set.contains(part), "{part}: {set}");
            }
            self.cookie = if set.contains("Max-Age=0") {
                None
            } else {
                set.split(';').next().map(str::to_owned)
            };
        }
        let status = response.status().as_u16();
        let text = response.text().await.expect("a body");
        Answer { status, json: serde_json::from_str(&text).unwrap_or(Value::Null), text }
    }

    /// Another answer by the same cookie, which is not kept.
    pub async fn raw(&self, server: &Client, method: Method, path: &str) -> Answer {
        answer(server.raw(method, path).header("cookie", self.cookie.clone().unwrap_or_default()))
            .await
    }
}

/// What stands at the end of a link's address.
pub fn token(link: &Value) -> String {
    link["url"].as_str().expect("an address").rsplit('/').next().expect("a token").to_owned()
}
