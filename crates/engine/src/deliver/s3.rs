//! `$.send.s3`: an object in a store that speaks S3, with the operator's credentials (Signature
//! Version 4, path style).

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use millrace_model::clock::Timestamp;
use millrace_model::error_chain;
use millrace_model::json;
use millrace_store::Delivery;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::answers;
use crate::deliver::Tried;
use crate::tenants::secrets::{hmac_sha256, sha256_hex};

/// What stays as it is in a path.
pub(crate) const UNRESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// What is shown of a refusal, characters.
const REFUSAL_CHARS_MAX: usize = 300;

/// Where objects go.
#[derive(Clone)]
pub struct S3Config {
    /// `https://s3.eu-central-1.amazonaws.com`, or another store's address.
    pub endpoint: String,
    /// `eu-central-1`.
    pub region: String,
    /// The key's id.
    pub access_key_id: String,
    /// The key.
    pub secret_access_key: String,
    /// The buckets that code may write to; empty: all that the key reaches.
    pub buckets: Vec<String>,
}

// By hand: it holds a key.
impl std::fmt::Debug for S3Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Config")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("buckets", &self.buckets)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Object {
    bucket: String,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    payload: Value,
}

/// Writes one object: `<prefix>/YYYY/MM/DD/HH/YYYY-MM-DD-HH-MM-SS-<id>.gz`, a line for each item of
/// a list. A second try writes the same one.
pub(crate) async fn put(
    client: &reqwest::Client,
    config: Option<&S3Config>,
    delivery: &Delivery,
    now: Timestamp,
) -> Tried {
    let Some(config) = config else {
        return Tried::never(
            "no object store is configured: the server's operator sets --s3-endpoint, --s3-region and the variables of its key",
        );
    };
    let (url, body) = match object(config, delivery) {
        Ok(object) => object,
        Err(error) => return Tried::never(error),
    };
    let (hash, date) = (sha256_hex(&body), amz_date(now));
    let host = match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => return Tried::never("the object store's address has no host"),
    };
    let headers = [("host", host.as_str()), ("x-amz-content-sha256", &hash), ("x-amz-date", &date)];
    let authorization = sign(config, &date, "PUT", url.path(), &headers, &hash);
    let request = client
        .put(url.clone())
        .header("x-amz-content-sha256", &hash)
        .header("x-amz-date", &date)
        .header("authorization", authorization);
    match request.header("content-type", "application/gzip").body(body).send().await {
        Ok(response) => {
            let status = response.status().as_u16();
            if response.status().is_success() {
                return Tried::Taken { status: Some(status) };
            }
            Tried::by_status(
                status.max(400),
                &format!(": {}", answers::start_of(response, REFUSAL_CHARS_MAX).await),
            )
        }
        Err(error) => Tried::Later { status: None, error: error_chain(&error.without_url()) },
    }
}

/// The object's address and contents.
fn object(config: &S3Config, delivery: &Delivery) -> Result<(Url, Vec<u8>), String> {
    let object: Object = json::read(&delivery.payload)
        .and_then(serde_json::from_value)
        .map_err(|e| format!("the object cannot be read: {e}"))?;
    let bucket = &object.bucket;
    let fits = (3..=63).contains(&bucket.len())
        && bucket.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
        && !bucket.contains("..");
    if !fits {
        return Err(format!("`{}` is not a bucket's name", millrace_model::shown(bucket)));
    }
    if !config.buckets.is_empty() && !config.buckets.contains(bucket) {
        return Err(format!(
            "the bucket `{bucket}` is not one of those that the server's operator allows (--s3-buckets)"
        ));
    }
    let prefix = object.prefix.trim_matches('/');
    if prefix.split('/').any(|part| matches!(part, "." | ".."))
        || prefix.chars().any(char::is_control)
        || prefix.len() > 800
    {
        return Err("the prefix is not one that an object's name can begin with".into());
    }
    let at = delivery.created_at.datetime();
    let slash = if prefix.is_empty() { "" } else { "/" };
    let key =
        format!("{prefix}{slash}{}-{}.gz", at.format("%Y/%m/%d/%H/%Y-%m-%d-%H-%M-%S"), delivery.id);
    let path: Vec<String> = std::iter::once(bucket.as_str())
        .chain(key.split('/'))
        .map(|part| utf8_percent_encode(part, UNRESERVED).to_string())
        .collect();
    let url = format!("{}/{}", config.endpoint.trim_end_matches('/'), path.join("/"));
    let url =
        Url::parse(&url).map_err(|e| format!("the object store's address is not valid: {e}"))?;
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    let lines = lines(&object.payload);
    gzip.write_all(lines.as_bytes())
        .and_then(|()| gzip.finish())
        .map(|body| (url, body))
        .map_err(|e| format!("the object could not be packed: {e}"))
}

