//! The outbox: mails are queued durably and retried until the server takes them.

use std::sync::Arc;
use std::time::Duration;

use lettre::Message;
use lettre::message::{Mailbox, MultiPart, SinglePart};
use millrace_model::error_chain;
use millrace_model::ids::OrgId;
use millrace_store::{Mail, MailResult};

use crate::Engine;
use crate::deliver::is_in_time;
use crate::deliver::smtp::MailServer;

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

impl Engine {
    pub(crate) fn spawn_mailer(&self) {
        let Some(url) = self.0.config.smtp_url.clone() else {
            tracing::info!(
                "no SMTP server is configured (--smtp-url): mail stays in the outbox, see `millrace mail`"
            );
            return;
        };
        let server = match MailServer::from_url(&url) {
            Ok(server) => Arc::new(server),
            Err(error) => {
                tracing::error!(
                    error = error_chain(&error),
                    "the SMTP address is not valid; mail stays in the outbox"
                );
                return;
            }
        };
        self.keep_going("mailer", move |engine, stop| {
            let server = server.clone();
            async move {
                // Whose mail was tried last.
                let mut last = None;
                loop {
                    // What waits longer than a round does not wait for the next look.
                    while engine.send_round(&server, &mut last).await && !stop.is_cancelled() {}
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => return,
                        () = engine.0.wake_mailer.notified() => {}
                        () = tokio::time::sleep(POLL) => {}
                    }
                }
            }
        });
    }

    /// Sends some mails, in the turns of their organizations. Whether there may be more that can be
    /// sent: a server that took none is left alone for a while.
    async fn send_round(&self, server: &MailServer, last: &mut Option<OrgId>) -> bool {
        let mut is_taking = false;
        for _ in 0..ROUND {
            if self.0.tasks.stopping() {
                return false;
            }
            match self.send_next(server, last).await {
                Some(is_taken) => is_taking |= is_taken,
                None => return false,
            }
        }
        is_taking
    }

    /// Tries the mail whose turn it is. Whether it was taken; None where there is none to be tried.
    async fn send_next(&self, server: &MailServer, last: &mut Option<OrgId>) -> Option<bool> {
        let now = self.now();
        let hidden_until = now.plus_ms(i64::try_from(TRY_TIMEOUT.as_millis()).unwrap_or(0) * 2);
        let mail = match self.0.store.claim_mail(now, hidden_until, 1, last.as_ref()).await {
            Ok(mut mails) => mails.pop()?,
            Err(error) => {
                tracing::error!(error = error_chain(&error), "could not read the outbox");
                return None;
            }
        };
        *last = Some(mail.org_id.clone());
        if !is_in_time(self.now(), hidden_until, TRY_TIMEOUT) {
            return None;
        }
        let sent = match self.message(&mail) {
            Ok(message) => {
                server.send(&message, TRY_TIMEOUT).await.map_err(|error| error_chain(&error))
            }
            Err(error) => Err(error),
        };
        let is_taken = sent.is_ok();
        let result = match sent {
            Ok(()) => MailResult::Sent,
            Err(error) => self.after_failure(&mail, error),
        };
        if let Err(error) =
            self.recorded(hidden_until, || self.0.store.mail_result(&mail.id, result.clone())).await
        {
            tracing::error!(mail.id = %mail.id, error = error_chain(&error), "could not record what became of a mail; it may be sent again");
        }
        Some(is_taken)
    }

    fn after_failure(&self, mail: &Mail, error: String) -> MailResult {
        tracing::warn!(mail.id = %mail.id, attempt = mail.attempts + 1, error, "a mail could not be sent");
        match usize::try_from(mail.attempts).ok().and_then(|n| RETRY_SECONDS.get(n)) {
            Some(seconds) => MailResult::Retry { at: self.now().plus_ms(seconds * 1000), error },
            None => MailResult::Failed { error },
        }
    }

    fn message(&self, mail: &Mail) -> Result<Message, String> {
        let from: Mailbox = self.0.config.mail_from.parse().map_err(|e| {
            format!("the sender `{}` is not an address: {e}", self.0.config.mail_from)
        })?;
        let to: Mailbox = mail
            .recipient
            .parse()
            .map_err(|e| format!("the recipient `{}` is not an address: {e}", mail.recipient))?;
        let text = match &mail.link {
            Some(sealed) => mail.text.replace(
                Mail::LINK,
                &self.0.keyring.open(mail.id.as_str(), sealed).map_err(|e| e.to_string())?,
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
