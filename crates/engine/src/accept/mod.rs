//! Accepting events: once this answers well, the event is durable and will be run.

pub(crate) mod app_hooks;
mod begin;
pub(crate) mod by_hand;
pub(crate) mod charsets;
pub(crate) mod deferred;
pub(crate) mod domains;
pub(crate) mod endpoint_auth;
mod event_headers;
pub(crate) mod form_head;
pub(crate) mod form_reader;
pub(crate) mod http_event;
pub(crate) mod kept_files;
mod own_secrets;
pub(crate) mod platform_api;
pub(crate) mod receiving;
pub(crate) mod reject_delay;
pub(crate) mod transfer_encoding;
pub(crate) mod uploads;
mod webhook_secrets;

use std::sync::Arc;
use std::time::Duration;

use millrace_model::event::EventFilter;
use millrace_model::http::{EndpointRequest, EndpointResponse};
use millrace_model::ids::OrgId;
use millrace_model::page::Page;
use millrace_model::run::{NewRun, Start};
use millrace_model::source::HttpInterface;
use millrace_model::subscription::TEST;
use millrace_store::Effects;
use tokio::sync::oneshot;
use url::form_urlencoded;

use crate::accept::endpoint_auth::Authorization;
use crate::accept::http_event::{Receiver, checked, http_event};
use crate::run::context::Origin;
use crate::run::program::Program;
use crate::trace_context::continued;
use crate::{Engine, EngineError};

/// When a client gets the default answer.
#[derive(Clone, Copy, Debug)]
enum DefaultAnswer {
    /// Once its event is durable.
    AtOnce,
    /// Once the run has ended without an answer of its own, which it may have.
    AtTheEnd,
    /// Never: the code answers, or fails its client.
    None(Receiver),
}

/// Test events of a workflow or source that are kept, the newest.
const TEST_EVENTS_KEPT: u32 = Page::LIMIT_MAX;
/// Beyond a run's own limit, how long its client is kept waiting for a place among the runs under
/// way.
const ANSWER_GRACE: Duration = Duration::from_secs(5);

impl Engine {
    /// Accepts a request to a generated endpoint and gives the answer (spec 4.4, reference 3).
    pub async fn handle_endpoint(
        &self,
        key: &str,
        mut request: EndpointRequest,
    ) -> Result<EndpointResponse, EngineError> {
        let (endpoint, program) = self.live_endpoint(key).await?;
        let (receiver, limit) = match &*program {
            Program::Source(_) | Program::Damaged(_) => {
                (Receiver::Source, self.0.config.source_timeout)
            }
            Program::Workflow(workflow) => (Receiver::Workflow, workflow.timeout(true)),
        };
        let verified = match authorization(&endpoint, &program) {
            Some(authorization) => {
                self.authorize(&endpoint.org_id, authorization, &mut request).await?
            }
            None => false,
        };
        own_secrets::hide(&mut request.headers);
        let is_test = asks_for(&request, "x-pd-notrigger");
        // No admission bounds test events: one of an organization is written out at a time, which
        // may take several times the bytes of its request.
        let turn = is_test.then(|| format!("{}/test_events", endpoint.org_id));
        let _turn = match &turn {
            Some(turn) => Some(self.0.changes.turn(turn).await),
            None => None,
        };
        let event = checked(http_event(&request, receiver))?;
        // A request may wait for its answer for minutes; the event has all of it.
        drop((std::mem::take(&mut request.body), request.encoded.take(), request.parsed.take()));
        if is_test {
            self.keep_test_event(&endpoint, event).await?;
            return Ok(success_page());
        }
        let trace_id = self.0.traces.is_on().then(|| continued(&request.headers)).flatten();
        let origin = Origin {
            verified,
            keeps_nothing: asks_for(&request, "x-pd-nostore"),
            trace_id,
            ..Origin::first("HTTP", endpoint.id.as_str())
        };
        let run = self.new_run(
            &program,
            &origin,
            event,
            Start::Claimed { lease_until: self.lease_until() },
        )?;
        let traced = self.0.traces.is_on().then(|| (run.context.clone(), self.now()));
        let bytes = run.event.len();
        let default = match &*program {
            _ if endpoint.custom_response => DefaultAnswer::None(receiver),
            Program::Workflow(workflow) if workflow.may_respond => DefaultAnswer::AtTheEnd,
            _ => DefaultAnswer::AtOnce,
        };
        let answer = match default {
            DefaultAnswer::AtOnce => {
                self.accept_event(run, program, None).await.map(|_| success_page())
            }
            default => self.accept_and_wait(run, program, limit, default).await,
        };
        if matches!(answer, Err(EngineError::Overloaded | EngineError::QueueFull)) {
            self.0.reject_delay.wait(bytes, &self.0.tasks.token()).await;
        }
        if let Some((context, began)) = traced {
            self.0.traces.request(
                &context,
                (began, self.now()),
                &request.method,
                answer.as_ref().ok().map(|a| a.status),
            );
        }
        answer
    }

