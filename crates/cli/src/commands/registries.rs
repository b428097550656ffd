//! Registries: trees of components to deploy from by key.

use reqwest::{Method, header};
use serde_json::json;

use crate::args::RegistryCommand;
use crate::client::{Client, origins, segment};
use crate::error::CliError;
use crate::files::tree::{self, Tree};
use crate::terminal::printer::{self, Show};

pub(super) async fn registries(
    client: &Client,
    show: Show,
    command: RegistryCommand,
) -> Result<(), CliError> {
    match command {
        RegistryCommand::Add { what, name, npm } => {
            let packages = npm.registry()?;
            let tree =
                printer::waiting("reading the components", Tree::read(&what, &packages)).await?;
            let name = name.unwrap_or_else(|| tree::name_of(&tree.origin));
            let request =
                client.request(Method::POST, "/registries")?.query(&[("name", name.as_str())]);
            upload(client, show, request, &name, tree).await
        }
        RegistryCommand::Update { name, what, npm } => {
            let what = match what {
                Some(what) => what,
                None => origin(client, &name).await?,
            };
            let packages = npm.registry()?;
            let tree =
                printer::waiting("reading the components", Tree::read(&what, &packages)).await?;
            upload(
                client,
                show,
                client.request(Method::PUT, &format!("/registries/{}", segment(&name)))?,
                &name,
                tree,
            )
            .await
        }
        RegistryCommand::List => {
            let columns = [
                ("NAME", "name"),
                ("COMPONENTS", "component_count"),
                ("NOT INDEXED", "unindexed_count"),
                ("FILES", "file_count"),
                ("UPDATED", "updated_at"),
                ("REVISION", "revision"),
                ("ORIGIN", "origin"),
            ];
            show.table(&json!({ "data": client.all("/registries").await? }), &columns)
        }
        RegistryCommand::Show { name } => {
            show.record(&client.get(&format!("/registries/{}", segment(&name))).await?)
        }
        RegistryCommand::Remove { name } => {
            show.record(&client.delete(&format!("/registries/{}", segment(&name))).await?)
        }
        RegistryCommand::Search { words, app, component_type, registry, own, limit } => {
            let limit = limit.to_string();
            let mut query = vec![("query", words.join(" ")), ("limit", limit)];
            query.extend(app.map(|app| ("app", app)));
            query.extend(component_type.map(|kind| ("type", kind)));
            query.extend(registry.map(|name| ("registry", name)));
            query.extend(own.then(|| ("own", "true".to_owned())));
            let found = client
                .send(client.request(Method::GET, "/components/search")?.query(&query))
                .await?;
            let columns = [
                ("KEY", "key"),
                ("VERSION", "version"),
                ("TYPE", "type"),
                ("REGISTRY", "registry"),
                ("NAME", "name"),
            ];
            show.table(&json!({ "data": found["data"]["components"] }), &columns)
        }
    }
}

async fn upload(
    client: &Client,
    show: Show,
    request: reqwest::RequestBuilder,
    name: &str,
    tree: Tree,
) -> Result<(), CliError> {
    let query = [("origin", tree.shown), ("revision", tree.revision)];
    let request =
        request.query(&query).header(header::CONTENT_TYPE, "application/gzip").body(tree.archive);
    let answer = client.send(request).await?;
    if let Err(error) = origins::remember(client.url(), name, &tree.origin) {
        printer::note(&format!(
            "warning: {error}; name the origin with the next `registry update`"
        ));
    }
    if let Some(count) = answer["data"]["unindexed_count"].as_u64().filter(|count| *count > 0) {
        printer::note(&format!(
            "files that look like components and could not be read as one: {count}; `millrace registry show {name}` names them"
        ));
    }
    show.record(&answer)
}

/// Where a registry is read from: what this machine remembers, and never the server's word. The
/// name of an npm package, too, may be one of a private registry that this machine reads.
async fn origin(client: &Client, name: &str) -> Result<String, CliError> {
    let registries = client.all("/registries").await?;
    let found = registries.iter().find(|r| r["name"] == name);
    let origin = found
        .and_then(|r| r["origin"].as_str())
        .ok_or_else(|| CliError::UnknownRegistry(name.to_owned()))?;
    origins::of(client.url(), name)
        .ok_or_else(|| CliError::UnknownOrigin { name: name.to_owned(), origin: origin.to_owned() })
}
