//! Requests to `/v1`, and the server's refusals.

pub(crate) mod answer;
pub(crate) mod connect;
pub(crate) mod origins;
pub(crate) mod profile;
pub(crate) mod stream;
pub(crate) mod value;

use std::time::{Duration, Instant};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use reqwest::header::CONTENT_DISPOSITION;
use serde_json::{Value, json};

use crate::client::answer::AnswerError;
use crate::client::profile::Profile;
use crate::error::CliError;
use crate::terminal::printer;

/// A deploy may have to install packages.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
/// What refused has little to say, and may be silent in the middle of it.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it asks again where as many of the organization's deploys wait as may.
const TURN_PATIENCE: Duration = Duration::from_secs(120);
/// Items that the server puts on a page at most (reference 1).
const PAGE_MAX: usize = 100;
/// The largest answer that is read: a page of a hundred runs with all that they returned is
/// smaller.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// The largest refusal that is read.
const REFUSAL_BYTES_MAX: usize = 1 << 20;
/// Items of a list that are read, over all its pages.
const ITEMS_MAX: usize = 100_000;
/// How often a list is read from its beginning, because what a page follows was deleted.
const STARTS_MAX: u32 = 10;
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

/// A part of a path, escaped. `.` and `..` cannot be escaped: [`Client::request`] refuses them.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// Whether JSON is an answer of `/v1`: one of another program must not count as success. What a
/// form asks its component is the only answer without `data`.
fn is_ours(answer: &Value) -> bool {
    let holds_something = |data: &Value| data.as_object().is_none_or(|fields| !fields.is_empty());
    answer.get("data").is_some_and(holds_something)
        || ["options", "dynamic_props"].iter().any(|field| answer.get(field).is_some())
}

/// When a refusal says to ask again, not at once.
fn retry_after(response: &reqwest::Response) -> Option<Duration> {
    let secs: u64 =
        response.headers().get(reqwest::header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(secs.max(1)))
}

impl Client {
    pub(crate) fn new(profile: Profile) -> Result<Self, CliError> {
        if profile.api_key.chars().any(|c| c.is_control() || !c.is_ascii()) {
            return Err(CliError::Usage {
                message: "the API key contains a line break or another character that no key has"
                    .into(),
                hint: "give the key alone, such as MILLRACE_API_KEY=\"$(cat key.txt)\"",
            });
        }
        Ok(Self { http: connect::to_server()?, profile })
    }

    pub(crate) fn url(&self) -> &str {
        &self.profile.url
    }

