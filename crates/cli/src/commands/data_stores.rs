//! Data stores and their entries.

use reqwest::Method;
use serde_json::json;

use super::prop_value;
use crate::args::DataStoreCommand;
use crate::client::{Client, segment, value};
use crate::error::CliError;
use crate::terminal::printer::{self, Show};

pub(super) async fn data_stores(
    client: &Client,
    show: Show,
    command: DataStoreCommand,
) -> Result<(), CliError> {
    let path = |store: &str| format!("/data_stores/{}", segment(store));
    match command {
        DataStoreCommand::List => {
            let columns = [("ID", "id"), ("NAME", "name"), ("KEYS", "keys"), ("BYTES", "bytes")];
            show.table(&client.whole("/data_stores").await?, &columns)
        }
        DataStoreCommand::Create { name } => {
            show.record(&client.call(Method::POST, "/data_stores", &json!({ "name": name })).await?)
        }
        DataStoreCommand::Show { store, n, prefix, values } => {
            let mut answer = client.get(&path(&store)).await?;
            let keys = client
                .first(
                    &format!("{}/keys?prefix={}&values={values}", path(&store), segment(&prefix)),
                    n,
                )
                .await?;
            let shown =
                |item: &serde_json::Value| if values { item.clone() } else { item["key"].clone() };
            let first: Vec<_> = keys["data"].as_array().into_iter().flatten().map(shown).collect();
            let total = keys["page_info"]["total_count"].as_u64().unwrap_or(0);
            if prefix.is_empty() && total > first.len() as u64 {
                printer::note(&format!("the first {} of {total} keys; -n shows more", first.len()));
            }
            if let Some(data) = answer.get_mut("data") {
                value::set(data, "first_keys", first);
            }
            show.record(&answer)
        }
        DataStoreCommand::Get { store, key } => {
            let answer = client
                .send(
                    client
                        .request(Method::GET, &format!("{}/record", path(&store)))?
                        .query(&[("key", key)]),
                )
                .await?;
            // The value alone is data for other programs.
            printer::data(
                &if show.json { &answer["data"] } else { &answer["data"]["value"] }.to_string(),
            )
        }
        DataStoreCommand::Set { store, key, value, ttl } => {
            let mut body = json!({ "key": key, "value": prop_value(&value) });
            if let Some(ttl) = ttl {
                body["ttl"] = json!(ttl);
            }
            show.record(
                &client.call(Method::PUT, &format!("{}/record", path(&store)), &body).await?,
            )
        }
        DataStoreCommand::Delete { store, key: Some(key) } => show.record(
            &client
                .call(Method::DELETE, &format!("{}/record", path(&store)), &json!({ "key": key }))
                .await?,
        ),
        DataStoreCommand::Delete { store, key: None } => {
            show.record(&client.delete(&path(&store)).await?)
        }
    }
}
