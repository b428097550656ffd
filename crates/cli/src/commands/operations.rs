//! The history as a whole, and operating a server.

use std::io::Write as _;
use std::path::PathBuf;

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::args::{
    AuditArgs, ExportArgs, OauthClientCommand, OrganizationArgs, RetentionArgs, SystemArgs,
};
use crate::client::stream::next_of;
use crate::client::{Client, segment, value};
use crate::error::CliError;
use crate::terminal::line::escaped;
use crate::terminal::printer::{self, Show};

/// The smallest number that is read as epoch milliseconds, of March 1973.
const MS_MIN: u64 = 100_000_000_000;

/// The longest line of an export that is read.
const LINE_BYTES_MAX: usize = 64 << 20;
/// Lines between two notes of how far it is.
const NOTE_EVERY: u64 = 100_000;

/// The server, or what there is to mend at it.
pub(super) async fn system(client: &Client, show: Show, args: &SystemArgs) -> Result<(), CliError> {
    if !args.checks {
        return show.record(&client.get("/system").await?);
    }
    show.table(
        &client.get("/system/checks").await?,
        &[("STATUS", "status"), ("WHAT", "name"), ("FOUND", "found"), ("WHAT TO DO", "mend")],
    )
}

/// Writes the history as it is at one moment. The server's last line says that it was all; without
/// it the export failed.
pub(super) async fn export(client: &Client, args: ExportArgs) -> Result<(), CliError> {
    let mut query = Vec::new();
    if let Some(name) = &args.name {
        query.push(("owner_id", client.resolve(name).await?.id));
    }
    query.extend(
        [("from", args.from), ("to", args.to)]
            .into_iter()
            .filter_map(|(name, ms)| Some((name, ms?.to_string()))),
    );
    let mut out = Output::open(args.output)?;
    let response = client.open(client.request(Method::GET, "/export")?.query(&query)).await?;
    let mut chunks = response.bytes_stream();
    let (mut lines, mut last, mut told) = (0_u64, Vec::new(), 0);
    while let Some(chunk) = next_of(&mut chunks).await {
        let chunk = chunk.map_err(|_| CliError::ExportBrokeOff { lines })?;
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            if last.len() + part.len() > LINE_BYTES_MAX {
                return Err(CliError::LineTooLong { bytes_max: LINE_BYTES_MAX });
            }
            last.extend_from_slice(part);
            if last.last() == Some(&b'\n') {
                if is_end(&last) {
                    return out.close(&last);
                }
                out.write(&last)?;
                lines += 1;
                last.clear();
            }
        }
        if lines >= told + NOTE_EVERY {
            told = lines;
            printer::note(&format!("{lines} lines"));
        }
    }
    Err(CliError::ExportBrokeOff { lines })
}

fn is_end(line: &[u8]) -> bool {
    // Longer lines are records; the last one counts them.
    line.len() < 200
        && millrace_model::json::from_slice::<Value>(line).is_ok_and(|line| line["type"] == "end")
}

/// Where an export goes: a file is there under its name once it is whole. Standard output may be a
/// terminal, and gets no characters that steer it.
struct Output {
    to: Box<dyn std::io::Write + Send>,
    file: Option<(PathBuf, PathBuf)>,
}

impl Output {
    fn open(path: Option<PathBuf>) -> Result<Self, CliError> {
        let Some(path) = path else {
            return Ok(Self {
                to: Box::new(std::io::BufWriter::new(std::io::stdout())),
                file: None,
            });
        };
        if path.exists() {
            return Err(CliError::Exists(path));
        }
        let mut part = path.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = std::fs::File::create(&part)
            .map_err(|source| CliError::Write { path: part.clone(), source })?;
        Ok(Self {
            to: Box::new(std::io::BufWriter::with_capacity(1 << 20, file)),
            file: Some((part, path)),
        })
    }

    fn failed(&self, source: std::io::Error) -> CliError {
        match &self.file {
            Some((part, _)) => CliError::Write { path: part.clone(), source },
            None if source.kind() == std::io::ErrorKind::BrokenPipe => CliError::OutputClosed,
            None => CliError::Output(source),
        }
    }

    fn write(&mut self, line: &[u8]) -> Result<(), CliError> {
        let written = if self.file.is_some() {
            self.to.write_all(line)
        } else {
            self.to.write_all(escaped(&String::from_utf8_lossy(line)).as_bytes())
        };
        written.map_err(|e| self.failed(e))
    }

    /// `end`: the last line, which counts the others. It is told, and no part of the data.
    fn close(mut self, end: &[u8]) -> Result<(), CliError> {
        self.to.flush().map_err(|e| self.failed(e))?;
        if let Some((part, path)) = &self.file {
            std::fs::rename(part, path)
                .map_err(|source| CliError::Write { path: path.clone(), source })?;
        }
        self.file = None;
        let counts: Value = millrace_model::json::from_slice(end).unwrap_or_default();
        let count = |of: &str| counts["data"][of].as_u64().unwrap_or(0);
        printer::note(&format!(
            "{} runs, {} log lines, {} events",
            count("runs"),
            count("logs"),
            count("events")
        ));
        Ok(())
    }
}

