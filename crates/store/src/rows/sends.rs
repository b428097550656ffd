//! Rows of webhooks, deliveries and mail, the same in each engine.

/// Functions that read them. `$Row`: a row of the engine, whose module has `attempt_log`,
/// `corrupt`, `get`, `parsed`, `time`.
#[macro_export]
macro_rules! send_rows {
    ($Row:ty) => {
        use ::millrace_model::clock::Timestamp;
        use ::millrace_model::ids::{
            DeliveryId, MailId, OrgId, RunId, UserId, WebhookDeliveryId, WebhookId,
        };
        use ::millrace_model::webhook::{Health, Webhook, WebhookDelivery};
        use $crate::{Delivery, DeliveryKind, DeliveryStatus, Mail, MailStatus, StoreResult};

        pub(crate) fn webhook(row: &$Row) -> StoreResult<Webhook> {
            Ok(Webhook {
                id: WebhookId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                user_id: UserId::from_row(get(row, "user_id")?),
                name: get(row, "name")?,
                description: get(row, "description")?,
                url: get(row, "url")?,
                secret: get(row, "secret")?,
                active: get(row, "active")?,
                health: Health {
                    failures: u32::try_from(get::<i64>(row, "failures")?)
                        .map_err(|_| corrupt("failures"))?,
                    paused_until: get::<Option<i64>>(row, "paused_until")?.map(Timestamp),
                },
                created_at: time(row, "created_at")?,
                updated_at: time(row, "updated_at")?,
            })
        }

        pub(crate) fn webhook_delivery(row: &$Row) -> StoreResult<WebhookDelivery> {
            Ok(WebhookDelivery {
                id: WebhookDeliveryId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                target_id: get(row, "target_id")?,
                event_key: get(row, "event_key")?,
                body: get(row, "body")?,
                traceparent: get(row, "traceparent")?,
                status: parsed(row, "status", DeliveryStatus::parse)?,
                attempts: u32::try_from(get::<i64>(row, "attempts")?)
                    .map_err(|_| corrupt("attempts"))?,
                last_status: get::<Option<i64>>(row, "last_status")?
                    .and_then(|status| u16::try_from(status).ok()),
                last_error: get(row, "last_error")?,
                next_at: time(row, "next_at")?,
                give_up_at: time(row, "give_up_at")?,
                created_at: time(row, "created_at")?,
                attempt_log: attempt_log(row)?,
            })
        }

        pub(crate) fn mail(row: &$Row) -> StoreResult<Mail> {
            Ok(Mail {
                id: MailId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                recipient: get(row, "recipient")?,
                subject: get(row, "subject")?,
                text: get(row, "text")?,
                html: get(row, "html")?,
                link: get(row, "link")?,
                status: parsed(row, "status", MailStatus::parse)?,
                attempts: get(row, "attempts")?,
                last_error: get(row, "last_error")?,
                created_at: time(row, "created_at")?,
            })
        }

        pub(crate) fn delivery(row: &$Row) -> StoreResult<Delivery> {
            Ok(Delivery {
                id: DeliveryId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                owner: get(row, "owner_id")?,
                run_id: RunId::from_row(get(row, "run_id")?),
                position: get(row, "position")?,
                kind: parsed(row, "kind", DeliveryKind::parse)?,
                payload: get(row, "payload")?,
                step: get(row, "step")?,
                status: parsed(row, "status", DeliveryStatus::parse)?,
                attempts: get(row, "attempts")?,
                response_status: get(row, "response_status")?,
                last_error: get(row, "last_error")?,
                created_at: time(row, "created_at")?,
                finished_at: get::<Option<i64>>(row, "finished_at")?.map(Timestamp),
            })
        }
    };
}
