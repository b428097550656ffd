//! A release server in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// A server, ended and its folder removed when dropped.
pub struct Server {
    child: Child,
    dir: PathBuf,
    url: String,
    key: String,
    http: reqwest::Client,
}

impl Server {
    /// `name` tells its folder from those of other servers of this run; `flags` follow those that
    /// every one gets.
    pub async fn start(binary: &Path, name: &str, flags: &[&str]) -> Result<Self> {
        let dir =
            std::env::temp_dir().join(format!("millrace-bench-{}-{name}", std::process::id()));
        let log = std::env::temp_dir().join(format!("millrace-bench-{name}.log"));
        let child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(&dir)
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(log)?)
            .spawn()
            .with_context(|| {
                format!("could not start `{}`; run `cargo xtask bench`", binary.display())
            })?;
        let mut server = Self {
            child,
            dir,
            url: String::new(),
            key: String::new(),
            http: reqwest::Client::new(),
        };
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if let Ok(text) = std::fs::read_to_string(server.dir.join("credentials.json")) {
                let credentials: Value = serde_json::from_str(&text)?;
                server.url = credentials["url"].as_str().unwrap_or("").to_owned();
                server.key = credentials["api_key"].as_str().unwrap_or("").to_owned();
                if server.http.get(format!("{}/readyz", server.url)).send().await.is_ok() {
                    // Blank hosts are started in the background.
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    return Ok(server);
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        bail!("the server did not become ready")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.send(self.http.post(format!("{}/v1{path}", self.url)).json(body)).await
    }

    pub async fn get(&self, path: &str) -> Result<Value> {
        self.send(self.http.get(format!("{}/v1{path}", self.url))).await
    }

    /// Milliseconds, and the answer.
    pub async fn timed_post(&self, path: &str, body: &Value) -> Result<(f64, Value)> {
        let started = Instant::now();
        let answer = self.post(path, body).await?;
        Ok((started.elapsed().as_secs_f64() * 1000.0, answer))
    }

    pub async fn timed_put(&self, path: &str, body: &Value) -> Result<(f64, Value)> {
        let started = Instant::now();
        let answer = self.send(self.http.put(format!("{}/v1{path}", self.url)).json(body)).await?;
        Ok((started.elapsed().as_secs_f64() * 1000.0, answer))
    }

    pub async fn timed_get(&self, path: &str) -> Result<(f64, Value)> {
        let started = Instant::now();
        let answer = self.send(self.http.get(format!("{}/v1{path}", self.url))).await?;
        Ok((started.elapsed().as_secs_f64() * 1000.0, answer))
    }

    /// Lets the server end by itself and leaves its folder, which another of the same name takes
    /// up.
    pub fn halt(mut self) -> Result<PathBuf> {
        let pid = self.child.id().to_string();
        anyhow::ensure!(
            Command::new("kill").args(["-TERM", &pid]).status()?.success(),
            "could not send SIGTERM to the server"
        );
        let ended = self.child.wait()?;
        anyhow::ensure!(ended.success(), "the server ended with {ended}");
        Ok(self.dir.clone())
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Value> {
        let response = request.bearer_auth(&self.key).send().await?;
        let (status, text) = (response.status(), response.text().await?);
        if !status.is_success() {
            bail!("the server answered {status}: {text}");
        }
        Ok(serde_json::from_str(&text)?)
    }

    pub fn stop(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        std::fs::remove_dir_all(&self.dir)?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
    }
}
