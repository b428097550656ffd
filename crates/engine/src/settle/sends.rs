//! `$.send.*` of a run: what settles with it, and what is delivered afterwards (reference 4).

use millrace_model::ids::DeliveryId;
use millrace_model::json;
use millrace_model::run::{Context, LogLevel, LogLine, RunKind, Sent};
use millrace_model::subscription::CHANNEL_CHARS_MAX;
use millrace_store::{Delivery, DeliveryKind, DeliveryStatus, Effects};
use serde_json::{Value, json};

use crate::owners::sse_emitter;
use crate::run::claimed_run::ClaimedRun;
use crate::run::sink::Collected;
use crate::{Engine, EngineError};

/// Deliveries of one run; what is beyond is not sent, and the log says so.
const DELIVERIES_MAX: usize = 1000;

impl Engine {
    /// `emit` and `sse` become events, which settle with the run; the others become deliveries. A
    /// test run sends nothing.
    pub(crate) async fn add_sends(
        &self,
        effects: &mut Effects,
        collected: &mut Collected,
        claimed: &ClaimedRun,
        context: &Context,
    ) -> Result<(), EngineError> {
        let sends = std::mem::take(&mut collected.sends);
        if claimed.kind == RunKind::Test {
            if !sends.is_empty() {
                let text = format!(
                    "a test run delivers nothing: {} `$.send` calls were left out",
                    sends.len()
                );
                collected.logs.push(LogLine {
                    at: self.now(),
                    level: LogLevel::Warn,
                    text,
                    step: None,
                });
            }
            return Ok(());
        }
        let mut left_out = 0;
        for Sent(kind, payload, step) in sends {
            match (kind.as_str(), DeliveryKind::parse(&kind)) {
                ("emit", _) => {
                    let sent = json::read(payload.get()).unwrap_or_default();
                    let name = sent
                        .get("name")
                        .or_else(|| sent.get("channel"))
                        .and_then(Value::as_str)
                        .unwrap_or("")
                        .to_owned();
                    if self.refuse_channel(effects, &name) {
                        continue;
                    }
                    let event = self.new_event(
                        claimed.owner.as_str(),
                        &claimed.org_id,
                        name,
                        emitted(&sent).to_string(),
                        "{}".into(),
                    );
                    Box::pin(self.add_event(effects, event, context, context.handles_error))
                        .await?;
                }
                ("sse", _) => {
                    let sent = json::read(payload.get()).unwrap_or_default();
                    let channel =
                        channel(sent.get("channel").and_then(Value::as_str).unwrap_or(""));
                    let data = sent.get("payload").unwrap_or(&Value::Null).to_string();
                    effects.events.push(self.new_event(
                        &sse_emitter(claimed.owner.as_str()),
                        &claimed.org_id,
                        channel,
                        data,
                        "{}".into(),
                    ));
                }
                (_, Some(kind)) if effects.deliveries.len() < DELIVERIES_MAX => {
                    // A run that paused has sent before: the numbers of each attempt are its own.
                    let position = claimed.attempt.saturating_mul(DELIVERIES_MAX as i64)
                        + i64::try_from(effects.deliveries.len()).unwrap_or(0);
                    effects.deliveries.push(self.new_delivery(
                        claimed,
                        kind,
                        position,
                        payload.get().to_owned(),
                        step,
                    ));
                }
                (_, Some(_)) => left_out += 1,
                (unknown, None) => {
                    let unknown = millrace_model::shown(unknown);
                    collected.logs.push(self.error_line(&format!(
                        "$.send.{unknown} is not known here; nothing was sent"
                    )));
                }
            }
        }
        if left_out > 0 {
            let line = format!(
                "{left_out} `$.send` calls were left out: a run sends at most {DELIVERIES_MAX} requests, e-mails and objects"
            );
            collected.logs.push(self.error_line(&line));
        }
        Ok(())
    }

    fn new_delivery(
        &self,
        claimed: &ClaimedRun,
        kind: DeliveryKind,
        position: i64,
        payload: String,
        step: Option<String>,
    ) -> Delivery {
        Delivery {
            id: DeliveryId::generate(&self.0.ids),
            org_id: claimed.org_id.clone(),
            owner: claimed.owner.as_str().to_owned(),
            run_id: claimed.id.clone(),
            position,
            kind,
            payload,
            step,
            status: DeliveryStatus::Queued,
            attempts: 0,
            response_status: None,
            last_error: None,
            created_at: self.now(),
            finished_at: None,
        }
    }
}

/// The event that an emit makes: `event` stands beside `raw_event` where it was given.
fn emitted(sent: &Value) -> Value {
    let mut event = json!({ "raw_event": sent["raw_event"] });
    if let Some(given) = sent.get("event") {
        event["event"] = given.clone();
    }
    event
}

/// A channel is one line: a name with line breaks must not add fields to the stream.
fn channel(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).take(CHANNEL_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emit_loses_neither_of_its_events() {
        let both = json!({ "raw_event": { "a": 1 }, "event": { "b": 2 } });
        let named = json!({ "raw_event": { "a": 1 }, "event": { "b": 2 }, "name": "n" });
        assert_eq!(emitted(&named), both);
        assert_eq!(emitted(&json!({ "raw_event": null })), json!({ "raw_event": null }));
    }

    #[test]
    fn a_channel_is_one_line() {
        assert_eq!(channel("a\nevent: b\r"), "a event: b ");
    }
}