impl Drop for Output {
    /// What is not whole does not stay.
    fn drop(&mut self) {
        if let Some((part, _)) = &self.file {
            // It may be gone already.
            let _ = std::fs::remove_file(part);
        }
    }
}

/// Shows the organization; with a flag changes it first.
pub(super) async fn organization(
    client: &Client,
    show: Show,
    args: OrganizationArgs,
) -> Result<(), CliError> {
    let me = client.get("/users/me").await?;
    let path =
        format!("/workspaces/{}", segment(me["data"]["orgs"][0]["id"].as_str().unwrap_or("")));
    let mut body = Map::new();
    if let Some(name) = args.name {
        body.insert("name".into(), json!(name));
    }
    if args.no_error_recipients || !args.error_recipients.is_empty() {
        body.insert("error_recipients".into(), json!(args.error_recipients));
    }
    if body.is_empty() {
        return show.record(&client.get(&path).await?);
    }
    show.record(&client.call(Method::PUT, &path, &Value::Object(body)).await?)
}

/// Shows how much history is kept; with a flag sets it first.
pub(super) async fn retention(
    client: &Client,
    show: Show,
    args: RetentionArgs,
) -> Result<(), CliError> {
    let path = format!("{}/retention", client.resolve(&args.name).await?.path());
    let given = [("keep_days", args.days), ("keep_count", args.count)];
    let body: Map<String, Value> = given
        .into_iter()
        .filter_map(|(field, kept)| Some((field.to_owned(), json!(kept?.0))))
        .collect();
    if body.is_empty() {
        return show.record(&client.get(&path).await?);
    }
    show.record(&client.call(Method::PUT, &path, &Value::Object(body)).await?)
}

/// Who changed what, the newest of it, oldest first as a log is read.
pub(super) async fn audit(client: &Client, show: Show, args: AuditArgs) -> Result<(), CliError> {
    let AuditArgs { n, user, target, from, to } = args;
    let given = [
        ("user_id", user),
        ("target", target),
        ("from", from.map(|ms| ms.to_string())),
        ("to", to.map(|ms| ms.to_string())),
    ];
    let filter: Vec<String> = given
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", segment(&value?))))
        .collect();
    let path = if filter.is_empty() {
        "/audit".to_owned()
    } else {
        format!("/audit?{}", filter.join("&"))
    };
    let mut answer = client.first(&path, n).await?;
    if let Some(records) = answer.get_mut("data").and_then(Value::as_array_mut) {
        records.reverse();
        for record in records.iter_mut().filter(|_| !show.json) {
            let at = millrace_model::Timestamp(record["created_at_ms"].as_i64().unwrap_or(0));
            value::set(record, "at", at.iso());
        }
    }
    show.table(
        &answer,
        &[
            ("AT", "at"),
            ("WHO", "user_name"),
            ("KEY", "key_id"),
            ("ACTION", "action"),
            ("TARGET", "target"),
            ("FIELDS", "fields"),
            ("DONE", "done"),
        ],
    )
}

pub(super) async fn oauth_clients(
    client: &Client,
    show: Show,
    command: OauthClientCommand,
) -> Result<(), CliError> {
    match command {
        OauthClientCommand::List => {
            let columns =
                [("ID", "id"), ("NAME", "name"), ("SCOPES", "scopes"), ("CREATED", "created_at")];
            show.table(&client.whole("/oauth/clients").await?, &columns)
        }
        OauthClientCommand::Create { name, scopes } => show.record(
            &client
                .call(Method::POST, "/oauth/clients", &json!({ "name": name, "scopes": scopes }))
                .await?,
        ),
        OauthClientCommand::Delete { id } => {
            show.record(&client.delete(&format!("/oauth/clients/{}", segment(&id))).await?)
        }
    }
}

/// Epoch milliseconds of a date, a time, or as they are. A smaller number is most likely seconds,
/// or a date without its hyphens: as milliseconds it would be a time of 1970 and filter nothing.
pub(crate) fn time_ms(text: &str) -> Result<i64, String> {
    if let Ok(ms) = text.parse::<i64>() {
        return if ms == 0 || ms.unsigned_abs() >= MS_MIN {
            Ok(ms)
        } else {
            Err(format!(
                "`{text}` as epoch milliseconds is a time around 1970; write a time as 2026-01-31, 2026-01-31T12:00:00Z or epoch milliseconds such as 1769817600000"
            ))
        };
    }
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let parsed = millrace_model::Timestamp::parse_iso(&whole).map(millrace_model::Timestamp::ms);
    parsed.ok_or_else(|| format!("`{text}` is not a time; write it as 2026-01-31, 2026-01-31T12:00:00Z or epoch milliseconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_times_or_milliseconds() {
        assert_eq!(
            (time_ms("1970-01-02"), time_ms("1970-01-01T00:00:01Z"), time_ms("1769817600000")),
            (Ok(86_400_000), Ok(1000), Ok(1_769_817_600_000))
        );
        for wrong in ["", "yesterday", "1970-13-01", "20261130", "1769817600", "5"] {
            assert!(time_ms(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_the_last_line_is_an_end() {
        assert!(is_end(b"{\"type\":\"end\",\"data\":{\"runs\":1}}\n"));
        assert!(!is_end(b"{\"type\":\"event\",\"data\":{\"event\":{\"type\":\"end\"}}}\n"));
    }
}