    /// Whether an endpoint takes requests only of who proves who they are.
    pub async fn asks_for_proof(&self, key: &str) -> Result<bool, EngineError> {
        let (endpoint, program) = self.live_endpoint(key).await?;
        Ok(authorization(&endpoint, &program).is_some())
    }

    /// Whose endpoint it is. `NotFound` where there is none.
    pub async fn endpoint_org(&self, key: &str) -> Result<OrgId, EngineError> {
        Ok(self.live_endpoint(key).await?.0.org_id.clone())
    }

    /// Whether an endpoint asks for an API key itself: then it is taken out of the event.
    pub async fn asks_for_key(&self, key: &str) -> bool {
        self.live_endpoint(key).await.is_ok_and(|(endpoint, program)| {
            matches!(authorization(&endpoint, &program), Some(Authorization::ApiKey))
        })
    }

    /// That a request to an endpoint is of somebody who may make it: before anything of it is kept.
    pub async fn admit(&self, key: &str, mut request: EndpointRequest) -> Result<(), EngineError> {
        let (endpoint, program) = self.live_endpoint(key).await?;
        if let Some(authorization) = authorization(&endpoint, &program) {
            self.authorize(&endpoint.org_id, authorization, &mut request).await?;
        }
        Ok(())
    }

    async fn accept_and_wait(
        &self,
        run: NewRun,
        program: Arc<Program>,
        limit: Duration,
        default: DefaultAnswer,
    ) -> Result<EndpointResponse, EngineError> {
        let id = run.id.clone();
        let (responder, answer) = oneshot::channel();
        let unstored = self.accept_event(run, program, Some(responder)).await?;
        let answer = tokio::time::timeout(limit + ANSWER_GRACE, answer).await;
        Ok(match (answer, default) {
            (Ok(Ok(Some(response))), _) => response,
            (Ok(Ok(None)), DefaultAnswer::None(receiver)) => no_response(receiver),
            (Ok(Ok(None)), _) => success_page(),
            (_, default) => {
                if let Some(failure) = unstored.and_then(|run| run.failure()) {
                    return Err(failure);
                }
                self.0.responders.lock().remove(&id);
                if matches!(default, DefaultAnswer::None(_)) {
                    late_response()
                } else {
                    success_page()
                }
            }
        })
    }

