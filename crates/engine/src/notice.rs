//! The e-mail about an error: one for an error class, workflow and 24 hours (spec 6.3).

use millrace_model::error_event::{ErrorBody, notice_cutoff};
use millrace_model::ids::MailId;
use millrace_model::run::Context;
use millrace_store::{Mail, MailStatus, Notice};

use crate::execute::Held;
use crate::program::Program;
use crate::{Engine, EngineError};

/// Lines of a stack that a mail shows.
const STACK_LINES_MAX: usize = 20;

impl Engine {
    /// The notice of a workflow's error; None for sources and where the workflow does not want any.
    pub(crate) async fn notice(&self, held: &Held, program: &Program, context: &Context, error: &ErrorBody) -> Result<Option<Notice>, EngineError> {
        let Program::Workflow(workflow) = program else { return Ok(None) };
        if !workflow.settings.error_notification {
            return Ok(None);
        }
        let Some(organization) = self.0.store.organization(&held.org_id).await? else { return Ok(None) };
        let step = workflow.step_ids.iter().find(|(_, id)| **id == error.cell_id).map_or("", |(namespace, _)| namespace.as_str());
        let link = format!("{}/runs/{}", self.0.config.base_url, held.id);
        let now = self.now();
        let mail = Mail {
            id: MailId::generate(&self.0.ids),
            org_id: held.org_id.clone(),
            recipient: organization.email,
            subject: one_line(&format!("{} in {}", error.code, context.workflow_name)),
            text: mail_text(context, step, error, &link),
            html: None,
            status: MailStatus::Queued,
            attempts: 0,
            last_error: None,
            created_at: now,
        };
        Ok(Some(Notice { owner: held.owner.as_str().to_owned(), class: error.code.clone(), unless_since: notice_cutoff(now), mail }))
    }
}

fn mail_text(context: &Context, step: &str, error: &ErrorBody, link: &str) -> String {
    let stack: Vec<&str> = error.stack.lines().take(STACK_LINES_MAX).collect();
    let step = if step.is_empty() { "none" } else { step };
    format!(
        "The workflow \"{}\" ({}) failed on a live event.\n\n\
         Error:   {}: {}\n\
         Step:    {step}\n\
         Time:    {}\n\
         Run:     {link}\n\n\
         {}\n\n\
         The run shows the event, the results of the steps and the logs. Another {} in this workflow sends no mail for 24 hours;\n\
         every error is listed at /v1/workflows/{}/$errors/event_summaries and delivered to every listener of $errors.\n",
        context.workflow_name,
        context.workflow_id,
        error.code,
        error.message.lines().next().unwrap_or(""),
        error.ts,
        stack.join("\n"),
        error.code,
        context.workflow_id,
    )
}

/// A subject is one line: a name with line breaks must not add headers.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(150).collect()
}
