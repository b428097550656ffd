//! Definitions that `additionalProps` returned for a form, stored so that the next call gets them
//! back when the form asks again, or when its values are deployed or run (spec 2.7.1), on any
//! server and after a restart.

use std::sync::Arc;

use millrace_model::component::PropDef;
use millrace_model::form::{FORMS_MAX, Form, KEPT_MS, PROPS_BYTES_MAX};
use millrace_model::ids::FormId;
use millrace_model::tenant::Caller;
use serde_json::Value;

use crate::EngineError;
use crate::ctx::Ctx;
use crate::tenants::secrets::sha256_hex;

/// The field of requests that names a form.
const FIELD: &str = "dynamic_props_id";

/// Definitions that forms were given.
pub(crate) struct Forms {
    ctx: Arc<Ctx>,
}

impl Forms {
    pub(crate) const fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx }
    }

    /// Definitions that the form of that id was given last; none where no form is named.
    pub(crate) async fn previous(
        &self,
        caller: &Caller,
        artifact_id: &str,
        form: Option<&str>,
    ) -> Result<Option<Vec<PropDef>>, EngineError> {
        let Some(text) = form else { return Ok(None) };
        let unknown = |why: &str| {
            let shown = millrace_model::shown(text);
            EngineError::invalid(
                FIELD,
                format!(
                    "`{shown}` {why}; leave `{FIELD}` out, or give the id of the latest answer of `/v1/components/props`"
                ),
            )
        };
        let id: FormId = text.parse().map_err(|_| unknown("is not the id of a form"))?;
        let known = self
            .ctx
            .store
            .form(&caller.org_id, &id)
            .await?
            .filter(|form| form.expires_at > self.ctx.now());
        let form = known.ok_or_else(|| {
            unknown("is not known: a form is forgotten a day after it was last asked for its props")
        })?;
        if form.artifact_id != of_caller(caller, artifact_id) {
            return Err(unknown("is of another component, or of another version of it"));
        }
        Ok(Some(form.props))
    }

    /// Records what a form is given now: `made`, the definitions that `additionalProps` made or
    /// changed. Gives the form's id, a new one where it has none.
    pub(crate) async fn record(
        &self,
        caller: &Caller,
        artifact_id: &str,
        form: Option<String>,
        made: Value,
    ) -> Result<String, EngineError> {
        let id = form.map_or_else(|| FormId::generate(&self.ctx.ids), FormId::from_row);
        let fits = made.to_string().len() <= PROPS_BYTES_MAX;
        // What cannot be read as definitions is shown all the same; only the next question does not
        // tell of it.
        let props =
            if fits { serde_json::from_value(made).unwrap_or_default() } else { Vec::new() };
        let form = Form {
            id: id.clone(),
            org_id: caller.org_id.clone(),
            artifact_id: of_caller(caller, artifact_id),
            props,
            expires_at: self.ctx.now().plus_ms(KEPT_MS),
        };
        self.ctx.store.keep_form(form, FORMS_MAX).await?;
        Ok(id.to_string())
    }
}

/// What a form is about: the code, and the external user for whom it is filled in, so that the
/// definitions made of one user's data are not shown to another.
fn of_caller(caller: &Caller, artifact_id: &str) -> String {
    match &caller.external_user_id {
        Some(user) => format!("{artifact_id}:{}", sha256_hex(user.as_bytes())),
        None => artifact_id.to_owned(),
    }
}