    /// A request of a path below `/v1`. One with the part `.` or `..` would be one of another path.
    pub(crate) fn request(
        &self,
        method: Method,
        path: &str,
    ) -> Result<reqwest::RequestBuilder, CliError> {
        let parts = path.split('?').next().unwrap_or(path).split('/');
        if let Some(part) = parts.into_iter().find(|part| matches!(*part, "." | "..")) {
            return Err(CliError::Usage {
                message: format!("`{part}` is neither an id nor a name"),
                hint: "give the id or the name as the lists show it",
            });
        }
        let request = self.http.request(method, format!("{}/v1{path}", self.profile.url));
        Ok(request.bearer_auth(&self.profile.api_key))
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, CliError> {
        self.send(self.request(Method::GET, path)?).await
    }

    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Value, CliError> {
        self.send(self.request(method, path)?.json(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Value, CliError> {
        self.send(self.request(Method::DELETE, path)?).await
    }

    /// The whole answer, or the refusal. Where too many deploys wait it asks again when the server
    /// says: it refused before anything was changed.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Result<Value, CliError> {
        let since = Instant::now();
        let mut request = request.timeout(ANSWER_TIMEOUT);
        loop {
            let next = request.try_clone();
            let response = printer::waiting("waiting for the server", request.send())
                .await
                .map_err(|e| self.unreachable(e))?;
            if response.status().is_success() {
                let bytes = self.whole_answer(response, ANSWER_BYTES_MAX).await?;
                let answer = millrace_model::json::read(&String::from_utf8_lossy(&bytes));
                return answer.ok().filter(is_ours).ok_or_else(|| self.no_answer());
            }
            let pause = retry_after(&response);
            let refusal = self.refusal(response).await;
            let pause = pause.filter(|pause| {
                refusal.is_deploys_waiting()
                    && *pause <= TURN_PATIENCE.saturating_sub(since.elapsed())
            });
            let (Some(next), Some(pause)) = (next, pause) else { return Err(refusal) };
            printer::waiting(
                "waiting for a turn: many deploys are under way",
                tokio::time::sleep(pause),
            )
            .await;
            request = next;
        }
    }

    /// What is in a file, of at most `bytes_max` bytes. The server gives it as a download, which a
    /// page of another program, such as a proxy's login, is not.
    pub(crate) async fn bytes(
        &self,
        request: reqwest::RequestBuilder,
        bytes_max: usize,
    ) -> Result<Vec<u8>, CliError> {
        let response =
            printer::waiting("waiting for the server", request.timeout(ANSWER_TIMEOUT).send())
                .await
                .map_err(|e| self.unreachable(e))?;
        if response.status().is_success() {
            let is_file =
                response.headers().get(CONTENT_DISPOSITION).is_some_and(|d| d == "attachment");
            let bytes = self.whole_answer(response, bytes_max).await?;
            return if is_file { Ok(bytes) } else { Err(self.no_answer()) };
        }
        Err(self.refusal(response).await)
    }

    /// An answer without a known end, such as a stream of events: its head comes in time, what
    /// follows is the caller's to wait for.
    pub(crate) async fn open(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<reqwest::Response, CliError> {
        let response = tokio::time::timeout(ANSWER_TIMEOUT, request.send())
            .await
            .map_err(|_| self.profile.silent())?
            .map_err(|e| self.unreachable(e))?;
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(self.refusal(response).await)
        }
    }

    async fn whole_answer(
        &self,
        response: reqwest::Response,
        bytes_max: usize,
    ) -> Result<Vec<u8>, CliError> {
        answer::whole(response, bytes_max).await.map_err(|error| match error {
            AnswerError::TooLarge(source) => {
                CliError::AnswerTooLarge { url: self.profile.url.clone(), source }
            }
            AnswerError::Broken(source) => self.unreachable(source),
        })
    }

    async fn refusal(&self, response: reqwest::Response) -> CliError {
        let status = response.status();
        if let Some(to) = connect::redirected_to(&response) {
            return CliError::Redirected {
                url: self.profile.url.clone(),
                to: connect::base_of(&to),
            };
        }
        // An answer that is not ours, such as a proxy's page, has only its status to say.
        let body = answer::whole(response, REFUSAL_BYTES_MAX);
        let bytes = tokio::time::timeout(REFUSAL_TIMEOUT, body).await;
        let bytes = bytes.ok().and_then(Result::ok).unwrap_or_default();
        let mut body: Value = millrace_model::json::from_slice(&bytes).unwrap_or_default();
        let details = value::take(&mut body, "details");
        CliError::Refused {
            status: status.as_u16(),
            code: body["code"].as_str().unwrap_or("").to_owned(),
            sentence: body["error"].as_str().map_or_else(
                || format!("the server at `{}` answered {status}", self.profile.url),
                str::to_owned,
            ),
            details,
        }
    }

    /// What answers is another program, or a server that says nothing sensible.
    pub(crate) fn no_answer(&self) -> CliError {
        CliError::NoAnswer { url: self.profile.url.clone() }
    }

    pub(crate) fn unreachable(&self, source: reqwest::Error) -> CliError {
        if source.is_timeout() && !source.is_connect() {
            return self.profile.silent();
        }
        CliError::Unreachable { url: self.profile.url.clone(), source: source.without_url() }
    }

    /// All items of a list.
    pub(crate) async fn all(&self, path: &str) -> Result<Vec<Value>, CliError> {
        match value::take(&mut self.first(path, u32::MAX).await?, "data") {
            Value::Array(all) => Ok(all),
            _ => Err(self.no_answer()),
        }
    }

    /// All items of a list, as the answer of one page that holds them.
    pub(crate) async fn whole(&self, path: &str) -> Result<Value, CliError> {
        Ok(json!({ "data": self.all(path).await? }))
    }

    /// The first items of a list, so many at most, page by page; as the answer of one page that
    /// holds them, which says how many there are in all.
    pub(crate) async fn first(&self, path: &str, count: u32) -> Result<Value, CliError> {
        let joint = if path.contains('?') { '&' } else { '?' };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let (mut items, mut after, mut starts) = (Vec::new(), String::new(), 1);
        loop {
            let limit = PAGE_MAX.min(count - items.len());
            let mut page = match self.get(&format!("{path}{joint}limit={limit}{after}")).await {
                // What the page follows was deleted meanwhile.
                Err(error) if error.is_unknown_cursor() && starts < STARTS_MAX => {
                    (items, after, starts) = (Vec::new(), String::new(), starts + 1);
                    continue;
                }
                page => page?,
            };
            let Value::Array(found) = value::take(&mut page, "data") else {
                return Err(self.no_answer());
            };
            let is_last = found.len() < limit;
            items.extend(found.into_iter().take(limit));
            if items.len() > ITEMS_MAX {
                return Err(CliError::ListTooLong { path: path.to_owned(), items_max: ITEMS_MAX });
            }
            match page["page_info"]["end_cursor"]
                .as_str()
                .filter(|_| !is_last && items.len() < count)
            {
                Some(cursor) => {
                    let next = format!("&after={}", segment(cursor));
                    if next == after {
                        return Err(self.no_answer());
                    }
                    after = next;
                }
                None => {
                    value::set(&mut page, "data", items);
                    return Ok(page);
                }
            }
        }
    }

    /// A source or workflow by id, slug or name; a slug is unique, so it wins over names.
    pub(crate) async fn resolve(&self, name: &str) -> Result<Target, CliError> {
        self.resolve_first(Kind::ALL, name).await
    }

    /// As `resolve`, in the order of the kinds.
    async fn resolve_first(&self, kinds: [Kind; 2], name: &str) -> Result<Target, CliError> {
        let with_id = kinds.into_iter().find(|kind| name.starts_with(kind.prefix()));
        let with_id = with_id.map(|kind| Target { kind, id: name.to_owned() });
        if let Some(target) = &with_id
            && self.may_be(target).await?
        {
            return Ok(target.clone());
        }
        for kind in kinds {
            if let Some(target) = self.find(kind, name).await? {
                return Ok(target);
            }
        }
        with_id.ok_or_else(|| CliError::Unknown(name.to_owned()))
    }

    /// Whether an id is not known to be none: names may begin as ids do. A key that may not read
    /// finds out when it uses the id.
    async fn may_be(&self, target: &Target) -> Result<bool, CliError> {
        match self.get(&format!("{}?include=id", target.path())).await {
            Err(error) if error.is_not_found() => Ok(false),
            Ok(_) | Err(CliError::Refused { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// As `resolve`, where only one kind will do.
    pub(crate) async fn resolve_kind(&self, wanted: Kind, name: &str) -> Result<Target, CliError> {
        let kinds = match wanted {
            Kind::Source => [Kind::Source, Kind::Workflow],
            Kind::Workflow => [Kind::Workflow, Kind::Source],
        };
        let target = self.resolve_first(kinds, name).await?;
        if target.kind == wanted {
            return Ok(target);
        }
        let (found, wanted) = (target.kind.word(), wanted.word());
        Err(CliError::WrongKind { name: name.to_owned(), found, wanted })
    }

    /// Looks through the whole list, for its slug first.
    pub(crate) async fn find(&self, kind: Kind, name: &str) -> Result<Option<Target>, CliError> {
        let all = self.all(&format!("{}?include=id,name,name_slug", kind.list())).await?;
        let found = ["name_slug", "name"]
            .into_iter()
            .find_map(|field| all.iter().find(|item| item[field] == name));
        Ok(found.map(|item| Target { kind, id: item["id"].as_str().unwrap_or("").to_owned() }))
    }
}
