//! Requests to `/v1`, and refusals as the server says them.

pub(crate) mod profile;
pub(crate) mod stream;

use std::time::{Duration, Instant};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::profile::Profile;
use crate::error::CliError;
use crate::terminal::printer;

/// A deploy may have to install packages.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it asks again where as many of the organization's deploys wait as may.
const TURN_PATIENCE: Duration = Duration::from_secs(120);
/// Items that the server puts on a page at most (reference 1).
const PAGE_MAX: usize = 100;
/// What may stand in a path without being escaped.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'.');

/// A client of one server.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    profile: Profile,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Source,
    Workflow,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Source, Self::Workflow];

    pub(crate) const fn collection(self) -> &'static str {
        match self {
            Self::Source => "sources",
            Self::Workflow => "workflows",
        }
    }

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Workflow => "workflow",
        }
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::Source => "dc_",
            Self::Workflow => "p_",
        }
    }

    const fn list(self) -> &'static str {
        match self {
            Self::Source => "/users/me/sources",
            Self::Workflow => "/workflows",
        }
    }
}

/// A source or workflow that was found.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) id: String,
}

impl Target {
    /// `/sources/dc_…` or `/workflows/p_…`.
    pub(crate) fn path(&self) -> String {
        format!("/{}/{}", self.kind.collection(), segment(&self.id))
    }
}

/// A part of a path, escaped.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// When a refusal says to ask again, not at once.
fn retry_after(response: &reqwest::Response) -> Option<Duration> {
    let secs: u64 = response.headers().get(reqwest::header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(secs.max(1)))
}

