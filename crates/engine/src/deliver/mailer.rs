//! The outbox: mails are queued durably and retried until the server takes them.

use std::sync::Arc;
use std::time::Duration;

use lettre::Message;
use lettre::message::{Mailbox, MultiPart, SinglePart};
use millrace_model::error_chain;
use millrace_model::ids::OrgId;
use millrace_store::{Mail, MailResult};

use crate::background::{Activation, Background, Next, Task};
use crate::ctx::Ctx;
use crate::deliver::smtp::MailServer;
use crate::deliver::{is_in_time, recorded};
use crate::tenants::secrets::Keyring;

/// How often the outbox is looked at though nothing woke the mailer.
const POLL: Duration = Duration::from_secs(5);
/// Mails that are tried before a server that took none of them is left alone for a while. Each is
/// claimed by itself: what is claimed with others waits for them, and where they take long it is
/// hidden until its time is over, and claimed in vain.
const ROUND: usize = 10;
/// A try that takes longer has failed; a claimed mail is hidden from others for twice that.
const TRY_TIMEOUT: Duration = Duration::from_secs(30);
/// Waits between tries, seconds; after the last the mail has failed for good: about two days in
/// all.
const RETRY_SECONDS: [i64; 12] =
    [5, 15, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400];

/// Checks what mails are sent with: the address of the server, and the sender.
///
/// # Errors
/// In words, without the address of the server: it may hold a password.
pub fn check_mail(smtp_url: Option<&str>, mail_from: &str) -> Result<(), String> {
    if let Some(url) = smtp_url {
        MailServer::from_url(url).map_err(|error| format!("smtp_url: {}", error_chain(&error)))?;
    }
    mail_from.parse::<Mailbox>().map(drop).map_err(|_| {
        let shown = millrace_model::shown(mail_from);
        format!("mail_from is `{shown}`; allowed are such as Millrace <millrace@example.com>")
    })
}

/// Connects to a mail server and greets it; nothing is sent.
///
/// # Errors
/// In words, without the address: it may hold a password.
pub async fn check_smtp(url: &str, timeout: Duration) -> Result<(), String> {
    let server = MailServer::from_url(url).map_err(|error| error_chain(&error))?;
    match server.accepts_mail(timeout).await {
        Ok(true) => Ok(()),
        Ok(false) => Err("the server answers, but takes no mail".into()),
        Err(error) => Err(error_chain(&error)),
    }
}

/// Sends the mails of the outbox.
pub(crate) struct Mailer {
    ctx: Arc<Ctx>,
    keyring: Arc<Keyring>,
    server: MailServer,
    /// The organization whose mail was tried last.
    last: Option<OrgId>,
}

impl Background for Mailer {
    const TASK: Task = Task::Mailer;

    async fn activate(&mut self, now: &Activation) -> Next {
        // What waits longer than a round does not wait for the next look.
        if self.send_round(now).await { Next::Now } else { Next::Woken(POLL) }
    }
}

impl Mailer {
    /// None where no mail can be sent: it stays in the outbox.
    pub(crate) fn new(ctx: &Arc<Ctx>, keyring: &Arc<Keyring>) -> Option<Self> {
        let Some(url) = &ctx.config.smtp_url else {
            tracing::info!(
                "no SMTP server is configured (--smtp-url): mail stays in the outbox, see `millrace mail`"
            );
            return None;
        };
        match MailServer::from_url(url) {
            Ok(server) => {
                Some(Self { ctx: ctx.clone(), keyring: keyring.clone(), server, last: None })
            }
            Err(error) => {
                tracing::error!(
                    error = error_chain(&error),
                    "the SMTP address is not valid; mail stays in the outbox"
                );
                None
            }
        }
    }

    /// Sends some mails, in the turns of their organizations. Whether there may be more that can be
    /// sent: a server that took none is left alone for a while.
    async fn send_round(&mut self, now: &Activation) -> bool {
        let mut is_taking = false;
        for _ in 0..ROUND {
            if now.stop.is_cancelled() {
                return false;
            }
            match self.send_next(now).await {
                Some(is_taken) => is_taking |= is_taken,
                None => return false,
            }
        }
        is_taking
    }

