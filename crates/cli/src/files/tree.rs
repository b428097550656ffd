//! Tree of components as an archive: from a folder, a git repository, an npm package or an address.
//!
//! It is read here and not by the server, which would read it for anyone with a key.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use millrace_model::integrity::{has_integrity, integrity_of};
use millrace_model::npm_registry::NpmRegistry;
use millrace_model::own_files::{
    AppFolders, DATA_FILE_BYTES_MAX, app_folder, asks_where_it_lies, is_data_of,
};
use reqwest::header::AUTHORIZATION;
use serde_json::Value;
use tokio::process::Command;

use crate::client::answer::{self, AnswerError};
use crate::client::connect;
use crate::error::CliError;
use crate::files::program::said_at_its_end;

/// What components are made of; the server takes nothing else.
pub(crate) const ENDINGS: [&str; 9] =
    ["mjs", "js", "ts", "cjs", "json", "mts", "tsx", "jsx", "cts"];
/// Folders that hold nothing of the author's.
const SKIPPED: [&str; 2] = ["node_modules", ".git"];
/// How long a clone of a repository may take.
const CLONE_TIME: Duration = Duration::from_secs(600);
/// The most files of a tree: as many as the server takes.
const FILES_MAX: usize = 60_000;
/// The largest archive that is fetched or made.
const ARCHIVE_BYTES_MAX: usize = 96 << 20;

/// An archive, and where it came from.
pub(crate) struct Tree {
    /// What `registry update` reads again on this machine.
    pub(crate) origin: String,
    /// The origin as the server gets it: of a folder on this machine, its last part only.
    pub(crate) shown: String,
    /// A commit or version; empty where there is none.
    pub(crate) revision: String,
    /// A `.tar.gz`.
    pub(crate) archive: Vec<u8>,
}

impl Tree {
    /// Reads what is named: a folder that exists, a git address (`….git`, or a repository of a code
    /// host), the address of a `.tar.gz`, else an npm package (`npm:NAME`, `@scope/name`, with
    /// `@version` behind it).
    pub(crate) async fn read(what: &str, packages: &NpmRegistry) -> Result<Self, CliError> {
        let path = Path::new(what);
        if path.is_dir() {
            let folder = path
                .canonicalize()
                .map_err(|source| CliError::Read { path: path.to_path_buf(), source })?;
            let origin = folder.to_string_lossy().into_owned();
            return Ok(Self {
                revision: revision(&folder),
                archive: packed(&folder)?,
                shown: on_this_machine(&origin),
                origin,
            });
        }
        if is_git(what) {
            return cloned(what).await;
        }
        if what.starts_with("https://") || what.starts_with("http://") {
            let origin = without_credentials(what);
            return Ok(Self {
                shown: origin.clone(),
                origin,
                revision: String::new(),
                archive: fetched(what, None).await?,
            });
        }
        match what.strip_prefix("npm:").or_else(|| what.starts_with('@').then_some(what)) {
            Some(package) => packaged(package, packages).await,
            None => Err(CliError::Usage {
                message: format!("`{what}` is neither a folder nor an address nor an npm package"),
                hint: "name a folder, https://… of a git repository or a .tar.gz, or npm:NAME",
            }),
        }
    }
}

/// The origin of a folder on this machine, as the server gets it.
fn on_this_machine(origin: &str) -> String {
    format!("{} (a folder on the machine that added it)", name_of(origin))
}

/// The name that a registry gets from where it came from.
pub(crate) fn name_of(origin: &str) -> String {
    let base = origin.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or("");
    let base = base
        .strip_suffix(".git")
        .or_else(|| base.strip_suffix(".tar.gz"))
        .or_else(|| base.strip_suffix(".tgz"))
        .unwrap_or(base);
    let name: String = base
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' })
        .collect();
    let name = name.trim_start_matches('.').to_owned();
    if name.is_empty() { "registry".into() } else { name }
}

/// An address without the user and password in it: what everybody sees who lists registries. The
/// user of an address of ssh is no secret.
fn without_credentials(address: &str) -> String {
    match url::Url::parse(address) {
        Ok(mut url) if !url.username().is_empty() || url.password().is_some() => {
            // Both fail only for addresses that have no host, and these have no user.
            let _ = url.set_password(None);
            if matches!(url.scheme(), "http" | "https") {
                let _ = url.set_username("");
            }
            url.into()
        }
        _ => address.to_owned(),
    }
}

