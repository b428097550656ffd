//! Owners of events and runs: sources and workflows, by id or by emitter.

use millrace_model::ids::{SourceId, WorkflowId};
use millrace_model::tenant::Caller;

use crate::EngineError;
use crate::ctx::Ctx;

/// After the workflow's id: the emitter of what it sent with `$.send.sse`. A stream of its own, for
/// nobody subscribes to it.
const SSE_SUFFIX: &str = "/sse";

/// The emitter of what a workflow sends with `$.send.sse`.
pub(crate) fn sse_emitter(workflow: &str) -> String {
    format!("{workflow}{SSE_SUFFIX}")
}

/// The source or workflow of an emitter.
pub(crate) fn owner_of(emitter: &str) -> &str {
    emitter.strip_suffix(SSE_SUFFIX).unwrap_or(emitter)
}

/// That `owner` is a source or workflow of the caller's organization.
pub(crate) async fn check_owner(
    ctx: &Ctx,
    caller: &Caller,
    owner: &str,
) -> Result<(), EngineError> {
    let owner = owner_of(owner);
    let (what, exists) = if owner.starts_with(SourceId::PREFIX) {
        let exists = match owner.parse() {
            Ok(id) => ctx
                .store
                .source(&caller.org_id, &id)
                .await?
                .is_some_and(|source| caller.may_use(source.external_user_id.as_deref())),
            Err(_) => false,
        };
        ("source", exists)
    } else {
        let exists = match owner.parse::<WorkflowId>() {
            Ok(id) => ctx.store.workflow(&caller.org_id, &id).await?.is_some(),
            Err(_) => false,
        };
        ("workflow", exists)
    };
    if exists { Ok(()) } else { Err(EngineError::not_found(what, owner)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_workflow_is_its_own() {
        assert_eq!(owner_of(&sse_emitter("p_1")), "p_1");
        assert_eq!(owner_of("dc_1"), "dc_1");
    }
}