impl Client {
    pub(crate) fn new(profile: Profile) -> Result<Self, CliError> {
        let builder = reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT);
        let http = builder.user_agent(concat!("millrace-cli/", env!("CARGO_PKG_VERSION"))).build().map_err(CliError::HttpClient)?;
        Ok(Self { http, profile })
    }

    pub(crate) fn url(&self) -> &str {
        &self.profile.url
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}/v1{path}", self.profile.url)).bearer_auth(&self.profile.api_key)
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, CliError> {
        self.send(self.request(Method::GET, path)).await
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value, CliError> {
        self.send(self.request(method, path).json(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Value, CliError> {
        self.send(self.request(Method::DELETE, path)).await
    }

    /// The whole answer, or the refusal. Where too many deploys wait it asks again when the server says: it refused before anything was changed.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Result<Value, CliError> {
        let since = Instant::now();
        let mut request = request.timeout(ANSWER_TIMEOUT);
        loop {
            let next = request.try_clone();
            let response = printer::waiting("waiting for the server", request.send()).await.map_err(|e| self.unreachable(e))?;
            if response.status().is_success() {
                let text = response.text().await.map_err(|e| self.unreachable(e))?;
                return Ok(millrace_model::json::read(&text).unwrap_or(Value::Null));
            }
            let pause = retry_after(&response);
            let refusal = self.refusal(response).await;
            let pause = pause.filter(|pause| refusal.is_deploys_waiting() && since.elapsed() + *pause <= TURN_PATIENCE);
            let (Some(next), Some(pause)) = (next, pause) else { return Err(refusal) };
            printer::waiting("waiting for a turn: many deploys are under way", tokio::time::sleep(pause)).await;
            request = next;
        }
    }

    /// An answer that is no JSON.
    pub(crate) async fn bytes(&self, request: reqwest::RequestBuilder) -> Result<Vec<u8>, CliError> {
        let response = printer::waiting("waiting for the server", request.timeout(ANSWER_TIMEOUT).send()).await.map_err(|e| self.unreachable(e))?;
        if response.status().is_success() {
            return Ok(response.bytes().await.map_err(|e| self.unreachable(e))?.to_vec());
        }
        Err(self.refusal(response).await)
    }

    pub(crate) async fn refusal(&self, response: reqwest::Response) -> CliError {
        let status = response.status();
        // An answer that is not ours, such as a proxy's page, has only its status to say.
        let mut body: Value = response.json().await.unwrap_or(Value::Null);
        CliError::Refused {
            status: status.as_u16(),
            code: body["code"].as_str().unwrap_or("").to_owned(),
            sentence: body["error"].as_str().map_or_else(|| format!("the server at `{}` answered {status}", self.profile.url), str::to_owned),
            details: body.get_mut("details").map(Value::take).unwrap_or_default(),
        }
    }

    pub(crate) fn unreachable(&self, source: reqwest::Error) -> CliError {
        CliError::Unreachable { url: self.profile.url.clone(), source: source.without_url() }
    }

    /// All items of a list.
    pub(crate) async fn all(&self, path: &str) -> Result<Vec<Value>, CliError> {
        let Value::Array(all) = self.first(path, u32::MAX).await?["data"].take() else { return Ok(Vec::new()) };
        Ok(all)
    }

    /// All items of a list, as the answer of one page that holds them.
    pub(crate) async fn whole(&self, path: &str) -> Result<Value, CliError> {
        Ok(json!({ "data": self.all(path).await? }))
    }

    /// The first items of a list, so many at most, page by page; as the answer of one page that holds them, which says how many there are in all.
    pub(crate) async fn first(&self, path: &str, count: u32) -> Result<Value, CliError> {
        let joint = if path.contains('?') { '&' } else { '?' };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let (mut items, mut after) = (Vec::new(), String::new());
        loop {
            let limit = PAGE_MAX.min(count - items.len());
            let mut page = match self.get(&format!("{path}{joint}limit={limit}{after}")).await {
                // What the page follows was deleted meanwhile.
                Err(error) if error.is_unknown_cursor() => {
                    (items, after) = (Vec::new(), String::new());
                    continue;
                }
                page => page?,
            };
            let Value::Array(found) = page["data"].take() else { return Ok(page) };
            let is_last = found.len() < limit;
            items.extend(found);
            match page["page_info"]["end_cursor"].as_str().filter(|_| !is_last && items.len() < count) {
                Some(cursor) => after = format!("&after={}", segment(cursor)),
                None => {
                    page["data"] = items.into();
                    return Ok(page);
                }
            }
        }
    }

    /// A source or workflow by id, slug or name; a slug is unique, so it wins over names.
    pub(crate) async fn resolve(&self, name: &str) -> Result<Target, CliError> {
        for kind in Kind::ALL {
            if name.starts_with(kind.prefix()) {
                return Ok(Target { kind, id: name.to_owned() });
            }
        }
        for kind in Kind::ALL {
            if let Some(target) = self.find(kind, name).await? {
                return Ok(target);
            }
        }
        Err(CliError::Unknown(name.to_owned()))
    }

    /// As `resolve`, where only one kind will do.
    pub(crate) async fn resolve_kind(&self, wanted: Kind, name: &str) -> Result<Target, CliError> {
        for kind in Kind::ALL.into_iter().filter(|k| *k != wanted) {
            if name.starts_with(kind.prefix()) {
                return Err(CliError::WrongKind { name: name.to_owned(), found: kind.word(), wanted: wanted.word() });
            }
        }
        if name.starts_with(wanted.prefix()) {
            return Ok(Target { kind: wanted, id: name.to_owned() });
        }
        self.find(wanted, name).await?.ok_or_else(|| CliError::Unknown(name.to_owned()))
    }

    /// Looks through the whole list, for its slug first.
    pub(crate) async fn find(&self, kind: Kind, name: &str) -> Result<Option<Target>, CliError> {
        let all = self.all(&format!("{}?include=id,name,name_slug", kind.list())).await?;
        let found = ["name_slug", "name"].into_iter().find_map(|field| all.iter().find(|item| item[field] == name));
        Ok(found.map(|item| Target { kind, id: item["id"].as_str().unwrap_or("").to_owned() }))
    }
}