/// Lines of JSON; a text stays as it is.
fn lines(payload: &Value) -> String {
    let line = |item: &Value| {
        format!("{}\n", item.as_str().map_or_else(|| item.to_string(), str::to_owned))
    };
    match payload {
        Value::Array(items) => items.iter().map(line).collect(),
        item => line(item),
    }
}

/// `20130524T000000Z`.
fn amz_date(at: Timestamp) -> String {
    at.datetime().format("%Y%m%dT%H%M%SZ").to_string()
}

/// The `Authorization` of a request without a query. `headers`: in lower case, sorted.
fn sign(
    config: &S3Config,
    date: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    payload_hash: &str,
) -> String {
    let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let canonical: String =
        headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let request = format!("{method}\n{path}\n\n{canonical}\n{names}\n{payload_hash}");
    let day = date.split('T').next().unwrap_or("");
    let scope = format!("{day}/{}/s3/aws4_request", config.region);
    let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", sha256_hex(request.as_bytes()));
    let secret = format!("AWS4{}", config.secret_access_key);
    let key = [day, &config.region, "s3", "aws4_request"]
        .iter()
        .fold(secret.into_bytes(), |key, part| hmac_sha256(&key, part.as_bytes()).to_vec());
    let signature: String =
        hmac_sha256(&key, to_sign.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
        config.access_key_id
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config() -> S3Config {
        S3Config {
            endpoint: "https://examplebucket.s3.amazonaws.com".into(),
            region: "us-east-1".into(),
            access_key_id: "AKIAIOSFODNN7EXAMPLE".into(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            buckets: Vec::new(),
        }
    }

    /// The example of Amazon's documentation.
    #[test]
    fn a_request_is_signed_as_the_documentation_shows() {
        let hash = sha256_hex(b"");
        let headers = [
            ("host", "examplebucket.s3.amazonaws.com"),
            ("range", "bytes=0-9"),
            ("x-amz-content-sha256", hash.as_str()),
            ("x-amz-date", "20130524T000000Z"),
        ];
        let signed = sign(&config(), "20130524T000000Z", "GET", "/test.txt", &headers, &hash);
        assert!(
            signed.ends_with(
                "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
            ),
            "{signed}"
        );
        assert!(
            signed.contains("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date"),
            "{signed}"
        );
    }

    fn delivery(payload: Value) -> Delivery {
        Delivery {
            id: "dl_1".parse().expect("an id"),
            org_id: "o_1".parse().expect("an id"),
            owner: "p_1".into(),
            run_id: "run_1".parse().expect("an id"),
            position: 0,
            kind: millrace_store::DeliveryKind::S3,
            payload: payload.to_string(),
            step: None,
            status: millrace_store::DeliveryStatus::Queued,
            attempts: 0,
            response_status: None,
            last_error: None,
            created_at: Timestamp(1_369_353_600_000),
            finished_at: None,
        }
    }

    #[test]
    fn an_object_has_a_name_of_its_time_and_lines() {
        let (url, _) = object(
            &config(),
            &delivery(json!({ "bucket": "logs", "prefix": "/a b/ü/", "payload": 1 })),
        )
        .expect("an object");
        assert_eq!(url.path(), "/logs/a%20b/%C3%BC/2013/05/24/00/2013-05-24-00-00-00-dl_1.gz");
        assert_eq!(lines(&json!([{ "a": 1 }, "text"])), "{\"a\":1}\ntext\n");
        for bad in
            [json!({ "bucket": "a/b" }), json!({ "bucket": "logs", "prefix": "a/../b" }), json!({})]
        {
            assert!(object(&config(), &delivery(bad.clone())).is_err(), "{bad}");
        }
        let some = S3Config { buckets: vec!["mine".into()], ..config() };
        assert!(
            object(&some, &delivery(json!({ "bucket": "logs" })))
                .is_err_and(|e| e.contains("--s3-buckets"))
        );
    }
}