fn is_git(what: &str) -> bool {
    let is_repository = ["https://github.com/", "https://gitlab.com/", "https://codeberg.org/"]
        .iter()
        .filter_map(|host| what.strip_prefix(host))
        .any(|path| path.trim_end_matches('/').split('/').count() == 2);
    is_repository
        || what.starts_with("git@")
        || what.starts_with("ssh://")
        || (what.ends_with(".git") && what.contains("://"))
}

/// The commit of a checkout; empty for a folder that is none, or without git.
fn revision(folder: &Path) -> String {
    let output = std::process::Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["rev-parse", "HEAD"])
        .output();
    output
        .ok()
        .filter(|o| o.status.success())
        .map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
        .unwrap_or_default()
}

async fn cloned(url: &str) -> Result<Tree, CliError> {
    let folder = std::env::temp_dir().join(format!("millrace-registry-{}", std::process::id()));
    let origin = without_credentials(url);
    let refused = |why: String| CliError::Tree { what: origin.clone(), why };
    // Nobody else's: one that is there already is refused.
    DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .map_err(|e| refused(format!("`{}` could not be made: {e}", folder.display())))?;
    // `--`: what looks like a flag is none.
    let mut command = Command::new("git");
    command.args(["clone", "--quiet", "--depth", "1", "--"]).arg(url).arg(&folder);
    let ended = said_at_its_end(command, CLONE_TIME).await;
    let ended = ended.map_err(|e| refused(format!("git could not be started or read: {e}")));
    let tree = ended.and_then(|(status, said)| {
        if !status.success() {
            return Err(refused(said));
        }
        let shown =
            if origin.starts_with("file:") { on_this_machine(&origin) } else { origin.clone() };
        packed(&folder).map(|archive| Tree {
            shown,
            origin: origin.clone(),
            revision: revision(&folder),
            archive,
        })
    });
    // What cannot be removed is a temporary folder.
    let _ = std::fs::remove_dir_all(&folder);
    tree
}

/// A package's archive, with the checksum that the registry names.
async fn packaged(package: &str, registry: &NpmRegistry) -> Result<Tree, CliError> {
    let refused = |why: String| CliError::Tree { what: package.to_owned(), why };
    // The first `@` may belong to a scope.
    let (name, version) = match package.rsplit_once('@') {
        Some((name, version)) if !name.is_empty() => (name, version),
        _ => (package, "latest"),
    };
    if name.is_empty() {
        return Err(refused("it names no package".into()));
    }
    let fetched =
        async |address: &str| self::fetched(address, registry.authorization_for(address)).await;
    let document =
        fetched(&format!("{}/{}/{version}", registry.url(), name.replace('/', "%2f"))).await?;
    let document: Value = millrace_model::json::from_slice(&document)
        .map_err(|e| refused(format!("the registry's answer is not JSON: {e}")))?;
    let tarball = document["dist"]["tarball"]
        .as_str()
        .ok_or_else(|| refused("the registry names no archive".into()))?;
    let archive = fetched(tarball).await?;
    let dist = &document["dist"];
    let integrity = integrity_of(dist["integrity"].as_str(), dist["shasum"].as_str());
    if integrity.is_empty() {
        return Err(refused("the registry names no checksum of the archive".into()));
    }
    if !has_integrity(&archive, &integrity) {
        return Err(refused(
            "the archive does not have the checksum that the registry names".into(),
        ));
    }
    let origin = format!("npm:{package}");
    Ok(Tree {
        shown: origin.clone(),
        origin,
        revision: document["version"].as_str().unwrap_or("").to_owned(),
        archive,
    })
}

async fn fetched(url: &str, authorization: Option<&str>) -> Result<Vec<u8>, CliError> {
    let refused = |why: String| CliError::Tree { what: without_credentials(url), why };
    let mut request = connect::to_download()?.get(url);
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    let response = request.send().await.map_err(|e| refused(e.without_url().to_string()))?;
    if let Some(to) = connect::redirected_to(&response) {
        return Err(CliError::DownloadRedirected { what: without_credentials(url), to });
    }
    if !response.status().is_success() {
        return Err(refused(format!("the server answered {}", response.status())));
    }
    answer::whole(response, ARCHIVE_BYTES_MAX).await.map_err(|error| match error {
        AnswerError::TooLarge(error) => refused(error.to_string()),
        AnswerError::Broken(error) => refused(error.to_string()),
    })
}