    /// Tries the mail whose turn it is. Whether it was taken; None where there is none to be tried.
    async fn send_next(&mut self, activation: &Activation) -> Option<bool> {
        let now = self.ctx.now();
        let hidden_until = now.plus_ms(i64::try_from(TRY_TIMEOUT.as_millis()).unwrap_or(0) * 2);
        let mail = match self.ctx.store.claim_mail(now, hidden_until, 1, self.last.as_ref()).await {
            Ok(mut mails) => mails.pop()?,
            Err(error) => {
                activation.failed("could not read the outbox", &error);
                return None;
            }
        };
        self.last = Some(mail.org_id.clone());
        if !is_in_time(self.ctx.now(), hidden_until, TRY_TIMEOUT) {
            return None;
        }
        let sent = match self.message(&mail) {
            Ok(message) => {
                self.server.send(&message, TRY_TIMEOUT).await.map_err(|error| error_chain(&error))
            }
            Err(error) => Err(error),
        };
        let is_taken = sent.is_ok();
        let result = match sent {
            Ok(()) => MailResult::Sent,
            Err(error) => self.after_failure(&mail, error),
        };
        if let Err(error) = recorded(&self.ctx, hidden_until, || {
            self.ctx.store.mail_result(&mail.id, result.clone())
        })
        .await
        {
            activation.failed(
                &format!(
                    "could not record what became of the mail `{}`; it may be sent again",
                    mail.id
                ),
                &error,
            );
        }
        Some(is_taken)
    }

    fn after_failure(&self, mail: &Mail, error: String) -> MailResult {
        tracing::warn!(mail.id = %mail.id, attempt = mail.attempts + 1, error, "a mail could not be sent");
        match usize::try_from(mail.attempts).ok().and_then(|n| RETRY_SECONDS.get(n)) {
            Some(seconds) => {
                MailResult::Retry { at: self.ctx.now().plus_ms(seconds * 1000), error }
            }
            None => MailResult::Failed { error },
        }
    }

    fn message(&self, mail: &Mail) -> Result<Message, String> {
        let from: Mailbox = self.ctx.config.mail_from.parse().map_err(|e| {
            format!("the sender `{}` is not an address: {e}", self.ctx.config.mail_from)
        })?;
        let to: Mailbox = mail
            .recipient
            .parse()
            .map_err(|e| format!("the recipient `{}` is not an address: {e}", mail.recipient))?;
        let text = match &mail.link {
            Some(sealed) => mail.text.replace(
                Mail::LINK,
                &self.keyring.open(mail.id.as_str(), sealed).map_err(|e| e.to_string())?,
            ),
            None => mail.text.clone(),
        };
        // The id makes a mail that is sent twice recognizable.
        let builder = Message::builder()
            .from(from)
            .to(to)
            .subject(&mail.subject)
            .message_id(Some(format!("<{}@millrace>", mail.id)));
        let built = match &mail.html {
            None => builder.body(text),
            Some(html) if text.is_empty() => builder.singlepart(SinglePart::html(html.clone())),
            Some(html) => builder.multipart(MultiPart::alternative_plain_html(text, html.clone())),
        };
        built.map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use millrace_model::ids::{DataKeyId, MailId};
    use millrace_store::MailStatus;

    use super::*;
    use crate::EngineConfig;
    use crate::test_ctx::TestCtx;

    #[tokio::test]
    async fn a_mail_is_tried_again_after_ever_longer_waits_and_then_given_up() {
        let smtp_url = Some("smtp://127.0.0.1:1".to_owned());
        let test = TestCtx::new(EngineConfig { smtp_url, ..EngineConfig::default() });
        let ring = Keyring::new(vec![(DataKeyId::from_row("dk_1".into()), [7; 32])]);
        let mailer = Mailer::new(&test.ctx, &Arc::new(ring)).expect("a mailer");
        let after = |attempts| {
            let mail = Mail {
                id: MailId::from_row("mail_1".into()),
                org_id: OrgId::from_row("o_1".into()),
                recipient: "a@x.test".into(),
                subject: String::new(),
                text: String::new(),
                link: None,
                html: None,
                status: MailStatus::Queued,
                attempts,
                last_error: None,
                created_at: test.ctx.now(),
            };
            match mailer.after_failure(&mail, "no".into()) {
                MailResult::Retry { at, .. } => Some(at.since(test.ctx.now()) / 1000),
                _ => None,
            }
        };
        let waits: Vec<_> = (0..13).map_while(after).collect();
        assert_eq!(waits, RETRY_SECONDS);
        assert!(waits.is_sorted() && after(12).is_none());
    }
}
