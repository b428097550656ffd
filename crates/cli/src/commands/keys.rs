//! API keys.

use millrace_model::{Clock as _, SystemClock};
use reqwest::Method;
use serde_json::json;

use crate::args::KeyCommand;
use crate::client::{Client, segment};
use crate::error::CliError;
use crate::terminal::printer::Show;

pub(super) async fn keys(client: &Client, show: Show, command: KeyCommand) -> Result<(), CliError> {
    match command {
        KeyCommand::List => {
            let columns = [
                ("ID", "id"),
                ("NAME", "name"),
                ("SCOPES", "scopes"),
                ("EXPIRES", "expires_at"),
                ("CREATED", "created_at"),
            ];
            show.table(&client.whole("/api_keys").await?, &columns)
        }
        KeyCommand::Create { name, scopes, expires_in, rate } => {
            let expires_at = expires_in.map(|secs| SystemClock.now().secs().saturating_add(secs));
            let body = json!({ "name": name, "scopes": scopes, "rate_per_minute": rate, "expires_at": expires_at });
            show.record(&client.call(Method::POST, "/api_keys", &body).await?)
        }
        KeyCommand::Revoke { id } => {
            show.record(&client.delete(&format!("/api_keys/{}", segment(&id))).await?)
        }
        KeyCommand::Rotate { id: None, .. } => {
            show.record(&client.call(Method::POST, "/master_key/rotate", &json!({})).await?)
        }
        KeyCommand::Rotate { id: Some(id), grace, .. } => {
            let path = format!("/api_keys/{}/rotate", segment(&id));
            show.record(
                &client
                    .call(Method::POST, &path, &json!({ "grace_seconds": grace.unwrap_or(0) }))
                    .await?,
            )
        }
    }
}

/// Seconds of a duration such as `90s`, `45m`, `12h`, `30d`.
pub(crate) fn seconds(text: &str) -> Result<i64, String> {
    let refused = || format!("`{text}` is not a duration; write it as 90s, 45m, 12h or 30d");
    let unit = text.chars().last().ok_or_else(refused)?;
    let per = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        _ => return Err(refused()),
    };
    let count: i64 = text[..text.len() - 1].parse().map_err(|_| refused())?;
    if count < 1 {
        return Err(refused());
    }
    count.checked_mul(per).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_a_count_and_a_unit() {
        assert_eq!(
            (seconds("90s"), seconds("45m"), seconds("30d")),
            (Ok(90), Ok(2700), Ok(2_592_000))
        );
        for wrong in ["", "d", "30", "0d", "-1d", "1w", "1é", "9223372036854775807d"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