/// A folder as an archive; of a checkout only its `components/`.
fn packed(folder: &Path) -> Result<Vec<u8>, CliError> {
    let components = folder.join("components");
    let top = if components.is_dir() { components } else { folder.to_path_buf() };
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut waiting = vec![top];
    let mut data = Vec::new();
    let mut readers = Vec::new();
    let mut files = 0;
    while let Some(current) = waiting.pop() {
        for path in entries(&current)? {
            let failed = |source| CliError::Read { path: path.clone(), source };
            // A link may lead anywhere: it is not followed.
            let found = path.symlink_metadata().map_err(failed)?;
            files += usize::from(found.is_file());
            let bytes = builder.get_ref().get_ref().len();
            if files > FILES_MAX || bytes > ARCHIVE_BYTES_MAX {
                return Err(too_much(folder));
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if found.is_dir() && !SKIPPED.contains(&name.as_ref()) {
                waiting.push(path);
            } else if found.is_file()
                && path.extension().is_some_and(|ending| ENDINGS.iter().any(|e| ending == *e))
            {
                let text = std::fs::read(&path).map_err(failed)?;
                let below = path.strip_prefix(folder).unwrap_or(&path);
                if below.to_str().is_some_and(|below| !below.ends_with(".json"))
                    && std::str::from_utf8(&text).is_ok_and(asks_where_it_lies)
                {
                    readers.push(app_folder(&below.to_string_lossy()).to_owned());
                }
                append(&mut builder, below, &text).map_err(failed)?;
            } else if found.is_file() && found.len() <= DATA_FILE_BYTES_MAX {
                data.push(path);
            }
        }
    }
    // Files that are no code are taken where code of their app asks where it lies.
    let readers = AppFolders::from_iter(readers);
    for path in data {
        let below = path.strip_prefix(folder).unwrap_or(&path);
        let Some(name) = below.to_str().filter(|name| is_data_of(name, &readers)) else { continue };
        let failed = |source| CliError::Read { path: path.clone(), source };
        append(&mut builder, Path::new(name), &std::fs::read(&path).map_err(failed)?)
            .map_err(failed)?;
    }
    let failed = |source| CliError::Read { path: folder.to_path_buf(), source };
    builder.into_inner().and_then(GzEncoder::finish).map_err(failed)
}

fn append(
    builder: &mut tar::Builder<GzEncoder<Vec<u8>>>,
    below: &Path,
    bytes: &[u8],
) -> std::io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    header.set_mode(0o644);
    builder.append_data(&mut header, below, bytes)
}

/// A folder of more than the server takes, such as a home folder. It is left where that is found,
/// and not walked to its end.
fn too_much(folder: &Path) -> CliError {
    let why = format!(
        "it holds more than {FILES_MAX} files, or {} MB of code; name the folder of the components alone",
        ARCHIVE_BYTES_MAX >> 20
    );
    CliError::Tree { what: folder.display().to_string(), why }
}

/// What is in a folder, in the order of names.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let failed = |source| CliError::Read { path: folder.to_path_buf(), source };
    let mut paths = std::fs::read_dir(folder)
        .map_err(failed)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    paths.sort_unstable();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_are_named_after_their_origins() {
        assert_eq!(name_of("https://example.com/acme/components.git"), "components");
        assert_eq!(name_of("npm:@acme/slack"), "slack");
        assert_eq!(name_of("https://example.com/tree.tar.gz"), "tree");
        assert_eq!(name_of("/"), "registry");
    }

    #[test]
    fn what_is_kept_of_an_address_holds_no_credentials() {
        assert_eq!(
            without_credentials("https://me:t0ken@example.com/x.git"),
            "https://example.com/x.git"
        );
        assert_eq!(
            without_credentials("https://t0ken@example.com/tree.tar.gz"),
            "https://example.com/tree.tar.gz"
        );
        for kept in [
            "ssh://git@example.com/x.git",
            "git@example.com:acme/x.git",
            "https://github.com/acme/components",
        ] {
            assert_eq!(without_credentials(kept), kept);
        }
        assert_eq!(
            without_credentials("ssh://git:t0ken@example.com/x.git"),
            "ssh://git@example.com/x.git"
        );
    }

    #[test]
    fn git_addresses_are_told_from_archives() {
        assert!(
            is_git("https://github.com/acme/components")
                && is_git("git@example.com:acme/x.git")
                && is_git("https://example.com/x.git")
        );
        assert!(
            !is_git("https://example.com/x.tar.gz")
                && !is_git("https://github.com/acme/components/archive/main.tar.gz")
        );
    }
}