    /// Keeps an event for tests; nothing runs. As many are kept as a list shows: a request that
    /// runs nothing is held back by no queue.
    async fn keep_test_event(
        &self,
        endpoint: &HttpInterface,
        event: String,
    ) -> Result<(), EngineError> {
        let (org, owner) = (&endpoint.org_id, endpoint.owner.as_str());
        let page = Page { limit: TEST_EVENTS_KEPT, ..Page::default() };
        let kept = self
            .0
            .store
            .list_events(org, owner, EventFilter::of(Some(TEST)), false, &page)
            .await?
            .items;
        if kept.len() >= TEST_EVENTS_KEPT as usize
            && let Some(oldest) = kept.last()
        {
            self.0
                .store
                .delete_events(org, owner, Some(TEST), (None, Some(oldest.event.id)))
                .await?;
        }
        let event = self.new_event(owner, org, TEST.into(), event, "{}".into());
        let effects = Effects { events: vec![event.clone()], ..Effects::default() };
        self.0.store.settle_effects(effects).await?;
        self.publish_to_streams(vec![event]);
        Ok(())
    }

    /// An endpoint that takes requests, and whose it is.
    async fn live_endpoint(
        &self,
        key: &str,
    ) -> Result<(Arc<HttpInterface>, Arc<Program>), EngineError> {
        let unknown = || EngineError::not_found("endpoint", key);
        let endpoint = self.endpoint(key).await?.filter(|e| e.active).ok_or_else(unknown)?;
        let program =
            self.program(&endpoint.org_id, &endpoint.owner, None).await?.ok_or_else(unknown)?;
        Ok((endpoint, program))
    }

    pub(crate) async fn endpoint(
        &self,
        key: &str,
    ) -> Result<Option<Arc<HttpInterface>>, EngineError> {
        if let Some(endpoint) = self.0.cache.endpoints.get(key) {
            return Ok(Some(endpoint));
        }
        let read_at = self.0.cache.generation();
        let endpoint = self.0.store.endpoint(key).await?.map(Arc::new);
        if let Some(endpoint) = &endpoint {
            self.0.cache.endpoints.put(read_at, endpoint.key.clone(), endpoint.clone());
        }
        Ok(endpoint)
    }
}

/// What an endpoint asks of those who make requests to it.
fn authorization<'a>(endpoint: &HttpInterface, program: &'a Program) -> Option<&'a Authorization> {
    let Program::Workflow(workflow) = program else { return None };
    workflow
        .authorizations
        .iter()
        .find(|(id, _)| id == endpoint.id.as_str())
        .map(|(_, authorization)| authorization)
}

/// Whether a request asks for something special by a header or in its query (reference 4).
fn asks_for(request: &EndpointRequest, name: &str) -> bool {
    let by_header = request.headers.iter().any(|(n, value)| n == name && value.trim() == "1");
    by_header
        || (request.query.contains(name)
            && form_urlencoded::parse(request.query.as_bytes())
                .any(|(n, value)| n == name && value == "1"))
}

/// The default answer of an endpoint.
fn success_page() -> EndpointResponse {
    EndpointResponse {
        status: 200,
        headers: vec![("content-type".into(), "text/html; charset=utf-8".into())],
        body: b"<p><b>Success!</b></p><p>The event was accepted. To send another response, call <code>$.respond()</code> in a workflow or set <code>customResponse</code> in a source.</p>".to_vec(),
    }
}

/// What is sent where the code answers itself and has not yet: its run waits for its turn, or goes
/// again. That says nothing of how it will end.
fn late_response() -> EndpointResponse {
    let text = "The event was accepted, but its run has not answered in time. It goes on: do not send the event again.";
    EndpointResponse {
        status: 504,
        headers: vec![("content-type".into(), "text/plain; charset=utf-8".into())],
        body: text.into(),
    }
}

/// What is sent where the code answers itself and did not.
fn no_response(receiver: Receiver) -> EndpointResponse {
    let (status, text) = match receiver {
        Receiver::Workflow => (400, "No $.respond called in workflow"),
        Receiver::Source => (
            500,
            "The source has customResponse: true, and its run ended without an answer by this.http.respond()",
        ),
    };
    EndpointResponse {
        status,
        headers: vec![("content-type".into(), "text/plain; charset=utf-8".into())],
        body: text.into(),
    }
}
