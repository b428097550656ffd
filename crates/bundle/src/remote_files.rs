//! Remote files of an author, at an address: fetched here, or by another process, within the same
//! bounds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use reqwest::StatusCode;
use url::Url;

use crate::author::BYTES_MAX;
use crate::reach::Reach;
use crate::worker::Asker;
use crate::{BundleError, Entry};

/// How many addresses are asked for one component: each import may mean several files.
const ADDRESSES_MAX: usize = 6_000;
/// How many files an address may lead to.
const FILES_MAX: usize = 500;

/// How long fetching may take for one component, all files together: the place that bundles it is
/// others' next.
const TIME_MAX: Duration = Duration::from_secs(30);

/// Who fetches.
#[derive(Clone)]
pub(crate) enum RemoteFiles {
    Own(Arc<Fetched>),
    Asked(Arc<Asker>),
}

/// What was fetched for one component.
pub(crate) struct Fetched {
    reach: Reach,
    count: Mutex<Count>,
    time: Mutex<Time>,
}

#[derive(Default)]
struct Count {
    addresses: usize,
    files: usize,
    bytes: usize,
}

/// How long it was waited for files; several at once count once, and what is done between them does
/// not.
struct Time {
    left: Duration,
    under_way: usize,
    since: Instant,
}

impl Time {
    fn new(now: Instant) -> Self {
        Self { left: TIME_MAX, under_way: 0, since: now }
    }

    /// Another is fetched from now on; gives how long that may take.
    fn begin(&mut self, now: Instant) -> Duration {
        self.pass(now);
        self.under_way += 1;
        self.left
    }

    fn end(&mut self, now: Instant) {
        self.pass(now);
        self.under_way -= 1;
    }

    fn pass(&mut self, now: Instant) {
        if self.under_way > 0 {
            self.left = self.left.saturating_sub(now.saturating_duration_since(self.since));
        }
        self.since = now;
    }
}

impl RemoteFiles {
    pub(crate) fn own(reach: Reach) -> Self {
        Self::Own(Arc::new(Fetched {
            reach,
            count: Mutex::default(),
            time: Mutex::new(Time::new(Instant::now())),
        }))
    }

    /// The text at an address; None where there is nothing (404).
    pub(crate) async fn fetch(&self, url: &str) -> Result<Option<String>, BundleError> {
        match self {
            Self::Own(fetched) => fetched.fetch(url).await,
            Self::Asked(asker) => asker.page(url).await,
        }
    }
}

impl Fetched {
    async fn fetch(&self, url: &str) -> Result<Option<String>, BundleError> {
        let left = self.time.lock().begin(Instant::now());
        let fetched = tokio::time::timeout(left, self.fetch_in_time(url)).await;
        self.time.lock().end(Instant::now());
        fetched.unwrap_or_else(|_| {
            let reason =
                format!("the component's files took longer than {} s together, the limit; put them where they are answered faster", TIME_MAX.as_secs());
            Err(BundleError::Fetch { url: url.into(), reason })
        })
    }

    async fn fetch_in_time(&self, url: &str) -> Result<Option<String>, BundleError> {
        let failed = |reason: String| BundleError::Fetch { url: url.into(), reason };
        {
            let mut count = self.count.lock();
            count.addresses += 1;
            if count.files >= FILES_MAX || count.addresses > ADDRESSES_MAX {
                return Err(failed(format!("the component leads to more than {FILES_MAX} files")));
            }
        }
        let mut response = self.reach.get(url).await.map_err(failed)?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        if !response.status().is_success() {
            return Err(failed(format!("the server answered {}", response.status())));
        }
        self.count.lock().files += 1;
        let mut body = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|e| failed(e.without_url().to_string()))?
        {
            body.extend_from_slice(&chunk);
            let mut count = self.count.lock();
            count.bytes += chunk.len();
            if count.bytes > BYTES_MAX {
                return Err(BundleError::TooLarge {
                    what: "the component".into(),
                    bytes_max: BYTES_MAX,
                });
            }
        }
        String::from_utf8(body).map(Some).map_err(|_| failed("it is not text".into()))
    }
}

/// Whether an address is beside a component's entry: of the same scheme, host and port.
pub(crate) fn is_beside(url: &str, entry: &Entry) -> bool {
    let Entry::Url { url: entry } = entry else { return false };
    match (raw_address(entry), Url::parse(url)) {
        (Ok(entry), Ok(url)) => entry.origin() == url.origin(),
        _ => false,
    }
}

/// An address of text: a page of a file on a code host is turned into the file itself.
pub(crate) fn raw_address(url: &str) -> Result<Url, BundleError> {
    let bad = |reason: &str| BundleError::Fetch {
        url: url.chars().take(200).collect(),
        reason: reason.into(),
    };
    let mut address = Url::parse(url).map_err(|_| bad("it is not an address"))?;
    if !matches!(address.scheme(), "http" | "https") || address.host_str().is_none() {
        return Err(bad("allowed are http: and https: with a host"));
    }
    if address.host_str() == Some("github.com") {
        let parts: Vec<String> =
            address.path_segments().into_iter().flatten().map(str::to_owned).collect();
        if let [owner, repo, kind, rest @ ..] = parts.as_slice()
            && kind == "blob"
        {
            let path = format!("/{owner}/{repo}/{}", rest.join("/"));
            address
                .set_host(Some("raw.githubusercontent.com"))
                .map_err(|_| bad("it is not an address"))?;
            address.set_path(&path);
        }
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waiting_for_files_takes_of_their_time() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut time = Time::new(start);
        assert_eq!(time.begin(at(100)), TIME_MAX, "nothing was fetched before");
        assert_eq!(time.begin(at(110)), TIME_MAX - Duration::from_secs(10));
        time.end(at(115));
        time.end(at(120));
        assert_eq!(time.begin(at(500)), TIME_MAX - Duration::from_secs(20));
        time.end(at(600));
        assert_eq!(time.begin(at(601)), Duration::ZERO);
    }
}
