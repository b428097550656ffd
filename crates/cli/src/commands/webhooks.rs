//! Webhooks.

use reqwest::Method;
use serde_json::json;

use crate::args::WebhookCommand;
use crate::client::{Client, segment};
use crate::error::CliError;
use crate::terminal::printer::Show;

pub(super) async fn webhooks(
    client: &Client,
    show: Show,
    command: WebhookCommand,
) -> Result<(), CliError> {
    let one = |id: &str| format!("/webhooks/{}", segment(id));
    match command {
        WebhookCommand::List => {
            let columns = [
                ("ID", "id"),
                ("NAME", "name"),
                ("URL", "url"),
                ("ACTIVE", "active"),
                ("FAILURES", "failures"),
            ];
            show.table(&client.whole("/webhooks").await?, &columns)
        }
        WebhookCommand::Add { address, name, description } => {
            let mut query = vec![("url", address)];
            query.extend(name.map(|name| ("name", name)));
            query.extend(description.map(|text| ("description", text)));
            show.record(
                &client.send(client.request(Method::POST, "/webhooks")?.query(&query)).await?,
            )
        }
        WebhookCommand::Show { id } => show.record(&client.get(&one(&id)).await?),
        WebhookCommand::Delete { id } => show.record(&client.delete(&one(&id)).await?),
        WebhookCommand::Deliveries { id, status, n } => {
            let status = status.map(|s| format!("?status={s}")).unwrap_or_default();
            let columns = [
                ("ID", "id"),
                ("STATUS", "status"),
                ("ATTEMPTS", "attempts"),
                ("ANSWER", "last_status"),
                ("ERROR", "last_error"),
            ];
            show.table(
                &client.first(&format!("{}/deliveries{status}", one(&id)), n).await?,
                &columns,
            )
        }
        WebhookCommand::Delivery { id, delivery } => {
            let path = format!("{}/deliveries/{}", one(&id), segment(&delivery));
            show.record(&client.get(&path).await?)
        }
        WebhookCommand::Replay { id, delivery } => {
            let delivery = delivery.map(|d| format!("/{}", segment(&d))).unwrap_or_default();
            show.record(
                &client
                    .call(
                        Method::POST,
                        &format!("{}/deliveries{delivery}/replay", one(&id)),
                        &json!({}),
                    )
                    .await?,
            )
        }
    }
}
