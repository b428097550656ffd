//! The e-mail about an error: one for an error class, workflow and 24 hours (spec 6.3), to each
//! recipient.

use std::fmt::Write as _;

use millrace_model::error_event::{ErrorBody, notice_cutoff};
use millrace_model::ids::MailId;
use millrace_model::run::Context;
use millrace_store::{Mail, MailStatus, Notice};

use crate::checks::one_line;
use crate::run::claimed_run::ClaimedRun;
use crate::run::program::Program;
use crate::{Engine, EngineError};

/// Lines of a stack that a mail shows, and characters of them in all.
const STACK_LINES_MAX: usize = 20;
const STACK_CHARS_MAX: usize = 4_000;
/// Characters of a message that a mail shows.
const MESSAGE_CHARS_MAX: usize = 500;

impl Engine {
    /// The notice of a workflow's error; None for sources and where the workflow does not want any.
    pub(crate) async fn notice(
        &self,
        claimed: &ClaimedRun,
        program: &Program,
        context: &Context,
        error: &ErrorBody,
    ) -> Result<Option<Notice>, EngineError> {
        let Program::Workflow(workflow) = program else { return Ok(None) };
        // Of the record, not of the version that runs: who wants no more mail should not have to
        // deploy for that.
        let settings = &workflow.workflow.draft.settings;
        if !settings.error_notification {
            return Ok(None);
        }
        let recipients = if settings.error_recipients.is_empty() {
            let Some(organization) = self.0.store.organization(&claimed.org_id).await? else {
                return Ok(None);
            };
            if organization.error_recipients.is_empty() {
                vec![organization.email]
            } else {
                organization.error_recipients
            }
        } else {
            settings.error_recipients.clone()
        };
        let step = program.step_of(error);
        let group = self.error_group(claimed, program, error).id;
        let now = self.now();
        let base = &self.0.config.base_url;
        let run = format!("{base}/runs/{}", claimed.id);
        let editor = format!("{base}/workflows/{}/edit?run={}", context.workflow_id, claimed.id);
        let content = MailContent { context, step, error, run: &run, editor: &editor };
        let (subject, text, html) = (
            one_line(&plain(&format!("{} in {}", error.code, context.workflow_name))),
            content.text(),
            content.html(),
        );
        let mails = recipients
            .into_iter()
            .map(|recipient| Mail {
                id: MailId::generate(&self.0.ids),
                org_id: claimed.org_id.clone(),
                recipient,
                subject: subject.clone(),
                text: text.clone(),
                link: None,
                html: Some(html.clone()),
                status: MailStatus::Queued,
                attempts: 0,
                last_error: None,
                created_at: now,
            })
            .collect();
        Ok(Some(Notice {
            owner: claimed.owner.as_str().to_owned(),
            class: error.code.clone(),
            at: now,
            unless_since: notice_cutoff(now),
            group: Some(group),
            mails,
        }))
    }
}

/// Content of a mail about an error.
struct MailContent<'a> {
    context: &'a Context,
    step: &'a str,
    error: &'a ErrorBody,
    /// The address of the run's page.
    run: &'a str,
    /// The address of the editor, at the step that failed and with the event of the run.
    editor: &'a str,
}

