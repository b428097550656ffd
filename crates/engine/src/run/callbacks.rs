//! Callbacks of pauses (reference 4): the addresses at which a paused run is resumed and cancelled,
//! and the requests to them.
//!
//! Code knows the addresses of its pauses before it pauses, and most attempts never pause. So an
//! address holds nothing that is stored: it names run and attempt under a code that only the master
//! key makes. It is good while that attempt, or its pause, lasts.

use millrace_model::http::EndpointRequest;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::run::{Run, RunStatus};
use millrace_model::tenant::Caller;
use millrace_store::{Callback, CalledBack, PauseEnd};
use serde_json::{Value, json};

use crate::accept::http_event::{Receiver, checked, http_event};
use crate::run::claimed_run::ClaimedRun;
use crate::tenants::secrets::same;
use crate::{Engine, EngineError};

impl Engine {
    /// The `flow` of a call: where a pause of this attempt is resumed and cancelled.
    pub(crate) fn flow_urls(&self, claimed: &ClaimedRun) -> Value {
        let url = |end| {
            format!(
                "{}/{}/{}",
                self.0.config.base_url,
                verb(end),
                self.token(&claimed.id, claimed.attempt, end)
            )
        };
        json!({ "resume_url": url(PauseEnd::Resume), "cancel_url": url(PauseEnd::Cancel) })
    }

    fn token(&self, run: &RunId, attempt: i64, end: PauseEnd) -> String {
        let named = format!("{run}-{attempt}");
        let code = self.0.keyring.code("pause", &format!("{}/{named}", verb(end)));
        format!("{named}-{code}")
    }

    /// The run and attempt of a token that this server's key made.
    fn read_token(&self, token: &str, end: PauseEnd) -> Option<(RunId, i64)> {
        let mut parts = token.splitn(3, '-');
        let (run, attempt) =
            (parts.next()?.parse::<RunId>().ok()?, parts.next()?.parse::<i64>().ok()?);
        let expected = self.token(&run, attempt, end);
        same(expected.as_bytes(), token.as_bytes()).then_some((run, attempt))
    }

    /// The organization of the run that an address resumes or cancels, before anything of the
    /// request's body is read or kept.
    pub async fn callback_org(&self, token: &str, end: PauseEnd) -> Result<OrgId, EngineError> {
        let unknown = || EngineError::not_found("pause of a run", token);
        let (id, attempt) = self.read_token(token, end).ok_or_else(unknown)?;
        let (org, status, current) = self.0.store.run_attempt(&id).await?.ok_or_else(unknown)?;
        if attempt != current || !matches!(status, RunStatus::Running | RunStatus::Paused) {
            return Err(too_late());
        }
        Ok(org)
    }

    /// A request to resume or cancel a paused run. It may come before the attempt has ended: it is
    /// kept then.
    pub async fn call_back(
        &self,
        token: &str,
        end: PauseEnd,
        request: EndpointRequest,
    ) -> Result<CalledBack, EngineError> {
        let unknown = || EngineError::not_found("pause of a run", token);
        let (run_id, attempt) = self.read_token(token, end).ok_or_else(unknown)?;
        self.end_pause(run_id, attempt, end, &request, unknown).await
    }

    /// Lets a paused run go on before its time, as a request to its address would: code finds
    /// `data` as the body of a POST.
    pub async fn resume_run(
        &self,
        caller: &Caller,
        id: &RunId,
        data: Option<Value>,
    ) -> Result<Run, EngineError> {
        let unknown = || EngineError::not_found("run", id);
        let run = self.0.store.run(&caller.org_id, id).await?.ok_or_else(unknown)?;
        if run.status != RunStatus::Paused {
            return Err(EngineError::Conflict {
                code: "run_is_not_paused",
                message: format!(
                    "the run `{id}` is {}; only a run that is paused can be resumed",
                    run.status.as_str()
                ),
            });
        }
        let path = format!("/v1/runs/{id}/resume");
        let body = data.unwrap_or_else(|| json!({}));
        let request = EndpointRequest {
            method: "POST".into(),
            url: format!("{}{path}", self.0.config.base_url),
            path,
            query: String::new(),
            headers: vec![("content-type".into(), "application/json".into())],
            client_ip: String::new(),
            body: body.to_string().into_bytes(),
            encoded: None,
            parsed: Some(body),
        };
        self.end_pause(id.clone(), run.attempt, PauseEnd::Resume, &request, unknown).await?;
        self.0.store.run(&caller.org_id, id).await?.ok_or_else(unknown)
    }

    async fn end_pause(
        &self,
        run_id: RunId,
        attempt: i64,
        end: PauseEnd,
        request: &EndpointRequest,
        unknown: impl Fn() -> EngineError,
    ) -> Result<CalledBack, EngineError> {
        let request = checked(http_event(request, Receiver::Workflow))?;
        let done = self
            .0
            .store
            .call_back(Callback { run_id, attempt, end, request, now: self.now() })
            .await?;
        match done {
            CalledBack::Done | CalledBack::Kept => {
                self.queued();
                Ok(done)
            }
            CalledBack::TooLate => Err(too_late()),
            CalledBack::Unknown => Err(unknown()),
        }
    }
}

fn too_late() -> EngineError {
    EngineError::Gone { message: "this address was valid for one request while the run was paused; the run has resumed, or has ended".into() }
}

fn verb(end: PauseEnd) -> &'static str {
    match end {
        PauseEnd::Resume => "resume",
        PauseEnd::Cancel => "cancel",
    }
}
