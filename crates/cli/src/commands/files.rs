//! File stores and their files.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use millrace_model::file::FILE_BYTES_MAX;
use reqwest::Method;
use serde_json::json;

use crate::args::FileCommand;
use crate::client::{Client, segment};
use crate::error::CliError;
use crate::files::whole;
use crate::terminal::line::escaped;
use crate::terminal::printer::Show;

pub(super) async fn files(
    client: &Client,
    show: Show,
    command: FileCommand,
) -> Result<(), CliError> {
    let base = |store: &str| format!("/file_stores/{}/files", segment(store));
    match command {
        FileCommand::List { store: None } => show.table(
            &json!({ "data": client.all("/file_stores").await? }),
            &[("NAME", "name"), ("FILES", "files"), ("BYTES", "bytes")],
        ),
        FileCommand::List { store: Some(store) } => {
            let all = json!({ "data": client.all(&base(&store)).await? });
            show.table(&all, &[("PATH", "path"), ("BYTES", "size")])
        }
        FileCommand::Get { store, path, output } => {
            let request = client
                .request(Method::GET, &format!("{}/content", base(&store)))?
                .query(&[("path", path)]);
            let bytes = client
                .bytes(request, usize::try_from(FILE_BYTES_MAX).unwrap_or(usize::MAX))
                .await?;
            match output {
                Some(file) if file != Path::new("-") => whole::write(&file, &bytes),
                Some(_) => std::io::stdout().write_all(&bytes).map_err(CliError::Output),
                None if std::io::stdout().is_terminal() && !is_shown_as_it_is(&bytes) => {
                    Err(CliError::Usage {
                        message: "the file holds binary data or control characters of terminals"
                            .into(),
                        hint: "write it to a file with `--output FILE`, or pipe it into another program",
                    })
                }
                None => std::io::stdout().write_all(&bytes).map_err(CliError::Output),
            }
        }
        FileCommand::Put { store, file, path } => {
            let bytes = std::fs::read(&file)
                .map_err(|source| CliError::Read { path: file.clone(), source })?;
            let path = path.unwrap_or_else(|| {
                file.file_name().unwrap_or_default().to_string_lossy().into_owned()
            });
            show.record(
                &client
                    .send(
                        client
                            .request(Method::PUT, &base(&store))?
                            .query(&[("path", path)])
                            .body(bytes),
                    )
                    .await?,
            )
        }
        FileCommand::Delete { store, path } => {
            let request = client.request(Method::DELETE, &base(&store))?;
            let request =
                if let Some(path) = path { request.query(&[("path", path)]) } else { request };
            show.record(&client.send(request).await?)
        }
    }
}

/// Whether a terminal shows all of it, and nothing of it does anything else there.
fn is_shown_as_it_is(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| *escaped(text) == *text)
}