impl MailContent<'_> {
    /// What both forms say, by name. The values are of strangers.
    fn facts(&self) -> [(&'static str, String); 6] {
        let error = self.error;
        let first_line = error.message.lines().next().unwrap_or("");
        [
            (
                "Workflow",
                plain(&format!("{} ({})", self.context.workflow_name, self.context.workflow_id)),
            ),
            ("Step", if self.step.is_empty() { "none".into() } else { self.step.to_owned() }),
            ("Error", plain(&error.code)),
            ("Message", plain(&cut(first_line, MESSAGE_CHARS_MAX))),
            ("Time", error.ts.clone()),
            ("Count", format!("{} since the last mail", Notice::COUNT)),
        ]
    }

    /// Addresses by name, with the words that lead to them.
    fn links(&self) -> [(&'static str, &'static str, String); 3] {
        [
            ("Mend", "Fix the step", self.editor.to_owned()),
            ("Run", "Look at the run", self.run.to_owned()),
            ("Replay", "Replay it", format!("{}#replay", self.run)),
        ]
    }

    fn stack(&self) -> String {
        let lines = self.error.stack.lines();
        let left_out = lines.clone().count().saturating_sub(STACK_LINES_MAX);
        let mut stack =
            cut(&lines.take(STACK_LINES_MAX).collect::<Vec<_>>().join("\n"), STACK_CHARS_MAX);
        if left_out > 0 {
            // Writing to a String cannot fail.
            let _ = write!(stack, "\n[cut: {left_out} more lines]");
        }
        plain(&stack)
    }

    fn rest(&self) -> String {
        format!(
            "The run shows the event, the results of the steps and the logs. Another {} in this workflow sends no mail for 24 hours; every error is listed at \
             /v1/workflows/{}/$errors/event_summaries and delivered to every listener of $errors. To stop these mails, set settings.error_notification of the \
             workflow to false.",
            plain(&self.error.code),
            self.context.workflow_id
        )
    }

    fn text(&self) -> String {
        let mut text = format!(
            "The workflow \"{}\" failed on a live event.\n\n",
            plain(&self.context.workflow_name)
        );
        let links = self.links().map(|(name, _, address)| (name, address));
        for (name, value) in self.facts().into_iter().chain(links) {
            let _ = writeln!(text, "{:<9} {value}", format!("{name}:"));
        }
        let _ = write!(text, "\n{}\n\n{}\n", self.stack(), self.rest());
        text
    }

    fn html(&self) -> String {
        let mut html = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><body style=\"font-family:sans-serif\"><p>The workflow <b>{}</b> failed on a live event.</p><table>",
            escaped(&plain(&self.context.workflow_name))
        );
        for (name, value) in self.facts() {
            let _ = write!(
                html,
                "<tr><th style=\"text-align:left;padding-right:1em\">{name}</th><td>{}</td></tr>",
                escaped(&value)
            );
        }
        html.push_str("</table><p>");
        for (_, words, address) in self.links() {
            let _ = write!(html, "<a href=\"{}\">{words}</a> &nbsp; ", escaped(&address));
        }
        let _ = write!(
            html,
            "</p><pre style=\"white-space:pre-wrap\">{}</pre><p>{}</p></body></html>",
            escaped(&self.stack()),
            escaped(&self.rest())
        );
        html
    }
}

/// A text in which nothing stands for the count, and nothing for the end of a line but line breaks.
fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| *c != Notice::COUNT && (!c.is_control() || matches!(c, '\n' | '\t')))
        .collect()
}

fn cut(text: &str, chars_max: usize) -> String {
    let mut chars = text.char_indices();
    match chars.nth(chars_max) {
        Some((at, _)) => format!("{} [cut]", &text[..at]),
        None => text.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_tells_all_in_both_forms_and_believes_nothing() {
        let context = Context {
            id: "x".into(),
            trace_id: "t".into(),
            ts: String::new(),
            workflow_id: "p_1".into(),
            workflow_name: "Orders <b> & \"co\"".into(),
            deployment_id: String::new(),
            emitter_id: String::new(),
            source_type: "HTTP".into(),
            verified: false,
            hops: None,
            test: false,
            replay: false,
            owner_id: "o_1".into(),
            project_id: None,
            platform_version: String::new(),
            keeps_nothing: false,
            due: None,
            handles_error: false,
        };
        let stack: String = (0..30).map(|n| format!("  at f{n} (<x>.mjs)\n")).collect();
        let error = ErrorBody {
            code: "TypeError".into(),
            message: format!("<script>{}{}\nsecond", Notice::COUNT, "é".repeat(600)),
            cell_id: "c_1".into(),
            ts: "2026-01-02T03:04:05.678Z".into(),
            stack,
        };
        let content = MailContent {
            context: &context,
            step: "charge",
            error: &error,
            run: "https://m.test/runs/run_1",
            editor: "https://m.test/workflows/p_1/edit?run=run_1",
        };
        let (text, html) = (content.text(), content.html());
        for part in [
            "Workflow: Orders <b>",
            "Step:     charge",
            "Error:    TypeError",
            "Message:  <script>é",
            "Time:     2026-01-02",
            "Mend:     https://m.test/workflows/p_1/edit?run=run_1",
            "Replay:   https://m.test/runs/run_1#replay",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(
            text.contains("é [cut]\n")
                && text.contains("[cut: 10 more lines]")
                && !text.contains("second")
                && text.matches(Notice::COUNT).count() == 1
        );
        assert!(
            html.contains("&lt;script&gt;")
                && html.contains("Orders &lt;b&gt; &amp; &quot;co&quot;")
                && html.contains("(&lt;x&gt;.mjs)")
        );
        assert!(
            !html.contains("<script")
                && !html.contains("<x>")
                && html.contains("<a href=\"https://m.test/runs/run_1#replay\">")
        );
        assert_eq!(html.matches(Notice::COUNT).count(), 1);
    }
}
